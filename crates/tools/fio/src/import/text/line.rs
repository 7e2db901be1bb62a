//! Lines of fio's normal output, of 1.38 to 3.x. A line that a mail program broke is not recognised
//! until it is complete: lists end without a comma.

use super::super::size::{PrintedNumber, UnitBase, bytes, count, unit_ns};
use crate::report::{COUNTS, Statistic, limit_ns};
use treering_kit::import::number::{ctime_unix_ms, decimal, whole};

/// Parsed line of the normal output.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputLine {
    /// Header of a job, with its parameters.
    JobHeader(JobHeader),
    /// Version of fio.
    Version(String),
    /// Start of a job's result.
    ResultHeader(ResultHeader),
    /// Totals of a direction.
    DirectionTotals(DirectionTotals),
    /// Latency statistic in nanoseconds, of `slat`, `clat`, `lat` or `sync`.
    Times(&'static str, Statistic),
    /// Heading of percentiles: the latency kind, and the unit in nanoseconds.
    Percentiles(&'static str, u64),
    /// Percentiles as printed, with values in units of their heading.
    PercentileRow(Vec<(String, f64)>),
    /// Bandwidth samples, with their printed unit (`KB`).
    Bandwidth(String, Statistic),
    /// Samples of operations per second.
    Iops(Statistic),
    /// Histogram: upper limits in nanoseconds, with the percentage of the operations.
    Shares(Vec<(u64, f64)>),
    /// User and system CPU in percent, and counters.
    Cpu([f64; 2], Vec<(&'static str, u64)>),
    /// Distribution of depths, in percent.
    Levels(&'static str, String),
    /// Issued requests: reads, writes, trims and, in newer versions, syncs.
    IssuedTotals(Vec<u64>),
    /// Number of errors.
    Errors(u64),
    /// Heading of the totals of a group.
    Status(u64),
    /// Total of a group in one direction: the direction, the printed amount, and the meaning of its
    /// units.
    GroupTotal(&'static str, String, UnitBase),
    /// Heading of the devices.
    Disks,
    /// Statistics of a device.
    Disk(String, Vec<(String, String)>),
    /// Note that the job was interrupted.
    Stopped,
    /// Decoration of the output without information.
    Furniture,
}

/// Header of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct JobHeader {
    pub(super) name: String,
    pub(super) group: u64,
    pub(super) parameters: Vec<(String, String)>,
}

/// First line of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ResultHeader {
    pub(super) name: String,
    pub(super) group: u64,
    pub(super) clones: u64,
    pub(super) error: u64,
    pub(super) pid: u64,
    pub(super) when_unix_ms: Option<i64>,
}

/// Totals of a direction, as printed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DirectionTotals {
    pub(super) direction: &'static str,
    pub(super) size: String,
    pub(super) rate: String,
    pub(super) iops: Option<PrintedNumber>,
    pub(super) runtime_ms: u64,
    /// Meaning of the units: as written, with an `i` for powers of 1024, or not.
    pub(super) kilo: UnitBase,
}

/// Words before the colon for each direction.
const MOVES: [(&str, &str); 4] =
    [("read", "read"), ("write", "write"), ("trim", "trim"), ("mixed", "mixed")];
const SUMS: [(&str, &str); 5] =
    [("READ", "read"), ("WRITE", "write"), ("TRIM", "trim"), ("MIXED", "mixed"), ("SYNC", "sync")];
const TIMES: [&str; 4] = ["slat", "clat", "lat", "sync"];

/// Parses a complete line. Mail programs replace repeated blanks by non-breaking ones.
pub(super) fn line(text: &str) -> Option<OutputLine> {
    if text.contains('\u{a0}') {
        return line_of_blanks(text.replace('\u{a0}', " ").trim());
    }
    line_of_blanks(text.trim())
}

fn line_of_blanks(text: &str) -> Option<OutputLine> {
    if let Some(line) = decoration(text) {
        return Some(line);
    }
    if text.starts_with('|') || text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return percentile_row(text).map(OutputLine::PercentileRow);
    }
    if text.contains(": (groupid=") {
        return begin(text, true).map(OutputLine::ResultHeader);
    }
    if text.contains(": (g=") {
        return head(text).map(OutputLine::JobHeader);
    }
    let (what, rest) = text.split_once(':')?;
    let (what, rest) = (what.trim_end(), rest.trim_start());
    if let Some((_, direction)) = MOVES.into_iter().find(|(word, _)| *word == what) {
        return moved(direction, rest).map(OutputLine::DirectionTotals);
    }
    if let Some((_, direction)) = SUMS.into_iter().find(|(word, _)| *word == what) {
        return sum(direction, rest);
    }
    match what {
        "IO depths" => levels("io_depths", rest),
        "submit" => levels("submit", rest),
        "complete" => levels("complete", rest),
        "cpu" => cpu(rest),
        "iops" => spread(&pairs(rest)?, decimal).map(OutputLine::Iops),
        "issued" | "issued r/w" | "issued r/w/d" | "issued rwt" | "issued rwts" => issued(rest),
        "errors" => {
            let total = rest.strip_prefix("total=")?.split(',').next()?;
            rest.contains("first_error=").then(|| whole(total).map(OutputLine::Errors)).flatten()
        }
        "Disk stats (read/write)" => Some(OutputLine::Disks),
        _ => of_unit(what, rest).or_else(|| disk(what, rest)),
    }
}

/// Parses the first line of a result that ends in unknown text.
pub(super) fn loose_begin(text: &str) -> Option<OutputLine> {
    begin(text.trim(), false).map(OutputLine::ResultHeader)
}

fn decoration(text: &str) -> Option<OutputLine> {
    // Before 2.1 without the dash.
    if let Some(version) = text.strip_prefix("fio-").or_else(|| text.strip_prefix("fio ")) {
        let version = version.trim();
        return is_version(version).then(|| OutputLine::Version(version.to_owned()));
    }
    if let Some(rest) = text.strip_prefix("Run status group ") {
        return whole(rest.strip_suffix(" (all jobs):")?).map(OutputLine::Status);
    }
    if text.starts_with("fio: terminating on signal") {
        return Some(OutputLine::Stopped);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_start = match words.as_slice() {
        ["Starting", number, .., what] => {
            let is_what = matches!(*what, "thread" | "threads" | "process" | "processes");
            is_what && whole(number).is_some()
        }
        _ => false,
    };
    let is_known = text == "..."
        || is_start
        || text.starts_with("Jobs: ")
        || text.starts_with("fsync/fdatasync/sync_file_range:")
        || text.starts_with("note: both iodepth")
        || text.strip_suffix(" zone resets").is_some_and(|count| whole(count).is_some())
        || text.starts_with("dropped=")
        || text.starts_with("latency   :")
        || text.contains(": Laying out IO file");
    is_known.then_some(OutputLine::Furniture)
}

/// True for versions such as `1.59`, `2.1.11`, `3.33`, `3.33-12-gabcdef`.
fn is_version(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    word.len() <= 40
        && word.starts_with(|letter: char| letter.is_ascii_digit())
        && word.bytes().all(is_plain)
}

/// Parses a complete list of `name=value`, separated by commas and blanks.
fn pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    let pair = |part: &'_ str| -> Option<(usize, usize)> {
        let at = part.rfind('=')?;
        Some((at, part.len()))
    };
    let mut pairs = Vec::new();
    for part in text.split(", ") {
        let (at, _) = pair(part)?;
        let (name, value) = (part[..at].trim(), part[at + 1..].trim());
        let is_whole = !value.is_empty() && !value.ends_with(',') && !value.contains(' ');
        if name.is_empty() || !is_whole {
            return None;
        }
        pairs.push((name, value));
    }
    Some(pairs)
}

