//! The filesystems that the lab can make: those of [`treering_model::filesystems`] that have an
//! mkfs program or are made by the mount. This module determines their availability; `mkfs` has the
//! arguments of mkfs, `getopt` the parser of the user's options.

mod getopt;
mod mkfs;

use std::fs;
use std::path::PathBuf;

use treering_model::filesystems::{CreationMethod, Filesystem, Mkfs, all, by_name};

use crate::machine::KernelMounts;
use crate::tools::{self, ToolPath};

pub(crate) use getopt::paths_in;
pub(crate) use mkfs::with_journal;
pub use mkfs::{MkfsRequest, arguments, mount_options};

/// Refusal of an option that would make mkfs do something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRefusal {
    /// The refused option.
    pub option: String,
    /// Reason for the refusal.
    pub why: String,
}

/// Filesystems that can be made, in the order of the list.
pub fn makeable() -> impl Iterator<Item = &'static Filesystem> {
    all().filter(|filesystem| filesystem.making != CreationMethod::Never)
}

/// Names of the filesystems that can be made.
pub fn names() -> Vec<&'static str> {
    makeable().map(|filesystem| filesystem.name).collect()
}

/// Filesystem with this name, if it can be made.
pub fn find(name: &str) -> Option<&'static Filesystem> {
    by_name(name).filter(|filesystem| filesystem.making != CreationMethod::Never)
}

/// Availability of a filesystem on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// The filesystem can be made, and also mounted if that was requested.
    Ready {
        /// Path of its mkfs; `None` when it needs none.
        tool: Option<PathBuf>,
        /// Version that mkfs prints.
        version: Option<String>,
    },
    /// The mkfs or the kernel support is missing.
    Missing {
        /// Missing part.
        why: String,
        /// Advice for getting the missing part.
        how: String,
    },
}

/// Determines if a filesystem can be made here, to be mounted by another kernel.
pub(crate) fn mkfs_availability(filesystem: &Filesystem, tools: &ToolPath) -> Availability {
    let Some(tool) = filesystem.mkfs() else {
        return Availability::Ready { tool: None, version: None };
    };
    let Some(path) = tools.find(tool.program) else {
        let package = tool.package;
        let how = format!("install the package {package} (apt install {package})");
        return Availability::Missing { why: format!("{} is not installed", tool.program), how };
    };
    let version = version(&path, tool);
    Availability::Ready { tool: Some(path), version }
}

/// Determines if a filesystem can be made and mounted here; loads its kernel module if there is
/// one.
pub(crate) fn availability(
    filesystem: &Filesystem,
    machine: &KernelMounts,
    tools: &ToolPath,
) -> Availability {
    let made = mkfs_availability(filesystem, tools);
    if let Availability::Missing { .. } = made {
        return made;
    }
    let name = filesystem.name;
    if !kernel_has(name, machine, tools) {
        let release = crate::machine::word(&machine.proc.join("sys/kernel/osrelease"));
        let release = release.unwrap_or_else(|| "this kernel".to_owned());
        let option = filesystem.kernel_option;
        return Availability::Missing {
            why: format!("the running kernel ({release}) has no {name}"),
            how: format!("boot a kernel built with {option}, or install the module {name}"),
        };
    }
    made
}

/// First line of the version output of mkfs.
fn version(path: &std::path::Path, tool: &Mkfs) -> Option<String> {
    let run = tools::run(path, &[tool.version_argument.into()], "/".as_ref()).ok()?;
    run.output.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// True if the kernel supports this filesystem; loads its module if there is one.
pub(crate) fn kernel_has(name: &str, machine: &KernelMounts, tools: &ToolPath) -> bool {
    let is_listed = || {
        let text = fs::read_to_string(machine.proc.join("filesystems")).unwrap_or_default();
        text.lines().any(|line| line.split_whitespace().next_back() == Some(name))
    };
    if !is_listed() {
        load_module(name, tools);
    }
    is_listed()
}

/// Runs modprobe. Callers then ask the kernel whether the module is there.
pub(crate) fn load_module(name: &str, tools: &ToolPath) {
    if let Some(modprobe) = tools.find("modprobe") {
        let _shown_by_the_list = tools::run(&modprobe, &["-q".into(), name.into()], "/".as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::{Availability, MkfsRequest, arguments, availability, find, makeable};
    use crate::machine::KernelMounts;
    use crate::tools::ToolPath;
    use std::ffi::OsStr;
    use std::path::PathBuf;

    #[test]
    fn every_mkfs_names_only_its_devices() {
        for filesystem in makeable() {
            let devices = [PathBuf::from("/dev/a"), PathBuf::from("/dev/b")];
            let devices = &devices[..filesystem.devices_max().min(2)];
            let request = MkfsRequest { devices, label: "treering", options: &[] };
            let words = arguments(filesystem, &request).unwrap();
            if filesystem.mkfs().is_some() {
                let tail = &words[words.len() - devices.len()..];
                assert!(tail.iter().map(PathBuf::from).eq(devices.iter().cloned()));
                let operand = ["/dev/sda".to_owned()];
                let request = MkfsRequest { options: &operand, ..request };
                assert!(arguments(filesystem, &request).is_err(), "{}", filesystem.name);
            }
        }
        assert!(find("ntfs").is_none() && find("nfs").is_none());
    }

    #[test]
    fn a_missing_tool_is_reported_with_advice() {
        let top = tempfile::tempdir().unwrap();
        let machine = KernelMounts { proc: top.path().to_owned(), ..KernelMounts::default() };
        std::fs::write(top.path().join("filesystems"), "nodev\ttmpfs\n\text4\n").unwrap();
        let tools = ToolPath::new(OsStr::new(""));
        let tmpfs = availability(find("tmpfs").unwrap(), &machine, &tools);
        assert_eq!(tmpfs, Availability::Ready { tool: None, version: None });
        if tools.find("mkfs.f2fs").is_some() {
            let missing = availability(find("f2fs").unwrap(), &machine, &tools);
            let Availability::Missing { why, how } = missing else { panic!("{missing:?}") };
            assert!(why.contains("has no f2fs") && how.contains("CONFIG_F2FS_FS"), "{why}: {how}");
        }
    }
}
