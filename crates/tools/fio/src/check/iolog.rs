//! Logs of requests as fio writes them (`write_iolog`), versions 2 and 3.

use std::fmt::{self, Display, Formatter};

/// Request of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Name of the file, without directories.
    pub file: String,
    /// True for a write, false for a read.
    pub writes: bool,
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

impl Display for Moved {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, writes, offset, bytes } = self;
        let verb = if *writes { "write" } else { "read" };
        write!(formatter, "{verb} {bytes} at {offset} of {file}")
    }
}

/// First `most` reads and writes of a log. Other lines are ignored; the last line may be truncated.
pub fn moved(text: &str, most: usize) -> Vec<Moved> {
    let mut lines = text.lines();
    // Since version 3 each line begins with a time.
    let is_timed = lines.next().is_some_and(|first| first.starts_with("fio version 3"));
    lines.filter_map(|line| request(line, is_timed)).take(most).collect()
}

fn request(line: &str, is_timed: bool) -> Option<Moved> {
    let mut words = line.rsplit(' ');
    let bytes = words.next()?.parse().ok()?;
    let offset = words.next()?.parse().ok()?;
    let writes = match words.next()? {
        "read" => false,
        "write" => true,
        _ => return None,
    };
    // The remainder is the file name, which may contain blanks, after the time.
    let action = line.splitn(2, if is_timed { ' ' } else { '\n' }).last()?;
    let verb = if writes { " write " } else { " read " };
    let name = &action[..action.rfind(verb)?];
    let file = name.rsplit('/').next()?.to_owned();
    Some(Moved { file, writes, offset, bytes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::{Moved, moved};

    fn one(file: &str, writes: bool, offset: u64) -> Moved {
        Moved { file: file.to_owned(), writes, offset, bytes: 4096 }
    }

    #[test]
    fn log_versions_2_and_3_are_read() {
        let new = "fio version 3 iolog\n30 a.0.0 add\n176 a.0.0 open\n183 ../x/a.0.0 read 8192 4096\n\
                   190 a.0.0 datasync\n201 a b.0 write 0 4096\n202 a.0.0 clo";
        assert_eq!(moved(new, 10), [one("a.0.0", false, 8192), one("a b.0", true, 0)]);
        let old = "fio version 2 iolog\na.0.0 add\na.0.0 open\na.0.0 write 4096 4096\n";
        assert_eq!(moved(old, 10), [one("a.0.0", true, 4096)]);
        assert_eq!(moved(new, 1).len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer(text in any::<String>(), lines in "[ 0-9a-c./\n]*( read 1 2\n)?") {
            prop_assert!(moved(&text, 5).len() <= 5);
            moved(&format!("fio version 3 iolog\n{lines}"), 5);
            moved(&format!("fio version 2 iolog\n{lines}"), 5);
        }
    }
}