fn value<'t>(pairs: &[(&str, &'t str)], name: &str) -> Option<&'t str> {
    pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn percent(word: &str) -> Option<f64> {
    decimal(word.strip_suffix('%')?)
}

/// Parses `min=48, max=55,230, avg=167.95, stdev=248.50`, in any order among other pairs.
fn spread(pairs: &[(&str, &str)], number: impl Fn(&str) -> Option<f64>) -> Option<Statistic> {
    let read = |name: &str| number(value(pairs, name)?);
    Some(Statistic {
        least: read("min")?,
        most: read("max")?,
        mean: read("avg")?,
        deviation: read("stdev")?,
    })
}

/// Parses `seq-read: (g=0): rw=read, bs=8K-8K/8K-8K, ioengine=libaio, iodepth=8`.
fn head(text: &str) -> Option<JobHeader> {
    let (name, rest) = text.split_once(": (g=")?;
    let (group, rest) = rest.split_once("): ")?;
    let mut parameters: Vec<(String, String)> = Vec::new();
    for part in rest.split(", ") {
        match (part.split_once('='), parameters.last_mut()) {
            (Some((name, value)), _) => parameters.push((name.to_owned(), value.to_owned())),
            (None, Some((_, value))) => *value = format!("{value}, {part}"),
            (None, None) => return None,
        }
    }
    let (last, depth) = parameters.last()?;
    whole(depth).filter(|_| last == "iodepth" && !name.is_empty())?;
    Some(JobHeader { name: name.to_owned(), group: whole(group)?, parameters })
}

