//! Written pieces, in the order in which they will be read back.

use std::collections::{BTreeMap, VecDeque};

/// Write that will be read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenPiece {
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Seed of its random bytes.
    pub(crate) seed: u64,
    /// Number of the write.
    pub(crate) number: u16,
}

/// Pieces to be read back: in order of writing if no offset repeats, else by offset, each from its
/// last write.
#[derive(Debug, Default)]
pub(crate) struct History {
    in_order: VecDeque<WrittenPiece>,
    by_place: BTreeMap<(usize, u64), WrittenPiece>,
    sorts: bool,
}

impl History {
    /// Creates an empty history; `sorts` if offsets may repeat.
    pub(crate) fn new(sorts: bool) -> Self {
        Self { sorts, ..Self::default() }
    }

    /// Adds a write; earlier ones that it overlaps are dropped.
    pub(crate) fn add(&mut self, piece: WrittenPiece) {
        if !self.sorts {
            self.in_order.push_back(piece);
            return;
        }
        let (file, end) = (piece.file, piece.offset.saturating_add(piece.bytes));
        while let Some((&place, before)) = self.by_place.range(..(file, end)).next_back()
            && place.0 == file
            && before.offset.saturating_add(before.bytes) > piece.offset
        {
            self.by_place.remove(&place);
        }
        self.by_place.insert((file, piece.offset), piece);
    }

    /// Takes the next piece.
    pub(crate) fn take(&mut self) -> Option<WrittenPiece> {
        self.in_order.pop_front().or_else(|| self.by_place.pop_first().map(|(_, piece)| piece))
    }

    /// Next piece, without removing it.
    pub(crate) fn first(&self) -> Option<&WrittenPiece> {
        self.in_order.front().or_else(|| self.by_place.values().next())
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> u64 {
        (self.in_order.len() + self.by_place.len()) as u64
    }

    /// Removes a failed write.
    pub(crate) fn remove(&mut self, file: usize, offset: u64) {
        self.by_place.remove(&(file, offset));
        let is_it = |piece: &WrittenPiece| (piece.file, piece.offset) == (file, offset);
        if let Some(at) = self.in_order.iter().rposition(is_it) {
            self.in_order.remove(at);
        }
    }

    /// Removes all pieces.
    pub(crate) fn clear(&mut self) {
        self.in_order.clear();
        self.by_place.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{History, WrittenPiece};

    #[test]
    fn only_the_last_write_of_an_offset_is_read_back() {
        let mut history = History::new(true);
        for (number, (offset, bytes)) in
            (0..).zip([(8, 8), (0, 8), (24, 4), (4, 8), (16, 4), (20, 4)])
        {
            history.add(WrittenPiece { file: 0, offset, bytes, seed: 0, number });
        }
        let taken = std::iter::from_fn(|| history.take());
        let numbers: Vec<u16> = taken.map(|piece| piece.number).collect();
        assert_eq!(numbers, [3, 4, 5, 2]);
    }
}
