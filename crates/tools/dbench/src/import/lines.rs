//! The lines of an output of dbench.

use treering_kit::import::log::{first_word, shortened};
use treering_kit::import::number::{decimal, whole};

/// Parsed output line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// First line of an output, with the version.
    Started(String),
    /// Start of a run: its time limit, load file and warm-up.
    Running { seconds: u64, load: String, warm_up_seconds: u64 },
    /// Progress line of one second.
    Tick(ProgressLine),
    /// End of a pass over the load.
    Pass(PassLine),
    /// The names of the columns of the table of operations.
    TableBegins,
    /// Row of the operation table.
    Row(OperationRow),
    /// Heading of the table of one client.
    OfClient,
    /// Result line.
    Result(ResultLine),
    /// Error message of a client that failed, or could not be started.
    Failed(String),
    /// Line of dbench that is not imported.
    Furniture,
}

/// Progress line of one second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProgressLine {
    pub(super) is_warm_up: bool,
    pub(super) clients: u64,
    /// Mean number of load lines played by a client.
    pub(super) lines: u64,
    /// 10^6 bytes per second since the phase began.
    pub(super) mb_per_second: f64,
    /// Seconds since the phase began.
    pub(super) seconds: u64,
    /// Maximum latency of a client since the last tick, in milliseconds. Absent in dbench 3.
    pub(super) latency_ms: Option<f64>,
}

/// Execution time of a client's pass over the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PassLine {
    pub(super) client: u64,
    pub(super) ms: u64,
}

/// Row of the operation table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OperationRow {
    pub(super) op: String,
    pub(super) count: u64,
    pub(super) mean_ms: f64,
    pub(super) longest_ms: f64,
}

/// Result line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ResultLine {
    pub(super) mb_per_second: f64,
    /// State of `-s` and `-S` as printed; `None` for a machine-readable line, which lacks them.
    pub(super) synchronous: Option<(bool, bool)>,
    pub(super) clients: u64,
    pub(super) processes: u64,
    pub(super) latency_ms: Option<f64>,
}

/// True if a line can begin an output, or could before several lines were joined into this one.
pub(super) fn may_begin(text: &str) -> bool {
    let first = first_word(text);
    match first.as_bytes().first() {
        Some(b'@' | b';') => true,
        Some(b'0'..=b'9') => {
            let second = text.split_whitespace().nth(1);
            let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
            is_count(first) && second.is_none_or(|word| word == "completed" || is_count(word))
        }
        Some(_) => ["dbench", "Running", "Operation", "Throughput"].contains(&first),
        None => false,
    }
}

/// Parses a line; `None` for a foreign line, which is any that differs from dbench's format.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let failed = || OutputLine::Failed(shortened(text));
    match words.as_slice() {
        ["dbench", "version", version, "-", "Copyright", ..] => {
            Some(OutputLine::Started((*version).to_owned()))
        }
        ["Running", "for", seconds, "seconds", "with", "load", ..] => running(text, seconds),
        [_, _, _, "MB/sec", phase @ ("warmup" | "execute" | "cleanup"), ..] => tick(&words, phase),
        [clients, "cleanup", seconds, "sec"] => {
            whole(clients).and(decimal(seconds)).map(|_| OutputLine::Furniture)
        }
        [client, "completed", "in", ms, "ms", "at", "time", at, "ms"] => {
            decimal(at)?;
            Some(OutputLine::Pass(PassLine { client: whole(client)?, ms: whole(ms)? }))
        }
        ["Operation", "Count", "AvgLat", "MaxLat"] => Some(OutputLine::TableBegins),
        ["Client", number, "did", lines, "lines", "and", bytes, "bytes"] => {
            whole(number).and(whole(lines)).and(decimal(bytes)).map(|_| OutputLine::OfClient)
        }
        ["Throughput", rate, "MB/sec", tail @ ..] => outcome(rate, tail).map(OutputLine::Result),
        ["Child", "failed", "with", "status", status] => whole(status).map(|_| failed()),
        ["FAILED", "TO", "START", _, "CLIENTS", ..] => Some(failed()),
        [word] => machine_line(word),
        [op, count, mean, longest] => row(op, count, mean, longest),
        _ if is_furniture(&words) => Some(OutputLine::Furniture),
        _ => None,
    }
}

fn running(text: &str, seconds: &str) -> Option<OutputLine> {
    let (load, tail) = text.split_once(" load '")?.1.rsplit_once("' and minimum warmup ")?;
    let warm_up_seconds = whole(tail.trim().strip_suffix(" secs")?)?;
    Some(OutputLine::Running { seconds: whole(seconds)?, load: load.to_owned(), warm_up_seconds })
}