/// Parses `seq-read: (groupid=0, jobs=4): err= 0: pid=1646: Fri Nov 20 17:41:26 2026`.
fn begin(text: &str, is_strict: bool) -> Option<ResultHeader> {
    let (name, rest) = text.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (clones, rest) = rest.split_once("): err=")?;
    let (error, rest) = rest.split_once(": pid=")?;
    let (pid, when) = rest.split_once(':').unwrap_or((rest, ""));
    let when_unix_ms = ctime_unix_ms(when);
    let is_whole = when.trim().is_empty() || when_unix_ms.is_some();
    let error = error.split('(').next()?.trim();
    (!name.is_empty() && (is_whole || !is_strict)).then_some(ResultHeader {
        name: name.to_owned(),
        group: whole(group)?,
        clones: whole(clones)?,
        error: whole(error)?,
        pid: whole(pid.trim())?,
        when_unix_ms,
    })
}

/// Parses `io=2,835MB, bw=24,192KB/s, iops=3,023, runt=120021msec`, and `IOPS=296k, BW=2316MiB/s
/// (2429MB/s)(9267MiB/4001msec)`.
fn moved(direction: &'static str, text: &str) -> Option<DirectionTotals> {
    if let Some(rest) = text.strip_prefix("IOPS=") {
        let (iops, rest) = rest.split_once(", BW=")?;
        let (rate, rest) = rest.split_once(" (")?;
        let (_, rest) = rest.split_once(")(")?;
        let (size, rest) = rest.split_once('/')?;
        let (runtime, behind) = rest.split_once(')')?;
        let is_all = behind.is_empty() || behind.starts_with(';');
        return is_all.then_some(DirectionTotals {
            direction,
            size: size.to_owned(),
            rate: rate.to_owned(),
            iops: Some(count(iops)?),
            runtime_ms: whole(runtime.strip_suffix("msec")?)?,
            kilo: UnitBase::AsWritten,
        });
    }
    let pairs = pairs(text)?;
    let totals = DirectionTotals {
        direction,
        size: value(&pairs, "io")?.to_owned(),
        rate: value(&pairs, "bw")?.to_owned(),
        iops: value(&pairs, "iops").and_then(count),
        runtime_ms: whole(value(&pairs, "runt")?.strip_suffix("msec")?)?,
        kilo: UnitBase::Always1024,
    };
    bytes(&totals.size, totals.kilo)?;
    bytes(&totals.rate, totals.kilo)?;
    Some(totals)
}

/// Parses `io=2,835MB, aggrb=24,191KB/s, …` and `bw=2316MiB/s (2429MB/s), …, io=9267MiB (9717MB),
/// run=…`.
fn sum(direction: &'static str, text: &str) -> Option<OutputLine> {
    let (size, kilo) = if text.starts_with("bw=") {
        let (_, rest) = text.split_once(", io=")?;
        let (size, rest) = rest.split_once(" (")?;
        let (_, run) = rest.split_once(", run=")?;
        (run.ends_with("msec").then_some(size)?, UnitBase::AsWritten)
    } else {
        let pairs = pairs(text)?;
        value(&pairs, "maxt")?;
        (value(&pairs, "io")?, UnitBase::Always1024)
    };
    Some(OutputLine::GroupTotal(direction, size.to_owned(), kilo))
}

