//! The lines of a report of FFSB.

use super::bytes_per_second;
use treering_kit::import::log::first_word;
use treering_kit::import::number::{decimal, whole};

/// Parsed output line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// First line of an output, with the version.
    Started(String),
    /// Heading of a thread group.
    Group(u64),
    /// Heading of a filesystem.
    Filesystem(String),
    /// Name and value of a profile setting, a weight or a size.
    Setting(String, String),
    /// Duration of the file setup, in seconds.
    SetUp(u64),
    /// Start time of the benchmark.
    StartingAt(String),
    /// Duration of the run in seconds.
    Took(f64),
    /// Column names of the table.
    TableBegins,
    /// Row of an operation kind.
    Row(OpRow),
    /// Transactions per second, over all operation kinds.
    Transactions(f64),
    /// Bytes read or written per second.
    Throughput(&'static str, f64),
    /// Heading of a thread group's call latencies.
    CallsBegin,
    /// Latency of a kind of call in milliseconds: minimum, mean and maximum; and the number of
    /// calls.
    Call(&'static str, [f64; 3], u64),
    /// User, system or all CPU in percent.
    Cpu(&'static str, f64),
    /// Line of FFSB that is not imported.
    Furniture,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OpRow {
    pub(super) op: String,
    pub(super) transactions: u64,
    pub(super) transactions_per_second: f64,
    /// Share of all operations that ran, in percent with three decimals.
    pub(super) operations_percent: f64,
    /// Bytes per second; `None` for operations that move no data.
    pub(super) bytes_per_second: Option<f64>,
}

/// Operation kinds in FFSB's order.
const OPS: [&str; 15] = [
    "read",
    "readall",
    "write",
    "create",
    "append",
    "delete",
    "metaop",
    "createdir",
    "stat",
    "writeall",
    "writeall_fsync",
    "open_close",
    "write_fsync",
    "create_fsync",
    "append_fsync",
];
const CALLS: [&str; 8] = ["open", "read", "write", "create", "lseek", "unlink", "close", "stat"];

/// The names of settings.
const NAMES: [&str; 25] = [
    "benchmark time",
    "num_threads",
    "read_random",
    "read_size",
    "read_blocksize",
    "read_skip",
    "read_skipsize",
    "write_random",
    "write_size",
    "fsync_file",
    "write_blocksize",
    "wait time",
    "num_dirs",
    "starting files",
    "min file size",
    "max file size",
    "directio",
    "alignedio",
    "bufferedio",
    "current utilization",
    "desired utilization",
    "init size",
    "init util",
    "create_blocksize",
    "age_blocksize",
];
/// Other first words of FFSB lines, apart from figures and rules.
const FIRST_WORDS: [&str; 21] = [
    "FFSB",
    "ThreadGroup",
    "FileSystem",
    "fs",
    "Starting",
    "Benchmark",
    "Op",
    "Read",
    "Write",
    "aging",
    "System",
    "bound",
    "op",
    "Fileset",
    "Results:",
    "Total",
    "Throughput",
    "Min",
    "creating",
    "reusing",
    "Aging",
];

/// True if a line can be FFSB output, or could before several lines were joined into this one.
pub(super) fn may_begin(text: &str) -> bool {
    let first = first_word(text);
    let figure = |byte: u8| byte.is_ascii_digit() || b"[=-".contains(&byte);
    let is_of_name =
        |name: &&str| first_word(name) == first || first.split('=').next() == Some(*name);
    first.bytes().next().is_some_and(figure)
        || FIRST_WORDS.contains(&first)
        || ["Syncing()...", "msec_range["].iter().any(|word| first.starts_with(word))
        || NAMES.iter().chain(&OPS).any(is_of_name)
}

/// Parses a line; `None` for a foreign line, which is any that differs from FFSB's format.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let text = text.trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["FFSB", "version", version, "started"] => Some(OutputLine::Started((*version).to_owned())),
        ["ThreadGroup", number] => whole(number).map(OutputLine::Group),
        ["FileSystem", place] => Some(OutputLine::Filesystem((*place).to_owned())),
        ["fs", "setup", "took", seconds, "secs"] => whole(seconds).map(OutputLine::SetUp),
        ["Starting", "Actual", "Benchmark", "At:", ..] => {
            text.split_once("At: ").map(|(_, when)| OutputLine::StartingAt(when.to_owned()))
        }
        ["Benchmark", "took", seconds, "sec"] => decimal(seconds).map(OutputLine::Took),
        ["Op", "Name", "Transactions", ..] => {
            (words.last() == Some(&"Throughput")).then_some(OutputLine::TableBegins)
        }
        [rate, "Transactions", "per", "Second"] => decimal(rate).map(OutputLine::Transactions),
        ["Read", "Throughput:", rate] => {
            Some(OutputLine::Throughput("read", bytes_per_second(rate)?))
        }
        ["Write", "Throughput:", rate] => {
            Some(OutputLine::Throughput("write", bytes_per_second(rate)?))
        }
        [percent, "User", "Time"] => cpu("User Time", percent),
        [percent, "System", "Time"] => cpu("System Time", percent),
        [percent, "CPU", "Utilization"] => cpu("CPU Utilization", percent),
        ["aging", "is", how @ ("on" | "off")] => Some(setting("aging", how)),
        ["System", "Call", "Latency", ..] => Some(OutputLine::CallsBegin),
        ["bound", "to", "fs", number] => Some(setting("bound to fs", number)),
        [size, "(", .., "->", weight, _] => size_weight(size, weight),
        [size, tail, "->", weight, _] if tail.starts_with('(') => size_weight(size, weight),
        [op, ":", figures @ ..] => row(op, figures).map(OutputLine::Row),
        _ if is_furniture(&words) => Some(OutputLine::Furniture),
        _ => call(text).or_else(|| named_value(text)),
    }
}

fn setting(name: &str, value: &str) -> OutputLine {
    OutputLine::Setting(name.to_owned(), value.to_owned())
}

fn size_weight(size: &str, weight: &str) -> Option<OutputLine> {
    whole(size)?;
    whole(weight)?;
    Some(setting(&format!("size weight {size}"), weight))
}

fn cpu(label: &'static str, percent: &str) -> Option<OutputLine> {
    Some(OutputLine::Cpu(label, decimal(percent.strip_suffix('%')?)?))
}

fn row(op: &str, figures: &[&str]) -> Option<OpRow> {
    let op = OPS.into_iter().find(|known| *known == op)?;
    // Long figures run into one another only at their percent signs.
    let joined = figures.join(" ").replace('%', "% ");
    let words: Vec<&str> = joined.split_whitespace().collect();
    let [transactions, rate, _share, weight, throughput] = words.as_slice() else { return None };
    let bytes_per_second = match *throughput {
        "NA" => None,
        size => Some(bytes_per_second(size)?),
    };
    Some(OpRow {
        op: op.to_owned(),
        transactions: whole(transactions)?,
        transactions_per_second: decimal(rate)?,
        operations_percent: decimal(weight.strip_suffix('%')?)?,
        bytes_per_second,
    })
}

/// Parses `[   open]<TAB>0.050000<TAB>3.980161<TAB>41.840000<TAB>31`.
fn call(text: &str) -> Option<OutputLine> {
    let (name, figures) = text.strip_prefix('[')?.split_once(']')?;
    let call = CALLS.into_iter().find(|call| *call == name.trim())?;
    let words: Vec<&str> = figures.split_whitespace().collect();
    let [least, mean, most, calls] = words.as_slice() else { return None };
    Some(OutputLine::Call(call, [decimal(least)?, decimal(mean)?, decimal(most)?], whole(calls)?))
}

/// Parses `num_threads      = 4` and `readall = 1 (10.00%)`, with known names only.
fn named_value(text: &str) -> Option<OutputLine> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let value = value.split_whitespace().next().unwrap_or("");
    if OPS.contains(&name) {
        whole(value)?;
        return Some(setting(&format!("{name} weight"), value));
    }
    let name = NAMES.into_iter().find(|known| *known == name)?;
    let plain = value.split('(').next().unwrap_or(value).trim();
    Some(setting(name, plain))
}

