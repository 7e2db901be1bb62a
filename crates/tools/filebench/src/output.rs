//! Classic mode of filebench: lines with the elapsed seconds in front, and the results.

use std::path::PathBuf;

use treering_model::{Counters, Ending, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    Settings, ToolOutput, UnusableDirectory,
};

use super::job::{ParsedWorkload, read_classic_workload};
use super::namespace::roots;
use super::options::ClassicOptions;
use super::session::{ALLOCATION, BENCHMARK, DIRECTORIES, SETUP};
use super::tally::{FlowopCounters, RemainsTreatment, TreeCounters, WorkerReport};
use super::text::report;
use crate::language::{AttributeValue, CUSTOM, SetupAction, Variable};
use treering_kit::cautions;

/// Classic mode of a command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let mut options = ClassicOptions::read(settings)?;
    let (parsed_workload, run_options) = read_classic_workload(settings, &mut options)?;
    let only = options.cvars.as_deref().map(custom_variables).transpose()?;
    let (paths, _) = roots(&parsed_workload.plan);
    let roots: Vec<PathBuf> = match paths.as_slice() {
        // A file without filesets works nowhere.
        [] => vec![PathBuf::from(".")],
        paths => paths.iter().map(PathBuf::from).collect(),
    };
    let rows = parsed_workload.plan.rows.len();
    Ok(ClassicMode {
        roots,
        make_roots: MissingRootPolicy::WithParents,
        log: None,
        times_all: true,
        seed: run_options.seed,
        signal_exit: 1,
        catches_sigint: true,
        output: Box::new(FilebenchOutput {
            parsed_workload,
            only,
            sums: vec![FlowopCounters::default(); rows],
            before: vec![FlowopCounters::default(); rows],
            reported_ns: 0,
            began_ns: None,
            ended_ns: 0,
            reported: false,
            allocating: None,
            filesets_ns: None,
        }),
    })
}

/// Help about custom variables: a list of all, or the parameters of one.
fn custom_variables(wanted: &str) -> Result<String, ConfigError> {
    let names = || CUSTOM.iter().map(|custom| custom.name).collect::<Vec<_>>();
    if wanted == "all" {
        return Ok(format!("Custom variable types:\n{}\n", names().join("\n")));
    }
    let Some(custom) = CUSTOM.iter().find(|custom| custom.name == wanted) else {
        let message = format!("-c: '{}' is no custom variable", wanted.escape_debug());
        return Err(ConfigError::new(message).hint(format!("there are {}", names().join(", "))));
    };
    let rows =
        custom.parameters.iter().map(|(name, default)| format!("\t{name}\t\t{default:.1}\n"));
    let example: Vec<String> =
        custom.parameters.iter().map(|(name, default)| format!("{name}:{default:.1}")).collect();
    Ok(format!(
        "{}\n\tparameter\tdefault\n\t---------\t-------\n{}Example: '{}'\n",
        custom.name,
        rows.collect::<String>(),
        example.join(";")
    ))
}

struct FilebenchOutput {
    parsed_workload: ParsedWorkload,
    /// Complete output of a command line that runs nothing.
    only: Option<String>,
    sums: Vec<FlowopCounters>,
    /// Tallies at the last snapshot and its time, for snapshots that each count from zero.
    before: Vec<FlowopCounters>,
    reported_ns: u64,
    /// Start of the first thread's work, and end of the last one's.
    began_ns: Option<u64>,
    ended_ns: u64,
    reported: bool,
    /// Fileset whose files are being created.
    allocating: Option<String>,
    /// End of the setup phase, held back until it is known whether the setup failed.
    filesets_ns: Option<u64>,
}

/// Formats a line with the elapsed seconds in front.
fn line(at_ns: u64, words: &str) -> String {
    format!("{:.3}: {words}\n", at_ns as f64 / 1e9)
}

/// Differences of the tallies since `before`.
fn since(now: &[FlowopCounters], before: &[FlowopCounters]) -> Vec<FlowopCounters> {
    let difference = |(now, before): (&FlowopCounters, &FlowopCounters)| FlowopCounters {
        count: now.count.saturating_sub(before.count),
        bytes: now.bytes.saturating_sub(before.bytes),
        timed: now.timed.saturating_sub(before.timed),
        total_ns: now.total_ns.saturating_sub(before.total_ns),
        ..now.clone()
    };
    now.iter().zip(before).map(difference).collect()
}

impl FilebenchOutput {
    fn begins_anew(&self) -> bool {
        self.parsed_workload.plan.run_length.period.is_some_and(|(_, anew)| anew)
    }

    fn filesets_begin(&self, at_ns: u64) -> ToolOutput {
        let filesets = self.parsed_workload.plan.filesets.iter();
        let lacking = filesets.filter(|fileset| !fileset.is_file && !fileset.has_width);
        let mut words: String =
            lacking.map(|_| line(at_ns, "Fileset has no directory width")).collect();
        words += &line(at_ns, "Populating and pre-allocating filesets");
        ToolOutput::to_stdout(words)
    }

