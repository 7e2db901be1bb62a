//! Inventory of the machine: rights, filesystems that can be made, devices, tracing, installed
//! classic tools, and logs that can be imported. Changes nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use treering_model::{DiskSummary, Fact, FilesystemSupport, InstalledTool, MachineInventory};
use treering_observe::block_trace::{BlockRecorder, RecorderOptions, device_at, devices_under};
use treering_observe::look_at_device;
use treering_sys::is_root;

use crate::guard::glance;
use crate::{Availability, Lab, filesystems};

/// Directory in which the kernel lists block devices.
const DEVICES: &str = "/sys/block";
/// Name prefixes of devices in memory or on files, which are not listed as disks.
const UNLISTED_PREFIXES: [&str; 3] = ["loop", "ram", "zram"];
/// Maximum number of devices listed.
const DEVICES_MAX: usize = 16;
/// Limits of the search for logs: number of examined files, bytes per file, and number of listed
/// logs.
const FILES_MAX: usize = 200;
const LOG_BYTES_MAX: u64 = 1 << 20;
const LOGS_MAX: usize = 8;
/// File name extensions of logs; files without an extension are read too.
const LOG_EXTENSIONS: [&str; 6] = ["log", "txt", "out", "json", "eml", "mbox"];

/// Facts about the program that an inventory needs.
pub struct InventoryRequest<'a> {
    /// Directory whose logs are listed, if any.
    pub dir: Option<&'a Path>,
    /// Names of the imitated tools.
    pub tools: &'a [&'static str],
    /// Directories in which programs are searched, as in `PATH`.
    pub path: &'a OsStr,
    /// Executable of treering, which links named after tools may point to.
    pub own_program: Option<&'a Path>,
    /// True for the contents of a log that can be imported.
    pub is_log: &'a dyn Fn(&[u8]) -> bool,
}

/// Takes the inventory of the machine, and of the logs in the directory, if one is named.
pub fn take_inventory(lab: &Lab, request: &InventoryRequest<'_>) -> MachineInventory {
    let dir = request.dir;
    let disks = disks();
    MachineInventory {
        is_root: is_root(),
        filesystems: filesystems::makeable().map(|one| filesystem(lab, one.name)).collect(),
        devices: disks.iter().map(|node| device(node)).collect(),
        loop_devices: is_root() && Path::new("/dev/loop-control").exists(),
        block_tracing: tracing(dir, &disks),
        tools: tools(request),
        logs: dir.map(|dir| logs(dir, request.is_log)).unwrap_or_default(),
    }
}

fn filesystem(lab: &Lab, name: &'static str) -> FilesystemSupport {
    let none =
        FilesystemSupport { name, is_ready: false, is_usual: false, version: None, how: None };
    let Some(found) = filesystems::find(name) else { return none };
    let here = FilesystemSupport { is_usual: found.is_usual, ..none };
    match lab.availability(found) {
        Availability::Ready { version, .. } => {
            FilesystemSupport { is_ready: true, version, ..here }
        }
        Availability::Missing { why, how } => {
            FilesystemSupport { how: Some(format!("{why}: {how}")), ..here }
        }
    }
}

/// The disks of this machine, by name.
fn disks() -> Vec<PathBuf> {
    let listed = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    let names = listed.filter_map(|entry| entry.file_name().into_string().ok());
    let is_disk = |name: &String| !UNLISTED_PREFIXES.iter().any(|kind| name.starts_with(kind));
    let mut names: Vec<String> = names.filter(is_disk).collect();
    names.sort();
    let nodes = names.iter().map(|name| Path::new("/dev").join(name.replace('!', "/")));
    nodes.filter(|node| node.exists()).take(DEVICES_MAX).collect()
}

fn device(node: &Path) -> DiskSummary {
    let facts = look_at_device(node).facts;
    let value = |name: &str| {
        let fact = facts.iter().find(|fact: &&Fact| fact.name == name);
        fact.map(|fact| fact.value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let sectors = value("device.sectors").and_then(|sectors| sectors.parse::<u64>().ok());
    // Only a glance, so that the list need not wait until each disk is read in full.
    let inspection = glance(node).ok().filter(|_| is_root());
    DiskSummary {
        node: node.to_string_lossy().into_owned(),
        bytes: sectors.map(|sectors| sectors.saturating_mul(512)),
        model: value("device.model"),
        is_rotational: value("device.rotational").map(|rotational| rotational == "1"),
        is_free: inspection.map(|inspection| inspection.obstacles.is_empty()),
    }
}

/// Method by which block requests can be recorded here, found by trying it on the device of the
/// directory, or on the first disk.
fn tracing(dir: Option<&Path>, disks: &[PathBuf]) -> Option<String> {
    let devices = dir.and_then(|dir| devices_under(dir).ok());
    let devices = devices.or_else(|| disks.iter().find_map(|node| device_at(node).ok()))?;
    let recorder = BlockRecorder::begin(&devices, RecorderOptions::default(), Vec::new()).ok()?;
    let method = recorder.method().to_string();
    let _nothing_is_kept = recorder.stop();
    Some(method)
}

/// Installed originals of the imitated tools, found on `PATH`; links to treering are skipped.
fn tools(request: &InventoryRequest<'_>) -> Vec<InstalledTool> {
    let find = |name: &str| {
        let places = std::env::split_paths(request.path).map(|dir| dir.join(name));
        let mut ends = places.filter_map(|place| Some((place.canonicalize().ok()?, place)));
        ends.find(|(end, _)| end.is_file() && Some(end.as_path()) != request.own_program)
    };
    let installed = request.tools.iter().filter_map(|&name| {
        let (_, place) = find(name)?;
        Some(InstalledTool { name, path: place.to_string_lossy().into_owned() })
    });
    installed.collect()
}

/// Files of a directory that hold outputs of other tools.
fn logs(dir: &Path, is_importable: &dyn Fn(&[u8]) -> bool) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten().take(FILES_MAX);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let is_log = |path: &PathBuf| {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_likely = ending.is_none_or(|ending| LOG_EXTENSIONS.contains(&ending.as_str()));
        let size = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        is_likely
            && size.is_some_and(|size| (1..=LOG_BYTES_MAX).contains(&size.len()))
            && fs::read(path).is_ok_and(|bytes| is_importable(&bytes))
    };
    let logs = files.into_iter().filter(is_log).take(LOGS_MAX);
    logs.map(|path| path.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::logs;
    use std::fs::write;

    #[test]
    fn logs_are_listed_by_their_contents_and_ending() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("notes.txt"), "nothing of the kind\n").unwrap();
        let text = "intial create total runs 10 avg 55.10 MB/s (user 0.35s sys 0.65s)\n";
        write(dir.path().join("old.log"), text).unwrap();
        write(dir.path().join("old.rs"), text).unwrap();
        let found = logs(dir.path(), &|bytes| bytes.starts_with(b"intial create"));
        assert!(found.len() == 1 && found[0].ends_with("/old.log"), "{found:?}");
    }
}
