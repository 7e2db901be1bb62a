//! `names_scale`: the memory and time that a data set of ten million names takes, step by step,
//! each step in a process of its own.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use treering_datasets::classic;
use treering_engine::LatencyMode;
use treering_script::TargetFacts;

use crate::Fault;
use crate::engine::{create, create_job, create_options};
use crate::null::NullPlace;
use crate::synthetic::{Synthetic, write_dataset};
use crate::usage::wait_for;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files of the clean tree.
    pub names: u64,
    /// Where the data set is written and removed again.
    pub dir: PathBuf,
    /// This program, which does the steps as children: `--step WORD FOLDER`.
    pub own: PathBuf,
    /// The real program, to be asked for a dry run.
    pub program: Option<PathBuf>,
}

/// A step in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Reads the four lists.
    Read,
    /// Makes a job of them and asks for its footprint and outline.
    Plan,
    /// Runs the job, where every call succeeds at once.
    Run,
}

impl Own {
    /// All.
    pub const ALL: [Self; 3] = [Self::Read, Self::Plan, Self::Run];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Plan => "plan",
            Self::Run => "run",
        }
    }

    /// The step of this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.word() == word)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Read => "read the four lists",
            Self::Plan => "read, plan, footprint",
            Self::Run => "read, plan, create a tree",
        }
    }

    /// Does it, in this process.
    ///
    /// # Errors
    /// When the data set cannot be read, or another number of files comes of it.
    pub fn perform(self, dir: &Path, names: u64) -> Result<(), Fault> {
        let text = dir.to_str().ok_or("the folder's name is no text")?;
        let found = match self {
            Self::Read => classic::read_directory(text, dir)?.unpatched.len() as u64,
            Self::Plan => {
                let job = create_job(text)?;
                let facts = TargetFacts::unknown();
                assert_eq!(job.outline(&facts).len(), 1, "one tree is one line");
                job.footprint(&facts).written_files
            }
            Self::Run => {
                let job = create_job(text)?;
                create(job.as_ref(), &NullPlace::default(), LatencyMode::Sampled)?.totals.files
            }
        };
        if found == names { Ok(()) } else { Err(format!("{found} files, not {names}").into()) }
    }
}

/// What a step came to.
#[derive(Clone, Debug, Serialize)]
pub struct StepFigures {
    /// Which.
    pub step: &'static str,
    /// The most memory at a time, in bytes.
    pub peak_bytes: u64,
    /// The same less what a data set of no size takes, by the number of names.
    pub bytes_a_name: f64,
    /// User and system time in seconds.
    pub cpu_s: f64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Files of the clean tree.
    pub names: u64,
    /// Bytes of their paths: what one plain copy of each would take at least.
    pub path_bytes: u64,
    /// The steps.
    pub steps: Vec<StepFigures>,
}

/// Measures.
///
/// # Errors
/// When the data set cannot be written, or a step fails.
pub fn measure(options: &Options) -> Result<Report, Fault> {
    let folder = tempfile::tempdir_in(&options.dir)?;
    let tiny = tempfile::tempdir_in(&options.dir)?;
    let Synthetic { files, path_bytes } = write_dataset(options.names, folder.path())?;
    let few = write_dataset(TINY, tiny.path())?.files;
    let mut steps = Vec::new();
    for step in Own::ALL {
        let figures = |dir: &Path, names: u64| {
            let mut command = Command::new(&options.own);
            command.arg("--step").arg(step.word()).arg("--names").arg(names.to_string()).arg(dir);
            child(step.title(), command)
        };
        steps.push(figures(folder.path(), files)?.less(&figures(tiny.path(), few)?, files));
    }
    if let Some(program) = &options.program {
        for (title, make) in DRY_RUNS {
            let small = child(title, make(program, tiny.path()))?;
            steps.push(child(title, make(program, folder.path()))?.less(&small, files));
        }
    }
    Ok(Report { names: files, path_bytes, steps })
}

/// Files of the data set whose figures are taken away.
const TINY: u64 = 100;

type Make = fn(&Path, &Path) -> Command;

const DRY_RUNS: [(&str, Make); 2] = [
    ("treering run --dry-run", |program, dir| {
        let mut command = Command::new(program);
        command.args(["run", "compilebench", "--dry-run"]);
        for (name, value) in create_options(&dir.display().to_string(), 1) {
            command.arg(format!("--{name}")).arg(value);
        }
        command
    }),
    ("treering compilebench --dry-run", |program, dir| {
        let mut command = Command::new(program);
        command.args(["compilebench", "--dry-run", "-i", "1", "-r", "20", "-s"]).arg(dir);
        command
    }),
];

fn child(step: &'static str, mut command: Command) -> Result<StepFigures, Fault> {
    let usage = wait_for(&command.stdout(Stdio::null()).spawn()?)?;
    if !usage.succeeded {
        return Err(format!("{command:?} failed").into());
    }
    let cpu_s = usage.cpu_ns as f64 / 1e9;
    Ok(StepFigures { step, peak_bytes: usage.peak_bytes, bytes_a_name: 0.0, cpu_s })
}

impl StepFigures {
    fn less(self, tiny: &Self, names: u64) -> Self {
        let more = self.peak_bytes.saturating_sub(tiny.peak_bytes);
        Self { bytes_a_name: more as f64 / names.max(1) as f64, ..self }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let each = self.path_bytes as f64 / self.names.max(1) as f64;
        write!(
            f,
            "{} files; their paths have {:.0} MiB, {each:.1} bytes each\n{:32} {:>10} {:>14} {:>8}",
            self.names,
            mib(self.path_bytes),
            "step",
            "peak MiB",
            "bytes a name",
            "cpu s"
        )?;
        for StepFigures { step, peak_bytes, bytes_a_name, cpu_s } in &self.steps {
            let peak = mib(*peak_bytes);
            write!(f, "\n{step:32} {peak:10.0} {bytes_a_name:14.1} {cpu_s:8.2}")?;
        }
        Ok(())
    }
}
