//! Parser of the lines of IO500's result files.

use treering_kit::import::number::decimal;

/// A phase in the summary: of ior GiB/s, of the others thousands of operations a second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PhaseLine {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) seconds: f64,
    pub(super) is_scored: bool,
    pub(super) is_invalid: bool,
    /// Greatest relative error of the value by its decimals.
    pub(super) rounding: f64,
}

/// The scores.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScoreLine {
    pub(super) bandwidth: f64,
    pub(super) metadata: f64,
    pub(super) total: f64,
    pub(super) is_extended: bool,
    pub(super) is_invalid: bool,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// First line of the summary: version, and mode if printed.
    Version(String, Option<String>),
    /// A phase of the summary.
    Phase(PhaseLine),
    /// The last line of the summary.
    Scores(ScoreLine),
    /// Reason why a result is invalid.
    Invalid(String),
    /// A section of the long result.
    Section(String),
    /// Key and value in a section.
    Value(String, String),
    /// Comment in a section.
    Comment,
    /// Line between the results of the shell's version: `[Starting] ior_easy_write`.
    Progress,
    /// Malformed line that resembles a result line.
    Wrong,
}

impl OutputLine {
    /// True if the line can stand in a summary.
    pub(super) const fn is_summary(&self) -> bool {
        !matches!(self, Self::Section(_) | Self::Value(..) | Self::Comment)
    }
}

/// Beginnings of lines between the results of the shell's version.
const PROGRESS: [&str; 8] = [
    "[Starting] ",
    "[Exec] ",
    "[EXEC] ",
    "[Results] ",
    "[Skipping] ",
    "[Leaving] ",
    "[Summary] ",
    "[FIND] ",
];

/// Parses a line; `None` for a foreign one.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let text = text.trim();
    if let Some(tail) = text.strip_prefix("IO500 version") {
        // The version of a program that was built outside of a git repository is empty.
        let (version, mode) = match tail.split_once(" (") {
            Some((version, mode)) => (version, mode.strip_suffix(')').map(str::to_owned)),
            None => (tail, None),
        };
        return Some(OutputLine::Version(version.trim().to_owned(), mode));
    }
    if PROGRESS.iter().any(|begin| text.starts_with(begin)) {
        return Some(OutputLine::Progress);
    }
    let warning = text.strip_prefix("[Warning] ");
    if let Some(why) = text.strip_prefix("ERROR INVALID ").or(warning) {
        return Some(OutputLine::Invalid(why.trim().to_owned()));
    }
    if let Some(comment) = text.strip_prefix(';') {
        let why = comment.trim().strip_prefix("ERROR INVALID ");
        return Some(
            why.map_or(OutputLine::Comment, |why| OutputLine::Invalid(why.trim().to_owned())),
        );
    }
    for (mark, is_scored, is_invalid) in
        [("[RESULT]", true, false), ("[RESULT-invalid]", true, true), ("[      ]", false, false)]
    {
        if let Some(tail) = text.strip_prefix(mark) {
            return Some(
                phase(tail, is_scored, is_invalid).map_or(OutputLine::Wrong, OutputLine::Phase),
            );
        }
    }
    for (mark, is_extended, is_invalid) in [
        ("[SCORE ]", false, false),
        ("[SCORE] ", false, false),
        ("[SCORE-valid]", false, false),
        ("[SCORE-invalid]", false, true),
        ("[SCOREX]", true, false),
    ] {
        if let Some(tail) = text.strip_prefix(mark)
            && !tail.trim().is_empty()
        {
            let scores = scores(tail, is_extended, is_invalid);
            return Some(scores.map_or(OutputLine::Wrong, OutputLine::Scores));
        }
    }
    if let Some(name) = text.strip_prefix('[').and_then(|tail| tail.strip_suffix(']')) {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        return is_name.then(|| OutputLine::Section(name.to_owned()));
    }
    let (key, value) = text.split_once('=')?;
    let key = key.trim();
    let is_key =
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    is_key.then(|| OutputLine::Value(key.to_owned(), value.trim().to_owned()))
}

/// `ior-easy-write 1.000000 GiB/s : time 300.000 seconds [INVALID]`
fn phase(text: &str, is_scored: bool, was_invalid: bool) -> Option<PhaseLine> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (is_invalid, words) = match words.as_slice() {
        [tail @ .., "[INVALID]"] => (true, tail),
        fields => (was_invalid, fields),
    };
    if let ["BW" | "IOPS", "phase", _, words @ ..] = words {
        return shell_phase(words, is_scored, is_invalid);
    }
    let [name, value, unit, ":", "time", seconds, "seconds"] = words else { return None };
    let right = if name.starts_with("ior-") { "GiB/s" } else { "kIOPS" };
    if *unit != right {
        return None;
    }
    phase_of(name, value, seconds, is_scored, is_invalid)
}

