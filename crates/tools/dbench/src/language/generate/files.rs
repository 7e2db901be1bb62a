//! Files of the generated load: names, existence and sizes.

/// Directories of files, and the percentage of opens in each.
pub(super) const DIRS: [(&str, u64); 9] = [
    ("TABLES", 37),
    ("SLIDES", 14),
    ("LAYOUT", 11),
    ("DRAWINGS", 9),
    ("LETTERS", 8),
    ("DRAFTS", 7),
    ("SHEETS", 7),
    ("STOCK", 5),
    ("RECORDS", 2),
];
/// Directory that holds the generated files.
pub(super) const TOP: &str = r"\clients\client1\work";

/// Number of lasting files, and of names of passing ones.
pub(super) const LASTING: usize = 56;
const PASSING: usize = 128;
/// Name extensions, used in turn.
const ENDINGS: [&str; 6] = ["DAT", "DOC", "IDX", "PIC", "TMP", "BAK"];

/// Generated name, and the state of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GeneratedFile {
    pub(super) dir: usize,
    pub(super) path: String,
    /// File size in bytes; `None` if the file does not exist.
    pub(super) bytes: Option<u64>,
    /// Number of handles that have the file open.
    pub(super) open: u32,
}

/// All file names; lasting files come first.
#[derive(Clone, Debug)]
pub(super) struct FileTable {
    pub(super) all: Vec<GeneratedFile>,
    next_handle: u32,
}

impl FileTable {
    /// Names without files.
    pub(super) fn new() -> Self {
        let lasting = (0..LASTING).map(|number| (dir_of(number, LASTING), 'F', number));
        let passing = (0..PASSING).map(|number| (dir_of(number, PASSING), 'T', number));
        let named = |(dir, letter, number): (usize, char, usize)| {
            let (name, ending) = (DIRS[dir].0, ENDINGS[number % ENDINGS.len()]);
            let path = format!(r"{TOP}\{name}\{letter}{number:07}.{ending}");
            GeneratedFile { dir, path, bytes: None, open: 0 }
        };
        Self { all: lasting.chain(passing).map(named).collect(), next_handle: 100 }
    }

    /// A handle that was never used.
    pub(super) fn handle(&mut self) -> u32 {
        self.next_handle += 1;
        self.next_handle
    }

    /// Total size of the short-lived files.
    pub(super) fn passing_bytes(&self) -> u64 {
        self.all[LASTING..].iter().filter_map(|named| named.bytes).sum()
    }

    /// Passing names whose file exists and is not open.
    pub(super) fn idle(&self) -> impl Iterator<Item = usize> {
        let idle = |at: &usize| self.all[*at].bytes.is_some() && self.all[*at].open == 0;
        (LASTING..self.all.len()).filter(idle)
    }

    /// Names whose file does not exist.
    pub(super) fn free(&self) -> impl Iterator<Item = usize> {
        (LASTING..self.all.len()).filter(|&at| self.all[at].bytes.is_none())
    }

    /// Files in a directory.
    pub(super) fn count_in(&self, dir: usize) -> usize {
        self.all.iter().filter(|named| named.dir == dir && named.bytes.is_some()).count()
    }
}

/// Directory of a name: spreads `count` names over the directories by their shares.
fn dir_of(number: usize, count: usize) -> usize {
    let mut hundredth = (number * 100 / count) as u64;
    for (dir, &(_, share)) in DIRS.iter().enumerate() {
        if hundredth < share {
            return dir;
        }
        hundredth -= share;
    }
    DIRS.len() - 1
}

#[cfg(test)]
mod tests {
    use super::{DIRS, FileTable};

    #[test]
    fn generated_names_match_the_published_count_and_fill_all_directories() {
        let files = FileTable::new();
        // And the directories clients, client1 and work.
        assert_eq!(files.all.len() + DIRS.len() + 3, 196);
        assert_eq!(DIRS.iter().map(|(_, share)| share).sum::<u64>(), 100);
        for dir in 0..DIRS.len() {
            assert!(files.all.iter().filter(|named| named.dir == dir).count() >= 2, "{dir}");
        }
    }
}
