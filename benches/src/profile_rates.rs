//! `profile_rates`: cached stats, or whole files read, through treering's FFSB or filebench and by
//! bare loops of system calls over the same files, with one and with two threads, in turns.

use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::{read, write};
use serde::Serialize;
use treering_engine::{
    EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions, Target,
};
use treering_ffsb::Ffsb;
use treering_filebench::Filebench;
use treering_model::filesystems::name_of;
use treering_model::{PhaseTotals, Scope, SinkError, TrialEvent, TrialSink};
use treering_script::{Random, Settings, Workload};
use treering_sys::{StopFlag, monotonic_ns, thread_cpu};

use crate::Fault;
use crate::rounds::{Spread, in_turns};

/// What is done to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Their attributes are read.
    Stat,
    /// They are opened, read and closed.
    ReadAll,
    /// The same of 16 KiB, one after the other, by filebench's openfile, readwholefile, closefile.
    ReadWhole,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::ReadAll => "readall",
            Self::ReadWhole => "readwhole",
        }
    }

    const fn file_bytes(self) -> usize {
        match self {
            Self::Stat | Self::ReadAll => 4096,
            Self::ReadWhole => 16_384,
        }
    }
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory in which files are made and removed.
    pub dir: PathBuf,
    /// What is done.
    pub operation: Operation,
    /// How many files there are.
    pub files: u32,
    /// Operations of a thread in a round.
    pub operations: u32,
    /// Rounds, after one that is not counted.
    pub rounds: usize,
}

/// A way to do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Names in an open directory.
    Bare,
    /// Full paths, and a stat before each read: the calls of the original.
    Paths,
    Engine,
}

const WAYS: [(Method, u32, &str); 5] = [
    (Method::Bare, 1, "bare loop, open directory"),
    (Method::Paths, 1, "bare loop, the original's calls"),
    (Method::Engine, 1, "native, latency sampled"),
    (Method::Bare, 2, "bare loop, 2 threads"),
    (Method::Engine, 2, "native, 2 threads"),
];

/// One round of one way.
#[derive(Clone, Copy, Debug)]
struct Figure {
    rate: f64,
    cpu_us: f64,
}

/// One way's figures.
#[derive(Clone, Debug, Serialize)]
pub struct MethodFigures {
    /// Which way.
    pub method: &'static str,
    /// Operations per second of all threads.
    pub operations_per_second: Spread,
    /// User and system time of an operation, in microseconds.
    pub cpu_us: Spread,
    /// The rate by that of the bare loop with one thread, each in its own round.
    pub to_bare: Spread,
    /// The CPU by that of the bare loop with one thread.
    pub cpu_to_bare: Spread,
    /// The rate by that of the same way with one thread, where this is with two.
    pub to_one_thread: Option<Spread>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The filesystem's type.
    pub filesystem: &'static str,
    /// What was done.
    pub operation: Operation,
    /// To how many files.
    pub files: u32,
    /// Rounds that count.
    pub rounds: usize,
    /// The ways.
    pub methods: Vec<MethodFigures>,
}

/// Measures.
///
/// # Errors
/// When a file cannot be made, read or removed.
pub fn measure(options: &Options) -> Result<Report, Fault> {
    let target = Target::open(&options.dir)?;
    let files = Files::make(options)?;
    let figures = in_turns(WAYS.len(), options.rounds, |method, round| match WAYS[method] {
        (Method::Engine, threads, _) => engine(&target, options, threads, round),
        (method, threads, _) => bare(&files, options, method == Method::Paths, threads, round),
    })?;
    let by = |method: usize, base: usize, of: fn(&Figure) -> f64| {
        let pairs = figures[method].iter().zip(&figures[base]);
        Spread::of(pairs.map(|(one, base)| of(one) / of(base)).collect())
    };
    let methods = WAYS.iter().enumerate().map(|(number, &(method, threads, name))| {
        let alone = WAYS.iter().position(|&(other, one, _)| other == method && one == 1);
        MethodFigures {
            method: name,
            operations_per_second: Spread::of(figures[number].iter().map(|f| f.rate).collect()),
            cpu_us: Spread::of(figures[number].iter().map(|f| f.cpu_us).collect()),
            to_bare: by(number, 0, |figure| figure.rate),
            cpu_to_bare: by(number, 0, |figure| figure.cpu_us),
            to_one_thread: alone
                .filter(|_| threads == 2)
                .map(|alone| by(number, alone, |figure| figure.rate)),
        }
    });
    Ok(Report {
        filesystem: name_of(target.filesystem()?.type_magic).unwrap_or("unknown"),
        operation: options.operation,
        files: options.files,
        rounds: options.rounds,
        methods: methods.collect(),
    })
}

