//! The filesystems the lab can make: one folder each, one line in [`ALL`].
//!
//! A filesystem says how its mkfs is called and how it is mounted; it does neither itself. What is
//! added to the user's options is said in its folder, with the reason; what the user gives wins.

mod btrfs;
mod ext;
mod f2fs;
mod getopt;
mod tmpfs;
mod xfs;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use crate::machine::Machine;
use crate::tools::{self, ToolPath};

pub(crate) use getopt::paths_in;

/// Every filesystem, in the order in which they are listed.
pub const ALL: &[&dyn Filesystem] =
    &[&ext::EXT4, &ext::EXT3, &ext::EXT2, &xfs::Xfs, &btrfs::Btrfs, &f2fs::F2fs, &tmpfs::Tmpfs];

/// The filesystem with this name.
pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    ALL.iter().copied().find(|filesystem| filesystem.name() == name)
}

/// The program that makes a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub program: &'static str,
    /// The package it comes in, by the same name in Debian, Fedora, SUSE and Arch.
    pub package: &'static str,
    /// What makes it tell its version.
    pub version_argument: &'static str,
}

/// What mkfs is to do.
#[derive(Clone, Copy, Debug)]
pub struct MkfsRequest<'a> {
    /// The devices, at least one.
    pub devices: &'a [PathBuf],
    /// A name for the filesystem, by which people know it again.
    pub label: &'a str,
    /// The user's options, an element an argument.
    pub options: &'a [String],
}

/// Why options cannot be given to mkfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionRefusal {
    /// The option.
    pub option: String,
    /// Why.
    pub why: &'static str,
}

/// A filesystem the lab can make.
pub trait Filesystem: Sync + fmt::Debug {
    /// Its name, which is also the type it is mounted as.
    fn name(&self) -> &'static str;

    /// The program that makes it; `None` when it needs neither that nor a device.
    fn tool(&self) -> Option<&'static Tool>;

    /// The option of the kernel's configuration that brings it.
    fn kernel_option(&self) -> &'static str;

    /// Below this many bytes a device mkfs refuses, or makes something that nobody uses.
    fn bytes_min(&self) -> u64;

    /// How many devices it may have.
    fn devices_max(&self) -> usize {
        1
    }

    /// What it is called where signatures are found; empty when it leaves none.
    fn signature(&self) -> &'static str;

    /// The arguments of its mkfs.
    ///
    /// # Errors
    /// When the user's options would do something else than make this filesystem on these devices.
    fn arguments(&self, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal>;

    /// Mount options it needs besides the user's: for several devices their names, for none its
    /// size in bytes.
    fn mount_options(&self, devices: &[PathBuf], bytes: u64, user: &[String]) -> Vec<String> {
        let (_devices, _bytes, _user) = (devices, bytes, user);
        Vec::new()
    }
}

/// Whether a filesystem can be made and mounted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Ready {
        /// The program that makes it, with its place; `None` when it needs none.
        tool: Option<PathBuf>,
        /// The version that the program tells.
        version: Option<String>,
    },
    /// Something is missing.
    Missing {
        /// What.
        why: String,
        /// How to get it.
        how: String,
    },
}

/// Finds out whether a filesystem can be made and mounted here. The module of the kernel is loaded
/// when there is one.
pub(crate) fn availability(
    filesystem: &dyn Filesystem,
    machine: &Machine,
    tools: &ToolPath,
) -> Availability {
    let mut found = None;
    if let Some(tool) = filesystem.tool() {
        let Some(path) = tools.find(tool.program) else {
            let package = tool.package;
            let how = format!("install the package {package} (apt install {package})");
            return Availability::Missing {
                why: format!("{} is not installed", tool.program),
                how,
            };
        };
        found = Some((path, tool));
    }
    let name = filesystem.name();
    if !kernel_has(name, machine) {
        load_module(name, tools);
    }
    if !kernel_has(name, machine) {
        let release = crate::machine::word(&machine.proc.join("sys/kernel/osrelease"));
        let release = release.unwrap_or_else(|| "this kernel".to_owned());
        let option = filesystem.kernel_option();
        return Availability::Missing {
            why: format!("the running kernel ({release}) has no {name}"),
            how: format!("boot a kernel that is built with {option}, or install its module {name}"),
        };
    }
    let version = found.as_ref().and_then(|(path, tool)| version(path, tool));
    Availability::Ready { tool: found.map(|(path, _)| path), version }
}

/// The first line that a tool says when it is asked for its version.
fn version(path: &std::path::Path, tool: &Tool) -> Option<String> {
    let run = tools::run(path, &[tool.version_argument.into()], "/".as_ref()).ok()?;
    run.output.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn kernel_has(name: &str, machine: &Machine) -> bool {
    let text = fs::read_to_string(machine.proc.join("filesystems")).unwrap_or_default();
    text.lines().any(|line| line.split_whitespace().next_back() == Some(name))
}

/// Whatever comes of it shows in the kernel's list.
fn load_module(name: &str, tools: &ToolPath) {
    if let Some(modprobe) = tools.find("modprobe") {
        let _shown_by_the_list = tools::run(&modprobe, &["-q".into(), name.into()], "/".as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Availability, MkfsRequest, availability, find};
    use crate::machine::Machine;
    use crate::tools::ToolPath;
    use std::ffi::OsStr;
    use std::path::PathBuf;

    #[test]
    fn every_filesystem_is_found_by_its_name_and_formats_its_devices_only() {
        for filesystem in ALL {
            assert_eq!(find(filesystem.name()).unwrap().name(), filesystem.name());
            let devices = [PathBuf::from("/dev/a"), PathBuf::from("/dev/b")];
            let devices = &devices[..filesystem.devices_max().min(2)];
            let request = MkfsRequest { devices, label: "treering", options: &[] };
            let arguments = filesystem.arguments(&request).unwrap();
            if filesystem.tool().is_some() {
                let tail = &arguments[arguments.len() - devices.len()..];
                assert!(tail.iter().map(PathBuf::from).eq(devices.iter().cloned()));
                let operand = ["/dev/sda".to_owned()];
                let request = MkfsRequest { options: &operand, ..request };
                assert!(filesystem.arguments(&request).is_err(), "{}", filesystem.name());
            }
        }
        assert!(find("ntfs").is_none());
    }

    #[test]
    fn what_is_missing_is_named_with_the_way_to_get_it() {
        let top = tempfile::tempdir().unwrap();
        let machine = Machine { proc: top.path().to_owned(), ..Machine::default() };
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
