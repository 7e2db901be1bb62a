//! Parser of fio's terse lines, versions 2 to 5: one for each job, with semicolons between the
//! fields.

use super::size::bytes;
use crate::report::{COUNTS, DIRECTIONS, Direction, Disk, Job, Run, Statistic};
use treering_kit::import::Remark;
use treering_kit::import::log::Log;
use treering_kit::import::number::{decimal, whole};

/// Percentile fields of a line.
const PERCENTILES: usize = 20;
/// Number of fields of a device.
const DISK_FIELDS: usize = 9;
/// Longest terse line, in bytes.
const LINE_BYTES_MOST: usize = 1 << 16;
/// Names of the depth levels, and limits of the latency levels in nanoseconds.
const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const MICROSECONDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const MILLISECONDS: [u64; 12] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000, u64::MAX];

/// Column layout of a terse version.
#[derive(Clone, Copy)]
struct TerseColumns {
    version: &'static str,
    has_program: bool,
    directions: usize,
    has_samples: bool,
}

const LAYOUTS: [TerseColumns; 4] = [
    TerseColumns { version: "2", has_program: false, directions: 3, has_samples: false },
    TerseColumns { version: "3", has_program: true, directions: 2, has_samples: false },
    TerseColumns { version: "4", has_program: true, directions: 3, has_samples: false },
    TerseColumns { version: "5", has_program: true, directions: 3, has_samples: true },
];

impl TerseColumns {
    fn for_version(version: &str) -> Option<Self> {
        LAYOUTS.into_iter().find(|layout| layout.version == version)
    }

    /// Number of fields before those of the directions.
    fn head(self) -> usize {
        if self.has_program { 5 } else { 4 }
    }

    /// Number of fields of a direction.
    fn direction(self) -> usize {
        21 + PERCENTILES + if self.has_samples { 6 } else { 0 }
    }

    /// Number of fields, without those of devices.
    fn fields(self) -> usize {
        let levels = DEPTHS.len() + MICROSECONDS.len() + MILLISECONDS.len();
        self.head() + self.directions * self.direction() + 5 + levels
    }
}

/// Terse lines of one run.
pub(super) struct TerseLines {
    pub(super) run: Run,
    pub(super) end: usize,
    pub(super) remarks: Vec<Remark>,
}

/// True if a terse line begins here.
pub(super) fn begins(log: &Log<'_>, at: usize) -> bool {
    is_line(log.line(at))
}

fn is_line(text: &str) -> bool {
    if text.len() > LINE_BYTES_MOST {
        return false;
    }
    let mut fields = text.split(';');
    let Some(layout) = fields.next().and_then(TerseColumns::for_version) else { return false };
    let is_named = !layout.has_program || fields.next().is_some_and(|f| f.starts_with("fio-"));
    let is_grouped = fields.next().is_some() && fields.next().is_some_and(|f| whole(f).is_some());
    is_named && is_grouped && text.split(';').nth(layout.fields() - 1).is_some()
}

/// Reads the lines of one run: neighbours with the same figures of the devices.
pub(super) fn read(log: &Log<'_>, at: usize) -> TerseLines {
    let mut lines = TerseLines { run: Run::default(), end: at + 1, remarks: Vec::new() };
    let mut tail = None;
    let mut next = at;
    while is_line(log.line(next)) {
        let fields: Vec<&str> = log.line(next).split(';').collect();
        let Some(layout) = fields.first().and_then(|version| TerseColumns::for_version(version))
        else {
            break;
        };
        let (own, devices) = fields.split_at(layout.fields().min(fields.len()));
        // Jobs of the same run have equal device figures, separate runs have not.
        if tail.as_ref().is_some_and(|tail: &String| *tail != devices.join(";")) {
            break;
        }
        let Some(job) = job(layout, own) else { break };
        let is_twin = |known: &Job| known.name == job.name && known.group == job.group;
        let is_idle =
            devices.iter().all(|field| matches!(*field, "0" | "0.00%") || !is_count(field));
        if lines.run.jobs.last().is_some_and(is_twin) && is_idle {
            let what = format!(
                "{} occurs again; a clone cannot be told from another run: taken for a clone",
                job.name
            );
            lines.remarks.push(Remark { line: next + 1, what });
        }
        if job.error != 0 {
            let what = format!("{} ended with error {}; kept as interrupted", job.name, job.error);
            lines.remarks.push(Remark { line: next + 1, what });
            lines.run.is_interrupted = true;
        }
        if layout.has_program {
            let version = own.get(1).and_then(|version| version.strip_prefix("fio-"));
            version.unwrap_or_default().clone_into(&mut lines.run.version);
        }
        if tail.is_none() {
            lines.run.disks = disks(devices);
        }
        tail = Some(devices.join(";"));
        lines.run.jobs.push(job);
        next += 1;
    }
    if lines.run.jobs.is_empty() {
        let what = "this line of fio has non-numeric fields; skipped".to_owned();
        lines.remarks.push(Remark { line: at + 1, what });
    }
    lines.end = next.max(at + 1);
    lines
}

fn is_count(field: &str) -> bool {
    field.starts_with(|letter: char| letter.is_ascii_digit())
}

