//! Environment: kernel, processor, memory, and the filesystem and device under test.

mod checksum;
pub(crate) mod device;
mod ext;
mod filesystem;
mod machine;

use std::path::Path;

use treering_model::Fact;
use treering_sys::MountTable;

use crate::places::KernelRoots;
use crate::{Findings, Observer, ObserverContext};

/// Observer of facts that are constant during a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EnvironmentObserver;

impl Observer for EnvironmentObserver {
    fn name(&self) -> &'static str {
        "environment"
    }

    fn look(&self, scene: &ObserverContext<'_>) -> Findings {
        let places = KernelRoots::default();
        let mut seen = Findings { facts: machine::facts(&places), ..Findings::default() };
        let dir = std::fs::File::open(scene.target).ok();
        let table = MountTable::read().unwrap_or_default();
        let mount = dir.as_ref().and_then(|dir| table.mount_of(dir));
        if let Some(dir) = &dir {
            seen.facts.extend(filesystem::facts(&places, dir, mount));
        }
        let source = mount.map(|mount| mount.source.as_os_str());
        seen.join(device::facts_of_directory(&places, scene.target, source))
    }
}

/// Facts about a block device, whatever it contains.
pub(crate) fn look_at_device(node: &Path) -> Findings {
    device::facts_of_node(&KernelRoots::default(), node)
}

/// Groups of an ext filesystem on a device, as the superblock says: the address of the first, their
/// size in bytes, and their number; `None` if it cannot be read.
pub(crate) fn ext_groups(device: &Path) -> Option<(u64, u64, u64)> {
    ext::read(device)?.groups()
}

/// Builds a fact from a printable value.
pub(crate) fn fact(name: &str, value: impl ToString) -> Fact {
    Fact { name: name.to_owned(), value: value.to_string() }
}
