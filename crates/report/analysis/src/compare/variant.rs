//! Variant of a comparison: its trials, and the factor declared to differ.

use treering_model::{Ending, Trial};

/// Factor by which the trials of a variant were selected, which is the declared difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// Label set by the user; declares no difference of the environment.
    Label,
    /// Single trials by id; declares no difference.
    Id,
    /// Kernel release.
    Kernel,
    /// Variant of a plan: filesystem, mkfs, mount and device may differ.
    Variant,
    /// Job of a plan on one variant: the parameters of the workload may differ.
    Job,
    /// Filesystem type.
    Filesystem,
    /// Directory under test: the device and filesystem below it may differ.
    Target,
}

impl Factor {
    /// Prefix of a selector: `kernel` in `kernel:6.1.0`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Id => "id",
            Self::Kernel => "kernel",
            Self::Variant => "variant",
            Self::Job => "job",
            Self::Filesystem => "fs",
            Self::Target => "target",
        }
    }

    /// All factors.
    pub const ALL: [Self; 7] = [
        Self::Label,
        Self::Id,
        Self::Kernel,
        Self::Variant,
        Self::Job,
        Self::Filesystem,
        Self::Target,
    ];
}

/// A set of trials compared as one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedVariant {
    /// Name of the variant in tables.
    pub name: String,
    /// Factor by which its trials were selected.
    pub factor: Factor,
    /// Name of the baseline variant; the variant's own name for a pure baseline; `None` if the
    /// baseline is the first variant.
    pub against: Option<String>,
    /// Trials of the variant, in any order.
    pub trials: Vec<Trial>,
}

impl ComparedVariant {
    /// Trials in time order, which are the rounds of the variant.
    pub(super) fn rounds(&self) -> Vec<&Trial> {
        let mut rounds: Vec<&Trial> = self.trials.iter().collect();
        rounds.sort_by_key(|trial| (trial.beginning.started_unix_ms, trial.beginning.trial));
        rounds
    }
}

/// Pairs each contender with its baseline, in contender order: the variant that it names, or the
/// first one. A contender that names itself or an unknown variant is dropped.
pub(super) fn contrasts<'v>(
    first: &'v ComparedVariant,
    others: &'v [ComparedVariant],
) -> Vec<(&'v ComparedVariant, &'v ComparedVariant)> {
    let named =
        |name: &str| std::iter::once(first).chain(others).find(|variant| variant.name == name);
    let baseline = |variant: &ComparedVariant| match variant.against.as_deref() {
        None => Some(first),
        Some(name) if name == variant.name => None,
        Some(name) => named(name),
    };
    others.iter().filter_map(|variant| Some((baseline(variant)?, variant))).collect()
}

/// Reports whether a trial completed, which is required to compare it.
pub(crate) fn is_completed(trial: &Trial) -> bool {
    trial.ending == Ending::Completed
}

/// Value of a fact of a trial.
pub(super) fn fact<'t>(trial: &'t Trial, name: &str) -> Option<&'t str> {
    trial.fact(name)
}
