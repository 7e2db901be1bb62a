//! Script of a clone, as fio's `thread_main`: prepares, then passes over its files until its bytes
//! are moved or its time is over; a pass may be followed by one that reads back what was written.
//!
//! [`Runner::do_io`] is the loop of a pass. Requests are drawn while others are in flight, since
//! [`Io::submit`](treering_script::Io) and `reap` are separate calls: the loop submits a batch,
//! draws on, and reaps when the queue is full.

mod calls;
mod clock;
mod contents;
mod counting;
mod depth;
mod queue;
mod replay;
mod report;
mod slots;
mod steady;
mod steering;
mod work;

use std::sync::Arc;

use crate::language::{Amount, Engine};
use treering_model::Counters;
use treering_script::{Buffers, Deadline, Io, ResourceUsage, Script, StatusText, Stop};

use super::generator::Generator;
use super::layout::names;
use super::logs::Logs;
use super::namespace::Namespace;
use super::offered::{Stream, WorkerSchedule};
use super::sizes::Extents;
use super::tally::{DirectionTally, Tally, VerifyError};
use super::worker::Worker;
use calls::PRE_READ_BYTES;
use clock::Clock;
use contents::Contents;
use depth::DepthControl;
use queue::RequestQueue;
use replay::ReplayCursor;
use slots::FileSlots;
pub(super) use steady::SteadyShare;
pub(super) use steering::FlowShare;
use steering::RateWatch;

/// Longest single pause, since nothing interrupts a pause.
const PAUSE_MAX_US: u64 = 20_000;
/// Poll period of a clone that waits for others.
const WAIT_US: u64 = 1000;
/// Errno of a request to a file that is not open (`EBADF`).
const NO_FILE: u64 = 9;

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

impl Deadlines {
    /// True if the clone must end, though its own runtime may not be over.
    #[inline]
    fn are_over(&self) -> bool {
        self.end.is_reached() || self.time.is_reached()
    }

    /// True while a job that this one waits for is at work.
    fn must_wait(&self) -> bool {
        !self.are_over() && self.before.iter().any(|deadline| !deadline.is_reached())
    }
}

/// Delays between requests, and limits on the requests in flight.
#[derive(Debug)]
struct Pacing {
    /// Microseconds left of the pauses that are due: start delay, think time, replayed waits.
    pause_left_us: u64,
    flow: Option<FlowShare>,
    /// Due times of an offered load.
    schedule: Option<Box<WorkerSchedule>>,
    /// Control of the queue depth by latencies.
    depth: Option<Box<DepthControl>>,
}

/// Conditions on the results that end the job.
#[derive(Debug)]
struct EndConditions {
    rates: Option<Box<RateWatch>>,
    steady: Option<Box<SteadyShare>>,
}

/// Position of a clone in its job.
#[derive(Debug)]
struct Progress {
    /// Passes that follow the current one.
    loops_left: u64,
    /// True from the start of a pass until its files are synced.
    is_in_pass: bool,
    /// True once an error or the time has ended the job.
    is_terminated: bool,
    /// True for a clone that does nothing, since the range of its files is unknown.
    is_unable: bool,
}

/// Script of a clone.
pub(super) struct Runner {
    worker: Arc<Worker>,
    namespace: Arc<Namespace>,
    extents: Arc<Extents>,
    deadlines: Deadlines,
    generator: Generator,
    replay: ReplayCursor,
    contents: Option<Box<Contents>>,
    slots: FileSlots,
    queue: RequestQueue,
    pacing: Pacing,
    clock: Clock,
    tally: Tally,
    logs: Option<Box<Logs>>,
    end_conditions: EndConditions,
    progress: Progress,
}

