//! Classic mode of fio: the list of jobs, the messages of the layout, and the report.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::classic::text::{Format, ReportContext, report};
use crate::language::{Direction, Section, show};
use treering_model::{Counters, Ending, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, DiskCounts, MissingRootPolicy,
    OutputContext, Settings, StatfsSpace, ToolOutput, UnusableDirectory,
};

use super::job::{read_jobs, shown_command};
use super::layout::{LayoutCounters, LayoutOutcome};
use super::options::{CLASSIC, WARNINGS_FATAL};
use super::run_plan::RunPlan;
use super::session::LAYOUT;
use super::status::{seconds_left, so_far};
use super::tally::{Tally, VerifyError};
use super::verify::{state, state_name};
use treering_kit::cautions;

/// Classic mode of a command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let (_, jobs) = read_jobs(settings, CLASSIC)?;
    let only_says = match (settings.flag("showcmd"), settings.flag("parse-only")) {
        (true, _) => Some(shown_command(settings)?),
        (false, true) => Some(String::new()),
        (false, false) => None,
    };
    let formats = formats(settings)?;
    let terse = settings.choice(CLASSIC, "terse-version")?;
    let terse_version = terse.and_then(|word| word.parse().ok()).unwrap_or(3);
    check(settings, &jobs)?;
    let shown = settings.flag("show-options").then(|| show(&jobs));
    let plan = RunPlan::classic(settings, jobs)?;
    // The original makes the directories of files, but none of those that are named as such. A
    // slash in the name of a job is part of the names of its files.
    let names_directory = plan.jobs.iter().any(|job| {
        let is_beneath = job.heading.title.contains('/') && job.filenames.is_empty();
        !job.directories.is_empty() && !is_beneath
    });
    let mut roots: Vec<PathBuf> = plan.namespace.directories.iter().map(PathBuf::from).collect();
    if roots.is_empty() {
        // All files are devices.
        roots.push(PathBuf::from("."));
    }
    let output = settings.text("output").map(|output| settings.file(output));
    Ok(ClassicMode {
        roots,
        make_roots: if names_directory {
            MissingRootPolicy::Never
        } else {
            MissingRootPolicy::OneLevel
        },
        log: output.clone(),
        times_all: true,
        seed: 1,
        signal_exit: 128,
        catches_sigint: true,
        output: Box::new(Output {
            done: vec![None; plan.workers.len()],
            plan,
            formats,
            terse_version,
            shown,
            into_file: output.is_some(),
            started_unix_ms: settings.started_unix_ms,
            process: settings.machine.process,
            laid_out: 0,
            reported: false,
            only_says,
            names_directory,
            before: None,
            base: settings.base_dir.clone().unwrap_or_default(),
        }),
    })
}

/// Checks the jobs against `--warnings-fatal` and `--readonly`.
fn check(settings: &Settings, jobs: &[Section]) -> Result<(), ConfigError> {
    let mut warnings = jobs.iter().flat_map(|job| &job.extras.warnings);
    if let Some(warning) = warnings.next().filter(|_| settings.flag(WARNINGS_FATAL)) {
        return Err(ConfigError::new(warning.text()).hint("or leave --warnings-fatal out"));
    }
    let changes = |job: &&Section| job.rw.writes || job.rw.trims;
    let writes = jobs.iter().find(changes).filter(|_| settings.flag("readonly"));
    match writes {
        None => Ok(()),
        Some(job) => {
            let what = format!("--readonly: [{}] writes or trims", job.name.escape_debug());
            Err(ConfigError::new(what).hint("leave --readonly out, or write rw=read"))
        }
    }
}

