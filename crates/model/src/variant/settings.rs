//! Settings of a variant besides its filesystem, and what of a trial's environment follows from
//! them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::guest::GuestSpec;
use super::layers::{LAYERS_FACT, Layer, described};
use super::second::SecondDevice;

/// Settings of a variant besides its filesystem, in force during each of its trials. Lists of pairs
/// are (name, value).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct VariantSettings {
    /// Kernel parameters, named as by `sysctl`: `vm.dirty_ratio`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sysctl: Vec<(String, String)>,
    /// Attributes in sysfs: of each device (`queue/scheduler`), of the mounted filesystem
    /// (`fs/…`), of its write-back (`bdi/…`), or of the machine (`/sys/…`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sysfs: Vec<(String, String)>,
    /// Environment variables of every program of the trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<(String, String)>,
    /// Limits of the processes of the trial.
    #[serde(skip_serializing_if = "LimitSettings::is_empty")]
    pub limits: LimitSettings,
    /// Options of jobs that differ in this variant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<JobOption>,
    /// Command before the trial, on the mounted filesystem; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// Command after the trial; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<String>,
    /// Layers between the device and the filesystem, and above it, from the device upwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Second device, of another kind than the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_device: Option<SecondDevice>,
}

/// Limits of a control group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct LimitSettings {
    /// Maximum memory, that of caches included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Maximum CPU time in percent of that of one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<u32>,
    /// Maximum bytes per second that are read from each device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_read_bytes: Option<u64>,
    /// Maximum bytes per second that are written to each device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_write_bytes: Option<u64>,
}

impl LimitSettings {
    /// True without any limit.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Controllers of control groups that these limits need.
    pub fn controllers(&self) -> Vec<&'static str> {
        let has_io = self.io_read_bytes.or(self.io_write_bytes).is_some();
        let needed = [
            ("memory", self.memory_bytes.is_some()),
            ("cpu", self.cpu_percent.is_some()),
            ("io", has_io),
        ];
        needed.into_iter().filter(|(_, is_needed)| *is_needed).map(|(name, _)| name).collect()
    }

    /// Facts of a trial with these limits.
    fn facts(self) -> Vec<(String, String)> {
        let fact =
            |name: &str, value: Option<String>| Some((format!("{LIMIT_PREFIX}{name}"), value?));
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes.to_string());
        let facts = [
            fact("memory_bytes", bytes(self.memory_bytes)),
            fact("cpu", self.cpu_percent.map(|percent| format!("{percent}%"))),
            fact("io_read_bytes", bytes(self.io_read_bytes)),
            fact("io_write_bytes", bytes(self.io_write_bytes)),
        ];
        facts.into_iter().flatten().collect()
    }
}

/// Option of a job that a variant changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct JobOption {
    /// Name of the job; `None` for every job of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Name of the option, or of a parameter inside the job file.
    pub name: String,
    /// Values as on the command line; none for a flag that is not set.
    pub values: Vec<String>,
}

impl JobOption {
    /// Value in words.
    fn value(&self) -> String {
        if self.values.is_empty() { "false".to_owned() } else { self.values.join(" ") }
    }
}

impl fmt::Display for JobOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value())
    }
}

impl VariantSettings {
    /// Options that the variant changes in the job of this name.
    pub fn options_of<'s>(&'s self, job: &'s str) -> impl Iterator<Item = &'s JobOption> {
        self.options.iter().filter(move |option| option.job.as_deref().is_none_or(|it| it == job))
    }

    /// Options that the variant changes in the job of this name, in words.
    pub fn changes_in_words(&self, job: &str) -> Option<String> {
        let changes: Vec<String> = self.options_of(job).map(ToString::to_string).collect();
        (!changes.is_empty()).then(|| changes.join(", "))
    }

    /// True without any setting.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Facts of a trial with these settings, as (name, value). Each name begins with one of
    /// [`SETTING_PREFIXES`].
    pub fn facts(&self) -> Vec<(String, String)> {
        let lists = [&self.sysctl, &self.sysfs, &self.env];
        let prefixes = SETTING_PREFIXES.iter().zip(lists);
        let mut facts: Vec<(String, String)> = prefixes
            .flat_map(|(prefix, list)| {
                list.iter().map(move |(name, value)| (format!("{prefix}{name}"), value.clone()))
            })
            .collect();
        facts.extend(self.options.iter().map(|option| {
            let job = option.job.iter().map(|job| format!("{job}."));
            let name = format!("{OPTION_PREFIX}{}{}", job.collect::<String>(), option.name);
            (name, option.value())
        }));
        facts.extend(self.limits.facts());
        let commands = [("commands.prepare", &self.prepare), ("commands.cleanup", &self.cleanup)];
        for (name, words) in commands.into_iter().filter(|(_, words)| !words.is_empty()) {
            facts.push((name.to_owned(), words.join(" ")));
        }
        if !self.layers.is_empty() {
            facts.push((LAYERS_FACT.to_owned(), described(&self.layers)));
        }
        facts.extend(self.second_device.as_ref().map(SecondDevice::fact));
        facts
    }
}

/// Prefix of the facts about options of jobs that a variant changes.
const OPTION_PREFIX: &str = "options.";

/// Prefix of the facts about limits of a variant.
pub const LIMIT_PREFIX: &str = "limits.";

/// Prefixes of the facts about a variant's settings: sysctls, attributes in sysfs, environment
/// variables, options of jobs, limits, commands, layers, and second devices.
pub const SETTING_PREFIXES: [&str; 8] = [
    "sysctl.",
    "sysfs.",
    "env.",
    OPTION_PREFIX,
    LIMIT_PREFIX,
    "commands.",
    "layers.",
    SecondDevice::PREFIX,
];

