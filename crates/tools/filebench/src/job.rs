//! Configured filebench workload: the plan of a file, its demands on the filesystem, and the
//! session.

use std::path::PathBuf;

use treering_model::metrics::rates;
use treering_model::nearest::nearest;
use treering_model::{Caution, Metric, Op, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, ScaleUnit, Session, Settings,
    TargetFacts, WorkScale,
};

use super::draw::whole;
use super::headline::HeadlineSums;
use super::names::{DIRECTORY, directory};
use super::options::{ClassicOptions, NativeOptions, WORKLOAD};
use super::personalities::{find, names};
use super::plan::{FilesetPlan, FlowopKind, Plan, PlanOverrides, ProgramStep, SECONDS_MAX};
use super::session::{BENCHMARK, BeforeRun, BenchSession, RunOptions};
use crate::language::{self, EndCondition, SetupAction, WorkloadScript};
use treering_kit::occupied::{is_numbered, refuse_existing};

/// Longest accepted workload file in bytes.
const BYTES_MAX: u64 = 2 << 20;

/// Parsed and planned workload file.
#[derive(Clone, Debug)]
pub(super) struct ParsedWorkload {
    /// Name of the personality, or absolute path of the file.
    pub(super) named: String,
    pub(super) script: WorkloadScript,
    pub(super) plan: Plan,
    pub(super) warnings: Vec<String>,
}

/// Filebench job with all its settings.
#[derive(Debug)]
pub(super) struct BenchJob {
    parsed_workload: ParsedWorkload,
    run_options: RunOptions,
    request: RunRequest,
}

/// Text and name of a personality or a file.
fn text(settings: &Settings, named: &str, by_name: bool) -> Result<(String, Vec<u8>), ConfigError> {
    if by_name && let Some(text) = find(named) {
        return Ok((named.to_owned(), text.as_bytes().to_vec()));
    }
    let path = settings.file(named);
    let text = settings.files.read(&path, BYTES_MAX).map_err(|error| {
        let shown = named.escape_debug();
        let wrong = ConfigError::new(format!("cannot read the workload file {shown}: {error}"));
        match nearest(named, names()) {
            Some(near) if by_name => wrong.hint(format!("perhaps {near} is meant")),
            _ => {
                let names: Vec<_> = names().collect();
                wrong.hint(format!("personalities are {}; or give a path", names.join(", ")))
            }
        }
    })?;
    let full: PathBuf = std::path::absolute(&path).unwrap_or(path);
    Ok((full.display().to_string(), text))
}

/// Reads and plans the workload that the settings name.
pub(super) fn read_workload(
    settings: &Settings,
    named: &str,
    by_name: bool,
    overrides: &language::VariableOverrides,
    plan_overrides: &PlanOverrides,
) -> Result<ParsedWorkload, ConfigError> {
    let (full, text) = text(settings, named, by_name)?;
    let (script, mut faults) = language::parse(named, &text, overrides)?;
    if script.run.is_none() && plan_overrides.seconds.is_none() {
        let named = named.escape_debug();
        return Err(ConfigError::new(format!("{named}: the file has no run"))
            .hint("end it with a line `run 60`; natively, --seconds 60 does it"));
    }
    let plan = Plan::new(&script, plan_overrides, &mut faults)?;
    Ok(ParsedWorkload { named: full, script, plan, warnings: faults.into_warnings() })
}

/// Parses the classic command line.
pub(super) fn read_classic_workload(
    settings: &Settings,
    options: &mut ClassicOptions,
) -> Result<(ParsedWorkload, RunOptions), ConfigError> {
    let seed = *options.seed.get_or_insert(settings.started_unix_ms);
    let plan_overrides =
        PlanOverrides { sizes: options.interpretation.sizes(), seconds: None, seed };
    let run_options = RunOptions { classic: true, seed, queue: options.interpretation.queue() };
    if options.cvars.is_some() {
        // Nothing is run, so any file will do.
        return Ok((read_workload(settings, "varmail", true, &[], &plan_overrides)?, run_options));
    }
    let Some(named) = options.file.as_deref() else {
        return Err(ConfigError::new("usage: filebench {-f <wmlscript> | -h | -c [cvartype]}"));
    };
    Ok((read_workload(settings, named, false, &[], &plan_overrides)?, run_options))
}

fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// Recorded parameters of the workload file: its variables by name, then its other lines.
fn contents(script: &WorkloadScript) -> Vec<(String, String)> {
    let text = language::text(script);
    let mut lines = 0;
    let with_value =
        |line: &str| match line.strip_prefix("set $").and_then(|set| set.split_once('=')) {
            Some((name, value)) => parameter(&format!("{WORKLOAD}.${name}"), value),
            None => {
                lines += 1;
                parameter(&format!("{WORKLOAD}.line.{lines}"), line)
            }
        };
    text.lines().map(with_value).collect()
}

