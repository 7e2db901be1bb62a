//! Rows of one worker: the counters of its flowops.

use super::super::plan::{Kind, Step};
use super::super::tally::{BUCKETS, Tally};

/// Counters of one worker.
#[derive(Debug)]
pub(super) struct Rows {
    /// Index of each flowop's row among those of the worker.
    of: Vec<u32>,
    rows: Vec<Tally>,
    /// File operations, the reads and writes among them, and their bytes.
    pub(super) operations: u64,
    pub(super) moves: u64,
    pub(super) bytes: u64,
    classes: Vec<CountsAs>,
}

/// Contribution of a flowop to the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountsAs {
    Nothing,
    Operates,
    Moves,
}

fn counts_as(kind: Kind) -> CountsAs {
    match kind {
        Kind::Read
        | Kind::Write
        | Kind::ReadWholeFile
        | Kind::WriteWholeFile
        | Kind::AppendFile
        | Kind::AppendFileRand
        | Kind::AioWrite => CountsAs::Moves,
        Kind::OpenFile
        | Kind::CreateFile
        | Kind::CloseFile
        | Kind::DeleteFile
        | Kind::StatFile
        | Kind::Fsync
        | Kind::FsyncSet
        | Kind::MakeDir
        | Kind::RemoveDir
        | Kind::ListDir
        | Kind::AioWait => CountsAs::Operates,
        _ => CountsAs::Nothing,
    }
}

impl Rows {
    pub(super) fn new(steps: &[Step], histograms: bool) -> Self {
        let mut names: Vec<usize> = Vec::new();
        let mut of = Vec::with_capacity(steps.len());
        for step in steps {
            let at = names.iter().position(|row| *row == step.row).unwrap_or_else(|| {
                names.push(step.row);
                names.len() - 1
            });
            of.push(u32::try_from(at).unwrap_or(0));
        }
        let empty = Tally { buckets: histograms.then(|| vec![0; BUCKETS]), ..Tally::default() };
        let classes = steps.iter().map(|step| counts_as(step.kind)).collect();
        let rows = vec![empty; names.len()];
        Self { of, rows, operations: 0, moves: 0, bytes: 0, classes }
    }

    /// Counts a flowop with its calls, and its latency if it was timed.
    #[inline]
    pub(super) fn count(&mut self, step: usize, bytes: u64, calls: u32, took_ns: Option<u64>) {
        let row = &mut self.rows[self.of[step] as usize];
        row.count += 1;
        row.bytes += bytes;
        row.several |= calls > 1;
        if let Some(ns) = took_ns {
            row.took(ns);
        }
        match self.classes[step] {
            CountsAs::Nothing => {}
            CountsAs::Operates => self.operations += 1,
            CountsAs::Moves => {
                self.operations += 1;
                self.moves += 1;
                self.bytes += bytes;
            }
        }
    }

    /// Count and bytes of a row by its number, if the worker has it.
    pub(super) fn of_row(&self, steps: &[Step], row: usize) -> Option<(u64, u64)> {
        let step = steps.iter().position(|step| step.row == row)?;
        let tally = &self.rows[self.of[step] as usize];
        Some((tally.count, tally.bytes))
    }

    /// Tallies of all rows, under their numbers in the plan.
    pub(super) fn tallies(&self, steps: &[Step]) -> Vec<(usize, Tally)> {
        let mut all: Vec<(usize, Tally)> = Vec::with_capacity(self.rows.len());
        for (step, of) in steps.iter().zip(&self.of) {
            if *of as usize == all.len() {
                all.push((step.row, self.rows[*of as usize].clone()));
            }
        }
        all
    }
}
