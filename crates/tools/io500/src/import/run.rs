//! A run of IO500, put together line by line.

use treering_model::metrics::rates::{
    IO500_BANDWIDTH_SCORE, IO500_METADATA_SCORE, IO500_SCORE, IO500_STONEWALL_RATE, MIB_PER_SECOND,
    OPERATIONS_PER_SECOND,
};
use treering_model::metrics::times::ELAPSED_SECONDS;
use treering_model::workloads::io500::{Io500Phase, measured};
use treering_model::{Fact, IMPORT_FACT, IMPORT_PREFIX, Scope};

use super::TOOL;
use super::lines::{OutputLine, PhaseLine, ScoreLine, line};
use treering_kit::import::Remark;
use treering_kit::import::number::{decimal, nanoseconds};
use treering_kit::import::trial::ForeignTrial;

/// Fact that lists the phases that the program marked invalid; `all` stands for the whole run.
const INVALID_FACT: &str = "import.io500_invalid";
/// Fact name prefix, followed by a number, of the reasons for invalidity; at most `REASONS_MOST`
/// are kept.
const REASON_FACT: &str = "import.io500_invalid_why";
const REASONS_MOST: usize = 20;
/// Relative tolerance between a printed score and the one computed from the phases.
const NEAR: f64 = 1e-4;
/// Maximum number of phases; no version has more.
const PHASES_MOST: usize = 64;

/// Maximum number of further values that become facts.
const FACTS_MOST: usize = 1000;

/// Phase of either file.
#[derive(Clone, Debug, Default)]
struct PhaseRecord {
    name: String,
    line: usize,
    value: Option<f64>,
    seconds: Option<f64>,
    stonewall: Option<f64>,
    command: Option<String>,
    is_scored: bool,
    is_invalid: bool,
    is_twice: bool,
    /// Greatest relative error of the value by its decimals.
    rounding: f64,
}

impl PhaseRecord {
    fn moves_data(&self) -> bool {
        self.name.starts_with("ior-")
    }

    /// True for one of the twelve phases from which the score follows.
    fn is_counted(&self) -> bool {
        self.is_scored && measured().any(|step| step.name == self.name)
    }
}

/// A run.
#[derive(Default)]
pub(super) struct ParsedRun {
    is_summary: bool,
    has_too_many: bool,
    version: Option<String>,
    began_unix_ms: Option<i64>,
    parameters: Vec<(&'static str, String)>,
    target: String,
    phases: Vec<PhaseRecord>,
    section: Option<String>,
    scores: Option<(usize, ScoreLine)>,
    /// MD, BW and SCORE of the long result.
    parts: [Option<f64>; 3],
    parts_invalid: bool,
    parts_line: usize,
    /// Further values of the long result, and scores that are not compared, as facts.
    facts: Vec<Fact>,
    reasons: Vec<String>,
    remarks: Vec<Remark>,
}

impl ParsedRun {
    /// Parses a line of this run; a summary has no sections and no values.
    pub(super) fn own_line(&self, text: &str) -> Option<OutputLine> {
        line(text).filter(|parsed| !self.is_summary || parsed.is_summary())
    }

    /// True once the first line was taken.
    pub(super) fn has_begun(&self) -> bool {
        self.version.is_some()
    }

    /// True if this line repeats the version in the head of a long result.
    pub(super) fn is_head(&self, parsed: &OutputLine) -> bool {
        let in_head = self.section.as_deref().is_none_or(|name| name == "run");
        matches!(parsed, OutputLine::Value(..)) && in_head && self.phases.is_empty() && {
            let OutputLine::Value(_, value) = parsed else { return false };
            self.version.as_ref() == Some(value)
        }
    }

    /// True for the line of a phase that this run has had with the same figures: the shell's
    /// version printed each as it ended, and all of them once more before the score.
    pub(super) fn is_repeated(&self, parsed: &OutputLine) -> bool {
        matches!(parsed, OutputLine::Phase(phase) if self.has_said(phase))
    }

