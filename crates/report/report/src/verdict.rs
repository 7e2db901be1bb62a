//! A verdict as people read it, in tables and in charts: a sign before the word, so that neither
//! colour nor shape alone has to tell it.

use treering_analysis::compare::Verdict;

/// The word with its sign.
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
