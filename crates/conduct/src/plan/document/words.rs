//! Lists of words: mkfs options and launchers are split like shell words, mount options at commas.

use super::tree::Entry;
use super::values::OneOrMany;
use crate::plan::error::Fault;

/// Words of a command such as mkfs options or a launcher: strings are split as a shell would, array
/// elements are single arguments.
pub(super) fn of_command(entry: &Entry<OneOrMany<String>>) -> Result<Vec<String>, Fault> {
    match &entry.value {
        OneOrMany::Single(text) => split_shell(text).map_err(|why| {
            entry.fault(format!("`{}`: {why}", entry.key), "").hint(
                "quotation marks and backslashes work as in a shell; an array of strings needs \
                 none",
            )
        }),
        OneOrMany::Array(texts) => Ok(texts.iter().map(|text| text.value.clone()).collect()),
    }
}

/// Mount options: separated by commas, in an array, or both.
pub(super) fn mount(entry: &Entry<OneOrMany<String>>) -> Result<Vec<String>, Fault> {
    let mut options = Vec::new();
    for (span, text) in entry.elements(&entry.span) {
        let fault = |message| Fault::at(span.clone(), message, "");
        if text.is_empty() {
            continue;
        }
        if text.matches('"').count() % 2 == 1 {
            return Err(fault("`mount`: a quotation mark is never closed"));
        }
        for piece in split_commas(text) {
            if piece.is_empty() || piece.trim() != piece {
                let hint = "write options with one comma between, as \"noatime,commit=30\"";
                return Err(fault("`mount` has an empty option, or blanks around one").hint(hint));
            }
            options.push(piece.to_owned());
        }
    }
    Ok(options)
}

/// Splits at commas outside quotation marks, as mount(8) does.
fn split_commas(text: &str) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    })
    .collect()
}

/// Splits into words as a shell does, without any expansion.
fn split_shell(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            blank if blank.is_ascii_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("a ' is never closed")? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or("a \" is never closed")? {
                        '"' => break,
                        '\\' => match characters.next().ok_or("a \" is never closed")? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            other => word.extend(['\\', other]),
                        },
                        other => word.push(other),
                    }
                }
            }
            '\\' => {
                let escaped = characters.next().ok_or("nothing stands behind the last \\")?;
                word.get_or_insert_default().push(escaped);
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::{split_commas, split_shell};

    #[test]
    fn words_are_split_as_in_a_shell() {
        for (text, words) in [
            ("", &[][..]),
            ("  -m 1\t-E  x=1 ", &["-m", "1", "-E", "x=1"]),
            ("-L 'my disk' ''", &["-L", "my disk", ""]),
            (r#"-L "a \"b\" \n $c""#, &["-L", r#"a "b" \n $c"#]),
            (r"a\ b'c'd", &["a bcd"]),
        ] {
            assert_eq!(split_shell(text).unwrap(), words, "{text}");
        }
        for wrong in ["'a", "\"a", "a\\", "\"a\\"] {
            assert!(split_shell(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn commas_in_quotation_marks_do_not_split() {
        assert_eq!(split_commas(r#"a,c="x,y",b"#), ["a", r#"c="x,y""#, "b"]);
        assert_eq!(split_commas("a,,b"), ["a", "", "b"]);
    }
}
