//! Errors in acquiring, formatting, mounting or releasing a device, with advice.

use std::path::PathBuf;

use thiserror::Error;
use treering_sys::{LoopError, MountOptionError};

use crate::guard::{FormatObstacle, Inspection};

/// Error of an operation on a device.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The guard refuses the device.
    #[error("refusing to format {}: {}", reported(.0), list(&.0.obstacles))]
    Refused(Inspection),
    /// Another run of treering holds the device.
    #[error("another run of treering is using {}", path.display())]
    Taken {
        /// Path of the device.
        path: PathBuf,
    },
    /// The operation requires root.
    #[error("{what} requires root")]
    NotRoot {
        /// The operation, as the start of a sentence.
        what: &'static str,
    },
    /// No loop device is available.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// The host filesystem is too small for the images.
    #[error(
        "{} has {free_bytes} bytes free, but the images need {needed_bytes}", directory.display()
    )]
    NoRoom {
        /// Directory of the images.
        directory: PathBuf,
        /// Bytes that all images need.
        needed_bytes: u64,
        /// Free bytes of the host filesystem.
        free_bytes: u64,
    },
    /// The variant requests an impossible combination; the text is the reason.
    #[error("{0}")]
    Unfit(String),
    /// No filesystem with this name is supported.
    #[error("unknown filesystem `{name}`")]
    UnknownFilesystem {
        /// Name from the plan.
        name: String,
    },
    /// The filesystem cannot be made or mounted here.
    #[error("{filesystem} cannot be used: {why}")]
    Missing {
        /// Name of the filesystem.
        filesystem: &'static str,
        /// Missing tool or kernel support.
        why: String,
        /// Advice for installing or loading the missing part.
        how: String,
    },
    /// An option is refused.
    #[error("option `{option}` is refused: {why}")]
    OptionRefused {
        /// The option as written in the plan.
        option: String,
        /// Reason for the refusal.
        why: String,
    },
    /// A mount option is refused.
    #[error("mount options are refused: {0}")]
    MountOption(#[from] MountOptionError),
    /// A setting of the kernel does not exist, is refused, or does not keep its value.
    #[error("cannot set {}{}: {why}", path.display(), to_value(value))]
    Setting {
        /// Path of the attribute, or its name in the plan.
        path: PathBuf,
        /// Value in the plan; empty if the attribute does not exist.
        value: String,
        /// The kernel's error, or the value that it keeps.
        why: String,
    },
    /// A program of the machine failed.
    #[error("`{}` failed ({failure}): {}", command.join(" "), last_words(output))]
    Tool {
        /// Command line, one element per argument.
        command: Vec<String>,
        /// Exit status or signal, in words.
        failure: String,
        /// Standard output and standard error.
        output: String,
    },
    /// The kernel refuses a mount.
    #[error("cannot mount {fs_type} from {} with `{options}`: {why}", mount_source.display())]
    Mount {
        /// Mount source: a device node or an image.
        mount_source: PathBuf,
        /// Filesystem type.
        fs_type: &'static str,
        /// Mount options, separated by commas.
        options: String,
        /// Errno and message of the kernel.
        why: String,
    },
    /// A resource cannot be released because it is in use.
    #[error("{what} is still in use{}", by_whom(by))]
    StillUsed {
        /// The device, image or mount point.
        what: String,
        /// Known users: programs, mounts or devices.
        by: Vec<String>,
    },
    /// A file, device or mount is not the one made by treering.
    #[error("{what} is left alone: {why}")]
    NotOurs {
        /// The file, device or mount point.
        what: String,
        /// Difference from the one made by treering.
        why: String,
    },
    /// A filesystem that treering unmounted cannot be mounted again.
    #[error("{} is not mounted again at {}: {why}", node.display(), point.display())]
    StaysUnmounted {
        /// Path of the device node.
        node: PathBuf,
        /// Former mount point.
        point: PathBuf,
        /// Reason why it stays unmounted.
        why: String,
        /// Path of the record in the register.
        record: PathBuf,
    },
    /// A record of the register cannot be read.
    #[error("the record {} cannot be read: {why}", path.display())]
    Damaged {
        /// Path of the record.
        path: PathBuf,
        /// I/O or parse error.
        why: String,
    },
    /// A saved image differs from its record, or is damaged.
    #[error("the saved image `{name}` cannot be used: {why}")]
    BadImage {
        /// Name of the image.
        name: String,
        /// The difference or damage.
        why: String,
    },
    /// The run that owns a resource is still running.
    #[error("the run that made {what} is still running (process {pid})")]
    Alive {
        /// The resource.
        what: String,
        /// Process ID of the run.
        pid: u32,
    },
    /// A directory that others can write to cannot be trusted.
    #[error("{} cannot be used by the lab: {why}", path.display())]
    UnsafeDirectory {
        /// Path of the directory.
        path: PathBuf,
        /// Reason why it is not trusted.
        why: &'static str,
    },
}

