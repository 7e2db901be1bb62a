//! Verdicts as shown in tables and charts: a sign before the word, so that meaning depends on
//! neither colour nor shape alone.

use treering_analysis::compare::Verdict;

/// Name of the verdict with its sign.
pub(crate) fn words(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Better => "▲ ",
        Verdict::Worse => "▼ ",
        Verdict::Small => "~ ",
        Verdict::Same => "= ",
        Verdict::Unclear => "? ",
        Verdict::SingleRun => "",
    };
    format!("{sign}{}", verdict.name())
}
