//! Results of the normal output, assembled line by line.

use super::super::size::{PrintedNumber, UnitBase, bytes};
use super::line::{DirectionTotals, JobHeader, OutputLine, ResultHeader};
use crate::report::{Direction, Disk, Job, Run, Statistic};
use treering_kit::import::Remark;
use treering_kit::import::number::{decimal, whole};

/// Maximum number of jobs of a run, as headers, results, or sums; more are skipped.
const JOBS_MOST: usize = 1024;
/// Accepted relative error of sums over rounded figures.
const SUM_SLACK: f64 = 0.005;

/// Results read so far.
#[derive(Default)]
pub(super) struct ResultReader {
    run: Run,
    heads: Vec<JobHeader>,
    drafts: Vec<JobDraft>,
    /// Latency kind and unit, in nanoseconds, of the percentile rows that follow.
    percentiles: Option<(&'static str, u64)>,
    group: Option<u64>,
    sums: Vec<GroupTotal>,
    remarks: Vec<Remark>,
    errors: u64,
    has_too_many: bool,
}

/// Total of a group in one direction, as printed.
struct GroupTotal {
    line: usize,
    group: u64,
    direction: &'static str,
    size: String,
    kilo: UnitBase,
}

/// Job whose result is being read.
#[derive(Default)]
struct JobDraft {
    line: usize,
    begin: ResultHeader,
    job: Job,
    moves: Vec<(DirectionTotals, Direction)>,
    bandwidths: Vec<(usize, String, Statistic)>,
    issued: Vec<u64>,
    is_closed: bool,
}

impl ResultReader {
    /// True if the job has a result already, so that this is a later status report of it.
    pub(super) fn is_of_status(&self, begin: &ResultHeader) -> bool {
        let key = |begin: &ResultHeader| (begin.name.clone(), begin.group, begin.pid);
        self.drafts.iter().any(|draft| key(&draft.begin) == key(begin))
    }

    /// Drops the results so far in favour of later ones of the same run.
    pub(super) fn restart(&mut self, at: usize) {
        let what = "an earlier status of the same run was skipped in favour of this one".to_owned();
        self.remarks.push(Remark { line: at + 1, what });
        self.drafts.clear();
        self.sums.clear();
        self.run.disks.clear();
        self.group = None;
    }

    /// Takes the content of the line with this number, counted from 0.
    pub(super) fn take(&mut self, parsed: OutputLine, at: usize) {
        match parsed {
            OutputLine::JobHeader(head) => {
                let is_known =
                    |known: &JobHeader| known.name == head.name && known.group == head.group;
                // Clones of a job have consecutive headers.
                if !self.heads.last().is_some_and(is_known) && self.heads.len() < JOBS_MOST {
                    self.heads.push(head);
                }
            }
            OutputLine::Version(version) => self.run.version = version,
            OutputLine::ResultHeader(_) if self.drafts.len() >= JOBS_MOST => {
                if !std::mem::replace(&mut self.has_too_many, true) {
                    let what = format!("more than {JOBS_MOST} results; the others are skipped");
                    self.remarks.push(Remark { line: at + 1, what });
                }
                // The following lines belong to no job.
                self.drafts.last_mut().into_iter().for_each(JobDraft::close);
            }
            OutputLine::ResultHeader(begin) => {
                self.run.reported_unix_ms = self.run.reported_unix_ms.max(begin.when_unix_ms);
                self.drafts.push(JobDraft { line: at, begin, ..JobDraft::default() });
            }
            OutputLine::Status(group) => self.group = Some(group),
            OutputLine::GroupTotal(direction, size, kilo) => {
                let group = self.group.unwrap_or_default();
                if self.sums.len() < JOBS_MOST {
                    self.sums.push(GroupTotal { line: at, group, direction, size, kilo });
                }
            }
            OutputLine::Disk(name, pairs) => self.run.disks.push(disk(name, &pairs)),
            OutputLine::Stopped => {
                let what = "fio was stopped by a signal; kept as interrupted".to_owned();
                self.remarks.push(Remark { line: at + 1, what });
                self.run.is_interrupted = true;
            }
            OutputLine::Errors(errors) => self.errors = self.errors.saturating_add(errors),
            OutputLine::Disks | OutputLine::Furniture => {}
            of_job => self.take_of_job(of_job),
        }
    }

