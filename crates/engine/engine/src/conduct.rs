//! Conducting a session: phases, groups, workers, and the events they leave.
//!
//! A group of one runs on the calling thread; larger ones on threads of their own that start
//! together. What a trial is, its beginning and its end, is the caller's.

use std::ops::Range;
use std::time::Duration;
use std::{io, thread};

use treering_model::{
    Caution, CautionCode, Counters, Interval, PhaseTotals, TaskTotals, TrialEvent, TrialSink,
};
use treering_script::{
    Caches, Call, OnSignal, ParallelGroup, Phase, Session, SyncScope, Task, Unfinished, WorkerKind,
};
use treering_sys::{StopFlag, monotonic_ns};

use crate::program::by_programs;
use crate::ranks::share::{Answer, own_directory};
use crate::totals::{add_run, merge_intervals};
use crate::workers::processes::{ProcessOptions, on_processes};
use crate::workers::start::cannot_start;
use crate::workers::threads::on_threads;
use crate::workers::ticks::ticking;
use crate::workers::time_limit::Timer;
use crate::workers::worker::{Halting, TaskEnd, TaskRun, Worker};
use crate::{
    Barriers, CallFailure, Caller, EngineError, EngineOptions, Payload, Place, Progress, RankSkew,
    Recorder, RunOptions, TrialClock, World,
};

/// Runs a session to its end; no log of what is read and written is kept here.
pub(crate) fn conduct<P: Place + ?Sized>(
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

fn conduct_here<P: Place + ?Sized>(
    place: &P,
    session: &mut dyn Session,
    run: RunOptions<'_>,
) -> Result<(), EngineError> {
    let RunOptions { engine, sink, progress, stop, heat: _, world, apart } = run;
    let clock = common_clock(engine.clock, world)?;
    let options = &EngineOptions { clock, ..*engine };
    for caution in place.cautions() {
        sink.accept(&TrialEvent::Cautioned(caution))?;
    }
    let payload = Payload::new(options.payload, options.seed);
    let mut conductor = Conductor {
        place,
        options,
        sink,
        progress,
        stop,
        payload,
        workers: Vec::new(),
        phase_began_ns: 0,
        intervals: Vec::new(),
        drops_caches: true,
        world: world.filter(|world| world.size() > 1),
        apart,
        begins_ns: None,
        worked_ns: Vec::new(),
        barriers: Barriers::default(),
    };
    let mut number = 0;
    while let Some(phase) = session.next_phase() {
        if number > 0 && place.is_renewed() {
            // With all that they have open.
            conductor.workers.clear();
            place.renew()?;
        }
        conductor.phase(session, number, phase)?;
        number += 1;
    }
    match session.program() {
        None => Ok(()),
        Some(program) => {
            conductor.interrupted()?;
            if place.is_renewed() {
                conductor.workers.clear();
                place.renew()?;
            }
            let to = (options.clock, conductor.sink, stop);
            by_programs(session, program, place, number, to)
        }
    }
}

/// The clock of the trial, which is that of rank 0.
fn common_clock(own: TrialClock, world: Option<&World<'_>>) -> Result<TrialClock, EngineError> {
    let Some(world) = world.filter(|world| world.size() > 1) else { return Ok(own) };
    let told = world.broadcast(&own.origin_ns().to_le_bytes())?;
    let origin_ns = told.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Ok(TrialClock::since(world.by_own(origin_ns)))
}

struct Conductor<'r, P: Place + ?Sized> {
    place: &'r P,
    options: &'r EngineOptions,
    sink: &'r mut dyn TrialSink,
    progress: &'r Progress,
    stop: &'r StopFlag,
    payload: Payload,
    workers: Vec<Worker<P::Caller>>,
    /// When the present phase began, by the monotonic clock. Where rank 0 said when, that may be a
    /// moment to come: how the two clocks are related is not known to the nanosecond.
    phase_began_ns: u64,
    /// What workers in processes of their own counted in its seconds.
    intervals: Vec<Vec<Interval>>,
    /// Whether dropping caches has not failed yet.
    drops_caches: bool,
    /// All ranks, where there are several.
    world: Option<&'r World<'r>>,
    /// Whether each of them does all tasks, in a directory of its own, and not its share of them.
    apart: bool,
    /// When the next group begins, by the monotonic clock, where they have agreed on it.
    begins_ns: Option<u64>,
    /// How long each of them worked in the present phase.
    worked_ns: Vec<u64>,
    /// Its barriers.
    barriers: Barriers,
}

