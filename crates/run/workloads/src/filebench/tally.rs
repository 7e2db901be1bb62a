//! What a worker's flowops came to, by their names.

use treering_model::Latency;

/// Powers of two that are counted.
pub(super) const BUCKETS: usize = 64;

/// What the flowops of one name came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) bytes: u64,
    /// Flowops whose calls were all timed.
    pub(super) timed: u64,
    /// Whether some took several calls: then a sample of calls is none of flowops.
    pub(super) several: bool,
    pub(super) total_ns: u64,
    pub(super) least_ns: u64,
    pub(super) most_ns: u64,
    /// The latencies of those that were timed; none where none was.
    pub(super) latency: Option<Latency>,
    /// How many took less than each power of two, and not less than the one before.
    pub(super) buckets: Option<Box<[u64; BUCKETS]>>,
}

/// Words of a tally before its histograms.
const HEAD: usize = 9;

impl Tally {
    /// One took so long.
    pub(super) fn took(&mut self, ns: u64) {
        self.least_ns = if self.timed == 0 { ns } else { self.least_ns.min(ns) };
        self.most_ns = self.most_ns.max(ns);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.timed += 1;
        self.latency.get_or_insert_default().record(ns);
        if let Some(buckets) = &mut self.buckets {
            let bits = (u64::BITS - ns.leading_zeros()) as usize;
            buckets[bits.min(BUCKETS - 1)] += 1;
        }
    }

    /// Whether the latencies are those of all, or a fair sample.
    pub(super) fn is_fair(&self) -> bool {
        self.timed > 0 && (!self.several || self.timed == self.count)
    }

    /// The mean of those that were timed; 0 without one.
    pub(super) fn mean_ns(&self) -> f64 {
        if self.timed == 0 { 0.0 } else { self.total_ns as f64 / self.timed as f64 }
    }

    /// Adds another's.
    pub(super) fn add(&mut self, other: &Self) {
        if other.timed > 0 {
            let least = other.least_ns;
            self.least_ns = if self.timed == 0 { least } else { self.least_ns.min(least) };
        }
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.timed += other.timed;
        self.several |= other.several;
        self.most_ns = self.most_ns.max(other.most_ns);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        if let Some(more) = &other.latency {
            self.latency.get_or_insert_default().merge(more);
        }
        if let Some(more) = &other.buckets {
            let buckets = self.buckets.get_or_insert_with(|| Box::new([0; BUCKETS]));
            buckets.iter_mut().zip(more.iter()).for_each(|(count, more)| *count += more);
        }
    }

    fn put(&self, row: usize, words: &mut Vec<u64>) {
        let latency = self.latency.as_ref().map(Latency::to_bytes).unwrap_or_default();
        let several = u64::from(self.several) | u64::from(self.buckets.is_some()) << 1;
        words.extend([row as u64, self.count, self.bytes, self.timed, several, self.total_ns]);
        words.extend([self.least_ns, self.most_ns, latency.len() as u64]);
        words.extend(latency.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }));
        words.extend(self.buckets.iter().flat_map(|buckets| buckets.iter()));
    }

    fn take(words: &[u64]) -> Option<(usize, Self, &[u64])> {
        let (head, mut rest) = words.split_at_checked(HEAD)?;
        let bytes = usize::try_from(head[8]).ok()?;
        let (packed, after) = rest.split_at_checked(bytes.div_ceil(8))?;
        rest = after;
        let mut packed: Vec<u8> = packed.iter().flat_map(|word| word.to_le_bytes()).collect();
        packed.truncate(bytes);
        let latency = if bytes == 0 { None } else { Some(Latency::from_bytes(&packed).ok()?) };
        let mut buckets = None;
        if head[4] & 2 != 0 {
            let (counts, after) = rest.split_first_chunk::<BUCKETS>()?;
            (buckets, rest) = (Some(Box::new(*counts)), after);
        }
        let tally = Self {
            count: head[1],
            bytes: head[2],
            timed: head[3],
            several: head[4] & 1 != 0,
            total_ns: head[5],
            least_ns: head[6],
            most_ns: head[7],
            latency,
            buckets,
        };
        Some((usize::try_from(head[0]).ok()?, tally, rest))
    }
}

/// What a worker did, and until when: its rows by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Account {
    /// When its first flowop could begin, in nanoseconds from the start of the trial.
    pub(super) began_ns: u64,
    /// Whether it ended since it had nothing to do any more.
    pub(super) ran_out: bool,
    pub(super) rows: Vec<(usize, Tally)>,
}

impl Account {
    /// As the counters of a script.
    pub(super) fn to_words(&self) -> Vec<u64> {
        let mut words = vec![self.began_ns, u64::from(self.ran_out), self.rows.len() as u64];
        self.rows.iter().for_each(|(row, tally)| tally.put(*row, &mut words));
        words
    }

    /// What [`Account::to_words`] wrote.
    pub(super) fn from_words(words: &[u64]) -> Option<Self> {
        let (&[began_ns, ran_out, count], mut rest) = words.split_first_chunk::<3>()?;
        let mut rows = Vec::new();
        for _row in 0..count {
            let (row, tally, after) = Tally::take(rest)?;
            rows.push((row, tally));
            rest = after;
        }
        rest.is_empty().then_some(Self { began_ns, ran_out: ran_out != 0, rows })
    }

    /// Adds what was done to the sums of all rows.
    pub(super) fn add_to(&self, sums: &mut [Tally]) {
        for (row, tally) in &self.rows {
            if let Some(sum) = sums.get_mut(*row) {
                sum.add(tally);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, BUCKETS, Tally};

    fn tally() -> Tally {
        let mut tally = Tally { count: 4, bytes: 100, ..Tally::default() };
        tally.buckets = Some(Box::new([0; BUCKETS]));
        [7, 1000, 3].into_iter().for_each(|ns| tally.took(ns));
        tally
    }

    #[test]
    fn words_tell_all() {
        let plain = Tally { count: 2, several: true, ..Tally::default() };
        let rows = vec![(3, tally()), (0, plain)];
        let account = Account { began_ns: 9, ran_out: true, rows };
        let words = account.to_words();
        assert_eq!(Account::from_words(&words), Some(account.clone()));
        assert_eq!(Account::from_words(&words[..words.len() - 1]), None);
        for odd in [&[][..], &[1, 2, u64::MAX], &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, u64::MAX]] {
            assert_eq!(Account::from_words(odd), None);
        }
        let mut sums = vec![Tally::default(); 4];
        account.add_to(&mut sums);
        account.add_to(&mut sums);
        let sum = &sums[3];
        assert_eq!((sum.count, sum.timed, sum.least_ns, sum.most_ns), (8, 6, 3, 1000));
        assert_eq!(sum.buckets.as_ref().unwrap()[3], 2);
        assert!(sum.is_fair() && !sums[0].is_fair());
    }
}
