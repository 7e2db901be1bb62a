//! `treering report`: stored trials against each other. Which trials form a side is decided here;
//! what they say about each other is told elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use treering_analysis::compare::{Factor, Gate, Outcome, Side, compare};
use treering_model::{Trial, TrialId};
use treering_report::formats;
use treering_report::pages::comparison::{DataFormat, View, gate_sentence, page};
use treering_store::{Detail, Filter, Store, TrialState, TrialSummary};

use super::output::{self, with_writer};
use super::trial::{command_line, quoted};
use crate::arguments::{OutputArgs, ReportArgs, StoreArgs};
use crate::classic_voice::say;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, no_results, open_to_read};

/// Up to so many trials their tasks are read too, for the system CPU of each kind of operation.
const TASKS_READ: usize = 1000;

/// Values that an error message lists at most.
const LISTED: usize = 10;

/// The exit code of a gate that can say nothing; docs/exit-codes.md lists it.
const UNCLEAR: u8 = 5;

/// Labels of trials that `treering compare` keeps beside the rounds: a warm-up, and the baseline a
/// second time. Only who names such a label gets them.
const BESIDE: [&str; 2] = [" (warm-up)", CONTROL];

/// The mark of the baseline's second arm.
const CONTROL: &str = " (again)";

/// Compares the arms of a campaign, the first being the baseline; one that is named as the
/// baseline with the mark of a second arm behind it is the control.
pub(crate) fn of_arms(
    arms: &[(String, Vec<TrialId>)],
    store: &StoreArgs,
    output: &OutputArgs,
    gate: bool,
) -> Result<ExitCode, Failure> {
    let args = ReportArgs {
        baseline: None,
        contender: Vec::new(),
        by: None,
        workload: None,
        threshold: None,
        gate,
        store: store.clone(),
        format: output.format.clone(),
        output: output.output.clone(),
    };
    let format = DataFormat::by_name(args.format.as_deref().unwrap_or_default());
    check_format(&args, format)?;
    let opened = open_to_read(store.store.as_deref())?.ok_or_else(no_results)?;
    let mut sides = Vec::new();
    let mut picks = Vec::new();
    for (name, trials) in arms.iter().filter(|(_, trials)| !trials.is_empty()) {
        let loaded = opened.load_many(trials, Detail::Tasks).map_err(|error| failure(&error))?;
        sides.push(Side { name: name.clone(), factor: Factor::Filesystem, trials: loaded });
        let short = opened.short_ids(trials).map_err(|error| failure(&error))?;
        let (value, trials) = (short.join(","), trials.clone());
        picks.push(Pick { factor: Factor::Id, name: name.clone(), value, trials });
    }
    if sides.is_empty() {
        return Err(Failure::new(Kind::Trial, "no trial was kept: there is nothing to compare"));
    }
    let baseline = sides.remove(0);
    let is_control = |side: &Side| side.name == format!("{}{CONTROL}", baseline.name);
    let (controls, contenders): (Vec<Side>, Vec<Side>) = sides.into_iter().partition(is_control);
    picks.retain(|pick| !controls.iter().any(|control| control.name == pick.name));
    let compared = Compared { baseline, contenders, control: controls.into_iter().next() };
    tell(&args, format, &picks, &compared, &[])
}

/// Compares them.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let format = DataFormat::by_name(args.format.as_deref().unwrap_or_default());
    check_format(args, format)?;
    let store = open_to_read(args.store.store.as_deref())?.ok_or_else(no_results)?;
    let known = Known::read(&store, args)?;
    let picks = known.picks(args)?;
    let (baseline, contenders) = sides(&store, &picks)?;
    let compared = Compared { baseline, contenders, control: None };
    tell(args, format, &picks, &compared, &known.notes)
}

/// What is compared.
struct Compared {
    baseline: Side,
    contenders: Vec<Side>,
    /// The baseline a second time.
    control: Option<Side>,
}

/// Writes the comparison in the format asked for.
fn tell(
    args: &ReportArgs,
    format: Option<DataFormat>,
    picks: &[Pick],
    compared: &Compared,
    notes: &[String],
) -> Result<ExitCode, Failure> {
    let Compared { baseline, contenders, control } = compared;
    let refused = |error| Failure::of(Kind::Usage, &error);
    let threshold = args.threshold.as_deref().map(threshold).transpose()?;
    let mut outcome = compare(baseline, contenders, threshold).map_err(refused)?;
    if let Some(control) = control {
        outcome.check_control(baseline, control, threshold).map_err(refused)?;
    }
    match format {
        Some(format) => with_writer(args.output.as_deref(), |out| format.write(&outcome, out))?,
        None => {
            let command = again(args, picks);
            let repeat = repeat(baseline, contenders);
            let view = View { command: &command, repeat: &repeat, notes };
            let output = OutputArgs { format: args.format.clone(), output: args.output.clone() };
            output::write(&page(&outcome, &view), &output)?;
        }
    }
    Ok(exit_code(args.gate, &outcome))
}

