//! Kernel interfaces of the machine: `/sys`, `/proc`, `/dev`, and device numbers.
//!
//! The mount points are values, so that tests can describe other machines.

use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Device number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Major number: the driver.
    pub major: u32,
    /// Minor number: the device of that driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits an `st_rdev` or `st_dev` of `stat`.
    pub(crate) fn from_stat(number: u64) -> Self {
        Self { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (major, minor) = text.trim().split_once(':').ok_or(())?;
        Ok(Self {
            major: major.parse().map_err(|_not_a_number| ())?,
            minor: minor.parse().map_err(|_not_a_number| ())?,
        })
    }
}

/// Mount points of sysfs and procfs; other directories in tests.
#[derive(Clone, Debug)]
pub(crate) struct KernelMounts {
    pub(crate) sys: PathBuf,
    pub(crate) proc: PathBuf,
}

impl Default for KernelMounts {
    fn default() -> Self {
        Self { sys: PathBuf::from("/sys"), proc: PathBuf::from("/proc") }
    }
}

impl KernelMounts {
    /// Sysfs folder of a block device; `None` when the kernel does not know it.
    pub(crate) fn block_folder(&self, number: DeviceNumber) -> Option<PathBuf> {
        self.sys.join("dev/block").join(number.to_string()).canonicalize().ok()
    }

    /// Number of a partition's disk; for any other block device, its own number.
    pub(crate) fn whole_disk(&self, number: DeviceNumber) -> DeviceNumber {
        let folder = self.block_folder(number).filter(|it| it.join("partition").exists());
        let disk = folder.and_then(|folder| word(&folder.parent()?.join("dev")));
        disk.and_then(|text| text.parse().ok()).unwrap_or(number)
    }

    /// Kernel name of a block device: `sda1`, `dm-0`.
    pub(crate) fn block_name(&self, number: DeviceNumber) -> Option<String> {
        let folder = self.block_folder(number)?;
        folder.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    /// Names and sysfs folders of all block devices with this subfolder, such as `loop` for
    /// attached loop devices.
    pub(crate) fn block_devices_with(&self, inside: &str) -> Vec<(String, PathBuf)> {
        let devices = names(&self.sys.join("block")).into_iter().filter_map(|name| {
            let folder = self.sys.join("block").join(&name);
            folder.join(inside).exists().then_some((name, folder))
        });
        devices.collect()
    }

    /// The identifier of this boot.
    pub(crate) fn boot_id(&self) -> String {
        word(&self.proc.join("sys/kernel/random/boot_id")).unwrap_or_default()
    }

    /// Start time of a process, in ticks since the boot; `None` when it is gone.
    pub(crate) fn process_start(&self, pid: u32) -> Option<u64> {
        let stat = fs::read_to_string(self.proc.join(pid.to_string()).join("stat")).ok()?;
        // The process name in front may contain blanks and parentheses.
        let (_, fields) = stat.rsplit_once(") ")?;
        fields.split(' ').nth(19)?.parse().ok()
    }

    /// True if a process was killed but has not ended yet: its flags have `PF_EXITING`, or
    /// `SIGKILL` is pending (proc_pid_stat(5), proc_pid_status(5)).
    pub(crate) fn is_ending(&self, pid: &str) -> bool {
        const PF_EXITING: u64 = 4;
        const KILL: u64 = 1 << (9 - 1);
        let read = |name: &str| fs::read_to_string(self.proc.join(pid).join(name)).ok();
        let (Some(stat), Some(status)) = (read("stat"), read("status")) else { return true };
        let flags =
            stat.rsplit_once(") ").and_then(|(_, tail)| tail.split(' ').nth(6)?.parse().ok());
        let pending = |line: &str| {
            let mask = line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        };
        flags.is_some_and(|flags: u64| flags & PF_EXITING != 0)
            || status.lines().filter_map(pending).any(|mask| mask & KILL != 0)
    }

    /// Program name of a process, for messages.
    pub(crate) fn program(&self, pid: &str) -> String {
        word(&self.proc.join(pid).join("comm")).unwrap_or_else(|| "a program".to_owned())
    }
}

/// Sorted names in a folder; empty when it does not exist.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Trimmed text of a small file; `None` when it is empty or unreadable.
pub(crate) fn word(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Number of the block device that a path leads to, following links.
pub(crate) fn block_number(path: &Path) -> Option<DeviceNumber> {
    let metadata = fs::metadata(path).ok()?;
    let is_block = metadata.file_type().is_block_device();
    is_block.then(|| DeviceNumber::from_stat(metadata.rdev()))
}

#[cfg(test)]
mod tests {
    use super::{DeviceNumber, KernelMounts};

    #[test]
    fn device_numbers_round_trip() {
        let number = DeviceNumber { major: 259, minor: 70_000 };
        assert_eq!("259:70000\n".parse(), Ok(number));
        assert_eq!(number.to_string().parse(), Ok(number));
        assert!("8".parse::<DeviceNumber>().is_err() && "8:x".parse::<DeviceNumber>().is_err());
    }

    #[test]
    fn process_start_is_parsed_behind_any_command_name() {
        let place = tempfile::tempdir().unwrap();
        let machine = KernelMounts { proc: place.path().to_owned(), ..KernelMounts::default() };
        std::fs::create_dir(place.path().join("7")).unwrap();
        let before = (0..18).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        let stat = format!("7 (a) S (b) S {before} 4242 99\n");
        std::fs::write(place.path().join("7/stat"), stat).unwrap();
        assert_eq!(machine.process_start(7), Some(4242));
        assert_eq!(machine.process_start(8), None);
        let status = |pending: &str| format!("Name:\ta\nSigPnd:\t{pending}\nShdPnd:\t0\n");
        let set = |pending: &str, flags: &str| {
            let stat = format!("7 (a) S (b) S 1 7 7 0 -1 {flags} 0 0\n");
            std::fs::write(place.path().join("7/stat"), stat).unwrap();
            std::fs::write(place.path().join("7/status"), status(pending)).unwrap();
            machine.is_ending("7")
        };
        assert!(!set("0000000000000000", "4194304"));
        assert!(!set("0000000000004000", "4194304"), "SIGTERM may be handled");
        assert!(set("0000000000000100", "4194304") && set("0000000000000000", "4194308"));
        assert!(machine.is_ending("8"), "it is gone");
        let ours = KernelMounts::default();
        assert!(!ours.is_ending(&std::process::id().to_string()));
        assert!(ours.process_start(std::process::id()).is_some());
        assert_eq!(ours.boot_id().len(), 36);
    }
}
