//! Environment facts that a comparison reads, and methods of comparing their values.

use std::collections::BTreeSet;

use treering_model::{
    Accelerator, GuestSpec, IMPORT_FACT, LEVEL_FACT, PlayedStatus, REBOOT_KERNEL_FACT, ROUNDS_FACT,
    STEP_FACT, USED_FACT, USED_GROWTH_FACT, USED_GROWTH_FILES_FACT, WorkLimit,
};

use super::values::chosen;
use crate::compare::caution::ComparisonCautionCode as Code;

/// Tolerated relative difference of the memory that two kernels report on one machine.
pub(super) const MEMORY_TOLERANCE: f64 = 0.01;

/// Method by which the values of a fact are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactComparison {
    /// Compares whole values.
    Exact,
    /// Compares the bracketed choice of a list such as `[none] mq-deadline`; the other choices
    /// offered by the kernel do not matter.
    Bracketed,
    /// Compares word by word; only words that one variant lacks are reported.
    Words,
    /// Compares as numbers with a tolerance, since kernels reserve different amounts of memory.
    Approximate,
}

impl FactComparison {
    /// Reports whether the trials of one variant have different values.
    pub(super) fn is_mixed(self, values: &BTreeSet<&str>) -> bool {
        let numbers: Option<Vec<f64>> = values.iter().map(|value| value.parse().ok()).collect();
        match (self, numbers) {
            (Self::Bracketed, _) => chosen(values).len() > 1,
            (Self::Approximate, Some(numbers)) => {
                let most = numbers.iter().copied().fold(0.0, f64::max);
                numbers.iter().any(|bytes| most - bytes > MEMORY_TOLERANCE * most)
            }
            _ => values.len() > 1,
        }
    }
}

use FactComparison::{Approximate, Bracketed, Exact, Words};

