//! Classic mode of ior: a header, a line for each test, and a summary.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::classic::json;
use crate::classic::text::{SUMMARY, footer, header};
use treering_kit::space::wrong_data;
use treering_model::{Ending, TrialEvent};
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    Settings, ToolOutput, UnusableDirectory,
};

use super::config::{ClassicConfig, OutputFormat};
use super::script;
use super::session::SETUP;
use super::shape::IoInterface;
use super::test_output::TestOutput;
use treering_kit::cautions;
use treering_kit::ranks::ABORTED;

/// Output of a classic command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let configs = script::tests(settings)?;
    // As with the original, the last test decides for all.
    let directives = configs.last().map(|last| last.directives.clone()).unwrap_or_default();
    let roots = configs.first().map(|first| first.directories.clone()).unwrap_or_default();
    let notes = configs.iter().flat_map(notes).collect();
    let tests = (0..).zip(configs);
    let tests = tests.map(|(id, test)| TestOutput::new(id, test, directives.format, settings));
    Ok(ClassicMode {
        roots,
        make_roots: MissingRootPolicy::Never,
        log: None,
        times_all: true,
        seed: 1,
        signal_exit: 130,
        catches_sigint: false,
        output: Box::new(IorOutput {
            tests: tests.collect(),
            begun: 0,
            ended_part: None,
            format: directives.format,
            summary_file: directives.summary_file.map(PathBuf::from),
            machine: settings.machine.name.clone(),
            kept: String::new(),
            notes,
            scene: ClassicScene::default(),
        }),
    })
}

/// Lines about what a test does in another way than the original.
fn notes(config: &ClassicConfig) -> impl Iterator<Item = &'static str> {
    let is_mpiio = config.shape.interface == IoInterface::Mpiio;
    let goes_on = config.options.barriers && config.is_launched;
    let mpiio = "treering: -a MPIIO: each transfer is one call of POSIX at its offset\n";
    let barriers = "treering: -g: ranks of a launcher go on without waiting for one another\n";
    let wears = config.shape.wears_out && config.shape.wall_seconds.is_none();
    let wear =
        "treering: -O stoneWallingWearOut without -D: no time ends a test; ior 4.1 refuses it\n";
    let notes = [(is_mpiio, mpiio), (goes_on, barriers), (wears, wear)];
    notes.into_iter().filter_map(|(holds, note)| holds.then_some(note))
}

struct IorOutput {
    tests: Vec<TestOutput>,
    /// Number of tests that have begun.
    begun: usize,
    /// Phase that ended last; its results are held back until the run is known to have succeeded in
    /// it.
    ended_part: Option<String>,
    format: OutputFormat,
    summary_file: Option<PathBuf>,
    machine: String,
    /// Text for the summary file.
    kept: String,
    /// Lines for standard error about what is done in another way than asked for.
    notes: BTreeSet<&'static str>,
    scene: ClassicScene,
}

impl IorOutput {
    /// Text for standard output, or for the summary file if one is named.
    fn output_text(&mut self, text: String) -> ToolOutput {
        if self.summary_file.is_some() {
            self.kept += &text;
            return ToolOutput::default();
        }
        ToolOutput::to_stdout(text)
    }

    /// The test to which a phase of this name belongs.
    fn of_phase(&self, name: &str) -> usize {
        let is_of = |test: &TestOutput| name.starts_with(&test.config.shape.prefix);
        self.tests.iter().position(is_of).unwrap_or(0)
    }

    fn present(&mut self) -> Option<&mut TestOutput> {
        self.tests.get_mut(self.begun.checked_sub(1)?)
    }

    /// Begins all tests up to this one; returns their headers.
    fn begin(&mut self, test: usize, witness: &mut dyn OutputContext) -> String {
        let mut text = String::new();
        while self.begun <= test && self.begun < self.tests.len() {
            text += &self.present().map(TestOutput::end).unwrap_or_default();
            let room = witness.room();
            text += &self.tests[self.begun].begin(&witness.time(), room);
            self.begun += 1;
        }
        text
    }

    fn phase_began(&mut self, name: &str, witness: &mut dyn OutputContext) -> ToolOutput {
        let before = self.part_ended();
        let test = self.of_phase(name);
        let text = self.begin(test, witness);
        if let Some(present) = self.present() {
            present.phase_began();
        }
        let begun = self.output_text(text);
        ToolOutput { out: before.out + &begun.out, ..before }
    }