impl Runner {
    pub(super) fn new(
        worker: Arc<Worker>,
        namespace: Arc<Namespace>,
        extents: Arc<Extents>,
        mut deadlines: Deadlines,
    ) -> Self {
        let job = &worker.job;
        let generator = Generator::new(Arc::clone(job), &extents, &worker.hashes, worker.seeds);
        let schedule = deadlines.stream.take().map(|stream| Box::new(WorkerSchedule::new(stream)));
        Self {
            slots: FileSlots::new(worker.files.len()),
            queue: RequestQueue::new(job.depth),
            replay: ReplayCursor::default(),
            contents: Contents::for_worker(&worker, namespace.classic),
            pacing: Pacing {
                pause_left_us: worker.start_delay_us(),
                flow: deadlines.flow.take(),
                schedule,
                depth: DepthControl::from_job(job),
            },
            clock: Clock::new(job),
            tally: Tally::default(),
            logs: Logs::of_worker(&worker, &namespace.base),
            end_conditions: EndConditions {
                rates: RateWatch::from_job(job),
                steady: deadlines.steady.take().map(Box::new),
            },
            progress: Progress {
                loops_left: job.loops - 1,
                is_in_pass: false,
                is_terminated: false,
                is_unable: false,
            },
            deadlines,
            generator,
            worker,
            namespace,
            extents,
        }
    }

    /// Creates a clone that only reports this error.
    pub(super) fn failing_with(mut self, errno: i32) -> Self {
        self.tally.errno = u64::from(errno.unsigned_abs());
        self.progress.is_unable = true;
        self
    }

    /// Buffers of its requests, unless they carry the default payload.
    pub(super) fn buffers(&self) -> Option<Buffers> {
        self.contents.as_ref().map(|contents| contents.buffers.clone())
    }

    /// Opens the directories, reads the files for `pre_read`, and waits out the start delay. False
    /// if the job cannot begin.
    fn prepare(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        if self.progress.is_unable {
            return Ok(false);
        }
        self.open_directories(io)?;
        if self.worker.job.extras.reads_before && !self.pre_read(io)? {
            return Ok(false);
        }
        while self.deadlines.must_wait() {
            self.pause(io, WAIT_US)?;
        }
        while self.pacing.pause_left_us > 0 && !self.deadlines.are_over() {
            self.pause_piece(io)?;
        }
        self.pacing.pause_left_us = 0;
        self.clock.start();
        self.begin_depth();
        Ok(true)
    }

    fn open_directories(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let names = names(&self.namespace);
        for number in self.worker.directories() {
            let done = io.call(&self.namespace.open(number, &names[usize::from(number)]));
            self.finish(io, done)?;
        }
        Ok(())
    }

    /// Reads the files one after the other. False if the engine has no open files.
    fn pre_read(&mut self, io: &mut dyn Io) -> Result<bool, Stop> {
        let engine = self.worker.job.engine;
        if engine == Engine::Null {
            // As in the original, there is no open file that could be read.
            self.tally.errno = NO_FILE;
            return Ok(false);
        }
        let files = if engine.moves_data() { self.worker.files.len() } else { 0 };
        for file in 0..files {
            if !self.open_file(io, file)? {
                continue;
            }
            let extent = self.extents.files[file];
            let step = usize::try_from(PRE_READ_BYTES).unwrap_or(1);
            for position in (extent.offset..extent.end()).step_by(step) {
                let done = io.read_at(self.slots.slot(file), PRE_READ_BYTES, position);
                self.finish(io, done)?;
            }
            self.close_file(io, file)?;
        }
        Ok(true)
    }

    /// Passes over the files, each perhaps followed by one that reads back what was written.
    fn passes(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        loop {
            self.pass(io)?;
            if self.must_verify() {
                self.close_files(io)?;
                self.set_reading_back(true);
                self.pass(io)?;
            }
            let continues = self.keeps_running();
            if continues {
                // As in the original, a file synced here is synced once more when it is closed.
                self.generator.last_was_sync = false;
            }
            self.close_files(io)?;
            self.set_reading_back(false);
            if !continues {
                return Ok(());
            }
            self.begin_another_pass(io)?;
        }
    }

    /// Moves data until the pass is complete, ends the requests in flight, and syncs.
    fn pass(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.clock.begin_pass();
        self.progress.is_in_pass = true;
        self.do_io(io)?;
        while self.end_some(io)? {}
        self.end_sync(io)?;
        self.end_pass();
        self.progress.is_in_pass = false;
        Ok(())
    }

    /// Syncs all files at the end of a pass, also those that are closed.
    fn end_sync(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let job = &self.worker.job;
        let wanted = job.end_fsync || job.fsync_on_close;
        let due = !self.generator.last_was_sync && !self.is_reading_back();
        if !(job.rw.writes && wanted && due) {
            return Ok(());
        }
        for file in 0..self.worker.files.len() {
            if self.slots.is_open(file) {
                self.end_sync_file(io, file)?;
            } else if self.open(io, file)? {
                self.end_sync_file(io, file)?;
                self.close_file(io, file)?;
            }
        }
        self.generator.last_was_sync = true;
        Ok(())
    }

