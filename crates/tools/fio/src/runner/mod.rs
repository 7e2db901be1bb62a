//! Script of a clone: requests by its engine, one after the other or several in flight, until its
//! bytes are moved or its time is over.

mod clock;
mod contents;
mod counting;
mod depth;
mod ends;
mod queued;
mod replaying;
mod slots;
mod steady;
mod steering;
mod step;

use std::collections::VecDeque;
use std::ffi::CString;
use std::sync::Arc;

use crate::language::{Amount, Direction, Engine, FadviseHint};
use treering_model::Counters;
use treering_script::{
    Buffers, CallResult, Deadline, Errno, ExpectedErrors, Io, ResourceUsage, Script, StatusText,
    Stop,
};

use super::generator::{Act, Generator, IoRequest};
use super::layout::names;
use super::logs::Logs;
use super::namespace::Namespace;
use super::offered::{Dispatch, Stream, WorkerSchedule};
use super::sizes::Extents;
use super::tally::Tally;
use super::worker::Worker;
use clock::Clock;
use contents::{Contents, UNTAGGED};
use depth::{DepthControl, WindowTransition};
use queued::RequestQueue;
use slots::Slots;
pub(super) use steady::SteadyShare;
pub(super) use steering::FlowShare;
use steering::RateWatch;
use step::IoStep;

/// Errno of a trim of a file (`ENOTTY`), since the call only applies to devices.
const NOT_OF_FILES: i32 = 25;
/// Longest single pause, since nothing interrupts a pause.
const PAUSE_MAX_US: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Directories,
    /// Files are read before the work.
    PreRead(usize),
    Delay,
    Begin,
    Work,
    /// Requests in flight end.
    Drain,
    /// Files are synced.
    EndSync(usize),
    PassEnd,
    Closing,
    /// Files are unlinked before another pass.
    Renew(usize),
    Unlink(usize),
    /// The clone is done.
    Over,
}

/// Next action outside of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextAction {
    Do(IoStep),
    Again,
    End,
}

/// Successor of the state in which all files are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterClose {
    /// Written data is read back.
    Verify,
    /// Another pass begins.
    Pass,
    End,
}

/// Deadlines and shares that connect a clone with the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    /// Deadline that ends this clone.
    pub(super) end: Deadline,
    /// Time limit of all clones.
    pub(super) time: Deadline,
    /// Deadlines that this clone reaches when it is done.
    pub(super) others: Vec<Deadline>,
    /// Deadlines that this clone also reaches if it failed.
    pub(super) on_error: Vec<Deadline>,
    /// Deadlines that must be reached before this clone begins.
    pub(super) before: Vec<Deadline>,
    /// Share of a flow of several jobs.
    pub(super) flow: Option<FlowShare>,
    /// Share in the steady state of the group.
    pub(super) steady: Option<SteadyShare>,
    /// Stream of the offered load that determines due times, if there is one.
    pub(super) stream: Option<Arc<Stream>>,
    /// Snapshot in which the clone publishes its progress.
    pub(super) snapshot: Option<StatusText>,
}

/// Script of a clone.
pub(super) struct Runner {
    worker: Arc<Worker>,
    namespace: Arc<Namespace>,
    names: Vec<CString>,
    directories: Vec<u16>,
    extents: Arc<Extents>,
    generator: Generator,
    slots: Slots,
    stage: Stage,
    step: IoStep,
    todo: VecDeque<IoStep>,
    /// Act that must wait until requests in flight have ended.
    held: Option<Act>,
    queued: RequestQueue,
    tally: Tally,
    logs: Option<Box<Logs>>,
    contents: Option<Box<Contents>>,
    flow: Option<FlowShare>,
    steady: Option<Box<SteadyShare>>,
    /// Lane of the offered load.
    lane: Option<Box<WorkerSchedule>>,
    /// True if the flow permits the next request.
    passed_flow: bool,
    /// True for a clone that does nothing, since the range of its files is unknown.
    is_unable: bool,
    watch: Option<Box<RateWatch>>,
    /// Control of the queue depth, and the requests that must end before it continues.
    depth: Option<Box<DepthControl>>,
    settling: Option<WindowTransition>,
    clock: Clock,
    deadlines: Deadlines,
    place: usize,
    /// Number of replayed log lines, and true if the delay of the next line has passed.
    replayed: usize,
    waited: bool,
    /// Microseconds left of the present pauses.
    rest_us: u64,
    loops_left: u64,
    /// Successor of the state in which all files are closed.
    next: AfterClose,
    terminated: bool,
}

