//! `mark_files`: small files by one worker, through treering's fs_mark, the original, and a bare
//! loop, in turns.

use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::write;
use serde::Serialize;
use treering_engine::{
    EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions, Target,
};
use treering_fs_mark::FsMark;
use treering_model::filesystems::name_of;
use treering_model::{SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_script::{Random, Settings, Workload};
use treering_sys::{StopFlag, monotonic_ns, thread_cpu};

use crate::Fault;
use crate::rounds::{Spread, in_turns};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory in which files are made and removed.
    pub dir: PathBuf,
    /// Files of a round.
    pub files: u32,
    /// Rounds, after one that is not counted.
    pub rounds: usize,
    /// treering, to be run as a child too.
    pub program: Option<PathBuf>,
    /// The original fs_mark 3.3.
    pub original: Option<PathBuf>,
}

/// A way to make the files.
#[derive(Clone, Debug)]
enum Method {
    Bare,
    Engine(LatencyMode),
    Classic(PathBuf),
    Original(PathBuf),
}

impl Method {
    fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare loop: openat, write, close",
            Self::Engine(LatencyMode::All) => "native, latency all",
            Self::Engine(_) => "native, latency sampled",
            Self::Classic(_) => "treering fs_mark (classic)",
            Self::Original(_) => "original fs_mark",
        }
    }
}

/// One round of one way.
#[derive(Clone, Copy, Debug)]
struct Figure {
    rate: f64,
    cpu_us: Option<f64>,
}

impl Figure {
    fn of(files: u32, wall_ns: u64, cpu_ns: u64) -> Self {
        let files = f64::from(files);
        let rate = files / (wall_ns.max(1) as f64 / 1e9);
        Self { rate, cpu_us: Some(cpu_ns as f64 / 1000.0 / files) }
    }
}

/// One way's figures.
#[derive(Clone, Debug, Serialize)]
pub struct MethodFigures {
    /// Which way.
    pub method: &'static str,
    /// Files per second.
    pub files_per_second: Spread,
    /// The bare loop's time by this one's, each in its own round: the share of its rate.
    pub to_bare: Spread,
    /// User and system time of a file in microseconds, of those that run in this process.
    pub cpu_us: Option<Spread>,
    /// That by the bare loop's.
    pub cpu_to_bare: Option<Spread>,
    /// This rate by that of the original, where there is one.
    pub to_original: Option<Spread>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The filesystem's type.
    pub filesystem: &'static str,
    /// Files of a round.
    pub files: u32,
    /// Rounds that count.
    pub rounds: usize,
    /// The ways.
    pub methods: Vec<MethodFigures>,
}

/// Measures.
///
/// # Errors
/// When a file cannot be made or removed, or a program cannot be run.
pub fn measure(options: &Options) -> Result<Report, Fault> {
    let target = Target::open(&options.dir)?;
    let mut methods =
        vec![Method::Bare, Method::Engine(LatencyMode::Sampled), Method::Engine(LatencyMode::All)];
    methods.extend(options.program.clone().map(Method::Classic));
    methods.extend(options.original.clone().map(Method::Original));
    let figures =
        in_turns(methods.len(), options.rounds, |method, round| match &methods[method] {
            Method::Bare => bare(&target, options.files, round),
            Method::Engine(latency) => engine(&target, options.files, *latency, round),
            Method::Classic(program) => {
                let before = ["fs_mark", "--no-store", "--workers", "processes"];
                program_rate(program, &before, &options.dir, options.files)
            }
            Method::Original(program) => program_rate(program, &[], &options.dir, options.files),
        })?;
    let to = |method: usize, base: usize| {
        let pairs = figures[method].iter().zip(&figures[base]);
        Spread::of(pairs.map(|(one, base)| one.rate / base.rate).collect())
    };
    let cpu = |method: usize| -> Option<Vec<f64>> {
        figures[method].iter().map(|one| one.cpu_us).collect()
    };
    let cpu_to_bare = |method: usize| {
        let ratios = cpu(method)?.into_iter().zip(cpu(0)?).map(|(one, bare)| one / bare);
        Some(Spread::of(ratios.collect()))
    };
    let original = methods.iter().position(|method| matches!(method, Method::Original(_)));
    let methods = methods.iter().enumerate().map(|(number, method)| MethodFigures {
        method: method.name(),
        files_per_second: Spread::of(figures[number].iter().map(|one| one.rate).collect()),
        to_bare: to(number, 0),
        cpu_us: cpu(number).map(Spread::of),
        cpu_to_bare: cpu_to_bare(number),
        to_original: original.map(|original| to(number, original)),
    });
    Ok(Report {
        filesystem: name_of(target.filesystem()?.type_magic).unwrap_or("unknown"),
        files: options.files,
        rounds: options.rounds,
        methods: methods.collect(),
    })
}

