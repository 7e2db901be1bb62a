//! Output texts of blogbench 1.1.

use super::counts::{Counter, CounterSums};

/// First lines of the output.
pub(crate) fn opening(sleep_seconds: u64, directory: &str) -> String {
    format!("\nFrequency = {sleep_seconds} secs\nScratch dir = [{directory}]\n")
}

/// Lines at the start of the threads, with their numbers by kind and the number of intervals.
pub(crate) fn starting(threads: &[(u16, &str)], iterations: u64, sleep_seconds: u64) -> String {
    let mut text = String::new();
    for (count, kind) in threads {
        text += &format!("Spawning {count} {kind}...\n");
    }
    let minutes = iterations.saturating_mul(sleep_seconds) / 60;
    text += &format!(
        "Benchmarking for {iterations} iterations.\nThe test will run during {minutes} \
         minutes.\n\n"
    );
    text + "  Nb blogs   R articles    W articles    R pictures    W pictures    R comments    \
            W comments\n"
}

/// Row of an interval: all blogs written so far, and the other counts since the row before.
pub(crate) fn row(so_far: &CounterSums, since: &CounterSums) -> String {
    let of = |count| since.count(count);
    format!(
        "{:>10} {:>12} {:>13} {:>13} {:>13} {:>13} {:>13}\n",
        so_far.count(Counter::BlogsWritten),
        of(Counter::ArticlesRead),
        of(Counter::ArticlesWritten),
        of(Counter::PicturesRead),
        of(Counter::PicturesWritten),
        of(Counter::CommentsRead),
        of(Counter::CommentsWritten),
    )
}

/// Final scores.
pub(crate) fn scores(so_far: &CounterSums) -> String {
    format!(
        "\nFinal score for writes:{:>14}\nFinal score for reads :{:>14}\n\n",
        so_far.count(Counter::BlogsWritten),
        so_far.count(Counter::BlogsRead)
    )
}

#[cfg(test)]
mod tests {
    use super::{opening, row, scores, starting};
    use crate::classic::counts::{BlogCounters, Counter, CounterSums};

    #[test]
    fn printed_text_matches_the_original() {
        let threads = [(3, "writers"), (1, "rewriters"), (5, "commenters"), (1, "readers")];
        assert_eq!(
            opening(20, "/m/w") + &starting(&threads, 7, 20),
            "\nFrequency = 20 secs\nScratch dir = [/m/w]\nSpawning 3 writers...\n\
             Spawning 1 rewriters...\nSpawning 5 commenters...\nSpawning 1 readers...\n\
             Benchmarking for 7 iterations.\nThe test will run during 2 minutes.\n\n  \
             Nb blogs   R articles    W articles    R pictures    W pictures    R comments    \
             W comments\n"
        );
        let counts = BlogCounters::default();
        for (count, times) in [
            (Counter::BlogsWritten, 95),
            (Counter::ArticlesRead, 2),
            (Counter::ArticlesWritten, 4939),
            (Counter::PicturesWritten, 5250),
            (Counter::CommentsWritten, 3003),
            (Counter::BlogsRead, 12),
        ] {
            (0..times).for_each(|_| counts.add(count));
        }
        let sums = counts.sums();
        assert_eq!(
            row(&sums, &sums),
            "        95            2          4939             0          5250             0          \
             3003\n"
        );
        assert_eq!(
            row(&sums, &CounterSums::default()),
            "        95            0             0             0             0             0             \
             0\n"
        );
        assert_eq!(
            scores(&sums),
            "\nFinal score for writes:            95\nFinal score for reads :            12\n\n"
        );
    }
}
