//! Counters of the threads, each on a board of its own, so that no count is lost and no thread
//! disturbs another; and their sums.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use treering_script::CounterBoard;

/// Declares the counters: the cells of a board, and the struct of their sums.
macro_rules! counts {
    ($($(#[$doc:meta])* $place:ident $field:ident,)+) => {
        /// A counter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Counter {
            $($(#[$doc])* $place,)+
        }

        /// Counts of one thread, or sums over all.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) struct CounterSums {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl CounterSums {
            /// Builds the sums from a function of the counter.
            fn each(of: impl Fn(Counter) -> u64) -> Self {
                Self { $($field: of(Counter::$place),)+ }
            }

            /// Value of one counter.
            pub(crate) const fn count(&self, counter: Counter) -> u64 {
                match counter {
                    $(Counter::$place => self.$field,)+
                }
            }
        }
    };
}

counts! {
    /// Blogs created.
    BlogsWritten blogs_written,
    /// Blogs read.
    BlogsRead blogs_read,
    /// Articles read.
    ArticlesRead articles_read,
    /// Articles written.
    ArticlesWritten articles_written,
    /// Pictures read.
    PicturesRead pictures_read,
    /// Pictures written.
    PicturesWritten pictures_written,
    /// Comments read.
    CommentsRead comments_read,
    /// Comments written.
    CommentsWritten comments_written,
    /// Waits after a missing blog or file.
    Waits waits,
    /// Blogs written again in place of an older one.
    Anew anew,
}

/// Counters of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlogCounters(CounterBoard);

impl BlogCounters {
    /// Increments a counter. Only the owning thread calls this.
    #[inline]
    pub(crate) fn add(&self, counter: Counter) {
        let cell = self.0.cell(counter as usize);
        cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts so far.
    pub(crate) fn sums(&self) -> CounterSums {
        CounterSums::each(|counter| self.0.cell(counter as usize).load(Ordering::Relaxed))
    }
}

impl CounterSums {
    /// Sums with each counter at 1.
    pub(crate) fn all_one() -> Self {
        Self::each(|_| 1)
    }

    /// Adds the counts of two threads or runs.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self::each(|counter| self.count(counter) + other.count(counter))
    }

    /// Difference to earlier counts.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        Self::each(|counter| self.count(counter).saturating_sub(before.count(counter)))
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::{BlogCounters, Counter};

    #[test]
    fn counts_of_two_threads_add_up() {
        let (first, second) = (BlogCounters::default(), BlogCounters::default());
        first.add(Counter::BlogsRead);
        first.add(Counter::BlogsRead);
        second.add(Counter::BlogsRead);
        second.add(Counter::Anew);
        let sums = first.sums().plus(second.sums());
        assert_eq!((sums.count(Counter::BlogsRead), sums.count(Counter::Anew)), (3, 1));
        assert_eq!(sums.since(first.sums()), second.sums());
        let counters = Counters::from_value(&sums);
        assert_eq!(counters.read(), Some(sums));
        assert!(counters.json().contains("\"blogs_read\":3,"), "{}", counters.json());
    }
}
