//! `/proc/fs/jbd2/DEVICE-INODE/info`: transactions of the journal. The other lines are means since
//! the mount, which cannot be split into intervals. Fast commits are not among the transactions.

use treering_model::Unit;
use treering_model::metrics::kernel::JOURNAL_COMMITS;

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::{CounterSource, text_file};

/// Opens the journals of the filesystem.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    text_file::open(&scene.procfs, "info", values)
}

fn values(text: &str, source: &str) -> Vec<Reading> {
    let Some((commits, requested)) = transactions(text) else { return Vec::new() };
    vec![
        Reading::counter("journal.commits", source, Unit::Count, commits).promoted(JOURNAL_COMMITS),
        Reading::counter("journal.requested", source, Unit::Count, requested),
    ]
}

/// Committed transactions, and the number of those that a caller waited for.
fn transactions(text: &str) -> Option<(u64, u64)> {
    let (commits, line) = text.lines().next()?.split_once(" transactions (")?;
    let (requested, _) = line.split_once(" requested)")?;
    Some((commits.parse().ok()?, requested.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::transactions;

    #[test]
    fn transactions_are_in_the_first_line() {
        let text = "41 transactions (12 requested), each up to 2730 blocks\naverage: \n  0ms …\n";
        assert_eq!(transactions(text), Some((41, 12)));
        assert_eq!(transactions("average:\n"), None);
    }
}
