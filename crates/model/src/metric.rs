//! A metric: one number per trial (or per kind of task in it), with its unit and better direction.

use serde::{Deserialize, Serialize};

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Wall-clock or CPU seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Mebibytes (2^20 bytes) per second.
    MibPerSecond,
    /// Files per second.
    FilesPerSecond,
    /// Operations per second.
    OpsPerSecond,
    /// A plain number.
    Count,
    /// Percent of something named by the metric.
    Percent,
}

impl Unit {
    /// The unit as printed behind a number.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::MibPerSecond => "MiB/s",
            Self::FilesPerSecond => "files/s",
            Self::OpsPerSecond => "ops/s",
            Self::Count => "",
            Self::Percent => "%",
        }
    }

    /// The unit's word in JSON and in stores.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Nanoseconds => "nanoseconds",
            Self::Bytes => "bytes",
            Self::MibPerSecond => "mib_per_second",
            Self::FilesPerSecond => "files_per_second",
            Self::OpsPerSecond => "ops_per_second",
            Self::Count => "count",
            Self::Percent => "percent",
        }
    }

    /// Every unit.
    pub const ALL: [Self; 8] = [
        Self::Seconds,
        Self::Nanoseconds,
        Self::Bytes,
        Self::MibPerSecond,
        Self::FilesPerSecond,
        Self::OpsPerSecond,
        Self::Count,
        Self::Percent,
    ];
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A rate.
    Higher,
    /// A time or a cost.
    Lower,
}

impl Better {
    /// Its word in data and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }

    /// The same in a sentence.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Higher => "higher is better",
            Self::Lower => "lower is better",
        }
    }
}

/// What part of a trial a metric speaks of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole trial.
    Trial,
    /// One phase, by its name.
    Phase(String),
    /// All tasks of one kind, by its name.
    Kind(String),
}

impl Scope {
    /// The full name of a metric of this part, as in JSON and in plans: `create/mib_per_second`.
    pub fn metric_name(&self, name: &str) -> String {
        match self {
            Self::Trial => name.to_owned(),
            Self::Phase(phase) => format!("phase {phase}/{name}"),
            Self::Kind(kind) => format!("{kind}/{name}"),
        }
    }
}

/// One number of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// What is measured, the unit's word last: `create_mib_per_second`.
    pub name: String,
    /// The part of the trial.
    pub scope: Scope,
    /// The number, finite.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Its better direction.
    pub better: Better,
    /// Whether it is among the few that decide a comparison.
    pub primary: bool,
    /// Of how many tasks it was made; a latency of requests: of how many that were timed.
    pub tasks: u64,
}

impl Metric {
    /// A number made of one task, not among those that decide.
    pub fn new(
        name: impl Into<String>,
        scope: Scope,
        value: f64,
        unit: Unit,
        better: Better,
    ) -> Self {
        Self { name: name.into(), scope, value, unit, better, primary: false, tasks: 1 }
    }

    /// The same, among the few that decide.
    pub fn primary(self) -> Self {
        self.primary_if(true)
    }

    /// The same, among the few that decide where this holds.
    pub fn primary_if(self, primary: bool) -> Self {
        Self { primary, ..self }
    }

    /// Its full name, with the part of the trial before it: `create/mib_per_second`.
    pub fn full_name(&self) -> String {
        self.scope.metric_name(&self.name)
    }

    /// The same, made of so many tasks.
    pub fn of_tasks(self, tasks: u64) -> Self {
        Self { tasks, ..self }
    }
}