    fn take_of_job(&mut self, parsed: OutputLine) {
        let Some(draft) = self.drafts.last_mut().filter(|draft| !draft.is_closed) else { return };
        match parsed {
            OutputLine::DirectionTotals(moved) => {
                let direction = Direction { name: moved.direction, ..Direction::default() };
                draft.moves.push((moved, direction));
                self.percentiles = None;
            }
            OutputLine::Times("sync", spread) => {
                draft.job.sync.get_or_insert_default().time = spread;
                self.percentiles = None;
            }
            OutputLine::Times(name, spread) => {
                if let Some((_, direction)) = draft.moves.last_mut().filter(|_| spread.is_sound()) {
                    direction.times.push((name, spread));
                }
            }
            OutputLine::Percentiles(name, unit) => self.percentiles = Some((name, unit)),
            OutputLine::PercentileRow(rows) => draft.percentiles(self.percentiles, rows),
            OutputLine::Bandwidth(unit, spread) => {
                let place = draft.moves.len();
                draft.bandwidths.push((place, unit, spread));
            }
            OutputLine::Iops(spread) => {
                if let Some((_, direction)) = draft.moves.last_mut() {
                    direction.iops = Some(spread);
                }
            }
            OutputLine::Shares(shares) => draft.job.shares.extend(shares),
            OutputLine::Cpu(percent, counts) => {
                draft.job.cpu_percent = Some(percent);
                draft.job.counts = counts;
            }
            OutputLine::Levels(name, reported) => draft.job.levels.push((name, reported)),
            OutputLine::IssuedTotals(issued) => draft.issued = issued,
            _ => {}
        }
    }

    /// Completes the run, and adds remarks about contradictions.
    pub(super) fn finish(mut self, at: usize, remarks: &mut Vec<Remark>) -> Run {
        remarks.append(&mut self.remarks);
        if self.drafts.is_empty() {
            return self.run;
        }
        let mut say = |line: usize, what: String| remarks.push(Remark { line: line + 1, what });
        for draft in std::mem::take(&mut self.drafts) {
            let of_name = |head: &&JobHeader| head.name == draft.begin.name;
            let of_group = |head: &&JobHeader| head.group == draft.begin.group;
            let mut heads = self.heads.iter().filter(of_group);
            let head = heads.clone().find(of_name).or_else(|| heads.next());
            if draft.begin.error != 0 {
                let (name, error) = (&draft.begin.name, draft.begin.error);
                say(draft.line, format!("{name} ended with error {error}; kept as interrupted"));
                self.run.is_interrupted = true;
            }
            self.run.jobs.push(draft.finish(head));
        }
        if self.errors > 0 {
            say(at, format!("fio counted {} errors", self.errors));
        }
        let mut missing: Vec<u64> = self.heads.iter().map(|head| head.group).collect();
        missing.dedup();
        missing.retain(|group| self.run.jobs.iter().all(|job| job.group != *group));
        if let Some(group) = missing.first() {
            let what = format!("no result of group {group}; kept as interrupted");
            say(at, what);
            self.run.is_interrupted = true;
        } else if self.sums.is_empty() && !self.run.is_interrupted {
            say(at, "the sums of the groups, which fio prints last, are missing".to_owned());
        }
        for sum in &self.sums {
            self.check(sum).into_iter().for_each(|what| say(sum.line, what));
        }
        self.run
    }

    /// Describes a group total that contradicts the sum over its jobs; `None` if they agree.
    fn check(&self, sum: &GroupTotal) -> Option<String> {
        let GroupTotal { group, direction, size, kilo, .. } = sum;
        let printed = bytes(size, *kilo)?;
        let jobs = self.run.jobs.iter().filter(|job| job.group == *group);
        let own = jobs.flat_map(|job| &job.directions).filter(|own| own.name == *direction);
        let own: Vec<u64> = own.map(|own| own.bytes).collect();
        let sum: f64 = own.iter().map(|bytes| *bytes as f64).sum();
        let slack = printed.step * 1.001 + printed.value * SUM_SLACK;
        let differs = !own.is_empty() && (sum - printed.value).abs() > slack;
        differs.then(|| {
            format!(
                "group {group} {direction}: its sum is {size}, but its jobs add up to \
                     {sum:.0} bytes"
            )
        })
    }
}

impl JobDraft {
    /// Ignores all further lines.
    fn close(&mut self) {
        self.is_closed = true;
    }