fn tick(words: &[&str], phase: &str) -> Option<OutputLine> {
    let [clients, lines, rate, _, _, seconds, "sec", tail @ ..] = words else { return None };
    let latency_ms = match tail {
        [] => None,
        // Text appended to the line by others must not be read as a second tick.
        ["latency", ms, "ms", noted @ ..] if !noted.contains(&"MB/sec") => Some(decimal(ms)?),
        _ => return None,
    };
    let tick = ProgressLine {
        is_warm_up: phase == "warmup",
        clients: whole(clients)?,
        lines: whole(lines)?,
        mb_per_second: decimal(rate)?,
        seconds: whole(seconds)?,
        latency_ms,
    };
    Some(if phase == "cleanup" { OutputLine::Furniture } else { OutputLine::Tick(tick) })
}

fn row(op: &str, count: &str, mean: &str, longest: &str) -> Option<OutputLine> {
    let is_word = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_';
    if !op.bytes().all(is_word) || !op.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let (count, longest_ms) = (whole(count)?, decimal(longest)?);
    // A client did none of what others did.
    if count == 0 {
        return mean.ends_with("nan").then_some(OutputLine::Furniture);
    }
    Some(OutputLine::Row(OperationRow {
        op: op.to_owned(),
        count,
        mean_ms: decimal(mean)?,
        longest_ms,
    }))
}

fn outcome(rate: &str, tail: &[&str]) -> Option<ResultLine> {
    let (sync_open, tail) = match tail {
        ["(sync", "open)", tail @ ..] => (true, tail),
        tail => (false, tail),
    };
    let (sync_dirs, tail) = match tail {
        ["(sync", "dirs)", tail @ ..] => (true, tail),
        tail => (false, tail),
    };
    let mut outcome = ResultLine {
        mb_per_second: general(rate)?,
        synchronous: Some((sync_open, sync_dirs)),
        clients: 0,
        processes: 0,
        latency_ms: None,
    };
    match tail {
        [processes, "procs"] => {
            outcome.processes = whole(processes)?;
            outcome.clients = outcome.processes;
        }
        [clients, "clients", processes, "procs", latency, "ms"] => {
            outcome.clients = whole(clients)?;
            outcome.processes = whole(processes)?;
            outcome.latency_ms = Some(decimal(latency.strip_prefix("max_latency=")?)?);
        }
        _ => return None,
    }
    Some(outcome)
}

/// Parses a number in the format of C's `%g`.
fn general(word: &str) -> Option<f64> {
    let Some((digits, power)) = word.split_once('e') else { return decimal(word) };
    let (sign, power) = power.split_at_checked(1)?;
    let power = i32::try_from(whole(power)?).ok().filter(|power| *power <= 99)?;
    match sign {
        "+" => Some(decimal(digits)? * 10_f64.powi(power)),
        "-" => Some(decimal(digits)? * 10_f64.powi(-power)),
        _ => None,
    }
}

/// Parses the forms of `--machine-readable`: `@R@2@90@95.00@9@3.1@`, `:Flush:1:0.5:0.5:`,
/// `;95;2;2;3.1;` and `@E@0@812`.
fn machine_line(word: &str) -> Option<OutputLine> {
    if let Some(fields) = word.strip_prefix(';').and_then(|tail| tail.strip_suffix(';')) {
        let fields: Vec<&str> = fields.split(';').collect();
        let [rate, clients, processes, latency] = fields.as_slice() else { return None };
        return Some(OutputLine::Result(ResultLine {
            mb_per_second: general(rate)?,
            synchronous: None,
            clients: whole(clients)?,
            processes: whole(processes)?,
            latency_ms: Some(decimal(latency)?),
        }));
    }
    if let Some(fields) = word.strip_prefix(':').and_then(|tail| tail.strip_suffix(':')) {
        let fields: Vec<&str> = fields.split(':').collect();
        let [op, count, mean, longest] = fields.as_slice() else { return None };
        return row(op, count, mean, longest);
    }
    let fields: Vec<&str> = word.strip_prefix('@')?.trim_end_matches('@').split('@').collect();
    match fields.as_slice() {
        ["E", client, ms] => {
            Some(OutputLine::Pass(PassLine { client: whole(client)?, ms: whole(ms)? }))
        }
        [phase @ ("W" | "R" | "C"), clients, lines, rate, seconds, latency] => {
            let tick = ProgressLine {
                is_warm_up: *phase == "W",
                clients: whole(clients)?,
                lines: whole(lines)?,
                mb_per_second: decimal(rate)?,
                seconds: whole(seconds)?,
                latency_ms: Some(decimal(latency)?),
            };
            Some(if *phase == "C" { OutputLine::Furniture } else { OutputLine::Tick(tick) })
        }
        _ => None,
    }
}

