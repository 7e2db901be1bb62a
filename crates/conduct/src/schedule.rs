//! Execution order of a comparison: every variant runs once per round, in random order, balanced
//! over the positions within a round.
//!
//! Drift of the machine, of a disk or of a cache then affects all variants alike. After Abedi and
//! Brecht (ICPE 2017), 'randomised multiple interleaved trials': over as many rounds as there are
//! variants, each variant takes each position once (a Latin square).

use treering_script::Random;

/// The variants of each round, by number, in the order in which they run.
///
/// Different values of `part` give different orders for the same seed.
pub(crate) fn schedule(variants: usize, rounds: usize, seed: u64, part: &str) -> Vec<Vec<usize>> {
    let mut random = Random::for_part(seed, part);
    let mut order = Vec::with_capacity(rounds);
    while order.len() < rounds {
        let mut first: Vec<usize> = (0..variants).collect();
        random.shuffle(&mut first);
        let mut square: Vec<Vec<usize>> = (0..variants.max(1))
            .map(|turn| {
                let mut row = first.clone();
                row.rotate_left(turn.min(variants));
                row
            })
            .collect();
        random.shuffle(&mut square);
        order.extend(square);
    }
    order.truncate(rounds);
    order
}

#[cfg(test)]
mod tests {
    use super::schedule as schedule_of;

    fn schedule(variants: usize, rounds: usize, seed: u64) -> Vec<Vec<usize>> {
        schedule_of(variants, rounds, seed, "schedule")
    }

    #[test]
    fn each_round_has_every_variant_once() {
        for round in schedule(4, 10, 1) {
            let mut variants = round.clone();
            variants.sort_unstable();
            assert_eq!(variants, [0, 1, 2, 3]);
        }
        assert_eq!(schedule(4, 10, 1), schedule(4, 10, 1));
        assert_ne!(schedule(4, 10, 1), schedule(4, 10, 2));
    }

    #[test]
    fn each_variant_takes_each_position_equally_often() {
        let rounds = schedule(3, 6, 7);
        for place in 0..3 {
            let mut count = [0; 3];
            rounds.iter().for_each(|round| count[round[place]] += 1);
            assert_eq!(count, [2, 2, 2]);
        }
    }

    #[test]
    fn an_empty_schedule_is_valid() {
        assert_eq!(schedule(0, 2, 1), vec![Vec::<usize>::new(); 2]);
        assert!(schedule(3, 0, 1).is_empty());
        assert_eq!(schedule(1, 2, 1), [[0], [0]]);
    }
}
