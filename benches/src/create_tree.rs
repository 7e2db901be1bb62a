//! `create_tree`: the CPU that a tree costs through treering and through bare loops, in turns.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use treering_datasets::{Dataset, library};
use treering_engine::{LatencyMode, Target};
use treering_model::TaskTotals;
use treering_model::filesystems::name_of;
use treering_script::Job;
use treering_sys::sync_filesystem;

use crate::engine::{Cost, FIRST_TREE, Stopwatch, calls, create, create_job};
use crate::flat::FlatTree;
use crate::rounds::{Spread, in_turns, ratios};
use crate::{Fault, bare, original, program};

/// Bytes of a write: treering's own default.
const BUFFER_BYTES: usize = 1 << 20;
const BARE_TREE: &str = "bare";

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory in which trees are made and removed.
    pub dir: PathBuf,
    /// The data set.
    pub dataset: String,
    /// Rounds, after one that is not counted.
    pub rounds: usize,
    /// The program, to be run as a child too.
    pub program: Option<PathBuf>,
    /// Whether its system calls are counted by strace.
    pub strace: bool,
    /// The original's script and the Python that runs it.
    pub original: Option<(PathBuf, String)>,
}

/// A way to make the tree.
#[derive(Clone, Debug)]
enum Method {
    ByDirectory,
    ByPath,
    Engine(LatencyMode),
    Program(PathBuf),
    Original(PathBuf, String),
}

impl Method {
    fn name(&self) -> &'static str {
        match self {
            Self::ByDirectory => "bare loop, by directory",
            Self::ByPath => "bare loop, by full path",
            Self::Engine(LatencyMode::Off) => "engine, latency off",
            Self::Engine(LatencyMode::Sampled) => "engine, latency sampled",
            Self::Engine(LatencyMode::All) => "engine, latency all",
            Self::Program(_) => "treering run compilebench",
            Self::Original(..) => "original compilebench",
        }
    }
}

/// One way's figures.
#[derive(Clone, Debug, Serialize)]
pub struct MethodFigures {
    /// Which way.
    pub method: &'static str,
    /// User and system time of one tree, in milliseconds.
    pub cpu_ms: Spread,
    /// The user's share of it, in milliseconds.
    pub user_ms: Spread,
    /// CPU by that of the bare loop by directory, each in its own round.
    pub ratio: Spread,
    /// CPU by that of the bare loop by full path.
    pub ratio_to_path: Spread,
}

/// System calls of one tree.
#[derive(Clone, Debug, Serialize)]
pub struct CallFigures {
    /// By kind, in the engine's own count.
    pub counted: BTreeMap<String, u64>,
    /// All of them by the number of files.
    pub per_file: f64,
    /// By name, as strace counts them: a run of two trees less a run of one.
    pub traced: Option<BTreeMap<String, i64>>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The data set.
    pub dataset: String,
    /// The filesystem's type.
    pub filesystem: &'static str,
    /// Files of the tree.
    pub files: u64,
    /// Its directories, the top not counted.
    pub dirs: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Rounds that count.
    pub rounds: usize,
    /// The ways.
    pub methods: Vec<MethodFigures>,
    /// System calls.
    pub calls: CallFigures,
}

struct Bench {
    options: Options,
    target: Target,
    job: Box<dyn Job>,
    tree: FlatTree,
    below_top: FlatTree,
    buffer: Vec<u8>,
    /// The data set in the original's format.
    sources: tempfile::TempDir,
    totals: Option<TaskTotals>,
}

