//! Broadcasts of rank 0. Short messages are sent to each rank directly. Long ones go down a binary
//! tree of ranks, so that rank 0 sends them only twice, however many ranks there are.
//!
//! Ranks are numbered as in a heap: the children of rank `r` are `2r + 1` and `2r + 2`. The lowest
//! missing rank is therefore the one that delays the others.

use std::ops::Range;

/// Size in bytes above which a message is passed on through the tree.
pub(super) const RELAYED_FROM_BYTES: usize = 512;

/// Header of a broadcast: its number, since two broadcasts may arrive out of order, and a flag to
/// pass it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BroadcastHeader {
    pub(super) number: u32,
    pub(super) is_passed_on: bool,
}

impl BroadcastHeader {
    /// Prepends the header to a message.
    pub(super) fn head(self, bytes: &[u8]) -> Vec<u8> {
        [&self.number.to_le_bytes(), &[u8::from(self.is_passed_on)][..], bytes].concat()
    }

    /// Splits a message into header and payload.
    pub(super) fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let (number, tail) = message.split_first_chunk()?;
        let (is_passed_on, bytes) = tail.split_first()?;
        let (number, is_passed_on) = (u32::from_le_bytes(*number), *is_passed_on != 0);
        Some((Self { number, is_passed_on }, bytes))
    }
}

/// Children of `rank` in the broadcast tree of `size` ranks.
pub(super) fn next_ranks(rank: usize, size: usize) -> Range<usize> {
    let first = (2 * rank + 1).min(size);
    first..(first + 2).min(size)
}

/// Parent of `rank` in the broadcast tree.
pub(super) fn before(rank: usize) -> usize {
    rank.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::{BroadcastHeader, before, next_ranks};

    #[test]
    fn broadcasts_reach_every_rank_once_from_its_parent() {
        for size in [1, 2, 3, 7, 256, 1000] {
            let mut reached = vec![0];
            for rank in 0..size {
                for next in next_ranks(rank, size) {
                    assert_eq!(before(next), rank);
                    reached.push(next);
                }
            }
            reached.sort_unstable();
            assert_eq!(reached, (0..size).collect::<Vec<_>>(), "{size}");
        }
    }

    #[test]
    fn broadcast_headers_round_trip() {
        let heading = BroadcastHeader { number: 70_000, is_passed_on: true };
        assert_eq!(BroadcastHeader::split(&heading.head(b"word")), Some((heading, &b"word"[..])));
        assert_eq!(BroadcastHeader::split(b"1234"), None);
    }
}
