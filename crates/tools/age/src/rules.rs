//! Rules for the end of aging.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use treering_model::nearest::nearest;
use treering_model::{FileLayout, LayoutFree};
use treering_script::{ConfigError, Settings, parse_count, parse_size};
use treering_stats::theil_sen;

/// Minimum number of measurements that can show a steady state.
const STEADY_FEWEST: usize = 10;
/// Default bound on the drift of a score, as a fraction.
const STEADY_BOUND: f64 = 0.01;
/// Default bound on the distance of free space from its target, as a fraction.
const FREE_SPACE_BOUND: f64 = 0.1;
/// Confidence level of the interval of a slope.
const CONFIDENCE: f64 = 0.95;
/// Largest accepted file of a layout, in bytes.
const LAYOUT_BYTES_MAX: u64 = 1 << 26;
/// Largest accepted number of operations.
const OPERATIONS_MAX: u64 = 1 << 50;

/// A score of the layout: traversal score, or share of adjacent siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayoutScore {
    Traversal,
    Adjacent,
}

/// Rule that ends a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EndRule {
    /// Number of operations; 0 only fills the tree.
    Operations(u64),
    /// Bytes written.
    Written(u64),
    /// Bytes written, as a multiple of the filesystem's size.
    WrittenTimes(f64),
    /// Fraction of the filesystem in use.
    Full(f64),
    /// Steady state: over the later half of the measurements, the drifts of this score and of the
    /// free space in large extents stay within this bound, for as many measurements as it took to
    /// get there.
    Steady(LayoutScore, f64),
    /// Free space close to a target: fractions of the free bytes in extents of each power of two,
    /// and the largest distance from them.
    FreeSpace { file: PathBuf, target: Vec<f64>, bound: f64 },
}

/// Scores of a layout after a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StepScores {
    pub(super) traversal: Option<f64>,
    pub(super) adjacent: Option<f64>,
    /// Share of the free bytes in extents of at least 1 MiB.
    pub(super) large_free: Option<f64>,
}

impl RunState {
    /// Adds the scores after a step, and notes which rules `steady` they meet.
    pub(super) fn add_scores(&mut self, scores: StepScores, rules: &[EndRule]) {
        self.scores.push(scores);
        for rule in rules {
            let EndRule::Steady(score, bound) = *rule else { continue };
            let is_it =
                |(of, within, _): &(LayoutScore, f64, usize)| (*of, *within) == (score, bound);
            let known = self.steady_from.iter().position(is_it);
            match (known, is_level(score, bound, self)) {
                (Some(known), None) => drop(self.steady_from.swap_remove(known)),
                (None, Some(_)) => self.steady_from.push((score, bound, self.scores.len())),
                _ => {}
            }
        }
    }

    /// Number of measurements after which a rule `steady` began to be met without a break.
    fn steady_from(&self, score: LayoutScore, bound: f64) -> Option<usize> {
        let mut from = self.steady_from.iter();
        from.find(|(of, within, _)| (*of, *within) == (score, bound)).map(|(.., count)| *count)
    }
}

/// State of a run that the rules examine.
#[derive(Clone, Debug, Default)]
pub(super) struct RunState {
    pub(super) operations: u64,
    pub(super) written_bytes: u64,
    /// Size of the whole filesystem.
    pub(super) capacity_bytes: u64,
    /// Scores after each step.
    pub(super) scores: Vec<StepScores>,
    /// Number of measurements after which each rule `steady` began to be met without a break.
    pub(super) steady_from: Vec<(LayoutScore, f64, usize)>,
    /// Last measured layout.
    pub(super) layout: Option<FileLayout>,
}

