//! `/proc/fs/jbd2/DEVICE-INODE/info`: transactions of the journal. The other lines are means since
//! the mount, of which no interval can be cut. Fast commits are not among the transactions.

use std::path::PathBuf;

use treering_model::Unit;
use treering_model::metrics::kernel::JOURNAL_COMMITS;

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::CounterSource;

struct Journal(Vec<PathBuf>);

/// Opens the journals of the filesystem.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    let files = scene.procfs.iter().map(|folder| folder.join("info"));
    let files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
    (!files.is_empty()).then(|| Box::new(Journal(files)) as Box<dyn CounterSource>)
}

impl CounterSource for Journal {
    fn read(&mut self) -> Vec<Reading> {
        let reading = |file: &PathBuf| {
            let text = std::fs::read_to_string(file).ok()?;
            let (commits, requested) = transactions(&text)?;
            let source = file.to_string_lossy();
            Some([
                Reading::counter("journal.commits", &source, Unit::Count, commits)
                    .promoted(JOURNAL_COMMITS),
                Reading::counter("journal.requested", &source, Unit::Count, requested),
            ])
        };
        self.0.iter().filter_map(reading).flatten().collect()
    }

    fn shows_work(&self) -> bool {
        true
    }
}

/// Committed transactions, and how many of them somebody waited for.
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
