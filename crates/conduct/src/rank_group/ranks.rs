//! Ranks of a distributed run, and the work of each.

use std::path::{Path, PathBuf};

use treering_engine::{EngineOptions, Target, World};
use treering_model::{Caution, Fact, TrialId};
use treering_script::{ClassicRecord, ClassicScene, ConfigError, Job, Settings, Workload};
use treering_sys::raise_open_files;

use super::place;
use super::process::failed;
use crate::failure::{Failure, FailureKind, watch_signals};
use crate::plan::{JobOfRanks, job_of_ranks};
use crate::ranks::{assist, dir_of_rank};

/// Ranks of a distributed run.
pub struct Ranks<'w> {
    /// Ranks of the run.
    pub world: &'w World<'w>,
    /// Identity of the trial, equal on all ranks.
    pub trial: TrialId,
    pub(super) library: String,
    pub(super) workloads: &'w [&'static dyn Workload],
}

impl Ranks<'_> {
    /// Job of all ranks together, from settings that describe a single rank.
    ///
    /// # Errors
    /// When the workload cannot be distributed over ranks, or a setting is wrong.
    pub(crate) fn job(
        &self,
        workload: &dyn Workload,
        settings: &Settings,
    ) -> Result<JobOfRanks, ConfigError> {
        let ranks = u32::try_from(self.world.size()).unwrap_or(u32::MAX);
        job_of_ranks(workload, settings, ranks, self.workloads)
    }

    /// Broadcasts the settings of rank 0, with the files that were read for them.
    ///
    /// # Errors
    /// When a rank is lost, or cannot parse the settings.
    pub fn shared(&self, own: &Settings) -> Result<Settings, Failure> {
        let told = if self.world.is_first() {
            let record = ClassicRecord::new(own, &ClassicScene::default());
            serde_json::to_vec(&record).map_err(|error| Failure::of(FailureKind::Bug, &error))?
        } else {
            Vec::new()
        };
        let told = self.world.broadcast(&told).map_err(|error| failed(&error))?;
        if self.world.is_first() {
            return Ok(own.clone());
        }
        let record: ClassicRecord = serde_json::from_slice(&told)
            .map_err(|error| Failure::environment(format!("rank 0 is not understood: {error}")))?;
        Ok(record.settings())
    }

    /// The directory of this rank.
    pub fn directory(&self, dir: &Path) -> PathBuf {
        dir_of_rank(dir, self.world.rank())
    }

    /// Runs the share of a rank other than rank 0, as rank 0 directs.
    ///
    /// # Errors
    /// When a directory cannot be opened, a call fails, or another rank is lost.
    pub fn assist(
        &self,
        roots: &[PathBuf],
        job: &dyn Job,
        engine: &EngineOptions,
    ) -> Result<(), Failure> {
        let signals = watch_signals()?;
        let _as_many_as_we_may = raise_open_files();
        // Only rank 0 evaluates the findings.
        roots.first().map_or(Ok(()), |first| self.look(first).map(|_seen| ()))?;
        let opened: Result<Vec<Target>, _> = roots.iter().map(|root| Target::open(root)).collect();
        let opened = opened.map_err(|error| Failure::of(FailureKind::Environment, &error))?;
        assist(job, &opened, engine, self.world, signals.flag())
            .map_err(|error| Failure::of(FailureKind::Trial, &error))
    }

    /// Facts about the ranks before the trial, with cautions if they do not see the same
    /// filesystem.
    ///
    /// # Errors
    /// When a rank cannot open its directory, or a rank is lost.
    pub(crate) fn look(&self, dir: &Path) -> Result<(Vec<Fact>, Vec<Caution>), Failure> {
        let (mut facts, cautions) = place::compare(self.world, dir, self.trial)?;
        let mut hosts = self.world.hosts();
        let ranks = hosts.len();
        hosts.sort();
        hosts.dedup();
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        facts.push(fact("ranks.hosts", hosts.len().to_string()));
        let even = ranks.is_multiple_of(hosts.len().max(1));
        let per_host =
            if even { (ranks / hosts.len().max(1)).to_string() } else { "uneven".into() };
        facts.push(fact("ranks.per_host", per_host));
        facts.push(fact("ranks.launched_by", self.library.clone()));
        Ok((facts, cautions))
    }
}
