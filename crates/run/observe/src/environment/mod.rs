//! The environment: kernel, processor, memory, and the filesystem and device under test.

mod device;
mod machine;

use treering_model::Fact;
use treering_sys::{MountTable, filesystem_facts};

use crate::{Observer, Scene, Seen};

/// Sees what does not change during a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Environment;

impl Observer for Environment {
    fn name(&self) -> &'static str {
        "environment"
    }

    fn look(&self, scene: &Scene<'_>) -> Seen {
        let mut facts = machine::facts();
        facts.extend(filesystem(scene));
        facts.extend(device::facts(scene.target));
        Seen { facts, cautions: Vec::new() }
    }
}

/// A fact from whatever can be printed.
pub(crate) fn fact(name: &str, value: impl ToString) -> Fact {
    Fact { name: name.to_owned(), value: value.to_string() }
}

fn filesystem(scene: &Scene<'_>) -> Vec<Fact> {
    let Ok(dir) = std::fs::File::open(scene.target) else { return Vec::new() };
    let mut facts = Vec::new();
    let table = MountTable::read().unwrap_or_default();
    if let Some(mount) = table.of(&dir) {
        facts.push(fact("filesystem.type", &mount.fs_type));
        facts.push(fact("filesystem.source", mount.source.to_string_lossy()));
        facts.push(fact("filesystem.mount_point", mount.point.display()));
        facts.push(fact("filesystem.mount_options", &mount.options));
        facts.push(fact("filesystem.super_options", &mount.super_options));
    }
    if let Ok(figures) = filesystem_facts(&dir) {
        facts.push(fact("filesystem.block_bytes", figures.block_bytes));
        facts.push(fact("filesystem.capacity_bytes", figures.capacity_bytes));
        facts.push(fact("filesystem.free_bytes", figures.free_bytes));
        if let Some(free) = figures.free_inodes {
            facts.push(fact("filesystem.free_inodes", free));
        }
    }
    facts
}
