//! Classic output: progress, the table, the CSV line.

use treering_model::TrialEvent;
use treering_script::{
    ClassicMode, ClassicOutput, ClassicScene, ConfigError, MissingRootPolicy, OutputContext,
    SemaphoreBarrier, Settings, ToolOutput,
};

use super::config::{ClassicConfig, OutputOptions, TestWait, greeting};
use super::headline::GroupTotals;
use super::meter::TaskMeasurements;
use super::shape::RunShape;
use super::test::Test;
use super::text::{PrintedResult, RunReport, header, line, table};
use treering_kit::cautions;

/// Exit code after a signal.
const SIGNAL_EXIT: u8 = 5;

/// Classic mode for a command line.
pub(super) fn classic_mode(settings: &Settings) -> Result<ClassicMode, ConfigError> {
    let ClassicConfig { shape, output_options, dir, .. } = ClassicConfig::read(settings)?;
    Ok(ClassicMode {
        roots: vec![dir],
        make_roots: MissingRootPolicy::OneLevel,
        log: None,
        times_all: true,
        seed: output_options.label.seed,
        signal_exit: SIGNAL_EXIT,
        catches_sigint: true,
        output: Box::new(BonnieOutput {
            shape,
            output_options,
            begun: 0,
            measured: Default::default(),
        }),
    })
}

struct BonnieOutput {
    shape: RunShape,
    output_options: OutputOptions,
    /// Number of tests begun, over all runs.
    begun: usize,
    /// Sums of the current run's tests.
    measured: [Option<GroupTotals>; Test::COUNT],
}

/// Progress message at the beginning of a test.
fn beginning(test: Test) -> &'static str {
    match test {
        Test::CharWrite => "Writing a byte at a time...",
        Test::BlockWrite => "Writing intelligently...",
        Test::Rewrite => "Rewriting...",
        Test::CharRead => "Reading a byte at a time...",
        Test::BlockRead => "Reading intelligently...",
        Test::Seeks => "start 'em...",
        Test::SequentialCreate => "Create files in sequential order...",
        Test::SequentialStat => "Stat files in sequential order...",
        Test::SequentialDelete => "Delete files in sequential order...",
        Test::RandomCreate => "Create files in random order...",
        Test::RandomStat => "Stat files in random order...",
        Test::RandomDelete => "Delete files in random order...",
    }
}

/// Progress message at the end of a test.
fn ending(test: Test) -> &'static str {
    match test {
        // Each seeker has printed its "done" before.
        Test::Seeks => "\n",
        test if test.is_io() => "done\n",
        _ => "done.\n",
    }
}

impl BonnieOutput {
    /// Test that was begun last.
    fn present(&self) -> Option<Test> {
        let tests = &self.shape.tests;
        let last = self.begun.checked_sub(1)?;
        tests.get(last % tests.len().max(1)).copied()
    }

    /// Progress message, unless `-q` is given.
    fn progress(&self, words: &str) -> ToolOutput {
        if self.output_options.quiet {
            return ToolOutput::default();
        }
        ToolOutput { err: words.to_owned(), ..ToolOutput::default() }
    }

    /// Begins a test, after waiting for a line or for other processes where requested.
    fn begin(&mut self, witness: &mut dyn OutputContext) -> ToolOutput {
        if self.begun.is_multiple_of(self.shape.tests.len()) {
            self.measured = Default::default();
        }
        self.begun += 1;
        let test = self.present();
        match self.output_options.wait {
            TestWait::Nothing => {}
            TestWait::Line => witness.wait_for_line(),
            TestWait::Others => {
                let number = test.and_then(|test| u16::try_from(test.place()).ok());
                witness.meet(number.unwrap_or(0));
            }
        }
        test.map(|test| self.progress(beginning(test))).unwrap_or_default()
    }

    /// Prompt before the next test.
    fn prompt(&self) -> String {
        let tests = &self.shape.tests;
        match tests.get(self.begun % tests.len().max(1)) {
            Some(test) if self.output_options.wait == TestWait::Line => {
                format!("\n{}:\n", test.place())
            }
            _ => String::new(),
        }
    }

