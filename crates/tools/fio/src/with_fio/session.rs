//! Run of the original fio: makes its directories, starts it, and reads its report.

use treering_model::{Fact, Metric, Op};
use treering_script::{
    Conductor, ExternalProgram, NoListener, ProgramEnd, ReportedPhase, Session, SessionError,
    SessionResult, Task,
};

use super::super::headline::Headline;
use super::super::layout::MakeDirectories;
use super::super::namespace::directory;
use super::super::namespace::numbered;
use super::super::session::{DIRECTORIES, SETUP};
use super::ForeignJob;
use super::reported::{document, reported};

/// Maximum number of lines of fio's own output quoted in an error.
const WORDS_LINES_MAX: usize = 4;
/// Maximum number of characters quoted of each line.
const WORDS_CHARS_MAX: usize = 240;

/// Session of a run.
pub(super) struct ForeignSession<'j> {
    job: &'j ForeignJob,
    has_begun: bool,
    headline: Option<Headline>,
    /// Output of fio apart from its report.
    said: String,
}

impl<'j> ForeignSession<'j> {
    pub(super) fn new(job: &'j ForeignJob) -> Self {
        Self { job, has_begun: false, headline: None, said: String::new() }
    }
}

impl ForeignSession<'_> {
    /// Phases in the report of fio; `None` without a report.
    fn take_report(&mut self, end: &ProgramEnd) -> Option<Vec<ReportedPhase>> {
        let document = document(&end.output);
        let before = match &document {
            Some(_) => &[][..],
            None => &end.output,
        };
        self.said = words(&[&end.errors, before].concat());
        let reported = reported(&document?, &self.job.jobs, end);
        self.headline = reported.headline;
        Some(reported.phases)
    }

    /// Fails if fio ended with an error, or reported no job.
    fn check(&self, code: Option<i32>, is_empty: bool) -> Result<(), SessionError> {
        let why = match code {
            Some(0) if !is_empty => return Ok(()),
            Some(0) => "it reported nothing of its jobs".to_owned(),
            Some(code) => format!("it ended with exit code {code}"),
            None => "it was ended by a signal".to_owned(),
        };
        Err(match self.said.as_str() {
            "" => SessionError::at("fio", why),
            // Its own words begin with its name.
            said => SessionError::new(said),
        })
    }
}

impl Session for ForeignSession<'_> {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.has_begun = true;
        let script = MakeDirectories::new(&numbered(self.job.directories));
        let task = Task::new(DIRECTORIES, "all", Op::MakeDir, Box::new(script));
        conductor.run_task(SETUP, task, &mut NoListener)?;
        let end = conductor.program(ExternalProgram {
            path: self.job.fio.path.clone(),
            arguments: ["--output-format=json+", "--eta=never", "-"].map(str::to_owned).into(),
            environment: Vec::new(),
            input: self.job.text.clone().into_bytes(),
            directory: self.job.working_directory(),
            watch: None,
        })?;
        let phases = self.take_report(&end).unwrap_or_default();
        let is_empty = phases.is_empty();
        conductor.report(phases)?;
        Ok(self.check(end.code, is_empty)?)
    }

    fn facts(&self) -> Vec<Fact> {
        let fact =
            |name: &str, value: &str| Fact { name: name.to_owned(), value: value.to_owned() };
        let message = (!self.said.is_empty()).then(|| fact("fio.said", &self.said));
        [fact("fio.version", &self.job.fio.version)].into_iter().chain(message).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.headline.as_ref().map(Headline::metrics).unwrap_or_default()
    }

    fn remains(&self) -> Vec<String> {
        let made = if self.has_begun { self.job.directories } else { 0 };
        (0..made).map(directory).collect()
    }
}

/// First lines of fio's output, with control characters escaped.
fn words(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = |line: &str| {
        line.chars().take(WORDS_CHARS_MAX).collect::<String>().escape_debug().to_string()
    };
    lines.take(WORDS_LINES_MAX).map(line).collect::<Vec<_>>().join("; ")
}
