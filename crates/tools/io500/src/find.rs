//! Search phase, and the tasks around the tests: directories, and the timestamp file.
//!
//! All workers walk through the directories. A directory that belongs to an mdtest worker is read
//! by that worker only; all others are read by every worker, and each examines its share of the
//! files.

use std::ffi::{CStr, CString};

use treering_model::Counters;
use treering_model::workloads::io500::{FindCounts, HARD_FILE_BYTES, Io500Benchmark};
use treering_script::{CreateHow, DirSlot, EntryKind, ExpectedErrors, FileSlot, Io, Script, Stop};

/// The directory of a rehearsal, in the target.
pub(super) const TOP_DIRECTORY: &str = "io500-0";
const TIMESTAMP: &CStr = c"timestampfile";
const FILE: FileSlot = FileSlot(0);
/// Substring that the search looks for in names.
const SEARCHED: &[u8] = b"01";

/// Search of one worker in the directory of the rehearsal.
#[derive(Debug)]
pub(super) struct FindScript {
    pub(super) worker: u16,
    pub(super) workers: u16,
    pub(super) counts: FindCounts,
}

/// The worker of mdtest to which a directory belongs.
fn owner(name: &CStr) -> Option<u16> {
    let tail = name.to_str().ok()?.strip_prefix("mdtest_tree.")?;
    tail.split_once('.')?.0.parse().ok()
}

/// The FNV-1a hash of a name.
fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn is_searched(name: &[u8]) -> bool {
    name.windows(SEARCHED.len()).any(|part| part == SEARCHED)
}

impl FindScript {
    fn is_own(&self, number: u64) -> bool {
        number % u64::from(self.workers.max(1)) == u64::from(self.worker)
    }

    /// Reads an open directory, then its subdirectories, each in the next slot.
    fn walk(&mut self, io: &mut dyn Io, depth: u16, is_shared: bool) -> Result<(), Stop> {
        let dir = DirSlot(depth);
        let (mut below, mut hits): (Vec<CString>, Vec<CString>) = Default::default();
        loop {
            let entries = io.read_dir(dir)?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                let name = entry.name.to_bytes();
                if entry.kind == EntryKind::Directory {
                    below.push(entry.name.to_owned());
                } else if !is_shared || self.is_own(hash(name)) {
                    self.counts.files += 1;
                    if is_searched(name) {
                        hits.push(entry.name.to_owned());
                    }
                }
            }
            for name in hits.drain(..) {
                let bytes = io.size(dir, &name)?;
                self.counts.found += u64::from(bytes == u64::from(HARD_FILE_BYTES));
            }
        }
        for name in below {
            let owner = owner(&name);
            if owner.is_none_or(|owner| self.is_own(owner.into())) {
                io.open_dir(dir, &name, DirSlot(depth + 1))?;
                self.walk(io, depth + 1, is_shared && owner.is_none())?;
            }
        }
        Ok(())
    }
}

impl Script for FindScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &top(), DirSlot(1))?;
        self.walk(io, 1, true)
    }

    fn counters(&mut self) -> Counters {
        Counters::from_value(&self.counts)
    }
}

/// The directory of the rehearsal.
fn top() -> CString {
    CString::new(TOP_DIRECTORY).unwrap_or_default()
}

fn name_of(benchmark: Io500Benchmark) -> CString {
    CString::new(benchmark.name()).unwrap_or_default()
}

/// The directory of a test.
pub(super) fn directory_of(benchmark: Io500Benchmark) -> CString {
    CString::new(format!("{TOP_DIRECTORY}/{}", benchmark.name())).unwrap_or_default()
}

/// Creates or removes the directories of a rehearsal.
#[derive(Debug)]
pub(super) struct MakeDirectoriesScript {
    pub(super) makes: bool,
}

impl Script for MakeDirectoriesScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let dir = DirSlot(1);
        if self.makes {
            io.make_dir(DirSlot::TARGET, &top())?;
        }
        io.open_dir(DirSlot::TARGET, &top(), dir)?;
        for benchmark in Io500Benchmark::ALL {
            let name = name_of(benchmark);
            if self.makes {
                io.make_dir(dir, &name)?;
            } else {
                io.remove_dir(dir, &name)?;
            }
        }
        if !self.makes {
            io.unlink(dir, TIMESTAMP).unless_missing()?;
            io.remove_dir(DirSlot::TARGET, &top())?;
        }
        Ok(())
    }
}

/// Creates the timestamp file, which all files of mdtest-hard are newer than.
#[derive(Debug)]
pub(super) struct TimestampFile;

impl Script for TimestampFile {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        io.open_dir(DirSlot::TARGET, &top(), DirSlot(1))?;
        io.create(DirSlot(1), TIMESTAMP, CreateHow::OrOpen, FILE)?;
        io.close(FILE)
    }
}

#[cfg(test)]
mod tests {
    use super::{is_searched, owner};

    #[test]
    fn search_matches_names_and_finds_the_owner_of_a_tree() {
        assert!(is_searched(b"file.mdtest.0.101") && !is_searched(b"file.mdtest.0.110"));
        assert_eq!(owner(c"mdtest_tree.12.0"), Some(12));
        assert_eq!([owner(c"mdtest_tree.0"), owner(c"ior-easy")], [None, None]);
    }
}
