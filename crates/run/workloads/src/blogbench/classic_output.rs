//! The words of blogbench 1.1.

use super::config::{Config, Role};
use super::counts::{Count, Sums};

/// What comes before everything.
pub(super) fn opening(config: &Config, directory: &str) -> String {
    format!("\nFrequency = {} secs\nScratch dir = [{directory}]\n", config.sleep_seconds)
}

/// What comes when the threads start.
pub(super) fn starting(config: &Config) -> String {
    let mut text = String::new();
    for role in Role::ALL {
        text += &format!("Spawning {} {}...\n", config.threads_of(role), role.plural());
    }
    let minutes = config.iterations.saturating_mul(config.sleep_seconds) / 60;
    text += &format!(
        "Benchmarking for {} iterations.\nThe test will run during {minutes} minutes.\n\n",
        config.iterations
    );
    text + "  Nb blogs   R articles    W articles    R pictures    W pictures    R comments    \
            W comments\n"
}

/// A row: all blogs written so far, and what came since the row before.
pub(super) fn row(so_far: &Sums, since: &Sums) -> String {
    let of = |count| since.of(count);
    format!(
        "{:>10} {:>12} {:>13} {:>13} {:>13} {:>13} {:>13}\n",
        so_far.of(Count::BlogsWritten),
        of(Count::ArticlesRead),
        of(Count::ArticlesWritten),
        of(Count::PicturesRead),
        of(Count::PicturesWritten),
        of(Count::CommentsRead),
        of(Count::CommentsWritten),
    )
}

/// What comes at the end.
pub(super) fn scores(so_far: &Sums) -> String {
    format!(
        "\nFinal score for writes:{:>14}\nFinal score for reads :{:>14}\n\n",
        so_far.of(Count::BlogsWritten),
        so_far.of(Count::BlogsRead)
    )
}

#[cfg(test)]
mod tests {
    use super::{opening, row, scores, starting};
    use crate::blogbench::config::Config;
    use crate::blogbench::counts::{Count, Counts, Sums};
    use crate::blogbench::options::Classic;
    use treering_script::Settings;

    #[test]
    fn the_words_are_those_of_the_original() {
        let given = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let asked = [("iterations", "7"), ("sleep", "20"), ("readers", "1")].map(given);
        let options = Classic::read(&Settings::new(asked.to_vec())).unwrap();
        let config = Config::classic(&options).unwrap();
        assert_eq!(
            opening(&config, "/m/w") + &starting(&config),
            "\nFrequency = 20 secs\nScratch dir = [/m/w]\nSpawning 3 writers...\n\
             Spawning 1 rewriters...\nSpawning 5 commenters...\nSpawning 1 readers...\n\
             Benchmarking for 7 iterations.\nThe test will run during 2 minutes.\n\n  \
             Nb blogs   R articles    W articles    R pictures    W pictures    R comments    \
             W comments\n"
        );
        let counts = Counts::default();
        for (count, times) in [
            (Count::BlogsWritten, 95),
            (Count::ArticlesRead, 2),
            (Count::ArticlesWritten, 4939),
            (Count::PicturesWritten, 5250),
            (Count::CommentsWritten, 3003),
            (Count::BlogsRead, 12),
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
            row(&sums, &Sums::default()),
            "        95            0             0             0             0             0             \
             0\n"
        );
        assert_eq!(
            scores(&sums),
            "\nFinal score for writes:            95\nFinal score for reads :            12\n\n"
        );
    }
}