/// Facts that should have the same value, each with the caution that is raised otherwise.
pub(super) const FACTS: [(&str, Code, FactComparison); 67] = [
    ("kernel.release", Code::KernelsDiffer, Exact),
    (BUILD, Code::KernelsDiffer, Exact),
    ("kernel.tainted", Code::KernelSettingsDiffer, Exact),
    ("kernel.command_line", Code::KernelSettingsDiffer, Words),
    ("kernel.debug_options", Code::KernelSettingsDiffer, Words),
    ("cpu.unmitigated", Code::KernelSettingsDiffer, Words),
    ("kernel.preemption", Code::KernelSettingsDiffer, Exact),
    ("kernel.preemption_built", Code::KernelSettingsDiffer, Exact),
    ("cpu.governor", Code::KernelSettingsDiffer, Exact),
    ("cpu.frequency_driver", Code::KernelSettingsDiffer, Exact),
    ("cpu.boost", Code::KernelSettingsDiffer, Exact),
    ("cpu.simultaneous_threads", Code::KernelSettingsDiffer, Exact),
    ("memory.transparent_hugepages", Code::KernelSettingsDiffer, Bracketed),
    ("memory.swappiness", Code::KernelSettingsDiffer, Exact),
    ("memory.dirty_ratio", Code::KernelSettingsDiffer, Exact),
    ("memory.dirty_background_ratio", Code::KernelSettingsDiffer, Exact),
    ("memory.dirty_limit_bytes", Code::KernelSettingsDiffer, Exact),
    ("memory.dirty_background_limit_bytes", Code::KernelSettingsDiffer, Exact),
    ("memory.dirty_expire_centisecs", Code::KernelSettingsDiffer, Exact),
    ("memory.dirty_writeback_centisecs", Code::KernelSettingsDiffer, Exact),
    ("memory.vfs_cache_pressure", Code::KernelSettingsDiffer, Exact),
    (CHECKSUM_CODE, Code::KernelSettingsDiffer, Exact),
    (TYPE, Code::FilesystemsDiffer, Exact),
    (BLOCK_BYTES, Code::FeaturesDiffer, Exact),
    ("filesystem.features", Code::FeaturesDiffer, Words),
    (GEOMETRY, Code::FeaturesDiffer, Words),
    ("filesystem.journal_bytes", Code::FeaturesDiffer, Exact),
    ("filesystem.data_profile", Code::FeaturesDiffer, Exact),
    (PROFILE, Code::MetadataProfilesDiffer, Exact),
    ("cpu.model", Code::MachinesDiffer, Exact),
    ("cpu.count", Code::MachinesDiffer, Exact),
    ("memory.bytes", Code::MachinesDiffer, Approximate),
    (GUEST_MEMORY, Code::MachinesDiffer, Exact),
    (GUEST_CPUS, Code::MachinesDiffer, Exact),
    ("machine.architecture", Code::MachinesDiffer, Exact),
    ("machine.virtual", Code::MachinesDiffer, Exact),
    ("cgroup.limits", Code::MachinesDiffer, Words),
    (MODEL, Code::DevicesDiffer, Exact),
    ("device.firmware", Code::DevicesDiffer, Exact),
    (ROTATIONAL, Code::DevicesDiffer, Exact),
    ("device.scheduler", Code::DevicesDiffer, Bracketed),
    (PLANNED_OF_LOOPS[0], Code::DevicesDiffer, Exact),
    (PLANNED_OF_LOOPS[1], Code::DevicesDiffer, Exact),
    (PLANNED_OF_LOOPS[2], Code::DevicesDiffer, Exact),
    (PLANNED_OF_LOOPS[3], Code::DevicesDiffer, Exact),
    (PLANNED_OF_LOOPS[4], Code::DevicesDiffer, Exact),
    ("device.image_filesystem", Code::DevicesDiffer, Exact),
    ("device.fua", Code::DevicesDiffer, Exact),
    ("device.discard_granularity_bytes", Code::DevicesDiffer, Exact),
    ("device.optimal_io_bytes", Code::DevicesDiffer, Exact),
    ("device.read_ahead_kib", Code::DevicesDiffer, Exact),
    ("device.write_cache", Code::DevicesDiffer, Exact),
    ("device.nr_requests", Code::DevicesDiffer, Exact),
    ("device.nomerges", Code::DevicesDiffer, Exact),
    ("device.writeback_latency_us", Code::DevicesDiffer, Exact),
    ("device.max_io_kib", Code::DevicesDiffer, Exact),
    ("device.zoned", Code::DevicesDiffer, Exact),
    ("device.rq_affinity", Code::DevicesDiffer, Exact),
    ("device.io_poll", Code::DevicesDiffer, Exact),
    ("guest.disk", Code::DevicesDiffer, Exact),
    ("guest.disk_cache", Code::DevicesDiffer, Exact),
    ("guest.qemu", Code::MachinesDiffer, Exact),
    ("reboot.loader", Code::MachinesDiffer, Exact),
    ("ranks.count", Code::MachinesDiffer, Exact),
    ("ranks.hosts", Code::MachinesDiffer, Exact),
    ("ranks.per_host", Code::MachinesDiffer, Exact),
    ("fio.version", Code::VersionsDiffer, Exact),
];

/// Build of the kernel: a number, flags and a date.
pub(super) const BUILD: &str = "kernel.version";
pub(super) const RELEASE: &str = "kernel.release";
/// Options with which the kernel was built.
pub(super) const CONFIGURATION: &str = "kernel.config";
pub(super) const SWAP: &str = "memory.swap_bytes";
pub(super) const FREE_INODES: &str = "filesystem.free_inodes";
/// Memory and processors assigned to a guest; its kernel reports less.
pub(super) const GUEST_MEMORY: &str = "guest.memory_bytes";
pub(super) const GUEST_CPUS: &str = "guest.cpus";

/// Facts about a guest that are recorded where its plan asked for something; without one, the guest
/// has the default.
pub(super) const GUEST_CHOICES: [&str; 11] = [
    "guest.architecture",
    "guest.queues",
    "guest.iothread",
    "guest.rotational",
    "guest.numa_nodes",
    "guest.qemu_program",
    "guest.qemu_options",
    "guest.modules",
    "guest.files",
    "guest.root_transport",
    "guest.root",
];

