//! Maintenance in a profile: kind, interval in operations, and files.

use serde::Deserialize;

use crate::sizes::{ProfileError, counted, share};

/// Largest accepted number of operations between two runs.
const EVERY_MAX: u64 = 1_000_000_000;
/// Largest accepted number of snapshots.
const SNAPSHOTS_MAX: u64 = 10_000;

/// Keys of a `[[maintenance]]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct MaintenanceText {
    #[serde(rename = "do")]
    kind: MaintenanceKind,
    #[serde(default)]
    every: Option<u64>,
    #[serde(default)]
    files: Option<String>,
    #[serde(default)]
    share: Option<String>,
    #[serde(default)]
    reads: bool,
    #[serde(default)]
    keep: Option<u64>,
    #[serde(default)]
    usage: Option<u64>,
}

/// Kind of maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MaintenanceKind {
    /// Reads files with cold caches.
    Read,
    /// Discards the free space.
    Trim,
    /// Gives files fewer extents.
    Defrag,
    /// Lets copies share the blocks that they have in common with their originals.
    Dedupe,
    /// Writes the data of chunks of btrfs anew and gives emptied chunks back.
    Balance,
    /// Makes a snapshot of all files, and destroys the oldest.
    Snapshot,
}

impl MaintenanceKind {
    /// Name in profiles, phases and messages.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Trim => "trim",
            Self::Defrag => "defrag",
            Self::Dedupe => "dedupe",
            Self::Balance => "balance",
            Self::Snapshot => "snapshot",
        }
    }

    /// True for maintenance of single files; false for maintenance of the whole filesystem.
    const fn takes_files(self) -> bool {
        matches!(self, Self::Read | Self::Defrag | Self::Dedupe)
    }
}

/// Maintenance with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MaintenancePlan {
    pub(crate) kind: MaintenanceKind,
    /// Operations between two runs; `None` for a single run after the last operation.
    pub(crate) every: Option<u64>,
    /// Index of the population to work on; `None` for all.
    pub(crate) files: Option<usize>,
    /// Share of those files to work on, drawn anew for each run.
    pub(crate) share: f64,
    /// True if those files are read cold before and after.
    pub(crate) reads: bool,
    /// Number of snapshots to keep.
    pub(crate) keep: u64,
    /// Percentage below which a chunk is balanced; 100 for all chunks.
    pub(crate) usage: u64,
    /// Name of its phase and tasks.
    pub(crate) name: String,
}

impl MaintenancePlan {
    /// Parses all maintenance of a profile, whose populations have these names.
    pub(crate) fn read_all(
        written: &[MaintenanceText],
        names: &[&str],
    ) -> Result<Vec<Self>, ProfileError> {
        let plans: Vec<Self> =
            written.iter().map(|text| Self::read(text, names)).collect::<Result<_, _>>()?;
        for (place, plan) in plans.iter().enumerate() {
            if plans[..place].iter().any(|other| other.name == plan.name) {
                let message = format!("[[maintenance]] '{}' is there twice", plan.name);
                return Err(ProfileError(message));
            }
        }
        // Snapshots have one series of numbers.
        if plans.iter().filter(|plan| plan.kind == MaintenanceKind::Snapshot).count() > 1 {
            return Err(ProfileError("[[maintenance]] snapshot is there twice".to_owned()));
        }
        Ok(plans)
    }

    fn read(written: &MaintenanceText, names: &[&str]) -> Result<Self, ProfileError> {
        let (kind, word) = (written.kind, written.kind.word());
        let within = |message: &str| ProfileError(format!("[[maintenance]] {word}: {message}"));
        let about = |ProfileError(message): ProfileError| within(&message);
        if kind == MaintenanceKind::Read && written.reads {
            return Err(within("`reads` is for all else, it reads itself"));
        }
        let takes_files = kind.takes_files() || written.reads;
        if !takes_files && (written.files.is_some() || written.share.is_some()) {
            return Err(within("`files` and `share` need `reads`: it is done to all files"));
        }
        let place = |name: &String| {
            let place = names.iter().position(|known| known == name);
            place.ok_or_else(|| within(&format!("there is no [[files]] named '{name}'")))
        };
        let keep = match (kind, written.keep) {
            (MaintenanceKind::Snapshot, None) => return Err(within("`keep` is missing")),
            (MaintenanceKind::Snapshot, Some(keep)) => {
                counted("keep", keep, 1..=SNAPSHOTS_MAX).map_err(about)?
            }
            (_, Some(_)) => return Err(within("`keep` is for snapshots")),
            (_, None) => 0,
        };
        let usage = match (kind, written.usage) {
            (MaintenanceKind::Balance, usage) => {
                counted("usage", usage.unwrap_or(100), 1..=100).map_err(about)?
            }
            (_, Some(_)) => return Err(within("`usage` is for balance")),
            (_, None) => 100,
        };
        let every = written.every.map(|every| counted("every", every, 1..=EVERY_MAX));
        let part = written.share.as_deref().map(|text| share("share", text));
        Ok(Self {
            kind,
            every: every.transpose().map_err(about)?,
            files: written.files.as_ref().map(place).transpose()?,
            share: part.transpose().map_err(about)?.unwrap_or(1.0),
            reads: written.reads,
            keep,
            usage,
            name: written.files.as_ref().map_or(word.to_owned(), |files| format!("{word} {files}")),
        })
    }

    /// True if it works on files or reads them.
    pub(crate) const fn takes_files(&self) -> bool {
        self.kind.takes_files() || self.reads
    }

    /// True if a run is due after `now` operations, with the last check after `before`.
    pub(crate) fn is_due(&self, before: u64, now: u64) -> bool {
        self.every.is_some_and(|every| now / every > before / every)
    }

    /// Number of the run after this many operations, from 1.
    pub(crate) fn number(&self, operations: u64) -> u64 {
        self.every.map_or(1, |every| operations / every)
    }
}

/// Number of readings before and after: their spread tells a gain from noise.
const READINGS: u32 = 3;

/// Part of a run of maintenance, which is a phase of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MaintenancePart {
    /// Reads its files cold, several times, before the work.
    ReadBefore,
    /// Does the work.
    Work,
    /// Reads its files cold, as often, after the work.
    ReadAfter,
}

impl MaintenancePart {
    /// Parts of a run, in order.
    pub(crate) const fn of(plan: &MaintenancePlan) -> &'static [Self] {
        if plan.reads { &[Self::ReadBefore, Self::Work, Self::ReadAfter] } else { &[Self::Work] }
    }

    /// Number of its tasks, one after the other.
    pub(crate) const fn tasks(self) -> u32 {
        match self {
            Self::Work => 1,
            Self::ReadBefore | Self::ReadAfter => READINGS,
        }
    }

    /// Name of the phase and of its tasks.
    pub(crate) fn name(self, plan: &MaintenancePlan) -> String {
        match self {
            Self::ReadBefore => format!("read before {}", plan.name),
            Self::Work => plan.name.clone(),
            Self::ReadAfter => format!("read after {}", plan.name),
        }
    }
}