    fn close_files(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for file in 0..self.worker.files.len() {
            if self.slots.is_open(file) {
                self.close(io, file)?;
            }
        }
        Ok(())
    }

    fn unlink_files(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        (0..self.worker.files.len()).try_for_each(|file| self.unlink(io, file))
    }

    /// True if the data of this pass must be read back now.
    fn must_verify(&self) -> bool {
        let has_written = self.contents.as_ref().is_some_and(|contents| contents.must_read_back());
        has_written && !self.progress.is_terminated && !self.is_over()
    }

    /// True while written data is being read back.
    fn is_reading_back(&self) -> bool {
        self.contents.as_ref().is_some_and(|contents| contents.reads_back)
    }

    fn set_reading_back(&mut self, reads_back: bool) {
        if let Some(contents) = &mut self.contents {
            contents.reads_back = reads_back;
        }
    }

    /// True if another pass follows.
    fn keeps_running(&mut self) -> bool {
        if self.worker.job.extras.replay.is_some() || self.worker.job.extras.creates_only {
            return false;
        }
        let (job, issued) = (&self.worker.job, &self.generator.issued);
        if self.progress.is_terminated || self.is_over() {
            return false;
        }
        if job.is_timed() {
            return true;
        }
        if self.progress.loops_left > 0 {
            self.progress.loops_left -= 1;
            return true;
        }
        // As in the original, data read back counts as well.
        let done = |count: fn(&DirectionTally) -> u64| {
            self.tally.directions.iter().map(count).sum::<u64>()
        };
        if job.number_ios > 0 && done(|direction| direction.requests) >= job.number_ios {
            return false;
        }
        let limit = job.io_bytes(self.extents.size).unwrap_or(self.extents.size);
        let left = limit.saturating_sub(done(|direction| direction.bytes));
        // As in the original, a percentage of the size is limited to the files' content.
        let stated = matches!(job.io_size, Some(Amount::Bytes(_)));
        // A remainder shorter than a request is not begun. After reading back, the original has
        // forgotten that its files are complete.
        let goes_on = stated || self.is_reading_back();
        left >= job.most_block() && goes_on && issued.bytes_of_pass > 0
    }

    fn begin_another_pass(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.generator.begin_pass();
        if let Some(contents) = &mut self.contents {
            contents.forget();
        }
        if self.worker.job.extras.unlinks_each_pass { self.unlink_files(io) } else { Ok(()) }
    }
}

impl Script for Runner {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        self.clock.began(io.began_ns());
        if let Some(logs) = &mut self.logs {
            logs.begin(io.reaches_kernel());
        }
        if self.prepare(io)? {
            self.passes(io)?;
            if self.worker.job.unlink {
                self.unlink_files(io)?;
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
        if let Some(flow) = self.pacing.flow.take() {
            flow.leave();
        }
        Ok(())
    }

    fn used(&mut self, usage: ResourceUsage) {
        let ResourceUsage { switches, major_faults, minor_faults } = usage;
        self.tally.usage = [switches, major_faults, minor_faults];
    }

    fn counters(&mut self) -> Counters {
        if self.progress.is_in_pass {
            // The pass ended early: its requests so far count.
            self.end_pass();
        }
        let mut tally = std::mem::take(&mut self.tally);
        self.complete(&mut tally);
        tally.late = self.generator.late();
        tally.offered = self.pacing.schedule.take().map(|schedule| schedule.tally());
        tally.steady = self.end_conditions.steady.take().and_then(|share| share.result());
        if let Some(snapshot) = self.deadlines.snapshot.take() {
            // Interim reports need the tally while others of the group are still at work.
            snapshot.show(tally.counters().json());
            snapshot.end();
        }
        if let Some(contents) = &mut self.contents {
            tally.complaints.extend(contents.take_complaints());
        }
        let failures = self.logs.take().map(|logs| logs.end()).unwrap_or_default();
        let complaint = |text| VerifyError { text, ..VerifyError::default() };
        tally.complaints.extend(failures.into_iter().map(complaint));
        self.tally = tally;
        self.tally.counters()
    }
}
