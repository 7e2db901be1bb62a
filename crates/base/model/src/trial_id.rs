//! The identity of a trial.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use uuid::{Builder, NoContext, Timestamp, Uuid};

/// Twelve bits of an identity count those of one millisecond.
const COUNTER_MAX: u16 = 0xfff;
/// A millisecond begins to count at random below this, so that there is room above.
const FIRST_BELOW: u16 = 0x7ff;

/// Identity of a trial: a time-ordered UUID (version 7), 36 characters when printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrialId(Uuid);

impl TrialId {
    /// A new identity from the time and randomness; later than all others of this process.
    ///
    /// The format is that of RFC 9562, section 6.2, method 1. The randomness is that of the
    /// standard library, which asks the kernel for it: a statically linked program runs where there
    /// is no `/dev/urandom`, too.
    pub fn new() -> Self {
        static LAST: Mutex<Moment> = Mutex::new(Moment { millis: 0, counter: 0 });
        let (seconds, nanos) = Timestamp::now(NoContext).to_unix();
        let now = seconds * 1000 + u64::from(nanos / 1_000_000);
        let [first, second] = [random(), random()];
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = last.next(now, u16::from_le_bytes([first[0], first[1]]) & FIRST_BELOW);
        let mut bytes = [0; 10];
        bytes[..2].copy_from_slice(&last.counter.to_be_bytes());
        bytes[2..].copy_from_slice(&second);
        Self(Builder::from_unix_timestamp_millis(last.millis, &bytes).into_uuid())
    }

    /// Its printed form.
    pub fn text(self) -> String {
        self.0.to_string()
    }
}

/// When an identity was made: the millisecond, and the number within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    millis: u64,
    counter: u16,
}

impl Moment {
    /// The next one, also when the clock stands still or is set back.
    fn next(self, now: u64, first: u16) -> Self {
        if now > self.millis {
            Self { millis: now, counter: first }
        } else if self.counter < COUNTER_MAX {
            Self { counter: self.counter + 1, ..self }
        } else {
            Self { millis: self.millis + 1, counter: first }
        }
    }
}

/// Eight random bytes: each state of the standard library's hasher has keys of its own.
fn random() -> [u8; 8] {
    RandomState::new().build_hasher().finish().to_le_bytes()
}

impl Default for TrialId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TrialId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::from_str(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{COUNTER_MAX, Moment, TrialId};

    #[test]
    fn identities_of_one_process_ascend_and_differ() {
        let made: Vec<TrialId> = (0..20_000).map(|_| TrialId::new()).collect();
        assert!(made.is_sorted());
        assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), made.len());
        assert!(made.iter().all(|id| id.0.get_version_num() == 7));
        assert!(made.iter().all(|id| id.0.get_variant() == uuid::Variant::RFC4122));
    }

    #[test]
    fn a_clock_that_is_set_back_or_a_full_millisecond_does_not_disturb_the_order() {
        let full = Moment { millis: 7, counter: COUNTER_MAX };
        assert_eq!(full.next(7, 3), Moment { millis: 8, counter: 3 });
        let back = Moment { millis: 8, counter: 3 };
        assert_eq!(back.next(5, 9), Moment { millis: 8, counter: 4 });
        assert_eq!(back.next(9, 9), Moment { millis: 9, counter: 9 });
    }
}
