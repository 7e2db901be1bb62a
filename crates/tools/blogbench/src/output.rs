//! blogbench's own way to run and to speak: how it is run, a row each interval, two scores.

use std::io;
use std::path::{Path, PathBuf};

use treering_model::{CautionCode, Counters, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MakeRoots, Said, Settings, Witness,
};

use super::config::{Config, Role};
use super::counts::{Count, Sums};
use super::options::Classic;
use super::session::BENCHMARK;
use super::text::{opening, row, scores, starting};
use treering_kit::cautions;

/// The directory, as it was named.
pub(super) fn directory(options: &Classic) -> Result<String, ConfigError> {
    let named = options.directory.clone().filter(|named| !named.is_empty());
    named.ok_or_else(|| ConfigError::new("Missing scratch directory (--directory=... option).\n"))
}

/// The original makes no directory.
fn enter(directory: &str) -> Result<(), ConfigError> {
    let why = match std::fs::metadata(directory) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "Not a directory".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            "No such file or directory".to_owned()
        }
        Err(error) => error.to_string(),
    };
    Err(ConfigError::new(format!("Unable to enter the scratch dir [{directory}]: [{why}]")))
}

/// How a classic command line is run.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let options = Classic::read(settings)?;
    let config = Config::classic(&options)?;
    let directory = directory(&options)?;
    if !settings.files.are_recorded() {
        enter(&directory)?;
    }
    Ok(ClassicMode {
        roots: vec![PathBuf::from(&directory)],
        make_roots: MakeRoots::OneLevel,
        log: None,
        times_all: false,
        seed: config.reads.seed,
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(Output { config, directory, so_far: Sums::default() }),
    })
}

struct Output {
    config: Config,
    directory: String,
    /// When the last row was printed.
    so_far: Sums,
}

fn out(words: String) -> Said {
    Said { out: words, ..Said::default() }
}

impl Output {
    fn row(&mut self, counters: &Counters) -> Said {
        let Some(sums) = counters.read::<Sums>() else { return Said::default() };
        let since = sums.since(self.so_far);
        self.so_far = sums;
        out(row(&sums, &since))
    }

    fn scores(&self) -> Said {
        let anew = self.so_far.of(Count::Anew);
        let err = if anew == 0 {
            String::new()
        } else {
            format!(
                "treering: {anew} blogs were written in place of older ones, to keep the room \
                 that --max-size gives them\n"
            )
        };
        Said { err, ..out(scores(&self.so_far)) }
    }
}

impl ClassicOutput for Output {
    fn open(&mut self, _scene: &ClassicScene) -> Said {
        out(opening(self.config.sleep_seconds, &self.directory))
    }

    fn refused(&mut self, _error: &ConfigError) -> Said {
        // The original refuses nothing: who runs it says why.
        Said::default()
    }

    fn hear(&mut self, event: &TrialEvent, _witness: &mut dyn Witness) -> Said {
        match event {
            TrialEvent::PhaseBegan { name, .. } if name == BENCHMARK => {
                let Config { iterations, sleep_seconds, .. } = self.config;
                let threads = Role::ALL.map(|role| (self.config.threads_of(role), role.plural()));
                out(starting(&threads, iterations, sleep_seconds))
            }
            TrialEvent::Ticked { counters, .. } => self.row(counters),
            // Also when it failed: what was done before is not lost.
            TrialEvent::PhaseEnded(phase) if phase.name == BENCHMARK => self.scores(),
            TrialEvent::Cautioned(caution) => {
                cautions::reported(caution, &[CautionCode::MayNotFit])
            }
            _ => Said::default(),
        }
    }

    fn close(&mut self, _signal: Option<i32>) -> Said {
        Said::default()
    }
}

/// The full path of a directory.
pub(super) fn full(directory: &str) -> String {
    let path = Path::new(directory);
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    full.to_string_lossy().into_owned()
}
