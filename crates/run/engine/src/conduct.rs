//! Conducting a session: phases, groups, workers, and the events they leave.
//!
//! A group of one runs on the calling thread; larger ones on threads of their own that start
//! together. What a trial is, its beginning and its end, is the caller's.

use std::io;

use treering_model::{
    Caution, CautionCode, Counters, Interval, PhaseTotals, TaskTotals, TrialEvent, TrialSink,
};
use treering_script::{
    Caches, Call, OnSignal, ParallelGroup, Phase, Session, SyncScope, Task, Unfinished, WorkerKind,
};
use treering_sys::{StopFlag, monotonic_ns};

use crate::program::by_programs;
use crate::totals::{add_run, merge_intervals};
use crate::workers::processes::on_processes;
use crate::workers::start::cannot_start;
use crate::workers::threads::on_threads;
use crate::workers::ticks::ticking;
use crate::workers::time_limit::Timer;
use crate::workers::worker::{Halting, TaskEnd, TaskRun, Worker};
use crate::{
    CallFailure, Caller, EngineError, EngineOptions, Payload, Place, Progress, Recorder, RunOptions,
};

/// Runs a session to its end; no log of what is read and written is kept here.
pub(crate) fn conduct<P: Place + ?Sized>(
    place: &P,
    session: &mut dyn Session,
    run: RunOptions<'_>,
) -> Result<(), EngineError> {
    let RunOptions { engine: options, sink, progress, stop, heat: _ } = run;
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

struct Conductor<'r, P: Place + ?Sized> {
    place: &'r P,
    options: &'r EngineOptions,
    sink: &'r mut dyn TrialSink,
    progress: &'r Progress,
    stop: &'r StopFlag,
    payload: Payload,
    workers: Vec<Worker<P::Caller>>,
    /// When the present phase began, by the monotonic clock.
    phase_began_ns: u64,
    /// What workers in processes of their own counted in its seconds.
    intervals: Vec<Vec<Interval>>,
    /// Whether dropping caches has not failed yet.
    drops_caches: bool,
}

impl<P: Place + ?Sized> Conductor<'_, P> {
    fn phase(
        &mut self,
        session: &mut dyn Session,
        number: u32,
        phase: Phase,
    ) -> Result<(), EngineError> {
        self.interrupted()?;
        self.phase_began_ns = monotonic_ns();
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
        let ended = self.groups(session, &mut totals);
        totals.wall_ns = monotonic_ns() - self.phase_began_ns;
        let intervals = self.workers.iter_mut().map(|worker| worker.recorder.end_phase());
        totals.intervals = merge_intervals(intervals.chain(std::mem::take(&mut self.intervals)));
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
            self.interrupted()?;
            if group.remount {
                self.renew()?;
            }
            self.hire(group.tasks.len())?;
            self.prepare_caches(group.caches)?;
            if let Some(command) = &group.command {
                let failed = |source| EngineError::Command { command: command.clone(), source };
                self.place.shell(command).map_err(failed)?;
            }
            let sync_after = group.sync_after;
            let tasks = group.tasks.len();
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

    /// Sees to it that there are workers enough. All that they need is allocated here.
    fn hire(&mut self, tasks: usize) -> Result<(), EngineError> {
        while self.workers.len() < tasks {
            let worker = self.workers.len();
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
            self.workers.push(Worker { caller, recorder, handicap_percent, line, clock });
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
        for (number, task) in (tasks_before..).zip(&group.tasks) {
            self.sink.accept(&TrialEvent::TaskBegan {
                phase: totals.phase,
                task: number,
                kind: task.kind.clone(),
                subject: task.subject.clone(),
                expected_bytes: task.expected_bytes,
            })?;
        }
        let runs = self.work(session, totals.phase, &mut group)?;
        let reported = group.side_by_side.unfinished == Unfinished::Reported;
        let (mut worst, mut stopped) = (None, false);
        let numbered = (tasks_before..).zip(0u16..);
        for ((number, worker), (task, mut run)) in numbered.zip(group.tasks.into_iter().zip(runs)) {
            add_run(totals, &run);
            self.intervals.push(run.intervals.clone());
            run.heat.take().into_iter().for_each(|book| self.place.gather(book));
            let name = format!("{} {}", task.kind, task.subject);
            let finished = matches!(run.end, TaskEnd::Finished);
            let cut_short = matches!(run.end, TaskEnd::Stopped | TaskEnd::Failed(_));
            let end = std::mem::replace(&mut run.end, TaskEnd::Finished);
            if finished || (reported && cut_short) {
                totals.tasks += 1;
                let ended = self.task_totals(totals.phase, number, worker, task, run);
                session.task_ended(&ended);
                self.sink.accept(&TrialEvent::TaskEnded(ended))?;
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
            return Err(error);
        }
        self.interrupted()?;
        if stopped { Err(EngineError::Halted) } else { Ok(()) }
    }

    /// Does the tasks of a group, side by side, within their time.
    fn work(
        &mut self,
        session: &mut dyn Session,
        phase: u32,
        group: &mut ParallelGroup,
    ) -> Result<Vec<TaskRun>, EngineError> {
        let side_by_side = group.side_by_side;
        let finishes = side_by_side.on_signal == OnSignal::Finish;
        let halting = Halting { stop: self.stop, finishes };
        let start = side_by_side.start;
        let timer = group.time_limit.as_ref().map(Timer::begin).transpose();
        let wanted = group.tasks.len();
        let _timer = timer.map_err(|source| cannot_start(0, wanted, source))?;
        let (workers, tasks) = (&mut self.workers, group.tasks.as_mut_slice());
        let work = || match tasks {
            [] => Ok(Vec::new()),
            all if side_by_side.workers != WorkerKind::Thread => {
                let has_session = side_by_side.workers == WorkerKind::Session;
                on_processes(workers, all, start, halting, has_session)
            }
            [alone] => Ok(vec![workers[0].run(alone, halting)]),
            several => on_threads(workers, several, start, halting),
        };
        match group.tick_every {
            None => work(),
            Some(every) => {
                let tick = |elapsed_ns| session.tick(elapsed_ns);
                let tell = |counters: Counters| {
                    if counters.is_empty() {
                        return Ok(());
                    }
                    let at_ns = self.options.clock.at_ns(monotonic_ns());
                    self.sink.accept(&TrialEvent::Ticked { phase, at_ns, counters })
                };
                ticking(every, work, tick, tell)?
            }
        }
    }

    fn task_totals(
        &self,
        phase: u32,
        number: u32,
        worker: u16,
        task: Task,
        run: TaskRun,
    ) -> TaskTotals {
        TaskTotals {
            phase,
            task: number,
            worker,
            kind: task.kind,
            subject: task.subject,
            state: task.state,
            tally: task.tally,
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
        self.hire(1)?;
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
