//! `Dirty` and `Writeback` of `/proc/meminfo`: what the page cache of the machine has yet to write.

use treering_model::Unit;
use treering_model::metrics::kernel::DIRTY_BYTES;

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;
use crate::places::KernelRoots;

const SOURCE: &str = "/proc/meminfo";

struct DirtyPages(KernelRoots);

/// Opens the file.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    scene.roots.memory_bytes("Dirty")?;
    Some(Box::new(DirtyPages(scene.roots.clone())))
}

impl CounterSource for DirtyPages {
    fn read(&mut self) -> Vec<Reading> {
        let bytes = |key: &str| self.0.memory_bytes(key);
        let (Some(dirty), Some(writeback)) = (bytes("Dirty"), bytes("Writeback")) else {
            return Vec::new();
        };
        let total = dirty.saturating_add(writeback);
        vec![
            Reading::gauge("memory.dirty", SOURCE, Unit::Bytes, dirty),
            Reading::gauge("memory.writeback", SOURCE, Unit::Bytes, writeback),
            Reading::gauge("memory.to_write", SOURCE, Unit::Bytes, total).promoted(DIRTY_BYTES),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::open;
    use crate::kernel_counters::scene::CounterScene;
    use crate::places::KernelRoots;

    #[test]
    fn dirty_pages_and_those_under_writeback_are_to_be_written() {
        let top = tempfile::tempdir().unwrap();
        let roots = KernelRoots { proc: top.path().to_owned(), ..KernelRoots::default() };
        let scene = CounterScene { roots, ..CounterScene::default() };
        assert!(open(&scene).is_none());
        std::fs::write(top.path().join("meminfo"), "Dirty: 12 kB\nWriteback: 4 kB\n").unwrap();
        let readings = open(&scene).unwrap().read();
        assert_eq!(readings.last().unwrap().value, 16 * 1024);
    }
}