impl Runner {
    pub(super) fn new(
        worker: Arc<Worker>,
        namespace: Arc<Namespace>,
        extents: Arc<Extents>,
        deadlines: Deadlines,
    ) -> Self {
        let job = &worker.job;
        let generator = Generator::new(Arc::clone(job), &extents, &worker.hashes, worker.seeds);
        Self {
            names: names(&namespace),
            directories: worker.directories(),
            slots: Slots::new(worker.files.len()),
            stage: Stage::Directories,
            step: IoStep::Nothing,
            todo: VecDeque::new(),
            held: None,
            queued: RequestQueue::new(job.depth),
            tally: Tally::default(),
            logs: Logs::new(&job.logs),
            flow: deadlines.flow.clone(),
            steady: deadlines.steady.clone().map(Box::new),
            lane: deadlines.stream.clone().map(|stream| Box::new(WorkerSchedule::new(stream))),
            passed_flow: false,
            is_unable: false,
            watch: RateWatch::from_job(job),
            depth: DepthControl::from_job(job),
            settling: None,
            contents: Contents::for_worker(&worker, namespace.classic),
            clock: Clock::new(job),
            deadlines,
            place: 0,
            replayed: 0,
            waited: false,
            rest_us: worker.start_delay_us(),
            loops_left: job.loops - 1,
            next: AfterClose::End,
            terminated: false,
            generator,
            worker,
            namespace,
            extents,
        }
    }

    /// Buffers of its requests, unless they carry the default payload.
    pub(super) fn buffers(&self) -> Option<Buffers> {
        self.contents.as_ref().map(|contents| contents.buffers.clone())
    }

    /// Records the result of the last call.
    #[inline]
    fn hear(&mut self, answer: Result<CallResult, Errno>, io: &dyn Io) {
        match (self.step, answer) {
            (IoStep::Move(request), Ok(CallResult::Bytes(bytes))) => self.moved(request, bytes),
            // No data was moved, but the request counts.
            (IoStep::Move(request), Ok(_)) => self.moved(request, request.bytes),
            (IoStep::Move(request), Err(errno)) => {
                self.request_failed(request, errno.raw_os_error());
            }
            (IoStep::Open(file), Err(errno)) => self.not_opened(file, errno.raw_os_error()),
            (IoStep::Open(_), _) if self.worker.job.engine.works_by_opening() => self.opened(),
            (IoStep::Sync { counts: true, data_only, .. }, _) => {
                self.synced(data_only.then_some(Direction::Read));
            }
            (IoStep::SyncRange { .. }, _) => self.synced(Some(Direction::Write)),
            (IoStep::Submit, Ok(CallResult::Taken(taken))) => self.taken(taken),
            (IoStep::Reap(_), Ok(CallResult::Reaped)) => self.reaped(io.reaped()),
            (IoStep::Pause(us), _) => self.clock.paused(us),
            _ => {}
        }
        if let (Some(lane), IoStep::Move(_) | IoStep::Sync { .. } | IoStep::SyncRange { .. }) =
            (&mut self.lane, self.step)
            && io.timed().is_some()
        {
            lane.ended(self.clock.present_ns());
        }
        if self.clock.ends_ramp() {
            self.tally.clear();
            self.generator.count_anew();
            self.begin_depth();
        }
    }

    /// True if time or another job has ended this one.
    #[inline]
    fn is_over(&self) -> bool {
        self.terminated
            || self.clock.is_over()
            || self.deadlines.end.is_reached()
            || self.deadlines.time.is_reached()
    }

    /// True if all bytes of the pass have been issued.
    #[inline]
    fn is_issued(&self) -> bool {
        let (job, issued) = (&self.worker.job, &self.generator.issued);
        if job.extras.creates_only {
            return true;
        }
        if self.is_reading_again() || job.extras.replay.is_some() {
            // Reading back and replaying end by themselves.
            return false;
        }
        // As in the original, a runtime takes precedence over a number of requests.
        if job.is_timed() {
            // But written data is read back in between.
            let verifies = job.extras.verify.kind.is_some() && job.engine.counts_at_issue();
            return verifies && issued.bytes_of_pass >= self.bytes_of_pass();
        }
        if job.number_ios > 0 {
            let requests = issued.total_requests();
            let each = if job.rw.is_trim_write() { 2 } else { 1 };
            if requests >= job.number_ios.saturating_mul(job.loops * each) {
                return true;
            }
        }
        let size = self.extents.size;
        let limit = job.io_bytes(size).unwrap_or(size).saturating_mul(job.loops);
        // As in the original, otherwise a pass ends only when its files are complete.
        let ends = job.engine.counts_at_issue() && issued.bytes_of_pass >= self.bytes_of_pass();
        // Trimmed blocks are written too, and count once.
        let done = if job.rw.is_trim_write() { issued.bytes[1] } else { issued.total() };
        done >= limit || ends
    }

