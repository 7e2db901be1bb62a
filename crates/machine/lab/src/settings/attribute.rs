//! Kernel attributes: files in `/proc/sys` and `/sys` with one value each, and their side effects
//! on one another (Documentation/admin-guide/sysctl/vm.rst, Documentation/block/queue-sysfs.rst).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use treering_model::nearest::nearest;

use crate::machine::{DeviceNumber, KernelMounts, names};
use crate::{DeviceError, LabError};

/// Pairs of sysctls; writing one sets the other to 0.
const TWINS: [(&str, &str); 2] = [
    ("vm/dirty_bytes", "vm/dirty_ratio"),
    ("vm/dirty_background_bytes", "vm/dirty_background_ratio"),
];
/// Queue attributes that the kernel changes when another attribute of the queue is written.
const RESET_WITH_OTHERS: [&str; 2] = ["queue/nr_requests", "queue/read_ahead_kb"];

/// Objects that settings belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SettingTarget<'a> {
    /// The machine: names are those of `sysctl`.
    Machine,
    /// Block devices: names are paths below the sysfs folder of each device, or absolute ones.
    Device {
        /// Sysfs folders of the devices.
        folders: &'a [PathBuf],
    },
    /// A mounted filesystem: names are paths below `fs` and `bdi`.
    Filesystem {
        /// Sysfs folders of the filesystem.
        folders: &'a FilesystemFolders,
    },
}

/// Folders of a mounted filesystem in sysfs; `None` for a folder that the kernel does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FilesystemFolders {
    /// Folder of the filesystem, such as `/sys/fs/ext4/sda1`.
    pub(crate) own: Option<PathBuf>,
    /// Folder of its write-back settings, such as `/sys/class/bdi/8:0`.
    pub(crate) writeback: Option<PathBuf>,
}

impl FilesystemFolders {
    /// Folders of a filesystem of this type on this device.
    pub(super) fn new(fs_type: &str, number: DeviceNumber, machine: &KernelMounts) -> Self {
        let Some(device) = machine.block_folder(number) else { return Self::default() };
        let Some(name) = device.file_name().map(PathBuf::from) else { return Self::default() };
        let of_type = machine.sys.join("fs").join(fs_type);
        // btrfs and bcachefs name their folders after the UUID, and list the devices inside.
        let lists_device = |folder: &PathBuf| {
            folder.join("devices").join(&name).exists()
                || names(folder).iter().any(|entry| {
                    let link = folder.join(entry).join("block").canonicalize();
                    link.is_ok_and(|link| link.ends_with(&name))
                })
        };
        let own = Some(of_type.join(&name))
            .filter(|folder| folder.is_dir())
            .or_else(|| names(&of_type).iter().map(|uuid| of_type.join(uuid)).find(lists_device));
        let disk = device.parent().filter(|_| device.join("partition").exists());
        let links = own.iter().map(|own| own.join("bdi"));
        let mut links = links.chain([disk.unwrap_or(&device).join("bdi")]);
        let writeback = links.find_map(|link| link.canonicalize().ok());
        Self { own, writeback }
    }
}

impl SettingTarget<'_> {
    /// Files of the setting with this name, one for each object.
    pub(super) fn paths(
        self,
        name: &str,
        machine: &KernelMounts,
    ) -> Result<Vec<PathBuf>, LabError> {
        let refused = |why: &str| {
            let (path, value) = (PathBuf::from(name), String::new());
            LabError::from(DeviceError::Setting { path, value, why: why.to_owned() })
        };
        let candidates: Vec<PathBuf> =
            match self {
                Self::Machine => {
                    // As in sysctl(8), dots belong to the names if slashes are the separators.
                    let file =
                        if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
                    vec![
                        machine.proc.join("sys").join(relative(&file).ok_or_else(|| {
                            refused("a sysctl is written as in `vm.dirty_ratio`")
                        })?),
                    ]
                }
                Self::Device { folders } => {
                    match name.strip_prefix("/sys/") {
                        Some(inside) => vec![machine.sys.join(
                            relative(inside).ok_or_else(|| refused("it leads out of /sys"))?,
                        )],
                        None => {
                            let inside = relative(name).ok_or_else(|| {
                                refused("a sysfs attribute is written as in `queue/scheduler`")
                            })?;
                            folders.iter().map(|folder| device_attribute(folder, inside)).collect()
                        }
                    }
                }
                Self::Filesystem { folders } => {
                    let (folder, inside) = match name.split_once('/') {
                        Some(("fs", inside)) => (&folders.own, inside),
                        Some(("bdi", inside)) => (&folders.writeback, inside),
                        _ => return Err(refused("no attribute of a filesystem")),
                    };
                    let inside = relative(inside).ok_or_else(|| {
                        refused("an attribute of a filesystem is written as in `fs/mb_stats`")
                    })?;
                    let folder = folder.as_ref().ok_or_else(|| {
                        refused("the kernel has no such folder for this filesystem")
                    })?;
                    vec![folder.join(inside)]
                }
            };
        match candidates.iter().find(|path| !is_setting(path, machine)) {
            Some(path) => {
                let meant = nearest_sibling(path).map(|meant| format!("; did you mean `{meant}`?"));
                let why = format!("this kernel has no such setting{}", meant.unwrap_or_default());
                let (path, value) = (path.clone(), String::new());
                Err(DeviceError::Setting { path, value, why }.into())
            }
            None => Ok(candidates),
        }
    }
}

