//! Classic output: configuration, a row per interval, two scores.

use std::path::PathBuf;

use treering_model::{CautionCode, Counters, Ending, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    Settings, ToolOutput, UnusableDirectory,
};

use super::config::{RunConfig, ThreadRole};
use super::counts::{Counter, CounterSums};
use super::options::ClassicOptions;
use super::session::BENCHMARK;
use super::text::{opening, row, scores, starting};
use treering_kit::cautions;

/// Message of `EROFS`, by which a read-only filesystem is recognised.
const READ_ONLY: &str = "Read-only file system";
/// Errno of a read-only filesystem (`EROFS`).
const READ_ONLY_ERRNO: i32 = 30;

/// Scratch directory as written on the command line.
pub(super) fn directory(options: &ClassicOptions) -> Result<String, ConfigError> {
    let named = options.directory.clone().filter(|named| !named.is_empty());
    named.ok_or_else(|| ConfigError::new("Missing scratch directory (--directory=... option).\n"))
}

/// Classic mode for a command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let options = ClassicOptions::read(settings)?;
    let config = RunConfig::classic(&options)?;
    let directory = directory(&options)?;
    Ok(ClassicMode {
        roots: vec![PathBuf::from(&directory)],
        make_roots: MissingRootPolicy::Never,
        log: None,
        times_all: false,
        seed: config.reads.seed,
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(BlogbenchOutput {
            config,
            directory,
            so_far: CounterSums::default(),
            is_read_only: false,
        }),
    })
}

struct BlogbenchOutput {
    config: RunConfig,
    directory: String,
    /// Counts when the last row was printed.
    so_far: CounterSums,
    /// True if the run failed on a read-only filesystem.
    is_read_only: bool,
}

impl BlogbenchOutput {
    fn row(&mut self, counters: &Counters) -> ToolOutput {
        let Some(sums) = counters.read::<CounterSums>() else { return ToolOutput::default() };
        let since = sums.since(self.so_far);
        self.so_far = sums;
        ToolOutput::to_stdout(row(&sums, &since))
    }

    fn starting(&self) -> String {
        let RunConfig { iterations, sleep_seconds, .. } = self.config;
        let threads = ThreadRole::ALL.map(|role| (self.config.threads_of(role), role.plural()));
        starting(&threads, iterations, sleep_seconds)
    }

    fn scores(&self) -> ToolOutput {
        let anew = self.so_far.count(Counter::Anew);
        let err = if anew == 0 {
            String::new()
        } else {
            format!(
                "treering: {anew} blogs were written in place of older ones, to keep the room \
                 that --max-size gives them\n"
            )
        };
        ToolOutput { err, ..ToolOutput::to_stdout(scores(&self.so_far)) }
    }
}

impl ClassicOutput for BlogbenchOutput {
    fn open(&mut self, _scene: &ClassicScene) -> ToolOutput {
        ToolOutput::to_stdout(opening(self.config.sleep_seconds, &self.directory))
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        if lacking.errno == READ_ONLY_ERRNO {
            self.is_read_only = true;
            let failed = format!("mkdir(): {}\n", lacking.why);
            return ToolOutput::to_stdout(
                self.open(scene).out + &self.starting() + &failed + &scores(&self.so_far),
            );
        }
        let (directory, why) = (&self.directory, lacking.why);
        let words = format!("Unable to enter the scratch dir [{directory}]: [{why}]\n");
        ToolOutput::to_stdout(self.open(scene).out + &words)
    }

    fn always_writes(&self) -> bool {
        true
    }

    fn refused(&mut self, _error: &ConfigError) -> ToolOutput {
        // The original refuses nothing: the caller prints the reason.
        ToolOutput::default()
    }

    fn hear(&mut self, event: &TrialEvent, _witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { name, .. } if name == BENCHMARK => {
                ToolOutput::to_stdout(self.starting())
            }
            TrialEvent::Ticked { counters, .. } => self.row(counters),
            // Scores are printed also after a failure, so that the work done is not lost.
            TrialEvent::PhaseEnded(phase) if phase.name == BENCHMARK => self.scores(),
            TrialEvent::Ended { ending: Ending::Failed { why }, .. } => {
                self.is_read_only = why.contains(READ_ONLY);
                ToolOutput::default()
            }
            TrialEvent::Cautioned(caution) => {
                cautions::reported(caution, &[CautionCode::MayNotFit])
            }
            _ => ToolOutput::default(),
        }
    }

    /// Exit code 0 on a read-only filesystem, as the original does not check its writes.
    fn exit_code(&self) -> Option<u8> {
        self.is_read_only.then_some(0)
    }
}
