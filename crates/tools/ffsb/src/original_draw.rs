//! Biased size draw of FFSB 6.0-RC2: as few random bytes as can hold the number of choices, modulo
//! that number, so that the first choices are more likely.
//!
//! The short cycle of random bytes in the original's threads is not imitated.

use treering_script::Random;

/// Number of values of the random bytes that the original reduces modulo `choices`: one byte below
/// 256 choices, two below 65,536, three below 16,777,216, else four.
const fn values(choices: u64) -> u64 {
    match choices {
        0..0x100 => 1 << 8,
        0x100..0x1_0000 => 1 << 16,
        0x1_0000..0x100_0000 => 1 << 24,
        _ => 1 << 32,
    }
}

/// Number below `choices`, drawn as by the original; 0 for a single choice.
pub(super) fn below(choices: u64, random: &mut Random) -> u64 {
    if choices < 2 { 0 } else { random.below(values(choices)) % choices }
}

/// Sizes with the effective weights of the original's draw, which searches the rows from last to
/// first.
pub(super) fn weights(rows: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let sum = rows.iter().fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
    let (total, choices) = (values(sum), sum.max(1));
    // Choices below this one come once more than the others.
    let (each, favoured) = (total / choices, total % choices);
    let mut first = 0;
    let backwards = rows.iter().rev().map(|&(bytes, weight)| {
        let more = favoured.saturating_sub(first).min(weight);
        first += weight;
        (bytes, each.saturating_mul(weight).saturating_add(more))
    });
    let mut drawn: Vec<(u64, u64)> = backwards.collect();
    drawn.reverse();
    drawn
}

#[cfg(test)]
mod tests {
    use super::{below, weights};
    use treering_script::Random;

    /// The table of the profile of 2012, of which the shares of the original are known.
    #[test]
    fn the_published_table_has_the_shares_of_the_original() {
        let kib = [4, 8, 16, 32, 64, 128, 256, 512, 8192, 32768];
        let shares = [33, 21, 13, 10, 8, 5, 4, 3, 2, 1];
        let rows: Vec<(u64, u64)> = kib.map(|kib| kib << 10).into_iter().zip(shares).collect();
        let drawn = weights(&rows);
        assert_eq!(drawn.iter().map(|(_, weight)| weight).sum::<u64>(), 256);
        let share = |row: usize| drawn[row].1 as f64 / 2.56;
        assert!((share(0) - 25.8).abs() < 0.05, "4 KiB: {}", share(0));
        assert!((share(9) - 1.17).abs() < 0.01, "32 MiB: {}", share(9));
        let by_draw = |number: u64| {
            let mut sum = 0;
            let mut rows = rows.iter().rev();
            rows.find(|(_, weight)| {
                sum += weight;
                number < sum
            })
        };
        // Expected weights: every byte value, modulo the sum.
        for (bytes, weight) in &drawn {
            let count = (0..256).filter(|byte| by_draw(byte % 100).unwrap().0 == *bytes).count();
            assert_eq!(count as u64, *weight, "{bytes}");
        }
    }

    #[test]
    fn draws_are_in_range_and_biased_to_low_numbers() {
        let mut random = Random::new(5);
        let drawn: Vec<u64> = (0..51_200).map(|_| below(200, &mut random)).collect();
        assert!(drawn.iter().all(|&number| number < 200));
        let first = drawn.iter().filter(|&&number| number < 56).count() as f64 / 51_200.0;
        assert!((first - 112.0 / 256.0).abs() < 0.01, "{first}");
        assert_eq!((below(0, &mut random), below(1, &mut random)), (0, 0));
        assert_eq!(weights(&[(1, u64::MAX)]).len(), 1);
    }
}
