//! Steps of a clone before its work, between two passes, and at the end.

use crate::language::{Amount, Direction, Engine};
use treering_script::{ResourceUsage, StatusText, TaskUsage};

use super::super::generator::IoRequest;
use super::super::logs::{CLOSED, DATA_SYNC, ISSUED, OPENED, RANGE_SYNC, SYNC};
use super::super::tally::{COARSE, DirectionTally, Latencies, Stat, Tally};
use super::step::PRE_READ_BYTES;
use super::{AfterClose, IoStep, NextAction, Runner, Stage};

/// Errno of a request to a file that is not open (`EBADF`).
const NO_FILE: u64 = 9;
/// Poll period of a clone that waits for others.
const WAIT_US: u64 = 1000;

/// Adds the duration of a pass, in milliseconds, to those of the given directions that moved data.
fn add_runtime(tally: &mut Tally, directions: [bool; 3], ms: u64) {
    let all = tally.directions.iter_mut().zip(directions);
    for (direction, _) in all.filter(|(direction, counts)| *counts && direction.bytes > 0) {
        direction.runtime_ms += ms;
    }
}

impl Runner {
    /// Creates a clone that only reports this error.
    pub(in super::super) fn unable(mut self, errno: i32) -> Self {
        self.stage = Stage::Over;
        self.tally.errno = u64::from(errno.unsigned_abs());
        self.is_unable = true;
        self
    }

    /// Next action outside of the work.
    pub(super) fn between(&mut self) -> NextAction {
        let step = match self.stage {
            Stage::Directories => self.directory(),
            Stage::PreRead(file) => self.pre_read(file),
            Stage::Delay if self.must_wait() => Some(IoStep::Pause(WAIT_US)),
            Stage::Delay => {
                let over = self.deadlines.end.is_reached() || self.deadlines.time.is_reached();
                let step = if over { None } else { self.rest() };
                if step.is_none() {
                    self.rest_us = 0;
                    self.clock.start();
                    self.begin_depth();
                    self.go(Stage::Begin);
                }
                step
            }
            Stage::Begin => {
                self.clock.begin_pass();
                self.go(Stage::Work);
                None
            }
            Stage::Work => self.work(),
            Stage::Drain => {
                let step = self.drain();
                if step.is_none() {
                    self.go(Stage::EndSync(0));
                }
                step
            }
            Stage::EndSync(file) => self.end_sync(file),
            Stage::PassEnd => {
                self.end_pass();
                self.next = self.follows();
                if self.next == AfterClose::Pass {
                    // As in the original, a file synced here is synced once more when it is closed.
                    self.generator.last_was_sync = false;
                }
                self.place = 0;
                self.todo.clear();
                self.go(Stage::Closing);
                None
            }
            Stage::Closing => self.close_next(),
            Stage::Renew(file) if file < self.worker.files.len() => {
                self.go(Stage::Renew(file + 1));
                Some(IoStep::Unlink(file))
            }
            Stage::Renew(_) => {
                self.go(Stage::Begin);
                None
            }
            Stage::Unlink(file) if self.worker.job.unlink && file < self.worker.files.len() => {
                self.go(Stage::Unlink(file + 1));
                Some(IoStep::Unlink(file))
            }
            Stage::Unlink(_) | Stage::Over => return NextAction::End,
        };
        step.map_or(NextAction::Again, NextAction::Do)
    }

    /// True while a job that this one waits for is at work.
    fn must_wait(&self) -> bool {
        let over = self.deadlines.end.is_reached() || self.deadlines.time.is_reached();
        !over && self.deadlines.before.iter().any(|deadline| !deadline.is_reached())
    }

    /// Ends the job because a file could not be opened.
    #[cold]
    pub(super) fn not_opened(&mut self, file: usize, errno: i32) {
        self.slots.close(file);
        self.todo.clear();
        self.tally.errno = u64::from(errno.unsigned_abs());
        self.terminated = true;
    }

    fn directory(&mut self) -> Option<IoStep> {
        match self.directories.get(self.place) {
            Some(&number) => {
                self.place += 1;
                Some(IoStep::Directory(number))
            }
            None => {
                self.place = 0;
                self.go(Stage::PreRead(0));
                None
            }
        }
    }

    /// Reads the files one after the other, for `pre_read`.
    fn pre_read(&mut self, file: usize) -> Option<IoStep> {
        if let Some(step) = self.todo.pop_front() {
            return Some(step);
        }
        let job = &self.worker.job;
        if job.extras.reads_before && job.engine == Engine::Null {
            // As in the original, there is no open file that could be read.
            self.tally.errno = NO_FILE;
            self.go(Stage::Over);
            return None;
        }
        let is_asked = job.extras.reads_before && job.engine.moves_data();
        if !is_asked || file >= self.worker.files.len() {
            self.go(Stage::Delay);
            return None;
        }
        self.go(Stage::PreRead(file + 1));
        self.slots.open(file);
        let extent = self.extents.files[file];
        let step = usize::try_from(PRE_READ_BYTES).unwrap_or(1);
        let places = (extent.offset..extent.end()).step_by(step);
        self.todo.extend(places.map(|position| IoStep::PreRead(file, position)));
        self.todo.push_back(IoStep::Close(file));
        Some(IoStep::Open(file))
    }

