//! Classic mode of dbench: a line each second, the table and the result.

use std::path::PathBuf;

use treering_model::{Ending, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OperationSpans,
    OutputContext, Settings, ToolOutput, UnusableDirectory,
};

use super::account::{ClientAccount, WorkerReport};
use super::load_text::read;
use super::missing::lines;
use super::options::ClassicOptions;
use super::session::PLAY;
use super::text::{self as output, RunResult};
use super::tick::{ProgressTick, ResultTicks};
use crate::language::{OperationKind, parse};
use treering_kit::cautions;

/// Output of a classic command line. Errors in the options were reported when the job was built.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let options = ClassicOptions::resolved(settings)?;
    let processes = options.processes()?;
    let labels = [
        (options.style.sync, "sync open"),
        (options.style.sync_dir, "sync dirs"),
        (options.style.fsync, "fsync"),
    ];
    Ok(ClassicMode {
        roots: vec![settings.file(&options.directory)],
        make_roots: MissingRootPolicy::Never,
        log: None,
        times_all: true,
        seed: options.seed.unwrap_or_default(),
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(DbenchOutput {
            load_path: settings.file(&options.loadfile),
            load: options.loadfile,
            seconds: options.timelimit,
            warmup: options.warmup.unwrap_or_default(),
            processes,
            clients: processes.saturating_mul(options.clients_per_process),
            labels: labels.into_iter().filter(|(is, _)| *is).map(|(_, label)| label).collect(),
            machine: options.machine_readable,
            per_client: options.per_client_results,
            shows_passes: options.show_execute_time,
            once: options.run_once,
            seen: ResultTicks::default(),
            accounts: Vec::new(),
            messages: Vec::new(),
            unreported: 0,
            failing: false,
        }),
    })
}

/// Errno of a read-only filesystem (`EROFS`).
const READ_ONLY: i32 = 30;
/// System message of `ENOENT`.
const MISSING: &str = "No such file or directory";

struct DbenchOutput {
    load_path: PathBuf,
    load: String,
    seconds: u64,
    warmup: u64,
    processes: u32,
    clients: u32,
    labels: Vec<&'static str>,
    machine: bool,
    per_client: bool,
    shows_passes: bool,
    once: bool,
    seen: ResultTicks,
    accounts: Vec<ClientAccount>,
    messages: Vec<String>,
    unreported: u64,
    /// True once a client has failed.
    failing: bool,
}

impl DbenchOutput {
    fn tick(&mut self, tick: ProgressTick) -> ToolOutput {
        self.seen.add_tick(tick);
        ToolOutput::to_stdout(if self.machine {
            output::machine_tick(&tick)
        } else {
            output::tick(&tick)
        })
    }

    fn task_ended(&mut self, task: &TaskTotals) {
        if let Some(account) = WorkerReport::read(&task.counters) {
            self.accounts.extend(account.clients);
            self.messages.extend(account.messages);
            self.unreported += account.unreported;
            self.failing |= account.failure.is_some();
        }
    }

    /// Throughput in MB/s at the latest counted second; without one, up to the end of the run.
    fn megabytes(&self) -> f64 {
        if let Some(tick) = self.seen.decisive(self.once) {
            return tick.megabytes();
        }
        let bytes: u64 = self.accounts.iter().map(|client| client.read + client.written).sum();
        let from_ns = self.accounts.iter().map(|client| client.from_ns).min().unwrap_or_default();
        let to_ns = self.accounts.iter().map(|client| client.to_ns).max().unwrap_or_default();
        let seconds = to_ns.saturating_sub(from_ns) as f64 / 1e9;
        if seconds > 0.0 { bytes as f64 / 1e6 / seconds } else { 0.0 }
    }

    /// Messages of the clients, for standard error.
    fn messages(&mut self) -> String {
        let reported = self.messages.drain(..);
        let mut lines = reported.fold(String::new(), |lines, message| lines + &message + "\n");
        if self.unreported > 0 {
            lines += &format!("and {} more\n", std::mem::take(&mut self.unreported));
        }
        lines
    }

