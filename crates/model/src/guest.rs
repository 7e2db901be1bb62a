//! The guest in which a kernel of a variant is booted.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How the instructions of a guest are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accelerator {
    /// By the processor, with KVM.
    Kvm,
    /// By QEMU, which translates them.
    Tcg,
    /// The same with a clock that counts instructions: each takes 2 ns, waiting takes nothing.
    Icount,
}

impl Accelerator {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Kvm, Self::Tcg, Self::Icount];
    /// The fact of a trial that names it.
    pub const FACT: &str = "guest.accelerator";

    /// The word used in plans and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
            Self::Icount => "icount",
        }
    }

    /// Whether times in the guest are not those of its processor.
    pub const fn is_emulated(self) -> bool {
        !matches!(self, Self::Kvm)
    }
}

/// What a guest's disks are to its kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestDisk {
    /// virtio-blk.
    #[default]
    Virtio,
    /// NVMe.
    Nvme,
    /// SCSI, behind virtio-scsi.
    Scsi,
    /// SATA, behind AHCI.
    Ahci,
}

impl GuestDisk {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Virtio, Self::Nvme, Self::Scsi, Self::Ahci];

    /// The word used in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtio => "virtio-blk",
            Self::Nvme => "nvme",
            Self::Scsi => "scsi",
            Self::Ahci => "ahci",
        }
    }
}

/// The fact of a trial that names the kernel into which the machine was booted for it.
pub const REBOOT_KERNEL_FACT: &str = "reboot.kernel";

/// A kernel that is booted in a guest, and the guest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GuestSpec {
    /// The package, image or tree that the kernel is in.
    pub kernel: PathBuf,
    /// How many CPUs.
    pub cpus: u16,
    /// How much memory, in bytes.
    pub memory_bytes: u64,
    /// What its disks are.
    pub disk: GuestDisk,
    /// How its instructions are run; the best that this kernel comes up with where it is not said.
    pub accelerator: Option<Accelerator>,
    /// After so many seconds without a word it hangs; so long its boot may take, too.
    pub timeout_seconds: u32,
}

impl GuestSpec {
    /// The fact of a trial that names the file that the kernel is in.
    pub const KERNEL_FACT: &str = "guest.kernel";

    /// The usual timeout: long enough for one that is emulated on a machine with other work.
    pub const TIMEOUT_SECONDS: u32 = 180;

    /// A guest for this kernel as it is where nothing is said of it.
    pub fn new(kernel: PathBuf) -> Self {
        Self {
            kernel,
            cpus: 2,
            memory_bytes: 1 << 30,
            disk: GuestDisk::default(),
            accelerator: None,
            timeout_seconds: Self::TIMEOUT_SECONDS,
        }
    }
}