/// Fact with the amount assigned to a guest, which replaces the amount its kernel reported.
pub(super) fn given_to_guest(found: &str) -> Option<&'static str> {
    match found {
        "memory.bytes" => Some(GUEST_MEMORY),
        "cpu.count" => Some(GUEST_CPUS),
        _ => None,
    }
}

/// Size of the device, where treering made the filesystem; otherwise the filesystem's capacity is
/// used.
pub(super) const DEVICE_BYTES: &str = "variant.device_bytes";
pub(super) const CAPACITY: &str = "filesystem.capacity_bytes";
pub(super) const FREE_BYTES: &str = "filesystem.free_bytes";
/// Saved image from which a trial started, and the fingerprint of its content.
pub(super) const IMAGE_NAME: &str = "image.name";
pub(super) const IMAGE: &str = "image.fingerprint";
/// Unused space that only root may fill.
pub(super) const RESERVED: &str = "filesystem.reserved_bytes";
pub(super) const TYPE: &str = "filesystem.type";
/// Kind of code that computes checksums; filesystems without checksums have none.
pub(super) const CHECKSUM_CODE: &str = "filesystem.checksum_code";
pub(super) const BLOCK_BYTES: &str = "filesystem.block_bytes";
pub(super) const GEOMETRY: &str = "filesystem.geometry";
pub(super) const PROFILE: &str = "filesystem.metadata_profile";
pub(super) const MODEL: &str = "device.model";
pub(super) const ROTATIONAL: &str = "device.rotational";
/// Facts by which a plan configures the loop devices it creates.
pub(super) const PLANNED_OF_LOOPS: [&str; 5] = [
    "device.logical_block_bytes",
    "device.physical_block_bytes",
    "device.minimum_io_bytes",
    "device.direct_io",
    "device.image_allocation",
];
/// Mount options requested by the plan.
pub(super) const MOUNT_ASKED: &str = "mount.asked";
pub(super) const DISK: &str = "device.disk";
pub(super) const DEVICE: &str = "device.name";
/// mkfs command, where treering made the filesystem.
pub(super) const MKFS: &str = "mkfs.command";
pub(super) const OPTIONS: [&str; 2] = ["filesystem.mount_options", "filesystem.super_options"];
const OTHERS: [&str; 31] = [
    WorkLimit::FACT,
    WorkLimit::METRICS_FACT,
    CONFIGURATION,
    SWAP,
    FREE_INODES,
    CAPACITY,
    FREE_BYTES,
    RESERVED,
    IMAGE_NAME,
    IMAGE,
    DEVICE_BYTES,
    DISK,
    DEVICE,
    MKFS,
    MOUNT_ASKED,
    OPTIONS[0],
    OPTIONS[1],
    LEVEL_FACT,
    ROUNDS_FACT,
    IMPORT_FACT,
    USED_FACT,
    USED_GROWTH_FACT,
    USED_GROWTH_FILES_FACT,
    Accelerator::FACT,
    GuestSpec::CPU_FACT,
    GuestSpec::RUN_DELAY_FACT,
    GuestSpec::KERNEL_FACT,
    REBOOT_KERNEL_FACT,
    PlayedStatus::DISK_FACT,
    PlayedStatus::FINGERPRINT_FACT,
    STEP_FACT,
];

/// Names of the facts that a comparison reads.
pub const COMPARED_FACTS: [&str; FACTS.len() + GUEST_CHOICES.len() + OTHERS.len()] = {
    const CHOICES_FROM: usize = FACTS.len();
    const OTHERS_FROM: usize = CHOICES_FROM + GUEST_CHOICES.len();
    let mut names = [""; OTHERS_FROM + OTHERS.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = match place {
            OTHERS_FROM.. => OTHERS[place - OTHERS_FROM],
            CHOICES_FROM.. => GUEST_CHOICES[place - CHOICES_FROM],
            _ => FACTS[place].0,
        };
        place += 1;
    }
    names
};
