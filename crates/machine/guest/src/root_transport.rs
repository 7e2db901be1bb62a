//! Transports of a directory that a guest shares with its host, with their modules and options.

use serde::{Deserialize, Serialize};
use treering_model::filesystems::{NINE_P, OVERLAY, VIRTIO_FS};

/// Name of the shared directory in the guest.
pub(crate) const TAG: &str = "treering.root";
/// Transport of a shared directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootTransport {
    /// virtiofs, served by virtiofsd.
    VirtioFs,
    /// 9p, served by QEMU.
    NineP,
}

impl RootTransport {
    /// All transports, the preferred one first.
    pub const ALL: [Self; 2] = [Self::VirtioFs, Self::NineP];

    /// Name, which is that of the filesystem in the guest.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VirtioFs => VIRTIO_FS,
            Self::NineP => NINE_P,
        }
    }

    /// Modules that a kernel needs to have such a root, with tmpfs over it.
    pub(crate) const fn modules(self) -> &'static [&'static str] {
        match self {
            Self::VirtioFs => &[VIRTIO_FS, OVERLAY],
            Self::NineP => &["9pnet_virtio", NINE_P, OVERLAY],
        }
    }

    /// Mount options in the guest.
    pub(crate) const fn mount_options(self) -> &'static [&'static str] {
        match self {
            Self::VirtioFs => &["ro"],
            // The host's files do not change in a trial.
            Self::NineP => {
                &["ro", "trans=virtio", "version=9p2000.L", "msize=512000", "cache=loose"]
            }
        }
    }
}
