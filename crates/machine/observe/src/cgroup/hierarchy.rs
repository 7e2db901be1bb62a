//! Directories of this process's control groups, in either version, from its own group up to the
//! root.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use treering_sys::MountTable;

use crate::places::KernelRoots;

/// Version of a hierarchy, which determines file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CgroupVersion {
    One,
    Two,
}

/// Control groups of this process in the hierarchy of one controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CgroupPath {
    pub(super) version: CgroupVersion,
    /// Directories, the own group first, the root last.
    pub(super) folders: Vec<PathBuf>,
}

impl CgroupPath {
    /// Hierarchy of a controller: version 1 if it is mounted there, else version 2.
    pub(super) fn find(places: &KernelRoots, controller: &str) -> Option<Self> {
        let groups = places.proc("self/cgroup")?;
        let table = MountTable::parse(places.proc("self/mountinfo")?.as_bytes());
        let path_of = |is_it: &dyn Fn(&str, &str) -> bool| {
            groups.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':');
                let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
                is_it(number, controllers).then(|| PathBuf::from(path))
            })
        };
        let names_controller = |list: &str| list.split(',').any(|name| name == controller);
        let first = path_of(&|_, controllers| names_controller(controllers));
        let (version, path) = match first {
            Some(path) => (CgroupVersion::One, path),
            None => {
                (CgroupVersion::Two, path_of(&|number, names| number == "0" && names.is_empty())?)
            }
        };
        let mount = table.mounts.into_iter().find(|mount| match version {
            CgroupVersion::One => {
                mount.fs_type == "cgroup" && names_controller(&mount.super_options)
            }
            CgroupVersion::Two => mount.fs_type == "cgroup2",
        })?;
        // In a container only a part of the hierarchy may be mounted.
        let below = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/")).ok()?;
        let below = if below.components().all(is_plain) { below } else { Path::new("") };
        let own = mount.point.join(below);
        let ancestors = own.ancestors().take_while(|folder| folder.starts_with(&mount.point));
        Some(Self { version, folders: ancestors.map(Path::to_owned).collect() })
    }

    /// Contents of a file in each directory that has it.
    pub(super) fn texts(&self, file: &str) -> Vec<String> {
        let read = |folder: &PathBuf| read_to_string(folder.join(file)).ok();
        self.folders.iter().filter_map(read).map(|text| text.trim().to_owned()).collect()
    }

    /// Smallest number in a file of this name; `None` if it is `max` in every directory.
    pub(super) fn least(&self, file: &str) -> Option<u64> {
        self.texts(file).iter().filter_map(|text| text.parse().ok()).min()
    }
}

/// Rejects `..`: outside of a namespace the path leads to invisible groups.
fn is_plain(component: std::path::Component<'_>) -> bool {
    matches!(component, std::path::Component::Normal(_))
}