fn formats(settings: &Settings) -> Result<Vec<Format>, ConfigError> {
    if settings.flag("minimal") {
        return Ok(vec![Format::Terse]);
    }
    let text = settings.text_or_default(CLASSIC, "output-format").unwrap_or_default();
    let parse_format = |word: &str| {
        let format = Format::NAMES.iter().find(|(name, _)| *name == word.trim());
        format.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
            ConfigError::new(format!("--output-format: '{}' is no form", word.escape_debug()))
                .hint(format!("forms are {}", names.join(", ")))
        })
    };
    let mut formats = text.split(',').map(parse_format).collect::<Result<Vec<_>, _>>()?;
    formats.extend(settings.flag("append-terse").then_some(Format::Terse));
    formats.sort_unstable();
    formats.dedup();
    if formats.contains(&Format::JsonPlus) {
        // As in the original, one document is both.
        formats.retain(|format| *format != Format::Json);
    }
    Ok(formats)
}

struct Output {
    plan: RunPlan,
    done: Vec<Option<Tally>>,
    formats: Vec<Format>,
    terse_version: u64,
    /// Listing of every option, if requested.
    shown: Option<String>,
    into_file: bool,
    started_unix_ms: u64,
    process: u32,
    laid_out: usize,
    reported: bool,
    /// Complete output of a command line that runs nothing.
    only_says: Option<String>,
    /// True if a job names a directory, beside its files.
    names_directory: bool,
    /// Disk counters at the start of the run, and the time of reading them in milliseconds.
    before: Option<(DiskCounts, u64)>,
    /// Base directory of relative paths.
    base: PathBuf,
}

impl Output {
    fn say(&self, words: String) -> ToolOutput {
        if self.into_file {
            ToolOutput { log: words, ..ToolOutput::default() }
        } else {
            ToolOutput::to_stdout(words)
        }
    }

    /// Warnings about the jobs, for standard output or for standard error.
    fn warnings(&self, for_output: bool) -> String {
        let warnings = self.plan.jobs.iter().flat_map(|job| &job.extras.warnings);
        let warnings = warnings.filter(|warning| warning.is_for_output() == for_output);
        warnings.flat_map(|warning| [warning.text(), "\n"]).collect()
    }

    /// Text that only the normal format contains.
    fn in_normal_format(&self, words: impl FnOnce() -> String) -> ToolOutput {
        if self.formats.contains(&Format::Normal) {
            self.say(words())
        } else {
            ToolOutput::default()
        }
    }

    /// Reports the verification errors of a clone, and dumps the blocks if requested.
    fn report_verify_errors(
        &self,
        said: &mut ToolOutput,
        number: usize,
        complaints: &[VerifyError],
    ) {
        let worker = &self.plan.workers[number];
        for VerifyError { text, file, dumps } in complaints {
            said.err.push_str(text);
            let Some((at, received, expected)) = dumps else { continue };
            let file = usize::try_from(*file).unwrap_or(usize::MAX);
            let name = worker.spelled_file(file);
            let name = name.rsplit('/').next().unwrap_or_default();
            for (what, bytes) in [("received", received), ("expected", expected)] {
                let path = format!("{name}.{at}.{what}");
                said.err.push_str(&format!("       {what} data dumped as {path}\n"));
                said.files.push((self.settled(&path), bytes.clone()));
            }
        }
    }

    /// Writes the verify state file of a clone with verifiable writes.
    fn save_state(&self, said: &mut ToolOutput, number: usize, tally: &Tally) {
        let job = &self.plan.workers[number].job;
        let verify = &job.extras.verify;
        if verify.kind.is_none() || !verify.saves_state || !job.rw.writes {
            return;
        }
        let writes = tally.directions[Direction::Write.place()].requests;
        let content = state(&job.name, number, [job.depth, job.files, writes]);
        said.files.push((self.settled(&state_name(&job.name, number)), content));
    }

    /// Resolves a path against the directory in which the run was started.
    fn settled(&self, path: &str) -> PathBuf {
        self.base.join(path)
    }