/// Variables set on the command line.
fn overrides(options: &NativeOptions) -> Result<Vec<(String, String)>, ConfigError> {
    let mut overrides = Vec::new();
    for pair in &options.set {
        let Some((name, value)) = pair.split_once('=') else {
            let shown = pair.escape_debug();
            return Err(ConfigError::new(format!("--set: '{shown}' sets nothing"))
                .hint("write NAME=VALUE, as nfiles=1000"));
        };
        let name = name.trim().trim_start_matches('$');
        overrides.push((name.to_owned(), value.trim().to_owned()));
    }
    for (count, variable) in [(options.files, "nfiles"), (options.threads, "nthreads")] {
        overrides.extend(count.map(|number| (variable.to_owned(), number.to_string())));
    }
    Ok(overrides)
}

impl BenchJob {
    /// Builds the job from the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let (parsed_workload, run_options) = read_classic_workload(settings, &mut options)?;
        options.interpretation.queue = None;
        let mut parameters = vec![parameter(WORKLOAD, &parsed_workload.named)];
        parameters.extend(contents(&parsed_workload.script));
        parameters.extend(options.parameters());
        Ok(Self { parsed_workload, run_options, request: RunRequest::classic(parameters) })
    }

    /// Builds the job from native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        let Some(named) = &options.workload else {
            let names: Vec<_> = names().collect();
            let is_personality = |set: &&String| {
                set.rsplit_once('=').is_some_and(|(_, value)| names.contains(&value))
            };
            // A plan sets keys that are no options as variables, even misspelt ones.
            let misspelt =
                options.set.iter().find(is_personality).map_or_else(String::new, |set| {
                    format!(": `{set}` sets a variable, and the option is called `workload`")
                });
            let message = format!("no workload is given{misspelt}");
            return Err(ConfigError::new(message).hint(format!(
                "treering run filebench NAME --dir DIR, in a plan options = {{ workload = \"NAME\" \
                 }}; personalities are {}; or a file's path",
                names.join(", ")
            )));
        };
        let NativeOptions { seconds, seed, .. } = options;
        let plan_overrides = PlanOverrides { sizes: options.interpretation.sizes(), seconds, seed };
        let overrides = overrides(&options)?;
        let parsed_workload = read_workload(settings, named, true, &overrides, &plan_overrides)?;
        let run_options =
            RunOptions { classic: false, seed, queue: options.interpretation.queue() };
        let mut parameters = vec![parameter(WORKLOAD, &parsed_workload.named)];
        let set = |(name, value): &(String, String)| parameter("set", format!("{name}={value}"));
        parameters.extend(overrides.iter().map(set));
        if !parsed_workload.plan.threads.iter().any(|thread| thread.queued) {
            options.interpretation.queue = None;
        }
        parameters.extend(options.parameters());
        parameters.extend(contents(&parsed_workload.script));
        Ok(Self { parsed_workload, run_options, request: RunRequest::native(parameters) })
    }

    fn plan(&self) -> &Plan {
        &self.parsed_workload.plan
    }
}

/// Approximate number of preallocated files, their bytes, and directories.
fn prepared(fileset: &FilesetPlan) -> (u64, u64, u64) {
    let share = fileset.prealloc.unwrap_or(0) as f64 / 100.0;
    let files = whole((fileset.entries as f64 * share).ceil());
    let bytes = whole(fileset.size.mean() * files as f64);
    let entries = (fileset.entries + fileset.leafdirs) as f64;
    let dirs = whole((entries / fileset.width.mean().max(1.0)).ceil()).saturating_add(2);
    (files, bytes, dirs.saturating_add(fileset.leafdirs))
}

