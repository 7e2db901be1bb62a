//! Tables of the kernel test robot's mails: two commits side by side, each value the mean of some
//! runs with its deviation. Each commit becomes one trial, as no run is told by itself.

use treering_kit::import::known_text::{KnownText, LeftOutNumbers};
use treering_kit::import::log::{Log, shortened};
use treering_kit::import::trial::ForeignTrial;
use treering_kit::import::{Importer, ParsedOutputs, Remark};
use treering_model::metrics::command;
use treering_model::{BetterDirection, COMMIT_FACT, Caution, CautionCode, Metric, Unit};

/// Name of the tool.
const TOOL: &str = "lkp";
/// Number of lines in which the heading follows `commit:` or the names of the commits.
const HEADING_WITHIN: usize = 12;
/// Number of lines before `commit:` in which the mail says what it is about.
const SUBJECT_WITHIN: usize = 150;
/// Fewest and most digits of the name of a commit.
const COMMIT_DIGITS: std::ops::RangeInclusive<usize> = 7..=40;
/// Words that name the better direction at the end of a metric.
const RATES: [&str; 9] = [
    "per_sec",
    "iops",
    "ops",
    "bw_mbps",
    "mbps",
    "throughput",
    "score",
    "transactions",
    "workload",
];

/// Numbers that are not stored, with the reason.
const KNOWN_TEXT: [KnownText; 3] = [
    KnownText {
        line: "",
        numbers: LeftOutNumbers::At(is_of_change),
        why: "the change follows from both means",
    },
    KnownText { line: "(\"", numbers: LeftOutNumbers::All, why: "the subject of a commit" },
    KnownText {
        line: "",
        numbers: LeftOutNumbers::At(is_of_failures),
        why: "how many of the runs failed, or had a message, is no measurement",
    },
];

/// Importer of the tables of the kernel test robot.
pub(super) struct LkpImporter;

impl Importer for LkpImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &KNOWN_TEXT
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        let text = log.line(at).trim();
        (text == "commit:" || two_commits(text).is_some()) && heading(log, at).is_some()
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let Some(heading) = heading(log, at) else {
            return ParsedOutputs { end: at + 1, outputs: Vec::new(), remarks: Vec::new() };
        };
        let commits = match two_commits(log.line(at)) {
            Some(both) => both.to_vec(),
            None => commits(log, at, heading),
        };
        let ([old, new], 2) =
            ([0, 1].map(|number| commits.get(number).cloned().unwrap_or_default()), commits.len())
        else {
            let what = format!("a table of {} commits is not read: of two it is", commits.len());
            let remarks = vec![Remark { line: at + 1, what }];
            return ParsedOutputs { end: heading + 1, outputs: Vec::new(), remarks };
        };
        let subject = subject(log, at);
        let testcase = testcase(log, at);
        let mut table = RobotTable { subject, testcase, ..RobotTable::default() };
        let mut end = heading + 1;
        while end < log.len() && !log.line(end).trim().is_empty() {
            if end > heading + 1 && self.begins(log, end) {
                break;
            }
            table.take(log.line(end), end + 1);
            end += 1;
        }
        let trials = [trial(&old, table.old), trial(&new, table.new)];
        ParsedOutputs::new(end, trials, table.remarks)
    }
}

/// Line of the heading `%stddev %change %stddev`, before 2017 without the second sign, which
/// follows the names of the commits.
fn heading(log: &Log<'_>, at: usize) -> Option<usize> {
    let is_heading = |line: &usize| {
        let words: Vec<&str> = log.line(*line).split_whitespace().collect();
        matches!(words.as_slice(), ["%stddev", "%change" | "change", "%stddev", ..])
    };
    let found = (at + 1..(at + HEADING_WITHIN).min(log.len())).find(is_heading)?;
    // The names of the commits stand above the heading once more.
    let is_again = |line: usize| line > at && two_commits(log.line(line)).is_some();
    let is_old = two_commits(log.line(at)).is_some();
    (!is_old || !(at + 1..found).any(is_again)).then_some(found)
}

/// Names of two commits, the only words of a line: `1111111111aaaaaa  2222222222bbbb`.
fn two_commits(text: &str) -> Option<[String; 2]> {
    let mut words = text.split_whitespace();
    let both = [words.next()?, words.next()?];
    let is_pair = words.next().is_none() && both.iter().all(|word| is_commit(word));
    is_pair.then(|| both.map(str::to_owned))
}

/// True for the digits by which git names a commit.
fn is_commit(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_hexdigit()) && COMMIT_DIGITS.contains(&word.len())
}

/// Commits, each by its name without the subject.
fn commits(log: &Log<'_>, at: usize, heading: usize) -> Vec<String> {
    let lines = (at + 1..heading).map(|line| log.line(line).trim());
    let named = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    let name = |line: &str| match line.split_once(' ') {
        // A subject in brackets follows the name, or a remark.
        Some((first, _)) if is_commit(first) => first.to_owned(),
        _ => line.split_once(" (\"").map_or(line, |(name, _)| name).to_owned(),
    };
    named.map(name).collect()
}

