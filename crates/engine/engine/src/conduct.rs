//! Conducts a session: phases, groups, workers, and their events. A group of one runs on the
//! calling thread; larger ones on threads of their own that start together. The caller begins and
//! ends the trial.

use std::ops::Range;
use std::time::Duration;
use std::{io, thread};

use treering_model::{
    Caution, CautionCode, Counters, IntervalTotals, PhaseTotals, TaskTotals, TrialEvent, TrialSink,
};
use treering_script::{
    CachePolicy, Call, Conductor, ExternalProgram, ParallelGroup, Phase, ProgramEnd, ReportedPhase,
    Session, SessionError, SessionResult, SessionStop, SignalEffect, SyncScope, Task, TaskListener,
    UnfinishedTasks, WorkerKind,
};
use treering_sys::{StopFlag, monotonic_ns};

use crate::program::ProgramRunner;
use crate::ranks::share::{TaskAnswer, own_directory};
use crate::totals::{add_run, merge_intervals, task_totals, widen};
use crate::workers::processes::{ProcessOptions, on_processes};
use crate::workers::start::cannot_start;
use crate::workers::threads::on_threads;
use crate::workers::ticks::ticking;
use crate::workers::time_limit::DeadlineTimer;
use crate::workers::worker::{StopConditions, TaskEnd, TaskRun, Worker};
use crate::{
    CallFailure, CallRecorder, Caller, EngineError, EngineOptions, Payload, PhaseBarriers,
    RankSkew, RunOptions, RunProgress, SessionPlace, TrialClock, World,
};

/// Runs a session to its end, without a log of reads and writes.
pub(crate) fn conduct<P: SessionPlace + ?Sized>(
    place: &P,
    session: &mut dyn Session,
    run: RunOptions<'_>,
) -> Result<(), EngineError> {
    let world = run.world;
    let conducted = conduct_here(place, session, run);
    if let (Some(world), Err(error)) = (world, &conducted) {
        // The others may know nothing of it, and wait.
        world.leave(&error.why());
    }
    conducted
}

fn conduct_here<P: SessionPlace + ?Sized>(
    place: &P,
    session: &mut dyn Session,
    run: RunOptions<'_>,
) -> Result<(), EngineError> {
    let RunOptions { engine, sink, progress, stop, heat: _, world, apart, environment } = run;
    let clock = common_clock(engine.clock, world)?;
    let options = &EngineOptions { clock, ..*engine };
    for caution in place.cautions() {
        sink.accept(&TrialEvent::Cautioned(caution))?;
    }
    let payload = Payload::new(options.payload, options.seed);
    let mut conductor = PlaceConductor {
        place,
        options,
        sink,
        progress,
        stop,
        payload,
        workers: Vec::new(),
        phase: None,
        next_phase: 0,
        phase_began_ns: 0,
        tasks_before: 0,
        intervals: Vec::new(),
        drops_caches: true,
        world: world.filter(|world| world.size() > 1),
        apart,
        begins_ns: None,
        worked_ns: Vec::new(),
        barriers: PhaseBarriers::default(),
        programs: None,
        environment,
        error: None,
    };
    let ran = session.run(&mut conductor);
    conductor.finish(ran)
}

/// Clock of the trial, taken from rank 0.
fn common_clock(own: TrialClock, world: Option<&World<'_>>) -> Result<TrialClock, EngineError> {
    let Some(world) = world.filter(|world| world.size() > 1) else { return Ok(own) };
    let origin_bytes = world.broadcast(&own.origin_ns().to_le_bytes())?;
    let origin_ns = origin_bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Ok(TrialClock::since(world.on_own_clock(origin_ns)))
}

