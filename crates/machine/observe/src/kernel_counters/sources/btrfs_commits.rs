//! `/sys/fs/btrfs/UUID/commit_stats`: commits of transactions and the time that they took.

use treering_model::Unit;
use treering_model::metrics::kernel::{COMMIT_SECONDS, JOURNAL_COMMITS};

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::{CounterSource, text_file};

const MILLISECOND_NS: u64 = 1_000_000;

/// Opens the file of the filesystem.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    text_file::open(&scene.sysfs, "commit_stats", values)
}

/// Parses the text. The maximum and the last commit are left out, since they cannot be assigned to
/// an interval.
fn values(text: &str, source: &str) -> Vec<Reading> {
    let reading = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "commits" => Some(
                Reading::counter("journal.commits", source, Unit::Count, value)
                    .promoted(JOURNAL_COMMITS),
            ),
            "total_commit_ms" => Some(
                Reading::counter(
                    "journal.commit_time",
                    source,
                    Unit::Nanoseconds,
                    value.saturating_mul(MILLISECOND_NS),
                )
                .promoted(COMMIT_SECONDS),
            ),
            _ => None,
        }
    };
    text.lines().filter_map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn commits_and_their_time_are_read() {
        let text = "commits 9\ncur_commit_ms 0\nlast_commit_ms 4\nmax_commit_ms 12\n\
                    total_commit_ms 40\n";
        let readings = values(text, "commit_stats");
        let pairs: Vec<(&str, u64)> =
            readings.iter().map(|one| (one.name.as_str(), one.value)).collect();
        assert_eq!(pairs, [("journal.commits", 9), ("journal.commit_time", 40_000_000)]);
    }
}
