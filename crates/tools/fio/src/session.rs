//! Run of fio: the files are made, job after job; then the jobs work, those between two stonewalls
//! in parallel.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::language::{Engine, ExitScope};
use treering_model::{Caution, CautionCode, Counters, Metric, Op, TaskTotals};
use treering_script::{
    Conductor, CounterBoard, Deadline, NoListener, ParallelGroup, ParallelOptions, Phase, Session,
    SessionError, SessionResult, SessionStop, SignalEffect, StatusText, Task, TaskListener,
    TimeLimit, UnfinishedTasks, WorkerKind, available_memory_bytes,
};

use super::headline::Headline;
use super::layout::{Layout, LayoutCounters, LayoutOutcome, MakeDirectories};
use super::namespace::Namespace;
use super::offered::{self, JobLoad, RunningLoad};
use super::run_plan::RunPlan;
use super::runner::{Deadlines, FlowShare, Runner, SteadyShare};
use super::sizes::{Extents, extents};
use super::status::{Status, StatusTriggers};
use super::tally::Tally;
use super::tausworthe::SeedUse;
use super::worker::Worker;

/// Phase in which files are created, and the kinds of its tasks.
pub(super) const SETUP: &str = "setup";
pub(super) const DIRECTORIES: &str = "directories";
pub(super) const LAYOUT: &str = "layout";
/// A hundredth of the requests may be late without a caution: p99 does not show them.
const LATE_SHARE: u64 = 100;
/// Most memory that is taken for buffers before a batch begins, in bytes.
const PREPARED_BYTES_MAX: u64 = 1 << 30;
/// Errno of a job with neither a `size` nor existing files (`EINVAL`).
const ERRNO_WITHOUT_SIZE: i32 = 22;
/// Errno of a job whose files are missing (`ENOENT`).
const MISSING: i32 = 2;

/// Session of a run.
pub(super) struct JobSession {
    plan: RunPlan,
    /// Directories still to be created.
    missing: Vec<String>,
    has_begun: bool,
    /// Extents of each clone, or the errno of a clone that cannot begin.
    extents: Vec<Result<Arc<Extents>, i32>>,
    headline: Headline,
    failure: Option<SessionError>,
    /// True once a finished job has ended all others.
    ended: bool,
    /// Requests that began late, and all requests, of jobs with a rate.
    late: [u64; 2],
    /// Offered load of the run, if there is one.
    running: Option<RunningLoad>,
    /// Interim reports, and the interval at which to check if one is due.
    status: Option<(Status, Duration)>,
}

impl JobSession {
    /// Creates a session; `there` are the names of directories of an earlier run that are reused.
    pub(super) fn new(plan: RunPlan, status: Option<StatusTriggers>, there: &[String]) -> Self {
        let is_missing = |name: &String| !plan.namespace.in_place && !there.contains(name);
        Self {
            missing: plan.namespace.names().into_iter().filter(is_missing).collect(),
            headline: Headline::new(&plan),
            running: plan.offered.as_ref().map(JobLoad::begin),
            plan,
            has_begun: false,
            extents: Vec::new(),
            failure: None,
            ended: false,
            late: [0; 2],
            status: status.map(|triggers| {
                let look_every = triggers.look_every();
                (Status::new(triggers), look_every)
            }),
        }
    }

    /// Creates the missing directories, then the files of each job.
    fn set_up(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let is_native = !self.plan.namespace.classic;
        conductor.phase(Phase::new(SETUP, self.plan.workers.len() + 1))?;
        if is_native {
            let script = MakeDirectories::new(&self.missing);
            let task = Task::new(DIRECTORIES, "all", Op::MakeDir, Box::new(script));
            conductor.group(ParallelGroup::new(vec![task]), &mut NoListener)?;
        }
        for worker in self.plan.workers.clone() {
            let script = Layout::new(Arc::clone(&worker), Arc::clone(&self.plan.namespace));
            let task = Task::new(LAYOUT, &worker.subject(), Op::Create, Box::new(script));
            let mut listener = |totals: &TaskTotals| self.laid_out(&worker, totals);
            conductor.group(ParallelGroup::new(vec![task]), &mut listener)?;
            self.check(is_native)?;
        }
        Ok(())
    }