/// The files of the bare loops.
struct Files {
    dir: tempfile::TempDir,
    names: Vec<CString>,
    paths: Vec<CString>,
}

impl Files {
    fn make(options: &Options) -> Result<Self, Fault> {
        let dir = tempfile::tempdir_in(&options.dir)?;
        let top = Target::open(dir.path())?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let (mut names, mut paths) = (Vec::new(), Vec::new());
        for number in 0..options.files {
            let name = CString::new(format!("datafile{number}"))?;
            write(
                openat(top.dir(), &name, flags, Mode::from_raw_mode(0o666))?,
                &vec![0; options.operation.file_bytes()],
            )?;
            let path = dir.path().join(format!("datafile{number}"));
            paths.push(CString::new(path.as_os_str().as_bytes())?);
            names.push(name);
        }
        Ok(Self { dir, names, paths })
    }
}

/// The leanest loop: what it is done to is drawn beforehand.
fn bare(
    files: &Files,
    options: &Options,
    by_path: bool,
    threads: u32,
    round: usize,
) -> Result<Figure, Fault> {
    let top = Target::open(files.dir.path())?;
    let barrier = Barrier::new(threads as usize);
    let work = |thread: u32| -> Result<(u64, u64, u64), Fault> {
        let mut random = Random::for_part(round as u64, &thread.to_string());
        let count = files.names.len();
        let drawn: Vec<usize> = (0..options.operations as usize)
            .map(|number| match options.operation {
                Operation::ReadWhole => number % count,
                Operation::Stat | Operation::ReadAll => random.index(count),
            })
            .collect();
        let mut buffer = vec![0; 1 << 20];
        barrier.wait();
        let (began_ns, before) = (monotonic_ns(), thread_cpu());
        for file in drawn {
            let (at, name) =
                if by_path { (CWD, &files.paths[file]) } else { (top.dir(), &files.names[file]) };
            let stats = by_path || options.operation == Operation::Stat;
            if options.operation == Operation::Stat {
                statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
            } else {
                let file = openat(at, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
                if stats {
                    statat(at, name, AtFlags::empty())?;
                }
                read(&file, &mut buffer)?;
            }
        }
        let after = thread_cpu();
        let cpu = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
        Ok((began_ns, monotonic_ns(), cpu))
    };
    let ends = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        let joined = threads.into_iter().map(|thread| {
            thread.join().map_err(|_| Fault::from("a thread of the bare loop ended early"))?
        });
        joined.collect::<Result<Vec<_>, Fault>>()
    })?;
    let began_ns = ends.iter().map(|end| end.0).min().unwrap_or(0);
    let ended_ns = ends.iter().map(|end| end.1).max().unwrap_or(0);
    let cpu_ns = ends.iter().map(|end| end.2).sum();
    Ok(figure(options, threads, ended_ns - began_ns, cpu_ns))
}

fn figure(options: &Options, threads: u32, wall_ns: u64, cpu_ns: u64) -> Figure {
    let operations = f64::from(options.operations) * f64::from(threads);
    Figure {
        rate: operations / (wall_ns.max(1) as f64 / 1e9),
        cpu_us: cpu_ns as f64 / 1000.0 / operations,
    }
}

#[derive(Default)]
struct Benchmark {
    tasks: Vec<(u64, u64)>,
    totals: Option<PhaseTotals>,
}

impl TrialSink for Benchmark {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        match event {
            TrialEvent::TaskEnded(task) if task.kind.starts_with("threadgroup") => {
                self.tasks.push((task.began_ns, task.began_ns + task.wall_ns));
            }
            TrialEvent::PhaseEnded(phase) if phase.name == "benchmark" => {
                self.totals = Some(phase.clone());
            }
            _ => {}
        }
        Ok(())
    }
}

/// The native workload that does it.
fn engine(target: &Target, options: &Options, threads: u32, round: usize) -> Result<Figure, Fault> {
    match options.operation {
        Operation::ReadWhole => filebench(target, options, threads, round),
        Operation::Stat | Operation::ReadAll => ffsb(target, options, threads, round),
    }
}

/// How long filebench works in a round.
const SECONDS: u64 = 2;

