//! Overhead of the engine: creates a tree through it in each latency mode, and by a bare loop of
//! system calls over the same names, in turns, and compares CPU time (user and system).
//!
//! `cargo run --release -p treering-engine --example overhead -- DIRECTORY [ROUNDS]`
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a program of its own, for whoever works on the engine"
)]

use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::Path;

use rustix::fs::{Mode, OFlags, mkdirat, openat};
use treering_engine::{
    CallRecorder, EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions,
    StopFlag, Target,
};
use treering_model::{Metric, Op, SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{
    Conductor, CreateHow, DirSlot, FileSlot, Io, ParallelGroup, Phase, Script, Session,
    SessionResult, Stop, Task,
};
use treering_sys::{monotonic_ns, thread_cpu};

const DIRS: usize = 1000;
const FILES_IN_DIR: usize = 20;
const FILE_BYTES: u32 = 10 * 1024;
const TOP: &str = "overhead-tree";
/// Number of calls: per directory, make, open, and close of the previous one; per file, create,
/// write and close.
const STEPS: usize = DIRS * (2 + FILES_IN_DIR * 3) + 2;

struct TreeNames {
    top: CString,
    dirs: Vec<CString>,
    files: Vec<CString>,
}

impl TreeNames {
    fn new() -> Self {
        let name = |text: String| CString::new(text).unwrap();
        Self {
            top: name(TOP.to_owned()),
            dirs: (0..DIRS).map(|number| name(format!("directory-{number}"))).collect(),
            files: (0..FILES_IN_DIR).map(|number| name(format!("source-{number}.c"))).collect(),
        }
    }
}

struct TreeScript<'n> {
    names: &'n TreeNames,
}

const TOP_SLOT: DirSlot = DirSlot(1);
const DIR_SLOT: DirSlot = DirSlot(2);
const FILE_SLOT: FileSlot = FileSlot(0);

impl Script for TreeScript<'_> {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let names = self.names;
        io.make_dir(DirSlot::TARGET, &names.top)?;
        io.open_dir(DirSlot::TARGET, &names.top, TOP_SLOT)?;
        for dir in &names.dirs {
            io.make_dir(TOP_SLOT, dir)?;
            io.open_dir(TOP_SLOT, dir, DIR_SLOT)?;
            for file in &names.files {
                io.create(DIR_SLOT, file, CreateHow::Exclusive, FILE_SLOT)?;
                io.write(FILE_SLOT, FILE_BYTES, 0)?;
                io.close(FILE_SLOT)?;
            }
        }
        Ok(())
    }
}

struct OneTask {
    names: &'static TreeNames,
}

impl Session for OneTask {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        conductor.phase(Phase { name: "create".to_owned(), tasks: 1 })?;
        let script = TreeScript { names: self.names };
        let task = Task::new("create", TOP, Op::Create, Box::new(script));
        let group = ParallelGroup { tasks: vec![task], ..ParallelGroup::default() };
        conductor.group(group, &mut |_: &TaskTotals| {})
    }

    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    fn remains(&self) -> Vec<String> {
        vec![TOP.to_owned()]
    }
}

#[derive(Default)]
struct LastTask(Option<TaskTotals>);

impl TrialSink for LastTask {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::TaskEnded(totals) = event {
            self.0 = Some(totals.clone());
        }
        Ok(())
    }
}

/// CPU and wall time of one creation, in nanoseconds.
#[derive(Clone, Copy)]
struct CreationCost {
    cpu_ns: u64,
    wall_ns: u64,
}

fn engine(target: &Target, names: &'static TreeNames, latency: LatencyMode) -> CreationCost {
    let mut session = OneTask { names };
    let mut sink = LastTask::default();
    let options = EngineOptions::new(latency, PayloadKind::Native { compressibility: 0 }, 1);
    target
        .run(
            &mut session,
            RunOptions::new(&options, &mut sink, &RunProgress::new(), &StopFlag::new()),
        )
        .unwrap();
    let totals = sink.0.unwrap();
    assert_eq!(totals.files, (DIRS * FILES_IN_DIR) as u64);
    CreationCost { cpu_ns: totals.cpu.total_ns(), wall_ns: totals.wall_ns }
}

