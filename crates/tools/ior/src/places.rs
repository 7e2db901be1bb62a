//! File offsets of a rank's transfers, and the rank whose data a rank reads.

use treering_script::Random;

use super::shape::{RankShift, RunShape, TestKind, TransferOrder};
use treering_kit::c_random::CRandom;

/// Offsets of a rank's transfers.
#[derive(Debug)]
pub(super) struct TransferPlaces {
    transfer_bytes: u64,
    /// Number of transfers in a segment.
    each: u64,
    /// Distance between successive segments of the rank, in bytes.
    segment_bytes: u64,
    /// Offset of the rank's first segment.
    first: u64,
    /// Offsets in a segment in drawn order; `None` for sequential order.
    drawn: Option<Vec<u64>>,
}

impl TransferPlaces {
    /// Creates the offsets of a rank.
    pub(super) fn new(shape: &RunShape, rank: u16) -> Self {
        let transfer_bytes = u64::from(shape.transfer_bytes).max(1);
        let each = shape.block_bytes / transfer_bytes;
        let ranks = u64::from(shape.ranks);
        let (segment_bytes, first) = if shape.own_files {
            (shape.block_bytes, 0)
        } else {
            (shape.block_bytes * ranks, shape.block_bytes * u64::from(rank))
        };
        let (drawn, first) = match shape.order {
            TransferOrder::Sequential => (None, first),
            TransferOrder::Random(seed) => {
                let mut offsets: Vec<u64> =
                    (0..each).map(|number| number * transfer_bytes).collect();
                Random::for_part(seed, &format!("transfers of rank {rank}")).shuffle(&mut offsets);
                (Some(offsets), first)
            }
            // Offsets drawn for a shared file are relative to its start.
            TransferOrder::Original(seed) => (Some(original(shape, seed, rank)), 0),
        };
        let each = drawn.as_ref().map_or(each, |drawn| drawn.len() as u64);
        Self { transfer_bytes, each, segment_bytes, first, drawn }
    }

    /// Number of transfers in `segments` segments.
    pub(super) fn count(&self, segments: u64) -> u64 {
        self.each.saturating_mul(segments)
    }

    /// Offset of a transfer.
    #[inline]
    pub(super) fn at(&self, transfer: u64) -> u64 {
        let (segment, within) = (transfer / self.each.max(1), transfer % self.each.max(1));
        let within = match &self.drawn {
            Some(drawn) => drawn.get(usize::try_from(within).unwrap_or(0)).copied().unwrap_or(0),
            None => within * self.transfer_bytes,
        };
        self.first + segment * self.segment_bytes + within
    }
}

/// Offsets in the original's random order; for a shared file the rank of each transfer is drawn as
/// well.
fn original(shape: &RunShape, seed: u32, rank: u16) -> Vec<u64> {
    let transfer_bytes = u64::from(shape.transfer_bytes).max(1);
    let each = shape.block_bytes / transfer_bytes;
    let ranks = u64::from(shape.ranks);
    let seed = if shape.own_files { seed.wrapping_add(rank.into()) } else { seed };
    let mut random = CRandom::new(seed);
    let mut transfers: Vec<u64> = if shape.own_files {
        (0..each).collect()
    } else {
        let own = u64::from(rank);
        let drawn = (0..each * ranks).filter(|_| u64::from(random.draw()) % ranks == own);
        drawn.collect()
    };
    let count = transfers.len() as u64;
    for place in 0..transfers.len() {
        let other = u64::from(random.draw()) % count.max(1);
        transfers.swap(usize::try_from(other).unwrap_or(0), place);
    }
    transfers.into_iter().map(|number| number * transfer_bytes).collect()
}

/// Rank whose data a rank reads in a test.
pub(super) fn read_of(shape: &RunShape, rank: u16, part: TestKind) -> u16 {
    let ranks = u64::from(shape.ranks.max(1));
    let shift = match shape.shift {
        _ if part == TestKind::Write => 0,
        _ if part == TestKind::CheckWrite => shape.check_shift % ranks,
        RankShift::Constant(shift) => shift % ranks,
        RankShift::Drawn { seed, least } => {
            let mut random = CRandom::new(seed.wrapping_add(rank.into()));
            let mut drawn = u64::from(random.draw()) % ranks;
            while drawn < least.min(ranks - 1) {
                drawn = u64::from(random.draw()) % ranks;
            }
            drawn
        }
    };
    u16::try_from((u64::from(rank) + shift) % ranks).unwrap_or(0)
}