    fn has_said(&self, phase: &PhaseLine) -> bool {
        let has_figures = |record: &PhaseRecord| {
            record.value == Some(phase.value) && record.seconds == Some(phase.seconds)
        };
        // A version is in all later ones, and a score ends a run.
        let may_repeat = self.scores.is_none() && self.version.as_deref() == Some("");
        may_repeat
            && self.phases.iter().any(|record| record.name == phase.name && has_figures(record))
    }

    fn remark(&mut self, at: usize, message: impl Into<String>) {
        self.remarks.push(Remark { line: at + 1, what: message.into() });
    }

    /// Takes a line.
    pub(super) fn take(&mut self, at: usize, parsed: OutputLine) {
        match parsed {
            OutputLine::Version(version, mode) => {
                self.version = Some(version);
                self.is_summary = true;
                mode.into_iter().for_each(|mode| self.parameter("mode", &mode));
            }
            OutputLine::Phase(phase) if self.has_said(&phase) => {}
            OutputLine::Phase(phase) => self.summary(at, phase),
            OutputLine::Scores(scores) if scores.is_extended => {
                let ScoreLine { bandwidth, metadata, total, .. } = scores;
                self.fact("SCOREX", format!("{bandwidth} GiB/s, {metadata} kIOPS, total {total}"));
            }
            OutputLine::Scores(_) if self.scores.is_some() => {
                self.remark(at, "a second score, which was not taken");
            }
            OutputLine::Scores(scores) => self.scores = Some((at, scores)),
            OutputLine::Invalid(why) => {
                let present = self.section.clone();
                if let Some(record) = present.and_then(|name| self.record_of(&name)) {
                    record.is_invalid = true;
                }
                if self.reasons.len() < REASONS_MOST {
                    self.reasons.push(why);
                }
            }
            OutputLine::Section(name) => {
                if !["run", "SCORE", "SCOREX"].contains(&name.as_str()) {
                    self.begin(at, &name, true);
                }
                self.section = Some(name);
            }
            OutputLine::Value(key, value) => self.value(at, &key, &value),
            OutputLine::Comment | OutputLine::Progress => {}
            OutputLine::Wrong => {
                self.remark(at, "not understood, so that its numbers are left out");
            }
        }
    }

    /// Sets a parameter; only the first value of each name counts.
    fn parameter(&mut self, name: &'static str, value: &str) {
        if self.parameters.iter().all(|(known, _)| *known != name) {
            self.parameters.push((name, value.to_owned()));
        }
    }

    fn record_of(&mut self, name: &str) -> Option<&mut PhaseRecord> {
        self.phases.iter_mut().find(|record| record.name == name)
    }

    /// Starts a phase; a repeated one is marked and not used.
    fn begin(&mut self, at: usize, name: &str, is_scored: bool) {
        if let Some(record) = self.record_of(name) {
            if !std::mem::replace(&mut record.is_twice, true) {
                let message = format!("{name} is there twice, so that its rate is not known");
                self.remark(at, message);
            }
            return;
        }
        match self.phases.len() {
            PHASES_MOST.. if !std::mem::replace(&mut self.has_too_many, true) => {
                self.remark(
                    at,
                    "more phases than IO500 has: these and all later ones are left out",
                );
            }
            PHASES_MOST.. => {}
            _ => {
                let name = name.to_owned();
                self.phases.push(PhaseRecord {
                    name,
                    line: at,
                    is_scored,
                    ..PhaseRecord::default()
                });
            }
        }
    }

    fn summary(&mut self, at: usize, phase: PhaseLine) {
        // The shell's summary has no line before its first phase.
        self.is_summary = true;
        self.version.get_or_insert_default();
        self.begin(at, &phase.name, phase.is_scored);
        if let Some(record) = self.record_of(&phase.name) {
            record.value = Some(phase.value);
            record.seconds = Some(phase.seconds);
            record.rounding = phase.rounding;
            record.is_invalid |= phase.is_invalid;
        }
    }

