//! Run of a command: the programs before and after it, the command itself, and its metrics.

use serde::{Deserialize, Serialize};
use treering_model::metrics::{command, cpu, times};
use treering_model::{
    Caution, CautionCode, Counters, Fact, Metric, PhaseTotals, Scope, TaskTotals, WorkLimit,
};
use treering_script::{
    Conductor, ExternalProgram, ProgramEnd, ProgramWatch, ReportedPhase, Session, SessionError,
    SessionResult,
};

use super::command_line::{CommandJob, by_shell};
use super::options::{CLEANUP, COMMAND, PREPARE};

/// Maximum number of bytes read from an output, at its start and at its end.
const READ_BYTES: usize = 4 << 20;
/// Maximum number of characters of an output stored with the trial, at its start and at its end.
const KEPT_CHARS: usize = 16 << 10;
/// Maximum number of lines of a failed program's output quoted in an error.
const WORDS_LINES_MAX: usize = 4;
/// Maximum number of characters quoted of each line.
const WORDS_CHARS_MAX: usize = 240;

/// Recorded result of a program.
#[derive(Debug, Serialize, Deserialize)]
struct ProgramResult {
    /// Exit code; `None` if a signal ended the program.
    exit_code: Option<i32>,
    /// Signal that ended the program.
    signal: Option<i32>,
    /// Standard output, shortened in the middle.
    output: String,
    /// Standard error, shortened in the middle.
    errors: String,
}

/// Session of a run.
pub(super) struct CommandSession<'j> {
    job: &'j CommandJob,
    metrics: Vec<Metric>,
    cautions: Vec<Caution>,
    facts: Vec<Fact>,
}

impl<'j> CommandSession<'j> {
    pub(super) fn new(job: &'j CommandJob) -> Self {
        Self { job, metrics: Vec::new(), cautions: Vec::new(), facts: Vec::new() }
    }

    /// Runs a program and reports it as a phase of this kind; fails if the program failed.
    fn run_program(
        &mut self,
        kind: &str,
        mut words: Vec<String>,
        conductor: &mut dyn Conductor,
    ) -> SessionResult<Result<(), SessionError>> {
        let arguments = words.split_off(1);
        let watch = ProgramWatch {
            phase: kind.to_owned(),
            kept_bytes: READ_BYTES,
            sync_after: kind != CLEANUP,
        };
        let end = conductor.program(ExternalProgram {
            path: words.concat().into(),
            arguments,
            environment: Vec::new(),
            input: Vec::new(),
            directory: String::new(),
            watch: Some(watch),
        })?;
        let output = String::from_utf8_lossy(&end.output);
        let errors = String::from_utf8_lossy(&end.errors);
        let name = if kind == COMMAND { self.job.name() } else { format!("--{kind}") };
        if kind == COMMAND {
            self.measure(&end, &output, &errors);
        }
        conductor.report(vec![reported(kind, &name, &end, (&output, &errors))])?;
        let last = last_lines(if errors.trim().is_empty() { &output } else { &errors });
        Ok(why_failed(&end).map_or(Ok(()), |why| {
            let why = if last.is_empty() { why } else { format!("{why}: {last}") };
            Err(SessionError::at(name, why))
        }))
    }