impl<P: Place + ?Sized> Conductor<'_, P> {
    fn phase(
        &mut self,
        session: &mut dyn Session,
        number: u32,
        phase: Phase,
    ) -> Result<(), EngineError> {
        self.phase_began_ns = match self.world {
            None => self.interrupted().map(|()| monotonic_ns())?,
            Some(world) => {
                self.worked_ns = vec![0; world.size()];
                self.barriers = Barriers::default();
                let what = format!("phase {number}, {}", phase.name);
                world.agree(&what, Duration::ZERO, self.stop, Ok(()))?
            }
        };
        let mut totals = PhaseTotals {
            phase: number,
            name: phase.name,
            began_ns: self.options.clock.at_ns(self.phase_began_ns),
            ..PhaseTotals::default()
        };
        self.sink.accept(&TrialEvent::PhaseBegan {
            phase: number,
            name: totals.name.clone(),
            at_ns: totals.began_ns,
        })?;
        for worker in &mut self.workers {
            worker.recorder.begin_phase(self.phase_began_ns);
        }
        let mut ended = self.groups(session, &mut totals);
        totals.wall_ns = monotonic_ns().saturating_sub(self.phase_began_ns);
        let intervals = self.workers.iter_mut().map(|worker| worker.recorder.end_phase());
        totals.intervals = merge_intervals(intervals.chain(std::mem::take(&mut self.intervals)));
        if let Some(world) = self.world.filter(|_| ended.is_ok()) {
            match world.merge_seconds(&totals.intervals) {
                Ok(of_all) => totals.intervals = of_all,
                Err(error) => ended = Err(error.into()),
            }
            let barriers = std::mem::take(&mut self.barriers);
            world.add_skew(RankSkew::of(number, &totals.name, &self.worked_ns, barriers));
        }
        let reported = self.sink.accept(&TrialEvent::PhaseEnded(totals));
        // Why it ended early says more than a listener that could not hear of it.
        ended?;
        Ok(reported?)
    }

    fn groups(
        &mut self,
        session: &mut dyn Session,
        totals: &mut PhaseTotals,
    ) -> Result<(), EngineError> {
        let mut tasks_before = 0;
        while let Some(group) = session.next_group() {
            if self.world.is_none() {
                self.interrupted()?;
            }
            let ready = self.prepare(&group);
            match self.world {
                None => ready?,
                Some(world) => {
                    let what = format!("phase {}, task {tasks_before}", totals.phase);
                    let what = format!("{what}, {} at once", self.everyones(group.tasks.len()));
                    let head_start = world.head_start();
                    let at_ns = world.agree(&what, head_start, self.stop, ready)?;
                    world.begin_group();
                    self.begins_ns = Some(at_ns);
                }
            }
            let sync_after = group.sync_after;
            let tasks = self.everyones(group.tasks.len());
            self.group(session, totals, group, tasks_before)?;
            if let Some(failure) = session.failure() {
                return Err(failure.into());
            }
            tasks_before += u32::try_from(tasks).unwrap_or(u32::MAX);
            if let Some(scope) = sync_after {
                self.sync(scope)?;
            }
        }
        Ok(())
    }

    /// Has the place unmounted and mounted again within a phase. The workers go, with all that they
    /// have open; what they counted stays.
    fn renew(&mut self) -> Result<(), EngineError> {
        let workers = std::mem::take(&mut self.workers);
        self.intervals.extend(workers.into_iter().map(|mut worker| worker.recorder.end_phase()));
        if self.place.is_renewed() {
            return self.place.renew();
        }
        let source = "this place is not unmounted and mounted again".into();
        Err(EngineError::Renewal { source })
    }

    /// Everything before a group that is not measured.
    fn prepare(&mut self, group: &ParallelGroup) -> Result<(), EngineError> {
        if group.remount {
            self.renew()?;
        }
        self.hire(self.own(group.tasks.len()))?;
        self.prepare_caches(group.caches)?;
        let does_it = self.apart || self.world.is_none_or(World::is_first);
        if let Some(command) = group.command.as_ref().filter(|_| does_it) {
            let failed = |source| EngineError::Command { command: command.clone(), source };
            self.place.shell(command).map_err(failed)?;
        }
        Ok(())
    }

    /// What a group of so many tasks has of all ranks together: where they work apart each does all
    /// of them, one rank's after the other's.
    fn everyones(&self, tasks: usize) -> usize {
        let apart = self.world.filter(|_| self.apart);
        apart.map_or(tasks, |world| tasks * world.size())
    }

    /// Those of a group of so many tasks that are done here, among everyone's.
    fn own(&self, tasks: usize) -> Range<usize> {
        let all = self.everyones(tasks);
        self.world.map_or(0..all, |world| world.share(all))
    }

    /// Sees to it that there are workers with these numbers. All that they need is allocated here.
    fn hire(&mut self, numbers: Range<usize>) -> Result<(), EngineError> {
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
            let mut recorder = Recorder::new(self.options.latency, seed);
            recorder.begin_phase(self.phase_began_ns);
            let handicap_percent = self.options.handicap_percent;
            let line = self.progress.add_line();
            let clock = self.options.clock;
            let hired = Worker { number: worker, caller, recorder, handicap_percent, line, clock };
            self.workers.insert(at, hired);
        }
        Ok(())
    }

    fn prepare_caches(&mut self, caches: Caches) -> Result<(), EngineError> {
        if caches == Caches::Keep || !self.drops_caches {
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

    fn group(
        &mut self,
        session: &mut dyn Session,
        totals: &mut PhaseTotals,
        mut group: ParallelGroup,
        tasks_before: u32,
    ) -> Result<(), EngineError> {
        self.announce(totals.phase, &group.tasks, tasks_before)?;
        let (tasks, all) = (group.tasks.len(), self.everyones(group.tasks.len()));
        let mut spans = vec![None; self.worked_ns.len()];
        let answers = self.work(session, totals.phase, &mut group)?;
        let reported = group.side_by_side.unfinished == Unfinished::Reported;
        let (mut worst, mut stopped) = (None, false);
        for ((number, worker), answer) in (tasks_before..).zip(0u16..).zip(answers) {
            let place = usize::from(worker);
            let (task, rank) = (&group.tasks[place % tasks], self.rank_of(place, all));
            let mut run = match self.world {
                None => answer.run(),
                Some(world) => {
                    let run = world.run_of(answer);
                    widen(&mut spans[rank], &run);
                    run
                }
            };
            add_run(totals, &run);
            self.intervals.push(run.intervals.clone());
            // Names in the directory of another are no names here.
            let book = run.heat.take().filter(|_| !self.is_others(rank));
            book.into_iter().for_each(|book| self.place.gather(book));
            let subject = self.subject(task, rank);
            let name = format!("{} {subject}", task.kind);
            let finished = matches!(run.end, TaskEnd::Finished);
            let cut_short = matches!(run.end, TaskEnd::Stopped | TaskEnd::Failed(_));
            let end = std::mem::replace(&mut run.end, TaskEnd::Finished);
            if finished || (reported && cut_short) {
                totals.tasks += 1;
                let here = worker % u16::try_from(tasks).unwrap_or(u16::MAX);
                let ended = self.task_totals(totals.phase, number, here, task, run);
                if self.is_others(rank) {
                    session.others_task_ended(&ended);
                } else {
                    session.task_ended(&ended);
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

    /// Says which tasks begin, at all ranks.
    fn announce(&mut self, phase: u32, tasks: &[Task], before: u32) -> Result<(), EngineError> {
        let all = self.everyones(tasks.len());
        for (number, place) in (before..).zip(0..all) {
            let task = &tasks[place % tasks.len()];
            self.sink.accept(&TrialEvent::TaskBegan {
                phase,
                task: number,
                kind: task.kind.clone(),
                subject: self.subject(task, self.rank_of(place, all)),
                expected_bytes: task.expected_bytes,
            })?;
        }
        Ok(())
    }

    /// The rank that does a task of everyone's.
    fn rank_of(&self, place: usize, all: usize) -> usize {
        self.world.map_or(0, |world| world.rank_of(place, all))
    }

    /// Whether a rank is another than this one, and works in a directory of its own.
    fn is_others(&self, rank: usize) -> bool {
        self.apart && self.world.is_some_and(|world| world.rank() != rank)
    }

    /// What a task of a rank is done to, as all ranks together know it.
    fn subject(&self, task: &Task, rank: usize) -> String {
        match self.world {
            Some(_) if self.apart => format!("{}/{}", own_directory(rank), task.subject),
            _ => task.subject.clone(),
        }
    }

    /// Takes in when each rank began and ended in a group that all had a part in.
    fn add_spans(&mut self, spans: &[Option<(u64, u64)>]) {
        let Some(world) = self.world.filter(|_| spans.iter().all(Option::is_some)) else { return };
        let spans = spans.iter().flatten();
        self.barriers.add(world.met_ns(), spans.clone().map(|(began, _)| *began));
        let worked = spans.map(|(began, ended)| ended - began);
        self.worked_ns.iter_mut().zip(worked).for_each(|(sum, worked)| *sum += worked);
    }

    /// Does the tasks of a group, side by side, within their time: of several ranks each its own.
    fn work(
        &mut self,
        session: &mut dyn Session,
        phase: u32,
        group: &mut ParallelGroup,
    ) -> Result<Vec<Answer>, EngineError> {
        let all = self.everyones(group.tasks.len());
        let runs = self.work_here(session, phase, group);
        let Some(world) = self.world else {
            return runs
                .map(|runs| runs.into_iter().map(|run| Answer::Here(Box::new(run))).collect());
        };
        let answers = world.exchange(all, runs?, self.stop);
        self.stop.lift_halt();
        answers
    }

    fn work_here(
        &mut self,
        session: &mut dyn Session,
        phase: u32,
        group: &mut ParallelGroup,
    ) -> Result<Vec<TaskRun>, EngineError> {
        let own = self.own(group.tasks.len());
        let side_by_side = group.side_by_side;
        let finishes = side_by_side.on_signal == OnSignal::Finish;
        let halting = Halting { stop: self.stop, finishes };
        let start = side_by_side.start;
        let timer = group.time_limit.as_ref().map(Timer::begin).transpose();
        let wanted = own.len();
        let _timer = timer.map_err(|source| cannot_start(0, wanted, source))?;
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
            session.tick(elapsed_ns)
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

    fn task_totals(
        &self,
        phase: u32,
        number: u32,
        worker: u16,
        task: &Task,
        run: TaskRun,
    ) -> TaskTotals {
        TaskTotals {
            phase,
            task: number,
            worker,
            kind: task.kind.clone(),
            subject: task.subject.clone(),
            state: task.state.clone(),
            tally: task.tally.clone(),
            began_ns: self.options.clock.at_ns(run.began_ns),
            wall_ns: run.wall_ns,
            sync_ns: run.sync.wall_ns,
            cpu: run.cpu,
            sync_cpu: run.sync.cpu,
            files: run.files,
            bytes: run.ops.iter().map(|op| op.bytes).sum(),
            listed_bytes: task.listed_bytes,
            ops: run.ops,
            direct: task.direct,
            counters: run.counters,
        }
    }

    /// A sync that belongs to no task.
    fn sync(&mut self, scope: SyncScope) -> Result<(), EngineError> {
        // One on each machine, which has written.
        let first = self.world.map_or(0, |world| world.share(world.size()).start);
        self.hire(first..first + 1)?;
        let (call, caller) = (Call::Sync { scope }, &mut self.workers[0].caller);
        let done = caller.call(&call).map(|_reply| ());
        done.map_err(|error| {
            let failure = Box::new(CallFailure::of(caller, &call, error));
            EngineError::Call { task: "sync after a group".to_owned(), failure }
        })
    }

    fn interrupted(&self) -> Result<(), EngineError> {
        self.stop.signal().map_or(Ok(()), |signal| Err(EngineError::Interrupted { signal }))
    }
}

/// How often a rank listens to the others while its tasks work.
const LISTEN_EVERY: Duration = Duration::from_millis(5);

/// Sleeps nearly until then, and looks at the clock for the rest: the kernel may wake us 50 µs
/// late.
fn wait_until(at_ns: u64) {
    const NEARLY_NS: u64 = 70_000;
    let left = at_ns.saturating_sub(monotonic_ns());
    thread::sleep(Duration::from_nanos(left.saturating_sub(NEARLY_NS)));
    while monotonic_ns() < at_ns {
        std::hint::spin_loop();
    }
}

/// From the first beginning to the last end, with one more task.
fn widen(span: &mut Option<(u64, u64)>, run: &TaskRun) {
    let ended_ns = run.began_ns + run.wall_ns;
    let (began, ended) = span.unwrap_or((run.began_ns, ended_ns));
    *span = Some((began.min(run.began_ns), ended.max(ended_ns)));
}
