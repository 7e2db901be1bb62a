//! Integrity of a series' anchor, which must stay the same while the machine may change.
//!
//! The software under the anchor (kernel, mkfs, filesystem) must stay the same. The hardware (disk,
//! processor, memory) may change: it affects the anchor and the watched variants alike, and cancels
//! out.

use treering_model::Trial;

use super::facts::{ChangedFact, changed_facts};

/// Facts that identify the anchor.
const OF_ANCHOR: [&str; 15] = [
    "kernel.release",
    "kernel.version",
    "kernel.config",
    "guest.kernel",
    "guest.kernel_release",
    "reboot.kernel",
    "mkfs.version",
    "filesystem.type",
    "filesystem.mount_options",
    "filesystem.super_options",
    "filesystem.block_bytes",
    "filesystem.features",
    "filesystem.geometry",
    "filesystem.journal_bytes",
    "filesystem.metadata_profile",
];
/// Facts that contain volatile device names.
const OF_THE_MOMENT: [&str; 2] = ["mkfs.command", "device.disk"];

/// Changed facts between two points of a history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnchorChanges {
    /// Facts of the anchor itself, which is therefore no longer the same.
    pub of_anchor: Vec<ChangedFact>,
    /// Facts of the machine, whose effects cancel out.
    pub of_machine: Vec<ChangedFact>,
}

/// Compares the anchor's trials of an earlier point with those of a later one.
pub fn anchor_changes(before: Vec<Trial>, after: Vec<Trial>) -> AnchorChanges {
    if before.is_empty() || after.is_empty() {
        return AnchorChanges::default();
    }
    let facts = changed_facts(before, after).into_iter();
    let facts = facts.filter(|fact| !OF_THE_MOMENT.contains(&&*fact.name));
    let (of_anchor, of_machine) = facts.partition(|fact| OF_ANCHOR.contains(&&*fact.name));
    AnchorChanges { of_anchor, of_machine }
}
