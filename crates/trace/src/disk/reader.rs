//! Sequential reader on a modelled disk: issues each read after the previous one has completed.

use treering_model::ModelledSeconds;

use super::buffer::DiskState;
use super::model::{DiskTransfer, ModelledDisk};

/// Reader of an otherwise idle disk; the head starts at offset 0.
#[derive(Clone, Debug)]
pub struct DiskReader {
    /// Typical version of the disk, and draws from its uncertainty; each with its clock and state.
    disks: Vec<(ModelledDisk, f64, DiskState)>,
}

impl DiskReader {
    /// Creates a reader of an otherwise idle disk.
    pub fn new(disk: &ModelledDisk) -> Self {
        let start = |disk| (disk, 0.0, DiskState::default());
        Self { disks: disk.with_draws().into_iter().map(start).collect() }
    }

    /// Reads a range; a range beyond the end of the disk is moved to its end.
    pub fn read(&mut self, offset: u64, bytes: u64) {
        for (disk, now_ns, state) in &mut self.disks {
            let offset = offset.min(disk.capacity_bytes.saturating_sub(bytes));
            let wanted = DiskTransfer { offset, bytes, is_write: false, is_durable: false };
            let parts = disk.time(*now_ns, state, (wanted, disk.overhead_ns()), 1);
            disk.serve(*now_ns, state, wanted, parts);
            *now_ns += parts.total();
        }
    }

    /// Total time so far.
    pub fn seconds(&self) -> ModelledSeconds {
        ModelledSeconds::from_times(self.disks.iter().map(|(_, now_ns, _)| now_ns / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::DiskReader;
    use crate::disk::replay::event_of_read;
    use crate::disk::{DiskReplay, ModelledDisk};
    use crate::event::Action;
    use proptest::prelude::{any, prop, prop_assert, proptest};

    fn reader() -> DiskReader {
        DiskReader::new(&ModelledDisk::named("hdd-7200").unwrap())
    }

    #[test]
    fn sequential_reads_take_their_transfer_and_scattered_ones_far_longer() {
        let (mut ordered, mut scattered) = (reader(), reader());
        for number in 0..10_000u64 {
            ordered.read(number * 65_536, 65_536);
            scattered.read(number * 7919 % 10_000 * 65_536, 65_536);
        }
        let transfer = 10_000.0 * 65_536.0 / 175e6;
        let seconds = ordered.seconds().typical;
        assert!((seconds / transfer - 1.0).abs() < 0.01, "{seconds}");
        let seconds = scattered.seconds();
        assert!(seconds.typical > 3.0 * transfer, "{seconds:?}");
        assert!(seconds.low < seconds.high, "{seconds:?}");
    }

    #[test]
    fn reader_and_replay_agree() {
        let disk = ModelledDisk::named("hdd-7200").unwrap();
        let (mut reader, mut replay) = (DiskReader::new(&disk), DiskReplay::new(&disk));
        for number in 0..2000u64 {
            let offset = number * 7919 % 2000 * (4096 * 512);
            reader.read(offset, 8192);
            for action in [Action::Issue, Action::Complete] {
                // The device of the trace is never idle.
                replay.entry(&event_of_read(action, number + 1, offset, 8192));
            }
        }
        let (read, replayed) = (reader.seconds(), replay.end()[0].busy);
        assert!((read.typical / replayed.typical - 1.0).abs() < 0.001, "{read:?} {replayed:?}");
        assert!((read.high / replayed.high - 1.0).abs() < 0.001, "{read:?} {replayed:?}");
    }

    proptest! {
        #[test]
        fn every_read_takes_a_finite_time(
            stretches in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50)
        ) {
            let mut reader = reader();
            for (offset, bytes) in stretches {
                reader.read(offset, bytes);
            }
            let seconds = reader.seconds();
            prop_assert!(seconds.low >= 0.0 && seconds.high.is_finite());
            prop_assert!(seconds.low <= seconds.typical && seconds.typical <= seconds.high);
        }
    }
}