/// Name of the file beside a missing one that was probably meant.
fn nearest_sibling(missing: &Path) -> Option<String> {
    let (folder, name) = (missing.parent()?, missing.file_name()?.to_str()?);
    let beside = fs::read_dir(folder).ok()?.flatten();
    let beside: Vec<String> =
        beside.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    nearest(name, beside.iter().map(String::as_str)).map(str::to_owned)
}

/// Attribute of a device; a partition has the queue of its disk.
fn device_attribute(folder: &Path, inside: &Path) -> PathBuf {
    let path = folder.join(inside);
    match folder.parent() {
        Some(disk) if !path.exists() && folder.join("partition").exists() => disk.join(inside),
        _ => path,
    }
}

fn relative(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    (is_plain && !name.is_empty() && !name.contains("//") && !name.contains('\0')).then_some(path)
}

/// True for an existing file in `/proc/sys` or `/sys`, also after its links are followed.
pub(super) fn is_setting(path: &Path, machine: &KernelMounts) -> bool {
    let root = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    let roots = [root(machine.proc.join("sys")), root(machine.sys.clone())];
    match path.canonicalize() {
        Ok(real) => real.is_file() && roots.iter().any(|root| real.starts_with(root)),
        Err(_) => false,
    }
}

/// Rank in the order of writes: first attributes with side effects, last attributes that these
/// change.
pub(super) fn priority(path: &Path) -> u8 {
    if path.ends_with("queue/scheduler") {
        0
    } else if path.ends_with("queue/nr_requests") {
        2
    } else if path.ends_with("queue/read_ahead_kb") {
        3
    } else {
        1
    }
}

/// Attributes that the kernel may change when this one is written.
pub(super) fn companions(path: &Path) -> Vec<PathBuf> {
    for (bytes, ratio) in TWINS {
        for (written, reset) in [(bytes, ratio), (ratio, bytes)] {
            if path.ends_with(written)
                && let Some(root) = path.ancestors().nth(written.split('/').count())
            {
                return vec![root.join(reset)];
            }
        }
    }
    match path.parent().filter(|queue| queue.ends_with("queue")).and_then(Path::parent) {
        Some(device) => {
            let others = RESET_WITH_OTHERS.iter().map(|name| device.join(name));
            others.filter(|other| other != path).collect()
        }
        None => Vec::new(),
    }
}

/// True for an attribute that the kernel changes when another one is written.
pub(super) fn is_companion(path: &Path) -> bool {
    let twins = TWINS.iter().any(|(bytes, ratio)| path.ends_with(bytes) || path.ends_with(ratio));
    twins || RESET_WITH_OTHERS.iter().any(|name| path.ends_with(name))
}

/// True if the kernel shows `kept` for an attribute to which `value` was written.
pub(super) fn is_same_value(kept: &str, value: &str) -> bool {
    let value = value.trim();
    let number = |text: &str| text.parse::<i128>().ok();
    // `write through` and tab-separated lists keep their words.
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    // The value -1 requests the kernel's own default.
    value == "-1"
        || words(kept) == words(value)
        || number(kept).is_some_and(|kept| number(value) == Some(kept))
}

/// Explains why a value cannot be written to an attribute with this content: words for a number, or
/// none of the choices. `None` for a value that only the kernel can judge.
pub(super) fn unfit_value(path: &Path, content: &str, value: &str) -> Option<String> {
    let is_number = |word: &str| {
        word.strip_prefix('-').unwrap_or(word).starts_with(|first: char| first.is_ascii_digit())
    };
    // The kernel takes words for switches, which it shows as numbers (kstrtobool).
    let is_switch = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["y", "yes", "t", "true", "on", "n", "no", "f", "false", "off"].contains(&word.as_str())
    };
    let mut shown = content.split_whitespace().peekable();
    shown.peek()?;
    if shown.clone().all(|word| word.parse::<i128>().is_ok()) {
        let is_bit = matches!(content.trim(), "0" | "1");
        let mut words = value.split_whitespace();
        let wrong = words.find(|word| !(is_number(word) || is_bit && is_switch(word)))?;
        return Some(format!("it is a number, {} now, and not `{wrong}`", content.trim()));
    }
    // A scheduler that is not in the list may be a module that the kernel loads.
    let has_choice = shown.clone().any(|word| word.starts_with('[') && word.ends_with(']'));
    if !has_choice || path.ends_with("queue/scheduler") {
        return None;
    }
    let choices: Vec<&str> = shown.map(|word| word.trim_matches(['[', ']'])).collect();
    let is_unknown = !choices.contains(&value.trim());
    is_unknown.then(|| format!("the kernel has a choice of {}", choices.join(", ")))
}