    /// Fails if a job has failed and `ends` is true. As in the original, a failed clone does not
    /// keep later jobs from running.
    fn check(&self, ends: bool) -> SessionResult {
        SessionStop::check(self.failure.clone().filter(|_| ends))
    }

    fn work(&mut self, batch: usize) -> ParallelGroup {
        let workers = self.plan.batch(batch);
        let snapshots: Option<Vec<(usize, StatusText)>> =
            self.status.as_mut().map(|(status, _)| {
                let snapshots: Vec<_> =
                    workers.map(|(number, _)| (number, StatusText::default())).collect();
                status.begin(snapshots.clone());
                snapshots
            });
        let workers: Vec<(usize, &Arc<Worker>)> = self.plan.batch(batch).collect();
        let time = Deadline::default();
        let ends: Vec<Deadline> = workers.iter().map(|_| Deadline::default()).collect();
        let done: Vec<Deadline> = workers.iter().map(|_| Deadline::default()).collect();
        let awaited = |name: &Option<String>| {
            let is_it = |other: &Worker| name.as_ref().is_some_and(|name| *name == other.job.name);
            let deadlines = workers.iter().zip(&done).filter(|((_, other), _)| is_it(other));
            deadlines.map(|(_, deadline)| deadline.clone()).collect()
        };
        let flows = Self::flows(&workers);
        let states = Self::states(&workers);
        let buffers = workers.iter().map(|(_, worker)| worker.queue_bytes());
        let prepares = buffers.fold(0, u64::saturating_add) <= prepared_bytes_max();
        let mut tasks = Vec::new();
        for (place, (number, worker)) in workers.iter().enumerate() {
            let ended_by = |exits: Option<ExitScope>| {
                let are = workers.iter().zip(&ends).filter(move |((_, other), _)| match exits {
                    None => false,
                    Some(ExitScope::Group) => other.group == worker.group,
                    Some(ExitScope::Stonewall | ExitScope::All) => true,
                });
                are.map(|(_, deadline)| deadline.clone())
            };
            let others = ended_by(worker.job.exits);
            let fails = worker.job.extras.exits_on_error.then_some(worker.job.exits_with);
            let on_error = ended_by(fails).collect();
            let others = others.chain([done[place].clone()]).collect();
            let before = awaited(&worker.job.extras.waits_for);
            let flow = flows[place].clone();
            let steady = states[place].clone();
            let stream = self.running.as_ref().and_then(|running| running.stream(worker.section));
            let (end, time) = (ends[place].clone(), time.clone());
            let snapshot = snapshots.as_ref().map(|snapshots| snapshots[place].1.clone());
            let deadlines =
                Deadlines { end, time, others, on_error, before, flow, steady, stream, snapshot };
            tasks.push(self.task(*number, worker, deadlines, prepares));
        }
        let threads = workers.iter().all(|(_, worker)| worker.job.thread);
        let side_by_side = ParallelOptions {
            workers: if threads { WorkerKind::Thread } else { WorkerKind::Session },
            on_signal: SignalEffect::Stop,
            unfinished: UnfinishedTasks::Reported,
            ..ParallelOptions::default()
        };
        ParallelGroup {
            tasks,
            side_by_side,
            time_limit: limit(&workers, time),
            tick_every: self.status.as_ref().map(|(_, look_every)| *look_every),
            ..ParallelGroup::default()
        }
    }

    /// Flow share of each worker; `None` for a worker without a flow.
    fn flows(workers: &[(usize, &Arc<Worker>)]) -> Vec<Option<FlowShare>> {
        let mut boards: HashMap<u64, CounterBoard> = HashMap::new();
        let mut share = |(_, worker): &(usize, &Arc<Worker>)| {
            let job = &worker.job;
            FlowShare::from_job(job, boards.entry(job.extras.flow.id).or_default().clone())
        };
        workers.iter().map(&mut share).collect()
    }