    /// Ends a test, and a run after its last test.
    fn end(&mut self) -> ToolOutput {
        let Some(test) = self.present() else { return ToolOutput::default() };
        let progress = self.progress(ending(test));
        let total_tests =
            self.shape.tests.len() * usize::try_from(self.shape.runs).unwrap_or(usize::MAX);
        let results = if self.begun.is_multiple_of(self.shape.tests.len()) {
            self.results()
        } else {
            ToolOutput::default()
        };
        let prompt = if self.begun < total_tests { self.prompt() } else { String::new() };
        ToolOutput {
            out: results.out + &prompt,
            err: progress.err + &results.err,
            ..ToolOutput::default()
        }
    }

    /// Table and CSV line of a run.
    fn results(&self) -> ToolOutput {
        let result = |(measured, test): (&Option<GroupTotals>, Test)| {
            let measured = measured.as_ref()?;
            let longest = measured.longest_ns.unwrap_or(0);
            // Delayed writes count: the closing time may be the longest latency.
            let end = if test.is_io() { measured.closing_ns } else { 0 };
            Some(PrintedResult {
                elapsed_ns: measured.elapsed_ns(),
                cpu_ns: measured.cpu_ns,
                latency_ns: longest.max(end),
            })
        };
        let mut results = [None; Test::COUNT];
        for (place, pair) in results.iter_mut().zip(self.measured.iter().zip(Test::ALL)) {
            *place = result(pair);
        }
        let report = RunReport {
            asked: &self.shape.parameters(),
            label: &self.output_options.label,
            results,
        };
        let (table, line) = (table(&report), line(&report));
        match (self.output_options.lines_only, self.output_options.quiet) {
            (true, _) => ToolOutput::to_stdout(line),
            (false, true) => ToolOutput { out: line, err: table, ..ToolOutput::default() },
            (false, false) => ToolOutput::to_stdout(table + &line),
        }
    }
}

impl ClassicOutput for BonnieOutput {
    fn open(&mut self, _scene: &ClassicScene) -> ToolOutput {
        let greeting = self
            .output_options
            .greeting
            .map(|identity| greeting(identity) + "\n")
            .unwrap_or_default();
        let header = match (self.output_options.lines_only, self.shape.runs) {
            (true, 2..) => {
                header(self.output_options.label.csv, self.output_options.label.csv_as_original)
            }
            _ => String::new(),
        };
        ToolOutput { out: header + &self.prompt(), ..self.progress(&greeting) }
    }

    fn refused(&mut self, error: &ConfigError) -> ToolOutput {
        ToolOutput::err_line(&error.message)
    }

    fn hear(&mut self, event: &TrialEvent, witness: &mut dyn OutputContext) -> ToolOutput {
        match event {
            TrialEvent::PhaseBegan { .. } => self.begin(witness),
            TrialEvent::TaskEnded(task) => {
                let Some(test) = self.present().filter(|test| test.name() == task.kind) else {
                    return ToolOutput::default();
                };
                let noted = task.counters.read::<TaskMeasurements>().unwrap_or_default();
                self.measured[test.place()].get_or_insert_default().add(task, &noted);
                if test == Test::Seeks { self.progress("done...") } else { ToolOutput::default() }
            }
            TrialEvent::PhaseEnded(_) => {
                let test = self.present();
                let ended = test.is_some_and(|test| {
                    let done = self.measured[test.place()].as_ref().map_or(0, GroupTotals::tasks);
                    done == u64::from(self.shape.tasks(test))
                });
                // A test with missing tasks has failed, which is reported elsewhere.
                if ended { self.end() } else { self.progress("\n") }
            }
            TrialEvent::Cautioned(caution) => cautions::reported(caution, &[]),
            _ => ToolOutput::default(),
        }
    }

    fn meeting(&self) -> Option<SemaphoreBarrier> {
        self.output_options.meeting
    }
}