    /// Output of the last part, once it is known to have succeeded.
    fn part_ended(&mut self) -> ToolOutput {
        let Some(name) = self.ended_part.take() else { return ToolOutput::default() };
        let present = self.present();
        let told = present.map(|test| (test.part_ended(&name), test.operation_files(&name)));
        let (text, files) = told.unwrap_or_default();
        ToolOutput { files, ..self.output_text(text) }
    }

    fn ended(&mut self, now: &str) -> ToolOutput {
        let text = match self.format {
            OutputFormat::Text => {
                let last = self.present().map(TestOutput::end).unwrap_or_default();
                let lines: String = self.tests.iter().map(TestOutput::summary).collect();
                last + SUMMARY + &lines + &footer(now)
            }
            OutputFormat::Csv => String::new(),
            OutputFormat::Json => self.document(now),
        };
        let wrong = self.tests.iter().map(|test| test.wrong).sum();
        let mut printed = self.output_text(text);
        if wrong > 0 {
            printed.out += &wrong_data(wrong);
        }
        if let Some(path) = &self.summary_file {
            printed.files.push((path.clone(), self.kept.clone().into_bytes()));
        }
        for test in &self.tests {
            printed.files.extend(test.rank_details());
            if let (Some(path), Some(most)) =
                (&test.config.directives.status_file, test.most_written())
            {
                printed.files.push((PathBuf::from(path), most.to_string().into_bytes()));
            }
        }
        printed
    }

    fn document(&self, now: &str) -> String {
        let run = json::RunInfo {
            started: &self.scene.started,
            finished: now,
            words: &self.scene.words,
            machine: &self.machine,
        };
        let tests: Vec<_> = self.tests.iter().map(TestOutput::run).collect();
        json::document(&run, &tests)
    }
}

impl ClassicOutput for IorOutput {
    fn open(&mut self, scene: &ClassicScene) -> ToolOutput {
        self.scene = scene.clone();
        let mut text = match self.format {
            OutputFormat::Text => header(&scene.started, &scene.words, &self.machine),
            OutputFormat::Csv | OutputFormat::Json => String::new(),
        };
        if let Some(first) = self.tests.first_mut() {
            text += &first.begin(&scene.started, scene.rooms.first().copied());
            self.begun = 1;
        }
        let err = self.notes.iter().copied().collect();
        ToolOutput { err, ..self.output_text(text) }
    }

    fn without_directory(
        &mut self,
        scene: &ClassicScene,
        lacking: &UnusableDirectory<'_>,
    ) -> ToolOutput {
        let file = self.tests.first().map(TestOutput::first_file).unwrap_or_default().to_owned();
        let mut printed = self.open(scene);
        printed.out += self.present().map(TestOutput::table).unwrap_or_default();
        printed.err += &format!("ERROR: open64(\"{file}\") failed: {}\n", lacking.why);
        printed
    }

    /// Exit code after `MPI_Abort`, with which the original ends all ranks.
    fn exit_code(&self) -> Option<u8> {
        Some(ABORTED)
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput { out: format!("ERROR: {}\n", error.message), ..ToolOutput::default() }
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { name, .. } => self.phase_began(name, witness),
            // What a test finds is told before its table, what it does behind the head of it.
            TrialEvent::TaskBegan { kind, .. } if kind != SETUP => {
                let text = self.present().map(TestOutput::table).unwrap_or_default();
                self.output_text(text.to_owned())
            }
            TrialEvent::TaskEnded(task) => {
                let text = self.present().map(|present| present.task(task));
                self.output_text(text.unwrap_or_default())
            }
            TrialEvent::PhaseEnded(phase) => {
                self.ended_part = Some(phase.name.clone());
                ToolOutput::default()
            }
            TrialEvent::Ended { ending: Ending::Completed, .. } => {
                let before = self.part_ended();
                let ended = self.ended(&witness.time());
                let files = [before.files, ended.files].concat();
                ToolOutput { out: before.out + &ended.out, files, ..ended }
            }
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => ToolOutput::default(),
        }
    }
}
