//! Modelled time of reading all measured files, from their extents alone.

use treering_model::{MODELLED_DISK, ModelledRead};
use treering_stats::layout::{Extent, ExtentPlacement};
use treering_trace::{DiskReader, ModelledDisk};

/// Modelled reader, fed with extents in walk order.
#[derive(Clone, Debug)]
pub(super) struct WholeRead {
    reader: DiskReader,
    /// Compressed extent whose length on the device depends on the next extent.
    pending: Option<Extent>,
}

impl WholeRead {
    /// Creates a reader on [`MODELLED_DISK`].
    pub(super) fn new() -> Option<Self> {
        let disk = ModelledDisk::named(MODELLED_DISK)?;
        Some(Self { reader: DiskReader::new(&disk), pending: None })
    }

    /// Reads the next extent. Extents without an address or never written cause no device read.
    pub(super) fn extent(&mut self, extent: &Extent) {
        if extent.placement != ExtentPlacement::Placed || extent.unwritten {
            return;
        }
        self.read_pending(extent.physical);
        if extent.encoded {
            self.pending = Some(*extent);
        } else {
            self.reader.read(extent.physical, extent.length);
        }
    }

    /// Reads the pending compressed extent. It ends where the next one begins, if that is within
    /// its uncompressed length, the upper bound.
    fn read_pending(&mut self, next: u64) {
        if let Some(extent) = self.pending.take() {
            let is_next = extent.physical < next && next <= extent.end();
            let bytes = if is_next { next - extent.physical } else { extent.length };
            self.reader.read(extent.physical, bytes);
        }
    }

    /// Total modelled time.
    pub(super) fn end(mut self) -> ModelledRead {
        self.read_pending(0);
        ModelledRead { disk: MODELLED_DISK.to_owned(), seconds: self.reader.seconds() }
    }
}

#[cfg(test)]
mod tests {
    use super::WholeRead;
    use treering_stats::layout::{Extent, ExtentPlacement};

    const PIECE: u64 = 1 << 20;
    /// Transfer rate of the disk at its outermost track, in bytes per second.
    const RATE: f64 = 175e6;

    fn seconds(extents: &[Extent]) -> f64 {
        let mut read = WholeRead::new().unwrap();
        extents.iter().for_each(|extent| read.extent(extent));
        read.end().seconds.typical
    }

    #[test]
    fn only_placed_and_written_extents_cost_time() {
        let near = [Extent::placed(0, 0, PIECE), Extent::placed(0, PIECE, PIECE)];
        let far = [Extent::placed(0, 0, PIECE), Extent::placed(0, PIECE << 10, PIECE)];
        // The first read waits for its sector.
        let first = seconds(&near[..1]);
        let (near, far) = (seconds(&near), seconds(&far));
        assert!((near - first - PIECE as f64 / RATE).abs() < 1e-5, "{near}");
        assert!(far > near + 0.0006, "at least a seek to the next track: {far}");
        let place = Extent::placed(0, PIECE << 10, PIECE);
        for silent in [
            Extent { unwritten: true, ..place },
            Extent { placement: ExtentPlacement::Inline, ..place },
            Extent { placement: ExtentPlacement::Delayed, ..place },
        ] {
            assert_eq!(seconds(&[silent]), 0.0);
        }
    }

    #[test]
    fn compressed_extents_end_at_the_next_extent() {
        let packed = |physical| Extent { encoded: true, ..Extent::placed(0, physical, 128 << 10) };
        let alone = seconds(&[packed(0)]);
        let row = seconds(&[packed(0), packed(32 << 10), packed(64 << 10)]);
        let two = f64::from(64 << 10) / RATE;
        assert!((row - alone - two).abs() < 1e-6, "two of 32 KiB, one of at most 128: {row}");
    }
}
