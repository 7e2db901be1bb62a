//! Origin of a page's figures, for its foot: version, machine, kernel, device, date and duration of
//! the trials.

use treering_model::{Fact, RunMode, Trial, TrialHeader, TrialId, Unit};

use super::identity::{minute, utc};
use crate::{Number, PageOrigin};

/// Maximum number of values of a fact that are named; further ones are counted.
const VALUES_MAX: usize = 3;

/// Names of the facts about time.
const MEASURED: &str = "measured";
const DURATION: &str = "duration";

impl PageOrigin {
    /// Creates the origin of figures from their trials, without commands.
    pub fn of_trials<'t>(trials: impl Iterator<Item = &'t Trial> + Clone) -> Self {
        let version = |trial: &Trial| Some(trial.beginning.treering_version.clone());
        let release = |trial: &Trial| trial.fact("kernel.release").map(str::to_owned);
        let named = [
            ("treering", values(trials.clone(), version)),
            ("machine", values(trials.clone(), machine)),
            ("kernel", values(trials.clone(), release)),
            ("device", values(trials.clone(), device)),
        ];
        let mut facts: Vec<(String, String)> = named
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        facts.extend(times(trials));
        Self { facts, commands: Vec::new() }
    }

    /// Creates the origin of what this version of the program found on a machine with these facts:
    /// `times` are the start in ms since 1970 and the duration in ns.
    pub fn of_findings(version: &str, facts: &[Fact], times: (i64, u64)) -> Self {
        let beginning = TrialHeader {
            started_unix_ms: times.0,
            treering_version: version.to_owned(),
            ..TrialHeader::new(TrialId::new(), "", RunMode::Native)
        };
        let findings = Trial { facts: facts.to_vec(), wall_ns: times.1, ..Trial::new(beginning) };
        Self::of_trials(std::iter::once(&findings))
    }

    /// Creates the origin of figures from only the first and the last trials, so that it states
    /// neither the number of trials nor their duration.
    pub fn of_ends<'t>(trials: impl Iterator<Item = &'t Trial> + Clone) -> Self {
        let mut origin = Self::of_trials(trials.clone());
        origin.facts.retain(|(name, _)| name != MEASURED && name != DURATION);
        let begins = trials.map(|trial| trial.beginning.started_unix_ms);
        if let (Some(first), Some(last)) = (begins.clone().min(), begins.max()) {
            let (first, last) = (day(first), day(last));
            let days = if first == last { first } else { format!("{first} to {last}") };
            origin.facts.push((MEASURED.to_owned(), days));
        }
        origin
    }

    /// Adds a command line with its purpose.
    #[must_use]
    pub fn with_command(mut self, purpose: &str, line: &str) -> Self {
        self.commands.push((purpose.to_owned(), line.to_owned()));
        self
    }
}

