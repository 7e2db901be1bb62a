//! From bytes to text: UTF-8, UTF-16 with its mark, else one byte a character; and mails that
//! escape their characters.

/// The text of a file. Nothing is lost but what cannot be text: it becomes the replacement mark.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let text = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        bytes => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            // The first 256 characters of Unicode are those of ISO 8859-1.
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        },
    };
    match quoted_printable_body(&text) {
        Some(body) => format!("{}{}", &text[..body], unescaped(&text[body..])),
        None => text,
    }
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

/// Where the text begins that a mail says is quoted-printable (RFC 2045, 6.7).
fn quoted_printable_body(text: &str) -> Option<usize> {
    let mut place = 0;
    let mut is_said = false;
    for line in text.split_inclusive('\n') {
        let words = line.trim().to_ascii_lowercase();
        if let Some(how) = words.strip_prefix("content-transfer-encoding:") {
            is_said = how.trim() == "quoted-printable";
        }
        place += line.len();
        if is_said && words.is_empty() {
            return Some(place);
        }
    }
    None
}

/// Undoes quoted-printable: `=3D` is `=`, and `=` at the end of a line joins it with the next.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'=' {
            plain.push(first);
            continue;
        }
        let digit = |place: usize| char::from(*behind.get(place)?).to_digit(16);
        match behind {
            [b'\n', behind @ ..] | [b'\r', b'\n', behind @ ..] => rest = behind,
            _ => match (digit(0), digit(1)) {
                (Some(high), Some(low)) => {
                    plain.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                    rest = &behind[2..];
                }
                // Not an escape: somebody's own equals sign.
                _ => plain.push(first),
            },
        }
    }
    match String::from_utf8(plain) {
        Ok(text) => text,
        Err(error) => error.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_survives_the_usual_encodings() {
        let wanted = "stat dir kernel-2 é\r\n";
        assert_eq!(decode(wanted.as_bytes()), wanted);
        assert_eq!(decode(&[b"\xef\xbb\xbf".as_slice(), wanted.as_bytes()].concat()), wanted);
        let units = |of: fn(u16) -> [u8; 2]| wanted.encode_utf16().flat_map(of).collect();
        let little: Vec<u8> = units(u16::to_le_bytes);
        assert_eq!(decode(&[vec![0xff, 0xfe], little].concat()), wanted);
        let big: Vec<u8> = units(u16::to_be_bytes);
        assert_eq!(decode(&[vec![0xfe, 0xff], big].concat()), wanted);
        assert_eq!(decode(b"caf\xe9 \xb5s"), "café µs");
    }

    #[test]
    fn mails_that_escape_their_characters_are_read_as_written() {
        let mail = "Content-Transfer-Encoding: Quoted-Printable\nX: a=3Db\n\nsize =3D 4=\n096 \
                    =C3=A9 =zz\n";
        let wanted = "Content-Transfer-Encoding: Quoted-Printable\nX: a=3Db\n\nsize = 4096 é =zz\n";
        assert_eq!(decode(mail.as_bytes()), wanted);
        assert_eq!(decode(b"a=3Db\n\nc=3Dd"), "a=3Db\n\nc=3Dd");
    }
}
