//! Why a machine cannot be booted into another kernel, and what to do about it.

use std::path::PathBuf;

use thiserror::Error;

/// Why a reboot cannot be had.
#[derive(Debug, Error)]
pub enum RebootError {
    /// Neither a boot loader nor kexec can be asked for another kernel.
    #[error("no boot loader that can boot a kernel once was found: {}", reasons.join("; "))]
    NoLoader {
        /// What each of them lacks.
        reasons: Vec<String>,
    },
    /// The one that was asked for cannot.
    #[error("{loader} cannot be used: {why}")]
    Unusable {
        /// Its name.
        loader: &'static str,
        /// What it lacks.
        why: String,
    },
    /// The kernel has no entry in the menu, or no image.
    #[error("the kernel {release} cannot be booted by {loader}: {why}")]
    NoKernel {
        /// Its release.
        release: String,
        /// The loader's name.
        loader: &'static str,
        /// What is missing, and where it was looked for.
        why: String,
    },
    /// A command failed.
    #[error("`{command}` failed{ended}: {output}")]
    Command {
        /// The command line.
        command: String,
        /// How it ended.
        ended: String,
        /// What it wrote.
        output: String,
    },
    /// The record of the campaign cannot be read.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The record.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Another process conducts the campaign.
    #[error("another process is conducting the campaign recorded in {}", path.display())]
    Held {
        /// The directory of the record.
        path: PathBuf,
    },
}

impl RebootError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoLoader { .. } => Some(
                "install grub-reboot (grub-common), systemd-boot or kexec-tools; \
                 --boot-loader names one"
                    .to_owned(),
            ),
            Self::NoKernel { .. } => Some(
                "install the kernel and let the boot loader know it (update-grub); a kernel is \
                 named as printed by `uname -r`"
                    .to_owned(),
            ),
            Self::Damaged { .. } => Some("`treering lab release` removes it".to_owned()),
            Self::Held { .. } => Some("wait for it, or end it".to_owned()),
            Self::Unusable { .. } | Self::Command { .. } => None,
        }
    }
}
