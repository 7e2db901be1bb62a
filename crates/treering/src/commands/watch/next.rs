//! What to do about what the history says: more points, or the search for the commit.

use treering_analysis::history::{FEWEST_POINTS, History, Series};

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
        is_recent.then_some((series, shift.index))
    });
    if let Some((series, at)) = newest_change.min_by_key(|(_, at)| *at) {
        let key = |at: usize| series.points[at].key.as_str();
        let (good, bad) = (key(at - 1), key(at));
        let purpose = format!("Find the commit between {good} (good) and {bad} (worse)");
        let plan = quoted(&args.plan.to_string_lossy());
        let command = format!(
            "git bisect start BAD GOOD && git bisect run treering bisect-step --good GOOD-KERNEL \
             --build 'make -s -j8 olddefconfig bzImage' {plan}"
        );
        commands.push((purpose, command));
    }
    commands
}

/// Points that this series lacks to be judged, or to tell a new level from an outlier.
fn needed(series: &Series) -> Option<usize> {
    let suspect = series.suspect.as_ref().map(|suspect| suspect.points_needed);
    suspect.or_else(|| FEWEST_POINTS.checked_sub(series.points.len()).filter(|points| *points > 0))
}

/// The command that measures so many more.
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