    /// Bytes after which a pass ends.
    fn bytes_of_pass(&self) -> u64 {
        let job = &self.worker.job;
        let overwrites = job.rw.writes && job.rw.random && !job.draws.random_map;
        let size = match job.io_size {
            // As in the original, a percentage refers to the size of the files.
            Some(Amount::Percent(_)) => job.io_bytes(self.extents.size),
            _ => None,
        };
        let size = size.unwrap_or(self.extents.size);
        let once = job.io_bytes(self.extents.size).filter(|_| overwrites);
        let once = once.map_or(size, |bytes| bytes.max(size));
        if job.rw.is_trim_write() { once + size } else { once }
    }

    /// Next step of the work.
    #[inline]
    fn work(&mut self) -> Option<IoStep> {
        if let Some(step) = self.todo.pop_front() {
            return Some(step);
        }
        if self.is_over() {
            self.terminated = true;
            self.go(Stage::Drain);
            return None;
        }
        if let Some(step) = self.rest() {
            return Some(step);
        }
        if self.depth.is_some() {
            self.look_at_depth();
            if self.settling.is_some() && self.queued.is_busy() {
                return self.drain();
            }
            if let Some(settling) = self.settling {
                self.settled(settling);
            }
        }
        if self.held.is_none() && !self.generator.is_pending() && self.is_issued() {
            self.go(Stage::Drain);
            return None;
        }
        if self.worker.job.engine.is_queued()
            && let Some(step) = self.queue_full()
        {
            return Some(step);
        }
        if self.flow.is_some()
            && self.held.is_none()
            && !self.passed_flow
            && let Some(step) = self.held_by_flow()
        {
            return Some(step);
        }
        self.passed_flow = true;
        let act = self.held.take();
        let act = act.or_else(|| self.act_again()).or_else(|| self.act_of_log());
        let act = act.unwrap_or_else(|| self.generator.next(self.clock.since_start_us()));
        self.act(act)
    }

    #[inline]
    fn act(&mut self, act: Act) -> Option<IoStep> {
        // Steps around a request, such as the pause of a rate limit, belong to its turn in the
        // flow.
        self.passed_flow &=
            !matches!(act, Act::Request(_) | Act::Sync { .. } | Act::SyncRange { .. });
        if self.lane.is_some()
            && matches!(act, Act::Request(_))
            && let Some(step) = self.awaits_turn(act)
        {
            return Some(step);
        }
        match act {
            Act::Request(_) if self.terminated => None,
            Act::Request(request) if self.cannot_trim(request) => {
                self.tally.directions[Direction::Trim.place()].requests += 1;
                self.failed(request.direction, NOT_OF_FILES);
                None
            }
            Act::Request(request) if self.is_queued(request) => self.enqueue(request),
            Act::Request(request) => {
                self.fill(UNTAGGED, request);
                Some(self.positioned(request))
            }
            Act::Open(file) => Some(self.open(file)),
            Act::Forget(file) => Some(IoStep::Forget(file)),
            Act::Sync { file, data_only } => Some(IoStep::Sync { file, data_only, counts: true }),
            Act::SyncRange { file, start, bytes } => Some(IoStep::SyncRange { file, start, bytes }),
            Act::Close(_) | Act::Wait(_) if self.queued.is_busy() => {
                self.held = Some(act);
                self.drain()
            }
            Act::Close(file) => Some(self.close(file)),
            Act::Wait(us) => Some(IoStep::Pause(us.min(PAUSE_MAX_US))),
            Act::Busy => self.drain(),
            Act::End => {
                self.go(Stage::Drain);
                None
            }
        }
    }

    /// Delays a request of an offered load until it is due; ends the clone after the last one.
    fn awaits_turn(&mut self, act: Act) -> Option<IoStep> {
        match self.lane.as_mut()?.turn(self.clock.present_ns()) {
            Dispatch::Now => None,
            Dispatch::Wait(us) => {
                self.held = Some(act);
                Some(IoStep::Pause(us))
            }
            Dispatch::Over => {
                self.terminated = true;
                None
            }
        }
    }

    fn is_queued(&self, request: IoRequest) -> bool {
        let job = &self.worker.job;
        job.engine.is_queued() && !(job.extras.verify.only && request.direction == Direction::Write)
    }

    /// True for trims that must fail as in the original: files can only be trimmed by the engine
    /// that punches holes, and by the one that does nothing.
    fn cannot_trim(&self, request: IoRequest) -> bool {
        let engine = self.worker.job.engine;
        request.direction == Direction::Trim && (engine.moves_data() || engine == Engine::Ftruncate)
    }

