//! The phases in the order of IO500, and which part of which test each of them is.

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

    /// Its name, which is that of its directory and of its section in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IorEasy => "ior-easy",
            Self::MdtestEasy => "mdtest-easy",
            Self::IorHard => "ior-hard",
            Self::MdtestHard => "mdtest-hard",
        }
    }

    /// Its place among all.
    pub(super) const fn place(self) -> usize {
        match self {
            Self::IorEasy => 0,
            Self::MdtestEasy => 1,
            Self::IorHard => 2,
            Self::MdtestHard => 3,
        }
    }

    /// Whether it is ior, whose rates are bytes.
    pub const fn moves_data(self) -> bool {
        matches!(self, Self::IorEasy | Self::IorHard)
    }
}

/// A part of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The directories are made.
    MakeDirectories,
    /// The next phase of a test.
    Of(Benchmark),
    /// The file that later ones are newer than.
    Timestamp,
    /// The search.
    Find,
    /// The directories are removed.
    RemoveDirectories,
}

/// What is measured in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measured {
    Nothing,
    /// A creation or a write, which time ends.
    Written(Benchmark),
    /// What follows on it.
    Worked(Benchmark),
    /// The search.
    Found,
}

/// A phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Its name: that of IO500, where it has it.
    pub(super) name: &'static str,
    pub(super) parts: &'static [Part],
    pub(super) measured: Measured,
}

use Benchmark::{IorEasy, IorHard, MdtestEasy, MdtestHard};
use Measured::{Found, Nothing, Worked, Written};
use Part::{Find, MakeDirectories, Of, RemoveDirectories, Timestamp};

const fn step(name: &'static str, parts: &'static [Part], measured: Measured) -> Step {
    Step { name, parts, measured }
}

/// All phases. mdtest makes its trees before it creates, and removes them after its files.
pub(super) const STEPS: [Step; 15] = [
    step("prepare", &[MakeDirectories], Nothing),
    step("ior-easy-write", &[Of(IorEasy)], Written(IorEasy)),
    step("mdtest-easy-write", &[Of(MdtestEasy), Of(MdtestEasy)], Written(MdtestEasy)),
    step("timestamp", &[Timestamp], Nothing),
    step("ior-hard-write", &[Of(IorHard)], Written(IorHard)),
    step("mdtest-hard-write", &[Of(MdtestHard), Of(MdtestHard)], Written(MdtestHard)),
    step("find", &[Find], Found),
    step("ior-easy-read", &[Of(IorEasy)], Worked(IorEasy)),
    step("mdtest-easy-stat", &[Of(MdtestEasy)], Worked(MdtestEasy)),
    step("ior-hard-read", &[Of(IorHard)], Worked(IorHard)),
    step("mdtest-hard-stat", &[Of(MdtestHard)], Worked(MdtestHard)),
    step("mdtest-easy-delete", &[Of(MdtestEasy), Of(MdtestEasy)], Worked(MdtestEasy)),
    step("mdtest-hard-read", &[Of(MdtestHard)], Worked(MdtestHard)),
    step("mdtest-hard-delete", &[Of(MdtestHard), Of(MdtestHard)], Worked(MdtestHard)),
    step("cleanup", &[Of(IorEasy), Of(IorHard), RemoveDirectories], Nothing),
];