    /// Stores a value of the long result.
    fn value(&mut self, at: usize, key: &str, value: &str) {
        let section = self.section.clone().unwrap_or_default();
        if section == "SCOREX" {
            self.fact(&format!("SCOREX.{key}"), value.to_owned());
            return;
        }
        if section == "SCORE" {
            self.score(at, key, value);
            return;
        }
        match key {
            "version" => self.version = Some(value.to_owned()),
            "mode" => self.parameter("mode", value),
            "procs" => self.parameter("procs", value),
            "result-dir" => value.clone_into(&mut self.target),
            "t_start" if self.began_unix_ms.is_none() => self.began_unix_ms = time(value),
            "score" | "t_delta" | "throughput-stonewall" | "rate-stonewall" => {
                let Some(number) = decimal(value) else {
                    self.remark(at, format!("{key} is no number, and is left out"));
                    return;
                };
                let Some(record) = self.record_of(&section) else { return };
                match key {
                    "score" => record.value = Some(number),
                    "t_delta" => record.seconds = Some(number),
                    _ => record.stonewall = Some(number),
                }
            }
            "exe" => {
                if let Some(record) = self.record_of(&section) {
                    record.command = Some(value.to_owned());
                }
            }
            "t_start" | "t_end" => {}
            _ if section.is_empty() => self.fact(key, value.to_owned()),
            _ => self.fact(&format!("{section}.{key}"), value.to_owned()),
        }
    }

    /// Adds a fact under a name of its own, which is none of those that say where a trial comes
    /// from, up to a limit that no version reaches.
    fn fact(&mut self, name: &str, value: String) {
        if self.facts.len() < FACTS_MOST {
            self.facts.push(Fact { name: format!("{IMPORT_PREFIX}io500.{name}"), value });
        }
    }

    fn score(&mut self, at: usize, key: &str, value: &str) {
        let Some(place) = ["MD", "BW", "SCORE"].iter().position(|known| *known == key) else {
            return;
        };
        let number = value.split_whitespace().next().unwrap_or_default();
        self.parts_invalid |= value.ends_with("[INVALID]");
        self.parts_line = at;
        if self.parts[place].is_some() {
            self.remark(at, format!("a second {key}, which was not taken"));
            return;
        }
        self.parts[place] = decimal(number);
        if self.parts[place].is_none() {
            self.remark(at, format!("{key} is no number, and is left out"));
        }
    }

    /// Scores of either file.
    fn stated_scores(&self) -> Option<(usize, ScoreLine)> {
        let [metadata, bandwidth, total] = self.parts;
        let of_parts = || {
            let scores = ScoreLine {
                bandwidth: bandwidth?,
                metadata: metadata?,
                total: total?,
                is_extended: false,
                is_invalid: self.parts_invalid,
            };
            Some((self.parts_line, scores))
        };
        self.scores.clone().or_else(of_parts)
    }

    /// Trial of the run, and remarks on its lines; `None` if no phase has a rate.
    pub(super) fn trial(mut self) -> (Option<ForeignTrial>, Vec<Remark>) {
        let mut trial = ForeignTrial {
            workload: TOOL,
            target: self.target.clone(),
            started_unix_ms: self.began_unix_ms,
            ..ForeignTrial::default()
        };
        let phases = std::mem::take(&mut self.phases);
        for record in &phases {
            self.add_metrics(&mut trial, record);
        }
        if trial.metrics.iter().all(|metric| metric.name == ELAPSED_SECONDS.name) {
            return (None, self.remarks);
        }
        let scores = self.stated_scores();
        let mut invalid: Vec<&str> = phases
            .iter()
            .filter(|record| record.is_invalid)
            .map(|record| record.name.as_str())
            .collect();
        if let Some((at, scores)) = scores {
            if scores.is_invalid {
                invalid.push("all");
            }
            self.add_scores(&mut trial, &phases, at, &scores);
        }
        let version = self.version.as_deref().filter(|version| !version.is_empty());
        let tool = match version {
            Some(version) if version.starts_with(TOOL) => version.to_owned(),
            Some(version) => format!("{TOOL} {version}"),
            None => TOOL.to_owned(),
        };
        trial.fact(IMPORT_FACT, tool);
        if !invalid.is_empty() {
            trial.fact(INVALID_FACT, invalid.join(", "));
        }
        for (number, why) in (1..).zip(&self.reasons) {
            trial.fact(&format!("{REASON_FACT}.{number}"), why);
        }
        for (name, value) in &self.parameters {
            trial.parameter(name, value);
        }
        let procs = self.parameters.iter().find(|(name, _)| *name == "procs");
        if let Some((_, procs)) = procs {
            trial.record_command(&["rehearse", "--workers", procs]);
        }
        for record in &phases {
            if let Some(command) = &record.command {
                trial.parameter(&record.name, command);
            }
        }
        trial.facts.append(&mut self.facts);
        let seconds: f64 = phases.iter().filter_map(|record| record.seconds).sum();
        trial.wall_ns = nanoseconds(seconds).unwrap_or(0);
        (Some(trial), self.remarks)
    }