fn levels(name: &'static str, text: &str) -> Option<OutputLine> {
    let pairs = pairs(text)?;
    if !pairs.iter().all(|(_, share)| percent(share).is_some()) {
        return None;
    }
    // Empty levels are omitted from the output.
    let is_there = |share: &str| percent(share).is_some_and(|share| share > 0.0);
    let reported = pairs.iter().filter(|(_, share)| is_there(share));
    let reported: Vec<String> = reported.map(|(level, share)| format!("{level}={share}")).collect();
    Some(OutputLine::Levels(name, reported.join(", ")))
}

fn cpu(text: &str) -> Option<OutputLine> {
    let pairs = pairs(text)?;
    let share = |name: &str| percent(value(&pairs, name)?);
    let names = ["ctx", "majf", "minf"].into_iter().zip(COUNTS);
    let counts = names.filter_map(|(short, name)| {
        let number = whole(value(&pairs, short)?)?;
        Some((name, number))
    });
    let counts: Vec<(&str, u64)> = counts.collect();
    let is_all = counts.len() == COUNTS.len();
    is_all.then_some(OutputLine::Cpu([share("usr")?, share("sys")?], counts))
}

/// Parses `total=362940/0, short=0/0`, `total=r=1/w=2/d=3, short=…`, `total=1,2,3,0 short=0,0,0,0
/// …`.
fn issued(text: &str) -> Option<OutputLine> {
    let after_total = text.strip_prefix("total=")?;
    let (total, short) = after_total.split_once("short=")?;
    if short.is_empty() {
        return None;
    }
    let total = total.trim().trim_end_matches(',');
    let number = |part: &str| whole(part.rsplit('=').next()?);
    let numbers: Option<Vec<u64>> = total.split(['/', ',']).map(number).collect();
    numbers.map(OutputLine::IssuedTotals)
}

/// Parses lines with their unit in brackets: `clat (usec)`, `bw (KB/s)`, `lat (msec)`.
fn of_unit(what: &str, rest: &str) -> Option<OutputLine> {
    let (name, unit) = what.strip_suffix(')')?.split_once('(')?;
    let (name, unit) = (name.trim(), unit.trim());
    if name == "bw" {
        let unit: String = unit.split_whitespace().collect();
        let unit = unit.strip_suffix("/s")?;
        bytes(&format!("1{unit}"), UnitBase::AsWritten)?;
        let spread = spread(&pairs(rest)?, decimal)?;
        return Some(OutputLine::Bandwidth(unit.to_owned(), spread));
    }
    let unit = unit_ns(unit)?;
    if let Some(name) = name.strip_suffix(" percentiles") {
        let name = TIMES.into_iter().find(|known| *known == name)?;
        return rest.is_empty().then_some(OutputLine::Percentiles(name, unit));
    }
    let name = TIMES.into_iter().find(|known| *known == name)?;
    let pairs = pairs(rest)?;
    if value(&pairs, "min").is_some() {
        let number = |word: &str| count(word).map(|printed| printed.value);
        return Some(OutputLine::Times(name, spread(&pairs, number)?.scaled(unit as f64)));
    }
    let share = |(level, share): &(&str, &str)| Some((limit_ns(unit, level)?, percent(share)?));
    let shares: Option<Vec<(u64, f64)>> = pairs.iter().map(share).collect();
    shares.filter(|_| name == "lat").map(OutputLine::Shares)
}

/// Parses `|  1.00th=[   10],  5.00th=[   11],`, also if a mail program reformatted it.
fn percentile_row(text: &str) -> Option<Vec<(String, f64)>> {
    let plain: String =
        text.chars().filter(|letter| !letter.is_whitespace() && *letter != '|').collect();
    let item = |part: &str| {
        let (level, value) = part.strip_suffix(']')?.split_once("th=[")?;
        decimal(level).filter(|level| *level > 0.0 && *level <= 100.0)?;
        let value = count(value.trim_start_matches(">="))?.value;
        Some((level.to_owned(), value))
    };
    plain.trim_end_matches(',').split(',').map(item).collect()
}

