//! Classic mode of fs_mark: a header and a row for each iteration, on standard output and in the
//! log.

use std::path::Path;

use treering_model::{CautionCode, Ending, TaskTotals, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    Settings, StatfsSpace, ToolOutput, UnusableDirectory,
};

use super::account::FileCounters;
use super::config::ClassicConfig;
use super::text::{HeaderParams, ResultRow, closing, header};
use treering_kit::cautions;

/// Output of a classic command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let config = ClassicConfig::read(settings)?;
    Ok(ClassicMode {
        roots: config.dirs.clone(),
        make_roots: MissingRootPolicy::OneLevel,
        log: Some(config.log.clone()),
        times_all: true,
        seed: config.shape.seed,
        // The version after 3.3 finishes its iteration and ends well.
        signal_exit: 0,
        catches_sigint: true,
        output: Box::new(FsMarkOutput {
            config,
            present: Vec::new(),
            expected: 0,
            count: 0,
            rates: Vec::new(),
        }),
    })
}

struct FsMarkOutput {
    config: ClassicConfig,
    /// Counters of the workers that have ended the current iteration.
    present: Vec<FileCounters>,
    expected: usize,
    /// Number of files so far.
    count: u64,
    /// Files/sec of each row.
    rates: Vec<f64>,
}

impl FsMarkOutput {
    fn task(&mut self, task: &TaskTotals) {
        self.present.extend(task.counters.read::<FileCounters>());
    }

    fn row(&mut self, witness: &mut dyn OutputContext) -> ToolOutput {
        let present = std::mem::take(&mut self.present);
        // An iteration of which a worker is missing is none: the failure is reported elsewhere.
        if present.is_empty() || present.len() < self.expected {
            return ToolOutput::default();
        }
        if present.iter().any(|counters| counters.no_room) {
            // The closing text replaces the row.
            return ToolOutput::default();
        }
        let row = ResultRow::from_workers(&present);
        self.count += row.files;
        self.rates.push(row.files_per_second);
        let used = witness.room().map_or(0, used_percent);
        let size = self.config.shape.bytes;
        ToolOutput::to_stdout_and_log(row.line(used, self.count, size, self.config.verbose))
    }
}

/// Percentage of space not available to users, rounded down.
fn used_percent(room: StatfsSpace) -> u64 {
    let used = u128::from(room.capacity_bytes.saturating_sub(room.free_bytes));
    let percent = (used * 100).checked_div(room.capacity_bytes.into()).unwrap_or(0);
    u64::try_from(percent).unwrap_or(100)
}

impl ClassicOutput for FsMarkOutput {
    fn open(&mut self, scene: &ClassicScene) -> ToolOutput {
        let ClassicConfig { shape, verbose, .. } = &self.config;
        let params = HeaderParams {
            bytes: shape.bytes,
            write_bytes: shape.write_bytes,
            name_bytes: shape.name_bytes,
            random_bytes: shape.random_bytes,
            sync: shape.sync,
            policy: shape.policy,
            workers: shape.workers,
        };
        let text = |is_log| header(&scene.words, &scene.started, &params, *verbose, is_log);
        ToolOutput { out: text(false), log: text(true), ..ToolOutput::default() }
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let UnusableDirectory { path, why, is_there, .. } = *lacking;
        // If the root is not a directory, the first failing call is that of the file.
        let err = if is_there {
            format!("Error in creat: {why}\n")
        } else {
            format!("fill_dir:mkdir {} failed: {why}\n", path.display())
        };
        ToolOutput { err, ..self.open(scene) }
    }

    fn without_log(&mut self, log: &Path, why: &str) -> ToolOutput {
        let err = format!("fs_mark: failed to fopen log file: {} {why}\n", log.display());
        ToolOutput { err, ..ToolOutput::default() }
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput { out: format!("{}\n", error.message), ..ToolOutput::default() }
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { .. } => {
                self.present.clear();
                self.expected = usize::from(self.config.shape.workers);
                ToolOutput::default()
            }
            TrialEvent::TaskEnded(task) => {
                self.task(task);
                ToolOutput::default()
            }
            TrialEvent::PhaseEnded(_) => self.row(witness),
            TrialEvent::Ended { ending: Ending::Failed { why }, .. }
                if why.starts_with("Insufficient free space") =>
            {
                ToolOutput::to_stdout(format!("{why}\n"))
            }
            TrialEvent::Cautioned(caution) => {
                cautions::reported(caution, &[CautionCode::NamesCollided])
            }
            _ => ToolOutput::default(),
        }
    }

    fn close(&mut self, _signal: Option<i32>) -> ToolOutput {
        if !self.config.summary {
            return ToolOutput::default();
        }
        ToolOutput::to_stdout(format!("\n{}", closing(&self.rates)))
    }
}

#[cfg(test)]
mod tests {
    use super::used_percent;
    use treering_script::StatfsSpace;

    #[test]
    fn reserved_space_counts_as_used() {
        let room = |capacity_bytes, free_bytes| StatfsSpace {
            capacity_bytes,
            free_bytes,
            unused_bytes: free_bytes,
            inodes: None,
        };
        assert_eq!(used_percent(room(1000, 941)), 5);
        assert_eq!(used_percent(room(1000, 0)), 100);
        assert_eq!(used_percent(room(0, 0)), 0);
        assert_eq!(used_percent(room(u64::MAX, 1)), 99);
    }
}
