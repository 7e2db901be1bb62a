//! Requirement of a test for a full run, derived from the amount that its fastest worker wrote.

use treering_model::workloads::io500::{
    DEFAULT_BLOCK_BYTES, DEFAULT_ITEMS, DEFAULT_SEGMENTS, FULL_SECONDS, HARD_FILE_BYTES,
    Io500Benchmark, StepKind,
};

use super::phase::{CountedTask, RehearsedPhase};

/// Safety factor on the amount of the fastest worker. If the setting is too large, the time limit
/// ends the test without harm; if it is too small, the run is invalid.
const MARGIN: u64 = 2;
/// Space of one mdtest-hard file on disk, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Requirement of a test in its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct TestRequirement {
    /// Test that the requirement is for.
    pub test: Io500Benchmark,
    /// Option of the test: `blockSize`, `n`, `segmentCount`.
    pub option: &'static str,
    /// Amount the fastest worker reaches in the full time, in the unit of the option: MiB for
    /// `blockSize`, else a count.
    pub reached: u64,
    /// Recommended setting: `reached` with the margin, rounded up.
    pub proposed: u64,
    /// Default of the option.
    pub default: u64,
    /// Bytes that all workers write in the full time.
    pub bytes: u64,
    /// Files that all workers create in the full time.
    pub files: u64,
    /// True if the time limit ended the phase of the rehearsal. Otherwise the phase wrote all its
    /// data, and the rate over that shorter time was used.
    pub was_ended_by_time: bool,
}

impl TestRequirement {
    /// Value as written in the configuration file.
    pub fn value(&self) -> String {
        let unit = if self.test == Io500Benchmark::IorEasy { "m" } else { "" };
        format!("{}{unit}", self.proposed)
    }
    /// Requirement of the test with this write phase and a time limit of `seconds`.
    pub(super) fn from_phase(phase: &RehearsedPhase<'_>, seconds: u64) -> Option<Self> {
        let StepKind::Write(test) = phase.step.kind else { return None };
        let rates = phase.first().map(|counted| rate_until(seconds, counted));
        let reached = whole(rates.fold(0.0, f64::max) * FULL_SECONDS as f64);
        let workers = phase.first().count() as u64;
        let total = reached.saturating_mul(workers);
        // blockSize is in MiB, the others count items or transfers.
        let (option, in_option, default) = match test {
            Io500Benchmark::IorEasy => ("blockSize", 2, DEFAULT_BLOCK_BYTES >> 20),
            Io500Benchmark::IorHard => ("segmentCount", 1, DEFAULT_SEGMENTS),
            Io500Benchmark::MdtestEasy | Io500Benchmark::MdtestHard => ("n", 1, DEFAULT_ITEMS),
        };
        Some(Self {
            test,
            option,
            reached: reached.saturating_mul(in_option),
            proposed: rounded_up(reached.saturating_mul(MARGIN)).saturating_mul(in_option),
            default,
            // ior counts transfers of data, mdtest counts files.
            bytes: total.saturating_mul(bytes_each(test)),
            files: match test {
                Io500Benchmark::IorEasy => workers,
                Io500Benchmark::IorHard => 1,
                Io500Benchmark::MdtestEasy | Io500Benchmark::MdtestHard => total,
            },
            was_ended_by_time: phase.first().any(|counted| counted.was_ended_by_time),
        })
    }

    /// Items or transfers of all workers in the full run.
    pub(super) fn items(&self) -> u64 {
        self.test.transfer_bytes().map_or(self.files, |bytes| self.bytes / u64::from(bytes))
    }
}

/// Items a second, without the time after the time limit for an fsync or for slower workers.
fn rate_until(seconds: u64, counted: &CountedTask<'_>) -> f64 {
    let worked = counted.seconds();
    let worked = if counted.was_ended_by_time { worked.min(seconds as f64) } else { worked };
    counted.items as f64 / worked
}

/// Bytes of a transfer, or of a file on the disk.
fn bytes_each(test: Io500Benchmark) -> u64 {
    match (test, test.transfer_bytes()) {
        (_, Some(bytes)) => bytes.into(),
        (Io500Benchmark::MdtestHard, None) => {
            u64::from(HARD_FILE_BYTES).div_ceil(BLOCK_BYTES) * BLOCK_BYTES
        }
        (_, None) => 0,
    }
}

/// Rounds up to an integer, saturating at the maximum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and is not negative"
)]
fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

/// Rounds up to two significant digits.
fn rounded_up(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number.div_ceil(unit).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::rounded_up;

    #[test]
    fn needs_are_rounded_up_to_two_digits() {
        assert_eq!(
            [1, 99, 100, 101, 1234, 199_999].map(rounded_up),
            [1, 99, 100, 110, 1300, 200_000]
        );
        assert!(rounded_up(u64::MAX) >= u64::MAX / 2);
    }
}