impl EndRule {
    /// Parses the value of `--until`.
    pub(super) fn read(text: &str, settings: &Settings) -> Result<Self, ConfigError> {
        let wrong = |message: String| {
            ConfigError::new(format!("--until {text}: {message}")).hint(
                "rules: operations=N, written=2x or written=SIZE, full=70%, steady or \
                 steady=adjacent:1%, free-space=FILE",
            )
        };
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        match name {
            "operations" => parse_count(value)
                .filter(|number| *number <= OPERATIONS_MAX)
                .map(Self::Operations)
                .ok_or_else(|| wrong(format!("'{value}' is not a number such as 10000 or 10k"))),
            "written" => written(value)
                .ok_or_else(|| wrong(format!("'{value}' is neither 2x nor a size such as 10G"))),
            "full" => percent(value)
                .map(Self::Full)
                .ok_or_else(|| wrong(format!("'{value}' is not a percentage such as 70%"))),
            "steady" => {
                let (score, bound) = with_bound(value, STEADY_BOUND).map_err(wrong)?;
                match score {
                    "" | "traversal" => Ok(Self::Steady(LayoutScore::Traversal, bound)),
                    "adjacent" => Ok(Self::Steady(LayoutScore::Adjacent, bound)),
                    other => Err(wrong(format!("'{other}' is neither `traversal` nor `adjacent`"))),
                }
            }
            "free-space" => {
                let (file, bound) = with_bound(value, FREE_SPACE_BOUND).map_err(wrong)?;
                let path = settings.file(file);
                let target = free_space(&path, settings).map_err(wrong)?;
                Ok(Self::FreeSpace { file: path, target, bound })
            }
            other => {
                let rules = ["operations", "written", "full", "steady", "free-space"];
                let meant =
                    nearest(other, rules).map(|meant| format!(" (did you mean `{meant}`?)"));
                Err(wrong(format!("there is no rule '{other}'{}", meant.unwrap_or_default())))
            }
        }
    }

    /// True if the rule is decided by layouts.
    pub(super) const fn needs_layout(&self) -> bool {
        matches!(self, Self::Full(_) | Self::Steady(..) | Self::FreeSpace { .. })
    }

    /// Reason why the rule holds; `None` if it does not.
    pub(super) fn holds(&self, state: &RunState) -> Option<String> {
        match self {
            Self::Operations(wanted) => (state.operations >= *wanted).then(|| self.to_string()),
            Self::Written(wanted) => (state.written_bytes >= *wanted).then(|| self.to_string()),
            Self::WrittenTimes(times) => {
                let wanted = state.capacity_bytes as f64 * times;
                (state.written_bytes as f64 >= wanted).then(|| self.to_string())
            }
            Self::Full(wanted) => {
                let share = state.layout.as_ref()?.fullness.data.share()?;
                (share >= *wanted).then(|| format!("{self}: {:.1}% in use", share * 100.0))
            }
            Self::Steady(score, bound) => {
                let from = state.steady_from(*score, *bound)?;
                let drift = is_level(*score, *bound, state)?;
                (state.scores.len() >= 2 * from).then(|| format!("{self}: {drift}"))
            }
            Self::FreeSpace { target, bound, .. } => {
                let free = state.layout.as_ref()?.free_space.as_ref()?;
                let distance = distance(&shares(free), target);
                let percent = distance * 100.0;
                (distance <= *bound).then(|| format!("{self}: {percent:.1}% away from the target"))
            }
        }
    }
}

impl fmt::Display for EndRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operations(number) => write!(f, "operations={number}"),
            Self::Written(bytes) => write!(f, "written={bytes}"),
            Self::WrittenTimes(times) => write!(f, "written={times}x"),
            Self::Full(share) => write!(f, "full={}%", share * 100.0),
            Self::Steady(score, bound) => {
                let score = match score {
                    LayoutScore::Traversal => "traversal",
                    LayoutScore::Adjacent => "adjacent",
                };
                write!(f, "steady={score}:{}%", bound * 100.0)
            }
            Self::FreeSpace { file, bound, .. } => {
                write!(f, "free-space={}:{}%", file.display(), bound * 100.0)
            }
        }
    }
}

/// Confidence interval of a score's drift over the examined measurements.
#[derive(Clone, Copy, Debug)]
struct ScoreDrift {
    low: f64,
    high: f64,
    values: usize,
}

impl fmt::Display for ScoreDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, high, values } = self;
        let (low, high) = (low * 100.0, high * 100.0);
        write!(f, "it drifts by {low:+.2} to {high:+.2} points over the last {values} measurements")
    }
}

/// Drift of a score, if it and the drift of the free space in large extents are within the bound.
/// Unreported free space is not considered.
fn is_level(score: LayoutScore, bound: f64, state: &RunState) -> Option<ScoreDrift> {
    let of_score = |scores: &StepScores| match score {
        LayoutScore::Traversal => scores.traversal,
        LayoutScore::Adjacent => scores.adjacent,
    };
    let is_within = |drift: &ScoreDrift| drift.low >= -bound && drift.high <= bound;
    let reports_free = state.scores.iter().any(|scores| scores.large_free.is_some());
    let free = drift(state, |scores| scores.large_free);
    if reports_free && !free.as_ref().is_some_and(is_within) {
        return None;
    }
    drift(state, of_score).filter(is_within)
}

