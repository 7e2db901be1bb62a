//! Guest in which the kernel of a variant is booted.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// Execution method of a guest's instructions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Accelerator {
        /// KVM: executed by the processor.
        Kvm = "kvm",
        /// TCG: translated by QEMU.
        Tcg = "tcg",
        /// TCG with a clock that counts instructions: 2 ns each; only idle time is time of the
        /// host.
        Icount = "icount",
    }
}

impl Accelerator {
    /// Fact of a trial with this name.
    pub const FACT: &str = "guest.accelerator";

    /// Reports whether times in the guest differ from those of the processor.
    pub const fn is_emulated(self) -> bool {
        !matches!(self, Self::Kvm)
    }
}

crate::named_enum! {
    /// Disk interface of a guest.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum GuestDisk {
        /// virtio-blk.
        #[default]
        Virtio = "virtio-blk",
        /// NVMe.
        Nvme = "nvme",
        /// SCSI over virtio-scsi.
        Scsi = "scsi",
        /// SATA over AHCI.
        Ahci = "ahci",
    }
}

impl GuestDisk {
    /// Reports whether QEMU gives such a disk several queues.
    pub const fn has_queues(self) -> bool {
        !matches!(self, Self::Ahci)
    }

    /// Reports whether a thread of its own can serve such a disk in QEMU.
    pub const fn has_iothread(self) -> bool {
        matches!(self, Self::Virtio | Self::Scsi)
    }

    /// Reports whether such a disk can say that it rotates.
    pub const fn has_rotation(self) -> bool {
        matches!(self, Self::Scsi | Self::Ahci)
    }
}

/// Fact with the kernel into which the machine was rebooted for the trial.
pub const REBOOT_KERNEL_FACT: &str = "reboot.kernel";

/// Kernel that is booted in a guest, and the guest's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GuestSpec {
    /// Path of the kernel: a package, an image or a build tree.
    pub kernel: PathBuf,
    /// Number of CPUs; `None` for the default of the execution method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u16>,
    /// Memory size in bytes.
    pub memory_bytes: u64,
    /// Disk interface.
    pub disk: GuestDisk,
    /// Execution method; `None` for KVM where this kernel boots with it, else emulation.
    pub accelerator: Option<Accelerator>,
    /// Timeout in seconds of the boot and of silence, after which the guest counts as hung.
    pub timeout_seconds: u32,
    /// Words that are added to the kernel's command line; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub append: String,
    /// Directory of the host that guests have as their root, read-only with tmpfs over it; `None`
    /// for guests with nothing of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// Number of queues of each disk; `None` for the default of QEMU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u16>,
    /// True if a thread of its own serves the disks in QEMU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_iothread: bool,
    /// True for disks that say that they rotate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_rotational: bool,
    /// Number of NUMA nodes over which CPUs and memory are distributed; `None` for a machine
    /// without nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_nodes: Option<u16>,
    /// Treering that runs in the guest; `None` for the running one, or, where the kernel is for
    /// another processor, for one at the usual places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// Program of the emulator; `None` for the installed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qemu: Option<PathBuf>,
    /// Additional options of the emulator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qemu_options: Vec<String>,
    /// Modules that are loaded beside those which the guest needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<ExtraModule>,
    /// Files of the host that are taken into the initramfs under the same paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<PathBuf>,
}

/// Module that a plan adds to a guest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtraModule {
    /// Module of the kernel, by its name or an alias.
    OfKernel(String),
    /// Module in a file of the host.
    File(PathBuf),
}

impl GuestSpec {
    /// Fact with the path of the kernel.
    pub const KERNEL_FACT: &str = "guest.kernel";

    /// Fact with the words that were added to the kernel's command line.
    pub const APPEND_FACT: &str = "guest.append";

    /// Fact with the seconds from the start of the emulator until the guest could begin its trial,
    /// on the clock of the host.
    pub const BOOT_SECONDS_FACT: &str = "host.boot_seconds";

    /// Fact with the seconds of the trial on the clock of the host, which differ from those of the
    /// guest where that counts instructions.
    pub const TRIAL_SECONDS_FACT: &str = "host.trial_seconds";

    /// Fact with the CPU seconds of the emulator's threads during the trial.
    pub const CPU_FACT: &str = "host.qemu_cpu_seconds";

    /// Fact with the seconds for which the emulator's threads, taken together, waited for a CPU of
    /// the host during the trial.
    pub const RUN_DELAY_FACT: &str = "host.qemu_run_delay_seconds";

    /// Default timeout in seconds, sufficient for an emulated guest on a busy machine.
    pub const TIMEOUT_SECONDS: u32 = 180;

    /// Number of CPUs under this execution method: 2 by default, and 1 where instructions are
    /// counted, which QEMU does on one CPU only.
    pub fn cpus_under(&self, accelerator: Accelerator) -> u16 {
        let default = if accelerator == Accelerator::Icount { 1 } else { 2 };
        self.cpus.unwrap_or(default)
    }

    /// Facts about the machine that differ from the defaults, by name.
    pub fn chosen_facts(&self) -> Vec<(&'static str, String)> {
        let program = self.qemu.as_ref().map(|program| program.to_string_lossy().into_owned());
        let options = (!self.qemu_options.is_empty()).then(|| self.qemu_options.join(" "));
        let choices = [
            ("guest.queues", self.queues.map(|count| count.to_string())),
            ("guest.iothread", self.has_iothread.then(|| "yes".to_owned())),
            ("guest.rotational", self.is_rotational.then(|| "yes".to_owned())),
            ("guest.numa_nodes", self.numa_nodes.map(|count| count.to_string())),
            ("guest.qemu_program", program),
            ("guest.qemu_options", options),
        ];
        choices.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Files of the modules that are loaded besides those of the kernel.
    pub fn module_files(&self) -> Vec<PathBuf> {
        let file = |module: &ExtraModule| match module {
            ExtraModule::File(path) => Some(path.clone()),
            ExtraModule::OfKernel(_) => None,
        };
        self.modules.iter().filter_map(file).collect()
    }

    /// Builds a guest for this kernel with the defaults.
    pub fn new(kernel: PathBuf) -> Self {
        Self {
            kernel,
            cpus: None,
            memory_bytes: 1 << 30,
            disk: GuestDisk::default(),
            accelerator: None,
            timeout_seconds: Self::TIMEOUT_SECONDS,
            append: String::new(),
            root: None,
            queues: None,
            has_iothread: false,
            is_rotational: false,
            numa_nodes: None,
            program: None,
            qemu: None,
            qemu_options: Vec::new(),
            modules: Vec::new(),
            files: Vec::new(),
        }
    }
}
