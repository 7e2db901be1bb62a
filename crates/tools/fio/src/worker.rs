//! One clone of a job: what it does, and to which files.

use std::sync::Arc;

use crate::language::Section;

use super::namespace::{Name, spelled};
use super::tausworthe::{Seeds, Use};

/// One clone of a job.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) job: Arc<Section>,
    /// Which section it is of.
    pub(super) section: usize,
    /// Which clone of its job, from 0.
    pub(super) number: u64,
    /// With which clones it is reported, where they are reported together.
    pub(super) group: usize,
    /// In which batch it works.
    pub(super) batch: usize,
    pub(super) files: Vec<Name>,
    /// Of their paths as the original spells them; empty where no seed comes from them.
    pub(super) hashes: Vec<u32>,
    pub(super) seeds: Seeds,
}

impl Worker {
    /// The directories of its files, each once.
    pub(super) fn directories(&self) -> Vec<u16> {
        let mut all: Vec<u16> = self.files.iter().map(|file| file.directory).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Its files as the original spells them.
    pub(super) fn spelled(&self) -> Vec<String> {
        (0..self.job.files).map(|file| spelled(&self.job, self.number, file)).collect()
    }

    /// One of them.
    pub(super) fn spelled_file(&self, file: usize) -> String {
        spelled(&self.job, self.number, file as u64)
    }

    /// Microseconds that it waits before it begins.
    pub(super) fn start_delay_us(&self) -> u64 {
        let [least, most] = self.job.start_delay_us;
        least + self.seeds.generator(Use::StartDelay).below(most.saturating_sub(least))
    }

    /// How it is called among the clones.
    pub(super) fn subject(&self) -> String {
        format!("{}.{}", self.job.name, self.number)
    }
}