    fn task_began(&mut self, kind: &str, subject: &str, at_ns: u64) -> ToolOutput {
        if kind != ALLOCATION || self.allocating.as_deref() == Some(subject) {
            return ToolOutput::default();
        }
        self.allocating = Some(subject.to_owned());
        ToolOutput::to_stdout(line(
            at_ns,
            &format!("Pre-allocating files in {} tree", subject.escape_debug()),
        ))
    }

    /// Output after the directories of a fileset were created.
    fn directories(&self, task: &TaskTotals) -> ToolOutput {
        let at_ns = task.began_ns + task.wall_ns;
        let name = task.subject.escape_debug().to_string();
        let planned =
            self.parsed_workload.plan.filesets.iter().find(|fileset| fileset.name == task.subject);
        let Some(fileset) = planned else { return ToolOutput::default() };
        let Some(tree) = task.counters.read::<TreeCounters>() else { return ToolOutput::default() };
        let (bytes, depth) = (tree.bytes, tree.mean_depth);
        let mut words = String::new();
        if !fileset.is_file {
            words += &line(
                task.began_ns,
                &format!(
                    "{name} populated: {} files, avg. dir. width = {:.0}, avg. dir. depth = {depth:.1}, {} \
                 leafdirs, {:.3}MB total size",
                    fileset.entries,
                    fileset.width.mean(),
                    fileset.leafdirs,
                    bytes as f64 / 1_048_576.0
                ),
            );
        }
        if tree.became == RemainsTreatment::Reused {
            words += &line(at_ns, &format!("Reusing existing {name} tree"));
        } else {
            words += &line(task.began_ns, &format!("Removing {name} tree (if exists)"));
            if fileset.prealloc.is_some() {
                words += &line(at_ns, &format!("Pre-allocating directories in {name} tree"));
            }
        }
        ToolOutput::to_stdout(words)
    }

    fn running(&self, at_ns: u64) -> ToolOutput {
        let mut words = String::new();
        let mut processes: Vec<(&str, u64)> = Vec::new();
        for process in &self.parsed_workload.script.processes {
            let name = process.definition.get("name").map(|attribute| &attribute.value);
            if let Some(AttributeValue::Text(name)) = name {
                let instances =
                    process.definition.get("instances").map(|attribute| &attribute.value);
                processes.push((name, instances.map_or(1, |value| self.number(value))));
            }
        }
        for (name, instances) in processes.iter().rev() {
            words +=
                &line(at_ns, &format!("Starting {instances} {} instances", name.escape_debug()));
        }
        ToolOutput::to_stdout(words + &line(at_ns, "Running..."))
    }

