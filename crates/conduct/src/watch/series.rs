//! Series of measurements: stored trials, labels, and the check that the anchor is unchanged.

use std::collections::BTreeSet;

use treering_model::{
    AnnotationKind, Ending, Trial, TrialId, WATCH_ANCHOR_DIGEST_FACT, WATCH_ANCHOR_FACT,
    WATCH_WORK_FACT,
};

use super::{ChangedFact, SeriesStore, WatchOptions};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, SeriesPoint};
use crate::plan::Plan;

/// Stored trials of a series, and its identity.
pub(super) struct Series {
    name: String,
    anchor: Option<String>,
    work: String,
    /// Digest of the anchor in the present plan.
    anchor_digest: String,
    /// Trials of the series, oldest first.
    pub(super) trials: Vec<Trial>,
    /// True if the store has trials of this plan with other work or another anchor.
    has_others: bool,
}

impl Series {
    /// Reads the series of a plan from the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn open(
        plan: &Plan,
        options: &WatchOptions,
        store: &dyn SeriesStore,
    ) -> Result<Self, Failure> {
        let anchor_digest =
            options.anchor.as_ref().map_or_else(String::new, |_| plan.variant_digest(0));
        let mut series = Self {
            name: plan.name.clone(),
            anchor: options.anchor.clone(),
            work: plan.work_digest(),
            anchor_digest,
            trials: Vec::new(),
            has_others: false,
        };
        let trials = store.ended_trials(&plan.name)?;
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

    /// Unused label: the wanted one, with a number appended if it is taken.
    fn free_label(&self, wanted: &str, but: &[TrialId]) -> String {
        let others = self.trials.iter().filter(|trial| !but.contains(&trial.beginning.trial));
        let taken: BTreeSet<&str> = others.map(|trial| trial.beginning.label.as_str()).collect();
        let numbered = (2..).map(|number: u64| format!("{wanted} ({number})"));
        let mut labels = std::iter::once(wanted.to_owned()).chain(numbered);
        labels.find(|label| !taken.contains(label.as_str())).unwrap_or_default()
    }

    /// Next point of the series, with this label, numbered if it is taken.
    pub(super) fn point(&self, wanted: &str) -> SeriesPoint {
        let mut facts = vec![(WATCH_WORK_FACT, self.work.clone())];
        if let Some(anchor) = &self.anchor {
            facts.push((WATCH_ANCHOR_FACT, anchor.clone()));
            facts.push((WATCH_ANCHOR_DIGEST_FACT, self.anchor_digest.clone()));
        }
        SeriesPoint { label: self.free_label(wanted, &[]), facts }
    }

    /// Trials of the anchor at the newest point that is not excluded.
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
    ///
    /// # Errors
    /// When the anchor differs, and the options do not accept that.
    pub(super) fn refuse_another_anchor(
        &self,
        plan: &Plan,
        options: &WatchOptions,
        host: &dyn Host,
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
        self.accept_anchor(&why, options, host)
    }

    /// Accepts an anchor that changed for the reasons in `why`, if the options allow it. An empty
    /// `why` means no change.
    fn accept_anchor(
        &self,
        why: &[String],
        options: &WatchOptions,
        host: &dyn Host,
    ) -> Result<(), Failure> {
        if why.is_empty() {
            return Ok(());
        }
        let name = self.anchor.as_deref().unwrap_or_default();
        let message =
            format!("the anchor '{name}' changed since the last point: {}", why.join("; "));
        if options.accepts_anchor {
            host.say(&format!(
                "caution: {message}; accepted, so a change here may be that of the anchor"
            ));
            return Ok(());
        }
        Err(Failure::usage(message).hint(
            "restore it (a kernel for the anchor alone: kernel = \"FILE.deb\"), give the plan \
             another name for a new series, or --accept-anchor",
        ))
    }

    /// Checks the new point: a watched trial completed, and the anchor is unchanged since `before`,
    /// the series without the point. Then sets the label of the point, if a fact names it.
    pub(super) fn judge_newest(
        &self,
        before: &Self,
        label: &str,
        options: &WatchOptions,
        (store, host): (&dyn SeriesStore, &dyn Host),
    ) -> Result<(), Failure> {
        let now_ms = host.unix_ms();
        let known_trials: BTreeSet<TrialId> =
            before.trials.iter().map(|trial| trial.beginning.trial).collect();
        let is_new = |trial: &&Trial| !known_trials.contains(&trial.beginning.trial);
        let new: Vec<&Trial> = self.trials.iter().filter(is_new).collect();
        let ids: Vec<TrialId> = new.iter().map(|trial| trial.beginning.trial).collect();
        let is_watched = |trial: &&&Trial| {
            let cell = trial.beginning.cell.as_ref();
            cell.is_some_and(|cell| Some(&cell.variant) != self.anchor.as_ref())
                && is_completed(trial)
        };
        let Some(watched) = new.iter().rfind(is_watched) else {
            let message = format!("point '{label}': no trial of what is watched completed");
            return Err(Failure::new(FailureKind::Trial, message));
        };
        let of_anchor = |trial: &&&Trial| {
            let cell = trial.beginning.cell.as_ref();
            cell.is_some_and(|cell| Some(&cell.variant) == self.anchor.as_ref())
        };
        let after: Vec<Trial> =
            new.iter().filter(of_anchor).map(|trial| (*trial).clone()).collect();
        let changes = store.anchor_changes(before.newest_of_anchor(), after);
        for fact in &changes.of_machine {
            host.say(&format!(
                "since the last point, for the anchor too: {}",
                describe_change(fact)
            ));
        }
        let why: Vec<String> = changes.of_anchor.iter().map(describe_change).collect();
        if let Err(failure) = self.accept_anchor(&why, options, host) {
            let reason = failure.message().to_owned();
            store.annotate(&ids, now_ms, &AnnotationKind::Excluded { reason })?;
            return Err(Failure::new(FailureKind::Trial, failure.message().to_owned()).hint(
                format!("the trials of point '{label}' are kept, and excluded from comparisons"),
            ));
        }
        let Some(name) = &options.label_by else { return Ok(()) };
        let Some(value) = watched.fact(name) else {
            let message = format!("--label-by {name}: no trial of point '{label}' knows it");
            return Err(Failure::usage(message)
                .hint(format!("the point is called '{label}'; `treering label` renames it")));
        };
        let label = self.free_label(value, &ids);
        store.annotate(&ids, now_ms, &AnnotationKind::Relabelled { label, was: String::new() })
    }
}

fn is_completed(trial: &Trial) -> bool {
    trial.ending == Ending::Completed
}

/// Describes a changed fact: `kernel.release is 6.2, and was 6.1`.
fn describe_change(fact: &ChangedFact) -> String {
    let known =
        |value: &str| if value.is_empty() { "not known".to_owned() } else { value.to_owned() };
    format!("{} is {}, and was {}", fact.name, known(&fact.after), known(&fact.before))
}
