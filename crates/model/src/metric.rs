//! Metrics: one number per trial, phase or task kind, with unit and better direction.

use serde::{Deserialize, Serialize};

/// Unit of a metric.
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
    /// Dimensionless number.
    Count,
    /// Percent of a quantity named by the metric.
    Percent,
}

impl Unit {
    /// Symbol printed behind a number.
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

    /// Name in JSON and in stores.
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

/// Better direction of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterDirection {
    /// Higher is better, as for rates.
    Higher,
    /// Lower is better, as for times and costs.
    Lower,
}

impl BetterDirection {
    /// Name in data and tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }

    /// Phrase for sentences.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Higher => "higher is better",
            Self::Lower => "lower is better",
        }
    }
}

/// Part of a trial that a metric covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Whole trial.
    Trial,
    /// Phase with this name.
    Phase(String),
    /// All tasks of the kind with this name.
    Kind(String),
}

impl Scope {
    /// Full name of a metric of this part, as in JSON and in plans: `create/mib_per_second`.
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
    /// Name, ending in the unit: `create_mib_per_second`.
    pub name: String,
    /// Part of the trial.
    pub scope: Scope,
    /// Value, always finite.
    pub value: f64,
    /// Unit of the value.
    pub unit: Unit,
    /// Better direction.
    pub better: BetterDirection,
    /// True if the metric is among the few that decide a comparison.
    pub primary: bool,
    /// Number of tasks behind the value; for latencies of requests the number of timed requests.
    pub tasks: u64,
}

impl Metric {
    /// Builds a metric of one task, not primary.
    pub fn new(
        name: impl Into<String>,
        scope: Scope,
        value: f64,
        unit: Unit,
        better: BetterDirection,
    ) -> Self {
        Self { name: name.into(), scope, value, unit, better, primary: false, tasks: 1 }
    }

    /// Marks the metric as primary.
    pub fn primary(self) -> Self {
        self.primary_if(true)
    }

    /// Sets the primary flag.
    pub fn primary_if(self, primary: bool) -> Self {
        Self { primary, ..self }
    }

    /// Full name with the part of the trial: `create/mib_per_second`.
    pub fn full_name(&self) -> String {
        self.scope.metric_name(&self.name)
    }

    /// Sets the number of tasks.
    pub fn of_tasks(self, tasks: u64) -> Self {
        Self { tasks, ..self }
    }
}

/// Names of metrics in a list with commas between them. A comma before a blank is part of a name:
/// a phase of two things is `journal, database`.
pub fn split_metric_names(list: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in list.split(',') {
        match names.last_mut().filter(|_| part.starts_with(' ')) {
            Some(name) => *name += &format!(",{part}"),
            None => names.push(part.to_owned()),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::split_metric_names;

    #[test]
    fn a_comma_before_a_blank_is_part_of_a_metric_name() {
        let names = split_metric_names("a/b,phase journal, database/c,d");
        assert_eq!(names, ["a/b", "phase journal, database/c", "d"]);
        assert!(split_metric_names("").is_empty());
    }
}