    /// Resolves a value to a number, looking up a variable.
    fn number(&self, value: &AttributeValue) -> u64 {
        match value {
            AttributeValue::Number(number) => *number,
            AttributeValue::Variable(name) => match self.parsed_workload.script.variables.get(name)
            {
                Some(Variable::Plain(spanned)) => self.number(&spanned.value),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Adds a task of the benchmark; a sync before it has no report.
    fn add_work(&mut self, task: &TaskTotals) {
        let Some(account) = task.counters.read::<WorkerReport>() else { return };
        let began_ns = self.began_ns.map_or(task.began_ns, |began| began.min(task.began_ns));
        self.began_ns = Some(began_ns);
        self.ended_ns = self.ended_ns.max(task.began_ns + task.wall_ns);
        account.add_to(&mut self.sums);
    }

    fn results(&mut self, sums: &[FlowopCounters], at_ns: u64, elapsed_ns: u64) -> String {
        let (shown, since_ns) = if self.begins_anew() {
            let shown = since(sums, &self.before);
            let since_ns = elapsed_ns.saturating_sub(self.reported_ns);
            self.before = sums.to_vec();
            self.reported_ns = elapsed_ns;
            (shown, since_ns)
        } else {
            (sums.to_vec(), elapsed_ns)
        };
        let plan = &self.parsed_workload.plan;
        let seconds = since_ns as f64 / 1e9;
        let [table, summary] = report(&plan.rows, &shown, seconds, plan.histograms);
        line(at_ns, &table) + &line(at_ns, &summary)
    }

    /// Output at the end of a `psrun` period.
    fn snapshot(&mut self, counters: &Counters, at_ns: u64) -> ToolOutput {
        let Some(account) = counters.read::<WorkerReport>() else { return ToolOutput::default() };
        let mut sums = vec![FlowopCounters::default(); self.sums.len()];
        account.add_to(&mut sums);
        let words = self.results(&sums, at_ns, account.began_ns);
        ToolOutput::to_stdout(words)
    }

    /// Formats the results, unless they were already printed.
    fn report(&mut self, at_ns: u64) -> ToolOutput {
        let Some(began_ns) = self.began_ns.filter(|_| !std::mem::replace(&mut self.reported, true))
        else {
            return ToolOutput::default();
        };
        let elapsed_ns = self.ended_ns.saturating_sub(began_ns);
        let took = (elapsed_ns as f64 / 1e9).round();
        let mut words = line(at_ns, &format!("Run took {took:.0} seconds..."));
        let sums = self.sums.clone();
        words += &self.results(&sums, at_ns, elapsed_ns);
        ToolOutput::to_stdout(words + &line(at_ns, "Shutting down processes"))
    }

    fn failed(why: &str, at_ns: u64) -> ToolOutput {
        let mut words = String::new();
        if let Some((flowop, _)) = why.split_once(" could not obtain a file") {
            words += &line(
                at_ns,
                &format!(
                    "WARNING! Run stopped early:\n                flowop {flowop} could not obtain a \
                     file. Please\n                reduce runtime, increase fileset entries \
                     ($nfiles), or switch modes."
                ),
            );
        }
        let none = "NO VALID RESULTS! Filebench run terminated prematurely";
        ToolOutput::to_stdout(words + &line(at_ns, none))
    }

    /// Lines about the filesets, printed once all of them are known to be made.
    fn filesets_end(&mut self) -> String {
        let Some(at_ns) = self.filesets_ns.take() else { return String::new() };
        let waiting = "Waiting for pre-allocation to finish (in case of a parallel pre-allocation)";
        let done = "Population and pre-allocation of filesets completed";
        line(at_ns, waiting) + &line(at_ns, done)
    }
}

impl ClassicOutput for FilebenchOutput {
    fn only_says(&self) -> Option<String> {
        self.only.clone()
    }

    fn open(&mut self, _scene: &ClassicScene) -> ToolOutput {
        let mut words = String::from("Filebench Version 1.5-alpha3\n");
        for action in &self.parsed_workload.script.actions {
            match action {
                SetupAction::Echo(text) => {
                    // What a file says is text: no control character reaches a terminal.
                    let plain: Vec<String> =
                        text.split('\n').map(|line| line.escape_debug().to_string()).collect();
                    let plain = plain.join("\n").replace("\\\"", "\"").replace("\\'", "'");
                    words += &line(0, &plain);
                }
                SetupAction::Version => words += &line(0, "Filebench Version: 1.5-alpha3"),
                SetupAction::Histograms => words += &line(0, "Latency histogram enabled"),
                SetupAction::ListFilesets => {
                    for fileset in &self.parsed_workload.plan.filesets {
                        let place = format!("{}/{}", fileset.path, fileset.name);
                        words += &line(0, &format!("fileset {}", place.escape_debug()));
                    }
                }
                SetupAction::ListFlowops => {
                    for row in &self.parsed_workload.plan.rows {
                        words += &line(0, &format!("flowop-list {}", row.name.escape_debug()));
                    }
                }
                SetupAction::Sleep(_) => words += &line(0, "Sleeping..."),
                SetupAction::CreateFiles | SetupAction::Sync | SetupAction::DropCaches => {}
            }
        }
        let warn = |lines: String, warning: &String| lines + "treering: " + warning + "\n";
        let err = self.parsed_workload.warnings.iter().fold(String::new(), warn);
        ToolOutput { out: words, err, ..ToolOutput::default() }
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let mut output = self.open(scene);
        output.out += &self.filesets_begin(0).out;
        output.out += &line(0, "Failed to create filesets");
        output.err += &format!("treering: {}: {}\n", lacking.path.display(), lacking.why);
        output
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput::err_line(&error.message)
    }

    fn hear(&mut self, event: &TrialEvent, _witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { name, at_ns, .. } if name == SETUP => {
                self.filesets_begin(*at_ns)
            }
            TrialEvent::PhaseBegan { name, at_ns, .. } if name == BENCHMARK => {
                let before = self.filesets_end();
                let running = self.running(*at_ns);
                ToolOutput::to_stdout(before + &running.out)
            }
            TrialEvent::TaskBegan { kind, subject, .. } => {
                let at_ns = self.ended_ns;
                self.task_began(kind, subject, at_ns)
            }
            TrialEvent::TaskEnded(task) if task.kind == DIRECTORIES => {
                self.ended_ns = task.began_ns + task.wall_ns;
                self.directories(task)
            }
            TrialEvent::TaskEnded(task) if task.kind == ALLOCATION => {
                self.ended_ns = self.ended_ns.max(task.began_ns + task.wall_ns);
                ToolOutput::default()
            }
            TrialEvent::TaskEnded(task) if task.phase > 0 => {
                self.add_work(task);
                ToolOutput::default()
            }
            TrialEvent::Ticked { counters, at_ns, .. } if !counters.is_empty() => {
                self.snapshot(counters, *at_ns)
            }
            TrialEvent::PhaseEnded(phase) => {
                let ended_ns = phase.began_ns + phase.wall_ns;
                if phase.name == SETUP {
                    self.filesets_ns = Some(ended_ns);
                }
                ToolOutput::default()
            }
            TrialEvent::Ended { ending, at_ns } => match ending {
                Ending::Completed => {
                    let before = self.filesets_end();
                    let report = self.report(*at_ns);
                    ToolOutput::to_stdout(before + &report.out)
                }
                Ending::Interrupted => self.report(*at_ns),
                Ending::Failed { why } => Self::failed(why, *at_ns),
                Ending::Invalid { .. } => ToolOutput::default(),
            },
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => ToolOutput::default(),
        }
    }
}
