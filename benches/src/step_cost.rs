//! `step_cost`: what a step costs without its system call, and what taking latencies costs on a
//! call of known length.

use std::fmt;
use std::hint::black_box;

use serde::Serialize;
use treering_engine::{
    EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions,
};
use treering_model::{Metric, Op, SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{
    Conductor, FileSlot, Io, ParallelGroup, Phase, Script, Session, SessionResult, SessionStop,
    Stop, TargetFacts, Task, TaskListener,
};
use treering_sys::StopFlag;

use crate::Fault;
use crate::engine::{Stopwatch, create, create_job};
use crate::null::{NullCaller, NullIo, NullPlace};
use crate::rounds::{Spread, in_turns, ratios};

const MODES: [LatencyMode; 3] = [LatencyMode::Off, LatencyMode::Sampled, LatencyMode::All];

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data set whose create is stepped through.
    pub dataset: String,
    /// Rounds, after one that is not counted.
    pub rounds: usize,
    /// Calls of known length.
    pub calls: u32,
    /// Their length in nanoseconds.
    pub call_ns: u32,
}

/// What a step costs, in nanoseconds of CPU.
#[derive(Clone, Debug, Serialize)]
pub struct StepFigures {
    /// What does the steps.
    pub method: &'static str,
    /// A step.
    pub step_ns: Spread,
}

/// What latencies cost on a call of known length.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyFigures {
    /// What makes the calls.
    pub method: &'static str,
    /// A call with everything around it, in nanoseconds of CPU.
    pub call_ns: Spread,
    /// By a bare loop.
    pub ratio: Spread,
    /// By the engine that takes none.
    pub ratio_to_off: Spread,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The data set.
    pub dataset: String,
    /// Steps of its create.
    pub steps: u64,
    /// Rounds that count.
    pub rounds: usize,
    /// What a step costs.
    pub step: Vec<StepFigures>,
    /// What latencies cost.
    pub latency: Vec<LatencyFigures>,
}

/// Measures.
///
/// # Errors
/// When the data set cannot be read.
pub fn measure(options: &Options) -> Result<Report, Fault> {
    let (steps, step) = steps(options)?;
    let latency = latency(options)?;
    let Options { dataset, rounds, .. } = options;
    Ok(Report { dataset: dataset.clone(), steps, rounds: *rounds, step, latency })
}

/// The create of a data set, by a bare loop over its script and by the engine, where every step
/// succeeds at once.
fn steps(options: &Options) -> Result<(u64, Vec<StepFigures>), Fault> {
    let job = create_job(&options.dataset)?;
    let place = NullPlace::default();
    let mut steps = 0;
    let costs = in_turns(1 + MODES.len(), options.rounds, |method, _round| {
        let Some(mode) = method.checked_sub(1) else {
            let mut first = FirstTask(None);
            let _ended = job.begin(&TargetFacts::unknown()).run(&mut first);
            let mut task = first.0.ok_or("the job has no task")?;
            let watch = Stopwatch::begin();
            steps = follow(task.script.as_mut());
            return Ok(watch.cost().cpu_ns);
        };
        Ok(create(job.as_ref(), &place, MODES[mode])?.cost.cpu_ns)
    })?;
    let names = ["script alone", "engine, latency off", "engine, sampled", "engine, all"];
    let each = |costs: &[u64]| {
        Spread::of(costs.iter().map(|&cpu_ns| cpu_ns as f64 / steps.max(1) as f64).collect())
    };
    let figures = names.into_iter().zip(&costs);
    Ok((
        steps,
        figures.map(|(method, costs)| StepFigures { method, step_ns: each(costs) }).collect(),
    ))
}

/// Takes the first task of a session, and ends it there.
struct FirstTask(Option<Task>);

impl Conductor for FirstTask {
    fn phase(&mut self, _phase: Phase) -> SessionResult {
        Ok(())
    }

    fn group(&mut self, group: ParallelGroup, _listener: &mut dyn TaskListener) -> SessionResult {
        self.0 = group.tasks.into_iter().next();
        Err(SessionStop::Ended)
    }
}

/// Runs the code of a task, each call done at once: how many there are.
fn follow(script: &mut dyn Script) -> u64 {
    let mut io = NullIo::default();
    // Nothing fails there.
    let _finished = script.run(&mut io);
    io.calls
}