    /// Steady-state checks per worker. Among jobs that are reported together, the last one checks
    /// the rates of all.
    fn states(workers: &[(usize, &Arc<Worker>)]) -> Vec<Option<SteadyShare>> {
        let mut boards: HashMap<usize, CounterBoard> = HashMap::new();
        let together = |worker: &Worker| worker.job.group_reporting.then_some(worker.group);
        let mut share = |(place, (_, worker)): (usize, &(usize, &Arc<Worker>))| {
            let group = together(worker);
            let is_last = !workers[place + 1..]
                .iter()
                .any(|(_, later)| group.is_some() && together(later) == group);
            let board = match group {
                Some(group) => boards.entry(group).or_default().clone(),
                None => CounterBoard::default(),
            };
            SteadyShare::from_job(&worker.job, board, is_last)
        };
        workers.iter().enumerate().map(&mut share).collect()
    }

    fn task(
        &self,
        number: usize,
        worker: &Arc<Worker>,
        deadlines: Deadlines,
        prepares: bool,
    ) -> Task {
        let job = &worker.job;
        let laid_out = self.extents.get(number);
        let unable = laid_out.and_then(|laid_out| laid_out.as_ref().err().copied());
        let extents = laid_out.and_then(|laid_out| laid_out.clone().ok()).unwrap_or_default();
        let expected_bytes = if job.is_timed() {
            0
        } else {
            job.io_bytes(extents.size).unwrap_or(extents.size) * job.loops
        };
        let runner =
            Runner::new(Arc::clone(worker), Arc::clone(&self.plan.namespace), extents, deadlines);
        let runner = match unable {
            Some(errno) => runner.failing_with(errno),
            None => runner,
        };
        let buffers = runner.buffers();
        let opens = match job.engine {
            Engine::FileStat => Op::Stat,
            Engine::FileDelete => Op::Unlink,
            Engine::FileCreate => Op::Create,
            _ if job.rw.writes || job.create_on_open => Op::Create,
            _ => Op::Open,
        };
        Task {
            expected_bytes,
            direct: job.direct,
            synchronous: job.synchronous,
            vectored: job.engine.is_vectored().then_some(job.extras.request_flags),
            buffers,
            identity: job.extras.running.identity(),
            scheduling: job.extras.running.scheduling(worker.seeds.clone_number()),
            queue: worker.queue(prepares),
            ..Task::new(&job.name, &worker.subject(), opens, Box::new(runner))
        }
    }

    fn laid_out(&mut self, worker: &Worker, totals: &TaskTotals) {
        let laid_out = totals.counters.read().unwrap_or_default();
        let LayoutCounters { became, found_bytes } = laid_out;
        let draws = worker.seeds.generator(SeedUse::FileSize);
        let extents = extents(&worker.job, worker.number, &found_bytes, draws);
        self.extents.push(match (extents, became) {
            (Err(why), LayoutOutcome::Unsized) => {
                self.failure.get_or_insert(SessionError::at(&*worker.job.name, why.why()));
                Err(ERRNO_WITHOUT_SIZE)
            }
            (_, LayoutOutcome::Absent(number)) => {
                let file = worker.files.get(number).map(|file| file.name.to_string_lossy());
                let what = format!(
                    "works in place, and its file {} is missing or too short",
                    file.unwrap_or_default()
                );
                self.failure.get_or_insert(SessionError::at(&*worker.job.name, what));
                Err(MISSING)
            }
            (_, LayoutOutcome::Failed(errno)) => {
                let why = std::io::Error::from_raw_os_error(errno);
                let what = format!("its files cannot be made: {why}");
                self.failure.get_or_insert(SessionError::at(&*worker.job.name, what));
                Err(errno)
            }
            (extents, _) => {
                let are_devices = worker.files.iter().map(|file| file.is_device);
                Ok(Arc::new(extents.unwrap_or_default().within_devices(are_devices)))
            }
        });
    }