    /// Adds the metrics of a phase.
    fn add_metrics(&mut self, trial: &mut ForeignTrial, record: &PhaseRecord) {
        if record.is_twice {
            return;
        }
        let is_counted = record.is_counted();
        let of = || Scope::Kind(record.name.clone());
        match record.value {
            // Phases that were not run, or belong to a dry run, are printed without a value.
            Some(value) if value > 0.0 => {
                let metric = if record.moves_data() {
                    MIB_PER_SECOND.of(of(), value * 1024.0)
                } else {
                    OPERATIONS_PER_SECOND.of(of(), value * 1000.0)
                };
                trial.metrics.push(metric.primary_if(is_counted));
            }
            // Phases without a score that were left out, and those that only prepare.
            Some(_) if !is_counted => {}
            Some(_) => self.remark(record.line, format!("{} has no rate", record.name)),
            None => {}
        }
        if let Some(seconds) = record.seconds.filter(|seconds| *seconds > 0.0) {
            trial.metrics.push(ELAPSED_SECONDS.of(of(), seconds));
        }
        if let Some(rate) = record.stonewall.filter(|rate| *rate > 0.0) {
            trial.metrics.push(IO500_STONEWALL_RATE.of(of(), rate));
        }
    }

    /// Adds the scores that agree with the phases.
    fn add_scores(
        &mut self,
        trial: &mut ForeignTrial,
        phases: &[PhaseRecord],
        at: usize,
        scores: &ScoreLine,
    ) {
        let rate = |step: &Io500Phase| {
            let record = phases.iter().find(|record| record.name == step.name)?;
            let value = record.value.filter(|value| *value > 0.0);
            let is_sure = record.is_counted() && !record.is_twice;
            value.filter(|_| is_sure).map(|value| (value, record.rounding))
        };
        let of_side = |moves_data: bool| {
            let side = measured().filter(|step| step.moves_data() == moves_data);
            side.map(rate).collect::<Option<Vec<(f64, f64)>>>()
        };
        let (Some(data), Some(metadata)) = (of_side(true), of_side(false)) else {
            self.remark(at, "the scores are left out: phases are missing from which they follow");
            return;
        };
        // Few decimals leave the phases less sure than the score.
        let roundings: Vec<f64> = data.iter().chain(&metadata).map(|(_, error)| *error).collect();
        let near = NEAR + roundings.iter().copied().fold(0.0, f64::max);
        let (data, metadata) = (mean(&data), mean(&metadata));
        let is_near = |told: f64, follows: f64| (told - follows).abs() <= follows * near + 1e-6;
        if !is_near(scores.bandwidth, data)
            || !is_near(scores.metadata, metadata)
            || !is_near(scores.total, (data * metadata).sqrt())
        {
            self.remark(at, "the scores are left out: they do not follow from the phases");
            return;
        }
        trial.metrics.extend([
            IO500_SCORE.of(Scope::Trial, scores.total),
            IO500_BANDWIDTH_SCORE.of(Scope::Trial, scores.bandwidth),
            IO500_METADATA_SCORE.of(Scope::Trial, scores.metadata),
        ]);
    }
}

/// The geometric mean.
fn mean(values: &[(f64, f64)]) -> f64 {
    (values.iter().map(|(value, _)| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// `2024-05-03 09:25:48`, taken as UTC, in milliseconds since 1970.
fn time(text: &str) -> Option<i64> {
    let when = jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", text).ok()?;
    let zoned = when.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}