/// Measures.
///
/// # Errors
/// When a tree cannot be made or removed, or a program cannot be run.
pub fn measure(options: Options) -> Result<Report, Fault> {
    let dataset = load(&options.dataset)?;
    let tree = FlatTree::of(&dataset);
    let mut bench = Bench {
        target: Target::open(&options.dir)?,
        job: create_job(&options.dataset)?,
        below_top: tree.below(BARE_TREE),
        tree,
        buffer: payload(),
        sources: tempfile::tempdir()?,
        totals: None,
        options,
    };
    if bench.options.original.is_some() {
        original::write_dataset(&dataset, bench.sources.path())?;
    }
    drop(dataset);
    let methods = bench.methods();
    let figures = in_turns(methods.len(), bench.options.rounds, |method, _round| {
        bench.one(&methods[method])
    })?;
    let methods =
        methods.iter().zip(&figures).map(|(method, costs)| method_figures(method, costs, &figures));
    let methods = methods.collect();
    let facts = bench.target.filesystem()?;
    Ok(Report {
        filesystem: name_of(facts.type_magic).unwrap_or("unknown"),
        files: bench.tree.files,
        dirs: bench.tree.dirs,
        bytes: bench.tree.bytes,
        rounds: bench.options.rounds,
        methods,
        calls: bench.call_figures()?,
        dataset: bench.options.dataset,
    })
}

/// A data set by its name, or a directory with the original's four files.
///
/// # Errors
/// When it cannot be read.
pub fn load(name: &str) -> Result<Dataset, Fault> {
    if Path::new(name).is_dir() {
        let dir = Path::new(name);
        return Ok(treering_datasets::classic::read_directory(name, dir)?);
    }
    Ok(library::load(name, &[])?)
}

fn payload() -> Vec<u8> {
    let mut bytes = vec![0; BUFFER_BYTES];
    treering_script::Random::new(1).fill(&mut bytes);
    bytes
}

fn method_figures(method: &Method, costs: &[Cost], all: &[Vec<Cost>]) -> MethodFigures {
    let cpu = |costs: &[Cost]| costs.iter().map(|cost| cost.cpu_ns).collect::<Vec<_>>();
    let ms = |part: fn(&Cost) -> u64| {
        Spread::of(costs.iter().map(|cost| part(cost) as f64 / 1e6).collect())
    };
    MethodFigures {
        method: method.name(),
        cpu_ms: ms(|cost| cost.cpu_ns),
        user_ms: ms(|cost| cost.user_ns),
        ratio: ratios(&cpu(costs), &cpu(&all[0])),
        ratio_to_path: ratios(&cpu(costs), &cpu(&all[1])),
    }
}

impl Bench {
    fn methods(&self) -> Vec<Method> {
        let engine = [LatencyMode::Off, LatencyMode::Sampled, LatencyMode::All];
        let mut methods = vec![Method::ByDirectory, Method::ByPath];
        methods.extend(engine.map(Method::Engine));
        methods.extend(self.options.program.clone().map(Method::Program));
        let original = self.options.original.clone();
        methods.extend(original.map(|(script, python)| Method::Original(script, python)));
        methods
    }

    /// Makes the tree one way, takes the cost, and removes it.
    fn one(&mut self, method: &Method) -> Result<Cost, Fault> {
        // What the way before left to be written is not this one's business.
        sync_filesystem(self.target.dir())?;
        match method {
            Method::ByDirectory => {
                self.bare(|at, bench| bare::by_directory(at, BARE_TREE, &bench.tree, &bench.buffer))
            }
            Method::ByPath => {
                self.bare(|at, bench| bare::by_path(at, BARE_TREE, &bench.below_top, &bench.buffer))
            }
            Method::Engine(latency) => {
                let created = create(self.job.as_ref(), &self.target, *latency)?;
                self.remove(FIRST_TREE)?;
                self.totals = Some(created.totals);
                Ok(created.cost)
            }
            Method::Program(program) => {
                let (tasks, _) =
                    program::create(program, &self.options.dir, &self.options.dataset, 1)?;
                self.remove(FIRST_TREE)?;
                let task = tasks.first().ok_or("the program did no task")?;
                Ok(Cost {
                    cpu_ns: task.cpu.total_ns(),
                    user_ns: task.cpu.user_ns,
                    wall_ns: task.wall_ns,
                })
            }
            Method::Original(script, python) => self.original(script, python),
        }
    }

