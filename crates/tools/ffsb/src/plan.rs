//! Work of one worker: a thread group of the profile, prepared for execution.

use treering_script::Random;

use super::operation::Operation;
use crate::language::{Filesystem, LatencySelection, ThreadGroup};

/// Options common to all workers of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkerOptions {
    /// Align random offsets to 4 KiB blocks.
    pub(super) align: bool,
    /// Open files with `O_DIRECT`.
    pub(super) direct: bool,
    /// Behave as the original: a stat before each transfer, and its own call times.
    pub(super) classic: bool,
}

/// File population that a worker operates on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PopulationKind {
    /// Files of the benchmark.
    Data,
    /// Files that fill up an aged filesystem.
    Fill,
}

/// Work of one worker.
#[derive(Clone, Debug)]
pub(super) struct WorkerPlan {
    pub(super) worker_options: WorkerOptions,
    pub(super) files: PopulationKind,
    /// Filesystem to work in; `None` for any.
    pub(super) bound: Option<usize>,
    /// Delay between two operations.
    pub(super) delay_ns: u64,
    pub(super) read: TransferShape,
    pub(super) write: TransferShape,
    /// Bytes skipped after each block that is read.
    pub(super) skip_bytes: Option<u64>,
    pub(super) stats: Option<LatencySelection>,
    /// True if any operation creates files.
    pub(super) makes_files: bool,
    /// Leave new files empty.
    pub(super) empty_files: bool,
    /// Operations that have a weight, with the sum of the weights up to them.
    draws: Vec<(u64, Operation)>,
}

fn makes_files(group: &ThreadGroup) -> bool {
    Operation::ALL.into_iter().any(|operation| operation.makes() && group.weight(operation) > 0)
}

/// Transfer size and pattern of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TransferShape {
    /// Bytes per operation.
    pub(super) bytes: u64,
    /// Bytes per call.
    pub(super) block_bytes: u32,
    /// Draw a random offset for each call.
    pub(super) random: bool,
}

impl WorkerPlan {
    /// Plan of a thread group.
    pub(super) fn of_group(group: &ThreadGroup, worker_options: WorkerOptions) -> Self {
        let mut sum = 0;
        let draws = Operation::ALL.into_iter().filter_map(|operation| {
            let weight = group.weight(operation);
            sum += weight;
            (weight > 0).then_some((sum, operation))
        });
        Self {
            worker_options,
            files: PopulationKind::Data,
            bound: group.bound,
            delay_ns: u64::from(group.delay_ms) * 1_000_000,
            read: TransferShape {
                // Whole blocks only.
                bytes: group.read_bytes
                    - group.read_bytes % u64::from(group.read_block_bytes.max(1)),
                block_bytes: group.read_block_bytes,
                random: group.read_random,
            },
            write: TransferShape {
                bytes: group.write_bytes,
                block_bytes: group.write_block_bytes,
                random: group.write_random,
            },
            skip_bytes: group.read_skip_bytes,
            stats: group.stats.clone(),
            makes_files: makes_files(group),
            empty_files: false,
            draws: draws.collect(),
        }
    }

    /// Plan of a group that ages a filesystem.
    pub(super) fn of_aging(
        group: &ThreadGroup,
        place: usize,
        block: u32,
        worker_options: WorkerOptions,
    ) -> Self {
        let plan = Self::of_group(group, worker_options);
        let write = TransferShape { block_bytes: block, ..plan.write };
        Self { files: PopulationKind::Fill, bound: Some(place), write, stats: None, ..plan }
    }

    /// Plan for creating the initial files of a filesystem.
    pub(super) fn of_filling(
        filesystem: &Filesystem,
        place: usize,
        files: PopulationKind,
        worker_options: WorkerOptions,
    ) -> Self {
        let block_bytes = match files {
            PopulationKind::Data => filesystem.create_block_bytes,
            PopulationKind::Fill => filesystem.age_block_bytes,
        };
        Self {
            worker_options,
            files,
            bound: Some(place),
            delay_ns: 0,
            read: TransferShape::default(),
            write: TransferShape { block_bytes, ..TransferShape::default() },
            skip_bytes: None,
            stats: None,
            makes_files: true,
            empty_files: false,
            draws: vec![(1, Operation::Create)],
        }
    }

    /// Draws the next operation by the weights.
    #[inline]
    pub(super) fn draw(&self, random: &mut Random) -> Operation {
        let weight_sum = self.draws.last().map_or(0, |&(sum, _)| sum);
        let drawn = if self.draws.len() > 1 { random.below(weight_sum) } else { 0 };
        let chosen = self.draws.iter().find(|&&(sum, _)| drawn < sum);
        chosen.map_or(Operation::Stat, |&(_, operation)| operation)
    }
}

#[cfg(test)]
mod tests {
    use super::{WorkerOptions, WorkerPlan};
    use crate::language::ThreadGroup;
    use crate::operation::Operation;
    use treering_script::Random;

    fn group(weights: &[(Operation, u64)]) -> ThreadGroup {
        let mut group = ThreadGroup {
            threads: 1,
            bound: None,
            delay_ms: 0,
            read_random: false,
            read_bytes: 10_000,
            read_block_bytes: 4096,
            read_skip_bytes: None,
            read_skip_bytes_given: 0,
            write_random: false,
            write_bytes: 10_000,
            write_block_bytes: 4096,
            weights: [0; Operation::COUNT],
            stats: None,
        };
        for &(operation, weight) in weights {
            group.weights[operation.place()] = weight;
        }
        group
    }

    #[test]
    fn operations_have_exactly_their_weights() {
        // Shares that the original's generator gets wrong by a third.
        let weights =
            [(Operation::Stat, 86), (Operation::OpenClose, 43), (Operation::CreateFsync, 43)];
        let plan = WorkerPlan::of_group(&group(&weights), WorkerOptions::default());
        assert_eq!((plan.read.bytes, plan.write.bytes), (8192, 10_000));
        let mut random = Random::new(11);
        let mut counts = [0_u64; Operation::COUNT];
        for _ in 0..172_000 {
            counts[plan.draw(&mut random).place()] += 1;
        }
        for (operation, weight) in weights {
            let share = counts[operation.place()] as f64 / 1000.0;
            // Four standard deviations.
            assert!((share - weight as f64).abs() < 0.9, "{operation:?}: {share}");
        }
        assert_eq!(counts.iter().sum::<u64>(), 172_000);
    }

    #[test]
    fn a_single_operation_needs_no_draw() {
        let plan =
            WorkerPlan::of_group(&group(&[(Operation::Delete, 1)]), WorkerOptions::default());
        let mut random = Random::new(1);
        assert!((0..10).all(|_| plan.draw(&mut random) == Operation::Delete));
    }
}