impl DeviceError {
    /// Advice for the user, if any.
    pub fn hint(&self) -> Option<String> {
        let erase = "if it holds nothing of value: `--erase";
        match self {
            Self::Refused(inspection) if !inspection.is_in_use() => {
                let named = format!("{erase} {}`", inspection.resolved.display());
                Some(match inspection.leftover_hint() {
                    Some(leftover) if inspection.obstacles.len() == 1 => leftover,
                    Some(leftover) => format!("{leftover}; {named}"),
                    None => named,
                })
            }
            Self::Refused(inspection) if inspection.is_no_device() => Some(
                "name a block device; a plan compares directories: device = { directory = \"DIR\" }"
                    .to_owned(),
            ),
            Self::Refused(_) => {
                Some("unmount, stop or close what uses it, or name another device".to_owned())
            }
            Self::Taken { .. } => Some("wait for it, or name another device".to_owned()),
            Self::NotRoot { .. } => {
                Some("run as root, or name a directory as the device".to_owned())
            }
            Self::Loop(LoopError::Control(_)) => {
                Some("load the loop driver (modprobe loop) and run as root".to_owned())
            }
            Self::NoRoom { .. } => {
                Some("choose a directory with more space, or fewer or smaller images".to_owned())
            }
            Self::Missing { how, .. } => Some(how.clone()),
            Self::StillUsed { .. } => {
                Some("stop what uses it, then run `treering lab release`".to_owned())
            }
            Self::StaysUnmounted { record, .. } => Some(format!(
                "mount it yourself, or remove what stands against it, then run `treering lab \
                 release`; if it is to stay unmounted, remove {}",
                record.display()
            )),
            Self::UnsafeDirectory { path, .. } => Some(format!(
                "let its owner or root remove {}, or name a directory of your own: TREERING_LAB \
                 for the records of the lab, --images for images",
                path.display()
            )),
            Self::BadImage { name, .. } => {
                Some(format!("`treering image remove {name}` removes it; then save it anew"))
            }
            Self::Alive { .. } => Some("wait for it, or stop it first".to_owned()),
            Self::UnknownFilesystem { .. } => {
                let names = crate::filesystems::names();
                Some(format!("there are {}", names.join(", ")))
            }
            Self::NotOurs { .. } | Self::Damaged { .. } => {
                Some("inspect it yourself; treering touches only what it made".to_owned())
            }
            _ => None,
        }
    }
}

/// Device path as the user wrote it, with the resolved path if that differs.
fn reported(inspection: &Inspection) -> String {
    let (asked_path, resolved) = (&inspection.asked_path, &inspection.resolved);
    if asked_path == resolved {
        asked_path.display().to_string()
    } else {
        format!("{} (that is {})", asked_path.display(), resolved.display())
    }
}

fn list(obstacles: &[FormatObstacle]) -> String {
    obstacles.iter().map(FormatObstacle::to_string).collect::<Vec<_>>().join(", ")
}

fn to_value(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" to `{value}`") }
}

/// Last lines of the output; for mkfs.xfs, the lines before the list of options that follows the
/// reason.
fn last_words(output: &str) -> String {
    let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "it printed nothing".to_owned();
    }
    let is_usage = |line: &&str| line.trim_start().to_lowercase().starts_with("usage");
    let reason = match lines.iter().position(is_usage) {
        None | Some(0) => &lines[..],
        Some(usage) => &lines[..usage],
    };
    reason[reason.len().saturating_sub(4)..].join(" / ")
}

fn by_whom(by: &[String]) -> String {
    if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::DeviceError;
    use crate::guard::{DeviceSignature, FormatObstacle, Inspection};
    use crate::machine::DeviceNumber;
    use std::path::PathBuf;

    fn refused(obstacles: Vec<FormatObstacle>) -> DeviceError {
        DeviceError::Refused(Inspection {
            asked_path: PathBuf::from("/dev/disk/by-id/x"),
            resolved: PathBuf::from("/dev/sdb"),
            number: DeviceNumber { major: 8, minor: 16 },
            bytes: 1,
            obstacles,
            coverage: None,
        })
    }

    #[test]
    fn a_refusal_names_the_resolved_path_and_gives_advice() {
        let carries =
            FormatObstacle::Carries(DeviceSignature { offset: 1080, name: "ext4", is_copy: false });
        let error = refused(vec![carries.clone()]);
        let reported = "refusing to format /dev/disk/by-id/x (that is /dev/sdb): it contains ext4 \
                        at byte 1080";
        assert_eq!(error.to_string(), reported);
        assert!(error.hint().unwrap().contains("--erase /dev/sdb"));
        let swap = FormatObstacle::Swap { name: "sdb".to_owned() };
        let error = refused(vec![swap, carries]);
        assert!(error.to_string().ends_with("sdb is swap in use, it contains ext4 at byte 1080"));
        assert!(!error.hint().unwrap().contains("--erase"));
    }

    #[test]
    fn the_last_lines_of_a_failed_tool_are_reported() {
        let error = DeviceError::Tool {
            command: vec!["mkfs.x".to_owned(), "-q".to_owned()],
            failure: "exit status: 1".to_owned(),
            output: "1\n2\n\n3\n4\n5\n".to_owned(),
        };
        assert_eq!(error.to_string(), "`mkfs.x -q` failed (exit status: 1): 2 / 3 / 4 / 5");
        assert_eq!(super::last_words("too large\nUsage: mkfs.x\n[-a]\n[-b]\n"), "too large");
        assert_eq!(super::last_words("usage: mkfs.x\n[-a]\n"), "usage: mkfs.x / [-a]");
    }
}
