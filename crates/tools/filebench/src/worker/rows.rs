//! Rows of one worker: the counters of its flowops.

use super::super::plan::{FlowopKind, ProgramStep};
use super::super::tally::{BUCKETS, FlowopCounters};

/// Counters of one worker.
#[derive(Debug)]
pub(super) struct WorkerRows {
    /// Index of each flowop's row among those of the worker.
    of: Vec<u32>,
    rows: Vec<FlowopCounters>,
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

fn counts_as(kind: FlowopKind) -> CountsAs {
    match kind {
        FlowopKind::Read
        | FlowopKind::Write
        | FlowopKind::ReadWholeFile
        | FlowopKind::WriteWholeFile
        | FlowopKind::AppendFile
        | FlowopKind::AppendFileRand
        | FlowopKind::AioWrite => CountsAs::Moves,
        FlowopKind::OpenFile
        | FlowopKind::CreateFile
        | FlowopKind::CloseFile
        | FlowopKind::DeleteFile
        | FlowopKind::StatFile
        | FlowopKind::Fsync
        | FlowopKind::FsyncSet
        | FlowopKind::MakeDir
        | FlowopKind::RemoveDir
        | FlowopKind::ListDir
        | FlowopKind::AioWait => CountsAs::Operates,
        _ => CountsAs::Nothing,
    }
}

impl WorkerRows {
    pub(super) fn new(steps: &[ProgramStep], histograms: bool) -> Self {
        let mut names: Vec<usize> = Vec::new();
        let mut of = Vec::with_capacity(steps.len());
        for step in steps {
            let at = names.iter().position(|row| *row == step.row).unwrap_or_else(|| {
                names.push(step.row);
                names.len() - 1
            });
            of.push(u32::try_from(at).unwrap_or(0));
        }
        let empty = FlowopCounters {
            buckets: histograms.then(|| vec![0; BUCKETS]),
            ..FlowopCounters::default()
        };
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
    pub(super) fn of_row(&self, steps: &[ProgramStep], row: usize) -> Option<(u64, u64)> {
        let step = steps.iter().position(|step| step.row == row)?;
        let tally = &self.rows[self.of[step] as usize];
        Some((tally.count, tally.bytes))
    }

    /// Tallies of all rows, under their numbers in the plan.
    pub(super) fn tallies(&self, steps: &[ProgramStep]) -> Vec<(usize, FlowopCounters)> {
        let mut tallies: Vec<(usize, FlowopCounters)> = Vec::with_capacity(self.rows.len());
        for (step, of) in steps.iter().zip(&self.of) {
            if *of as usize == tallies.len() {
                tallies.push((step.row, self.rows[*of as usize].clone()));
            }
        }
        tallies
    }
}
