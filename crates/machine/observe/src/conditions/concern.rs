//! Relevance of kernel log lines: those about the tested device or filesystem, or about trouble of
//! the whole machine. Documented in docs/fair.md.

use std::collections::BTreeSet;
use std::path::Path;

use treering_model::filesystems::by_name;
use treering_sys::MountTable;

use crate::environment::device::names_below;
use crate::places::KernelRoots;

/// Kernel messages about trouble of the whole machine: crashes, stalls, lack of memory, clock
/// problems.
const OF_MACHINE: [&str; 16] = [
    "BUG:",
    "kernel BUG at",
    "Oops",
    "general protection fault",
    "Kernel panic",
    "blocked for more than",
    "soft lockup",
    "hard LOCKUP",
    "detected stall",
    "rcu: INFO",
    "Out of memory",
    "out of memory",
    "oom-kill",
    "page allocation failure",
    "Hardware Error",
    "clocksource",
];

/// Source directories of the kernel whose warnings concern every disk.
const SOURCES: [&str; 13] = [
    "fs/",
    "mm/",
    "block/",
    "kernel/",
    "lib/",
    "arch/",
    "io_uring/",
    "drivers/ata/",
    "drivers/block/",
    "drivers/md/",
    "drivers/nvme/",
    "drivers/scsi/",
    "drivers/virtio/",
];

/// Prefixes of block device names; the flag marks those followed by a letter instead of a digit.
const BLOCK_NAMES: [(&str, bool); 12] = [
    ("sd", true),
    ("vd", true),
    ("hd", true),
    ("xvd", true),
    ("nvme", false),
    ("loop", false),
    ("dm-", false),
    ("md", false),
    ("zram", false),
    ("sr", false),
    ("mmcblk", false),
    ("nbd", false),
];

/// Names by which kernel messages refer to the system under test.
#[derive(Clone, Debug, Default)]
pub(super) struct LogRelevance {
    names: BTreeSet<String>,
    filesystem: String,
}

impl LogRelevance {
    /// Collects the filesystem of a directory and all devices below it.
    pub(super) fn for_target(places: &KernelRoots, target: &Path) -> Self {
        let filesystem = std::fs::File::open(target).ok().and_then(|dir| {
            let table = MountTable::read().ok()?;
            Some(table.mount_of(&dir)?.fs_type.clone())
        });
        let mut names = names_below(places, target);
        names.retain(|name| name.len() > 2 && !name.chars().all(|letter| letter.is_ascii_digit()));
        Self { names, filesystem: filesystem.unwrap_or_default() }
    }

    /// Reports whether a line concerns the system under test.
    pub(super) fn is_about(&self, line: &str) -> bool {
        if self.names.iter().any(|name| has_word(line, name)) {
            return true;
        }
        // The rate limit of the log: lines of any filesystem were left out, of mounts too.
        if line.ends_with("callbacks suppressed") {
            return false;
        }
        // The line names another device.
        if line.split(|letter: char| !is_of_name(letter) && letter != '-').any(is_block_name) {
            return false;
        }
        if OF_MACHINE.iter().any(|words| line.contains(words)) {
            return true;
        }
        if line.contains("WARNING:") {
            let mut places = line.split_whitespace().filter(|word| word.contains('/')).peekable();
            let is_ours = |word: &str| SOURCES.iter().any(|source| word.starts_with(source));
            return places.peek().is_none() || places.any(is_ours);
        }
        let prefixes = by_name(&self.filesystem).map_or(&[][..], |known| known.log_prefixes);
        prefixes.iter().any(|prefix| line.starts_with(prefix))
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
}

/// Reports whether a name occurs in a line as a whole word.
fn has_word(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(is_of_name) && !after.is_some_and(is_of_name)
    })
}

fn is_block_name(word: &str) -> bool {
    BLOCK_NAMES.iter().any(|(kind, has_letter)| {
        let next = word.strip_prefix(kind).and_then(|tail| tail.chars().next());
        let short = word.len() <= kind.len() + 4;
        next.is_some_and(|next| {
            if *has_letter { next.is_ascii_lowercase() && short } else { next.is_ascii_digit() }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::LogRelevance;

    fn concern(names: &[&str], filesystem: &str) -> LogRelevance {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        LogRelevance { names, filesystem: filesystem.to_owned() }
    }

    #[test]
    fn lines_about_the_device_or_the_filesystem_under_test_count() {
        let ours = concern(&["loop3", "vda", "virtio1", "0000:00:02.0", "ata1"], "ext4");
        for line in [
            "EXT4-fs (loop3): warning: mounting fs with errors",
            "EXT4-fs error (device loop3): ext4_find_entry:1455: inode #2",
            "I/O error, dev loop3, sector 8 op 0x1:(WRITE)",
            "jbd2/loop3-8 hangs",
            "Buffer I/O error on dev vda, logical block 7",
            "virtio_blk virtio1: [vda] timeout",
            "pcieport 0000:00:02.0: AER: error",
            "ata1.00: exception Emask 0x0",
            "JBD2: recovery failed",
        ] {
            assert!(ours.is_about(line), "{line}");
        }
    }

    #[test]
    fn lines_about_other_devices_do_not_count() {
        let ours = concern(&["loop3"], "ext4");
        for line in [
            "EXT4-fs (loop30): warning: mounting fs with errors",
            "EXT4-fs (sdb1): error count since last fsck: 4",
            "I/O error, dev loop4, sector 8",
            "XFS (loop5): Corruption warning: Metadata has LSN ahead",
            "BTRFS warning (device dm-1): checksum error",
            "usb 1-2: device descriptor read/64, error -71",
            "loop: module loaded",
            "EXT4-fs unmount: 113 callbacks suppressed",
            "Invalid logical block size (513)",
            "tmpfs: Unknown parameter 'nonsense'",
            "nouveau 0000:01:00.0: gr: TRAP",
            "WARNING: CPU: 1 PID: 77 at drivers/usb/core/urb.c:503 usb_submit_urb+0x4",
        ] {
            assert!(!ours.is_about(line), "{line}");
        }
    }

    #[test]
    fn machine_wide_kernel_errors_count() {
        let ours = concern(&["nvme0n1"], "xfs");
        for line in [
            "BUG: unable to handle page fault for address: 0",
            "INFO: task kworker/1:1:77 blocked for more than 120 seconds.",
            "watchdog: BUG: soft lockup - CPU#1 stuck for 22s!",
            "Out of memory: Killed process 77 (cc1)",
            "oom-kill:constraint=CONSTRAINT_NONE",
            "cc1: page allocation failure: order:4",
            "clocksource: Marking clocksource 'tsc' as unstable",
            "WARNING: CPU: 1 PID: 77 at fs/iomap/buffered-io.c:77 x+0x4",
            "WARNING: possible circular locking dependency detected",
        ] {
            assert!(ours.is_about(line), "{line}");
        }
    }
}