fn job(layout: TerseColumns, fields: &[&str]) -> Option<Job> {
    let (head, rest) = fields.split_at_checked(layout.head())?;
    let [name, group, error] = head.last_chunk()?;
    let mut job = Job {
        name: (*name).to_owned(),
        group: whole(group)?,
        error: whole(error)?,
        ..Job::default()
    };
    let (directions, rest) = rest.split_at_checked(layout.directions * layout.direction())?;
    for (name, fields) in DIRECTIONS.into_iter().zip(directions.chunks(layout.direction())) {
        let direction = direction(layout, name, fields)?;
        if direction.is_there() {
            job.directions.push(direction);
        }
    }
    let ([user, system, counts @ ..], rest) = rest.split_first_chunk::<5>()?;
    job.cpu_percent = Some([percent(user)?, percent(system)?]);
    for (name, count) in COUNTS.into_iter().zip(counts) {
        job.counts.push((name, whole(count)?));
    }
    let (depths, rest) = rest.split_at_checked(DEPTHS.len())?;
    let there = DEPTHS.into_iter().zip(depths).filter(|(_, share)| percent(share) > Some(0.0));
    let reported: Vec<String> = there.map(|(level, share)| format!("{level}={share}")).collect();
    job.levels.push(("io_depths", reported.join(", ")));
    let limits = MICROSECONDS.map(|limit| limit * 1_000).into_iter();
    let limits = limits.chain(MILLISECONDS.map(|limit| limit.saturating_mul(1_000_000)));
    let shares = limits.zip(rest).filter_map(|(limit, share)| Some((limit, percent(share)?)));
    job.shares = shares.filter(|(_, share)| *share > 0.0).collect();
    Some(job)
}

fn percent(word: &str) -> Option<f64> {
    decimal(word.strip_suffix('%')?)
}

fn direction(layout: TerseColumns, name: &'static str, fields: &[&str]) -> Option<Direction> {
    let number = |place: usize| decimal(fields.get(place)?);
    let count = |place: usize| whole(fields.get(place)?);
    let kib = |place: usize| number(place).map(|number| number * 1024.0);
    let mut direction = Direction {
        name,
        bytes: count(0)?.saturating_mul(1024),
        bytes_per_second: kib(1)?,
        ops_per_second: number(2)?,
        runtime_ms: count(3)?,
        ..Direction::default()
    };
    let spread = |least: usize, mean: usize| {
        let (least, most) = (number(least)?, number(least + 1)?);
        let spread = Statistic { least, most, mean: number(mean)?, deviation: number(mean + 1)? };
        (spread.is_sound() && most > 0.0).then_some(spread)
    };
    let behind = 12 + PERCENTILES;
    for (name, place) in [("slat", 4), ("clat", 8), ("lat", behind)] {
        let time = spread(place, place + 2).map(|spread| (name, spread.scaled(1e3)));
        direction.times.extend(time);
    }
    if direction.times.iter().any(|(name, _)| *name == "clat") {
        direction.percentiles =
            fields.get(12..behind)?.iter().filter_map(|field| percentile(field)).collect();
    }
    direction.bandwidth = spread(behind + 4, behind + 7).map(|spread| spread.scaled(1024.0));
    if layout.has_samples {
        direction.iops = spread(behind + 10, behind + 12);
    }
    refine(&mut direction);
    Some(direction)
}

/// Parses `99.500000%=4292`, in microseconds. Unused fields are `0%=0`.
fn percentile(field: &str) -> Option<(&'static str, String, f64)> {
    let (level, us) = field.split_once("%=")?;
    let level = decimal(level).filter(|level| *level > 0.0 && *level <= 100.0)?;
    Some(("clat", format!("{level}"), decimal(us)? * 1e3))
}

/// Computes the exact rate, which is printed in whole KiB/s, from the other fields.
fn refine(direction: &mut Direction) {
    let Some(rate) = bytes("1KiB", super::size::UnitBase::AsWritten) else { return };
    let printed = super::size::PrintedNumber { value: direction.bytes_per_second, ..rate };
    let seconds = direction.runtime_ms as f64 / 1000.0;
    // The size is in whole KiB, too.
    let step = 1024.0 / seconds.max(f64::MIN_POSITIVE);
    if step < printed.step {
        direction.bytes_per_second = printed.refined(direction.bytes as f64 / seconds);
    }
}

fn disks(fields: &[&str]) -> Vec<Disk> {
    const NAMES: [&str; 7] = [
        "read_ios",
        "write_ios",
        "read_merges",
        "write_merges",
        "read_ticks_ms",
        "write_ticks_ms",
        "in_queue_ms",
    ];
    let mut disks = Vec::new();
    for disk in fields.chunks_exact(DISK_FIELDS) {
        let [name, counts @ .., busy] = disk else { break };
        let counts: Option<Vec<u64>> = counts.iter().map(|count| whole(count)).collect();
        // A description follows the devices.
        let (Some(counts), Some(busy)) = (counts, percent(busy)) else { break };
        disks.push(Disk {
            name: (*name).to_owned(),
            counts: NAMES.into_iter().zip(counts).collect(),
            busy_percent: Some(busy),
        });
    }
    disks
}