/// Different values of a fact over trials, in order of occurrence.
fn values<'t>(
    trials: impl Iterator<Item = &'t Trial>,
    of: impl Fn(&Trial) -> Option<String>,
) -> String {
    let mut found: Vec<String> = Vec::new();
    for value in trials.filter_map(of).filter(|value| !value.is_empty()) {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    let more = match found.len().saturating_sub(VALUES_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    found.truncate(VALUES_MAX);
    found.join(", ") + &more
}

fn bytes(value: &str) -> Option<String> {
    let value: f64 = value.parse().ok()?;
    Some(Number::measured(value, Unit::Bytes).text())
}

/// Describes the machine: `AMD EPYC, 2 CPUs, 23.54 GiB, virtual`.
fn machine(trial: &Trial) -> Option<String> {
    let cpus = trial.fact("cpu.count").map(|count| match count {
        "1" => "1 CPU".to_owned(),
        count => format!("{count} CPUs"),
    });
    let parts = [
        trial.fact("cpu.model").map(str::to_owned),
        cpus,
        trial.fact("memory.bytes").and_then(bytes),
        (trial.fact("machine.virtual") == Some("true")).then(|| "virtual".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes the device: `loop image of 1.000 GiB`, `Samsung SSD 980 (nvme0n1), 931.5 GiB`.
fn device(trial: &Trial) -> Option<String> {
    let size = trial.fact("device.sectors").and_then(|sectors| {
        let sectors: u64 = sectors.parse().ok()?;
        Some(Number::measured(sectors as f64 * SECTOR_BYTES, Unit::Bytes).text())
    });
    if trial.fact("device.backing_file").is_some() {
        return Some(
            size.map_or_else(|| "loop image".to_owned(), |size| format!("loop image of {size}")),
        );
    }
    let name = trial.fact("device.name")?;
    let name = match trial.fact("device.model").map(str::trim) {
        Some(model) if !model.is_empty() => format!("{model} ({name})"),
        _ => name.to_owned(),
    };
    Some(size.map_or_else(|| name.clone(), |size| format!("{name}, {size}")))
}

/// Sector size of the kernel's block layer, in bytes.
const SECTOR_BYTES: f64 = 512.0;

/// Time above which the first and the last date are shown instead of the duration.
const LONG_MS: i64 = 2 * 86_400_000;

/// Date of the first trial, and the time from its start to the end of the last one.
fn times<'t>(trials: impl Iterator<Item = &'t Trial> + Clone) -> Vec<(String, String)> {
    let begins = trials.clone().map(|trial| trial.beginning.started_unix_ms);
    let end = |trial: &Trial| {
        let wall_ms = i64::try_from(trial.wall_ns / 1_000_000).unwrap_or(i64::MAX);
        trial.beginning.started_unix_ms.saturating_add(wall_ms)
    };
    let (Some(first), Some(last)) = (begins.min(), trials.clone().map(end).max()) else {
        return Vec::new();
    };
    if last.saturating_sub(first) > LONG_MS {
        return vec![(MEASURED.to_owned(), format!("{} to {}", day(first), day(last)))];
    }
    let mut facts = vec![(MEASURED.to_owned(), format!("{} UTC", minute(first)))];
    let count = trials.clone().count();
    if last > first {
        let seconds = last.saturating_sub(first) as f64 / 1000.0;
        let took = Number::span(seconds).text();
        let of = if count > 1 { format!(", {count} trials") } else { String::new() };
        facts.push((DURATION.to_owned(), took + &of));
    }
    facts
}

/// Formats a time as its date in UTC.
fn day(unix_ms: i64) -> String {
    let text = utc(unix_ms);
    text.split_once('T').map_or_else(|| text.clone(), |(date, _)| date.to_owned())
}

#[cfg(test)]
mod tests {
    use super::PageOrigin;
    use crate::pages::identity::minute;
    use treering_model::{Fact, RunMode, Trial, TrialHeader, TrialId};

    fn trial(started_unix_ms: i64, facts: &[(&str, &str)]) -> Trial {
        let mut beginning = TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native);
        beginning.started_unix_ms = started_unix_ms;
        beginning.treering_version = "0.1.0".to_owned();
        let fact = |(name, value): &(&str, &str)| Fact {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        Trial {
            facts: facts.iter().map(fact).collect(),
            wall_ns: 30_000_000_000,
            ..Trial::new(beginning)
        }
    }

    #[test]
    fn an_origin_names_machine_kernels_device_date_and_duration() {
        let disk = [("device.backing_file", "/x.img"), ("device.sectors", "2097152")];
        let cpu = [("cpu.model", "AMD EPYC"), ("cpu.count", "2"), ("machine.virtual", "true")];
        let of = |kernel| [disk.as_slice(), &cpu, &[("kernel.release", kernel)]].concat();
        let trials = [trial(0, &of("6.1.0")), trial(60_000, &of("6.12.0"))];
        let origin = PageOrigin::of_trials(trials.iter());
        let shown: Vec<String> =
            origin.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let wanted = [
            "treering: 0.1.0",
            "machine: AMD EPYC, 2 CPUs, virtual",
            "kernel: 6.1.0, 6.12.0",
            "device: loop image of 1.000 GiB",
            "measured: 1970-01-01 00:00 UTC",
            "duration: 1 min 30 s, 2 trials",
        ];
        assert_eq!(shown, wanted);
        let ends = PageOrigin::of_ends(trials.iter());
        assert_eq!(ends.facts.last().unwrap().1, "1970-01-01");
        assert_eq!(ends.facts.len(), wanted.len() - 1);
    }

    #[test]
    fn an_origin_of_no_trial_is_empty() {
        assert_eq!(PageOrigin::of_trials(std::iter::empty()), PageOrigin::default());
        assert_eq!(minute(i64::MAX), format!("{} ms after 1970", i64::MAX));
    }
}