/// Parses `loop0: ios=0/0, merge=0/0, ticks=0/0, in_queue=0, util=0.00%`.
fn disk(name: &str, text: &str) -> Option<OutputLine> {
    let pairs = pairs(text)?;
    value(&pairs, "ios")?;
    let last = pairs.last()?.0;
    let is_name = !name.is_empty() && !name.contains(' ');
    let own = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    (is_name && last.ends_with("util")).then(|| OutputLine::Disk(name.to_owned(), own.collect()))
}

#[cfg(test)]
mod tests {
    use super::{OutputLine, line};
    use crate::report::Statistic;

    #[test]
    fn lines_of_all_versions_are_parsed() {
        let Some(OutputLine::JobHeader(head)) = line(
            "rnd: (g=2): rw=randread, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, \
             ioengine=libaio, iodepth=8",
        ) else {
            panic!()
        };
        assert_eq!((head.name.as_str(), head.group), ("rnd", 2));
        assert_eq!(head.parameters[1].1, "(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B");
        let Some(OutputLine::ResultHeader(begin)) = line(
            "a b: (groupid=1, jobs=4): err=28 (file:x, func=y): pid=7: Thu Jan 1 00:00:01 1970",
        ) else {
            panic!()
        };
        assert_eq!((begin.error, begin.pid, begin.when_unix_ms), (28, 7, Some(1000)));
        let Some(OutputLine::DirectionTotals(old)) =
            line("read : io=2,835MB, bw=24,192KB/s, iops=3,023, runt=120021msec")
        else {
            panic!()
        };
        assert_eq!((old.size.as_str(), old.runtime_ms), ("2,835MB", 120_021));
        let Some(OutputLine::DirectionTotals(new)) =
            line("write: IOPS=115k, BW=896MiB/s (939MB/s)(897MiB/1001msec); 0 zone resets")
        else {
            panic!()
        };
        assert_eq!((new.rate.as_str(), new.runtime_ms), ("896MiB/s", 1001));
        let clat = line("clat (usec): min=0, max=1,536K, avg=9186.07, stdev=11344.56");
        let spread =
            Statistic { least: 0.0, most: 1_536e6, mean: 9_186_070.0, deviation: 11_344_560.0 };
        assert_eq!(clat, Some(OutputLine::Times("clat", spread)));
        assert_eq!(
            line("lat (msec): 2000=1.50%, >=2000=0.59%"),
            Some(OutputLine::Shares(vec![(2_000_000_000, 1.5), (u64::MAX, 0.59)]))
        );
        let rows = line("|  1.00th=[   10], 99.95th=[>=2000]");
        assert_eq!(
            rows,
            Some(OutputLine::PercentileRow(vec![("1.00".into(), 10.0), ("99.95".into(), 2000.0)]))
        );
        let issued = |text| match line(text) {
            Some(OutputLine::IssuedTotals(all)) => all,
            other => panic!("{other:?}"),
        };
        assert_eq!(issued("issued r/w: total=362940/0, short=0/0"), [362_940, 0]);
        assert_eq!(issued("issued    : total=r=1/w=2/d=3, short=r=0/w=0/d=0"), [1, 2, 3]);
        assert_eq!(
            issued("issued rwts: total=1,2,3,4 short=0,0,0,0 dropped=0,0,0,0"),
            [1, 2, 3, 4]
        );
    }

    #[test]
    fn broken_and_foreign_lines_are_not_recognised() {
        for text in [
            "",
            "seq: (g=3): rw=randwrite, bs=8K-8K/8K-8K, ioengine=libaio,",
            "bw (KB/s) : min=   39, max=21301, per=26.11%, avg=6315.41,",
            "IO depths    : 1=0.1%, 2=0.1%, 4=0.1%,",
            "READ: io=2,835MB, aggrb=24,191KB/s, minb=24,772KB/s, maxb=24,772KB/s,",
            "read: IOPS=115k, BW=896MiB/s",
            "issued rwts: total=1,2,3,4",
            "x: (groupid=0, jobs=4): err= 0: pid=31615: Fri Nov 20",
            "|  1.00th=[   10],  5.00th=[",
            "Note: a colon",
            "2012: a year",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
