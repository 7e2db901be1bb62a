//! Plan of a run: the jobs of a file with their clones, in their order of work and grouped for the
//! report.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use crate::classic::text::{self, ReportRow};
use crate::language::{Engine, REPLAY_BYTES_MAX, RandomOptions, Replay, Section};
use treering_script::{ConfigError, Settings};

use super::namespace::{FileName, Namespace};
use super::offered::JobLoad;
use super::tally::Tally;
use super::tausworthe::Seeds;
use super::worker::Worker;

/// Reads the log that a job replays.
fn replayed(settings: &Settings, job: &mut Section) -> Result<(), ConfigError> {
    let Some(named) = &job.extras.replays else { return Ok(()) };
    let wrong = |why: String| {
        let hint = "name a log that write_iolog has made";
        ConfigError::new(format!("read_iolog: {} {why}", named.escape_debug())).hint(hint)
    };
    let mut text = String::new();
    File::open(settings.file(named))
        .and_then(|file| file.take(REPLAY_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let replay = Replay::read(&text).map_err(|error| wrong(error.to_string()))?;
    job.replay(replay);
    Ok(())
}

/// Refuses devices for jobs whose requests are more than reads and writes.
fn check_devices(job: &Section, files: &[FileName]) -> Result<(), ConfigError> {
    let is_plain = job.engine == Engine::Null
        || job.engine.moves_data() && job.engine != Engine::Mmap && !job.rw.trims;
    if is_plain || !files.iter().any(|file| file.is_device) {
        return Ok(());
    }
    let what = format!("[{}]: of a device there are only reads and writes", job.name);
    Err(ConfigError::new(what).hint("name a file, or write rw=randwrite and ioengine=libaio"))
}

/// Jobs, clones and directories of a run; clones are in the order of the original.
#[derive(Clone, Debug)]
pub(super) struct RunPlan {
    pub(super) jobs: Vec<Arc<Section>>,
    pub(super) workers: Vec<Arc<Worker>>,
    pub(super) namespace: Arc<Namespace>,
    pub(super) batches: usize,
    /// Offered load; `None` if the clones issue requests back to back.
    pub(super) offered: Option<JobLoad>,
}

impl RunPlan {
    /// Builds the plan of a native run, which works on existing files if it is `in_place`. `fresh`
    /// replaces the random seed of jobs with `randrepeat=0`.
    pub(super) fn new(
        jobs: Vec<Section>,
        offered: Option<JobLoad>,
        fresh: u64,
        in_place: bool,
    ) -> Result<Self, ConfigError> {
        Self::on(Namespace::native(in_place), jobs, offered, fresh)
    }

    /// Builds the plan of a classic command line, which perhaps only parses or shows the jobs.
    pub(super) fn classic(settings: &Settings, jobs: Vec<Section>) -> Result<Self, ConfigError> {
        let is_harmless = settings.flag("parse-only") || settings.flag("showcmd");
        let mut jobs = jobs;
        if !is_harmless {
            jobs.iter_mut().try_for_each(|job| replayed(settings, job))?;
        }
        let base = settings.base_dir.clone().unwrap_or_default();
        let namespace = Namespace::new(true).with_devices(is_harmless).in_directory(base);
        Self::on(namespace, jobs, None, settings.started_unix_ms)
    }

    fn on(
        mut namespace: Namespace,
        jobs: Vec<Section>,
        offered: Option<JobLoad>,
        fresh: u64,
    ) -> Result<Self, ConfigError> {
        let jobs: Vec<Arc<Section>> = jobs.into_iter().map(Arc::new).collect();
        let mut workers = Vec::new();
        let (mut group, mut batch) = (0, 0);
        for (section, job) in jobs.iter().enumerate() {
            if section > 0 && (job.stonewall || job.new_group) {
                group += 1;
            }
            if section > 0 && job.stonewall {
                batch += 1;
            }
            // The original creates the last clone first.
            let clones = std::iter::once(0).chain((1..job.clones).rev());
            // An offered load has several workers for each clone.
            let lanes = offered.as_ref().map_or(1, |offered| offered.lanes(section));
            for (number, lane) in clones.flat_map(|clone| (0..lanes).map(move |lane| (clone, lane)))
            {
                let files = namespace.files(job, number)?;
                check_devices(job, &files)?;
                let hashes = namespace.hashes(job, number, &files);
                let thread = workers.len() as u64 + 1;
                let seeded = job.sets("randseed");
                let is_fresh = !job.draws.repeatable && !seeded;
                // As in the original, a seed set by the job applies to all clones but the first.
                let repeatable = job.draws.repeatable && (number == 0 && lane == 0 || !seeded);
                let draws = RandomOptions { repeatable, ..job.draws.clone() };
                let seeds = Seeds::new(&draws, job.rw.random, thread, is_fresh.then_some(fresh));
                let is_zoned = job.extras.strides.bytes > 0;
                let job = if is_zoned && number > 0 && job.open_files > 1 {
                    let mut without = Section::clone(job);
                    without.extras.strides.bytes = 0;
                    Arc::new(without)
                } else {
                    Arc::clone(job)
                };
                let worker = Worker { job, section, number, group, batch, files, hashes, seeds };
                workers.push(Arc::new(worker));
            }
        }
        Ok(Self { jobs, workers, namespace: Arc::new(namespace), batches: batch + 1, offered })
    }

    /// Workers of a batch, with their numbers among all.
    pub(super) fn batch(&self, batch: usize) -> impl Iterator<Item = (usize, &Arc<Worker>)> {
        self.workers.iter().enumerate().filter(move |(_, worker)| worker.batch == batch)
    }

    /// Banner of the original: a line for each job, and the number of clones that start.
    pub(super) fn opening(&self) -> String {
        let jobs = self.jobs.iter().enumerate().map(|(section, job)| {
            let worker = self.workers.iter().find(|worker| worker.section == section);
            (&**job, worker.map_or(0, |worker| worker.group))
        });
        let threads = self.workers.iter().filter(|worker| worker.job.thread).count();
        text::header(jobs) + &text::started(threads, self.workers.len() - threads)
    }

    /// Sums the clones' tallies into the rows of the report.
    pub(super) fn report(&self, done: &[Option<Tally>]) -> Vec<ReportRow> {
        let mut rows: Vec<(usize, ReportRow)> = Vec::new();
        for ((worker, number), tally) in self.workers.iter().zip(self.rows()).zip(done) {
            let (Some(number), Some(tally)) = (number, tally) else { continue };
            match rows.last_mut() {
                Some((last, row)) if *last == number => {
                    row.tally.merge(tally);
                    row.last = Arc::clone(&worker.job);
                }
                _ => {
                    let (job, group) = (Arc::clone(&worker.job), worker.group);
                    let last = Arc::clone(&job);
                    rows.push((number, ReportRow { job, last, group, tally: tally.clone() }));
                }
            }
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Row number of each worker: shared by the clones of a reporting group, and none with
    /// `stats=0`.
    pub(super) fn rows(&self) -> Vec<Option<usize>> {
        let mut rows = Vec::with_capacity(self.workers.len());
        let mut last_group = None;
        let mut begun = 0_usize;
        for worker in &self.workers {
            if !worker.job.extras.reports_stats {
                rows.push(None);
                continue;
            }
            let together = worker.job.group_reporting && last_group == Some(worker.group);
            begun += usize::from(!together);
            last_group = Some(worker.group);
            rows.push(Some(begun - 1));
        }
        rows
    }
}