/// Facts of the environment that follow from a setting, by the name of the fact about the setting.
pub fn facts_that_follow(setting: &str) -> &'static [&'static str] {
    let follows = FOLLOWING_FACTS.iter().find(|(name, _)| *name == setting);
    follows.map_or(&[], |(_, facts)| facts)
}

/// Facts of the environment that follow from settings.
const FOLLOWING_FACTS: [(&str, &[&str]); 24] = [
    (
        GuestSpec::APPEND_FACT,
        &[
            "kernel.command_line",
            "kernel.preemption",
            "kernel.tainted",
            "cpu.unmitigated",
            "cpu.governor",
            "cpu.simultaneous_threads",
            "cpu.count",
            "memory.bytes",
            "memory.transparent_hugepages",
        ],
    ),
    ("limits.memory_bytes", &["cgroup.limits", "memory.usable_bytes"]),
    ("limits.cpu", &["cgroup.limits"]),
    ("limits.io_read_bytes", &["cgroup.limits"]),
    ("limits.io_write_bytes", &["cgroup.limits"]),
    ("sysctl.vm.vfs_cache_pressure", &["memory.vfs_cache_pressure"]),
    ("sysctl.vm.dirty_writeback_centisecs", &["memory.dirty_writeback_centisecs"]),
    ("sysctl.vm.swappiness", &["memory.swappiness"]),
    ("sysctl.vm.dirty_ratio", &["memory.dirty_ratio", "memory.dirty_limit_bytes"]),
    ("sysctl.vm.dirty_bytes", &["memory.dirty_ratio", "memory.dirty_limit_bytes"]),
    (
        "sysctl.vm.dirty_background_ratio",
        &["memory.dirty_background_ratio", "memory.dirty_background_limit_bytes"],
    ),
    (
        "sysctl.vm.dirty_background_bytes",
        &["memory.dirty_background_ratio", "memory.dirty_background_limit_bytes"],
    ),
    ("sysctl.vm.dirty_expire_centisecs", &["memory.dirty_expire_centisecs"]),
    ("sysfs./sys/kernel/mm/transparent_hugepage/enabled", &["memory.transparent_hugepages"]),
    (
        "sysfs.queue/scheduler",
        &["device.scheduler", "device.nr_requests", "device.writeback_latency_us"],
    ),
    ("sysfs.queue/read_ahead_kb", &["device.read_ahead_kib"]),
    ("sysfs.bdi/read_ahead_kb", &["device.read_ahead_kib"]),
    ("sysfs.queue/write_cache", &["device.write_cache", "device.fua", "device.read_ahead_kib"]),
    ("sysfs.queue/nr_requests", &["device.nr_requests"]),
    ("sysfs.queue/nomerges", &["device.nomerges"]),
    ("sysfs.queue/wbt_lat_usec", &["device.writeback_latency_us"]),
    ("sysfs.queue/max_sectors_kb", &["device.max_io_kib", "device.read_ahead_kib"]),
    ("sysfs.queue/rotational", &["device.rotational"]),
    (
        LAYERS_FACT,
        &[
            "device.name",
            "device.disk",
            "device.model",
            "device.rotational",
            "device.scheduler",
            "device.logical_block_bytes",
            "device.direct_io",
            "device.image_allocation",
            "device.read_ahead_kib",
            "device.write_cache",
            "device.fua",
            "device.physical_block_bytes",
            "device.minimum_io_bytes",
            "device.optimal_io_bytes",
            "device.discard_granularity_bytes",
            "device.image_filesystem",
            "device.nr_requests",
            "device.nomerges",
            "device.writeback_latency_us",
            "device.max_io_kib",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::{
        FOLLOWING_FACTS, JobOption, LimitSettings, SETTING_PREFIXES, VariantSettings,
        facts_that_follow,
    };
    use crate::{Layer, OverlayLayer};

    #[test]
    fn facts_about_settings_have_their_prefixes() {
        let pair = |name: &str| vec![(name.to_owned(), "1".to_owned())];
        let settings = VariantSettings {
            sysctl: pair("vm.swappiness"),
            sysfs: pair("queue/nomerges"),
            env: pair("MALLOC_ARENA_MAX"),
            limits: LimitSettings { cpu_percent: Some(50), ..LimitSettings::default() },
            options: vec![JobOption {
                job: Some("read".to_owned()),
                name: "makej".to_owned(),
                values: Vec::new(),
            }],
            prepare: vec!["true".to_owned()],
            cleanup: Vec::new(),
            layers: vec![Layer::Overlay(OverlayLayer::default())],
            second_device: None,
        };
        let facts = settings.facts();
        assert_eq!(facts.len(), 7);
        let option = ("options.read.makej".to_owned(), "false".to_owned());
        assert!(facts.contains(&option), "{facts:?}");
        for (name, _) in &facts {
            assert!(SETTING_PREFIXES.iter().any(|prefix| name.starts_with(prefix)), "{name}");
        }
        assert_eq!(facts_that_follow(&facts[0].0), ["memory.swappiness"]);
        assert!(facts_that_follow("sysctl.kernel.nothing").is_empty());
    }

    #[test]
    fn settings_with_following_facts_are_named_once() {
        for (place, (name, _)) in FOLLOWING_FACTS.iter().enumerate() {
            assert!(FOLLOWING_FACTS[..place].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