/// Names as fs_mark's, made beforehand.
fn names(files: u32, round: usize) -> Vec<CString> {
    let mut random = Random::new(round as u64);
    let name = |_| {
        let mut letter =
            || u32::try_from(random.below(36)).ok().and_then(|digit| char::from_digit(digit, 36));
        let letters = (0..24).filter_map(|_| letter());
        CString::new(format!("6b0085b9~~~~~~~~{}", letters.collect::<String>()))
    };
    (0..files).map(name).collect::<Result<_, _>>().unwrap_or_default()
}

/// The leanest loop that makes such files.
fn bare(target: &Target, files: u32, round: usize) -> Result<Figure, Fault> {
    let names = names(files, round);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let (began, cpu) = (monotonic_ns(), thread_cpu());
    for name in &names {
        let file = openat(target.dir(), name, flags, Mode::from_raw_mode(0o666))?;
        write(&file, &[0])?;
    }
    let (wall_ns, now) = (monotonic_ns() - began, thread_cpu());
    let cpu_ns = now.user_ns + now.system_ns - cpu.user_ns - cpu.system_ns;
    for name in &names {
        unlinkat(target.dir(), name, AtFlags::empty())?;
    }
    Ok(Figure::of(files, wall_ns, cpu_ns))
}

#[derive(Default)]
struct Creates(Vec<TaskTotals>);

impl TrialSink for Creates {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::TaskEnded(task) = event
            && task.kind == "create"
        {
            self.0.push(task.clone());
        }
        Ok(())
    }
}

/// The engine with the native workload, as `treering run fs_mark` has it.
fn engine(
    target: &Target,
    files: u32,
    latency: LatencyMode,
    round: usize,
) -> Result<Figure, Fault> {
    let given = [
        ("files", files.to_string()),
        ("size", "1".to_owned()),
        ("sync-method", "none".to_owned()),
        ("seed", round.to_string()),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value)).to_vec();
    let job = FsMark.native(&Settings::new(given))?;
    let mut session = job.begin(&target.facts()?);
    let options = EngineOptions::new(latency, PayloadKind::Native { compressibility: 0 }, 1);
    let mut creates = Creates::default();
    let (progress, stop) = (RunProgress::new(), StopFlag::new());
    target.run(session.as_mut(), RunOptions::new(&options, &mut creates, &progress, &stop))?;
    for tree in session.remains() {
        let made = target.identity(&tree)?;
        target.remove_tree(&tree, &made, &mut |_| std::ops::ControlFlow::Continue(()))?;
    }
    let task = creates.0.first().ok_or("no worker has ended")?;
    Ok(Figure::of(files, task.wall_ns, task.cpu.total_ns()))
}

/// Files/sec of a program's row.
fn program_rate(program: &Path, before: &[&str], dir: &Path, files: u32) -> Result<Figure, Fault> {
    let work = tempfile::tempdir()?;
    // The original takes 38 characters at most.
    std::os::unix::fs::symlink(dir, work.path().join("d"))?;
    let output = Command::new(program)
        .args(before)
        .args(["-S", "0", "-s", "1", "-n", &files.to_string(), "-l", "log", "-d", "d"])
        .current_dir(work.path())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = text.lines().last().unwrap_or_default();
    let rate = row.split_whitespace().nth(3).and_then(|word| word.parse::<f64>().ok());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let rate = rate.ok_or_else(|| format!("{} printed no row: {words}", program.display()))?;
    Ok(Figure { rate, cpu_us: None })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} files of one byte, one worker, on {}; {} rounds; medians (middle half)",
            self.files, self.filesystem, self.rounds
        )?;
        writeln!(
            f,
            "{:<32} {:>8}  {:<20} {:>8} {:<20} {:<20}",
            "", "files/s", "to bare loop", "CPU us", "CPU to bare loop", "to original"
        )?;
        for method in &self.methods {
            let or_dash =
                |one: &Option<Spread>| one.map_or("-".to_owned(), |ratio| ratio.to_string());
            let (original, cpu) = (or_dash(&method.to_original), or_dash(&method.cpu_to_bare));
            let cpu_us = method.cpu_us.map_or("-".to_owned(), |cpu| format!("{:.2}", cpu.median));
            writeln!(
                f,
                "{:<32} {:>8.0}  {:<20} {cpu_us:>8} {cpu:<20} {original:<20}",
                method.method,
                method.files_per_second.median,
                method.to_bare.to_string()
            )?;
        }
        Ok(())
    }
}
