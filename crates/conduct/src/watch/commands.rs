//! Suggests commands after the history of a series: measure more points, or search for the commit.

use super::WatchOptions;
use crate::shell::quoted;

/// Regression of a series: a level that began at its newest points, or a trend up to the newest.
pub struct WorsePoint {
    /// Label of the last good point.
    pub good: String,
    /// Label of the first worse point.
    pub worse: String,
    /// Kernel of the last good point in a guest, if it is known.
    pub good_kernel: Option<String>,
    /// Ratio of the levels at both points of a trend; `None` for a change of level.
    pub trend_ratio: Option<f64>,
}

impl WorsePoint {
    /// Purpose of a bisection between the two points, and the threshold that it needs. The commits
    /// of a trend have small parts of it, so the commit at which half of it is passed is sought.
    fn sought(&self) -> (String, String) {
        let Self { good, worse, .. } = self;
        let half = self.trend_ratio.map(|ratio| (ratio.sqrt() - 1.0).abs() * 100.0);
        match half.filter(|half| half.is_finite()) {
            Some(half) => {
                let purpose = format!(
                    "Find the commit that passes half of the trend from {good} to {worse} \
                     ({half:.1} %), which a single commit may not have made"
                );
                (purpose, format!(" --threshold {half:.1}%"))
            }
            None => {
                let purpose = format!("Find the commit between {good} (good) and {worse} (worse)");
                (purpose, String::new())
            }
        }
    }
}

/// Commands with their purposes, in the order to run them. `points_needed` is the number of further
/// points needed before the series can be judged.
pub fn next_commands(
    options: &WatchOptions,
    points_needed: Option<usize>,
    worse: Option<&WorsePoint>,
) -> Vec<(String, String)> {
    let mut commands = Vec::new();
    if let Some(points) = points_needed {
        let purpose = if points == 1 {
            "One more point is needed to decide".to_owned()
        } else {
            format!("{points} more points are needed to decide")
        };
        commands.push((purpose, more_points_command(options, points)));
    }
    if let Some(point) = worse {
        let (purpose, threshold) = point.sought();
        let WorsePoint { good, worse, good_kernel, .. } = point;
        let kernel = good_kernel.as_deref().map_or_else(|| "GOOD-KERNEL".to_owned(), quoted);
        let command = format!(
            "git bisect start {} {} && git bisect run treering kernel bisect-step \
             --good {kernel}{threshold} --build 'make -s -j8 olddefconfig bzImage' {}",
            tag(worse).as_deref().unwrap_or("BAD"),
            tag(good).as_deref().unwrap_or("GOOD"),
            quoted(&options.plan_file.to_string_lossy())
        );
        commands.push((purpose, command));
    }
    commands
}

/// Tag or commit in a point's name: `v6.12.9` for 6.12.9, and 1a2b3c4 unchanged.
fn tag(key: &str) -> Option<String> {
    let version = key.strip_prefix('v').unwrap_or(key);
    let (numbers, candidate) = version.split_once("-rc").unwrap_or((version, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.contains('.') && numbers.split('.').all(is_number) && is_number(candidate) {
        return Some(format!("v{version}"));
    }
    // Digits without a letter are a date.
    let is_commit = (7..=40).contains(&key.len())
        && key.bytes().any(|byte| byte.is_ascii_lowercase())
        && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_commit.then(|| key.to_owned())
}

/// Command that measures `points` more points.
fn more_points_command(options: &WatchOptions, points: usize) -> String {
    let mut words = vec!["treering watch".to_owned(), quoted(&options.plan_file.to_string_lossy())];
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), quoted(&value)]);
        }
    };
    option("--anchor", options.anchor.clone());
    option("--label", options.label.clone());
    option("--label-by", options.label_by.clone());
    option("--kernel", options.kernel.as_ref().map(|path| path.to_string_lossy().into_owned()));
    option("--rounds", Some(options.rounds.to_string()));
    option("--points", Some(points.to_string()));
    for device in &options.erase {
        option("--erase", Some(device.to_string_lossy().into_owned()));
    }
    option("--store", options.store.as_ref().map(|path| path.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{WorsePoint, tag};

    #[test]
    fn a_bisection_of_a_trend_seeks_half_of_it() {
        let point = |trend_ratio| WorsePoint {
            good: "6.1".to_owned(),
            worse: "6.12".to_owned(),
            good_kernel: None,
            trend_ratio,
        };
        let (purpose, threshold) = point(Some(0.81)).sought();
        assert!(purpose.contains("half of the trend from 6.1 to 6.12 (10.0 %)"), "{purpose}");
        assert_eq!(threshold, " --threshold 10.0%");
        assert_eq!(point(None).sought().1, "");
        assert_eq!(point(Some(f64::INFINITY)).sought().1, "", "from zero");
    }

    #[test]
    fn versions_and_commits_become_git_names_but_dates_do_not() {
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