/// Drift over the later half of the measurements, at least [`STEADY_FEWEST`] of them.
fn drift(state: &RunState, of: impl Fn(&StepScores) -> Option<f64>) -> Option<ScoreDrift> {
    let values: Vec<f64> = state.scores.iter().filter_map(of).collect();
    let count = (values.len() / 2).max(STEADY_FEWEST);
    let late = values.len().checked_sub(count).map(|first| &values[first..])?;
    let slope = theil_sen(late, CONFIDENCE).ok()?;
    let steps = (late.len() - 1) as f64;
    // No interval means that all values are equal.
    let (low, high) = slope.interval.map_or((0.0, 0.0), |interval| (interval.low, interval.high));
    Some(ScoreDrift { low: low * steps, high: high * steps, values: late.len() })
}

fn percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.parse::<f64>().ok()?;
    (number > 0.0 && number <= 100.0).then_some(number / 100.0)
}

fn written(text: &str) -> Option<EndRule> {
    if let Some(times) = text.strip_suffix('x') {
        let times = times.parse::<f64>().ok();
        return times.filter(|times| *times > 0.0 && *times <= 1e6).map(EndRule::WrittenTimes);
    }
    parse_size(text).filter(|bytes| *bytes > 0).map(EndRule::Written)
}

/// Splits off a bound such as `:1%`, or uses the default one.
fn with_bound(text: &str, usual: f64) -> Result<(&str, f64), String> {
    match text.rsplit_once(':') {
        None => Ok((text, usual)),
        Some((word, bound)) => percent(bound)
            .map(|bound| (word, bound))
            .ok_or_else(|| format!("'{bound}' is not a percentage such as 1%")),
    }
}

/// Part of a layout's JSON that is read.
#[derive(Deserialize)]
struct LayoutJson {
    free_space: Option<LayoutFree>,
}

/// Free-space distribution in a file written by `treering layout --format json`.
fn free_space(path: &std::path::Path, settings: &Settings) -> Result<Vec<f64>, String> {
    let text = settings.files.read(path, LAYOUT_BYTES_MAX);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    let measured = serde_json::from_slice::<LayoutJson>(&text).ok();
    let free = measured.and_then(|measured| measured.free_space);
    free.map(|free| shares(&free)).filter(|shares| !shares.is_empty()).ok_or_else(|| {
        format!(
            "{}: no free space in it; `treering layout DIR --format json` writes such a file",
            path.display()
        )
    })
}

/// Fraction of the free bytes in extents of each power of two.
fn shares(free: &LayoutFree) -> Vec<f64> {
    let mut bytes = vec![0.0; 65];
    for bin in &free.histogram {
        let class = bin.from_bytes.checked_ilog2().map_or(0, |power| power + 1);
        bytes[class as usize] += bin.bytes as f64;
    }
    let total: f64 = bytes.iter().sum();
    if total > 0.0 { bytes.into_iter().map(|bytes| bytes / total).collect() } else { Vec::new() }
}

/// Distance of two distributions: the fraction of bytes that would have to be in extents of another
/// size.
fn distance(shares: &[f64], target: &[f64]) -> f64 {
    if shares.len() != target.len() {
        return 1.0;
    }
    shares.iter().zip(target).map(|(share, target)| (share - target).abs()).sum::<f64>() / 2.0
}

#[cfg(test)]
mod tests {
    use super::{EndRule, LayoutScore, RunState, StepScores};
    use treering_model::{FileLayout, LayoutFree, LayoutFreeBin, LayoutFullness, UsedBytes};
    use treering_script::Settings;

    fn rule(text: &str) -> Result<EndRule, String> {
        EndRule::read(text, &Settings::default()).map_err(|error| error.message)
    }