/// Calls of known length, by a bare loop and by the engine.
fn latency(options: &Options) -> Result<Vec<LatencyFigures>, Fault> {
    let turns = turns_for(options.call_ns);
    let place = NullPlace { turns };
    let costs = in_turns(1 + MODES.len(), options.rounds, |method, _round| {
        let Some(mode) = method.checked_sub(1) else {
            let watch = Stopwatch::begin();
            for _ in 0..options.calls {
                NullCaller::spin(black_box(turns));
            }
            return Ok(watch.cost().cpu_ns);
        };
        let mut session = Repeated { calls: options.calls };
        run_repeated(&mut session, &place, MODES[mode])
    })?;
    let names = ["bare loop", "engine, latency off", "engine, sampled", "engine, all"];
    let calls = f64::from(options.calls.max(1));
    let figures = names.into_iter().zip(&costs).map(|(method, cpu)| LatencyFigures {
        method,
        call_ns: Spread::of(cpu.iter().map(|&cpu_ns| cpu_ns as f64 / calls).collect()),
        ratio: ratios(cpu, &costs[0]),
        ratio_to_off: ratios(cpu, &costs[1]),
    });
    Ok(figures.collect())
}

/// Turns of the spin that take so long; of several tries the shortest counts.
fn turns_for(call_ns: u32) -> u32 {
    const TRIED: u32 = 10_000_000;
    let tries = (0..9).map(|_| {
        let watch = Stopwatch::begin();
        NullCaller::spin(black_box(TRIED));
        watch.cost().cpu_ns
    });
    let shortest = tries.min().unwrap_or(1).max(1);
    let turns = u64::from(call_ns) * u64::from(TRIED) / shortest;
    u32::try_from(turns).unwrap_or(u32::MAX).max(1)
}

fn run_repeated(
    session: &mut Repeated,
    place: &NullPlace,
    latency: LatencyMode,
) -> Result<u64, Fault> {
    let options = EngineOptions::new(latency, PayloadKind::Classic, 1);
    let mut watch = TaskCpu::default();
    place.run(
        session,
        RunOptions::new(&options, &mut watch, &RunProgress::new(), &StopFlag::new()),
    )?;
    Ok(watch.cpu_ns)
}

/// Takes the CPU between the beginning and the end of the task.
#[derive(Debug, Default)]
struct TaskCpu {
    began: Option<Stopwatch>,
    cpu_ns: u64,
}

impl TrialSink for TaskCpu {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        match event {
            TrialEvent::TaskBegan { .. } => self.began = Some(Stopwatch::begin()),
            TrialEvent::TaskEnded(_) => {
                self.cpu_ns = self.began.take().map_or(0, |watch| watch.cost().cpu_ns);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The same step over and over.
struct Repeated {
    calls: u32,
}

struct RepeatedScript {
    calls: u32,
}

impl Script for RepeatedScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        for _call in 0..self.calls {
            io.write(FileSlot(0), 1, 0)?;
        }
        Ok(())
    }
}

impl Session for Repeated {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.phase(Phase { name: "calls".to_owned(), tasks: 1 })?;
        let script = RepeatedScript { calls: self.calls };
        let task = Task::new("calls", "", Op::Create, Box::new(script));
        let group = ParallelGroup { tasks: vec![task], ..ParallelGroup::default() };
        conductor.group(group, &mut |_: &TaskTotals| {})
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn remains(&self) -> Vec<String> {
        Vec::new()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "create of {}: {} steps; {} rounds", self.dataset, self.steps, self.rounds)?;
        writeln!(f, "{:22} {:>10} {:>18}", "way", "ns a step", "middle half")?;
        for StepFigures { method, step_ns } in &self.step {
            let half = format!("{:.1} to {:.1}", step_ns.low, step_ns.high);
            writeln!(f, "{method:22} {:10.1} {half:>18}", step_ns.median)?;
        }
        writeln!(f, "{:22} {:>10} {:>18} {:>10}", "way", "ns a call", "to bare loop", "to off")?;
        for (number, figures) in self.latency.iter().enumerate() {
            let LatencyFigures { method, call_ns, ratio, ratio_to_off } = figures;
            let half = format!("{:.4} ({:.3}-{:.3})", ratio.median, ratio.low, ratio.high);
            let end = if number + 1 < self.latency.len() { "\n" } else { "" };
            let (ns, ratio) = (call_ns.median, ratio_to_off.median);
            write!(f, "{method:22} {ns:10.1} {half:>18} {ratio:10.4}{end}")?;
        }
        Ok(())
    }
}
