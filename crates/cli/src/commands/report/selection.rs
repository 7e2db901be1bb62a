//! Selects the stored trials of each variant of a comparison: by label, by variant of a plan, by
//! kernel, by filesystem, by directory, or one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use treering_analysis::compare::Factor;
use treering_model::{BASELINE_FACT, CellRole, PRIMARY_FACT, THRESHOLD_FACT, Trial, TrialId};
use treering_store::{Filter, LoadDetail, Store, TrialState, TrialSummary};

use super::plans;
use crate::arguments::ReportArgs;
use crate::failure::{Failure, Kind};
use crate::storage::failure;

/// Maximum number of values that an error message lists.
const LISTED: usize = 10;

/// A requested variant with its trials.
pub(super) struct Pick {
    pub(super) factor: Factor,
    /// The variant's name in tables.
    pub(super) name: String,
    value: String,
    /// Name of the variant's baseline in its plan; its own name if it is only a baseline.
    pub(super) against: Option<String>,
    pub(super) trials: Vec<TrialId>,
}

impl Pick {
    /// True if a trial would belong to this variant, were the trial not excluded.
    pub(super) fn would_have(&self, one: &Candidate) -> bool {
        !one.is_warm_up() && one.value(self.factor) == Some(self.value.as_str())
    }

    pub(super) fn selector(&self) -> String {
        format!("{}:{}", self.factor.name(), self.value)
    }
}

/// A trial that could be selected.
pub(super) struct Candidate {
    pub(super) summary: TrialSummary,
    kernel: Option<String>,
    filesystem: Option<String>,
}

/// The trials of the store in the order of time, running ones left out.
pub(super) struct Known<'s> {
    pub(super) store: &'s Store,
    candidates: Vec<Candidate>,
    /// Trials that the user excluded: they belong to a variant only when they are named one by one.
    pub(super) excluded: Vec<Candidate>,
    pub(super) notes: Vec<String>,
}

impl<'s> Known<'s> {
    pub(super) fn read(store: &'s Store, args: &ReportArgs) -> Result<Self, Failure> {
        let filter = Filter {
            workload: args.workload.clone(),
            plan: args.plan.clone(),
            ..Filter::default()
        };
        let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
        if let Some(plan) = args.plan.as_deref().filter(|_| summaries.is_empty()) {
            plans::check_plan(store, plan)?;
        }
        if let Some(prefix) = &args.campaign {
            let campaign = store.find(prefix).map_err(|error| failure(&error))?;
            summaries.retain(|one| campaign_of(one) == Some(campaign));
        } else if args.plan.is_some() && factor_of(args) == Factor::Variant {
            // Newest first.
            let newest = summaries.first().and_then(campaign_of);
            summaries.retain(|one| campaign_of(one) == newest);
        }
        summaries.reverse();
        Self::of(store, summaries, args)
    }

