//! Names in loads, and their paths for a client.

use treering_script::path_components;

use treering_kit::faults::{Fault, Faults, Place, shown};

/// Component that stands for the client's own directory in a load.
const CLIENT: &[u8] = b"client1";
/// The longest component: the client's number may add a few digits.
const COMPONENT_MAX: usize = 240;

/// Path relative to the directory under test, without a leading slash; empty for the directory
/// itself. `client1` still stands for every client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathTemplate(Vec<u8>);

/// Parses a name: backslashes become slashes, and names that lead upward are refused.
pub(super) fn template(text: &[u8], place: Place, faults: &Faults) -> Result<PathTemplate, Fault> {
    let path = relative(text);
    let long = path.split(|&byte| byte == b'/').any(|part| part.len() > COMPONENT_MAX);
    let checked = path_components(&path).map(|_components| ());
    let message = match checked {
        Ok(()) if !long => return Ok(PathTemplate(path)),
        Err(_) if path.is_empty() => return Ok(PathTemplate(path)),
        Ok(()) => "a part of it has more than 240 bytes".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("'{}' is no name: {message}", shown(text));
    let right = "a name stays below the directory under test, as \"\\clients\\client1\\a.txt\"";
    Err(faults.error(place, message).hint(right))
}

/// A path without a leading slash, empty components and those that lead nowhere.
fn relative(text: &[u8]) -> Vec<u8> {
    let mut path: Vec<u8> = Vec::with_capacity(text.len());
    let parts = text.split(|byte| matches!(byte, b'\\' | b'/'));
    for part in parts.filter(|part| !part.is_empty() && *part != b".") {
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(part);
    }
    path
}

impl PathTemplate {
    /// The path for a client.
    pub(crate) fn of_client(&self, client: u32) -> Vec<u8> {
        let own = format!("client{client}").into_bytes();
        let mut path = Vec::with_capacity(self.0.len() + own.len());
        let mut tail = self.0.as_slice();
        while let Some(&byte) = tail.first() {
            if let Some(after) = tail.strip_prefix(CLIENT) {
                path.extend_from_slice(&own);
                tail = after;
            } else {
                path.push(byte);
                tail = &tail[1..];
            }
        }
        path
    }

    /// True if the path is the directory under test.
    pub(crate) fn is_top(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the text contains `$0` to `$9`.
    pub(super) fn has_random(&self) -> bool {
        self.0.windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_digit())
    }

    /// Path with `$0` to `$9` replaced; the inserted strings cannot lead out of the directory.
    pub(crate) fn filled(&self, strings: &[Vec<u8>; 10]) -> Self {
        let mut path = Vec::with_capacity(self.0.len());
        let mut tail = self.0.as_slice();
        while let Some(&byte) = tail.first() {
            match tail {
                [b'$', digit @ b'0'..=b'9', after @ ..] => {
                    path.extend_from_slice(&strings[usize::from(digit - b'0')]);
                    tail = after;
                }
                _ => {
                    path.push(byte);
                    tail = &tail[1..];
                }
            }
        }
        let path = relative(&path);
        let checked = path_components(&path).is_ok()
            && path.split(|&byte| byte == b'/').all(|part| part.len() <= COMPONENT_MAX);
        if checked { Self(path) } else { self.clone() }
    }

    /// The first component, empty for the directory under test.
    pub(crate) fn top(&self) -> &[u8] {
        self.0.split(|&byte| byte == b'/').next().unwrap_or_default()
    }
}

/// Random text: fixed letters, and sets of letters in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RandomText(Vec<Vec<u8>>);

/// The longest drawn text.
const RANDOM_MAX: usize = 64;

/// Parses `a[bc]d`, with ranges as in `[a-z]`. Paths are checked when they are drawn.
pub(super) fn random_text(text: &[u8], place: Place, faults: &Faults) -> Result<RandomText, Fault> {
    let right = "a random string is text, with sets of letters in brackets, as \"a.b[cd][0-9]\"";
    let message = format!("'{}' is no random string", shown(text));
    let wrong = || faults.error(place, &message).hint(right);
    let mut letters = Vec::new();
    let mut tail = text;
    while let Some((&first, after)) = tail.split_first() {
        let (set, after) = if first == b'[' {
            let end = after.iter().position(|&byte| byte == b']').ok_or_else(wrong)?;
            (set(&after[..end]), &after[end + 1..])
        } else {
            (vec![first], after)
        };
        if set.is_empty() || set.iter().any(|byte| b"[]$\0".contains(byte)) {
            return Err(wrong());
        }
        letters.push(set);
        tail = after;
    }
    if letters.is_empty() || letters.len() > RANDOM_MAX {
        return Err(wrong());
    }
    Ok(RandomText(letters))
}

/// The letters of a set, ranges written out.
fn set(text: &[u8]) -> Vec<u8> {
    let mut letters = Vec::new();
    let mut tail = text;
    while let Some((&first, after)) = tail.split_first() {
        match after {
            [b'-', last, beyond @ ..] => {
                letters.extend(first..=*last);
                tail = beyond;
            }
            _ => {
                letters.push(first);
                tail = after;
            }
        }
    }
    letters
}

impl RandomText {
    /// Draws a text; `index` returns a random number below its argument.
    pub(crate) fn draw(&self, mut index: impl FnMut(usize) -> usize) -> Vec<u8> {
        self.0.iter().map(|set| set[index(set.len()).min(set.len() - 1)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Place, random_text, template};

    fn path(text: &str, client: u32) -> Result<String, String> {
        let parsed = template(text.as_bytes(), Place::START, &Faults::new("f", b""));
        let path = parsed.map_err(|fault| fault.what)?.of_client(client);
        Ok(String::from_utf8(path).unwrap())
    }

    #[test]
    fn names_are_relative_paths_with_the_client_number() {
        assert_eq!(
            path(r"\clients\client1\~dmtmp\A B.TXT", 12).unwrap(),
            "clients/client12/~dmtmp/A B.TXT"
        );
        assert_eq!(path("//a/./b//", 0).unwrap(), "a/b");
        assert_eq!(path(r"\", 0).unwrap(), "");
        assert_eq!(path(r"\client1client1", 2).unwrap(), "client2client2");
        assert!(path(r"\clients\..\x", 0).unwrap_err().contains("'.' or '..' component"));
        assert!(path(&"a".repeat(241), 0).unwrap_err().contains("240 bytes"));
        assert!(path(&"a/".repeat(300), 0).unwrap_err().contains("250 levels"));
    }

    #[test]
    fn random_strings_are_drawn_letter_by_letter() {
        let text = random_text(b"a[bc][x-z]", Place::START, &Faults::new("f", b"")).unwrap();
        assert_eq!(text.draw(|_| 0), b"abx");
        assert_eq!(text.draw(|length| length - 1), b"acz");
        for wrong in [&b""[..], b"[", b"[]", b"[z-a]", b"a$", b"[!-~]"] {
            assert!(random_text(wrong, Place::START, &Faults::new("f", b"")).is_err());
        }
        let name = template(br"\d\f$0_$1", Place::START, &Faults::new("f", b"")).unwrap();
        assert!(name.has_random());
        let mut strings: [Vec<u8>; 10] = Default::default();
        strings[0] = b"ab".to_vec();
        assert_eq!(name.filled(&strings).of_client(0), b"d/fab_");
        strings[0] = b"/a-/./x.".to_vec();
        assert_eq!(name.filled(&strings).of_client(0), b"d/f/a-/x._", "a path of directories");
        strings[1] = b"..".to_vec();
        strings[0] = b"x/../..".to_vec();
        assert_eq!(name.filled(&strings).of_client(0), b"d/f$0_$1");
    }
}