/// Metric that the mail is about, and the direction in which it is better:
/// `noticed a 6.5% regression of fio.write_iops on:`. The sign of the change tells what is worse.
fn subject(log: &Log<'_>, at: usize) -> Option<(String, bool)> {
    (at.saturating_sub(SUBJECT_WITHIN)..at).rev().find_map(|line| {
        // The sentence may go over two lines.
        let text = format!("{} {}", log.line(line), log.line(line + 1));
        let words: Vec<&str> = text.split_whitespace().collect();
        let place = words.windows(2).position(|two| {
            matches!(two[0], "regression" | "improvement") && matches!(two[1], "of" | "in")
        })?;
        words[..place].contains(&"noticed").then_some(())?;
        let metric = words.get(place + 2)?.trim_end_matches([':', '.', ',']);
        Some((metric.to_owned(), words[place] == "improvement"))
    })
}

/// Name of the test: the last field of the line of parameters above the commits, or the first one
/// behind the names of the parameters in older mails.
fn testcase(log: &Log<'_>, at: usize) -> Option<String> {
    let above = || (at.saturating_sub(8)..at).rev();
    let is_names = |line: &usize| log.line(*line).trim_end().ends_with("/testcase:");
    if let Some(names) = above().find(is_names) {
        let last = log.line(names + 1).trim().rsplit('/').next()?;
        return Some(last.to_owned());
    }
    above().find_map(|line| {
        let values = log.line(line).trim().strip_prefix("testcase/")?.split_once(": ")?.1;
        values.trim().split('/').next().map(str::to_owned)
    })
}

/// True if the number at this place of a row is of the change.
fn is_of_change(text: &str, start: usize) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let Some(row) = RobotRow::of_words(&words) else { return false };
    let before = &text[..start];
    let is_inside = !before.ends_with(char::is_whitespace) && !before.is_empty();
    let word = before.split_whitespace().count() - usize::from(is_inside);
    row.change_word == Some(word)
}

/// True for a row of `fail:runs  %reproduction  fail:runs`: `:4  25%  1:4  dmesg.x`.
fn is_of_failures(text: &str, _: usize) -> bool {
    let is_share = |word: &str| {
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        word.split_once(':').is_some_and(|(failed, runs)| is_number(failed) && is_number(runs))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    matches!(words.as_slice(), [old, change, new, _, ..]
        if is_share(old) && is_share(new) && change.ends_with('%'))
}

/// Values of a table, for both commits.
#[derive(Default)]
struct RobotTable {
    subject: Option<(String, bool)>,
    testcase: Option<String>,
    old: Vec<Metric>,
    new: Vec<Metric>,
    remarks: Vec<Remark>,
}

impl RobotTable {
    fn take(&mut self, text: &str, line: usize) {
        // The line of arrows below the heading.
        if text.trim_start().starts_with('\\') {
            return;
        }
        let Some(row) = RobotRow::read(text) else {
            let what = format!("no row of the robot's table: {}", shortened(text.trim()));
            self.remarks.push(Remark { line, what });
            return;
        };
        let (better, is_primary) = self.judged(&row);
        for (values, side) in [(&mut self.old, &row.old), (&mut self.new, &row.new)] {
            let metric = command::named_by_user(&row.name, side.mean, Unit::Count, better);
            values.push(metric.primary_if(is_primary));
            let deviation = side.deviation_percent.map(|percent| {
                let name = format!("{} deviation", row.name);
                command::named_by_user(&name, percent, Unit::Percent, BetterDirection::Lower)
            });
            values.extend(deviation);
        }
    }

    /// Direction in which the metric of a row is better, and whether the mail is about it.
    fn judged(&self, row: &RobotRow) -> (BetterDirection, bool) {
        let by_name = || {
            let name = row.name.to_lowercase();
            RATES.iter().any(|rate| name.ends_with(rate))
        };
        let fell = row.new.mean < row.old.mean;
        let is_higher = match (&self.subject, row.is_better) {
            (Some((metric, is_improvement)), _) if *metric == row.name => fell != *is_improvement,
            (_, Some(is_better)) => fell != is_better,
            _ => by_name(),
        };
        let better = if is_higher { BetterDirection::Higher } else { BetterDirection::Lower };
        let is_primary = match (&self.subject, &self.testcase) {
            (Some((metric, _)), _) => *metric == row.name,
            (None, Some(test)) => {
                let (own, test) = (row.name.split('.').next(), test.split('-').next());
                own == test && by_name()
            }
            (None, None) => row.has_verdict,
        };
        (better, is_primary)
    }
}

/// Mean of the runs of a commit, with its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RobotValue {
    mean: f64,
    deviation_percent: Option<f64>,
}

impl RobotValue {
    /// Takes a value and its deviation, `12.5 ± 3%`, `12.5 ±141%` or `12.5 +- 3%`, from the words.
    fn take(words: &mut &[&str]) -> Option<Self> {
        let (first, mut tail) = words.split_first()?;
        let mean = number(first)?;
        let mut deviation_percent = None;
        let signed = tail.split_first().and_then(|(word, after)| {
            let attached = word.strip_prefix('±').or_else(|| word.strip_prefix("+-"))?;
            Some((attached, after))
        });
        if let Some((attached, after)) = signed {
            let (percent, after) =
                if attached.is_empty() { after.split_first()? } else { (&attached, after) };
            deviation_percent = Some(number(percent.strip_suffix('%')?)?);
            tail = after;
        }
        *words = tail;
        Some(Self { mean, deviation_percent })
    }
}