    fn bare(
        &self,
        make: impl FnOnce(std::os::fd::BorrowedFd<'_>, &Self) -> Result<(), rustix::io::Errno>,
    ) -> Result<Cost, Fault> {
        let watch = Stopwatch::begin();
        make(self.target.dir(), self)?;
        let cost = watch.cost();
        self.remove(BARE_TREE)?;
        Ok(cost)
    }

    fn original(&self, script: &Path, python: &str) -> Result<Cost, Fault> {
        let dir = tempfile::tempdir_in(&self.options.dir)?;
        let cpu_ns = original::create(python, script, self.sources.path(), dir.path())?;
        Ok(Cost { cpu_ns, ..Cost::default() })
    }

    fn remove(&self, tree: &str) -> Result<(), Fault> {
        let made = self.target.identity(tree)?;
        self.target.remove_tree(tree, &made, &mut |_| ControlFlow::Continue(()))?;
        Ok(())
    }

    fn call_figures(&mut self) -> Result<CallFigures, Fault> {
        let totals = self.totals.take().ok_or("the engine made no tree")?;
        let counted: BTreeMap<String, u64> =
            calls(&totals).into_iter().map(|(op, calls)| (op.to_string(), calls)).collect();
        let sum: u64 = counted.values().sum();
        let traced = match &self.options.program {
            Some(program) if self.options.strace => Some(self.trace(program)?),
            _ => None,
        };
        Ok(CallFigures { per_file: sum as f64 / totals.files.max(1) as f64, counted, traced })
    }

    fn trace(&self, program: &Path) -> Result<BTreeMap<String, i64>, Fault> {
        let Options { dir, dataset, .. } = &self.options;
        let one = program::strace(program, dir, dataset, 1)?;
        self.remove(FIRST_TREE)?;
        let two = program::strace(program, dir, dataset, 2)?;
        self.remove(FIRST_TREE)?;
        self.remove("kernel-1")?;
        Ok(program::difference(&two, &one))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.bytes as f64 / f64::from(1 << 20);
        writeln!(
            f,
            "{} on {}: {} files, {} directories, {mib:.1} MiB; {} rounds",
            self.dataset, self.filesystem, self.files, self.dirs, self.rounds
        )?;
        writeln!(
            f,
            "{:25} {:>8} {:>8}   {:>6} {:>15} {:>15} {:>8}",
            "way", "cpu ms", "user ms", "ratio", "95% of median", "middle half", "to path"
        )?;
        for method in &self.methods {
            let MethodFigures { method, cpu_ms, user_ms, ratio, ratio_to_path } = method;
            let (cpu, user, path) = (cpu_ms.median, user_ms.median, ratio_to_path.median);
            let half = format!("{:.3} - {:.3}", ratio.low, ratio.high);
            let sure = format!("{:.3} - {:.3}", ratio.sure_low, ratio.sure_high);
            writeln!(
                f,
                "{method:25} {cpu:8.1} {user:8.1}   {:6.3} {sure:>15} {half:>15} {path:8.3}",
                ratio.median
            )?;
        }
        let list = |calls: &mut dyn Iterator<Item = String>| calls.collect::<Vec<_>>().join(", ");
        let counted = &mut self.calls.counted.iter().map(|(op, calls)| format!("{op} {calls}"));
        write!(f, "{:.4} system calls a file: {}", self.calls.per_file, list(counted))?;
        if let Some(traced) = &self.calls.traced {
            let all: i64 = traced.values().sum();
            let each = all as f64 / self.files.max(1) as f64;
            let traced = &mut traced.iter().map(|(name, calls)| format!("{name} {calls}"));
            write!(f, "\n{each:.4} by strace, one tree more: {}", list(traced))?;
        }
        Ok(())
    }
}
