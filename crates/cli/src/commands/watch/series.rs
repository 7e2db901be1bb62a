//! Series that a point continues: its stored trials, its labels, and the check that its anchor is
//! unchanged.

use std::collections::BTreeSet;

use treering_analysis::history::{AnchorChanges, ChangedFact, anchor_changes};
use treering_conduct::SeriesPoint;
use treering_conduct::plan::Plan;
use treering_model::{
    AnnotationKind, Ending, Trial, TrialId, WATCH_ANCHOR_DIGEST_FACT, WATCH_ANCHOR_FACT,
    WATCH_WORK_FACT,
};
use treering_store::{Filter, LoadDetail, TrialState};

use crate::arguments::WatchArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::{Failure, Kind};
use crate::places;
use crate::storage::{failure, open_to_read, open_to_write};

/// Stored trials of a series, and its identity.
pub(super) struct Series {
    name: String,
    anchor: Option<String>,
    work: String,
    /// Digest of the anchor in the present plan.
    anchor_digest: String,
    /// Trials of the series, oldest first.
    pub(super) trials: Vec<Trial>,
    /// True if the plan was watched before with other work or another anchor.
    has_others: bool,
}

impl Series {
    pub(super) fn open(plan: &Plan, args: &WatchArgs) -> Result<Self, Failure> {
        let mut series = Self {
            name: plan.name.clone(),
            anchor: args.anchor.clone(),
            work: plan.work_digest(),
            anchor_digest: args
                .anchor
                .as_ref()
                .map_or_else(String::new, |_| plan.variant_digest(0)),
            trials: Vec::new(),
            has_others: false,
        };
        // A store that is not there yet will be made.
        let is_there = args.store.store.as_ref().is_none_or(|place| place.exists());
        let store = if is_there { open_to_read(args.store.store.as_deref())? } else { None };
        let Some(store) = store else { return Ok(series) };
        let filter = Filter { plan: Some(plan.name.clone()), ..Filter::default() };
        let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
        summaries.retain(|summary| matches!(summary.state, TrialState::Ended(_)));
        let ids: Vec<TrialId> = summaries.iter().rev().map(|summary| summary.trial).collect();
        let trials =
            store.load_many(&ids, LoadDetail::Headlines).map_err(|error| failure(&error))?;
        let is_watched = |trial: &Trial| trial.fact(WATCH_WORK_FACT).is_some();
        let is_own = |trial: &Trial| {
            trial.fact(WATCH_WORK_FACT) == Some(series.work.as_str())
                && trial.fact(WATCH_ANCHOR_FACT) == series.anchor.as_deref()
        };
        let (own, others): (Vec<Trial>, Vec<Trial>) =
            trials.into_iter().filter(is_watched).partition(is_own);
        series.has_others = !others.is_empty();
        series.trials = own;
        Ok(series)
    }

    /// Describes the series that is continued.
    pub(super) fn words(&self) -> String {
        let labels = self.labels();
        let anchor = match &self.anchor {
            Some(anchor) => format!("anchor '{anchor}'"),
            None => {
                "without an anchor: a change of the machine cannot be told from one of what is \
                     watched"
                    .to_owned()
            }
        };
        match (self.trials.last(), self.has_others) {
            (Some(last), _) => format!(
                "series '{}', {anchor}: {} so far, the last one '{}'",
                self.name,
                match labels.len() {
                    1 => "1 point".to_owned(),
                    points => format!("{points} points"),
                },
                last.beginning.label
            ),
            (None, false) => format!("series '{}', {anchor}: its first point", self.name),
            (None, true) => format!(
                "series '{}', {anchor}: its first point; the points so far have other jobs, \
                 conditions or another anchor, and are not continued",
                self.name
            ),
        }
    }

    fn labels(&self) -> BTreeSet<&str> {
        self.trials.iter().map(|trial| trial.beginning.label.as_str()).collect()
    }

    /// Unused label: the wanted one, with a number if necessary.
    fn free_label(&self, wanted: &str, but: &[TrialId]) -> String {
        let others = self.trials.iter().filter(|trial| !but.contains(&trial.beginning.trial));
        let taken: BTreeSet<&str> = others.map(|trial| trial.beginning.label.as_str()).collect();
        let numbered = (2..).map(|number: u64| format!("{wanted} ({number})"));
        let all = std::iter::once(wanted.to_owned()).chain(numbered);
        all.into_iter().find(|label| !taken.contains(label.as_str())).unwrap_or_default()
    }

    /// The next point.
    pub(super) fn point(&self, wanted: &str) -> SeriesPoint {
        let mut facts = vec![(WATCH_WORK_FACT, self.work.clone())];
        if let Some(anchor) = &self.anchor {
            facts.push((WATCH_ANCHOR_FACT, anchor.clone()));
            facts.push((WATCH_ANCHOR_DIGEST_FACT, self.anchor_digest.clone()));
        }
        SeriesPoint { label: self.free_label(wanted, &[]), facts }
    }