fn is_furniture(words: &[&str]) -> bool {
    match words {
        [ready, "of", total, "processes", "prepared", "for", "launch", ..] => {
            whole(ready).and(whole(total)).is_some()
        }
        [clients, "clients", "started"] => whole(clients).is_some(),
        ["releasing" | "Releasing", "clients"]
        | ["Per", "client", "results:"]
        | ["failed", "to", "create", "barrier", "semaphore"]
        | ["Waiting", "for", "child", "processes", "to", "finish", "setup."] => true,
        ["create", _, "procs?", ..] => true,
        _ => false,
    }
}

/// True for the rule below the column names.
pub(super) fn is_rule(text: &str) -> bool {
    let text = text.trim();
    text.len() >= 40 && text.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, PassLine, ProgressLine, ResultLine, general, line};

    #[test]
    fn ticks_of_all_versions_are_read() {
        let tick = ProgressLine {
            is_warm_up: false,
            clients: 2,
            lines: 90_760,
            mb_per_second: 95.0,
            seconds: 9,
            latency_ms: Some(355.893),
        };
        let line_text = "   2     90760    95.00 MB/sec  execute   9 sec  latency 355.893 ms";
        assert_eq!(line(line_text), Some(OutputLine::Tick(tick)));
        assert_eq!(line(&format!("{line_text} *1")), Some(OutputLine::Tick(tick)));
        assert_eq!(line("@R@2@90760@95.00@9@355.893@"), Some(OutputLine::Tick(tick)));
        let old = "   2     90760    95.00 MB/sec  execute   9 sec   ";
        assert_eq!(line(old), Some(OutputLine::Tick(ProgressLine { latency_ms: None, ..tick })));
        assert_eq!(line("   2  cleanup  10 sec"), Some(OutputLine::Furniture));
        assert_eq!(line("   2  6 95.00 MB/sec  cleanup  10 sec   "), Some(OutputLine::Furniture));
        assert_eq!(line(&format!("{line_text} {line_text}")), None, "glued");
    }

    #[test]
    fn result_lines_give_the_run_options() {
        let line_text = "Throughput 497.551 MB/sec (sync open) (sync dirs)  32 clients  4 procs  \
                    max_latency=713.045 ms";
        let outcome = ResultLine {
            mb_per_second: 497.551,
            synchronous: Some((true, true)),
            clients: 32,
            processes: 4,
            latency_ms: Some(713.045),
        };
        assert_eq!(line(line_text), Some(OutputLine::Result(outcome)));
        let machine = ResultLine { synchronous: None, ..outcome };
        assert_eq!(line(";497.551;32;4;713.045;"), Some(OutputLine::Result(machine)));
        let old = ResultLine {
            mb_per_second: 179.726,
            synchronous: Some((false, false)),
            clients: 20,
            processes: 20,
            latency_ms: None,
        };
        assert_eq!(line("Throughput 179.726 MB/sec 20 procs"), Some(OutputLine::Result(old)));
        assert_eq!(general("1.02e+06"), Some(1_020_000.0));
        assert_eq!(general("2e-05"), Some(2.0 / 100_000.0));
        for odd in ["", "e+1", "1e1", "1e+999", "nan", "-1", "1e", "1eä2"] {
            assert_eq!(general(odd), None, "{odd}");
        }
    }

    #[test]
    fn passes_are_read() {
        let pass = Some(OutputLine::Pass(PassLine { client: 3, ms: 812 }));
        assert_eq!(line("   3 completed in 812 ms at time 4711 ms"), pass);
        assert_eq!(line("@E@3@812"), pass);
    }

    #[test]
    fn foreign_lines_are_ignored() {
        for text in [
            "",
            "Throughput 5 MB/sec",
            "Throughput was 5 MB/sec 3 procs",
            "the test completed in 3 ms at time 4 ms",
            "a 1 2 x",
            "7 1 2.0 3.0",
            "@R@1@",
            "@@@@",
            ";;;;;",
            "::::",
            "Running for 3 seconds with load 'x",
            "1 2 3 4",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
