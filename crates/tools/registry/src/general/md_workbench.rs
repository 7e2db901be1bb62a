//! Outputs of md-workbench, which comes with ior: a line for each phase, and for each iteration of
//! the benchmark.

use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::Log;
use treering_kit::import::number::{nanoseconds, whole};
use treering_kit::import::stretch::LineCursor;
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};
use treering_model::metrics::latency::LATENCY_NANOSECONDS;
use treering_model::metrics::{rates, times};
use treering_model::{ITERATION_PHASE, PhaseTotals, Scope};

/// Name of the program.
const TOOL: &str = "md-workbench";
/// First words of the line about the whole run.
const HEADING: &str = "MD-Workbench total objects: ";
/// Maximum number of foreign lines between two lines of the program.
const GAP_LINES_MOST: usize = 40;
/// Statistics in the brackets of an operation, in their order.
const STATISTICS: [&str; 7] = ["min", "p25", "p50", "p75", "p90", "p99", "max"];
/// Options with paths, which are no parameters.
const PATHS: [&str; 5] = ["o", "output", "L", "latency", "run-info-file"];

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 5] = [
    KnownText {
        line: " process max:",
        numbers: LeftOutNumbers::Named(&["min", "mean", "balance", "stddev", "dsets"]),
        why: "times of the processes, in hundredths of a second, and the number of directories, \
              which is a parameter",
    },
    KnownText {
        line: " dset/s",
        numbers: LeftOutNumbers::At(is_of_directories),
        why: "the rate of directories follows from that of files",
    },
    KnownText {
        line: HEADING,
        numbers: LeftOutNumbers::At(is_time_of_day),
        why: "time of day, without a time zone",
    },
    KnownText { line: "Nodemap: ", numbers: LeftOutNumbers::All, why: "places of the ranks" },
    KnownText {
        line: "Total runtime: ",
        numbers: LeftOutNumbers::All,
        why: "whole seconds with the time around the phases, and the time of day",
    },
];

fn is_of_directories(line: &str, start: usize) -> bool {
    line[start..].split_once(' ').is_some_and(|(_, unit)| unit.starts_with("dset/s"))
}

fn is_time_of_day(line: &str, start: usize) -> bool {
    line[..start].contains(" time: ")
}

/// Importer of the outputs of md-workbench.
pub(super) struct MdWorkbenchImporter;

impl Importer for MdWorkbenchImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let is_near = [HEADING, " process max:", "md-workbench"];
        let text = log.line(at);
        is_near.iter().any(|words| text.contains(words))
            && log.read(at, line).is_some_and(|(line, _)| !matches!(line, OutputLine::End))
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut output = ParsedOutput::default();
        let mut stretch = LineCursor::from(at);
        while stretch.next() < log.len().min(stretch.end() + GAP_LINES_MOST) {
            let next = stretch.next();
            let Some((parsed, count)) = log.read(next, line) else {
                stretch.pass(log);
                continue;
            };
            if output.is_over(&parsed) {
                break;
            }
            let is_last = matches!(parsed, OutputLine::End);
            output.take(parsed);
            stretch.take(log, count);
            if is_last {
                break;
            }
        }
        let (end, mut remarks) = (stretch.end(), stretch.remarks());
        let trial = output.finish(at, &mut remarks);
        ParsedOutputs::new(end, [trial], remarks)
    }
}

/// Parsed line.
#[derive(Clone, Debug, PartialEq)]
enum OutputLine {
    /// Words of the command line.
    Arguments(Vec<String>),
    /// Number of objects, working set in MiB, and version.
    Heading(u64, String, String),
    /// Figures of a phase.
    Phase(PhaseLine),
    /// Last line of the output.
    End,
}

/// Figures of a phase, or of an iteration of the benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
struct PhaseLine {
    name: String,
    /// Time of the slowest process, in seconds.
    longest_s: f64,
    operations_per_second: f64,
    objects: u64,
    objects_per_second: f64,
    mib_per_second: f64,
    /// Longest operation, in seconds.
    worst_s: f64,
    errors: u64,
    stonewall_iterations: Option<u64>,
    waiting_factor: Option<f64>,
    /// Seconds of each kind of operation, as [`STATISTICS`].
    operations: Vec<(String, Vec<f64>)>,
}

fn line(text: &str) -> Option<OutputLine> {
    let text = text.trim();
    if let Some(words) = text.strip_prefix("Args: ") {
        let program = words.split(' ').next()?;
        let is_own = program.rsplit('/').next() == Some(TOOL);
        let arguments = words.split('"').skip(1).step_by(2).map(str::to_owned);
        return is_own.then(|| OutputLine::Arguments(arguments.collect()));
    }
    if let Some(tail) = text.strip_prefix(HEADING) {
        let (objects, tail) = tail.split_once(" workingset size: ")?;
        let (size, tail) = tail.split_once(" MiB (version: ")?;
        let (version, _) = tail.split_once(')')?;
        let heading = OutputLine::Heading(whole(objects)?, size.to_owned(), version.to_owned());
        return Some(heading);
    }
    if text.starts_with("Total runtime: ") {
        return Some(OutputLine::End);
    }
    phase(text).map(OutputLine::Phase)
}

