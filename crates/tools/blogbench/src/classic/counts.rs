//! What threads count while they work, each on a board of its own, so that nothing is lost and none
//! disturbs another; and the sums of all.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use treering_script::Board;

/// Declares what is counted: the places of a board, and the struct of their sums.
macro_rules! counts {
    ($($(#[$doc:meta])* $place:ident $field:ident,)+) => {
        /// What is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(crate) enum Count {
            $($(#[$doc])* $place,)+
        }

        /// Counts of one thread, or of all.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub(crate) struct Sums {
            $($(#[$doc])* pub $field: u64,)+
        }

        impl Sums {
            /// Of each what this gives.
            fn each(of: impl Fn(Count) -> u64) -> Self {
                Self { $($field: of(Count::$place),)+ }
            }

            /// One of them.
            pub(crate) const fn of(&self, what: Count) -> u64 {
                match what {
                    $(Count::$place => self.$field,)+
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
    /// Seconds that a thread waits since it could not go on.
    Waits waits,
    /// Blogs begun whose number there was before.
    Anew anew,
}

/// The board of one thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(Board);

impl Counts {
    /// Counts one more. Only its own thread does.
    #[inline]
    pub(crate) fn add(&self, what: Count) {
        let cell = self.0.cell(what as usize);
        cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub(crate) fn sums(&self) -> Sums {
        Sums::each(|what| self.0.cell(what as usize).load(Ordering::Relaxed))
    }
}

impl Sums {
    /// Those of a run in which everything was done once.
    pub(crate) fn of_one_each() -> Self {
        Self::each(|_| 1)
    }

    /// Both together.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self::each(|what| self.of(what) + other.of(what))
    }

    /// What came since these.
    #[must_use]
    pub(crate) fn since(self, before: Self) -> Self {
        Self::each(|what| self.of(what).saturating_sub(before.of(what)))
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::{Count, Counts};

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
        let counters = Counters::of(&sums);
        assert_eq!(counters.read(), Some(sums));
        assert!(counters.json().contains("\"blogs_read\":3,"), "{}", counters.json());
    }
}