    /// Trials of the anchor at the newest valid point.
    fn newest_of_anchor(&self) -> Vec<Trial> {
        let Some(anchor) = self.anchor.as_deref() else { return Vec::new() };
        let is_anchor = |trial: &&Trial| {
            trial.beginning.cell.as_ref().is_some_and(|cell| cell.variant == anchor)
                && trial.exclusion().is_none()
                && is_completed(trial)
        };
        let of_anchor: Vec<&Trial> = self.trials.iter().filter(is_anchor).collect();
        let label = of_anchor.last().map(|trial| trial.beginning.label.as_str());
        let newest = of_anchor.iter().filter(|one| Some(one.beginning.label.as_str()) == label);
        newest.map(|trial| (*trial).clone()).collect()
    }

    /// Refuses, before any measurement, an anchor whose description or kernel differs from that of
    /// the last point.
    pub(super) fn refuse_another_anchor(
        &self,
        plan: &Plan,
        args: &WatchArgs,
    ) -> Result<(), Failure> {
        let before = self.newest_of_anchor();
        let Some(last) = before.last() else { return Ok(()) };
        let mut why = Vec::new();
        if last.fact(WATCH_ANCHOR_DIGEST_FACT) != Some(self.anchor_digest.as_str()) {
            why.push("the plan describes it otherwise".to_owned());
        }
        let is_booted = plan.variants.first().is_some_and(|variant| variant.guest.is_some());
        let (was, is) = (last.fact("kernel.release"), treering_observe::kernel_release());
        if let Some(was) = was.filter(|was| !is_booted && *was != is) {
            why.push(format!("kernel.release is {is}, and was {was}"));
        }
        self.is_accepted(&why, args)
    }

    fn is_accepted(&self, why: &[String], args: &WatchArgs) -> Result<(), Failure> {
        if why.is_empty() {
            return Ok(());
        }
        let name = self.anchor.as_deref().unwrap_or_default();
        let message =
            format!("the anchor '{name}' changed since the last point: {}", why.join("; "));
        if args.accept_anchor {
            say(&format!(
                "caution: {message}; accepted, so a change here may be that of the anchor"
            ));
            return Ok(());
        }
        Err(Failure::new(Kind::Usage, message).hint(
            "restore it (a kernel for the anchor alone: kernel = \"FILE.deb\"), give the plan \
             another name for a new series, or --accept-anchor",
        ))
    }

    /// Checks the new point against the series before it (`before`): that it is comparable, that
    /// its anchor is the same, and what its label is.
    pub(super) fn judge_newest(
        &self,
        before: &Self,
        label: &str,
        args: &WatchArgs,
    ) -> Result<(), Failure> {
        let known: BTreeSet<TrialId> =
            before.trials.iter().map(|trial| trial.beginning.trial).collect();
        let is_new = |trial: &&Trial| !known.contains(&trial.beginning.trial);
        let new: Vec<&Trial> = self.trials.iter().filter(is_new).collect();
        let ids: Vec<TrialId> = new.iter().map(|trial| trial.beginning.trial).collect();
        let is_watched = |trial: &&&Trial| {
            let cell = trial.beginning.cell.as_ref();
            cell.is_some_and(|cell| Some(&cell.variant) != self.anchor.as_ref())
                && is_completed(trial)
        };
        let Some(watched) = new.iter().rfind(is_watched) else {
            let message = format!("point '{label}': no trial of what is watched completed");
            return Err(Failure::new(Kind::Trial, message));
        };
        let of_anchor = |trial: &&&Trial| {
            let cell = trial.beginning.cell.as_ref();
            cell.is_some_and(|cell| Some(&cell.variant) == self.anchor.as_ref())
        };
        let after: Vec<Trial> =
            new.iter().filter(of_anchor).map(|trial| (*trial).clone()).collect();
        let AnchorChanges { of_anchor, of_machine } =
            anchor_changes(before.newest_of_anchor(), after);
        for fact in &of_machine {
            say(&format!("since the last point, for the anchor too: {}", words(fact)));
        }
        let why: Vec<String> = of_anchor.iter().map(words).collect();
        if let Err(failure) = self.is_accepted(&why, args) {
            let reason = failure.message().to_owned();
            annotate(&ids, &AnnotationKind::Excluded { reason }, args)?;
            return Err(Failure::new(Kind::Trial, failure.message().to_owned()).hint(format!(
                "the trials of point '{label}' are kept, and excluded from comparisons"
            )));
        }
        let Some(name) = &args.label_by else { return Ok(()) };
        let Some(value) = watched.fact(name) else {
            let message = format!("--label-by {name}: no trial of point '{label}' knows it");
            return Err(Failure::new(Kind::Usage, message)
                .hint(format!("the point is called '{label}'; `treering label` renames it")));
        };
        let label = self.free_label(value, &ids);
        annotate(&ids, &AnnotationKind::Relabelled { label, was: String::new() }, args)
    }
}

fn is_completed(trial: &Trial) -> bool {
    trial.ending == Ending::Completed
}

/// `kernel.release was 6.1, is 6.2`.
fn words(fact: &ChangedFact) -> String {
    let known =
        |value: &str| if value.is_empty() { "not known".to_owned() } else { value.to_owned() };
    format!("{} is {}, and was {}", fact.name, known(&fact.after), known(&fact.before))
}

fn annotate(trials: &[TrialId], change: &AnnotationKind, args: &WatchArgs) -> Result<(), Failure> {
    let place = match &args.store.store {
        Some(place) => place.clone(),
        None => places::default_store()?,
    };
    let now_ms = i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX);
    let mut store = open_to_write(&place)?;
    store.annotate(trials, now_ms, change).map_err(|error| failure(&error))
}
