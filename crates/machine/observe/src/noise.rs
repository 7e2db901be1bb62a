//! Noise probe: repeats a fixed piece of work, on the CPU and with small files, for three seconds,
//! and derives the smallest difference that runs with the same noise can detect.
//!
//! The probe has at most one named file at a time, and removes it at once.

use std::fs::{File, remove_file};
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use treering_model::{DetectableDifference, ProbeNoise};
use treering_stats::{PowerPlan, describe, smallest_detectable};
use treering_sys::StopFlag;

/// Number of blocks of the probe; each gives one value.
const BLOCKS: usize = 10;
/// Computing time and file time of each block; all blocks together take three seconds.
const COMPUTING: Duration = Duration::from_millis(100);
const MAKING_FILES: Duration = Duration::from_millis(200);
/// Steps of arithmetic between two clock readings: about a millisecond.
const STEPS: u64 = 500_000;
/// Files made between two clock readings; the last of them is synced.
const FILES: usize = 32;
/// Minimum number of values for an estimate of the noise.
const BLOCKS_MIN: usize = 4;
/// Campaign for which the resolution is reported: rounds, and seconds of each run.
const ROUNDS: u32 = 10;
const RUN_SECONDS: u32 = 20;

/// Result of the noise probe.
pub struct ProbeResult {
    /// Noise of each probe with enough values.
    pub noise: Vec<ProbeNoise>,
    /// Error in making the files, if any.
    pub refused: Option<io::Error>,
}

/// Computes, and creates small files in `dir` if given, until the probe ends or `stop` is raised.
pub fn probe_noise(dir: Option<&Path>, stop: &StopFlag) -> ProbeResult {
    let mut computing = Vec::new();
    let mut files = Vec::new();
    let mut refused = None;
    for _ in 0..BLOCKS {
        if stop.is_raised() {
            break;
        }
        // What cannot fail gives a value each time.
        let computed = || {
            compute();
            Ok(())
        };
        computing.extend(block(COMPUTING, stop, computed));
        if let Some(dir) = dir.filter(|_| refused.is_none()) {
            match block(MAKING_FILES, stop, || make_files(dir)) {
                Ok(seconds) => files.push(seconds),
                Err(error) => refused = Some(error),
            }
        }
    }
    let noise = [("cpu", &computing), ("small_files", &files)];
    let noise = noise.into_iter().filter_map(|(name, values)| of_values(name, values)).collect();
    ProbeResult { noise, refused }
}

/// Repeats the work for `length`; returns the mean seconds of one repetition.
fn block(
    length: Duration,
    stop: &StopFlag,
    mut work: impl FnMut() -> io::Result<()>,
) -> io::Result<f64> {
    let begun = Instant::now();
    let mut pieces = 0_u32;
    loop {
        work()?;
        pieces += 1;
        let passed = begun.elapsed();
        if passed >= length || stop.is_raised() {
            return Ok(passed.as_secs_f64() / f64::from(pieces));
        }
    }
}

fn compute() {
    let mut word = 1_u64;
    for step in 0..STEPS {
        word = black_box(word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(step));
    }
}

/// Makes and removes files of 4 KiB, one after another.
fn make_files(dir: &Path) -> io::Result<()> {
    let path = dir.join(format!(".treering-probe-{}", std::process::id()));
    let payload = [0x5a_u8; 4096];
    for number in 1..=FILES {
        let mut file = File::create_new(&path)?;
        let written = file.write_all(&payload).and_then(|()| match number {
            FILES => file.sync_data(),
            _ => Ok(()),
        });
        remove_file(&path)?;
        written?;
    }
    Ok(())
}

fn of_values(probe: &'static str, values: &[f64]) -> Option<ProbeNoise> {
    let described = describe(values).ok().filter(|described| described.n >= BLOCKS_MIN)?;
    Some(ProbeNoise {
        probe,
        n: described.n,
        median_ms: described.median * 1000.0,
        variation_percent: described.coefficient_of_variation? * 100.0,
    })
}

/// Smallest difference that ten rounds detect with 80 % power, by the noisier probe, if whole runs
/// vary as its blocks do. The statistics are those of `needs`: a ratio within a round has the noise
/// of two runs.
pub fn detectable_difference(noise: &[ProbeNoise]) -> Option<DetectableDifference> {
    let noisier = noise
        .iter()
        .max_by(|one, other| one.variation_percent.total_cmp(&other.variation_percent))?;
    let spread = noisier.variation_percent / 100.0 * std::f64::consts::SQRT_2;
    let size = smallest_detectable(ROUNDS, spread, &PowerPlan::default()).ok()??;
    Some(DetectableDifference {
        probe: noisier.probe,
        rounds: ROUNDS,
        run_seconds: RUN_SECONDS,
        percent: size.exp_m1() * 100.0,
    })
}

#[cfg(test)]
mod tests {
    use super::{ProbeNoise, detectable_difference, of_values, probe_noise};
    use treering_sys::StopFlag;

    fn noise(variation_percent: f64) -> ProbeNoise {
        ProbeNoise { probe: "cpu", n: 10, median_ms: 1.0, variation_percent }
    }

    /// Expected values are the last column of the table in docs/statistics.md.
    #[test]
    fn the_resolution_is_that_of_the_statistics() {
        for (variation, smallest) in [(0.5, 0.7), (1.0, 1.4), (3.0, 4.3), (10.0, 15.1)] {
            let found = detectable_difference(&[noise(variation / 2.0), noise(variation)]).unwrap();
            assert!((found.percent - smallest).abs() < 0.06, "{variation}: {}", found.percent);
        }
        assert_eq!(detectable_difference(&[]), None);
    }

    #[test]
    fn few_values_are_no_noise() {
        assert_eq!(of_values("cpu", &[1.0, 2.0, 3.0]), None);
        assert_eq!(of_values("cpu", &[2.0; 10]).unwrap().variation_percent, 0.0);
    }

    #[test]
    fn a_probe_leaves_nothing_and_ends_when_it_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let stop = StopFlag::new();
        let probed = probe_noise(Some(dir.path()), &stop);
        assert_eq!(probed.noise.len(), 2);
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        stop.raise(2);
        assert!(probe_noise(Some(dir.path()), &stop).noise.is_empty());
        assert!(probe_noise(Some(&dir.path().join("nowhere")), &StopFlag::new()).refused.is_some());
    }
}