    #[test]
    fn rules_round_trip() {
        for (text, wanted) in [
            ("operations=10k", "operations=10000"),
            ("written=2x", "written=2x"),
            ("written=1.5G", "written=1610612736"),
            ("full=70%", "full=70%"),
            ("steady", "steady=traversal:1%"),
            ("steady=adjacent:0.5%", "steady=adjacent:0.5%"),
        ] {
            assert_eq!(rule(text).unwrap().to_string(), wanted);
            assert_eq!(rule(wanted).unwrap().to_string(), wanted);
        }
        for text in [
            "",
            "operations",
            "operations=-1",
            "operations=x",
            "written=0",
            "written=-1x",
            "written=infx",
            "full=70",
            "full=0%",
            "full=101%",
            "steady=score",
            "steady=:x",
            "free-space=",
            "free-space=/nowhere",
            "until=3",
        ] {
            assert!(rule(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counting_rules_hold_from_their_threshold() {
        let state = RunState {
            operations: 100,
            written_bytes: 5000,
            capacity_bytes: 2500,
            ..RunState::default()
        };
        for (text, wanted) in [
            ("operations=100", true),
            ("operations=101", false),
            ("written=5000", true),
            ("written=5001", false),
            ("written=2x", true),
            ("written=2.1x", false),
            ("full=1%", false),
            ("steady", false),
        ] {
            assert_eq!(rule(text).unwrap().holds(&state).is_some(), wanted, "{text}");
        }
    }

    #[test]
    fn a_filesystem_is_full_by_its_layout() {
        let data = UsedBytes { used_bytes: 70, total_bytes: 100 };
        let fullness = LayoutFullness { data, ..LayoutFullness::default() };
        let layout = Some(FileLayout { fullness, ..FileLayout::default() });
        let state = RunState { layout, ..RunState::default() };
        assert_eq!(rule("full=70%").unwrap().holds(&state).unwrap(), "full=70%: 70.0% in use");
        assert_eq!(rule("full=71%").unwrap().holds(&state), None);
    }

    #[test]
    fn steady_holds_once_score_and_free_space_stayed_level_as_long_as_they_took() {
        let wobble = [0.002, -0.001, 0.0, 0.001, -0.002];
        let falling = |step: usize| 0.95 - 0.01 * step as f64;
        let level = |step: usize| falling(step.min(12));
        let steady = EndRule::Steady(LayoutScore::Traversal, 0.01);
        let state = |of: &dyn Fn(usize) -> f64, free: &dyn Fn(usize) -> f64, count: usize| {
            let mut state = RunState::default();
            for step in 0..count {
                let traversal = Some(of(step) + wobble[step % 5]);
                let large_free = Some(free(step) + wobble[step % 5]);
                let scores = StepScores { traversal, large_free, adjacent: None };
                state.add_scores(scores, std::slice::from_ref(&steady));
            }
            state
        };
        let same = |_: usize| 0.5;
        assert_eq!(steady.holds(&state(&falling, &same, 80)), None);
        assert_eq!(steady.holds(&state(&same, &same, 10)), None, "met, and not held as long");
        assert_eq!(steady.holds(&state(&same, &same, 19)), None);
        assert!(steady.holds(&state(&same, &same, 20)).is_some());
        assert_eq!(steady.holds(&state(&level, &same, 30)), None);
        assert!(steady.holds(&state(&level, &same, 80)).is_some());
        assert_eq!(steady.holds(&state(&same, &falling, 80)), None, "free space decays");
        let adjacent = EndRule::Steady(LayoutScore::Adjacent, 0.01);
        assert_eq!(adjacent.holds(&state(&level, &same, 80)), None);
    }

    #[test]
    fn free_space_is_compared_by_the_shares_of_its_bytes() {
        let free = |small: u64, large: u64| {
            let bin = |from_bytes, bytes| LayoutFreeBin { from_bytes, bytes, ..Default::default() };
            LayoutFree {
                histogram: vec![bin(4096, small), bin(1 << 20, large)],
                ..Default::default()
            }
        };
        let target = super::shares(&free(30, 70));
        let rule = EndRule::FreeSpace { file: "t".into(), target, bound: 0.1 };
        let state = |small, large| RunState {
            layout: Some(FileLayout {
                free_space: Some(free(small, large)),
                ..FileLayout::default()
            }),
            ..RunState::default()
        };
        assert!(rule.holds(&state(22, 78)).is_some());
        assert!(rule.holds(&state(15, 85)).is_none());
        assert!(rule.holds(&state(0, 0)).is_none(), "nothing is free");
    }
}
