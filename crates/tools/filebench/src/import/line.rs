//! Lines of filebench 1.4 and 1.5. Most begin with the seconds since its start, those of 1.4 with a
//! process number before that.

use treering_kit::import::log::shortened;
use treering_kit::import::number::{decimal, whole};

/// Parsed line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// First line, with the version.
    Version(String),
    /// Name of the loaded personality.
    Personality(String),
    /// Variable of the personality: its name and value.
    Variable(String, String),
    /// Fileset: its name and attributes.
    Fileset(String, Vec<(&'static str, String)>),
    /// Number of started processes or threads, their name, and the kind.
    Starting(u64, String, &'static str),
    /// Measured time in seconds.
    Took(u64),
    /// Heading of the kinds of operation.
    Breakdown,
    /// Figures of one kind of operation.
    Flow(FlowopLine),
    /// Figures of all operations together.
    Summary(SummaryLine),
    /// Message that the run failed, so that its figures are invalid.
    Failed(String),
    /// Last line of the output.
    End,
    /// Decoration without information.
    Decoration,
}

/// Figures of one kind of operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FlowopLine {
    pub(super) name: String,
    pub(super) calls: u64,
    pub(super) ops_per_second: f64,
    pub(super) mib_per_second: f64,
    pub(super) mean_ms: f64,
    /// CPU time of an operation, printed by 1.4 only.
    pub(super) cpu_us: Option<f64>,
    pub(super) least_ms: f64,
    pub(super) most_ms: f64,
    /// Latency histogram by powers of two of nanoseconds; empty if not enabled.
    pub(super) counts: Vec<u64>,
}

/// Figures of all operations together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SummaryLine {
    pub(super) operations: u64,
    pub(super) ops_per_second: f64,
    pub(super) reads_per_second: f64,
    pub(super) writes_per_second: f64,
    pub(super) mib_per_second: f64,
    pub(super) mean_ms: f64,
    /// CPU time of an operation, printed by 1.4 only.
    pub(super) cpu_us: Option<f64>,
}

/// Number of histogram buckets.
const BUCKETS: usize = 64;

/// Parses a line.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let text = text.trim();
    if let Some(version) = text.strip_prefix("Filebench Version ") {
        let is_word = !version.is_empty() && version.len() <= 40 && !version.contains(' ');
        return is_word.then(|| OutputLine::Version(version.to_owned()));
    }
    if let Some(flow) = flow(text) {
        return Some(OutputLine::Flow(flow));
    }
    let tail = untimed(text);
    if let Some(words) = failure(tail.unwrap_or(text)) {
        return Some(OutputLine::Failed(words));
    }
    if let Some(text) =
        text.strip_prefix("IO Summary:").or_else(|| tail?.strip_prefix("IO Summary:"))
    {
        return summary(text).map(OutputLine::Summary);
    }
    let tail = tail?;
    Some(timed_line(tail).unwrap_or(OutputLine::Decoration))
}

/// Line without its leading time.
fn untimed(text: &str) -> Option<&str> {
    let (first, tail) = text.split_once(": ")?;
    let is_time = |word: &str| word.contains('.') && decimal(word).is_some();
    if is_time(first) {
        return Some(tail.trim());
    }
    whole(first)?;
    let (time, tail) = tail.trim_start().split_once(": ")?;
    is_time(time).then(|| tail.trim())
}

/// Message of a line about a failed run, or the reason of the failure.
fn failure(text: &str) -> Option<String> {
    let says = [
        "Unexpected Process termination",
        "could not obtain a file",
        "Failed to create filesets",
        "Run stopped early",
        "NO VALID RESULTS",
    ];
    let is_one = says.into_iter().any(|words| text.contains(words));
    is_one.then(|| shortened(text))
}