/// Parses `benchmark process max:0.38s … rate:216259.5 iops/s objects:20000 rate:54064.9 obj/s
/// tp:402.3 MiB/s op-max:2.5220e-03s (0 errs) read(2.7010e-06s, …) stat(…)`.
fn phase(text: &str) -> Option<PhaseLine> {
    let (name, tail) = text.split_once(" process max:")?;
    if !["precreate", "benchmark", "cleanup"].contains(&name) {
        return None;
    }
    let longest_s = seconds(tail.split(' ').next()?)?;
    let mut phase = PhaseLine { name: name.to_owned(), longest_s, ..PhaseLine::default() };
    let words: Vec<&str> = tail.split_whitespace().collect();
    for pair in words.windows(2) {
        let Some((key, value)) = pair[0].split_once(':') else { continue };
        let (value, unit) = if value.is_empty() { (pair[1], "") } else { (value, pair[1]) };
        match (key, unit) {
            ("rate", "iops/s") => phase.operations_per_second = measured(value)?,
            ("rate", "obj/s") => phase.objects_per_second = measured(value)?,
            // Earlier versions wrote Mib.
            ("tp", "MiB/s" | "Mib/s") => phase.mib_per_second = measured(value)?,
            ("objects", _) => phase.objects = whole(value)?,
            ("op-max", _) => phase.worst_s = seconds(value)?,
            _ => {}
        }
    }
    for word in &words {
        match word.split_once(':') {
            Some(("stonewall-iter", count)) => phase.stonewall_iterations = whole(count),
            Some(("waiting_factor", factor)) => phase.waiting_factor = measured(factor),
            _ => {}
        }
    }
    let errors = tail.split_once(" (").and_then(|(_, tail)| tail.split_once(" errs"));
    phase.errors = errors.and_then(|(count, _)| whole(count)).unwrap_or(0);
    for kind in ["read", "stat", "create", "delete"] {
        let opening = format!(" {kind}(");
        let Some((_, tail)) = tail.split_once(opening.as_str()) else { continue };
        let (values, _) = tail.split_once(')')?;
        let values: Vec<f64> = values.split(", ").map(seconds).collect::<Option<_>>()?;
        if values.len() == STATISTICS.len() {
            phase.operations.push((kind.to_owned(), values));
        }
    }
    (phase.operations_per_second > 0.0).then_some(phase)
}

/// Parses seconds such as `2.5220e-03s`.
fn seconds(word: &str) -> Option<f64> {
    measured(word.strip_suffix('s')?)
}

fn measured(word: &str) -> Option<f64> {
    let is_number = word.starts_with(|letter: char| letter.is_ascii_digit()) && word.len() <= 30;
    super::measured(word.parse().ok().filter(|_| is_number))
}

/// Output assembled line by line.
#[derive(Default)]
struct ParsedOutput {
    trial: ForeignTrial,
    version: String,
    has_heading: bool,
    phases: Vec<PhaseLine>,
}

impl ParsedOutput {
    /// True if the line begins another output.
    fn is_over(&self, next: &OutputLine) -> bool {
        match next {
            OutputLine::Arguments(_) | OutputLine::Heading(..) => {
                self.has_heading || !self.phases.is_empty()
            }
            OutputLine::Phase(phase) if phase.name == "precreate" => !self.phases.is_empty(),
            OutputLine::Phase(_) => self.phases.iter().any(|before| before.name == "cleanup"),
            OutputLine::End => false,
        }
    }

    fn take(&mut self, parsed: OutputLine) {
        match parsed {
            OutputLine::Arguments(words) => self.parameters(&words),
            OutputLine::Heading(objects, size, version) => {
                self.has_heading = true;
                self.version = version;
                self.trial.fact("import.objects", objects);
                self.trial.fact("import.working_set_mib", size);
            }
            OutputLine::Phase(phase) => self.phases.push(phase),
            OutputLine::End => {}
        }
    }