impl Job for BenchJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        refuse_existing(facts, |name| !self.run_options.classic && is_numbered(name, DIRECTORY))?;
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let block = facts.block_bytes.max(1);
        let mut footprint = Footprint::default();
        for fileset in &self.plan().filesets {
            let (files, bytes, dirs) = prepared(fileset);
            let mean = bytes / files.max(1);
            let in_blocks = mean.div_ceil(block).saturating_mul(block).saturating_mul(files);
            footprint.written_files = footprint.written_files.saturating_add(files);
            footprint.written_bytes = footprint.written_bytes.saturating_add(bytes);
            footprint.peak_dirs = footprint.peak_dirs.saturating_add(dirs);
            // Whatever is created during the run, there are never more files than entries.
            footprint.peak_files = footprint.peak_files.saturating_add(fileset.entries);
            footprint.peak_bytes = footprint.peak_bytes.saturating_add(bytes);
            footprint.peak_block_bytes =
                footprint.peak_block_bytes.saturating_add(in_blocks.max(bytes));
        }
        footprint
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        // The outline is the parsed workload file.
        let text = language::text(&self.parsed_workload.script);
        let mut lines: Vec<OutlineLine> = text.lines().map(str::to_owned).collect();
        let mut say = |words: String| lines.push(format!("# {words}"));
        self.parsed_workload.warnings.iter().cloned().for_each(&mut say);
        for (number, fileset) in self.plan().filesets.iter().enumerate() {
            let place = if self.run_options.classic {
                format!("{}/{}", fileset.path, fileset.name).escape_debug().to_string()
            } else {
                directory(number).to_string_lossy().into_owned()
            };
            let (files, bytes, _) = prepared(fileset);
            let entries = fileset.entries;
            say(format!("setup: {place}: about {files} of {entries} files, {bytes} bytes in all"));
        }
        for thread in &self.plan().threads {
            let (process, name) = (thread.process.escape_debug(), thread.name.escape_debug());
            let (count, steps) = (thread.instances, thread.steps.len());
            say(format!("process {process}, thread {name}: {count} threads of {steps} flowops"));
        }
        say(match (self.plan().run_length.seconds, self.plan().run_length.quit) {
            (Some(seconds), EndCondition::Timeout) => format!("for {seconds} seconds"),
            (Some(seconds), _) => format!("until it is done, for {seconds} seconds at most"),
            (None, _) => "until it is done".to_owned(),
        });
        lines
    }

    fn work(&self) -> WorkLimit {
        match self.plan().run_length.quit {
            EndCondition::Timeout => WorkLimit::Timed,
            EndCondition::AllDone | EndCondition::FirstDone => WorkLimit::Drawn,
        }
    }

    fn scale(&self) -> Option<WorkScale> {
        let length = &self.plan().run_length;
        let is_free = !self.run_options.classic && matches!(length.quit, EndCondition::Timeout);
        Some(WorkScale {
            option: "seconds",
            key: None,
            value: length.seconds.filter(|_| is_free)?,
            most: SECONDS_MAX,
            unit: ScaleUnit::Seconds,
            follows: |phase| phase == BENCHMARK,
            sizes: &["seconds"],
        })
    }

    fn times_every_call(&self) -> bool {
        self.run_options.classic || self.plan().histograms
    }

    fn tasks(&self, _facts: &TargetFacts) -> u64 {
        let sleeps = |action: &&SetupAction| matches!(action, SetupAction::Sleep(_));
        let sleeps = self.parsed_workload.script.actions.iter().filter(sleeps).count() as u64;
        let syncs = if self.run_options.classic { u64::from(self.before().syncs) } else { 2 };
        2 * self.plan().filesets.len() as u64 + self.plan().workers() + syncs + sleeps
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        HeadlineSums::foreseen(self.plan())
    }

    fn deciding_sync(&self) -> Option<Op> {
        let is_sync =
            |step: &ProgramStep| matches!(step.kind, FlowopKind::Fsync | FlowopKind::FsyncSet);
        let syncs = self.plan().threads.iter().any(|thread| thread.steps.iter().any(is_sync));
        (!self.run_options.classic && syncs).then_some(Op::Fsync)
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some(rates::OPERATIONS_PER_SECOND.name)
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(BenchSession::new(self.plan(), self.run_options, self.sleeps(), self.before()))
    }
}

impl BenchJob {
    /// Commands of the file before its run.
    fn before(&self) -> BeforeRun {
        let has = |wanted: &SetupAction| self.parsed_workload.script.actions.contains(wanted);
        BeforeRun { syncs: has(&SetupAction::Sync), drops_caches: has(&SetupAction::DropCaches) }
    }

    /// Seconds that the file sleeps before its run.
    fn sleeps(&self) -> u64 {
        use crate::language::{AttributeValue, Variable};
        let number = |value: &AttributeValue| {
            if let AttributeValue::Number(number) = value { *number } else { 0 }
        };
        let slept_seconds = |action: &SetupAction| match action {
            SetupAction::Sleep(variable) => match &variable.value {
                AttributeValue::Variable(name) => {
                    match self.parsed_workload.script.variables.get(name) {
                        Some(Variable::Plain(variable)) => number(&variable.value),
                        _ => 0,
                    }
                }
                value => number(value),
            },
            _ => 0,
        };
        let sleeps = self.parsed_workload.script.actions.iter().map(slept_seconds);
        sleeps.fold(0, u64::saturating_add).min(SECONDS_MAX)
    }
}