    fn task_ended(&mut self, task: &TaskTotals) -> ToolOutput {
        if task.phase > 0 {
            let batch = usize::try_from(task.phase - 1).unwrap_or(usize::MAX);
            let worker = self.plan.batch(batch).nth(usize::from(task.worker));
            if let (Some((number, _)), Some(tally)) = (worker, Tally::read(&task.counters)) {
                let (user_ns, system_ns) = (task.cpu.user_ns, task.cpu.system_ns);
                let mut tally = Tally { user_ns, system_ns, ..tally };
                let mut output = ToolOutput::default();
                self.report_verify_errors(
                    &mut output,
                    number,
                    &std::mem::take(&mut tally.complaints),
                );
                self.save_state(&mut output, number, &tally);
                self.done[number] = Some(tally);
                return output;
            }
            return ToolOutput::default();
        }
        if task.kind != LAYOUT {
            return ToolOutput::default();
        }
        let worker = self.plan.workers.get(self.laid_out);
        let laid_out = task.counters.read::<LayoutCounters>();
        let made = |became| matches!(became, LayoutOutcome::Made | LayoutOutcome::Failed(_));
        let is_made = laid_out.is_some_and(|laid_out| made(laid_out.became));
        self.laid_out += 1;
        let Some(worker) = worker.filter(|_| is_made) else {
            return ToolOutput::default();
        };
        let files = worker.files.len();
        let (name, some) = (&worker.job.name, if files == 1 { "file" } else { "files" });
        let mib = worker.job.stated_bytes() >> 20;
        self.in_normal_format(|| {
            let what = if files == 1 { "IO file" } else { "IO files" };
            format!("{name}: Laying out {what} ({files} {some} / {mib}MiB)\n")
        })
    }

    /// Disk counters since the start and the elapsed milliseconds; `None` if a job disables the
    /// report.
    fn disk(&self, elapsed_ms: u64, witness: &mut dyn OutputContext) -> Option<(DiskCounts, u64)> {
        let is_off = |(key, value): &(String, String)| key == "disk_util" && value == "0";
        let mut jobs = self.plan.jobs.iter();
        if jobs.clone().all(|job| !job.engine.reports_disk()) {
            return None;
        }
        if jobs.any(|job| job.given.iter().chain(&job.given_globally).any(is_off)) {
            return None;
        }
        let (before, began_ms) = self.before.as_ref()?;
        let now = witness.disk().filter(|now| now.name == before.name)?;
        Some((now.since(before), elapsed_ms.saturating_sub(*began_ms)))
    }

    /// Formats the final report, unless it was already printed.
    fn report(&mut self, elapsed_ms: u64, witness: &mut dyn OutputContext) -> ToolOutput {
        let is_empty = self.done.iter().all(Option::is_none);
        if is_empty || std::mem::replace(&mut self.reported, true) {
            return ToolOutput::default();
        }
        self.report_of(&self.done, 0, elapsed_ms, witness)
    }

    /// Interim report while jobs are running.
    fn report_so_far(
        &self,
        tick: &Counters,
        elapsed_ms: u64,
        witness: &mut dyn OutputContext,
    ) -> Option<ToolOutput> {
        let now = so_far(&self.done, tick)?;
        let left_s = seconds_left(&self.plan, &self.done, &now);
        Some(self.report_of(&now, left_s, elapsed_ms, witness))
    }

    /// Formats a report of these tallies; `left_s` is the estimated remaining time.
    fn report_of(
        &self,
        done: &[Option<Tally>],
        left_s: u64,
        elapsed_ms: u64,
        witness: &mut dyn OutputContext,
    ) -> ToolOutput {
        let (time, disk) = (witness.time(), self.disk(elapsed_ms, witness));
        let unix_ms = self.started_unix_ms.saturating_add(elapsed_ms);
        let when = ReportContext { process: self.process, unix_ms, time, elapsed_ms, left_s, disk };
        let rows = self.plan.report(done);
        let first = self.plan.jobs.first();
        let reports = self
            .formats
            .iter()
            .map(|format| report(*format, self.terse_version, &rows, first, &when));
        let words = reports.collect::<String>();
        self.say(words)
    }
}