    /// Step that issues a request, or first seeks, if the engine uses the file position.
    #[inline]
    fn positioned(&mut self, request: IoRequest) -> IoStep {
        let seeks = match self.worker.job.engine {
            Engine::Sync => !self.slots.stands_at(request.file, request.offset),
            engine => engine == Engine::Vsync,
        };
        if seeks {
            self.todo.push_back(IoStep::Move(request));
            return IoStep::Seek(request.file, request.offset);
        }
        IoStep::Move(request)
    }

    /// Opens a file, and queues the page cache hints for its access pattern.
    fn open(&mut self, file: usize) -> IoStep {
        let job = &self.worker.job;
        self.slots.open(file);
        if !job.engine.uses_cache() {
            return IoStep::Open(file);
        }
        if job.invalidate && !job.extras.reads_before {
            self.todo.push_back(IoStep::Forget(file));
        }
        if job.extras.advice != FadviseHint::Nothing {
            self.todo.push_back(IoStep::Advise(file));
        }
        if job.engine == Engine::Mmap {
            self.todo.push_back(IoStep::Map(file));
        }
        IoStep::Open(file)
    }

    fn close(&mut self, file: usize) -> IoStep {
        let job = &self.worker.job;
        if job.fsync_on_close && job.rw.writes && !self.generator.last_was_sync {
            self.todo.push_back(IoStep::Close(file));
            return IoStep::CloseSync(file);
        }
        IoStep::Close(file)
    }

    /// Pauses for a part of the time that is left.
    #[inline]
    fn rest(&mut self) -> Option<IoStep> {
        if self.rest_us == 0 {
            return None;
        }
        if self.queued.is_busy() {
            return self.drain();
        }
        let piece = self.rest_us.min(PAUSE_MAX_US);
        self.rest_us -= piece;
        Some(IoStep::Pause(piece))
    }

    fn go(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// Next step; `None` at the end.
    #[inline]
    fn advance(&mut self) -> Option<IoStep> {
        loop {
            if self.stage == Stage::Work {
                if let Some(step) = self.work() {
                    return Some(step);
                }
                continue;
            }
            match self.between() {
                NextAction::Do(step) => return Some(step),
                NextAction::Again => {}
                NextAction::End => return None,
            }
        }
    }
}

impl Script for Runner {
    /// Performs one step at a time: `advance` decides what comes next, and not loops, because up to
    /// a queue's depth of requests are in flight while others are drawn, and rates, thinktime,
    /// syncs, verification and the end of the time cut in between any two of them.
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.clock.began(io.began_ns());
        while let Some(step) = self.advance() {
            self.step = step;
            self.log_issue(step);
            let done = io.call(&self.call());
            if let Some((began_ns, ended_ns)) = io.timed() {
                self.clock.timed(began_ns, ended_ns);
            }
            let answer = match step {
                // A failed open ends the job, and is reported as the original does.
                IoStep::Move(_) | IoStep::Open(_) => done.or_errno()?,
                IoStep::Unlink(_) => Ok(done.unless_missing()?.unwrap_or(CallResult::Plain)),
                _ => Ok(done?),
            };
            self.hear(answer, io);
            if let Some(snapshot) = &self.deadlines.snapshot
                && snapshot.is_asked()
            {
                self.show(snapshot, io.spent());
            }
        }
        if self.deadlines.snapshot.is_some() {
            let cpu = io.spent().cpu;
            (self.tally.user_ns, self.tally.system_ns) = (cpu.user_ns, cpu.system_ns);
        }
        self.deadlines.others.iter().for_each(Deadline::reach);
        if self.tally.errno != 0 {
            self.deadlines.on_error.iter().for_each(Deadline::reach);
        }
        self.leave_flow();
        Ok(())
    }

    fn used(&mut self, usage: ResourceUsage) {
        let ResourceUsage { switches, major_faults, minor_faults } = usage;
        self.tally.usage = [switches, major_faults, minor_faults];
    }

    fn counters(&mut self) -> Counters {
        if self.is_in_pass() {
            // The pass ended early: its requests so far count.
            self.end_pass();
        }
        let mut tally = std::mem::take(&mut self.tally);
        self.settle(&mut tally);
        self.tally = tally;
        self.tally.offered = self.lane.take().map(|lane| lane.tally());
        self.tally.steady = self.steady.take().and_then(|share| share.found());
        if let Some(snapshot) = self.deadlines.snapshot.take() {
            // Interim reports need the tally while others of the group are still at work.
            snapshot.show(self.tally.counters().json());
            snapshot.end();
        }
        let contents = self.contents.as_mut();
        let wrong = contents.map(|all| all.take_complaints()).unwrap_or_default();
        self.tally.complaints.extend(wrong);
        self.tally.logs = self.logs.take().map(|mut logs| logs.take()).unwrap_or_default();
        self.tally.counters()
    }
}