fn bare(target: &Target, names: &TreeNames, bytes: &[u8]) -> CreationCost {
    let before = thread_cpu();
    let began = monotonic_ns();
    let dir_flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let file_flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let (dir_mode, file_mode) = (Mode::from_raw_mode(0o777), Mode::from_raw_mode(0o666));
    mkdirat(target.dir(), &*names.top, dir_mode).unwrap();
    let top = openat(target.dir(), &*names.top, dir_flags, Mode::empty()).unwrap();
    for dir in &names.dirs {
        mkdirat(&top, &**dir, dir_mode).unwrap();
        let dir = openat(&top, &**dir, dir_flags, Mode::empty()).unwrap();
        for file in &names.files {
            let file = openat(&dir, &**file, file_flags, file_mode).unwrap();
            assert_eq!(rustix::io::write(&file, bytes).unwrap(), bytes.len());
        }
    }
    let wall_ns = monotonic_ns() - began;
    let after = thread_cpu();
    let cpu_ns = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
    CreationCost { cpu_ns, wall_ns }
}

/// Nanoseconds that a recorder adds to a call; the minimum of several measurements.
fn recorder_ns(mode: LatencyMode) -> f64 {
    const CALLS: u32 = 1_000_000;
    let mut recorder = CallRecorder::new(mode, 1);
    recorder.prepare();
    recorder.begin_phase(monotonic_ns());
    let tries = (0..7).map(|_| {
        let began = monotonic_ns();
        for _ in 0..CALLS {
            let start = recorder.before(std::hint::black_box(Op::Read));
            recorder.after(Op::Read, start, 1, 10, false);
        }
        (monotonic_ns() - began) as f64 / f64::from(CALLS)
    });
    tries.fold(f64::MAX, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory as first argument");
    let rounds: usize = arguments.next().map_or(15, |text| text.parse().unwrap());
    let target = Target::open(Path::new(&directory)).unwrap();
    let names: &'static TreeNames = Box::leak(Box::new(TreeNames::new()));
    let mut bytes = vec![0; FILE_BYTES as usize];
    treering_script::Random::new(1).fill(&mut bytes);
    let methods = [
        ("bare loop", None),
        ("off", Some(LatencyMode::Off)),
        ("sampled", Some(LatencyMode::Sampled)),
        ("all", Some(LatencyMode::All)),
    ];
    let mut costs = [const { Vec::<CreationCost>::new() }; 4];
    for round in 0..=rounds {
        for turn in 0..methods.len() {
            let method = (turn + round) % methods.len();
            let cost = match methods[method].1 {
                None => bare(&target, names, &bytes),
                Some(mode) => engine(&target, names, mode),
            };
            // The first round warms up.
            if round > 0 {
                costs[method].push(cost);
            }
            let made = target.identity(TOP).unwrap();
            target.remove_tree(TOP, &made, &mut |_| ControlFlow::Continue(())).unwrap();
        }
    }
    println!("{} files of {FILE_BYTES} bytes, {STEPS} steps, {rounds} rounds", DIRS * FILES_IN_DIR);
    println!(
        "{:10} {:>12} {:>12} {:>10} {:>14}",
        "method", "cpu ms", "wall ms", "cpu ratio", "ns more a step"
    );
    for (method, (name, _)) in methods.iter().enumerate() {
        let median_of = |part: fn(&CreationCost) -> u64| {
            median(costs[method].iter().map(|c| part(c) as f64).collect())
        };
        let pairs = || costs[method].iter().zip(&costs[0]);
        let ratio = median(pairs().map(|(a, b)| a.cpu_ns as f64 / b.cpu_ns as f64).collect());
        let more = median(
            pairs().map(|(a, b)| (a.cpu_ns as f64 - b.cpu_ns as f64) / STEPS as f64).collect(),
        );
        let (cpu, wall) = (median_of(|c| c.cpu_ns) / 1e6, median_of(|c| c.wall_ns) / 1e6);
        println!("{name:10} {cpu:12.2} {wall:12.2} {ratio:10.4} {more:14.1}");
    }
    for (name, mode) in methods.iter().filter_map(|(name, mode)| mode.map(|mode| (name, mode))) {
        println!("recorder alone, {name}: {:.1} ns a call", recorder_ns(mode));
    }
}
