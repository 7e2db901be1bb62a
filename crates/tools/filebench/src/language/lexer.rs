//! Tokens of a workload file, with their positions.

use treering_kit::cursor::TextCursor;
use treering_kit::faults::{Fault, Faults, Place, shown};

/// Longest workload file in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Word of a token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenWord {
    /// Name, key or path.
    Text(String),
    /// Variable as `$name`.
    Variable(String),
    /// Number, multiplied by its suffix.
    Number(u64),
    /// Number after a minus sign.
    Negative(u64),
    /// Quoted text.
    Quoted(Vec<QuotedPart>),
    /// Sign: one of `= , { } ( )`.
    Sign(char),
    /// End of the file.
    End,
}

/// Part of a quoted text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum QuotedPart {
    /// Literal text.
    Text(String),
    /// Name of a variable to be substituted.
    Variable(String),
}

/// Word and its position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) word: TokenWord,
    pub(super) place: Place,
}

impl TokenWord {
    /// Token in messages.
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

/// Splits a text into tokens, of which the last is [`TokenWord::End`].
pub(super) fn words<'t>(text: &'t [u8], faults: &mut Faults<'t>) -> Result<Vec<Token>, Fault> {
    if text.len() > BYTES_MAX {
        let message = "the file is longer than 1 MiB";
        return Err(faults.error(Place::START, message).hint("is it a workload file?"));
    }
    let mut lexer = Lexer { cursor: TextCursor::new(text, Place::new(1, 1)), faults };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let place = lexer.cursor.place();
        match lexer.word(place) {
            Ok(word) => {
                let ends = word == TokenWord::End;
                tokens.push(Token { word, place });
                if ends {
                    return Ok(tokens);
                }
            }
            Err(fault) => {
                lexer.faults.keep(fault);
                lexer.skip_word();
            }
        }
    }
}

struct Lexer<'t, 'f> {
    cursor: TextCursor<'t>,
    faults: &'f mut Faults<'t>,
}

/// True for bytes that continue a word.
fn goes_on(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/._:;_-".contains(&byte)
}

