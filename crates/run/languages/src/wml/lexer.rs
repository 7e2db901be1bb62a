//! The words of a workload file, with their places.

use treering_script::ConfigError;

use crate::messages::{Messages, Place, shown};

/// The longest file.
const BYTES_MAX: usize = 1 << 20;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A name, a key or a path.
    Text(String),
    /// `$name`.
    Variable(String),
    /// A number, its suffix multiplied in.
    Number(u64),
    /// A number after a minus.
    Negative(u64),
    /// What stands between quotation marks.
    Quoted(Vec<Piece>),
    /// One of `= , { } ( )`.
    Sign(char),
    /// The file ends.
    End,
}

/// A part of what stands between quotation marks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// As it is.
    Text(String),
    /// What the variable says.
    Variable(String),
}

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) word: Word,
    pub(super) place: Place,
}

impl Word {
    /// As messages say it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Text(text) => format!("'{}'", shown(text)),
            Self::Variable(name) => format!("'${}'", shown(name)),
            Self::Number(number) => format!("'{number}'"),
            Self::Negative(number) => format!("'-{number}'"),
            Self::Quoted(_) => "a text in quotation marks".to_owned(),
            Self::Sign(sign) => format!("'{sign}'"),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

/// The words of a text, the last one [`Word::End`].
pub(super) fn words(text: &[u8], messages: &Messages) -> Result<Vec<Token>, ConfigError> {
    if text.len() > BYTES_MAX {
        let what = "the file is longer than 1 MiB";
        return Err(messages.error(Place::START, what).hint("is it a workload file?"));
    }
    let mut lexer = Lexer { text, at: 0, line: 1, line_start: 0, messages };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let place = lexer.place();
        let word = lexer.word(place)?;
        let ends = word == Word::End;
        tokens.push(Token { word, place });
        if ends {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
    line_start: usize,
    messages: &'t Messages,
}

/// Letters that a word goes on with.
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._:;_-".contains(&byte)
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Lexer<'_> {
    fn place(&self) -> Place {
        Place { line: self.line, column: self.at - self.line_start + 1 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => self.new_line(),
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'#' => self.at += self.run(|byte| byte != b'\n'),
                _ => break,
            }
        }
    }

    fn new_line(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
    }

    /// How many bytes from here on are such ones.
    fn run(&self, is: impl Fn(u8) -> bool) -> usize {
        self.text[self.at..].iter().take_while(|byte| is(**byte)).count()
    }

    fn take(&mut self, is: impl Fn(u8) -> bool) -> String {
        let end = self.at + self.run(is);
        let taken = String::from_utf8_lossy(&self.text[self.at..end]).into_owned();
        self.at = end;
        taken
    }

    fn word(&mut self, place: Place) -> Result<Word, ConfigError> {
        let Some(byte) = self.peek() else { return Ok(Word::End) };
        match byte {
            b'=' | b',' | b'{' | b'}' | b'(' | b')' => {
                self.at += 1;
                Ok(Word::Sign(char::from(byte)))
            }
            b'"' => self.quoted(place).map(Word::Quoted),
            b'$' => self.variable(place).map(Word::Variable),
            b'0'..=b'9' => self.number(place).map(Word::Number),
            b'-' if self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) => {
                self.at += 1;
                self.number(place).map(Word::Negative)
            }
            byte if byte.is_ascii_alphabetic() || b"/-".contains(&byte) => {
                Ok(Word::Text(self.take(goes_on)))
            }
            b'+' | b'*' => Err(self
                .messages
                .error(place, format!("'{}': there is no arithmetic", char::from(byte)))
                .hint("filebench 1.5 refuses it too; write the result")),
            _ => {
                let rest = String::from_utf8_lossy(&self.text[self.at..]).into_owned();
                let odd: String = rest.chars().take(1).collect();
                Err(self
                    .messages
                    .error(place, format!("'{}' begins no word", odd.escape_debug()))
                    .hint("texts with other signs stand in quotation marks"))
            }
        }
    }

    fn variable(&mut self, place: Place) -> Result<String, ConfigError> {
        self.at += 1;
        let close = match self.peek() {
            Some(b'{') => Some(b'}'),
            Some(b'(') => Some(b')'),
            _ => None,
        };
        self.at += usize::from(close.is_some());
        let name = self.take(in_name);
        let closed = close.is_none_or(|close| self.peek() == Some(close));
        self.at += usize::from(close.is_some() && closed);
        if !closed || !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let what = "a variable is a $ and a name of letters, digits and _";
            return Err(self.messages.error(place, what).hint("write $name"));
        }
        if self.peek() == Some(b'.') {
            let what = format!("${name}.: attributes of a random variable cannot be set alone");
            let right = format!("write set ${name}=randvar(...) with all of them");
            return Err(self.messages.error(place, what).hint(right));
        }
        Ok(name)
    }

    fn number(&mut self, place: Place) -> Result<u64, ConfigError> {
        let digits = self.take(|byte| byte.is_ascii_digit());
        let suffix = self.take(goes_on);
        let shift = match suffix.as_str() {
            "" => Some(0),
            "k" => Some(10),
            "m" => Some(20),
            "g" => Some(30),
            _ => None,
        };
        let typed = format!("{digits}{suffix}");
        let Some(shift) = shift else {
            let what = format!("'{}' is not a number", shown(&typed));
            let right = "a number has digits, and k, m or g behind for powers of 1024";
            return Err(self.messages.error(place, what).hint(right));
        };
        let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        number.filter(|number| i64::try_from(*number).is_ok()).ok_or_else(|| {
            let what = format!("{} is too large", shown(&typed));
            self.messages.error(place, what).hint("numbers go up to 9223372036854775807")
        })
    }

    fn quoted(&mut self, place: Place) -> Result<Vec<Piece>, ConfigError> {
        self.at += 1;
        let (mut pieces, mut text) = (Vec::new(), Vec::new());
        loop {
            let Some(byte) = self.peek() else {
                let what = "the text has no closing quotation mark";
                return Err(self.messages.error(place, what).hint("close it with \""));
            };
            match byte {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'n') => text.push(b'\n'),
                        Some(b'"') => text.push(b'"'),
                        Some(b'$') => text.push(b'$'),
                        Some(b'\\') | None => text.push(b'\\'),
                        Some(_) => {
                            text.push(b'\\');
                            continue;
                        }
                    }
                    self.at += 1;
                }
                b'$' => {
                    let place = self.place();
                    let name = self.variable_in_text(place)?;
                    if !text.is_empty() {
                        pieces.push(Piece::Text(String::from_utf8_lossy(&text).into_owned()));
                        text.clear();
                    }
                    pieces.push(Piece::Variable(name));
                }
                b'\n' => {
                    text.push(byte);
                    self.new_line();
                }
                _ => {
                    text.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        if !text.is_empty() {
            pieces.push(Piece::Text(String::from_utf8_lossy(&text).into_owned()));
        }
        Ok(pieces)
    }

    /// A variable within a text may have a full stop behind it.
    fn variable_in_text(&mut self, place: Place) -> Result<String, ConfigError> {
        let braced = matches!(self.text.get(self.at + 1), Some(b'{' | b'('));
        if braced {
            return self.variable(place);
        }
        self.at += 1;
        let name = self.take(in_name);
        if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Ok(name);
        }
        let what = "a $ in a text begins the name of a variable";
        Err(self.messages.error(place, what).hint("write \\$ for the sign itself"))
    }
}
