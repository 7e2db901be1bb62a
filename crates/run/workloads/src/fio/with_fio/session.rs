//! One run of the original: its directories are made, it is started, and what it reported is taken.

use treering_model::{Fact, Metric, Op, TaskTotals};
use treering_script::{
    ParallelGroup, Phase, Program, ProgramEnd, ReportedPhase, StepSession, SessionError, Task,
};

use super::super::headline::Headline;
use super::super::layout::MakeDirectories;
use super::super::namespace::directory;
use super::super::namespace::numbered;
use super::super::session::{DIRECTORIES, SETUP};
use super::ForeignJob;
use super::reported::{document, reported};

/// Lines of what it said that are reported about.
const WORDS_LINES_MAX: usize = 4;
/// Characters of each of them.
const WORDS_CHARS_MAX: usize = 240;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Begin,
    Setup,
    Program,
    Over,
}

/// A run in progress.
pub(super) struct ForeignSession<'j> {
    job: &'j ForeignJob,
    part: Part,
    headline: Option<Headline>,
    failure: Option<SessionError>,
    /// What it said beside its result.
    said: String,
}

impl<'j> ForeignSession<'j> {
    pub(super) fn new(job: &'j ForeignJob) -> Self {
        Self { job, part: Part::Begin, headline: None, failure: None, said: String::new() }
    }
}

impl StepSession for ForeignSession<'_> {
    fn next_phase(&mut self) -> Option<Phase> {
        (self.part == Part::Begin).then(|| {
            self.part = Part::Setup;
            Phase { name: SETUP.to_owned(), tasks: 1 }
        })
    }

    fn next_group(&mut self) -> Option<ParallelGroup> {
        (self.part == Part::Setup).then(|| {
            self.part = Part::Program;
            let script = MakeDirectories::of(&numbered(self.job.directories));
            let task = Task::new(DIRECTORIES, "all", Op::MakeDir, Box::new(script));
            ParallelGroup { tasks: vec![task], ..ParallelGroup::default() }
        })
    }

    fn task_ended(&mut self, _totals: &TaskTotals) {}

    fn failure(&self) -> Option<SessionError> {
        self.failure.clone()
    }

    fn program(&mut self) -> Option<Program> {
        (self.part == Part::Program).then(|| {
            self.part = Part::Over;
            Program {
                path: self.job.fio.path.clone(),
                arguments: ["--output-format=json+", "--eta=never", "-"].map(str::to_owned).into(),
                input: self.job.text.clone().into_bytes(),
                directory: self.job.working_directory(),
                watch: None,
            }
        })
    }

    fn program_ended(&mut self, end: ProgramEnd) -> Vec<ReportedPhase> {
        let document = document(&end.output);
        let before = match &document {
            Some(_) => &[][..],
            None => &end.output,
        };
        self.said = words(&[&end.errors, before].concat());
        let reported = document.map(|document| reported(&document, &self.job.jobs, &end));
        let is_empty = reported.as_ref().is_none_or(|reported| reported.phases.is_empty());
        let why = match end.code {
            Some(0) if !is_empty => None,
            Some(0) => Some("it reported nothing of its jobs".to_owned()),
            Some(code) => Some(format!("it ended with exit code {code}")),
            None => Some("it was ended by a signal".to_owned()),
        };
        self.failure = why.map(|why| match self.said.as_str() {
            "" => SessionError::at("fio", why),
            // Its own words begin with its name.
            said => SessionError::new(said),
        });
        let Some(reported) = reported else { return Vec::new() };
        self.headline = reported.headline;
        reported.phases
    }

    fn facts(&self) -> Vec<Fact> {
        let fact =
            |name: &str, value: &str| Fact { name: name.to_owned(), value: value.to_owned() };
        let said = (!self.said.is_empty()).then(|| fact("fio.said", &self.said));
        [fact("fio.version", &self.job.fio.version)].into_iter().chain(said).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.as_ref().map(Headline::metrics).unwrap_or_default()
    }

    fn remains(&self) -> Vec<String> {
        match self.part {
            Part::Begin => Vec::new(),
            _ => (0..self.job.directories).map(directory).collect(),
        }
    }
}

/// The first lines of what it said, escaped.
fn words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = |line: &str| {
        line.chars().take(WORDS_CHARS_MAX).collect::<String>().escape_debug().to_string()
    };
    lines.take(WORDS_LINES_MAX).map(line).collect::<Vec<_>>().join("; ")
}
