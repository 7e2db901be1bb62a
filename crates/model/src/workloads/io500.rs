//! IO500: its tests, its phases in their order, the sizes that it prescribes and its defaults, and
//! what a rehearsal records of the search.

use serde::{Deserialize, Serialize};

/// For so long it writes in a valid run, in seconds.
pub const FULL_SECONDS: u64 = 300;

/// A transfer of ior-easy.
pub const EASY_TRANSFER_BYTES: u32 = 2 << 20;
/// A transfer and a segment of ior-hard.
pub const HARD_TRANSFER_BYTES: u32 = 47_008;
/// A file of mdtest-hard.
pub const HARD_FILE_BYTES: u32 = 3901;

/// What the configuration has for `n` where nothing is set.
pub const DEFAULT_ITEMS: u64 = 1_000_000;
/// The same for `segmentCount`.
pub const DEFAULT_SEGMENTS: u64 = 10_000_000;
/// The same for `blockSize`.
pub const DEFAULT_BLOCK_BYTES: u64 = 9_920_000 << 20;

/// The phase that searches, and the kind of its tasks.
pub const FIND: &str = "find";
/// The fact that says at how many files the search looked.
pub const FILES_FACT: &str = "io500.files";
/// The fact that says how many it found.
pub const FOUND_FACT: &str = "io500.found";

/// What a worker saw while it searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindCounts {
    /// Files that it looked at, by name or closer.
    pub files: u64,
    /// Of these those that were searched for.
    pub found: u64,
}

/// One of the four tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benchmark {
    /// Large transfers, a file for each worker.
    IorEasy,
    /// Empty files, a directory for each worker.
    MdtestEasy,
    /// Small transfers in turn, one file for all.
    IorHard,
    /// Small files, one directory for all.
    MdtestHard,
}

impl Benchmark {
    /// All, in the order in which they write.
    pub const ALL: [Self; 4] = [Self::IorEasy, Self::MdtestEasy, Self::IorHard, Self::MdtestHard];

    /// Its place among all.
    pub const fn place(self) -> usize {
        self as usize
    }

    /// Its name, which is that of its directory and of its section in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IorEasy => "ior-easy",
            Self::MdtestEasy => "mdtest-easy",
            Self::IorHard => "ior-hard",
            Self::MdtestHard => "mdtest-hard",
        }
    }

    /// Bytes of a transfer of ior; none of mdtest, whose rates are not bytes.
    pub const fn transfer_bytes(self) -> Option<u32> {
        match self {
            Self::IorEasy => Some(EASY_TRANSFER_BYTES),
            Self::IorHard => Some(HARD_TRANSFER_BYTES),
            Self::MdtestEasy | Self::MdtestHard => None,
        }
    }

    /// Whether it is ior, whose rates are bytes.
    pub const fn moves_data(self) -> bool {
        self.transfer_bytes().is_some()
    }
}

/// What is done in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The directories are made.
    Prepare,
    /// A test writes or creates until its time is over.
    Write(Benchmark),
    /// A file is made that later ones are newer than.
    Timestamp,
    /// The search.
    Find,
    /// A test reads what it wrote.
    Read(Benchmark),
    /// A test stats what it created.
    Stat(Benchmark),
    /// A test removes what it created.
    Delete(Benchmark),
    /// All that is left is removed.
    CleanUp,
}

/// A phase of IO500, or one that a rehearsal needs around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name: that of IO500, where it has it.
    pub name: &'static str,
    /// What is done in it.
    pub kind: StepKind,
}

impl Step {
    /// The test that it is a phase of.
    pub const fn test(&self) -> Option<Benchmark> {
        use StepKind::{CleanUp, Delete, Find, Prepare, Read, Stat, Timestamp, Write};
        match self.kind {
            Write(test) | Read(test) | Stat(test) | Delete(test) => Some(test),
            Prepare | Timestamp | Find | CleanUp => None,
        }
    }

    /// Whether a test writes in it, which time ends.
    pub const fn is_written(&self) -> bool {
        matches!(self.kind, StepKind::Write(_))
    }

    /// Whether its rate is bytes; else it is operations.
    pub fn moves_data(&self) -> bool {
        self.test().is_some_and(Benchmark::moves_data)
    }

    /// Whether it is one of the twelve phases that have a rate.
    pub fn is_measured(&self) -> bool {
        self.kind == StepKind::Find || self.test().is_some()
    }
}

/// All phases, in their order.
pub const STEPS: [Step; 15] = {
    use Benchmark::{IorEasy, IorHard, MdtestEasy, MdtestHard};
    use StepKind::{CleanUp, Delete, Find, Prepare, Read, Stat, Timestamp, Write};
    const fn step(name: &'static str, kind: StepKind) -> Step {
        Step { name, kind }
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

/// The phases that have a rate, in their order.
pub fn measured() -> impl Iterator<Item = &'static Step> {
    STEPS.iter().filter(|step| step.is_measured())
}

#[cfg(test)]
mod tests {
    use super::{STEPS, StepKind, measured};

    #[test]
    fn a_phase_of_a_test_is_called_by_the_test_and_what_it_does() {
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