fn exit_code(gate: bool, outcome: &Outcome) -> ExitCode {
    if !gate {
        return ExitCode::SUCCESS;
    }
    let gate = Gate::of(outcome);
    say(gate_sentence(gate));
    match gate {
        Gate::Pass => ExitCode::SUCCESS,
        Gate::Worse => ExitCode::from(1),
        Gate::Unclear => ExitCode::from(UNCLEAR),
    }
}

/// Refuses a format that nobody knows before anything is read.
fn check_format(args: &ReportArgs, data: Option<DataFormat>) -> Result<(), Failure> {
    let Some(name) = args.format.as_deref() else { return Ok(()) };
    if data.is_some() || formats::by_name(name).is_some() {
        return Ok(());
    }
    let pages = formats::ALL.iter().map(|format| format.name());
    let others = DataFormat::ALL.iter().map(|format| format.name());
    let mut names: Vec<&str> = pages.chain(others).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let message = format!("--format: '{name}' is not one of: {}", names.join(", "));
    Err(Failure::new(Kind::Usage, message))
}

/// A relative difference as typed: `3%`.
fn threshold(text: &str) -> Result<f64, Failure> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent.filter(|percent| (0.0..=1000.0).contains(percent)).map(|p| p / 100.0).ok_or_else(|| {
        Failure::new(Kind::Usage, format!("--threshold: '{text}' is not a percentage"))
            .hint("a percentage is a number with its sign, as 3%")
    })
}

/// A side as it was asked for.
struct Pick {
    factor: Factor,
    /// The side's name in tables.
    name: String,
    value: String,
    trials: Vec<TrialId>,
}

impl Pick {
    fn selector(&self) -> String {
        format!("{}:{}", self.factor.name(), self.value)
    }
}

/// A trial that could be selected.
struct Candidate {
    summary: TrialSummary,
    kernel: Option<String>,
    filesystem: Option<String>,
}

/// The trials of the store in the order of time, running ones left out.
struct Known<'s> {
    store: &'s Store,
    candidates: Vec<Candidate>,
    notes: Vec<String>,
}

impl<'s> Known<'s> {
    fn read(store: &'s Store, args: &ReportArgs) -> Result<Self, Failure> {
        let filter = Filter { workload: args.workload.clone(), ..Filter::default() };
        let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
        summaries.reverse();
        let all = summaries.len();
        summaries.retain(|summary| summary.state != TrialState::Running);
        let mut notes = Vec::new();
        if summaries.len() < all {
            notes.push(format!("trials left out since they still run: {}", all - summaries.len()));
        }
        let selectors = args.baseline.iter().chain(&args.contender);
        let by_facts = |factor| matches!(factor, Factor::Kernel | Factor::Filesystem);
        let needs_facts = args.by.as_deref().and_then(factor).is_some_and(by_facts)
            || selectors.map(|text| parsed(text).0).any(by_facts);
        // Facts are read only where trials are selected by them.
        let trials: Vec<Trial> = if needs_facts {
            let ids: Vec<TrialId> = summaries.iter().map(|summary| summary.trial).collect();
            store.load_many(&ids, Detail::Headlines).map_err(|error| failure(&error))?
        } else {
            Vec::new()
        };
        let fact = |place: usize, name: &str| {
            let fact = trials.get(place)?.facts.iter().find(|fact| fact.name == name)?;
            Some(fact.value.clone())
        };
        let candidates = summaries.into_iter().enumerate().map(|(place, summary)| Candidate {
            kernel: fact(place, "kernel.release"),
            filesystem: fact(place, "filesystem.type"),
            summary,
        });
        Ok(Self { store, candidates: candidates.collect(), notes })
    }

    /// The baseline first, then the contenders.
    fn picks(&self, args: &ReportArgs) -> Result<Vec<Pick>, Failure> {
        let picks = if args.contender.is_empty() {
            self.grouped(args)?
        } else {
            let baseline = args.baseline.as_ref().ok_or_else(|| {
                Failure::new(Kind::Usage, "--contender needs a --baseline to compare it with")
            })?;
            let selectors = std::iter::once(baseline).chain(&args.contender);
            let mut picks =
                selectors.map(|text| self.selected(text)).collect::<Result<Vec<_>, _>>()?;
            for place in 1..picks.len() {
                // Two sides of one name could not be told apart.
                let (earlier, later) = picks.split_at_mut(place);
                if earlier.iter().any(|other| other.name == later[0].name) {
                    later[0].name = later[0].selector();
                }
            }
            picks
        };
        let mut sides: BTreeMap<TrialId, &Pick> = BTreeMap::new();
        for pick in &picks {
            for trial in &pick.trials {
                let Some(other) = sides.insert(*trial, pick) else { continue };
                let message = format!("{} and {} share trials", other.selector(), pick.selector());
                return Err(Failure::new(Kind::Usage, message)
                    .hint("a trial can stand once, on one side only"));
            }
        }
        Ok(picks)
    }