fn timed_line(text: &str) -> Option<OutputLine> {
    if let Some(name) = text.strip_suffix(" personality successfully loaded") {
        return Some(OutputLine::Personality(name.to_owned()));
    }
    if let Some(name) = text.strip_suffix(" personality")
        && name.contains(" Version ")
    {
        return Some(OutputLine::Personality(name.to_owned()));
    }
    if let Some((name, value)) = text.strip_prefix('$').and_then(|text| text.split_once('=')) {
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let is_value = is_name && !value.is_empty() && !value.contains(char::is_whitespace);
        return is_value.then(|| OutputLine::Variable(name.to_owned(), value.to_owned()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["Starting", count, name, "instances"] => {
            Some(OutputLine::Starting(whole(count)?, (*name).to_owned(), "instances"))
        }
        ["Starting", count, name, "threads"] => {
            Some(OutputLine::Starting(whole(count)?, (*name).to_owned(), "threads"))
        }
        ["Run", "took", seconds, ..] => whole(seconds).map(OutputLine::Took),
        ["Per-Operation", "Breakdown"] => Some(OutputLine::Breakdown),
        ["Shutting", "down", "processes"] => Some(OutputLine::End),
        ["Fileset", name, ..] => fileset(name.trim_end_matches(':'), text),
        [name, "populated:", ..] => fileset(name, text),
        _ => None,
    }
}

/// Parses `bigfileset populated: 10000 files, avg. dir. width = 1000000, avg. dir. depth = 0.7, 0
/// leafdirs, 156.250MB total size`, and of 1.4 `Fileset bigfileset: 20000 files, 0 leafdirs, avg
/// dir width = 200, avg dir depth = 1.9, 2483.404MB`.
fn fileset(name: &str, text: &str) -> Option<OutputLine> {
    let (_, tail) = text.split_once(": ")?;
    let mut attributes = Vec::new();
    for part in tail.split(", ") {
        let words: Vec<&str> = part.split_whitespace().collect();
        match words.as_slice() {
            [count, "files"] => attributes.push(("files", whole(count)?.to_string())),
            [count, "leafdirs"] => attributes.push(("leafdirs", whole(count)?.to_string())),
            ["avg." | "avg", "dir." | "dir", "width", "=", width] => {
                attributes.push(("dir width", whole(width)?.to_string()));
            }
            ["avg." | "avg", "dir." | "dir", "depth", "=", depth] => {
                attributes.push(("dir depth", decimal(depth)?.to_string()));
            }
            [size] | [size, "total", "size"] if size.ends_with("MB") => {
                attributes.push(("size", (*size).to_owned()));
            }
            _ => {}
        }
    }
    (!attributes.is_empty()).then(|| OutputLine::Fileset(name.to_owned(), attributes))
}

/// Parses `readfile6  157274ops  15524ops/s 127.3mb/s    0.031ms/op [0.001ms - 274.650ms]`, in 1.4
/// with `2489us/op-cpu` before the brackets.
fn flow(text: &str) -> Option<FlowopLine> {
    let (figures, tail) = text.split_once('[')?;
    let (range, tail) = tail.split_once(']')?;
    let (least, most) = range.split_once(" - ")?;
    let words: Vec<&str> = figures.split_whitespace().collect();
    let (words, cpu) = match words.as_slice() {
        [words @ .., cpu] if cpu.ends_with("us/op-cpu") => (words, Some(*cpu)),
        words => (words, None),
    };
    let [name, calls, rate, data, mean] = words else { return None };
    let ms = |word: &str| decimal(word.trim().strip_suffix("ms")?);
    let cpu_us = match cpu {
        Some(cpu) => Some(decimal(cpu.strip_suffix("us/op-cpu")?)?),
        None => None,
    };
    Some(FlowopLine {
        name: (*name).to_owned(),
        calls: whole(calls.strip_suffix("ops")?)?,
        ops_per_second: decimal(rate.strip_suffix("ops/s")?)?,
        mib_per_second: decimal(data.strip_suffix("mb/s")?)?,
        mean_ms: decimal(mean.strip_suffix("ms/op")?)?,
        cpu_us,
        least_ms: ms(least)?,
        most_ms: ms(most)?,
        counts: counts(tail).unwrap_or_default(),
    })
}

/// Parses `[ 0 0 12 … ]`.
fn counts(text: &str) -> Option<Vec<u64>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let counts: Option<Vec<u64>> = inner.split_whitespace().map(whole).collect();
    counts.filter(|counts| counts.len() <= BUCKETS)
}

/// Parses `2988457 ops 294980.482 ops/s 77631/15530 rd/wr 759.1mb/s 0.099ms/op`, and of 1.4 `19565
/// ops, 1956.320 ops/s, (0/0 r/w),   0.0mb/s,      0us cpu/op,   0.0ms latency`.
fn summary(text: &str) -> Option<SummaryLine> {
    let plain = text.replace(['(', ')', ','], " ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let [operations, "ops", rate, "ops/s", both, "rd/wr" | "r/w", tail @ ..] = words.as_slice()
    else {
        return None;
    };
    let (reads, writes) = both.split_once('/')?;
    let (data, mean, cpu_us) = match tail {
        [data, mean] => (data, mean.strip_suffix("ms/op")?, None),
        [data, cpu, "cpu/op", mean, "latency"] => {
            (data, mean.strip_suffix("ms")?, Some(decimal(cpu.strip_suffix("us")?)?))
        }
        _ => return None,
    };
    Some(SummaryLine {
        operations: whole(operations)?,
        ops_per_second: decimal(rate)?,
        reads_per_second: decimal(reads)?,
        writes_per_second: decimal(writes)?,
        mib_per_second: decimal(data.strip_suffix("mb/s")?)?,
        mean_ms: decimal(mean)?,
        cpu_us,
    })
}

#[cfg(test)]
mod tests {
    use super::{FlowopLine, OutputLine, SummaryLine, line};

    #[test]
    fn lines_of_1_4_and_1_5_are_parsed() {
        let new = FlowopLine {
            name: "readfile6".into(),
            calls: 157_274,
            ops_per_second: 15_524.0,
            mib_per_second: 127.3,
            mean_ms: 0.031,
            least_ms: 0.001,
            most_ms: 274.65,
            ..FlowopLine::default()
        };
        let text = "readfile6  157274ops  15524ops/s 127.3mb/s    0.031ms/op [0.001ms - 274.650ms]";
        assert_eq!(line(text), Some(OutputLine::Flow(new.clone())));
        let counted = FlowopLine { counts: vec![0, 12], ..new };
        assert_eq!(line(&format!("{text}\t[ 0 12 ]")), Some(OutputLine::Flow(counted)));
        let old =
            "statfile1  19565ops  1956ops/s  0.0mb/s  10.1ms/op  2489us/op-cpu [2ms - 1296ms]";
        let Some(OutputLine::Flow(old)) = line(old) else { panic!() };
        assert_eq!((old.cpu_us, old.least_ms, old.most_ms), (Some(2489.0), 2.0, 1296.0));
        let summary = SummaryLine {
            operations: 19_565,
            ops_per_second: 1956.32,
            reads_per_second: 3.0,
            writes_per_second: 4.0,
            mib_per_second: 0.5,
            mean_ms: 0.1,
            cpu_us: None,
        };
        let new = "11.770: IO Summary: 19565 ops 1956.320 ops/s 3/4 rd/wr   0.5mb/s 0.100ms/op";
        assert_eq!(line(new), Some(OutputLine::Summary(summary)));
        let old = " 481: 11.770: IO Summary: 19565 ops, 1956.320 ops/s, (3/4 r/w),   0.5mb/s,      \
                   7us cpu/op,   0.1ms latency";
        assert_eq!(
            line(old),
            Some(OutputLine::Summary(SummaryLine { cpu_us: Some(7.0), ..summary }))
        );
        assert_eq!(line("35318: 422.793: Running..."), Some(OutputLine::Decoration));
        assert_eq!(line("0.010: Run took 60 seconds..."), Some(OutputLine::Took(60)));
    }

    #[test]
    fn variables_of_a_personality_are_parsed() {
        let variable =
            |name: &str, value: &str| Some(OutputLine::Variable(name.to_owned(), value.to_owned()));
        assert_eq!(line("0.002:     $nfiles=10240"), variable("nfiles", "10240"));
        assert_eq!(line("0.002:     $dir=/tmp"), variable("dir", "/tmp"));
        assert_eq!(line("0.002:     $a b=1"), Some(OutputLine::Decoration));
        let named = "0.002:   File-server Version 3.0 personality";
        let personality = OutputLine::Personality("File-server Version 3.0".to_owned());
        assert_eq!(line(named), Some(personality));
    }

    #[test]
    fn foreign_and_broken_lines_are_not_recognised() {
        for text in [
            "",
            "Portfolio Summary: 7",
            "12: a list",
            "11.770: IO Summary: 19565 ops 1956.320 ops/s 3/4 rd/wr",
            "readfile6  157274ops  15524ops/s 127.3mb/s    0.031ms/op [0.001ms -",
            "Filebench Version 1 and more",
        ] {
            let parsed = line(text);
            assert!(matches!(parsed, None | Some(OutputLine::Decoration)), "{text}: {parsed:?}");
        }
        assert_eq!(line("11.770: IO Summary: 19565 ops 1956.320 ops/s 3/4 rd/wr"), None);
    }
}
