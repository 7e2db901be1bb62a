//! Suggests how to follow up on the history: more points, or the search for the commit.

use treering_analysis::history::{FEWEST_POINTS, History, HistorySeries};

use crate::arguments::WatchArgs;
use crate::commands::trial::quoted;

/// Commands with their purposes, the first one first.
pub(super) fn next_commands(found: &History, args: &WatchArgs) -> Vec<(String, String)> {
    let mut commands = Vec::new();
    let needed = found.series.iter().filter_map(needed).max();
    if let Some(points) = needed {
        let purpose = if points == 1 {
            "One more point is needed to decide".to_owned()
        } else {
            format!("{points} more points are needed to decide")
        };
        commands.push((purpose, again(args, points)));
    }
    let newest_change = found.series.iter().filter_map(|series| {
        let shift = series.shifts.last().filter(|shift| shift.is_worse)?;
        let is_recent = shift.index + args.recent >= series.points.len();
        is_recent.then_some((series, shift))
    });
    if let Some((series, shift)) = newest_change.min_by_key(|(_, shift)| shift.index) {
        let key = |at: usize| series.points[at].key.as_str();
        let (good, bad) = (key(shift.index - 1), key(shift.index));
        let purpose = format!("Find the commit between {good} (good) and {bad} (worse)");
        let kernel = shift.facts.iter().find(|fact| fact.name == "guest.kernel");
        let kernel = kernel.map_or_else(|| "GOOD-KERNEL".to_owned(), |fact| quoted(&fact.before));
        let command = format!(
            "git bisect start {} {} && git bisect run treering bisect-step --good {kernel} \
             --build 'make -s -j8 olddefconfig bzImage' {}",
            tag(bad).as_deref().unwrap_or("BAD"),
            tag(good).as_deref().unwrap_or("GOOD"),
            quoted(&args.plan.to_string_lossy())
        );
        commands.push((purpose, command));
    }
    commands
}

/// Tag or commit in a point's name: `v6.12.9` for 6.12.9, 1a2b3c4 as it is.
fn tag(key: &str) -> Option<String> {
    let version = key.strip_prefix('v').unwrap_or(key);
    let (numbers, candidate) = version.split_once("-rc").unwrap_or((version, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.contains('.') && numbers.split('.').all(is_number) && is_number(candidate) {
        return Some(format!("v{version}"));
    }
    // Without a letter the digits are a date.
    let is_commit = (7..=40).contains(&key.len())
        && key.bytes().any(|byte| byte.is_ascii_lowercase())
        && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_commit.then(|| key.to_owned())
}

/// Number of points that the series lacks to be judged, or to tell a new level from an outlier.
fn needed(series: &HistorySeries) -> Option<usize> {
    let suspect = series.suspect.as_ref().map(|suspect| suspect.points_needed);
    suspect.or_else(|| FEWEST_POINTS.checked_sub(series.points.len()).filter(|points| *points > 0))
}

/// Command that measures `points` more points.
fn again(args: &WatchArgs, points: usize) -> String {
    let mut words = vec!["treering watch".to_owned(), quoted(&args.plan.to_string_lossy())];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), quoted(&value)]);
        }
    };
    option("--anchor", args.anchor.clone());
    option("--label", args.label.clone());
    option("--label-by", args.label_by.clone());
    option("--kernel", args.kernel.as_ref().map(|path| path.to_string_lossy().into_owned()));
    option("--rounds", Some(args.rounds.to_string()));
    option("--points", Some(points.to_string()));
    for device in &args.erase {
        option("--erase", Some(device.to_string_lossy().into_owned()));
    }
    option("--store", args.store.store.as_ref().map(|path| path.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::tag;

    #[test]
    fn versions_and_commits_are_names_for_git_and_days_are_none() {
        for (key, name) in [
            ("6.12.9", Some("v6.12.9")),
            ("v6.13-rc2", Some("v6.13-rc2")),
            ("1a2b3c4", Some("1a2b3c4")),
            ("2026-11-24", None),
            ("20261124", None),
            ("linux-image-6.12.9-amd64", None),
            ("6.12.", None),
            ("6", None),
            ("", None),
        ] {
            assert_eq!(tag(key).as_deref(), name, "{key}");
        }
    }
}