    /// The trials that a selector names.
    fn selected(&self, text: &str) -> Result<Pick, Failure> {
        let (factor, value) = parsed(text);
        if factor == Factor::Id {
            let prefixes = value.split(',').filter(|prefix| !prefix.trim().is_empty());
            let find = |prefix: &str| self.store.find(prefix).map_err(|error| failure(&error));
            let trials = prefixes.map(find).collect::<Result<Vec<_>, _>>()?;
            if trials.is_empty() {
                return Err(Failure::new(Kind::Usage, format!("'{text}' names no trial")));
            }
            let name = self.common_label(&trials).unwrap_or(value).to_owned();
            return Ok(Pick { factor, name, value: value.to_owned(), trials });
        }
        let value = match factor {
            Factor::Target => target(value),
            _ => value.to_owned(),
        };
        let beside = |one: &&Candidate| factor == Factor::Label || !one.is_beside();
        let chosen = self.candidates.iter().filter(beside);
        let chosen = chosen.filter(|one| one.value(factor) == Some(&value));
        let trials: Vec<TrialId> = chosen.map(|one| one.summary.trial).collect();
        if trials.is_empty() {
            return Err(self.nothing(factor, &value));
        }
        Ok(Pick { factor, name: value.clone(), value, trials })
    }

    /// The label that all these trials have.
    fn common_label(&self, trials: &[TrialId]) -> Option<&str> {
        let trials: BTreeSet<&TrialId> = trials.iter().collect();
        let chosen = self.candidates.iter().filter(|one| trials.contains(&one.summary.trial));
        let mut labels = chosen.map(|one| one.summary.label.as_str());
        let first = labels.next().filter(|label| !label.is_empty())?;
        labels.all(|label| label == first).then_some(first)
    }

    /// All trials by their value of a factor, the baseline first, the others in order of time.
    fn grouped(&self, args: &ReportArgs) -> Result<Vec<Pick>, Failure> {
        let (told, value) = match args.baseline.as_deref().map(parsed) {
            Some((factor, value)) => (Some(factor), Some(value)),
            None => (None, None),
        };
        let by = args.by.as_deref().and_then(factor);
        // Behind --by a bare word is a value of that factor.
        let bare = args.baseline.as_deref() == value;
        let factor = match (by, told) {
            (Some(by), Some(told)) if by != told && !bare => {
                let message = format!("--by {} and --baseline {}:", by.name(), told.name());
                return Err(Failure::new(Kind::Usage, format!("{message} group by one of them")));
            }
            (Some(by), _) => by,
            (None, Some(Factor::Id)) => {
                return Err(Failure::new(Kind::Usage, "--baseline id: needs a --contender"));
            }
            (None, Some(told)) => told,
            (None, None) => Factor::Label,
        };
        let mut picks: Vec<Pick> = Vec::new();
        for one in self.candidates.iter().filter(|one| !one.is_beside()) {
            let Some(value) = one.value(factor).filter(|value| !value.is_empty()) else { continue };
            match picks.iter_mut().find(|pick| pick.value == value) {
                Some(pick) => pick.trials.push(one.summary.trial),
                None => {
                    let (value, trials) = (value.to_owned(), vec![one.summary.trial]);
                    picks.push(Pick { factor, name: value.clone(), value, trials });
                }
            }
        }
        if let Some(value) = value {
            let value = if factor == Factor::Target { target(value) } else { value.to_owned() };
            let place = picks.iter().position(|pick| pick.value == value);
            let place = place.ok_or_else(|| self.nothing(factor, &value))?;
            let baseline = picks.remove(place);
            picks.insert(0, baseline);
        }
        if picks.len() < 2 {
            let said = format!("the trials have {} values of {}", picks.len(), factor.name());
            let message = format!("{said}: there is nothing to compare");
            return Err(Failure::new(Kind::Usage, message)
                .hint("choose sides with --baseline and --contender, or another --by"));
        }
        Ok(picks)
    }

