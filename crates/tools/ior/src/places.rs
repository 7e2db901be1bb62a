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
    /// Blocks drawn from the whole file, one for each segment.
    blocks: Option<BlockDraw>,
}

/// Blocks of a file that the original draws anew for each segment.
#[derive(Debug)]
struct BlockDraw {
    /// State of the original's generator of 64 bits.
    state: (u64, u64),
    block_bytes: u64,
    /// Number of whole blocks of the file.
    blocks: u64,
    /// Offset of the block that was drawn last.
    drawn: Option<u64>,
}

impl BlockDraw {
    fn new(shape: &RunShape, seed: u32, rank: u16) -> Self {
        let own = if shape.own_files { u32::from(rank) } else { 0 };
        let seed = i64::from(seed.wrapping_add(own).cast_signed()).cast_unsigned();
        let state = (0, seed.wrapping_mul(u64::from(rank) + 1));
        Self { state, block_bytes: shape.block_bytes.max(1), blocks: 0, drawn: None }
    }

    /// Draws the next block.
    fn next(&mut self) -> u64 {
        const FACTORS: (u64, u64) = (0x0fc9_4e3b_f4e9_ab32, 0x8664_58cd_56f5_e605);
        let (high, low) = self.state;
        let low = low.wrapping_mul(FACTORS.1);
        let high = high.wrapping_mul(FACTORS.0).wrapping_add(low >> 32);
        self.state = (high, low);
        high % self.blocks.max(1) * self.block_bytes
    }
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
        let blocks = match shape.order {
            TransferOrder::Blocks(seed) => Some(BlockDraw::new(shape, seed, rank)),
            _ => None,
        };
        let (drawn, first) = match shape.order {
            TransferOrder::Sequential => (None, first),
            TransferOrder::Blocks(_) => (None, 0),
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
        Self { transfer_bytes, each, segment_bytes, first, drawn, blocks }
    }

    /// True if transfers are in a drawn order.
    pub(super) fn is_random(&self) -> bool {
        self.drawn.is_some() || self.blocks.is_some()
    }

    /// True if the size of the file has to be known.
    pub(super) fn needs_size(&self) -> bool {
        self.blocks.is_some()
    }

    /// Sets the size of the file; false if it has no whole block.
    pub(super) fn set_size(&mut self, bytes: u64) -> bool {
        let Some(draw) = &mut self.blocks else { return true };
        draw.blocks = bytes / draw.block_bytes;
        draw.blocks > 0
    }

    /// Number of transfers in `segments` segments.
    pub(super) fn count(&self, segments: u64) -> u64 {
        self.each.saturating_mul(segments)
    }

    /// Offset of a transfer.
    #[inline]
    pub(super) fn at(&mut self, transfer: u64) -> u64 {
        let (segment, within) = (transfer / self.each.max(1), transfer % self.each.max(1));
        if let Some(draw) = &mut self.blocks {
            let drawn = draw.drawn.filter(|_| within > 0).unwrap_or_else(|| draw.next());
            draw.drawn = Some(drawn);
            return drawn + within * self.transfer_bytes;
        }
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
        RankShift::Shuffled { seed } => return shuffled(seed, rank, shape.ranks),
    };
    u16::try_from((u64::from(rank) + shift) % ranks).unwrap_or(0)
}

/// Place of a rank in the permutation that the original draws from this seed.
fn shuffled(seed: u32, rank: u16, ranks: u16) -> u16 {
    let mut random = CRandom::new(seed);
    let mut order: Vec<u16> = (0..ranks).collect();
    for place in 0..order.len() {
        let left = u32::try_from(order.len() - place).unwrap_or(1);
        let other = place + usize::try_from(random.draw() % left).unwrap_or(0);
        order.swap(place, other);
    }
    order.get(usize::from(rank)).copied().unwrap_or(rank)
}
