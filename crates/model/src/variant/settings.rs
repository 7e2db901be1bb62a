//! Settings of a variant besides its filesystem, and what of a trial's environment follows from
//! them.

use serde::{Deserialize, Serialize};

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
    /// Command before the trial, on the mounted filesystem; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// Command after the trial; empty for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<String>,
}

impl VariantSettings {
    /// True without any setting.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Facts of a trial with these settings, as (name, value). Each name begins with one of
    /// [`SETTING_PREFIXES`].
    pub fn facts(&self) -> Vec<(String, String)> {
        let lists = [&self.sysctl, &self.sysfs];
        let prefixes = SETTING_PREFIXES.iter().zip(lists);
        let mut facts: Vec<(String, String)> = prefixes
            .flat_map(|(prefix, list)| {
                list.iter().map(move |(name, value)| (format!("{prefix}{name}"), value.clone()))
            })
            .collect();
        let commands = [("commands.prepare", &self.prepare), ("commands.cleanup", &self.cleanup)];
        for (name, words) in commands.into_iter().filter(|(_, words)| !words.is_empty()) {
            facts.push((name.to_owned(), words.join(" ")));
        }
        facts
    }
}

/// Prefixes of the facts about a variant's settings: sysctls, attributes in sysfs, and commands.
pub const SETTING_PREFIXES: [&str; 3] = ["sysctl.", "sysfs.", "commands."];

/// Facts of the environment that follow from a setting, by the name of the fact about the setting.
pub fn facts_that_follow(setting: &str) -> &'static [&'static str] {
    let follows = FOLLOWING_FACTS.iter().find(|(name, _)| *name == setting);
    follows.map_or(&[], |(_, facts)| facts)
}

/// Facts of the environment that follow from settings.
const FOLLOWING_FACTS: [(&str, &[&str]); 18] = [
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
    ("sysfs.queue/scheduler", &["device.scheduler", "device.nr_requests"]),
    ("sysfs.queue/read_ahead_kb", &["device.read_ahead_kib"]),
    ("sysfs.bdi/read_ahead_kb", &["device.read_ahead_kib"]),
    ("sysfs.queue/write_cache", &["device.write_cache", "device.read_ahead_kib"]),
    ("sysfs.queue/nr_requests", &["device.nr_requests"]),
    ("sysfs.queue/nomerges", &["device.nomerges"]),
    ("sysfs.queue/wbt_lat_usec", &["device.writeback_latency_us"]),
    ("sysfs.queue/max_sectors_kb", &["device.max_io_kib", "device.read_ahead_kib"]),
    ("sysfs.queue/rotational", &["device.rotational"]),
];

#[cfg(test)]
mod tests {
    use super::{FOLLOWING_FACTS, SETTING_PREFIXES, VariantSettings, facts_that_follow};

    #[test]
    fn facts_about_settings_have_their_prefixes() {
        let pair = |name: &str| vec![(name.to_owned(), "1".to_owned())];
        let settings = VariantSettings {
            sysctl: pair("vm.swappiness"),
            sysfs: pair("queue/nomerges"),
            prepare: vec!["true".to_owned()],
            cleanup: Vec::new(),
        };
        let facts = settings.facts();
        assert_eq!(facts.len(), 3);
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