    /// That no trial has a value, and which values there are.
    fn nothing(&self, factor: Factor, value: &str) -> Failure {
        let mut values: Vec<&str> = Vec::new();
        for one in &self.candidates {
            let there = one.value(factor).filter(|value| !value.is_empty());
            values.extend(there.filter(|value| !values.contains(value)));
        }
        let more = if values.len() > LISTED { ", …" } else { "" };
        values.truncate(LISTED);
        let message = format!("no trial has the {} '{value}'", factor.name());
        let hint = match values.len() {
            0 => format!("no trial has a {} at all", factor.name()),
            _ => format!("there are: {}{more}", values.join(", ")),
        };
        Failure::new(Kind::Usage, message).hint(hint)
    }
}

impl Candidate {
    fn is_beside(&self) -> bool {
        BESIDE.iter().any(|mark| self.summary.label.ends_with(mark))
    }

    fn value(&self, factor: Factor) -> Option<&str> {
        match factor {
            Factor::Label => Some(&self.summary.label),
            Factor::Target => Some(&self.summary.target),
            Factor::Kernel => self.kernel.as_deref(),
            Factor::Filesystem => self.filesystem.as_deref(),
            Factor::Id => None,
        }
    }
}

/// The factor with this name.
fn factor(name: &str) -> Option<Factor> {
    Factor::ALL.into_iter().find(|factor| factor.name() == name)
}

/// A selector; a word without one of the known beginnings is a label.
fn parsed(text: &str) -> (Factor, &str) {
    let known = text.split_once(':').and_then(|(name, value)| Some((factor(name)?, value)));
    known.unwrap_or((Factor::Label, text))
}

/// A directory as trials keep it: absolute, without links, where it is still there.
fn target(value: &str) -> String {
    let there = Path::new(value).canonicalize().ok();
    let there = there.map(|path| path.to_string_lossy().into_owned());
    there.unwrap_or_else(|| match value.trim_end_matches('/') {
        "" => value.to_owned(),
        trimmed => trimmed.to_owned(),
    })
}

/// The sides with their trials.
fn sides(store: &Store, picks: &[Pick]) -> Result<(Side, Vec<Side>), Failure> {
    let all: usize = picks.iter().map(|pick| pick.trials.len()).sum();
    let detail = if all <= TASKS_READ { Detail::Tasks } else { Detail::Headlines };
    let mut sides = picks.iter().map(|pick| {
        let trials = store.load_many(&pick.trials, detail).map_err(|error| failure(&error))?;
        Ok(Side { name: pick.name.clone(), factor: pick.factor, trials })
    });
    let baseline = sides.next().ok_or_else(no_results)??;
    Ok((baseline, sides.collect::<Result<Vec<_>, Failure>>()?))
}

/// The command line that gives the same page again, with every side named.
fn again(args: &ReportArgs, picks: &[Pick]) -> String {
    let mut line = "treering report".to_owned();
    let mut add = |name: &str, value: &str| line += &format!(" --{name} {}", quoted(value));
    if let Some(store) = &args.store.store {
        add("store", &store.to_string_lossy());
    }
    for (place, pick) in picks.iter().enumerate() {
        add(if place == 0 { "baseline" } else { "contender" }, &pick.selector());
    }
    if let Some(workload) = &args.workload {
        add("workload", workload);
    }
    if let Some(threshold) = &args.threshold {
        add("threshold", threshold);
    }
    line
}

/// For each side the command line that repeats its newest trial, label included.
fn repeat(baseline: &Side, contenders: &[Side]) -> Vec<(String, String)> {
    let of_side = |side: &Side| {
        let newest = side.trials.last()?;
        let label = match newest.beginning.label.as_str() {
            "" => String::new(),
            label => format!(" --label {}", quoted(label)),
        };
        Some((side.name.clone(), format!("{}{label}", command_line(newest))))
    };
    std::iter::once(baseline).chain(contenders).filter_map(of_side).collect()
}

#[cfg(test)]
mod tests {
    use super::{parsed, threshold};
    use treering_analysis::compare::Factor;

    #[test]
    fn selectors_name_a_factor_and_bare_words_are_labels() {
        assert_eq!(parsed("fs:xfs"), (Factor::Filesystem, "xfs"));
        assert_eq!(parsed("kernel:6.1.0-rc1"), (Factor::Kernel, "6.1.0-rc1"));
        assert_eq!(parsed("v6.1"), (Factor::Label, "v6.1"));
        assert_eq!(parsed("label:fs:x"), (Factor::Label, "fs:x"));
        assert_eq!(parsed("patch:2"), (Factor::Label, "patch:2"));
    }

    #[test]
    fn thresholds_are_percentages() {
        assert!((threshold("3%").unwrap() - 0.03).abs() < 1e-15);
        assert!((threshold("0%").unwrap()).abs() < 1e-15);
        for wrong in ["3", "-1%", "x%", "", "NaN%"] {
            assert!(threshold(wrong).is_err(), "{wrong}");
        }
    }
}
