//! `metaop`: creates two directories, removes a random one and renames a random one.

use treering_script::{DirSlot, Io, Stop};

use super::Worker;
use crate::names::{METAFILE, NameBuffer};
use crate::population::{FileLookup, LockMode, Population};

/// Directory name; a renamed directory has an `a` after its number.
fn name(number: u64, is_renamed: bool) -> NameBuffer {
    let mut name = NameBuffer::default();
    if is_renamed {
        name.set_renamed(METAFILE, number);
    } else {
        name.set(METAFILE, number);
    }
    name
}

fn is_renamed(meta: &Population, number: u64) -> bool {
    meta.dir(number) != 0
}

impl Worker {
    /// Carries out a metaop; skips each call for which no directory is free.
    pub(super) fn metaop(
        &mut self,
        io: &mut dyn Io,
        filesystem: usize,
        dir: DirSlot,
    ) -> Result<(), Stop> {
        let Self { namespace, random, concurrency, .. } = self;
        let meta = &namespace.filesets[filesystem].meta;
        for _ in 0..2 {
            let number = meta.allocate_number(|| 0).number;
            io.make_dir(dir, name(number, is_renamed(meta, number)).as_c_str())?;
            meta.mark_created(number, 0);
        }
        if let FileLookup::File(held) = meta.find(random, LockMode::Alone, *concurrency) {
            let number = held.number;
            io.remove_dir(dir, name(number, is_renamed(meta, number)).as_c_str())?;
            meta.set_dir(number, 0);
            meta.mark_deleted(number);
        }
        if let FileLookup::File(held) = meta.find(random, LockMode::Alone, *concurrency) {
            let (number, before) = (held.number, is_renamed(meta, held.number));
            let (from, to) = (name(number, before), name(number, !before));
            io.rename(dir, from.as_c_str(), dir, to.as_c_str())?;
            meta.set_dir(number, u32::from(!before));
            meta.unlock(number, LockMode::Alone, *concurrency);
        }
        Ok(())
    }
}
