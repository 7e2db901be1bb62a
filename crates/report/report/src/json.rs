//! JSON with strings that are safe to print: control characters are escaped, as in `\u009b`.
//!
//! The escapes are JSON's own, so a parser restores the original text.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use treering_model::is_unsafe;

/// Writes a value as JSON in one line, without a newline.
pub(crate) fn write<T: Serialize + ?Sized>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(out, EscapingFormatter);
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// Writes a value as JSON in a line of its own.
pub(crate) fn write_line<T: Serialize>(value: &T, out: &mut dyn io::Write) -> io::Result<()> {
    write(value, out)?;
    writeln!(out)
}

/// Version of a form, with which its document begins.
#[derive(Serialize)]
pub(crate) struct Version {
    pub(crate) version: u32,
}

struct EscapingFormatter;

impl Formatter for EscapingFormatter {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut unwritten = fragment;
        while let Some((place, c)) = unwritten.char_indices().find(|&(_, c)| is_unsafe(c)) {
            writer.write_all(&unwritten.as_bytes()[..place])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            unwritten = &unwritten[place + c.len_utf8()..];
        }
        writer.write_all(unwritten.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use proptest::prelude::{any, proptest};

    #[test]
    fn control_characters_beyond_ascii_are_escaped_too() {
        let mut bytes = Vec::new();
        write("\u{9b}31m\u{7f}\u{202e}\u{e0041}ä", &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, r#""\u009b31m\u007f\u202e\udb40\udc41ä""#);
    }

    proptest! {
        #[test]
        fn json_strings_round_trip(text in any::<String>()) {
            let mut bytes = Vec::new();
            write(text.as_str(), &mut bytes).unwrap();
            assert_eq!(serde_json::from_slice::<String>(&bytes).unwrap(), text);
        }
    }
}