/// `ior_easy_write 1.000 GB/s : time 300.00 seconds`, behind `BW phase 1`, as the program had it
/// while it was a script of the shell. It divided MiB by 1024, so that its GB are GiB.
fn shell_phase(words: &[&str], is_scored: bool, is_invalid: bool) -> Option<PhaseLine> {
    let [name, value, unit, ":", "time", seconds, "seconds"] = words else { return None };
    let right = if name.starts_with("ior_") { "GB/s" } else { "kiops" };
    let is_right = *unit == right || (right == "GB/s" && *unit == "GiB/s");
    if !is_right {
        return None;
    }
    phase_of(&name.replace('_', "-"), value, seconds, is_scored, is_invalid)
}

fn phase_of(
    name: &str,
    value: &str,
    seconds: &str,
    is_scored: bool,
    is_invalid: bool,
) -> Option<PhaseLine> {
    let decimals = value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap_or(0));
    let (value, seconds) = (decimal(value)?, decimal(seconds)?);
    let rounding = if value > 0.0 { half / value } else { 0.0 };
    Some(PhaseLine { name: name.to_owned(), value, seconds, is_scored, is_invalid, rounding })
}

/// `Bandwidth 1.0 GiB/s : IOPS 2.0 kiops : TOTAL 1.4 [INVALID]`
fn scores(text: &str, is_extended: bool, was_invalid: bool) -> Option<ScoreLine> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (is_invalid, words) = match words.as_slice() {
        [tail @ .., "[INVALID]"] => (true, tail),
        fields => (was_invalid, fields),
    };
    // The older versions printed GB/s and meant the same.
    let [
        "Bandwidth",
        bandwidth,
        "GiB/s" | "GB/s",
        ":",
        "IOPS",
        metadata,
        "kiops",
        ":",
        "TOTAL",
        total,
    ] = words
    else {
        return None;
    };
    Some(ScoreLine {
        bandwidth: decimal(bandwidth)?,
        metadata: decimal(metadata)?,
        total: decimal(total)?,
        is_extended,
        is_invalid,
    })
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, line};

    #[test]
    fn lines_of_all_versions_are_read() {
        for (text, invalid) in [
            ("[RESULT]       ior-easy-write        1.500000 GiB/s : time 300.100 seconds", false),
            ("[RESULT] find 15.0 kIOPS : time 1.5 seconds [INVALID]", true),
            ("[RESULT-invalid]       ior-easy-write   0.1 GiB/s  : time 0.1 seconds", true),
            ("[RESULT] BW   phase 1   ior_easy_write   1.500 GB/s : time 300.10 seconds", false),
            ("[RESULT-invalid] IOPS phase 3   find   5.500 kiops : time  30.10 seconds", true),
        ] {
            let Some(OutputLine::Phase(phase)) = line(text) else { panic!("{text}") };
            assert_eq!(phase.is_invalid, invalid, "{text}");
        }
        for text in [
            "[SCORE ] Bandwidth 1.5 GiB/s : IOPS 2.5 kiops : TOTAL 1.9 [INVALID]",
            "[SCORE-invalid] Bandwidth 1.5 GB/s : IOPS 2.5 kiops : TOTAL 1.9",
        ] {
            let Some(OutputLine::Scores(scores)) = line(text) else { panic!("{text}") };
            assert!(scores.is_invalid && scores.bandwidth > 1.0);
        }
        assert_eq!(line("[SCORE]"), Some(OutputLine::Section("SCORE".to_owned())));
    }

    #[test]
    fn versions_may_be_empty() {
        for (text, mode) in
            [("IO500 version  (standard)", Some("standard".to_owned())), ("IO500 version ", None)]
        {
            assert_eq!(line(text), Some(OutputLine::Version(String::new(), mode)));
        }
        let wanted = OutputLine::Value("version".to_owned(), String::new());
        assert_eq!(line("version         = "), Some(wanted));
    }

    #[test]
    fn phases_of_the_shell_have_the_names_of_today() {
        let text = "[RESULT] IOPS phase 4   mdtest_easy_stat   80.907 kiops : time  84.90 seconds";
        let Some(OutputLine::Phase(phase)) = line(text) else { panic!("{text}") };
        assert_eq!((phase.name.as_str(), phase.value), ("mdtest-easy-stat", 80.907));
        assert!(phase.rounding > 6e-6 && phase.rounding < 7e-6);
    }

    #[test]
    fn warnings_of_the_shell_are_reasons() {
        let why = "This cannot be official score. The runtime of 299.1 seconds is below 5 minutes";
        let wanted = OutputLine::Invalid(why.to_owned());
        assert_eq!(line(&format!("[Warning] {why}")), Some(wanted));
        assert_eq!(line("[EXEC] mpirun -np 4 find"), Some(OutputLine::Progress));
    }

    #[test]
    fn malformed_numbers_are_rejected() {
        for text in [
            "[RESULT] find nan kIOPS : time 1.5 seconds",
            "[RESULT] find 1e9 kIOPS : time 1.5 seconds",
            "[RESULT] find -1 kIOPS : time 1.5 seconds",
            "[RESULT] find 1 GiB/s : time 1.5 seconds",
            "[RESULT] find 1 kIOPS : time 1.5",
            "[SCORE ] Bandwidth inf GiB/s : IOPS 2.5 kiops : TOTAL 1.9",
        ] {
            assert_eq!(line(text), Some(OutputLine::Wrong), "{text}");
        }
        assert_eq!(line("words"), None);
    }
}
