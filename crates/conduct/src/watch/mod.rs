//! Series of measurements: each point is measured in turns with an anchor that never changes.

mod commands;
mod series;

use std::path::PathBuf;

use treering_lab::Lab;
use treering_model::{AnnotationKind, Trial, TrialId};

pub use self::commands::{WorsePoint, next_commands};
use self::series::Series;
use crate::compare::{PlanEnd, carry_out};
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, PlanOptions, ResultStore, SeriesPoint};
use crate::plan::{Machine, Plan, Stopping, with_kernel};

/// Options of a series.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// File of the plan, for messages and commands.
    pub plan_file: PathBuf,
    /// Variant that never changes.
    pub anchor: Option<String>,
    /// Label of the new point; `None` for the name of the kernel's file, or the day.
    pub label: Option<String>,
    /// The present day, as a label.
    pub day: String,
    /// Fact of the watched variant whose value becomes the label of the new point.
    pub label_by: Option<String>,
    /// Kernel of every variant but the anchor, in a guest.
    pub kernel: Option<PathBuf>,
    /// Number of rounds of a point.
    pub rounds: u32,
    /// Number of points to measure.
    pub points: u32,
    /// True if the series continues despite a changed anchor.
    pub accepts_anchor: bool,
    /// Block devices that may be erased.
    pub erase: Vec<PathBuf>,
    /// Store that the user named.
    pub store: Option<PathBuf>,
    /// True if only failures and cautions are shown.
    pub quiet: bool,
}

impl WatchOptions {
    /// Preferred label of the point.
    fn wanted_label(&self) -> String {
        let of_kernel = || self.kernel.as_ref()?.file_stem()?.to_str().map(str::to_owned);
        self.label.clone().or_else(of_kernel).unwrap_or_else(|| self.day.clone())
    }
}

/// A fact of the anchor or its machine that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Name of the fact.
    pub name: String,
    /// Value before the change; empty if it is not known.
    pub before: String,
    /// Value after the change; empty if it is not known.
    pub after: String,
}

/// Changed facts between two points of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnchorChanges {
    /// Changed facts of the anchor itself, which is then no longer comparable.
    pub of_anchor: Vec<ChangedFact>,
    /// Changed facts of the machine, which affect the anchor and the watched variant alike.
    pub of_machine: Vec<ChangedFact>,
}

/// Store of a series, which also compares the anchor of different points.
pub trait SeriesStore: ResultStore {
    /// Ended trials of a plan, oldest first. A missing store has none.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn ended_trials(&self, plan: &str) -> Result<Vec<Trial>, Failure>;

    /// Annotates stored trials: changes their label, or excludes them from comparisons.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn annotate(
        &self,
        trials: &[TrialId],
        now_ms: i64,
        change: &AnnotationKind,
    ) -> Result<(), Failure>;

    /// Compares the anchor's trials of an earlier point with those of a later one.
    fn anchor_changes(&self, before: Vec<Trial>, after: Vec<Trial>) -> AnchorChanges;
}

/// Turns a plan into that of a series: the anchor first, then the watched variants under the named
/// kernel.
///
/// # Errors
/// When the plan does not fit the options.
pub fn watched_plan(mut plan: Plan, options: &WatchOptions) -> Result<Plan, Failure> {
    let usage = |message: String, hint: &str| Failure::usage(message).hint(hint);
    let file = options.plan_file.display();
    if plan.conditions.machine == Machine::Reboot {
        let message = format!("{file}: a plan that reboots this machine cannot be watched");
        return Err(usage(message, "boot the kernels in guests: machine = \"guest\""));
    }
    if let Some(name) = &options.anchor {
        let Some(at) = plan.variants.iter().position(|variant| variant.name == *name) else {
            let names: Vec<&str> =
                plan.variants.iter().map(|variant| variant.name.as_str()).collect();
            let message = format!("--anchor: {file} has no variant '{name}'");
            return Err(usage(message, &format!("its variants: {}", names.join(", "))));
        };
        if plan.variants.len() < 2 {
            let message =
                format!("{file}: beside the anchor '{name}' there is no variant to watch");
            return Err(usage(message, "add a [[variant]] for what is new"));
        }
        plan.variants[..=at].rotate_right(1);
    }
    if let Some(kernel) = &options.kernel {
        for variant in plan.variants.iter_mut().skip(usize::from(options.anchor.is_some())) {
            let guest = variant.guest.clone().or_else(|| plan.guest.clone());
            variant.guest = guest;
            *variant = with_kernel(variant, &variant.name, kernel)?;
        }
    }
    // Without `against`, the first variant (the anchor) is the baseline of all others.
    plan.variants.iter_mut().for_each(|variant| variant.against = None);
    plan.stopping = Stopping::Fixed { rounds: options.rounds };
    plan.conditions.control = false;
    Ok(plan)
}

/// Describes the series that is continued, and returns its next point without measuring it.
///
/// # Errors
/// When the store cannot be read, or the anchor has changed.
pub fn foresee_point(
    plan: &Plan,
    options: &WatchOptions,
    (store, host): (&dyn SeriesStore, &dyn Host),
) -> Result<SeriesPoint, Failure> {
    let series = Series::open(plan, options, store)?;
    host.say(&series.words());
    series.refuse_another_anchor(plan, options, host)?;
    Ok(series.point(&options.wanted_label()))
}

/// Measures the points one after the other, until a signal arrives. A point is valid unless its
/// anchor has changed.
///
/// # Errors
/// When the plan cannot be carried out, a point has no result, or the anchor has changed.
pub fn measure_points(
    plan: &Plan,
    options: &WatchOptions,
    plan_options: &mut PlanOptions<'_>,
    (store, host): (&dyn SeriesStore, &dyn Host),
    lab: &Lab,
) -> Result<PlanEnd, Failure> {
    let mut end = PlanEnd::Done { campaign: None };
    for _ in 0..options.points {
        let before = Series::open(plan, options, store)?;
        before.refuse_another_anchor(plan, options, host)?;
        if !options.quiet {
            host.say(&before.words());
        }
        let point = before.point(&options.wanted_label());
        let label = point.label.clone();
        plan_options.point = Some(point);
        end = carry_out(plan, plan_options, (store, host), lab)?;
        match &end {
            PlanEnd::Done { .. } | PlanEnd::Rebooting => {}
            PlanEnd::Interrupted => break,
            PlanEnd::GivenUp { why, .. } => {
                return Err(Failure::new(FailureKind::Trial, why.clone()));
            }
        }
        let after = Series::open(plan, options, store)?;
        after.judge_newest(&before, &label, options, (store, host))?;
    }
    Ok(end)
}

/// Trials of a series in the store, oldest first.
///
/// # Errors
/// When the store cannot be read.
pub fn trials_of_series(
    plan: &Plan,
    options: &WatchOptions,
    store: &dyn SeriesStore,
) -> Result<Vec<Trial>, Failure> {
    Ok(Series::open(plan, options, store)?.trials)
}
