//! Verdicts as shown in tables and charts, with a sign before the word, so that their meaning does
//! not depend on colour or shape alone.

use treering_analysis::compare::Verdict;

/// Verdict in words with its sign.
pub(crate) fn words(verdict: Verdict) -> String {
    if verdict == Verdict::SingleRun {
        return "ran once".to_owned();
    }
    let sign = match verdict {
        Verdict::Better => "▲ ",
        Verdict::Worse => "▼ ",
        Verdict::Small => "~ ",
        Verdict::Same => "= ",
        Verdict::Unclear | Verdict::SingleRun => "? ",
    };
    format!("{sign}{}", verdict.name())
}
