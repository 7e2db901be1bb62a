//! Worker of a clone: its section and files.

use std::sync::Arc;

use crate::language::{Direction, Engine, Section};
use treering_script::{IoQueue, QueueKind};

use super::namespace::{FileName, spelled};
use super::tausworthe::{SeedUse, Seeds};

/// Worker of a clone.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) job: Arc<Section>,
    /// Index of its section.
    pub(super) section: usize,
    /// Number of the clone within its job, from 0.
    pub(super) number: u64,
    /// Number of the reporting group, for `group_reporting`.
    pub(super) group: usize,
    /// Number of the batch it works in; a stonewall begins a new one.
    pub(super) batch: usize,
    pub(super) files: Vec<FileName>,
    /// Hashes of the file paths as the original spells them; empty if no seed depends on them.
    pub(super) hashes: Vec<u32>,
    pub(super) seeds: Seeds,
}

impl Worker {
    /// Numbers of the directories of its files, each once.
    pub(super) fn directories(&self) -> Vec<u16> {
        let files = self.files.iter().filter(|file| !file.is_device);
        let mut numbers: Vec<u16> = files.map(|file| file.directory).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Paths of its files as the original spells them.
    pub(super) fn spelled(&self) -> Vec<String> {
        (0..self.job.files).map(|file| spelled(&self.job, self.number, file)).collect()
    }

    /// Path of one file as the original spells it.
    pub(super) fn spelled_file(&self, file: usize) -> String {
        spelled(&self.job, self.number, file as u64)
    }

    /// Queue of its requests; `None` if they are made one by one. As in the original, buffers have
    /// their memory before the job begins, unless `prepares` is false.
    pub(super) fn queue(&self, prepares: bool) -> Option<IoQueue> {
        let job = &self.job;
        let kind = match job.engine {
            Engine::Libaio => QueueKind::Libaio,
            Engine::IoUring | Engine::PosixAio => QueueKind::IoUring,
            _ => return None,
        };
        let largest = |is_used: bool, direction: Direction| {
            let bytes = u32::try_from(job.blocks(direction).most).unwrap_or(0);
            if is_used && prepares { bytes } else { 0 }
        };
        Some(IoQueue {
            kind,
            depth: u16::try_from(job.depth).unwrap_or(u16::MAX),
            read_bytes: largest(job.rw.reads, Direction::Read),
            write_bytes: largest(job.rw.writes, Direction::Write),
            flags: job.extras.request_flags,
        })
    }

    /// Memory of the buffers of its queue, in bytes.
    pub(super) fn queue_bytes(&self) -> u64 {
        self.queue(true).map_or(0, |queue| {
            u64::from(queue.depth) * u64::from(queue.read_bytes.max(queue.write_bytes))
        })
    }

    /// Delay before it begins, in microseconds.
    pub(super) fn start_delay_us(&self) -> u64 {
        let [least, most] = self.job.start_delay_us;
        least + self.seeds.generator(SeedUse::StartDelay).below(most.saturating_sub(least))
    }

    /// Name of the clone in the report: job name and number.
    pub(super) fn subject(&self) -> String {
        format!("{}.{}", self.job.name, self.number)
    }
}
