//! Decomposition of IO500 phases into parts: phases of the tests, and the work around them.

use treering_model::workloads::io500::{Benchmark, StepKind};

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

/// Parts of a phase, in order. mdtest creates its trees before its items and removes them after its
/// files.
pub(super) fn parts(kind: StepKind) -> Vec<Part> {
    match kind {
        StepKind::Prepare => vec![Part::MakeDirectories],
        StepKind::Timestamp => vec![Part::Timestamp],
        StepKind::Find => vec![Part::Find],
        StepKind::Write(test) | StepKind::Delete(test) if !test.moves_data() => {
            vec![Part::Of(test); 2]
        }
        StepKind::Write(test)
        | StepKind::Read(test)
        | StepKind::Stat(test)
        | StepKind::Delete(test) => vec![Part::Of(test)],
        StepKind::CleanUp => {
            vec![
                Part::Of(Benchmark::IorEasy),
                Part::Of(Benchmark::IorHard),
                Part::RemoveDirectories,
            ]
        }
    }
}
