//! Errors in booting the machine into another kernel, with advice.

use std::path::PathBuf;

use thiserror::Error;

/// Error of a reboot campaign.
#[derive(Debug, Error)]
pub enum RebootError {
    /// Neither a boot loader nor kexec can boot another kernel once.
    #[error("no boot loader that can boot a kernel once was found: {}", reasons.join("; "))]
    NoLoader {
        /// Name and reason of each loader.
        reasons: Vec<String>,
    },
    /// The requested loader cannot boot a kernel once.
    #[error("{loader} cannot be used: {why}")]
    Unusable {
        /// Name of the loader.
        loader: &'static str,
        /// Reason why it cannot be used.
        why: String,
    },
    /// The kernel has no entry in the menu, or no image.
    #[error("the kernel {release} cannot be booted by {loader}: {why}")]
    NoKernel {
        /// Release of the kernel.
        release: String,
        /// Name of the loader.
        loader: &'static str,
        /// The missing part, with the searched path.
        why: String,
    },
    /// A command failed.
    #[error("`{command}` failed{ended}: {output}")]
    Command {
        /// Command line, as text.
        command: String,
        /// Exit status in parentheses, preceded by a blank.
        ended: String,
        /// Output of the command.
        output: String,
    },
    /// The record of the campaign cannot be read.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// Path of the record.
        path: PathBuf,
        /// Reason why it cannot be parsed.
        why: &'static str,
    },
    /// Another process conducts the campaign.
    #[error("another process is conducting the campaign recorded in {}", path.display())]
    Held {
        /// Directory of the record.
        path: PathBuf,
    },
}

impl RebootError {
    /// Advice for the user, if any.
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
