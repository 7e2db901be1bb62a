//! A variant of a comparison: its trials, and what was declared to be different about them.

use treering_model::{Ending, Trial};

/// By what the trials of a variant were chosen: the difference that the user declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// By the users' labels: no difference of the place is declared.
    Label,
    /// One by one: no difference is declared.
    Id,
    /// By the kernel's release.
    Kernel,
    /// By the variant of a plan: filesystem, mkfs, mount and device may differ.
    Variant,
    /// By the type of the filesystem.
    Filesystem,
    /// By the directory under test, so that what it is on may differ.
    Target,
}

impl Factor {
    /// The word before the colon of a selector: `kernel` in `kernel:6.1.0`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Label => "label",
            Self::Id => "id",
            Self::Kernel => "kernel",
            Self::Variant => "variant",
            Self::Filesystem => "fs",
            Self::Target => "target",
        }
    }

    /// Every factor.
    pub const ALL: [Self; 6] =
        [Self::Label, Self::Id, Self::Kernel, Self::Variant, Self::Filesystem, Self::Target];
}

/// Trials that stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedVariant {
    /// Its name in tables.
    pub name: String,
    /// By what its trials were chosen.
    pub factor: Factor,
    /// The name of the variant that it is compared with, its own when it is a baseline only; with
    /// the first one when not given.
    pub against: Option<String>,
    /// Its trials, in any order.
    pub trials: Vec<Trial>,
}

impl ComparedVariant {
    /// Its trials in the order of time: its rounds.
    pub(super) fn rounds(&self) -> Vec<&Trial> {
        let mut rounds: Vec<&Trial> = self.trials.iter().collect();
        rounds.sort_by_key(|trial| (trial.beginning.started_unix_ms, trial.beginning.trial));
        rounds
    }
}

/// Each contender behind its baseline, in the order of the contenders: the variant that it names,
/// else the first. One that names itself, or a variant that is not there, is compared with nothing.
pub(super) fn contrasts<'v>(
    first: &'v ComparedVariant,
    others: &'v [ComparedVariant],
) -> Vec<(&'v ComparedVariant, &'v ComparedVariant)> {
    let named = |name: &str| std::iter::once(first).chain(others).find(|one| one.name == name);
    let baseline = |variant: &ComparedVariant| match variant.against.as_deref() {
        None => Some(first),
        Some(name) if name == variant.name => None,
        Some(name) => named(name),
    };
    others.iter().filter_map(|variant| Some((baseline(variant)?, variant))).collect()
}

/// Whether a trial's numbers count.
pub(crate) fn is_completed(trial: &Trial) -> bool {
    trial.ending == Ending::Completed
}

/// The value of a fact of a trial.
pub(super) fn fact<'t>(trial: &'t Trial, name: &str) -> Option<&'t str> {
    trial.fact(name)
}