/// Conducts a session on a target.
struct PlaceConductor<'r, P: SessionPlace + ?Sized> {
    place: &'r P,
    options: &'r EngineOptions,
    sink: &'r mut dyn TrialSink,
    progress: &'r RunProgress,
    stop: &'r StopFlag,
    payload: Payload,
    workers: Vec<Worker<P::Caller>>,
    /// Totals of the current phase so far. Its time ends with its last group and excludes later
    /// work of the session.
    phase: Option<PhaseTotals>,
    /// Number of the next phase.
    next_phase: u32,
    /// Start of the current phase, by the monotonic clock in nanoseconds. A start agreed on with
    /// rank 0 may lie slightly in the future, since clock offsets are not known to the nanosecond.
    phase_began_ns: u64,
    /// Number of finished tasks in the groups of the current phase.
    tasks_before: u32,
    /// Intervals of worker processes, one list per worker, in seconds of the phase.
    intervals: Vec<Vec<IntervalTotals>>,
    /// True until dropping caches fails.
    drops_caches: bool,
    /// Ranks of the run; `None` on a single process.
    world: Option<&'r World<'r>>,
    /// True if each rank does all tasks, in a directory of its own, instead of a share of them.
    apart: bool,
    /// Agreed start of the next group, by the monotonic clock in nanoseconds.
    begins_ns: Option<u64>,
    /// Time worked in the current phase, per rank.
    worked_ns: Vec<u64>,
    /// Barriers of the current phase.
    barriers: PhaseBarriers,
    /// Programs that did the work; `None` before the first.
    programs: Option<ProgramRunner>,
    /// Environment variables of all programs.
    environment: &'r [(String, String)],
    /// First error of the run. The session only learns that the run has ended.
    error: Option<EngineError>,
}

impl<P: SessionPlace + ?Sized> Conductor for PlaceConductor<'_, P> {
    fn phase(&mut self, phase: Phase) -> SessionResult {
        self.attempt(|conductor| conductor.begin_phase(phase))
    }

    fn group(&mut self, group: ParallelGroup, listener: &mut dyn TaskListener) -> SessionResult {
        self.attempt(|conductor| {
            let phase = conductor.phase.take();
            let mut totals = phase.ok_or_else(|| SessionError::new("a group without a phase"))?;
            let ran = conductor.run_group(group, &mut totals, listener);
            totals.wall_ns = monotonic_ns().saturating_sub(conductor.phase_began_ns);
            conductor.phase = Some(totals);
            ran
        })
    }

    fn sync(&mut self, scope: SyncScope) -> SessionResult {
        self.attempt(|conductor| {
            let synced = conductor.sync_target(scope);
            if let Some(totals) = &mut conductor.phase {
                totals.wall_ns = monotonic_ns().saturating_sub(conductor.phase_began_ns);
            }
            synced
        })
    }

    fn program(&mut self, mut program: ExternalProgram) -> SessionResult<ProgramEnd> {
        program.environment.extend_from_slice(self.environment);
        self.attempt(|conductor| conductor.run_program(&program))
    }

    fn report(&mut self, phases: Vec<ReportedPhase>) -> SessionResult {
        self.attempt(|conductor| {
            let Some(programs) = &mut conductor.programs else { return Ok(()) };
            programs.report(phases, &mut conductor.next_phase, conductor.sink)
        })
    }
}