    /// Syncs all files, also those that are closed.
    fn end_sync(&mut self, file: usize) -> Option<IoStep> {
        if let Some(step) = self.todo.pop_front() {
            return Some(step);
        }
        let job = &self.worker.job;
        let wanted = job.end_fsync || job.fsync_on_close;
        let due = !self.generator.last_was_sync && !self.is_reading_again();
        let syncs = job.rw.writes && wanted && due;
        if !syncs || file >= self.worker.files.len() {
            self.generator.last_was_sync |= syncs;
            self.go(Stage::PassEnd);
            return None;
        }
        self.go(Stage::EndSync(file + 1));
        let sync = IoStep::Sync { file, data_only: false, counts: false };
        if self.slots.is_open(file) {
            return Some(sync);
        }
        let opens = self.open(file);
        self.todo.extend([sync, IoStep::Close(file)]);
        Some(opens)
    }

    /// Closes the files one by one; then begins another pass, or ends.
    fn close_next(&mut self) -> Option<IoStep> {
        if let Some(step) = self.todo.pop_front() {
            return Some(step);
        }
        while self.place < self.worker.files.len() {
            let file = self.place;
            self.place += 1;
            if self.slots.is_open(file) {
                return Some(self.close(file));
            }
        }
        match self.next {
            AfterClose::Verify => self.go(Stage::Begin),
            AfterClose::Pass => {
                self.generator.begin_pass();
                self.held = None;
                let renews = self.worker.job.extras.unlinks_each_pass;
                self.go(if renews { Stage::Renew(0) } else { Stage::Begin });
            }
            AfterClose::End => self.go(Stage::Unlink(0)),
        }
        if let Some(contents) = &mut self.contents {
            contents.reads_again = self.next == AfterClose::Verify;
            if self.next == AfterClose::Pass {
                contents.forget();
            }
        }
        None
    }

    /// Successor of this pass: written data is read back first.
    fn follows(&mut self) -> AfterClose {
        if !self.is_reading_again() && self.must_read_again() && !self.is_over() {
            return AfterClose::Verify;
        }
        if self.keeps_running() { AfterClose::Pass } else { AfterClose::End }
    }

    /// True if another pass follows.
    fn keeps_running(&mut self) -> bool {
        if self.worker.job.extras.replay.is_some() || self.worker.job.extras.creates_only {
            return false;
        }
        let (job, issued) = (&self.worker.job, &self.generator.issued);
        if self.terminated || self.is_over() {
            return false;
        }
        if job.is_timed() {
            return true;
        }
        if self.loops_left > 0 {
            self.loops_left -= 1;
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
        // A rest shorter than a request is not begun. After reading back, the original has
        // forgotten that its files are complete.
        let goes_on = stated || self.is_reading_again();
        left >= job.most_block() && goes_on && issued.bytes_of_pass > 0
    }

    /// Adds the runtime of a pass to each direction that moved data.
    pub(super) fn end_pass(&mut self) {
        let ms = self.clock.pass_ms();
        let directions = self.directions_of_pass();
        add_runtime(&mut self.tally, directions, ms);
    }

    /// Directions in which data may move in this pass.
    fn directions_of_pass(&self) -> [bool; 3] {
        let reads_again = self.is_reading_again();
        Direction::ALL.map(|direction| {
            if reads_again {
                direction == Direction::Read
            } else {
                self.worker.job.directions().any(|one| one == direction)
            }
        })
    }

    /// True if a pass is in progress.
    pub(super) const fn is_in_pass(&self) -> bool {
        matches!(self.stage, Stage::Work | Stage::Drain | Stage::EndSync(_) | Stage::PassEnd)
    }

    /// Publishes the progress as it would be reported if the clone ended now.
    #[cold]
    pub(super) fn show(&self, snapshot: &StatusText, spent: TaskUsage) {
        let mut tally = Tally { complaints: Vec::new(), logs: Vec::new(), ..self.tally.clone() };
        if self.is_in_pass() {
            add_runtime(&mut tally, self.directions_of_pass(), self.clock.pass_ms());
        }
        let TaskUsage { cpu, usage: ResourceUsage { switches, major_faults, minor_faults } } =
            spent;
        (tally.user_ns, tally.system_ns) = (cpu.user_ns, cpu.system_ns);
        tally.usage = [switches, major_faults, minor_faults];
        self.settle(&mut tally);
        snapshot.show(tally.counters().json());
    }

    /// Completes the tally with the runtime and the depth, and drops statistics that the job
    /// disabled.
    pub(super) fn settle(&self, tally: &mut Tally) {
        let job = &self.worker.job;
        for direction in &mut tally.directions {
            if job.reported.disable_bw {
                direction.bandwidth = Stat::default();
            }
            if job.reported.disable_clat {
                direction.clat = Latencies::default();
            }
        }
        if job.reported.disable_clat {
            tally.coarse = [0; COARSE];
        }
        tally.runtime_ms = self.clock.runtime_ms();
        let depth = if job.extras.creates_only || self.is_unable { 0 } else { job.depth };
        tally.depth = self.depth.as_ref().map_or(depth, |one| one.depth());
    }

    /// Logs what is about to be done to a file, for `write_iolog`.
    pub(super) fn log_issue(&mut self, step: IoStep) {
        let Some(logs) = &mut self.logs else { return };
        let (kind, file, direction, bytes, offset) = match step {
            IoStep::Open(file) => (OPENED, file, 0, 0, 0),
            IoStep::Close(file) => (CLOSED, file, 0, 0, 0),
            IoStep::Move(IoRequest { file, direction, offset, bytes, .. }) => {
                (ISSUED, file, direction.place() as u64, bytes, offset)
            }
            IoStep::Sync { file, data_only, .. } => {
                (ISSUED, file, if data_only { DATA_SYNC } else { SYNC }, 0, 0)
            }
            IoStep::SyncRange { file, .. } => (ISSUED, file, RANGE_SYNC, 0, 0),
            _ => return,
        };
        logs.issued(kind, [self.clock.since_start_us(), file as u64, direction, bytes, offset]);
    }
}