    fn parameters(&mut self, words: &[String]) {
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix('-') else { continue };
            let name = name.strip_prefix('-').unwrap_or(name);
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => {
                    let value = words.next_if(|next| !next.starts_with('-'));
                    (name, value.cloned().unwrap_or_else(|| "true".to_owned()))
                }
            };
            if !PATHS.contains(&name) && !value.contains('/') {
                self.trial.parameter(name, value);
            }
        }
    }

    fn finish(mut self, at: usize, remarks: &mut Vec<Remark>) -> ForeignTrial {
        self.trial.workload = TOOL;
        self.trial.record_tool(Some(&self.version));
        let errors = self.phases.iter().fold(0_u64, |sum, one| sum.saturating_add(one.errors));
        if errors > 0 {
            let what = format!("{errors} operations failed; kept as interrupted");
            remarks.push(Remark { line: at + 1, what });
            self.trial.fact("import.errors", errors);
            self.trial.is_interrupted = true;
        }
        if self.phases.is_empty() {
            remarks.push(Remark { line: at + 1, what: "it has no figures".to_owned() });
            self.trial.is_interrupted = true;
        }
        let lasted = self.phases.iter().map(|phase| phase.longest_s).sum();
        self.trial.wall_ns = nanoseconds(lasted).unwrap_or(0);
        let phases = std::mem::take(&mut self.phases);
        let (iterations, others): (Vec<_>, Vec<_>) =
            phases.iter().partition(|phase| phase.name == "benchmark");
        for phase in others {
            self.add(Scope::Kind(phase.name.clone()), phase, false);
        }
        match iterations.as_slice() {
            [] => {}
            [only] => self.add(Scope::Kind(only.name.clone()), only, true),
            many => self.add_iterations(many),
        }
        self.trial
    }

    /// Adds the figures of a phase.
    fn add(&mut self, scope: Scope, of: &PhaseLine, decides: bool) {
        let rate = rates::OPERATIONS_PER_SECOND.of(scope.clone(), of.operations_per_second);
        let metrics = &mut self.trial.metrics;
        metrics.push(rate.primary_if(decides));
        metrics.push(rates::FILES_PER_SECOND.of(scope.clone(), of.objects_per_second));
        metrics.push(rates::OPERATIONS.of(scope.clone(), of.objects as f64));
        if of.mib_per_second > 0.0 {
            metrics.push(rates::MIB_PER_SECOND.of(scope.clone(), of.mib_per_second));
        }
        metrics.push(times::ELAPSED_SECONDS.of(scope.clone(), of.longest_s));
        metrics.push(LATENCY_NANOSECONDS.of_member(&["max"], scope.clone(), of.worst_s * 1e9));
        for (kind, values) in &of.operations {
            let scope = match &scope {
                Scope::Kind(name) => Scope::Kind(format!("{name} {kind}")),
                Scope::Phase(name) => Scope::Phase(format!("{name} {kind}")),
                Scope::Trial => Scope::Kind(kind.clone()),
            };
            for (statistic, seconds) in STATISTICS.iter().zip(values) {
                let member =
                    LATENCY_NANOSECONDS.of_member(&[statistic], scope.clone(), seconds * 1e9);
                self.trial.metrics.push(member);
            }
        }
        if let Some(count) = of.stonewall_iterations {
            self.trial.fact("import.stonewall_iterations", count);
        }
        if let Some(factor) = of.waiting_factor {
            self.trial.fact("import.waiting_factor", factor);
        }
    }

    /// Adds several iterations of the benchmark as rows, and their rate together.
    fn add_iterations(&mut self, iterations: &[&PhaseLine]) {
        let (mut objects, mut lasted) = (0.0, 0.0);
        for (number, of) in (0..).zip(iterations) {
            let name = format!("{ITERATION_PHASE}{}", number + 1);
            self.add(Scope::Phase(name.clone()), of, false);
            let wall_ns = nanoseconds(of.longest_s).unwrap_or(0);
            let phase = PhaseTotals { phase: number, name, wall_ns, ..PhaseTotals::default() };
            self.trial.phases.push(phase);
            objects += of.objects as f64;
            lasted += of.objects as f64 / of.operations_per_second;
        }
        let rate = objects / lasted;
        if rate.is_finite() {
            let scope = Scope::Kind("benchmark".to_owned());
            let rate = rates::OPERATIONS_PER_SECOND.of(scope, rate);
            self.trial.metrics.push(rate.primary().of_tasks(iterations.len() as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, line};

    const PHASE: &str = "benchmark process max:0.38s min:0.32s mean: 0.35s balance:83.5 stddev:0.0 \
                         rate:216259.5 iops/s objects:20000 rate:54064.9 obj/s tp:402.3 MiB/s \
                         op-max:2.5220e-03s (0 errs) read(2.7e-06s, 3.7e-06s, 4.1e-06s, 4.4e-06s, \
                         4.8e-06s, 6.2e-06s, 6.4e-04s)";

    #[test]
    fn the_line_of_a_phase_is_parsed() {
        let Some(OutputLine::Phase(phase)) = line(PHASE) else { panic!("no phase") };
        assert_eq!((phase.name.as_str(), phase.objects, phase.errors), ("benchmark", 20_000, 0));
        assert_eq!((phase.longest_s, phase.operations_per_second), (0.38, 216_259.5));
        assert_eq!((phase.objects_per_second, phase.mib_per_second), (54_064.9, 402.3));
        assert_eq!(phase.worst_s, 2.522e-3);
        assert_eq!(phase.operations.len(), 1);
        assert_eq!(phase.operations[0].1[6], 6.4e-4);
    }

    #[test]
    fn foreign_and_broken_lines_are_no_phases() {
        for text in [
            "benchmark process max:",
            "benchmark process max:-1s rate:1 iops/s",
            "other process max:1s rate:1.0 iops/s objects:1 rate:1.0 obj/s",
            "0: benchmark process max:1s rate:1.0 iops/s",
            "Args: ./mdtest \"-n\" \"3\"",
            "MD-Workbench total objects: many",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
