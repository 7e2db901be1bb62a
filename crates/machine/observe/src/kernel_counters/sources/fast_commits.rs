//! `/proc/fs/ext4/DEVICE/fc_info`: fast commits, and the number of times that one was not possible.

use treering_model::Unit;
use treering_model::metrics::kernel::FAST_COMMITS;

use super::super::reading::Reading;
use super::super::scene::CounterScene;
use super::{CounterSource, text_file};

/// Counters of the file: word behind the number, and name.
const COUNTERS: [(&str, &str); 3] =
    [("commits", "commits"), ("ineligible", "ineligible"), ("numblks", "blocks")];

/// Opens the file of the filesystem; kernels before 5.10 have none.
pub(super) fn open(scene: &CounterScene) -> Option<Box<dyn CounterSource>> {
    text_file::open(&scene.procfs, "fc_info", values)
}

/// Parses the counters of fast commits, and how often each reason prevented one.
fn values(text: &str, source: &str) -> Vec<Reading> {
    let mut readings = Vec::new();
    for line in text.lines() {
        if let Some((reason, number)) = line.split_once(":\t")
            && let Ok(number) = number.trim().parse()
        {
            let reason = reason.trim_matches('"').to_lowercase().replace(' ', "_");
            let name = format!("fast_commit.ineligible.{reason}");
            readings.push(Reading::counter(name, source, Unit::Count, number));
            continue;
        }
        let Some((number, word)) = line.split_once(' ') else { continue };
        let Ok(number) = number.parse() else { continue };
        let Some((_, name)) = COUNTERS.iter().find(|(known, _)| *known == word) else { continue };
        let reading = Reading::counter(format!("fast_commit.{name}"), source, Unit::Count, number);
        let is_commits = *name == COUNTERS[0].1;
        readings.push(if is_commits { reading.promoted(FAST_COMMITS) } else { reading });
    }
    readings
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn commits_and_reasons_against_them_are_read() {
        let text = "fc stats:\n49 commits\n1 ineligible\n47 numblks\n2192us avg_commit_time\n\
                    Ineligible reasons:\n\"Extended attributes changed\":\t0\n\"Dir renamed\":\t3\n";
        let readings = values(text, "fc_info");
        let pairs: Vec<(&str, u64)> =
            readings.iter().map(|one| (one.name.as_str(), one.value)).collect();
        assert_eq!(
            pairs,
            [
                ("fast_commit.commits", 49),
                ("fast_commit.ineligible", 1),
                ("fast_commit.blocks", 47),
                ("fast_commit.ineligible.extended_attributes_changed", 0),
                ("fast_commit.ineligible.dir_renamed", 3)
            ]
        );
        assert!(readings[0].metric.is_some() && readings[1].metric.is_none());
    }
}