    /// Final report of a successful run.
    fn report(&mut self, wall_ns: u64) -> ToolOutput {
        let mut text = String::new();
        if self.shows_passes {
            for client in &self.accounts {
                let (number, passes) = (client.client, &client.passes);
                let words = if self.machine { output::machine_passes } else { output::passes };
                text += &words(number, passes);
            }
        }
        let measured_ns = self.seen.limit.or(self.seen.latest).map_or(0, |tick| tick.measured_ns);
        let seconds = wall_ns.saturating_sub(measured_ns) as f64 / 1e9;
        let mut spans = OperationSpans::new(OperationKind::COUNT);
        self.accounts.iter().for_each(|client| spans.merge(&client.spans));
        let longest = spans.rows().iter().map(|row| row.longest_ns).max().unwrap_or_default();
        let end = RunResult {
            megabytes: self.megabytes(),
            clients: self.clients,
            processes: self.processes,
            // Without a second that was looked at, the longest operation is all that is known.
            latency_ns: if self.seen.latency_ns == 0 { longest } else { self.seen.latency_ns },
            labels: &self.labels,
        };
        if self.machine {
            text += &output::machine_table(&spans);
            text += &output::machine_result(&end);
        } else {
            text += &output::cleanup(0, seconds);
            text += "\n";
            text += &output::table(&spans);
            text += "\n";
            if self.per_client {
                text += &output::per_client(&self.accounts);
            }
            text += &output::result(&end);
        }
        ToolOutput { out: text, err: self.messages(), ..ToolOutput::default() }
    }

    /// Text of the original when a client cannot go on.
    fn failed(&mut self, why: &str) -> ToolOutput {
        let mut text = String::new();
        if let Some(tail) = why.strip_prefix("client ")
            && let Some((client, line)) = tail.split_once(" failed at line ")
        {
            let line = line.split(':').next().unwrap_or_default();
            text = format!("ERROR: child {client} failed at line {line}\n");
        }
        let err = self.messages();
        ToolOutput { out: text + "Child failed with status 1\n", err, ..ToolOutput::default() }
    }
}

impl ClassicOutput for DbenchOutput {
    fn open(&mut self, _scene: &ClassicScene) -> ToolOutput {
        let header = output::header(self.seconds, &self.load, self.warmup);
        ToolOutput::to_stdout(header + &output::releasing(self.processes))
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        // The original's clients fail of the first file that the load opens there.
        let mut text = self.open(scene).out;
        // The load was read successfully when the job was built.
        let load = read(&self.load_path).ok().and_then(|load| parse(&self.load, &load, None).ok());
        if let Some(load) = load {
            let directory = lacking.path.display().to_string();
            // On a read-only filesystem the directories of the clients are missing.
            let why = if lacking.errno == READ_ONLY { MISSING } else { lacking.why };
            let clients = (0..self.clients).map(|client| lines(&load, &directory, client, why));
            text.extend(clients);
        }
        ToolOutput::to_stdout(text + "Child failed with status 1\n")
    }

    fn always_writes(&self) -> bool {
        true
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput::to_stdout(format!("{}\n", error.message))
    }

    fn hear(&mut self, event: &TrialEvent, _witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::Ticked { counters, .. } => {
                counters.read().map_or_else(ToolOutput::default, |tick| self.tick(tick))
            }
            TrialEvent::TaskEnded(task) => {
                self.task_ended(task);
                ToolOutput::default()
            }
            // A client that could not go on is reported about when the trial ends.
            TrialEvent::PhaseEnded(phase) if phase.name == PLAY => {
                if self.accounts.len() == self.clients as usize && !self.failing {
                    self.report(phase.wall_ns)
                } else {
                    ToolOutput::default()
                }
            }
            TrialEvent::Ended { ending: Ending::Failed { why }, .. } => self.failed(why),
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => ToolOutput::default(),
        }
    }
}
