//! Runs on several ranks: rank 0 does what a single process does, the others assist it.
//!
//! `connection` is the launcher's end, `meeting` what ranks have to agree on before a trial,
//! `place` whether they see one filesystem, `launched` a trial that a plan has launched.

mod connection;
pub(super) mod launched;
mod meeting;
mod place;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use treering_conduct::dir_of_rank;
use treering_conduct::plan::{JobOfRanks, job_of_ranks};
use treering_engine::{EngineOptions, Target, World};
use treering_model::{Caution, Fact, TrialId};
use treering_script::{ClassicRecord, ClassicScene, ConfigError, Job, Settings, Workload};
use treering_sys::{SignalWatch, raise_open_files};

use self::connection::Connected;
use crate::failure::{Failure, Kind};

/// The ranks that a run is distributed over.
pub(super) struct Ranks<'w> {
    pub(super) world: &'w World<'w>,
    /// The identity of the trial, the same at all of them.
    pub(super) trial: TrialId,
    library: String,
}

impl Ranks<'_> {
    /// The job of all ranks together, where these settings say what each has.
    ///
    /// # Errors
    /// When the workload cannot be distributed over ranks, or a setting is wrong.
    pub(super) fn job(
        &self,
        workload: &dyn Workload,
        settings: &Settings,
    ) -> Result<JobOfRanks, ConfigError> {
        let ranks = u32::try_from(self.world.size()).unwrap_or(u32::MAX);
        job_of_ranks(workload, settings, ranks, treering_registry::workloads())
    }

    /// The settings of rank 0 at all ranks, files that were read for them included.
    ///
    /// # Errors
    /// When a rank is lost, or does not understand them.
    pub(super) fn shared(&self, own: &Settings) -> Result<Settings, Failure> {
        let told = if self.world.is_first() {
            let record = ClassicRecord::of(own, &ClassicScene::default());
            serde_json::to_vec(&record).map_err(|error| Failure::of(Kind::Bug, &error))?
        } else {
            Vec::new()
        };
        let told = self.world.broadcast(&told).map_err(|error| failed(&error))?;
        if self.world.is_first() {
            return Ok(own.clone());
        }
        let record: ClassicRecord = serde_json::from_slice(&told).map_err(|error| {
            Failure::new(Kind::Environment, format!("rank 0 is not understood: {error}"))
        })?;
        Ok(record.settings())
    }

    /// The directory of this rank.
    pub(super) fn directory(&self, dir: &Path) -> PathBuf {
        dir_of_rank(dir, self.world.rank())
    }

    /// Runs the share of a rank that is not the first, which says what is to be said.
    ///
    /// # Errors
    /// When a directory cannot be opened, a call fails, or another rank is lost.
    pub(super) fn assist(
        &self,
        roots: &[PathBuf],
        job: &dyn Job,
        engine: &EngineOptions,
    ) -> Result<(), Failure> {
        let signals = SignalWatch::begin().map_err(|error| {
            Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
        })?;
        let _as_many_as_we_may = raise_open_files();
        // What it means is judged by rank 0.
        roots.first().map_or(Ok(()), |first| self.look(first).map(|_seen| ()))?;
        let opened: Result<Vec<Target>, _> = roots.iter().map(|root| Target::open(root)).collect();
        let opened = opened.map_err(|error| Failure::of(Kind::Environment, &error))?;
        treering_conduct::assist(job, &opened, engine, self.world, signals.flag())
            .map_err(|error| Failure::of(Kind::Trial, &error))
    }

    /// What is known of the ranks before the trial, and whether they see one filesystem.
    ///
    /// # Errors
    /// When a rank cannot open its directory, or is lost.
    pub(super) fn look(&self, dir: &Path) -> Result<(Vec<Fact>, Vec<Caution>), Failure> {
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

/// Connects with the other ranks, where a launcher started several, and runs with them what is done
/// so; one that is silent for this long is lost. Else `None`, and nothing was done.
pub(super) fn run(
    timeout: Duration,
    run_with: impl FnOnce(&Ranks<'_>) -> Result<ExitCode, Failure>,
) -> Result<Option<ExitCode>, Failure> {
    let Some(connected) = Connected::open()? else { return Ok(None) };
    Ok(Some(together(&connected, timeout, run_with, Failure::show)))
}

/// Meets the other ranks, does this with them, and takes leave of them. Rank 0 says what is to be
/// said, and gives the exit code.
fn together(
    connected: &Connected,
    limit: Duration,
    run: impl FnOnce(&Ranks<'_>) -> Result<ExitCode, Failure>,
    show: impl FnOnce(&Failure) -> ExitCode,
) -> ExitCode {
    let world = World::new(connected.link(), limit);
    let done = meeting::meet(&world)
        .and_then(|trial| run(&Ranks { world: &world, trial, library: connected.library() }));
    match &done {
        Err(failure) => world.leave(failure.message()),
        // Who still waits for us learns that nothing more comes.
        Ok(_) if world.is_first() => world.leave("it has ended"),
        Ok(_) => {}
    }
    if !world.is_first() {
        let _abandoned = world.farewell();
        return ExitCode::SUCCESS;
    }
    let code = match &done {
        Ok(code) => *code,
        Err(failure) => show(failure),
    };
    if world.farewell().is_err() {
        // A rank that hangs does not end by itself.
        connected.abort(Kind::Trial.code());
    }
    code
}

/// A rank that was lost or has left.
fn failed(error: &treering_engine::RankError) -> Failure {
    Failure::of(Kind::Environment, error)
}
