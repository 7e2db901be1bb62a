//! What threads count while they work, each on a board of its own, so that nothing is lost and none
//! disturbs another; and the sums of all.

use std::sync::atomic::Ordering;

use treering_script::Board;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Count {
    BlogsWritten,
    BlogsRead,
    ArticlesRead,
    ArticlesWritten,
    PicturesRead,
    PicturesWritten,
    CommentsRead,
    CommentsWritten,
    /// Seconds that a thread waits since it could not go on.
    Waits,
    /// Blogs begun whose number there was before.
    Anew,
}

/// How many there are.
const COUNTS: usize = Count::Anew as usize + 1;

/// The board of one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts(Board);

impl Counts {
    /// Counts one more. Only its own thread does.
    #[inline]
    pub(super) fn add(&self, what: Count) {
        let cell = self.0.cell(what as usize);
        cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub(super) fn sums(&self) -> Sums {
        let mut sums = Sums::default();
        for (place, sum) in sums.0.iter_mut().enumerate() {
            *sum = self.0.cell(place).load(Ordering::Relaxed);
        }
        sums
    }
}

/// Counts of one thread, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums([u64; COUNTS]);

impl Sums {
    /// Those of a run in which everything was done once.
    pub(super) const fn of_one_each() -> Self {
        Self([1; COUNTS])
    }

    pub(super) const fn of(&self, what: Count) -> u64 {
        self.0[what as usize]
    }

    pub(super) fn plus(mut self, other: Self) -> Self {
        for (sum, more) in self.0.iter_mut().zip(other.0) {
            *sum += more;
        }
        self
    }

    /// What came since these.
    pub(super) fn since(mut self, before: Self) -> Self {
        for (sum, less) in self.0.iter_mut().zip(before.0) {
            *sum = sum.saturating_sub(less);
        }
        self
    }

    /// As the counters of a tick.
    pub(super) fn to_counters(self) -> Vec<u64> {
        self.0.to_vec()
    }

    /// Of the counters of a tick; `None` when it has none.
    pub(super) fn from_counters(counters: &[u64]) -> Option<Self> {
        counters.try_into().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Counts, Sums};

    #[test]
    fn what_is_counted_adds_up() {
        let (one, other) = (Counts::default(), Counts::default());
        one.add(Count::BlogsRead);
        one.add(Count::BlogsRead);
        other.add(Count::BlogsRead);
        other.add(Count::Anew);
        let sums = one.sums().plus(other.sums());
        assert_eq!((sums.of(Count::BlogsRead), sums.of(Count::Anew)), (3, 1));
        assert_eq!(sums.since(one.sums()), other.sums());
        assert_eq!(Sums::from_counters(&sums.to_counters()), Some(sums));
        assert_eq!(Sums::from_counters(&[]), None);
    }
}