fn is_furniture(words: &[&str]) -> bool {
    let is_rule = |word: &&str| !word.is_empty() && word.bytes().all(|byte| b"=-".contains(&byte));
    if !words.is_empty() && words.iter().all(is_rule) {
        return true;
    }
    match words {
        ["op", "weights"]
        | ["Fileset", "weight:"]
        | ["Results:"]
        | ["Total" | "Throughput", "Results"]
        | ["Min", "Avg", "Max", "Total", "Calls"]
        | ["creating" | "reusing", ..]
        | ["Aging", "ThreadGroup", ..]
        | ["aging", "fs", ..] => true,
        [syncing, "sec"] => syncing.starts_with("Syncing()..."),
        ["FFSB", "benchmark", "finished", ..] => true,
        [range, ..] => range.starts_with("msec_range["),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, line};

    #[test]
    fn result_lines_are_parsed() {
        let Some(OutputLine::Row(row)) = line(
            "       create_fsync :         8234\t    719.78\t77.878%\t\t15.789%\t   2.81MB/sec",
        ) else {
            panic!()
        };
        assert_eq!((row.op.as_str(), row.transactions), ("create_fsync", 8234));
        assert_eq!((row.transactions_per_second, row.operations_percent), (719.78, 15.789));
        assert_eq!(row.bytes_per_second, Some(2.81 * 1_048_576.0));
        let Some(OutputLine::Row(row)) = line("delete : 4\t 0.35\t 0.038%\t\t10.526%\t NA") else {
            panic!()
        };
        assert_eq!(row.bytes_per_second, None);
        let parsed = |text: &str| match line(text) {
            Some(OutputLine::Setting(name, value)) => format!("{name}={value}"),
            other => format!("{other:?}"),
        };
        assert_eq!(parsed("\t read_size        = 40960\t(40KB)"), "read_size=40960");
        assert_eq!(parsed("\t         readall = 1 (10.00%)"), "readall weight=1");
        assert_eq!(parsed("\t\t     33554432 (  32MB) -> 1 (1.00%)"), "size weight 33554432=1");
        assert_eq!(parsed("\t\t       524288 ( 512KB) -> 3 (3.00%)"), "size weight 524288=3");
        assert_eq!(parsed("\t current utilization = 26.19%"), "current utilization=26.19%");
        assert_eq!(parsed("\t aging is off"), "aging=off");
        let call = line("[   open]\t0.050000\t3.980161\t41.840000\t          31");
        assert_eq!(call, Some(OutputLine::Call("open", [0.05, 3.980_161, 41.84], 31)));
        assert_eq!(line("10.0% CPU Utilization"), Some(OutputLine::Cpu("CPU Utilization", 10.0)));
        assert_eq!(line("   -"), Some(OutputLine::Furniture));
        assert_eq!(line("Syncing()...1 sec"), Some(OutputLine::Furniture));
    }

    #[test]
    fn foreign_lines_are_ignored() {
        for text in ["", "x = 3", "[   sync] 1 2 3 4", "create : 1 2 3", "anything at all"] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