    /// Builds the selection from trials in the order of time.
    pub(super) fn of(
        store: &'s Store,
        mut summaries: Vec<TrialSummary>,
        args: &ReportArgs,
    ) -> Result<Self, Failure> {
        let all = summaries.len();
        summaries.retain(|summary| summary.state != TrialState::Running);
        let mut notes = Vec::new();
        if summaries.len() < all {
            notes.push(format!(
                "trials omitted because they are still running: {}",
                all - summaries.len()
            ));
        }
        let selectors = args.baseline.iter().chain(&args.contender);
        let by_facts = |factor| matches!(factor, Factor::Kernel | Factor::Filesystem);
        let needs_facts = args.by.as_deref().and_then(factor).is_some_and(by_facts)
            || selectors.map(|text| parsed(text).0).any(by_facts);
        // Facts are read only where trials are selected by them.
        let trials: Vec<Trial> = if needs_facts {
            let ids: Vec<TrialId> = summaries.iter().map(|summary| summary.trial).collect();
            store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))?
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
        let is_out = |one: &Candidate| one.summary.excluded.is_some() && !args.include_excluded;
        let (excluded, candidates) = candidates.partition(is_out);
        Ok(Self { store, candidates, excluded, notes })
    }

    /// Reason why there is nothing to compare although every named value exists: no trials, or
    /// fewer than two values.
    pub(super) fn nothing_to_compare(&self, args: &ReportArgs) -> Option<String> {
        let is_narrowed = is_of_plan(args) || args.workload.is_some();
        if self.candidates.is_empty() && !is_narrowed {
            return Some("the store has no finished trials".to_owned());
        }
        if !args.contender.is_empty() {
            return None;
        }
        let factor = factor_of(args);
        let rounds = self.candidates.iter().filter(|one| !one.is_beside());
        let values: BTreeSet<&str> =
            rounds.filter_map(|one| one.value(factor)).filter(|value| !value.is_empty()).collect();
        (values.len() < 2)
            .then(|| format!("the trials have {} values of {}", values.len(), factor.name()))
    }

    /// The baseline first, then the contenders.
    pub(super) fn picks(&self, args: &ReportArgs) -> Result<Vec<Pick>, Failure> {
        let picks = if args.contender.is_empty() {
            self.as_compared_by_the_plan(self.grouped(args)?, args)?
        } else {
            let baseline = args.baseline.as_ref().ok_or_else(|| {
                Failure::new(Kind::Usage, "--contender needs a --baseline to compare it with")
            })?;
            let selectors = std::iter::once(baseline).chain(&args.contender);
            let mut picks =
                selectors.map(|text| self.selected(text)).collect::<Result<Vec<_>, _>>()?;
            for place in 1..picks.len() {
                // Two variants of one name could not be distinguished.
                let (earlier, later) = picks.split_at_mut(place);
                if earlier.iter().any(|other| other.name == later[0].name) {
                    later[0].name = later[0].selector();
                }
            }
            picks
        };
        let mut variants: BTreeMap<TrialId, &Pick> = BTreeMap::new();
        for pick in &picks {
            for trial in &pick.trials {
                let Some(other) = variants.insert(*trial, pick) else { continue };
                let message = format!("{} and {} share trials", other.selector(), pick.selector());
                return Err(Failure::new(Kind::Usage, message)
                    .hint("a trial can belong to one variant only"));
            }
        }
        Ok(picks)
    }

    /// Completes the arguments with the primary metrics and the threshold of the plan.
    pub(super) fn as_planned(&self, args: &ReportArgs) -> Result<ReportArgs, Failure> {
        let mut asked = args.clone();
        let newest = self.candidates.last().filter(|_| is_of_plan(args));
        let Some(newest) = newest else { return Ok(asked) };
        let names = [PRIMARY_FACT, THRESHOLD_FACT];
        let trials = self.store.load_with_facts(&[newest.summary.trial], &names);
        let trials = trials.map_err(|error| failure(&error))?;
        let value = |name: &str| {
            let facts = trials.iter().flat_map(|trial| &trial.facts);
            facts.filter(|fact| fact.name == name).map(|fact| fact.value.clone()).next()
        };
        if let Some(primary) = value(PRIMARY_FACT).filter(|_| asked.primary.is_empty()) {
            asked.primary = primary.split(',').map(str::to_owned).collect();
        }
        asked.threshold = asked.threshold.or_else(|| value(THRESHOLD_FACT));
        Ok(asked)
    }

    /// Variants of a plan with their baselines, if some have another baseline than the first
    /// variant; sorted by name then. A requested baseline is that of every variant.
    fn as_compared_by_the_plan(
        &self,
        mut picks: Vec<Pick>,
        args: &ReportArgs,
    ) -> Result<Vec<Pick>, Failure> {
        if !is_of_plan(args) || factor_of(args) != Factor::Variant || args.baseline.is_some() {
            return Ok(picks);
        }
        let mut baselines = Vec::new();
        for pick in &picks {
            let newest: Vec<TrialId> = pick.trials.last().copied().into_iter().collect();
            let trials = self.store.load_with_facts(&newest, &[BASELINE_FACT]);
            let trials = trials.map_err(|error| failure(&error))?;
            let fact = trials.iter().find_map(|trial| trial.fact(BASELINE_FACT));
            baselines.push(fact.map(str::to_owned));
        }
        // Trials that are older than the plan's word `against` name the first variant, all of them.
        let known: BTreeSet<&str> = baselines.iter().flatten().map(String::as_str).collect();
        let Some(first) = known.first() else { return Ok(picks) };
        if known.len() == 1 {
            let place = picks.iter().position(|pick| pick.value == **first);
            let place = place.ok_or_else(|| self.nothing(Factor::Variant, first))?;
            picks[..=place].rotate_right(1);
            return Ok(picks);
        }
        for (pick, baseline) in picks.iter_mut().zip(baselines) {
            pick.against = baseline;
        }
        picks.sort_by(|one, other| one.name.cmp(&other.name));
        let place = picks.iter().position(|pick| pick.against.as_ref() == Some(&pick.name));
        picks[..=place.unwrap_or_default()].rotate_right(1);
        Ok(picks)
    }

    /// Control trials of a baseline that is a variant of a plan.
    pub(super) fn control(&self, baseline: &Pick) -> Option<Pick> {
        if baseline.factor != Factor::Variant {
            return None;
        }
        let is_control = |one: &&Candidate| {
            let of_baseline = one.value(Factor::Variant) == Some(baseline.value.as_str());
            of_baseline && one.role() == Some(CellRole::Control)
        };
        let found = self.candidates.iter().filter(is_control);
        let trials: Vec<TrialId> = found.map(|one| one.summary.trial).collect();
        let (name, value) =
            (format!("{}{}", baseline.name, CellRole::Control.suffix()), baseline.value.clone());
        let pick = Pick { factor: Factor::Variant, name, value, against: None, trials };
        (!pick.trials.is_empty()).then_some(pick)
    }

    /// Observed trials of each variant. Variants without any are omitted; the result is empty if
    /// the baseline has none.
    pub(super) fn observed(&self, picks: &[Pick]) -> Vec<Pick> {
        let of = |pick: &Pick| {
            let mut newest: BTreeMap<(TrialId, &str, &str, u32), TrialId> = BTreeMap::new();
            for one in &self.candidates {
                let Some(cell) = &one.summary.cell else { continue };
                let is_of_variant = one.value(pick.factor) == Some(pick.value.as_str());
                if is_of_variant && cell.role == CellRole::Observed {
                    // One that was watched otherwise later stands for the earlier one.
                    let place = (cell.campaign, &*cell.variant, &*cell.job, cell.round);
                    newest.insert(place, one.summary.trial);
                }
            }
            let watched = |name: &String| format!("{name}{}", CellRole::Observed.suffix());
            Pick {
                factor: pick.factor,
                name: watched(&pick.name),
                value: pick.value.clone(),
                against: pick.against.as_ref().map(watched),
                trials: newest.into_values().collect(),
            }
        };
        let is_there = |pick: &Pick| !pick.trials.is_empty();
        let Some((baseline, contenders)) = picks.split_first() else { return Vec::new() };
        let contenders: Vec<Pick> = contenders.iter().map(of).filter(is_there).collect();
        let baseline = of(baseline);
        if !is_there(&baseline) || contenders.is_empty() {
            return Vec::new();
        }
        std::iter::once(baseline).chain(contenders).collect()
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
            return Ok(Pick { factor, name, value: value.to_owned(), against: None, trials });
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
        Ok(Pick { factor, name: value.clone(), value, against: None, trials })
    }

    /// Label common to the trials, if any.
    fn common_label(&self, trials: &[TrialId]) -> Option<&str> {
        let trials: BTreeSet<&TrialId> = trials.iter().collect();
        let all = self.candidates.iter().chain(&self.excluded);
        let chosen = all.filter(|one| trials.contains(&one.summary.trial));
        let mut labels = chosen.map(|one| one.summary.label.as_str());
        let first = labels.next().filter(|label| !label.is_empty())?;
        labels.all(|label| label == first).then_some(first)
    }

    /// Groups the trials by their value of a factor, the baseline first, the others in order of
    /// time.
    fn grouped(&self, args: &ReportArgs) -> Result<Vec<Pick>, Failure> {
        let (reported, value) = match args.baseline.as_deref().map(parsed) {
            Some((factor, value)) => (Some(factor), Some(value)),
            None => (None, None),
        };
        // A bare word is a value of the factor by which the trials are grouped.
        let bare = args.baseline.as_deref() == value;
        let factor = factor_of(args);
        match reported {
            Some(reported) if reported != factor && !bare => {
                let (by, reported) = (factor.name(), reported.name());
                let message = format!("--by {by} and --baseline {reported}: group by one of them");
                return Err(Failure::new(Kind::Usage, message));
            }
            Some(Factor::Id) => {
                return Err(Failure::new(Kind::Usage, "--baseline id: needs a --contender"));
            }
            _ => {}
        }
        let mut picks: Vec<Pick> = Vec::new();
        for one in self.candidates.iter().filter(|one| !one.is_beside()) {
            let Some(value) = one.value(factor).filter(|value| !value.is_empty()) else { continue };
            match picks.iter_mut().find(|pick| pick.value == value) {
                Some(pick) => pick.trials.push(one.summary.trial),
                None => {
                    let (value, trials) = (value.to_owned(), vec![one.summary.trial]);
                    picks.push(Pick { factor, name: value.clone(), value, against: None, trials });
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
            let out = match self.excluded.len() {
                0 => String::new(),
                out => format!(" (excluded trials: {out})"),
            };
            let message = format!("{said}: there is nothing to compare{out}");
            return Err(Failure::new(Kind::Usage, message)
                .hint("choose variants with --baseline and --contender, or another --by"));
        }
        Ok(picks)
    }

    /// Error: no trial has this value; the hint lists the values that trials have.
    fn nothing(&self, factor: Factor, value: &str) -> Failure {
        let mut values: Vec<&str> = Vec::new();
        for one in &self.candidates {
            let there = one.value(factor).filter(|value| !value.is_empty());
            values.extend(there.filter(|value| !values.contains(value)));
        }
        let more = if values.len() > LISTED { ", …" } else { "" };
        values.truncate(LISTED);
        let message = format!("no trial has the {} '{value}'", factor.name());
        let is_out = |one: &&Candidate| one.value(factor) == Some(value);
        let out = self.excluded.iter().filter(is_out).count();
        let hint = match values.len() {
            _ if out > 0 => {
                format!("trials with it, all excluded: {out}; --include-excluded compares them")
            }
            0 => format!("no trial has a {}", factor.name()),
            _ => format!("there are: {}{more}", values.join(", ")),
        };
        Failure::new(Kind::Usage, message).hint(hint)
    }
}

impl Candidate {
    /// True if the trial is not part of a round: a warm-up, a control or an observed trial.
    fn is_beside(&self) -> bool {
        self.role().is_some_and(|role| role != CellRole::Round)
    }

    fn is_warm_up(&self) -> bool {
        self.role() == Some(CellRole::WarmUp)
    }

    fn role(&self) -> Option<CellRole> {
        self.summary.cell.as_ref().map(|cell| cell.role)
    }

    fn value(&self, factor: Factor) -> Option<&str> {
        match factor {
            Factor::Label => Some(&self.summary.label),
            Factor::Target => Some(&self.summary.target),
            Factor::Kernel => self.kernel.as_deref(),
            Factor::Variant => self.summary.cell.as_ref().map(|cell| cell.variant.as_str()),
            Factor::Filesystem => self.filesystem.as_deref(),
            Factor::Id => None,
        }
    }
}

/// True if the arguments ask for the trials of a plan or campaign.
fn is_of_plan(args: &ReportArgs) -> bool {
    args.plan.is_some() || args.campaign.is_some()
}

/// Factor that distinguishes the trials: `--by`, else the prefix of `--baseline` before the colon,
/// else the default.
fn factor_of(args: &ReportArgs) -> Factor {
    let usual = if is_of_plan(args) { Factor::Variant } else { Factor::Label };
    let reported = args.baseline.as_deref().and_then(|text| factor(text.split_once(':')?.0));
    args.by.as_deref().and_then(factor).or(reported).unwrap_or(usual)
}

fn campaign_of(summary: &TrialSummary) -> Option<TrialId> {
    summary.cell.as_ref().map(|cell| cell.campaign)
}

/// The factor with this name.
fn factor(name: &str) -> Option<Factor> {
    Factor::ALL.into_iter().find(|factor| factor.name() == name)
}

/// Parses a selector; a word without a known prefix is a label.
fn parsed(text: &str) -> (Factor, &str) {
    let known = text.split_once(':').and_then(|(name, value)| Some((factor(name)?, value)));
    known.unwrap_or((Factor::Label, text))
}

/// Directory as stored with trials: absolute, without symbolic links if the directory still exists.
fn target(value: &str) -> String {
    let there = Path::new(value).canonicalize().ok();
    let there = there.map(|path| path.to_string_lossy().into_owned());
    there.unwrap_or_else(|| match value.trim_end_matches('/') {
        "" => value.to_owned(),
        trimmed => trimmed.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::parsed;
    use treering_analysis::compare::Factor;

    #[test]
    fn selectors_name_a_factor_and_bare_words_are_labels() {
        assert_eq!(parsed("fs:xfs"), (Factor::Filesystem, "xfs"));
        assert_eq!(parsed("kernel:6.1.0-rc1"), (Factor::Kernel, "6.1.0-rc1"));
        assert_eq!(parsed("v6.1"), (Factor::Label, "v6.1"));
        assert_eq!(parsed("label:fs:x"), (Factor::Label, "fs:x"));
        assert_eq!(parsed("patch:2"), (Factor::Label, "patch:2"));
    }
}
