//! IO500: its tests, its phases in order, prescribed sizes and defaults, and the counters of the
//! find phase.

use serde::{Deserialize, Serialize};

/// Duration of the write phases in a valid run, in seconds.
pub const FULL_SECONDS: u64 = 300;

/// Transfer size of ior-easy, in bytes.
pub const EASY_TRANSFER_BYTES: u32 = 2 << 20;
/// Transfer and segment size of ior-hard, in bytes.
pub const HARD_TRANSFER_BYTES: u32 = 47_008;
/// File size of mdtest-hard, in bytes.
pub const HARD_FILE_BYTES: u32 = 3901;

/// Default of the configuration key `n`.
pub const DEFAULT_ITEMS: u64 = 1_000_000;
/// Default of the configuration key `segmentCount`.
pub const DEFAULT_SEGMENTS: u64 = 10_000_000;
/// Default of the configuration key `blockSize`, in bytes.
pub const DEFAULT_BLOCK_BYTES: u64 = 9_920_000 << 20;

/// Name of the find phase and of its task kind.
pub const FIND: &str = "find";
/// Fact with the number of files visited by the find phase.
pub const FILES_FACT: &str = "io500.files";
/// Fact with the number of matches.
pub const FOUND_FACT: &str = "io500.found";

/// Counters of a find worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindCounts {
    /// Visited files, including those that only their name ruled out.
    pub files: u64,
    /// Matching files.
    pub found: u64,
}

crate::named_enum! {
    /// Test of IO500, by its tool and difficulty.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Io500Benchmark {
        /// Large transfers, one file per worker.
        IorEasy = "ior-easy",
        /// Empty files, one directory per worker.
        MdtestEasy = "mdtest-easy",
        /// Small interleaved transfers to one shared file.
        IorHard = "ior-hard",
        /// Small files in one shared directory.
        MdtestHard = "mdtest-hard",
    }
}

impl Io500Benchmark {
    /// Index in [`Self::ALL`].
    pub const fn place(self) -> usize {
        self as usize
    }

    /// Transfer size of an ior test in bytes; `None` for mdtest, whose rates are operations.
    pub const fn transfer_bytes(self) -> Option<u32> {
        match self {
            Self::IorEasy => Some(EASY_TRANSFER_BYTES),
            Self::IorHard => Some(HARD_TRANSFER_BYTES),
            Self::MdtestEasy | Self::MdtestHard => None,
        }
    }

    /// Reports whether the test is ior, with rates in bytes.
    pub const fn moves_data(self) -> bool {
        self.transfer_bytes().is_some()
    }
}

/// Action of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Creates the directories.
    Prepare,
    /// Writes or creates until the time limit.
    Write(Io500Benchmark),
    /// Creates the timestamp file that the find phase compares against.
    Timestamp,
    /// Searches for matching files.
    Find,
    /// Reads the files of a write phase.
    Read(Io500Benchmark),
    /// Stats the files of a write phase.
    Stat(Io500Benchmark),
    /// Removes the files of a write phase.
    Delete(Io500Benchmark),
    /// Removes everything left.
    CleanUp,
}

/// Phase of IO500, or an auxiliary phase of a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io500Phase {
    /// Phase name; that of IO500 where the phase has one.
    pub name: &'static str,
    /// Action of the phase.
    pub kind: StepKind,
}

impl Io500Phase {
    /// Test that the phase belongs to.
    pub const fn test(&self) -> Option<Io500Benchmark> {
        use StepKind::{CleanUp, Delete, Find, Prepare, Read, Stat, Timestamp, Write};
        match self.kind {
            Write(test) | Read(test) | Stat(test) | Delete(test) => Some(test),
            Prepare | Timestamp | Find | CleanUp => None,
        }
    }

    /// Reports whether this is a write phase, which ends by time.
    pub const fn is_written(&self) -> bool {
        matches!(self.kind, StepKind::Write(_))
    }

    /// Reports whether the rate is in bytes; otherwise in operations.
    pub fn moves_data(&self) -> bool {
        self.test().is_some_and(Io500Benchmark::moves_data)
    }

    /// Reports whether this is one of the twelve phases with a rate.
    pub fn is_measured(&self) -> bool {
        self.kind == StepKind::Find || self.test().is_some()
    }
}

/// All phases, in order.
pub const STEPS: [Io500Phase; 15] = {
    use Io500Benchmark::{IorEasy, IorHard, MdtestEasy, MdtestHard};
    use StepKind::{CleanUp, Delete, Find, Prepare, Read, Stat, Timestamp, Write};
    const fn step(name: &'static str, kind: StepKind) -> Io500Phase {
        Io500Phase { name, kind }
    }
    [
        step("prepare", Prepare),
        step("ior-easy-write", Write(IorEasy)),
        step("mdtest-easy-write", Write(MdtestEasy)),
        step("timestamp", Timestamp),
        step("ior-hard-write", Write(IorHard)),
        step("mdtest-hard-write", Write(MdtestHard)),
        step(FIND, Find),
        step("ior-easy-read", Read(IorEasy)),
        step("mdtest-easy-stat", Stat(MdtestEasy)),
        step("ior-hard-read", Read(IorHard)),
        step("mdtest-hard-stat", Stat(MdtestHard)),
        step("mdtest-easy-delete", Delete(MdtestEasy)),
        step("mdtest-hard-read", Read(MdtestHard)),
        step("mdtest-hard-delete", Delete(MdtestHard)),
        step("cleanup", CleanUp),
    ]
};

/// Phases with a rate, in order.
pub fn measured() -> impl Iterator<Item = &'static Io500Phase> {
    STEPS.iter().filter(|step| step.is_measured())
}

#[cfg(test)]
mod tests {
    use super::{STEPS, StepKind, measured};

    #[test]
    fn phase_names_combine_test_and_action() {
        for step in &STEPS {
            let verb = match step.kind {
                StepKind::Write(_) => "write",
                StepKind::Read(_) => "read",
                StepKind::Stat(_) => "stat",
                StepKind::Delete(_) => "delete",
                _ => continue,
            };
            let test = step.test().unwrap();
            assert_eq!(step.name, format!("{}-{verb}", test.name()));
            assert_eq!(test.moves_data(), step.name.starts_with("ior-"));
        }
        let data = measured().filter(|step| step.moves_data()).count();
        assert_eq!((measured().count(), data), (12, 4));
    }
}