    fn worked(&mut self, totals: &TaskTotals, batch: usize) {
        let place = usize::from(totals.worker);
        let Some((number, worker)) = self.plan.batch(batch).nth(place) else { return };
        let Some(tally) = Tally::read(&totals.counters) else { return };
        if tally.errno != 0 {
            let why = std::io::Error::from_raw_os_error(i32::try_from(tally.errno).unwrap_or(5));
            let what = format!("a request failed: {why}");
            self.failure.get_or_insert(SessionError::at(&*worker.job.name, what));
        }
        if let Some((status, _)) = &mut self.status
            && place == 0
        {
            status.ended(totals.wall_ns);
        }
        self.ended |= worker.job.exits == Some(ExitScope::All);
        if let (Some(running), Some(offered)) = (&mut self.running, &tally.offered) {
            running.worked(offered);
        }
        let is_rated = worker.job.rate.iter().chain(&worker.job.rate_iops).any(|rate| *rate > 0);
        if is_rated && tally.offered.is_none() {
            self.late[0] += tally.late;
            self.late[1] += tally.directions.iter().map(|done| done.requests).sum::<u64>();
        }
        self.headline.worked(number, totals, &tally);
    }

    /// Caution about a loop that fell behind its rate.
    fn late_requests(&self) -> Option<Caution> {
        let [late, all] = self.late;
        let message = format!(
            "{late} of {all} requests with a rate began more than 1 ms after they were due, since \
             earlier ones had not ended; their latencies count from when they began"
        );
        let is_behind = late > 0 && late * LATE_SHARE >= all;
        is_behind.then_some(Caution { code: CautionCode::RequestsLate, message })
    }
}

/// Most memory that the buffers of all queues of a batch may take before it begins; buffers of more
/// are made when requests first need them.
fn prepared_bytes_max() -> u64 {
    PREPARED_BYTES_MAX.min(available_memory_bytes() / 4)
}

/// Time limit after the longest job, also for jobs that do not check the clock themselves; `None`
/// if a job has no run time.
fn limit(workers: &[(usize, &Arc<Worker>)], deadline: Deadline) -> Option<TimeLimit> {
    let mut longest = 0;
    for (_, worker) in workers {
        let job = &worker.job;
        if job.runtime_us == 0 || job.extras.waits_for.is_some() {
            return None;
        }
        longest = longest.max(job.start_delay_us[1] + job.ramp_us + job.runtime_us);
    }
    // Those that read the clock end by themselves, a moment before.
    Some(TimeLimit { after: Duration::from_micros(longest + 100_000), deadline })
}

/// Listener that collects the results of a batch of jobs.
struct BatchListener<'s> {
    session: &'s mut JobSession,
    batch: usize,
}

impl TaskListener for BatchListener<'_> {
    fn task_ended(&mut self, totals: &TaskTotals) {
        self.session.worked(totals, self.batch);
    }

    fn others_task_ended(&mut self, totals: &TaskTotals) {
        let JobSession { plan, headline, .. } = &mut *self.session;
        let own = plan.batch(self.batch).nth(usize::from(totals.worker));
        if let (Some((number, _)), Some(tally)) = (own, Tally::read(&totals.counters)) {
            headline.worked(number, totals, &tally);
        }
    }

    fn tick(&mut self, elapsed_ns: u64) -> Counters {
        let status = self.session.status.as_mut();
        status.map(|(status, _)| status.tick(elapsed_ns)).unwrap_or_default()
    }
}

impl Session for JobSession {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        self.set_up(conductor)?;
        let is_native = !self.plan.namespace.classic;
        for batch in 0..self.plan.batches {
            let workers = self.plan.batch(batch);
            let mut jobs: Vec<&str> = workers.map(|(_, worker)| worker.job.name.as_str()).collect();
            let tasks = jobs.len();
            jobs.dedup();
            conductor.phase(Phase::new(jobs.join(", "), tasks))?;
            let group = self.work(batch);
            conductor.group(group, &mut BatchListener { session: self, batch })?;
            let is_last = self.ended || batch + 1 == self.plan.batches;
            self.check(is_last || is_native)?;
            if self.ended {
                break;
            }
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        let offered = self.running.as_ref().map(RunningLoad::metrics).unwrap_or_default();
        offered::led_by_due(offered, self.headline.metrics())
    }

    fn cautions(&self) -> Vec<Caution> {
        self.late_requests().into_iter().collect()
    }

    fn remains(&self) -> Vec<String> {
        let Namespace { classic, in_place, .. } = *self.plan.namespace;
        if classic || in_place || !self.has_begun {
            return Vec::new();
        }
        self.plan.namespace.names()
    }
}