/// As `treering run filebench` has it; it ends by time.
fn filebench(
    target: &Target,
    options: &Options,
    threads: u32,
    round: usize,
) -> Result<Figure, Fault> {
    let workload = tempfile::NamedTempFile::new()?;
    std::fs::write(
        workload.path(),
        format!(
            "define fileset name=a,path=/unused,entries={},size=16k,dirwidth=1000000,prealloc\n\
             define process name=p {{ thread name=t,instances={threads} {{\n\
             flowop openfile name=open,filesetname=a,fd=1\n\
             flowop readwholefile name=read,fd=1,iosize=1m\n\
             flowop closefile name=close,fd=1 }} }}\nrun {SECONDS}\n",
            options.files
        ),
    )?;
    let given =
        [("workload", workload.path().to_string_lossy().into_owned()), ("seed", round.to_string())];
    let given = given.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let job = Filebench.native(&Settings::new(given))?;
    let mut session = job.begin(&target.facts()?);
    let payload = PayloadKind::Native { compressibility: 0 };
    let engine = EngineOptions::new(LatencyMode::Sampled, payload, 1);
    let mut heard = Benchmark::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    target.run(session.as_mut(), RunOptions::new(&engine, &mut heard, &progress, &stop))?;
    for tree in session.remains() {
        let made = target.identity(&tree)?;
        target.remove_tree(&tree, &made, &mut |_| std::ops::ControlFlow::Continue(()))?;
    }
    let metrics = session.metrics();
    let figure = |name: &str| {
        let found = metrics.iter().find(|one| one.name == name && one.scope == Scope::Trial);
        found.map(|one| one.value).ok_or("the benchmark did not run")
    };
    // One of the loop is three operations.
    Ok(Figure {
        rate: figure("operations_per_second")? / 3.0,
        cpu_us: figure("cpu_per_operation_nanoseconds")? * 3.0 / 1000.0,
    })
}

/// As `treering run ffsb` has it.
fn ffsb(target: &Target, options: &Options, threads: u32, round: usize) -> Result<Figure, Fault> {
    let profile = tempfile::NamedTempFile::new()?;
    std::fs::write(
        profile.path(),
        format!(
            "[filesystem0]\nlocation = /unused\nnum_files = {}\nmin_filesize = 4096\n\
             max_filesize = 4096\n[end0]\n[threadgroup0]\nnum_threads = {threads}\n\
             {}_weight = 1\nread_blocksize = 4096\n[end0]\n",
            options.files,
            options.operation.name()
        ),
    )?;
    let operations = u64::from(options.operations) * u64::from(threads);
    let given = [
        ("profile", profile.path().to_string_lossy().into_owned()),
        ("operations", operations.to_string()),
        ("seed", round.to_string()),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let job = Ffsb.native(&Settings::new(given))?;
    let mut session = job.begin(&target.facts()?);
    let payload = PayloadKind::Native { compressibility: 0 };
    let engine = EngineOptions::new(LatencyMode::Sampled, payload, 1);
    let mut heard = Benchmark::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    target.run(session.as_mut(), RunOptions::new(&engine, &mut heard, &progress, &stop))?;
    for tree in session.remains() {
        let made = target.identity(&tree)?;
        target.remove_tree(&tree, &made, &mut |_| std::ops::ControlFlow::Continue(()))?;
    }
    let totals = heard.totals.ok_or("the benchmark did not run")?;
    let began_ns = heard.tasks.iter().map(|task| task.0).min().unwrap_or(0);
    let ended_ns = heard.tasks.iter().map(|task| task.1).max().unwrap_or(0);
    Ok(figure(options, threads, ended_ns - began_ns, totals.cpu.total_ns()))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} of {} files of {} KiB on {}; {} rounds; medians (middle half)",
            self.operation.name(),
            self.files,
            self.operation.file_bytes() / 1024,
            self.filesystem,
            self.rounds
        )?;
        writeln!(
            f,
            "{:<32} {:>9}  {:<20} {:>8} {:<20} {:<20}",
            "", "ops/s", "to bare loop", "CPU us", "CPU to bare loop", "to one thread"
        )?;
        for method in &self.methods {
            let scaling = method.to_one_thread.map_or("-".to_owned(), |ratio| ratio.to_string());
            writeln!(
                f,
                "{:<32} {:>9.0}  {:<20} {:>8.3} {:<20} {scaling:<20}",
                method.method,
                method.operations_per_second.median,
                method.to_bare.to_string(),
                method.cpu_us.median,
                method.cpu_to_bare.to_string()
            )?;
        }
        Ok(())
    }
}