fn is_sign(byte: u8) -> bool {
    b"=,{}()".contains(&byte)
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Lexer<'_, '_> {
    fn skip_blanks(&mut self) {
        loop {
            self.cursor.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
            if self.cursor.peek() != Some(b'#') {
                return;
            }
            self.cursor.take_while(|byte| byte != b'\n');
        }
    }

    /// Skips to where the next word may begin.
    fn skip_word(&mut self) {
        self.cursor.take_while(|byte| !byte.is_ascii_whitespace() && !is_sign(byte));
    }

    fn take(&mut self, is: impl Fn(u8) -> bool) -> String {
        String::from_utf8_lossy(self.cursor.take_while(is)).into_owned()
    }

    fn word(&mut self, place: Place) -> Result<TokenWord, Fault> {
        let Some(byte) = self.cursor.peek() else { return Ok(TokenWord::End) };
        match byte {
            byte if is_sign(byte) => {
                self.cursor.bump();
                Ok(TokenWord::Sign(char::from(byte)))
            }
            b'"' => self.quoted(place).map(TokenWord::Quoted),
            b'$' => self.variable(place).map(TokenWord::Variable),
            b'0'..=b'9' => self.number(place).map(TokenWord::Number),
            b'-' if self.cursor.rest().get(1).is_some_and(u8::is_ascii_digit) => {
                self.cursor.bump();
                self.number(place).map(TokenWord::Negative)
            }
            byte if byte.is_ascii_alphabetic() || b"/-".contains(&byte) => {
                Ok(TokenWord::Text(self.take(goes_on)))
            }
            b'+' | b'*' => Err(self
                .faults
                .error(place, format!("'{}': there is no arithmetic", char::from(byte)))
                .hint("filebench 1.5 refuses it too; write the result")),
            _ => {
                let tail = self.cursor.rest();
                let odd = String::from_utf8_lossy(&tail[..tail.len().min(4)]);
                let odd: String = odd.chars().take(1).collect();
                self.cursor.bump();
                Err(self
                    .faults
                    .error(place, format!("'{}' begins no word", odd.escape_debug()))
                    .hint("texts with other signs stand in quotation marks"))
            }
        }
    }

    fn variable(&mut self, place: Place) -> Result<String, Fault> {
        self.cursor.bump();
        let close = match self.cursor.peek() {
            Some(b'{') => Some(b'}'),
            Some(b'(') => Some(b')'),
            _ => None,
        };
        if close.is_some() {
            self.cursor.bump();
        }
        let name = self.take(in_name);
        let closed = close.is_none_or(|close| self.cursor.take(close));
        if !closed || !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let message = "a variable is a $ and a name of letters, digits and _";
            return Err(self.faults.error(place, message).hint("write $name"));
        }
        if self.cursor.peek() == Some(b'.') {
            let message = format!("${name}.: attributes of a random variable cannot be set alone");
            let right = format!("write set ${name}=randvar(...) with all of them");
            return Err(self.faults.error(place, message).hint(right));
        }
        Ok(name)
    }

    fn number(&mut self, place: Place) -> Result<u64, Fault> {
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
            let message = format!("'{}' is not a number", shown(&typed));
            let right = "a number has digits, and k, m or g behind for powers of 1024";
            return Err(self.faults.error(place, message).hint(right));
        };
        let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        number.filter(|number| i64::try_from(*number).is_ok()).ok_or_else(|| {
            let message = format!("{} is too large", shown(&typed));
            self.faults.error(place, message).hint("numbers go up to 9223372036854775807")
        })
    }

    fn quoted(&mut self, place: Place) -> Result<Vec<QuotedPart>, Fault> {
        self.cursor.bump();
        let (mut pieces, mut text) = (Vec::new(), Vec::new());
        loop {
            text.extend(self.cursor.take_while(|byte| !matches!(byte, b'"' | b'\\' | b'$')));
            match self.cursor.peek() {
                None => {
                    let message = "the text has no closing quotation mark";
                    return Err(self.faults.error(place, message).hint("close it with \""));
                }
                Some(b'$') => {
                    let name = self.variable_in_text(self.cursor.place());
                    if name.is_err() {
                        // The rest still belongs to the quoted text.
                        self.cursor.take_while(|byte| byte != b'"');
                        self.cursor.bump();
                    }
                    let name = name?;
                    push_text(&mut pieces, &mut text);
                    pieces.push(QuotedPart::Variable(name));
                }
                Some(b'\\') => {
                    self.cursor.bump();
                    match self.cursor.peek() {
                        Some(b'n') => text.push(b'\n'),
                        Some(sign @ (b'"' | b'$' | b'\\')) => text.push(sign),
                        _ => {
                            text.push(b'\\');
                            continue;
                        }
                    }
                    self.cursor.bump();
                }
                Some(_) => break,
            }
        }
        self.cursor.bump();
        push_text(&mut pieces, &mut text);
        Ok(pieces)
    }

    /// Reads a variable within a quoted text, which a full stop may follow.
    fn variable_in_text(&mut self, place: Place) -> Result<String, Fault> {
        let braced = matches!(self.cursor.rest().get(1), Some(b'{' | b'('));
        if braced {
            return self.variable(place);
        }
        self.cursor.bump();
        let name = self.take(in_name);
        if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Ok(name);
        }
        let message = "a $ in a text begins the name of a variable";
        Err(self.faults.error(place, message).hint("write \\$ for the sign itself"))
    }
}

fn push_text(pieces: &mut Vec<QuotedPart>, text: &mut Vec<u8>) {
    if !text.is_empty() {
        pieces.push(QuotedPart::Text(String::from_utf8_lossy(text).into_owned()));
        text.clear();
    }
}