/// A file with one value.
pub(super) struct Attribute<'a> {
    path: &'a Path,
}

impl<'a> Attribute<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self { path }
    }

    /// The value; of a list of choices, the one in brackets.
    pub(super) fn read(&self) -> Result<String, LabError> {
        let text = fs::read_to_string(self.path)
            .map_err(LabError::io("cannot read the setting", self.path))?;
        let text = text.trim();
        let choice = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix('[').and_then(|word| word.strip_suffix(']')));
        Ok(choice.unwrap_or(text).to_owned())
    }

    /// Refuses a value that the kernel cannot take, without writing it.
    ///
    /// # Errors
    /// When the value is of another kind than the present one.
    pub(super) fn check(&self, value: &str) -> Result<(), LabError> {
        // Attributes that cannot be read are judged when they are written.
        let Ok(content) = fs::read_to_string(self.path) else { return Ok(()) };
        let Some(why) = unfit_value(self.path, &content, value) else { return Ok(()) };
        let (path, value) = (self.path.to_owned(), value.to_owned());
        Err(DeviceError::Setting { path, value, why }.into())
    }

    /// Writes the value with a single call, as the kernel requires.
    pub(super) fn write(&self, value: &str) -> Result<(), LabError> {
        let written = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.path)
            .and_then(|mut file| file.write_all(value.trim().as_bytes()));
        written.map_err(|error| {
            let why = error.to_string();
            let (path, value) = (self.path.to_owned(), value.to_owned());
            DeviceError::Setting { path, value, why }.into()
        })
    }

    /// Writes an old value. For a pair of sysctls, the 0 of one cannot be written; restoring the
    /// other one sets it.
    pub(super) fn restore(&self, before: &str) -> Result<(), LabError> {
        let is_unset_twin = before == "0"
            && TWINS
                .iter()
                .any(|(bytes, ratio)| self.path.ends_with(bytes) || self.path.ends_with(ratio));
        if is_unset_twin { Ok(()) } else { self.write(before) }
    }
}

#[cfg(test)]
mod tests {
    use super::{companions, is_same_value, unfit_value};
    use std::path::{Path, PathBuf};

    #[test]
    fn values_are_compared_as_the_kernel_shows_them() {
        for (kept, value) in [("4096", "4096"), ("16", " 16\n"), ("007", "7"), ("4\t4\t1", "4 4 1")]
        {
            assert!(is_same_value(kept, value), "{kept} {value}");
        }
        assert!(!is_same_value("1280", "4096") && !is_same_value("none", "bfq"));
    }

    #[test]
    fn values_of_another_kind_than_the_present_one_are_refused() {
        let path = Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
        let choice = "always [madvise] never\n";
        for (content, value, is_unfit) in [
            ("20\n", "40", false),
            ("20\n", "lots", true),
            ("20\n", "-1", false),
            ("1048576\n", "64k", false),
            ("4\t4\t1\t7\n", "3 3 1 none", true),
            ("1\n", "off", false),
            ("2\n", "off", true),
            (choice, "never", false),
            (choice, "sometimes", true),
            ("write back\n", "write through", false),
            ("\n", "anything", false),
        ] {
            assert_eq!(unfit_value(path, content, value).is_some(), is_unfit, "{content} {value}");
        }
        let scheduler = Path::new("/sys/block/sda/queue/scheduler");
        assert_eq!(unfit_value(scheduler, "[none] mq-deadline\n", "bfq"), None);
    }

    #[test]
    fn companion_attributes_are_listed() {
        let ratio = Path::new("/proc/sys/vm/dirty_ratio");
        assert_eq!(companions(ratio), [PathBuf::from("/proc/sys/vm/dirty_bytes")]);
        let scheduler = companions(Path::new("/sys/block/sda/queue/scheduler"));
        assert_eq!(scheduler.len(), 2);
        assert!(companions(Path::new("/proc/sys/vm/swappiness")).is_empty());
    }
}
