//! What a worker of FFSB did, in FFSB's own way of counting: operations, transactions, bytes, and
//! the times of the calls that it times.

use super::operation::Operation;
use super::profile::TimedCall;

/// What was done of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// How often it was carried out.
    pub(super) operations: u64,
    /// FFSB's transactions: blocks for operations on content, operations for the rest.
    pub(super) transactions: u64,
    /// Bytes as FFSB counts them.
    pub(super) bytes: u64,
}

/// Times of one kind of call, in whole microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallTimes {
    pub(super) calls: u64,
    pub(super) sum_us: u64,
    pub(super) min_us: u64,
    pub(super) max_us: u64,
    /// Calls in each range of the profile, in the profile's order.
    pub(super) in_range: Vec<u64>,
}

/// What a worker, or all of a group, did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// By [`Operation::place`].
    pub(super) done: [Done; Operation::COUNT],
    /// By [`TimedCall::place`].
    pub(super) calls: [CallTimes; TimedCall::COUNT],
}

impl Tally {
    /// Operations of all kinds.
    pub(super) fn operations(&self) -> u64 {
        self.done.iter().map(|done| done.operations).sum()
    }

    /// Transactions of all kinds.
    pub(super) fn transactions(&self) -> u64 {
        self.done.iter().map(|done| done.transactions).sum()
    }

    /// Adds what another did, of the same group or of one with the same ranges.
    pub(super) fn add(&mut self, other: &Self) {
        for (done, more) in self.done.iter_mut().zip(&other.done) {
            done.operations += more.operations;
            done.transactions += more.transactions;
            done.bytes += more.bytes;
        }
        for (times, more) in self.calls.iter_mut().zip(&other.calls) {
            times.add(more);
        }
    }

    /// As numbers.
    pub(super) fn to_words(&self) -> Vec<u64> {
        let done = self.done.iter().flat_map(|d| [d.operations, d.transactions, d.bytes]);
        let mut words: Vec<u64> = done.collect();
        for times in &self.calls {
            words.extend([times.calls, times.sum_us, times.min_us, times.max_us]);
            words.push(times.in_range.len() as u64);
            words.extend(&times.in_range);
        }
        words
    }

    /// From numbers; `None` when they are not such a tally.
    pub(super) fn from_words(words: &[u64]) -> Option<Self> {
        let mut tally = Self::default();
        let (done, mut rest) = words.split_at_checked(3 * Operation::COUNT)?;
        for (place, three) in tally.done.iter_mut().zip(done.chunks_exact(3)) {
            *place = Done { operations: three[0], transactions: three[1], bytes: three[2] };
        }
        for times in &mut tally.calls {
            let (fixed, after) = rest.split_at_checked(5)?;
            let (in_range, after) = after.split_at_checked(usize::try_from(fixed[4]).ok()?)?;
            rest = after;
            *times = CallTimes {
                calls: fixed[0],
                sum_us: fixed[1],
                min_us: fixed[2],
                max_us: fixed[3],
                in_range: in_range.to_vec(),
            };
        }
        rest.is_empty().then_some(tally)
    }
}

impl CallTimes {
    /// A call took so long.
    pub(super) fn record(&mut self, us: u64) {
        self.min_us = if self.calls == 0 { us } else { self.min_us.min(us) };
        self.max_us = self.max_us.max(us);
        self.sum_us += us;
        self.calls += 1;
    }

    fn add(&mut self, more: &Self) {
        if more.calls > 0 {
            self.min_us = if self.calls == 0 { more.min_us } else { self.min_us.min(more.min_us) };
        }
        self.max_us = self.max_us.max(more.max_us);
        self.sum_us += more.sum_us;
        self.calls += more.calls;
        self.in_range.resize(self.in_range.len().max(more.in_range.len()), 0);
        for (count, more) in self.in_range.iter_mut().zip(&more.in_range) {
            *count += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallTimes, Done, Tally};

    fn tally() -> Tally {
        let mut tally = Tally::default();
        tally.done[3] = Done { operations: 2, transactions: 20, bytes: 81_920 };
        for us in [7, 3, 11] {
            tally.calls[0].record(us);
        }
        tally.calls[0].in_range = vec![1, 2];
        tally
    }

    #[test]
    fn words_give_the_tally_again() {
        let words = tally().to_words();
        assert_eq!(Tally::from_words(&words), Some(tally()));
        assert_eq!(Tally::from_words(&words[..words.len() - 1]), None);
        assert_eq!(Tally::from_words(&[]), None);
    }

    #[test]
    fn sums_keep_the_least_and_the_most() {
        let mut sum = Tally::default();
        sum.add(&tally());
        sum.add(&Tally::default());
        sum.add(&tally());
        let open = CallTimes { calls: 6, sum_us: 42, min_us: 3, max_us: 11, in_range: vec![2, 4] };
        assert_eq!(sum.calls[0], open);
        assert_eq!((sum.operations(), sum.transactions()), (4, 40));
    }
}