    fn percentiles(&mut self, of: Option<(&'static str, u64)>, rows: Vec<(String, f64)>) {
        let Some((name, unit)) = of else { return };
        let in_ns = rows.into_iter().map(|(level, value)| (level, value * unit as f64));
        if name == "sync" {
            self.job.sync.get_or_insert_default().percentiles.extend(in_ns);
        } else if let Some((_, direction)) = self.moves.last_mut() {
            direction.percentiles.extend(in_ns.map(|(level, ns)| (name, level, ns)));
        }
    }

    fn finish(mut self, head: Option<&JobHeader>) -> Job {
        let parameters = head.map(|head| head.parameters.clone()).unwrap_or_default();
        let sizes = parameters.iter().find(|(name, _)| name == "bs");
        let sizes = sizes.map(|(_, sizes)| sizes.clone()).unwrap_or_default();
        for (place, unit, spread) in std::mem::take(&mut self.bandwidths) {
            let Some((moved, direction)) = self.moves.get_mut(place.wrapping_sub(1)) else {
                continue;
            };
            let unit = bytes(&format!("1{unit}"), moved.kilo).map(|printed| printed.value);
            direction.bandwidth = unit.map(|unit| spread.scaled(unit));
        }
        for (moved, mut direction) in std::mem::take(&mut self.moves) {
            let place = crate::report::DIRECTIONS.iter().position(|name| *name == moved.direction);
            // With unified reporting, all requests count as the first direction.
            let place = place.unwrap_or(0);
            direction.ios = self.issued.get(place).copied().unwrap_or(0);
            amounts(&moved, block_bytes(&sizes, place), &mut direction);
            if direction.is_there() {
                self.job.directions.push(direction);
            }
        }
        if let Some(sync) = &mut self.job.sync {
            sync.ios = self.issued.get(3).copied().unwrap_or(0);
        }
        self.job.sync.take_if(|sync| !sync.time.is_sound());
        let longest = self.job.directions.iter().map(|direction| direction.runtime_ms).max();
        self.job.clones_ms = longest.unwrap_or(0).saturating_mul(self.begin.clones);
        self.job.name = self.begin.name;
        self.job.group = self.begin.group;
        self.job.clones = self.begin.clones;
        self.job.error = self.begin.error;
        self.job.options = parameters;
        self.job
    }
}

/// Block size of a direction, if all blocks have one size.
fn block_bytes(sizes: &str, place: usize) -> Option<u64> {
    let (part, kilo) = if sizes.starts_with('(') {
        (sizes.split(", ").nth(place)?.split_whitespace().nth(1)?, UnitBase::AsWritten)
    } else {
        (sizes.split('/').nth(place)?, UnitBase::Always1024)
    };
    let (least, most) = part.split_once('-')?;
    let size = bytes(least, kilo).filter(|_| least == most)?.value;
    // A rounded block size would give a wrong product.
    let is_whole = size.fract() == 0.0 && (1.0..1e12).contains(&size) && !least.contains('.');
    whole(&format!("{size:.0}")).filter(|_| is_whole)
}

/// Sets sizes and rates: as printed, or exact where they follow from other numbers.
fn amounts(moved: &DirectionTotals, block: Option<u64>, direction: &mut Direction) {
    direction.runtime_ms = moved.runtime_ms;
    let seconds = moved.runtime_ms as f64 / 1000.0;
    let (Some(size), Some(rate)) = (bytes(&moved.size, moved.kilo), bytes(&moved.rate, moved.kilo))
    else {
        return;
    };
    let exact = block.and_then(|block| block.checked_mul(direction.ios));
    let exact = exact.filter(|exact| direction.ios > 0 && size.agrees(*exact as f64));
    let in_all = exact.map_or(size.value, |exact| exact as f64);
    direction.bytes = exact.or_else(|| whole(&format!("{:.0}", size.value))).unwrap_or(0);
    let is_finer = exact.is_some() || size.relative_step() < rate.relative_step();
    direction.bytes_per_second = if is_finer { rate.refined(in_all / seconds) } else { rate.value };
    let exact_iops = direction.ios as f64 / seconds;
    direction.ops_per_second = match moved.iops {
        Some(PrintedNumber { value, step }) => PrintedNumber { value, step }.refined(exact_iops),
        None if exact_iops.is_finite() => exact_iops,
        None => 0.0,
    };
}

fn disk(name: String, pairs: &[(String, String)]) -> Disk {
    let mut disk = Disk { name, ..Disk::default() };
    const NAMES: [(&str, [&str; 2]); 4] = [
        ("ios", ["read_ios", "write_ios"]),
        ("sectors", ["read_sectors", "write_sectors"]),
        ("merge", ["read_merges", "write_merges"]),
        ("ticks", ["read_ticks_ms", "write_ticks_ms"]),
    ];
    for (name, value) in pairs {
        if let Some((_, names)) = NAMES.into_iter().find(|(known, _)| known == name) {
            let both = names.into_iter().zip(value.split('/'));
            disk.counts.extend(both.filter_map(|(name, value)| Some((name, whole(value)?))));
        } else if name == "in_queue" {
            disk.counts.extend(whole(value).map(|value| ("in_queue_ms", value)));
        } else if name == "util" {
            disk.busy_percent = value.strip_suffix('%').and_then(decimal);
        }
    }
    disk
}