/// Output context before a run: only the planned start time is known.
struct StartContext {
    time: String,
}

impl OutputContext for StartContext {
    fn room(&mut self) -> Option<StatfsSpace> {
        None
    }

    fn time(&mut self) -> String {
        self.time.clone()
    }
}

impl ClassicOutput for Output {
    fn open(&mut self, _scene: &ClassicScene) -> ToolOutput {
        let mut output = self.say(self.warnings(true));
        let normally = self.in_normal_format(|| self.plan.opening());
        output.out.push_str(&normally.out);
        output.log.push_str(&normally.log);
        output.err = self.warnings(false);
        let mut notes: Vec<&str> = Vec::new();
        for note in self.plan.jobs.iter().flat_map(|job| &job.extras.notes) {
            if !notes.contains(&note.as_str()) {
                notes.push(note);
                let _ = writeln!(output.err, "treering: {note}");
            }
        }
        output.err.push_str(&self.shown.take().unwrap_or_default());
        output
    }

    fn log_begins_anew(&self) -> bool {
        true
    }

    /// Drops the tallies of ticks, as the original does: all clones each second would soon be
    /// gigabytes.
    fn keeps_ticks(&self) -> bool {
        false
    }

    fn shares_roots(&self) -> bool {
        true
    }

    fn watched_device(&self) -> Option<&Path> {
        let mut files = self.plan.workers.iter().flat_map(|worker| &worker.files);
        let first = files.next().filter(|file| file.is_device)?;
        Some(Path::new(OsStr::from_bytes(first.name.to_bytes())))
    }

    fn only_says(&self) -> Option<String> {
        self.only_says.clone()
    }

    fn without_directory(
        &mut self,
        plan: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let path = lacking.path.display();
        if self.names_directory {
            let words =
                format!("fio: {path} is not a directory\nfio: failed parsing directory={path}");
            return ToolOutput::err_line(&words);
        }
        let mut output = self.open(plan);
        let errno = u64::from(lacking.errno.unsigned_abs());
        self.done.fill(Some(Tally { errno, ..Tally::default() }));
        let report = self.report(0, &mut StartContext { time: plan.started.clone() });
        output.out += &report.out;
        output.log += &report.log;
        output.err += &format!("fio: pid=0, err={errno}/file:{path}, error={}\n", lacking.why);
        output
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput::err_line(&format!("fio: {}", error.message))
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { phase: 0, at_ns, .. } => {
                self.before = witness.disk().map(|disk| (disk, at_ns / 1_000_000));
                ToolOutput::default()
            }
            TrialEvent::TaskEnded(task) => self.task_ended(task),
            TrialEvent::Ticked { counters, at_ns, .. } => {
                self.report_so_far(counters, at_ns / 1_000_000, witness).unwrap_or_default()
            }
            TrialEvent::Ended { ending, at_ns } => match ending {
                Ending::Completed | Ending::Failed { .. } | Ending::Interrupted => {
                    let is_refused = matches!(ending, Ending::Failed { .. });
                    if is_refused && self.done.iter().all(Option::is_none) {
                        // As the original: jobs whose files cannot be made are reported as well.
                        self.done.fill(Some(Tally::default()));
                    }
                    self.report(at_ns / 1_000_000, witness)
                }
                Ending::Invalid { .. } => ToolOutput::default(),
            },
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => ToolOutput::default(),
        }
    }

    /// Number of failed clones, as in the original; `None` if all succeeded.
    fn exit_code(&self) -> Option<u8> {
        let failed = self.done.iter().flatten().filter(|tally| tally.errno != 0).count();
        (failed > 0).then(|| u8::try_from(failed).unwrap_or(u8::MAX))
    }

    fn close(&mut self, signal: Option<i32>) -> ToolOutput {
        let Some(signal) = signal else { return ToolOutput::default() };
        ToolOutput::err_line(&format!("fio: terminating on signal {signal}"))
    }
}
