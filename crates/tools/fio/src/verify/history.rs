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

/// Order in which pieces are read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadBackOrder {
    /// By the time of writing; no two writes overlap.
    Written,
    /// By the time of writing; later writes may overlap earlier ones.
    LastWritten,
    /// By offset; later writes may overlap earlier ones.
    Offset,
}

/// Pieces to be read back, each from the last write that covers any of it.
#[derive(Debug)]
pub(crate) struct History {
    order: ReadBackOrder,
    /// Pieces in the order of writing, if they cannot overlap.
    in_order: VecDeque<WrittenPiece>,
    /// Pieces by file and offset, each with its number in the order of writing; used if later
    /// writes may overlap earlier ones.
    by_place: BTreeMap<(usize, u64), (u64, WrittenPiece)>,
    /// Places in the order of writing, with numbers of writes that may have been overwritten.
    places: VecDeque<(u64, (usize, u64))>,
    writes: u64,
}

impl History {
    /// Creates an empty history.
    pub(crate) fn new(order: ReadBackOrder) -> Self {
        Self {
            order,
            in_order: VecDeque::new(),
            by_place: BTreeMap::new(),
            places: VecDeque::new(),
            writes: 0,
        }
    }

    /// True if later writes may overlap earlier ones.
    pub(crate) fn may_overlap(&self) -> bool {
        self.order != ReadBackOrder::Written
    }

    /// Adds a write; earlier ones that it overlaps are dropped.
    pub(crate) fn add(&mut self, piece: WrittenPiece) {
        if !self.may_overlap() {
            self.in_order.push_back(piece);
            return;
        }
        let (file, end) = (piece.file, piece.offset.saturating_add(piece.bytes));
        while let Some((&place, (_, before))) = self.by_place.range(..(file, end)).next_back()
            && place.0 == file
            && before.offset.saturating_add(before.bytes) > piece.offset
        {
            self.by_place.remove(&place);
        }
        self.writes += 1;
        let place = (file, piece.offset);
        self.by_place.insert(place, (self.writes, piece));
        if self.order == ReadBackOrder::LastWritten {
            self.places.push_back((self.writes, place));
            self.forget_overwritten();
        }
    }

    /// Drops the first places of which a later write has taken a part.
    fn forget_overwritten(&mut self) {
        while let Some((number, place)) = self.places.front()
            && self.by_place.get(place).is_none_or(|(last, _)| last != number)
        {
            self.places.pop_front();
        }
    }

    /// Takes the next piece.
    pub(crate) fn take(&mut self) -> Option<WrittenPiece> {
        let (_, piece) = match self.order {
            ReadBackOrder::Written => return self.in_order.pop_front(),
            ReadBackOrder::Offset => self.by_place.pop_first()?.1,
            ReadBackOrder::LastWritten => {
                let (_, place) = self.places.pop_front()?;
                self.by_place.remove(&place)?
            }
        };
        self.forget_overwritten();
        Some(piece)
    }

    /// Next piece, without removing it.
    pub(crate) fn first(&self) -> Option<&WrittenPiece> {
        let (_, piece) = match self.order {
            ReadBackOrder::Written => return self.in_order.front(),
            ReadBackOrder::Offset => self.by_place.values().next()?,
            ReadBackOrder::LastWritten => self.by_place.get(&self.places.front()?.1)?,
        };
        Some(piece)
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> u64 {
        (self.in_order.len() + self.by_place.len()) as u64
    }

    /// Removes a failed write.
    pub(crate) fn remove(&mut self, file: usize, offset: u64) {
        self.by_place.remove(&(file, offset));
        self.forget_overwritten();
        let is_it = |piece: &WrittenPiece| (piece.file, piece.offset) == (file, offset);
        if let Some(at) = self.in_order.iter().rposition(is_it) {
            self.in_order.remove(at);
        }
    }

    /// Removes all pieces.
    pub(crate) fn clear(&mut self) {
        self.in_order.clear();
        self.by_place.clear();
        self.places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{History, ReadBackOrder, WrittenPiece};

    /// Numbers of the pieces that are left of six writes, in the order of reading back.
    fn left_of_writes(order: ReadBackOrder) -> Vec<u16> {
        let mut history = History::new(order);
        for (number, (offset, bytes)) in
            (0..).zip([(8, 8), (0, 8), (24, 4), (4, 8), (16, 4), (20, 4)])
        {
            history.add(WrittenPiece { file: 0, offset, bytes, seed: 0, number });
        }
        let first = history.first().map(|piece| piece.number);
        let taken = std::iter::from_fn(|| history.take());
        let numbers: Vec<u16> = taken.map(|piece| piece.number).collect();
        assert_eq!(first, numbers.first().copied());
        assert_eq!((history.len(), history.places.len()), (0, 0));
        numbers
    }

    #[test]
    fn only_the_last_write_of_an_offset_is_read_back() {
        assert_eq!(left_of_writes(ReadBackOrder::Offset), [3, 4, 5, 2]);
        assert_eq!(left_of_writes(ReadBackOrder::LastWritten), [2, 3, 4, 5]);
        assert_eq!(left_of_writes(ReadBackOrder::Written), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_failed_write_is_not_read_back() {
        let piece = |offset, number| WrittenPiece { file: 1, offset, bytes: 4, seed: 0, number };
        for order in [ReadBackOrder::Written, ReadBackOrder::LastWritten, ReadBackOrder::Offset] {
            let mut history = History::new(order);
            history.add(piece(0, 0));
            history.add(piece(8, 1));
            history.remove(1, 0);
            assert_eq!(history.take(), Some(piece(8, 1)), "{order:?}");
            assert_eq!(history.take(), None, "{order:?}");
        }
    }
}