    /// Extracts facts, metrics and cautions from the result of the command.
    fn measure(&mut self, end: &ProgramEnd, output: &str, errors: &str) {
        let mut texts = [("command.output", output), ("command.errors", errors)];
        for (name, text) in &mut texts {
            let words = last_lines(text);
            if !words.is_empty() {
                self.facts.push(Fact { name: (*name).to_owned(), value: words });
            }
        }
        let work = self.job.wanted.iter().filter(|wanted| wanted.work);
        let work: Vec<&str> = work.map(|wanted| wanted.name.as_str()).collect();
        if !work.is_empty() {
            let name = WorkLimit::METRICS_FACT.to_owned();
            self.facts.push(Fact { name, value: work.join(",") });
        }
        for wanted in &self.job.wanted {
            match wanted.find(output, errors) {
                Ok(value) => self.metrics.push(wanted.metric(value, wanted.primary)),
                Err(why) => {
                    let message = format!("no value of {}: {why}", wanted.name);
                    let code = CautionCode::MetricMissing;
                    self.cautions.push(Caution { code, message });
                }
            }
        }
        let seconds = |ns: u64| ns as f64 / 1e9;
        let of = || Scope::Trial;
        let elapsed = seconds(end.wall_ns.max(1));
        let cpu_seconds = seconds(end.cpu.total_ns());
        self.metrics.extend([
            times::ELAPSED_SECONDS.of(of(), elapsed).primary_if(!self.job.names_primary()),
            times::FINAL_SYNC_SECONDS.of(of(), seconds(end.sync_ns)),
            cpu::CPU_SECONDS.of(of(), cpu_seconds),
            cpu::USER_CPU_SECONDS.of(of(), seconds(end.cpu.user_ns)),
            cpu::SYSTEM_CPU_SECONDS.of(of(), seconds(end.cpu.system_ns)),
            cpu::CPU_PERCENT.of(of(), 100.0 * cpu_seconds / elapsed),
            command::STORAGE_READ_BYTES.of(of(), end.read_bytes as f64),
            command::STORAGE_WRITTEN_BYTES.of(of(), end.written_bytes as f64),
        ]);
    }
}

/// Phase of a program, with its output.
fn reported(
    kind: &str,
    name: &str,
    end: &ProgramEnd,
    (output, errors): (&str, &str),
) -> ReportedPhase {
    let record = ProgramResult {
        exit_code: end.code,
        signal: end.signal,
        output: shortened(output),
        errors: shortened(errors),
    };
    let task = TaskTotals {
        kind: kind.to_owned(),
        subject: name.to_owned(),
        began_ns: end.began_ns,
        wall_ns: end.wall_ns,
        cpu: end.cpu,
        bytes: end.read_bytes.saturating_add(end.written_bytes),
        counters: Counters::from_value(&record),
        ..TaskTotals::default()
    };
    let totals = PhaseTotals {
        name: kind.to_owned(),
        began_ns: end.began_ns,
        wall_ns: end.wall_ns + end.sync_ns,
        ..PhaseTotals::default()
    };
    ReportedPhase { totals, tasks: vec![task] }
}

impl Session for CommandSession<'_> {
    /// Runs the prepare command, the measured command and the cleanup command. The cleanup runs
    /// even if one of the others failed.
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        let mut result = Ok(());
        if let Some(text) = &self.job.prepare {
            result = self.run_program(PREPARE, by_shell(text), conductor)?;
        }
        if result.is_ok() {
            result = self.run_program(COMMAND, self.job.words.clone(), conductor)?;
        }
        if let Some(text) = &self.job.cleanup {
            let cleaned_up = self.run_program(CLEANUP, by_shell(text), conductor)?;
            result = result.and(cleaned_up);
        }
        Ok(result?)
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.metrics.clone()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.cautions.clone()
    }

    /// Empty: files made by the command belong to the user, and only the cleanup command removes
    /// them.
    fn remains(&self) -> Vec<String> {
        Vec::new()
    }
}

fn why_failed(end: &ProgramEnd) -> Option<String> {
    match (&end.not_started, end.code, end.signal) {
        (Some(why), ..) => Some(format!("cannot be started: {why}")),
        (None, Some(0), _) => None,
        (None, Some(code), _) => Some(format!("exit code {code}")),
        (None, None, Some(signal)) => Some(format!("ended by signal {signal}")),
        (None, None, None) => Some("ended by a signal".to_owned()),
    }
}

/// Last lines of a program's output, with control characters escaped.
fn last_lines(text: &str) -> String {
    let mut lines: Vec<String> = text
        .rsplit(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(WORDS_LINES_MAX)
        .map(|line| {
            line.chars().take(WORDS_CHARS_MAX).collect::<String>().escape_debug().to_string()
        })
        .collect();
    lines.reverse();
    lines.join("; ")
}

/// Shortens a long text in the middle.
fn shortened(text: &str) -> String {
    let Some((head, _)) = text.char_indices().nth(KEPT_CHARS) else { return text.to_owned() };
    let Some((tail, _)) = text.char_indices().rev().nth(KEPT_CHARS - 1) else {
        return text.to_owned();
    };
    if tail <= head {
        return text.to_owned();
    }
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}
