//! Classic output: lines on standard error, a summary on standard output.

use std::path::PathBuf;

use treering_model::{CautionCode, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ClassicTraces, ConfigError, MissingRootPolicy,
    OutputContext, Settings, ToolOutput, UnusableDirectory,
};

use super::options::ClassicOptions;
use super::plan::INITIAL_CREATE;
use super::text::{ClassicSummary, opening_line, task_line};

/// Classic mode for a command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let options = ClassicOptions::read(settings)?;
    Ok(ClassicMode {
        roots: vec![PathBuf::from(&options.directory)],
        make_roots: MissingRootPolicy::WithParents,
        log: None,
        times_all: false,
        seed: options.seed,
        signal_exit: 1,
        catches_sigint: true,
        output: Box::new(CompilebenchOutput {
            traces: options.trace.map(|prefix| ClassicTraces {
                prefix,
                device: options.device.map(PathBuf::from),
                names: TRACES,
            }),
            directory: options.directory,
            initial_dirs: options.initial_dirs,
            runs: options.runs,
            summary: ClassicSummary::default(),
        }),
    })
}

/// Phases that the original traces, with its names of the traces.
const TRACES: &[(&str, &str)] =
    &[(INITIAL_CREATE, "create-dirs-0"), ("makej compile", "compile-dirs-0")];

struct CompilebenchOutput {
    traces: Option<ClassicTraces>,
    directory: String,
    initial_dirs: u32,
    runs: u32,
    summary: ClassicSummary,
}

impl ClassicOutput for CompilebenchOutput {
    fn open(&mut self, scene: &ClassicScene) -> ToolOutput {
        let line = opening_line(&self.directory, self.initial_dirs, self.runs);
        let made =
            if scene.was_made { format!("creating {}\n", self.directory) } else { String::new() };
        ToolOutput::err_line(&format!("{made}{line}"))
    }

    fn traces(&self) -> Option<ClassicTraces> {
        self.traces.clone()
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let path = lacking.path.display();
        let why = format!("treering: {path}: {}\n", lacking.why);
        if lacking.is_there {
            // The original runs on until its first file.
            return ToolOutput::err_line(&(self.open(scene).err + why.trim_end()));
        }
        ToolOutput::err_line(&format!("creating {}\n{}", self.directory, why.trim_end()))
    }

    fn refused(&mut self, _error: &ConfigError) -> ToolOutput {
        ToolOutput::default()
    }

    fn hear(&mut self, event: &TrialEvent, _witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::TaskEnded(task) => {
                self.summary.add(task);
                task_line(task).map_or_else(ToolOutput::default, |line| ToolOutput::err_line(&line))
            }
            TrialEvent::Cautioned(caution) => match caution.code {
                CautionCode::CachesNotDropped => {
                    ToolOutput::err_line("error on drop caches, will skip it from now on")
                }
                CautionCode::AppendedToExisting
                | CautionCode::MayNotFit
                | CautionCode::NotLocked
                | CautionCode::ConfinedByWalk => {
                    ToolOutput::err_line(&format!("treering: {}", caution.message))
                }
                // Cautions about the machine are in the store: the printed lines stay those of the
                // original.
                _ => ToolOutput::default(),
            },
            _ => ToolOutput::default(),
        }
    }

    fn close(&mut self, signal: Option<i32>) -> ToolOutput {
        let mut output = ToolOutput::to_stdout(self.summary.lines().join("\n"));
        output.out.push('\n');
        if let Some(signal) = signal {
            output.err = format!("caught signal {signal}\n");
        }
        output
    }
}