/// Number as the robot writes it: `233.10`, `1.246e+08`.
fn number(word: &str) -> Option<f64> {
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.filter(|_| !word.starts_with('+'))
}

/// Row of a table.
#[derive(Debug, PartialEq)]
struct RobotRow {
    old: RobotValue,
    new: RobotValue,
    /// Place of the change among the words, if there is one: older tables leave out small ones.
    change_word: Option<usize>,
    name: String,
    /// True if a verdict is at the end, as in treering's own tables of this form.
    has_verdict: bool,
    /// Verdict, if it says which side is better.
    is_better: Option<bool>,
}

impl RobotRow {
    fn read(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Self::of_words(&words)
    }

    fn of_words(all: &[&str]) -> Option<Self> {
        let mut words = all;
        let old = RobotValue::take(&mut words)?;
        let place = all.len() - words.len();
        let (change, behind) = words.split_first()?;
        let is_signed = *change == "n/a" || change.starts_with('+') || change.starts_with('-');
        let is_percent = change.ends_with('%') && number(change.trim_end_matches('%')).is_some();
        // Three numbers: the second is how far the value went.
        let is_difference = || {
            let mut after = behind;
            number(change).is_some() && RobotValue::take(&mut after).is_some()
        };
        let has_change = is_signed || is_percent || is_difference();
        if has_change {
            words = behind;
        }
        let change_word = has_change.then_some(place);
        let new = RobotValue::take(&mut words)?;
        let (verdict, names) = match words.split_last()? {
            (last, names) if last.starts_with('(') && last.ends_with(')') => (Some(*last), names),
            _ => (None, words),
        };
        let is_better = match verdict {
            Some("(better)") => Some(true),
            Some("(worse)") => Some(false),
            _ => None,
        };
        let name = names.join(" ");
        // A name begins with a letter, as otherwise a number of the row would be taken for one.
        let is_name =
            name.starts_with(|letter: char| letter.is_alphabetic() || "[<_".contains(letter));
        let has_verdict = verdict.is_some();
        is_name.then_some(Self { old, new, change_word, name, has_verdict, is_better })
    }
}

fn trial(commit: &str, metrics: Vec<Metric>) -> ForeignTrial {
    let message = "each value is the mean of some runs: how many, and each by itself, is not told";
    let caution = Caution { code: CautionCode::MeansOnly, message: message.to_owned() };
    let mut trial = ForeignTrial {
        workload: TOOL,
        name: commit.to_owned(),
        metrics,
        cautions: vec![caution],
        is_round: true,
        ..ForeignTrial::default()
    };
    trial.record_tool(None);
    trial.fact(COMMIT_FACT, commit);
    trial
}

#[cfg(test)]
mod tests {
    use super::{RobotRow, RobotValue};

    #[test]
    fn rows_with_and_without_deviations_are_read() {
        let row =
            RobotRow::read(" 1.246e+08 ±  3%     -15.6%  1.052e+08        x.overhead").unwrap();
        assert_eq!(row.old, RobotValue { mean: 1.246e8, deviation_percent: Some(3.0) });
        assert_eq!(row.new, RobotValue { mean: 1.052e8, deviation_percent: None });
        assert_eq!((row.name.as_str(), row.is_better), ("x.overhead", None));
        let far = RobotRow::read("  0.50 ±141%   +250.0%   1.75 ± 24%  a.b.c").unwrap();
        assert_eq!(far.old.deviation_percent, Some(141.0));
        let own = RobotRow::read(" 233.10 ±  2%  -12.5%  204.00   fio.write (worse)").unwrap();
        assert_eq!((own.name.as_str(), own.is_better), ("fio.write", Some(false)));
        for wrong in ["", "1.0 x", "1.0 2.0 3.0 4.0 x", "1.0 +2% x", "1.0 ± +2% 3 x", "1.0 +2% 3"]
        {
            assert_eq!(RobotRow::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn rows_of_older_mails_are_read_with_and_without_a_change() {
        for (text, old, new, change_word) in [
            ("  87819982        85307742        x.workload", 87_819_982.0, 85_307_742.0, None),
            ("  7275      5%    7636 ±  5%  x.idle", 7275.0, 7636.0, Some(1)),
            ("  20902 +-  5%  186%  59731 +-  5%  x.switches", 20902.0, 59731.0, Some(3)),
            ("  10903 +- 99%  -1e+04  148 +-  5%  x.max", 10903.0, 148.0, Some(3)),
            ("  3583  1e+04  14010  x.sum", 3583.0, 14010.0, Some(1)),
        ] {
            let row = RobotRow::read(text).unwrap();
            assert_eq!((row.old.mean, row.new.mean, row.change_word), (old, new, change_word));
        }
    }
}