impl<P: SessionPlace + ?Sized> PlaceConductor<'_, P> {
    /// Executes a request of the session, unless the run has ended; keeps the error that ends it.
    fn attempt<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> SessionResult<T> {
        if self.error.is_some() {
            return Err(SessionStop::Ended);
        }
        act(self).map_err(|error| {
            self.error = Some(error);
            SessionStop::Ended
        })
    }

    /// Ends the last phase and the processes of programs; returns the error that ended the run.
    fn finish(mut self, ran: SessionResult) -> Result<(), EngineError> {
        let ended = match (self.error.take(), ran) {
            (Some(error), _) => Err(error),
            (None, Err(SessionStop::Failed(error))) => Err(error.into()),
            (None, Err(SessionStop::Ended) | Ok(())) => Ok(()),
        };
        let ended = self.end_phase(ended);
        let Some(programs) = self.programs.take() else { return ended };
        let reported = programs.end(self.sink);
        match ended {
            // A program that was asked to end fails in its own way.
            Ok(()) | Err(EngineError::Session(_)) => self.interrupted().and(ended).and(reported),
            Err(error) => Err(error),
        }
    }

    /// Remounts the target between phases, if requested. Workers and their descriptors go first.
    fn renew_between_phases(&mut self) -> Result<(), EngineError> {
        if !self.place.is_renewed() {
            return Ok(());
        }
        self.workers.clear();
        self.place.renew()
    }

    /// Runs a program in place of the phases.
    fn run_program(&mut self, program: &ExternalProgram) -> Result<ProgramEnd, EngineError> {
        self.end_phase(Ok(()))?;
        self.interrupted()?;
        if self.programs.as_ref().is_none_or(ProgramRunner::has_ended) {
            self.renew_between_phases()?;
        }
        let programs = self.programs.get_or_insert_with(ProgramRunner::default);
        let (clock, number) = (self.options.clock, self.next_phase);
        programs.run(program, self.place, number, clock, self.sink, self.stop)
    }

    fn begin_phase(&mut self, phase: Phase) -> Result<(), EngineError> {
        self.end_phase(Ok(()))?;
        let number = self.next_phase;
        if number > 0 {
            self.renew_between_phases()?;
        }
        self.phase_began_ns = match self.world {
            None => self.interrupted().map(|()| monotonic_ns())?,
            Some(world) => {
                self.worked_ns = vec![0; world.size()];
                self.barriers = PhaseBarriers::default();
                let step = format!("phase {number}, {}", phase.name);
                world.agree(&step, Duration::ZERO, self.stop, Ok(()))?
            }
        };
        let began_ns = self.options.clock.at_ns(self.phase_began_ns);
        let name = phase.name.clone();
        self.sink.accept(&TrialEvent::PhaseBegan { phase: number, name, at_ns: began_ns })?;
        for worker in &mut self.workers {
            worker.recorder.begin_phase(self.phase_began_ns);
        }
        self.next_phase += 1;
        self.tasks_before = 0;
        let totals = PhaseTotals { phase: number, name: phase.name, began_ns, ..<_>::default() };
        self.phase = Some(totals);
        Ok(())
    }

    /// Ends the current phase, if any; `ended` is the reason of an early end.
    fn end_phase(&mut self, mut ended: Result<(), EngineError>) -> Result<(), EngineError> {
        let Some(mut totals) = self.phase.take() else { return ended };
        let intervals = self.workers.iter_mut().map(|worker| worker.recorder.end_phase());
        totals.intervals = merge_intervals(intervals.chain(std::mem::take(&mut self.intervals)));
        if let Some(world) = self.world.filter(|_| ended.is_ok()) {
            match world.merge_seconds(&totals.intervals) {
                Ok(of_all) => totals.intervals = of_all,
                Err(error) => ended = Err(error.into()),
            }
            let barriers = std::mem::take(&mut self.barriers);
            world.add_skew(RankSkew::new(totals.phase, &totals.name, &self.worked_ns, barriers));
        }
        let reported = self.sink.accept(&TrialEvent::PhaseEnded(totals));
        // Why it ended early says more than a listener that could not hear of it.
        ended?;
        Ok(reported?)
    }

    fn run_group(
        &mut self,
        group: ParallelGroup,
        totals: &mut PhaseTotals,
        listener: &mut dyn TaskListener,
    ) -> Result<(), EngineError> {
        if self.world.is_none() {
            self.interrupted()?;
        }
        let ready = self.prepare(&group);
        let tasks = self.total_tasks(group.tasks.len());
        match self.world {
            None => ready?,
            Some(world) => {
                let (phase, before) = (totals.phase, self.tasks_before);
                let step = format!("phase {phase}, task {before}, {tasks} at once");
                let head_start = world.head_start();
                let at_ns = world.agree(&step, head_start, self.stop, ready)?;
                world.begin_group();
                self.begins_ns = Some(at_ns);
            }
        }
        self.work_and_report(group, totals, listener)?;
        self.tasks_before += u32::try_from(tasks).unwrap_or(u32::MAX);
        Ok(())
    }

    /// Remounts the target within a phase. The workers are dismissed with all their descriptors;
    /// their counters are kept.
    fn renew(&mut self) -> Result<(), EngineError> {
        let workers = std::mem::take(&mut self.workers);
        self.intervals.extend(workers.into_iter().map(|mut worker| worker.recorder.end_phase()));
        if self.place.is_renewed() {
            return self.place.renew();
        }
        let source = "this place is not unmounted and mounted again".into();
        Err(EngineError::Renewal { source })
    }

    /// Prepares a group, outside of the measured time.
    fn prepare(&mut self, group: &ParallelGroup) -> Result<(), EngineError> {
        if group.remount {
            self.renew()?;
        }
        self.create_workers(self.own(group.tasks.len()))?;
        self.prepare_caches(group.caches)?;
        let does_it = self.apart || self.world.is_none_or(World::is_first);
        if let Some(command) = group.command.as_ref().filter(|_| does_it) {
            let failed = |source| EngineError::Command { command: command.clone(), source };
            self.place.shell(command).map_err(failed)?;
        }
        Ok(())
    }

    /// Number of tasks of a group over all ranks, of which each may do all.
    fn total_tasks(&self, tasks: usize) -> usize {
        let apart = self.world.filter(|_| self.apart);
        apart.map_or(tasks, |world| tasks * world.size())
    }

    /// Share of this rank in the tasks of a group, as a range of indices over all ranks.
    fn own(&self, tasks: usize) -> Range<usize> {
        let total_tasks = self.total_tasks(tasks);
        self.world.map_or(0..total_tasks, |world| world.share(total_tasks))
    }

    /// Creates missing workers with these numbers, with what they need but samples of their calls.
    fn create_workers(&mut self, numbers: Range<usize>) -> Result<(), EngineError> {
        for worker in numbers {
            let at = self.workers.partition_point(|hired| hired.number < worker);
            if self.workers.get(at).is_some_and(|hired| hired.number == worker) {
                continue;
            }
            let start = |source| EngineError::Start { worker, source };
            let number = u16::try_from(worker)
                .map_err(|_| start(io::Error::other("a group has at most 65536 tasks")))?;
            let caller = self.place.caller(&self.payload, number).map_err(start)?;
            let seed = self.options.seed ^ (u64::from(number) << 32);
            let mut recorder = CallRecorder::new(self.options.latency, seed);
            recorder.begin_phase(self.phase_began_ns);
            let handicap_percent = self.options.handicap_percent;
            let line = self.progress.add_line();
            let clock = self.options.clock;
            let hired = Worker { number: worker, caller, recorder, handicap_percent, line, clock };
            self.workers.insert(at, hired);
        }
        Ok(())
    }

    fn prepare_caches(&mut self, caches: CachePolicy) -> Result<(), EngineError> {
        if caches == CachePolicy::Keep || !self.drops_caches {
            return Ok(());
        }
        if let Err(error) = self.place.drop_caches() {
            self.drops_caches = false;
            let why = io::Error::from(error.errno());
            let message = format!("caches could not be dropped: {why}; not tried again");
            let caution = Caution { code: CautionCode::CachesNotDropped, message };
            self.sink.accept(&TrialEvent::Cautioned(caution))?;
        }
        Ok(())
    }

    /// Runs the tasks of a group, and reports each to the listener and the sinks.
    fn work_and_report(
        &mut self,
        mut group: ParallelGroup,
        totals: &mut PhaseTotals,
        listener: &mut dyn TaskListener,
    ) -> Result<(), EngineError> {
        self.announce(totals.phase, &group.tasks)?;
        let (tasks, total_tasks) = (group.tasks.len(), self.total_tasks(group.tasks.len()));
        let mut spans = vec![None; self.worked_ns.len()];
        let answers = self.work(listener, totals.phase, &mut group)?;
        let reported = group.side_by_side.unfinished == UnfinishedTasks::Reported;
        let (mut worst, mut stopped) = (None, false);
        for ((number, worker), answer) in (self.tasks_before..).zip(0u16..).zip(answers) {
            let place = usize::from(worker);
            let (task, rank) = (&group.tasks[place % tasks], self.rank_of(place, total_tasks));
            let mut run = match self.world {
                None => answer.run(),
                Some(world) => {
                    let run = world.on_common_clock(answer);
                    widen(&mut spans[rank], &run);
                    run
                }
            };
            add_run(totals, &run);
            self.intervals.push(run.intervals.clone());
            // Names in the directory of another are no names here.
            let book = run.heat.take().filter(|_| !self.runs_elsewhere(rank));
            book.into_iter().for_each(|book| self.place.gather(book));
            let subject = self.subject(task, rank);
            let name = format!("{} {subject}", task.kind);
            let finished = matches!(run.end, TaskEnd::Finished);
            let cut_short = matches!(run.end, TaskEnd::Stopped | TaskEnd::Failed(_));
            let end = std::mem::replace(&mut run.end, TaskEnd::Finished);
            if finished || (reported && cut_short) {
                totals.tasks += 1;
                let here = worker % u16::try_from(tasks).unwrap_or(u16::MAX);
                let at = (totals.phase, number, here);
                let ended = task_totals(at, task, run, self.options.clock);
                if self.runs_elsewhere(rank) {
                    listener.others_task_ended(&ended);
                } else {
                    listener.task_ended(&ended);
                }
                self.sink.accept(&TrialEvent::TaskEnded(TaskTotals {
                    worker,
                    subject,
                    ..ended
                }))?;
            }
            match end {
                TaskEnd::Finished => {}
                TaskEnd::Failed(failure) => {
                    worst.get_or_insert(EngineError::Call { task: name, failure });
                }
                TaskEnd::Panicked(message) => {
                    worst.get_or_insert(EngineError::Panicked { task: name, message });
                }
                TaskEnd::Lost(why) => {
                    worst.get_or_insert(EngineError::Lost { task: name, why });
                }
                TaskEnd::Stopped => stopped = true,
            }
        }
        if let Some(error) = worst {
            return Err(self.world.and_then(World::lost).map_or(error, EngineError::Rank));
        }
        self.add_spans(&spans);
        self.interrupted()?;
        if stopped { Err(EngineError::Halted) } else { Ok(()) }
    }

    /// Reports the beginning of the tasks on all ranks.
    fn announce(&mut self, phase: u32, tasks: &[Task]) -> Result<(), EngineError> {
        let total_tasks = self.total_tasks(tasks.len());
        for (number, place) in (self.tasks_before..).zip(0..total_tasks) {
            let task = &tasks[place % tasks.len()];
            self.sink.accept(&TrialEvent::TaskBegan {
                phase,
                task: number,
                kind: task.kind.clone(),
                subject: self.subject(task, self.rank_of(place, total_tasks)),
                expected_bytes: task.expected_bytes,
            })?;
        }
        Ok(())
    }

    /// Rank that does the task at this index over all ranks.
    fn rank_of(&self, place: usize, total_tasks: usize) -> usize {
        self.world.map_or(0, |world| world.rank_of(place, total_tasks))
    }

    /// True for another rank that works in a directory of its own.
    fn runs_elsewhere(&self, rank: usize) -> bool {
        self.apart && self.world.is_some_and(|world| world.rank() != rank)
    }

    /// Subject of a task, prefixed with the rank's directory if each rank has its own.
    fn subject(&self, task: &Task, rank: usize) -> String {
        match self.world {
            Some(_) if self.apart => format!("{}/{}", own_directory(rank), task.subject),
            _ => task.subject.clone(),
        }
    }

    /// Adds the start and end times of the ranks in a group, if all took part in it.
    fn add_spans(&mut self, spans: &[Option<(u64, u64)>]) {
        let Some(world) = self.world.filter(|_| spans.iter().all(Option::is_some)) else { return };
        let spans = spans.iter().flatten();
        self.barriers.add(world.last_arrival_ns(), spans.clone().map(|(began, _)| *began));
        let worked = spans.map(|(began, ended)| ended - began);
        self.worked_ns.iter_mut().zip(worked).for_each(|(sum, worked)| *sum += worked);
    }

    /// Runs this rank's tasks of a group in parallel, within the time limit.
    fn work(
        &mut self,
        listener: &mut dyn TaskListener,
        phase: u32,
        group: &mut ParallelGroup,
    ) -> Result<Vec<TaskAnswer>, EngineError> {
        let total_tasks = self.total_tasks(group.tasks.len());
        let runs = self.work_here(listener, phase, group);
        let Some(world) = self.world else {
            let own = |run| TaskAnswer::Own(Box::new(run));
            return runs.map(|runs| runs.into_iter().map(own).collect());
        };
        let answers = world.exchange(total_tasks, runs?, self.stop);
        self.stop.lift_halt();
        answers
    }

    fn work_here(
        &mut self,
        listener: &mut dyn TaskListener,
        phase: u32,
        group: &mut ParallelGroup,
    ) -> Result<Vec<TaskRun>, EngineError> {
        let own = self.own(group.tasks.len());
        let side_by_side = group.side_by_side;
        let finishes = side_by_side.on_signal == SignalEffect::Finish;
        let halting = StopConditions { stop: self.stop, finishes };
        let start = side_by_side.start;
        let timer = group.time_limit.as_ref().map(DeadlineTimer::begin).transpose();
        let _timer = timer.map_err(|source| cannot_start(0, own.len(), source))?;
        let first = self.workers.partition_point(|worker| worker.number < own.start);
        // A rank is a process already.
        let is_process = own.len() == 1 && self.world.is_some();
        let forks = side_by_side.workers != WorkerKind::Thread && !is_process;
        let tasks = if self.apart { &mut group.tasks[..] } else { &mut group.tasks[own] };
        let workers = &mut self.workers[first..];
        let begins_ns = self.begins_ns.take().unwrap_or(0);
        let stopped_max = self.options.stopped_max;
        let work = || {
            // As late as can be: what it takes to come here is not the same at all ranks.
            wait_until(begins_ns);
            match tasks {
                [] => Ok(Vec::new()),
                all if forks => {
                    let has_session = side_by_side.workers == WorkerKind::Session;
                    let options = ProcessOptions { start, has_session, stopped_max };
                    on_processes(workers, all, options, halting)
                }
                [alone] => Ok(vec![workers[0].run(alone, halting)]),
                several => on_threads(workers, several, start, halting),
            }
        };
        let listens = self.world.map(|_| LISTEN_EVERY);
        let Some(every) = group.tick_every.into_iter().chain(listens).min() else { return work() };
        let mut next = group.tick_every;
        let tick = |elapsed_ns| {
            if let Some(world) = self.world {
                world.turn(self.progress.snapshot().calls, self.stop);
            }
            let is_due = next.is_some_and(|next| next.as_nanos() <= u128::from(elapsed_ns));
            if !is_due {
                return Counters::default();
            }
            next = next.zip(group.tick_every).map(|(next, every)| next.saturating_add(every));
            listener.tick(elapsed_ns)
        };
        let tell = |counters: Counters| {
            if counters.is_empty() {
                return Ok(());
            }
            let at_ns = self.options.clock.at_ns(monotonic_ns());
            self.sink.accept(&TrialEvent::Ticked { phase, at_ns, counters })
        };
        ticking(every, work, tick, tell)?
    }

    /// Syncs the target outside of all tasks.
    fn sync_target(&mut self, scope: SyncScope) -> Result<(), EngineError> {
        // One on each machine, which has written.
        let first = self.world.map_or(0, |world| world.share(world.size()).start);
        self.create_workers(first..first + 1)?;
        let (call, caller) = (Call::Sync { scope }, &mut self.workers[0].caller);
        let done = caller.call(&call).map(|_reply| ());
        done.map_err(|error| {
            let failure = Box::new(CallFailure::new(caller, &call, error));
            EngineError::Call { task: "sync after a group".to_owned(), failure }
        })
    }

    fn interrupted(&self) -> Result<(), EngineError> {
        self.stop.signal().map_or(Ok(()), |signal| Err(EngineError::Interrupted { signal }))
    }
}

/// Polling interval for messages of other ranks while tasks work.
const LISTEN_EVERY: Duration = Duration::from_millis(5);

/// Sleeps until shortly before the time, then polls the clock: the kernel may wake us 50 µs late.
fn wait_until(at_ns: u64) {
    const POLLED_NS: u64 = 70_000;
    let left = at_ns.saturating_sub(monotonic_ns());
    thread::sleep(Duration::from_nanos(left.saturating_sub(POLLED_NS)));
    while monotonic_ns() < at_ns {
        std::hint::spin_loop();
    }
}
