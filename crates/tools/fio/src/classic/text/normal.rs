//! Report in the normal text format. Writing into strings cannot fail.

use std::fmt::Write;

use crate::language::{Direction, Engine, Section, UnifiedReporting};
use treering_script::DiskCounts;

use super::json::{BATCHES, DEPTHS, LIMITS};
use super::units::{Units, count, whole};
use super::{
    ReportContext, ReportRow, VERSION, bandwidth, busy, cpu, iops, lat, percent, requests,
    share_of_group,
};
use crate::classic::tally::{DirectionTally, Latencies, Stat, SteadyTally, Tally};

/// Description of each job before the start; each job comes with the number of its group.
pub(crate) fn header<'j>(jobs: impl IntoIterator<Item = (&'j Section, usize)>) -> String {
    let mut out = String::new();
    for (job, group) in jobs {
        let range = |direction: Direction| {
            let blocks = job.blocks(direction);
            let units = Units::from_job(job);
            format!("{}-{}", units.bytes(blocks.least), units.bytes(blocks.most))
        };
        let [reads, writes, trims] = Direction::ALL.map(range);
        let engine = Engine::NAMES.iter().find(|(_, engine)| *engine == job.engine);
        let engine = engine.map_or("", |(name, _)| *name);
        let _ = writeln!(
            out,
            "{}: (g={group}): rw={}, bs=(R) {reads}, (W) {writes}, (T) {trims}, \
             ioengine={engine}, iodepth={}",
            job.name,
            job.rw.name(),
            job.depth
        );
        if job.clones > 1 {
            out.push_str("...\n");
        }
    }
    out
}

/// Line that states the number of starting threads and processes.
pub(crate) fn started(threads: usize, processes: usize) -> String {
    let some = |count: usize, one: &str, many: &str| {
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let counts = [some(threads, "thread", "threads"), some(processes, "process", "processes")];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    format!("{VERSION}\nStarting {}\n", counts.join(" and "))
}

/// Report of all rows, then of all groups.
pub(super) fn report(rows: &[ReportRow], when: &ReportContext) -> String {
    let mut out = String::from("\n");
    // As in the original, rows without requests are omitted.
    for row in rows.iter().filter(|row| requests(&row.tally) > 0) {
        row_of(&mut out, rows, row, when);
    }
    groups(&mut out, rows);
    when.disk.iter().for_each(|watched| disks(&mut out, watched));
    out
}

fn row_of(out: &mut String, rows: &[ReportRow], row: &ReportRow, when: &ReportContext) {
    let (tally, name) = (&row.tally, &row.job.name);
    let (group, clones, errno) = (row.group, tally.clones, tally.errno);
    let (process, time) = (when.process, &when.time);
    let _ = writeln!(
        out,
        "{name}: (groupid={group}, jobs={clones}): err={errno:2}: pid={process}: {time}"
    );
    if let Some(description) = &row.job.description {
        let _ = writeln!(out, "  Description  : [{description}]");
    }
    let is_apart = row.job.extras.unified != UnifiedReporting::Mixed;
    for (direction, name) in Direction::NAMES.into_iter().enumerate().filter(|_| is_apart) {
        if tally.directions[direction].requests > 0 {
            let share = share_of_group(rows, row, direction);
            let resets = if direction == Direction::Write.place() { "; 0 zone resets" } else { "" };
            of_direction(out, (name, resets), row, &tally.directions[direction], share);
        }
    }
    if row.job.extras.unified != UnifiedReporting::Apart {
        of_direction(out, ("mixed", ""), row, &tally.mixed(), 100.0);
    }
    coarse_buckets(out, tally);
    if tally.sync.stat.samples > 0 {
        out.push_str("  fsync/fdatasync/sync_file_range:\n");
        span(out, "sync", &tally.sync.stat);
        percentiles(out, "sync", &tally.sync, &row.job.reported.percentiles);
    }
    let (user, system) = cpu(tally);
    let [switches, major, minor] = tally.usage;
    let faults = format!("ctx={switches}, majf={major}, minf={minor}");
    let _ = writeln!(out, "  cpu          : usr={user:.2}%, sys={system:.2}%, {faults}");
    let shares = |counts: &[u64; 7], whole: u64| counts.map(|count| percent(count, whole));
    let depths = shares(&tally.depths, requests(tally));
    let _ = writeln!(out, "  IO depths    : {}", labelled(&DEPTHS, depths));
    let submits = shares(&tally.submits, tally.submits.iter().sum());
    let _ = writeln!(out, "     submit    : {}", labelled(&BATCHES, submits));
    let completes = shares(&tally.completes, tally.completes.iter().sum());
    let _ = writeln!(out, "     complete  : {}", labelled(&BATCHES, completes));
    let [read, write, trim] = &tally.directions;
    let _ = writeln!(
        out,
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
        read.requests,
        write.requests,
        trim.requests,
        tally.syncs(),
        read.short,
        write.short,
        trim.short
    );
    if row.job.extras.tolerance.is_any() {
        let [total, first] = tally.errors;
        let number = i32::try_from(first).unwrap_or(0);
        let text = std::io::Error::from_raw_os_error(number).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        let text = if first == 0 { "Success" } else { text };
        let _ = writeln!(out, "     errors    : total={total}, first_error={first}/<{text}>");
    }
    let (latency, depth) = (row.job.extras.latency, tally.depth);
    if depth > 0 {
        let target = format!(
            "target={}, window={}, percentile={:.2}%",
            latency.ns, latency.window_us, latency.percentile
        );
        let _ = writeln!(out, "     latency   : {target}, depth={depth}");
    }
    tally.steady.iter().for_each(|steady_tally| steady(out, row, steady_tally));
}

fn steady(out: &mut String, row: &ReportRow, found: &SteadyTally) {
    let (asked, units) = (row.job.extras.steady, Units::from_job(&row.job));
    let [requests, bytes] = found.means();
    let step = if units.decimal { 1000 } else { 1024 };
    let bytes = bytes / step * step;
    let _ = writeln!(
        out,
        "  steadystate  : attained={}, bw={} ({}), iops={}, {}{}={:.3}{}",
        if found.attained { "yes" } else { "no" },
        units.rate(bytes),
        units.other_rate(bytes),
        count(requests, units.figures),
        if asked.of_requests { "iops" } else { "bw" },
        if asked.is_slope { " slope" } else { " mean dev" },
        found.criterion,
        asked.unit()
    );
}

fn labelled(labels: &[&str; 7], shares: [f64; 7]) -> String {
    let fields = labels.iter().zip(shares).map(|(label, share)| format!("{label}={share:.1}%"));
    fields.collect::<Vec<_>>().join(", ")
}

fn of_direction(
    out: &mut String,
    said: (&str, &str),
    row: &ReportRow,
    done: &DirectionTally,
    share: f64,
) {
    let ((name, resets), reported, units) = (said, &row.job.reported, Units::from_job(&row.job));
    let bytes = bandwidth(done);
    let _ = writeln!(
        out,
        "  {name}: IOPS={}, BW={} ({})({}/{}msec){}",
        count(whole(iops(done)), units.figures),
        units.rate(bytes),
        units.other_rate(bytes),
        units.bytes(done.bytes),
        done.runtime_ms,
        resets
    );
    if done.slat.stat.samples > 0 && !reported.disable_slat {
        span(out, "slat", &done.slat.stat);
    }
    let (clat, lat) = (&done.clat, lat(done));
    if clat.stat.samples > 0 {
        span(out, "clat", &clat.stat);
    }
    if lat.stat.samples > 0 && !reported.disable_lat {
        span(out, " lat", &lat.stat);
    }
    if reported.slat_percentiles && !reported.disable_slat {
        percentiles(out, "slat", &done.slat, &reported.percentiles);
    }
    if reported.clat_percentiles {
        percentiles(out, "clat", clat, &reported.percentiles);
    }
    if reported.lat_percentiles {
        percentiles(out, " lat", lat, &reported.percentiles);
    }
    rates(out, done, share, units);
}

/// Lines of the rate samples, if there are any.
fn rates(out: &mut String, direction: &DirectionTally, share: f64, units: Units) {
    let (rate, iops) = (&direction.bandwidth, &direction.iops);
    if rate.samples == 0 {
        return;
    }
    let step: u64 = if units.decimal { 1000 } else { 1024 };
    let factor = if units.bits { 8 } else { 1 };
    let is_large = rate.mean() * factor as f64 > (step * step) as f64;
    let unit = match (units.bits, units.decimal) {
        (true, _) if is_large => "Mibit",
        (false, _) if is_large => "MiB",
        (true, true) => "kbit",
        (true, false) => "Kibit",
        (false, true) => "kB",
        (false, false) => "KiB",
    };
    let by = if is_large { step } else { 1 };
    let scaled = |value: f64| value * factor as f64 / by as f64;
    let (mean, deviation) = (scaled(rate.mean()), scaled(rate.deviation()));
    let (least, most) = (rate.least * factor / by, rate.most * factor / by);
    let samples = rate.samples;
    let _ = writeln!(
        out,
        "   bw ({unit:>5}/s): min={least:5}, max={most:5}, per={share:3.2}%, avg={mean:5.2}, \
         stdev={deviation:5.2}, samples={samples}"
    );
    let (mean, deviation) = (iops.mean(), iops.deviation());
    let (least, most, samples) = (iops.least, iops.most, iops.samples);
    let _ = writeln!(
        out,
        "   iops        : min={least:5}, max={most:5}, avg={mean:5.2}, stdev={deviation:5.2}, \
         samples={samples}"
    );
}

/// Line of a latency statistic, in the largest suitable unit.
fn span(out: &mut String, name: &str, stat: &Stat) {
    let (mut least, mut most) = (stat.least, stat.most);
    let (mut mean, mut deviation) = (stat.mean(), stat.deviation());
    let mut unit = "nsec";
    for larger in ["usec", "msec"] {
        if least <= 2000 || most <= 99_999 || deviation <= 1000.0 {
            break;
        }
        unit = larger;
        (least, most) = (least / 1000, most / 1000);
        (mean, deviation) = (mean / 1000.0, deviation / 1000.0);
    }
    let (least, most) = (count(least, 6), count(most, 6));
    let _ = writeln!(
        out,
        "    {name} ({unit}): min={least}, max={most}, avg={mean:5.2}, stdev={deviation:5.2}"
    );
}

fn percentiles(out: &mut String, name: &str, of: &Latencies, percentiles: &[f64]) {
    let values = of.histogram.percentiles(percentiles);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else { return };
    let (unit, powers, divisor) = if least > 2_000_000 && most > 99_999_999 {
        ("msec", 2, 1_000_000)
    } else if least > 2000 && most > 99_999 {
        ("usec", 1, 1000)
    } else {
        ("nsec", 0, 1)
    };
    let width = (most / divisor).to_string().len().max(5);
    let per_line = (80 - 7) / (2 + 10 + width);
    let _ = writeln!(out, "    {name} percentiles ({unit}):");
    let last = values.len() - 1;
    for (place, (percent, ns)) in percentiles.iter().zip(&values).enumerate() {
        if place % per_line == 0 {
            out.push_str("     |");
        }
        let value = (0..powers).fold(*ns, |ns, _| ns.div_ceil(1000));
        let end = if place == last { '\n' } else { ',' };
        let _ = write!(out, " {percent:5.2}th=[{value:width$}]{end}");
        if place != last && place % per_line == per_line - 1 {
            out.push('\n');
        }
    }
}

/// Lines of the coarse buckets, five to a line.
fn coarse_buckets(out: &mut String, tally: &Tally) {
    let done = requests(tally);
    for (unit, counts) in [
        ("nsec", &tally.coarse[..10]),
        ("usec", &tally.coarse[10..20]),
        ("msec", &tally.coarse[20..]),
    ] {
        let fields = LIMITS.iter().zip(counts).filter(|(_, count)| **count > 0);
        let fields = fields.map(|(limit, count)| format!("{limit}={:.2}%", percent(*count, done)));
        let fields: Vec<String> = fields.collect();
        for line in fields.chunks(5) {
            let _ = writeln!(out, "  lat ({unit})   : {}", line.join(", "));
        }
    }
}

/// Table of the disks.
fn disks(out: &mut String, watched: &(DiskCounts, u64)) {
    let (disk, _) = watched;
    let [reads, writes] = disk.requests;
    let [read_merges, write_merges] = disk.merges;
    let [read_ticks, write_ticks] = disk.ticks_ms;
    let _ = writeln!(
        out,
        "\nDisk stats (read/write):\n  {}: ios={reads}/{writes}, merge={read_merges}/{write_merges}, \
         ticks={read_ticks}/{write_ticks}, in_queue={}, util={:.2}%",
        disk.name,
        disk.queue_ms,
        busy(watched)
    );
}

fn groups(out: &mut String, rows: &[ReportRow]) {
    let mut groups: Vec<usize> = rows.iter().map(|row| row.group).collect();
    groups.dedup();
    for group in groups {
        let _ = writeln!(out, "\nRun status group {group} (all jobs):");
        let units = rows.iter().rfind(|row| row.group == group);
        let Some(units) = units.map(|row| Units::from_job(&row.job)) else { continue };
        for (direction, name) in ["   READ", "  WRITE", "   TRIM"].into_iter().enumerate() {
            let directions = rows.iter().filter(|row| row.group == group);
            let directions = directions.map(|row| &row.tally.directions[direction]);
            let directions: Vec<&DirectionTally> =
                directions.filter(|direction| direction.runtime_ms > 0).collect();
            group_direction(out, name, &directions, units);
        }
    }
}

fn group_direction(out: &mut String, name: &str, directions: &[&DirectionTally], units: Units) {
    let runtimes = || directions.iter().map(|direction| direction.runtime_ms);
    let (Some(shortest), Some(longest)) = (runtimes().min(), runtimes().max()) else { return };
    let bytes = directions.iter().map(|direction| direction.bytes).sum::<u64>();
    let whole =
        bandwidth(&DirectionTally { bytes, runtime_ms: longest, ..DirectionTally::default() });
    let least = directions.iter().map(|direction| bandwidth(direction)).min().unwrap_or(0);
    let most = directions.iter().map(|direction| bandwidth(direction)).max().unwrap_or(0);
    let _ = writeln!(
        out,
        "{name}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={shortest}-{longest}msec",
        units.rate(whole),
        units.other_rate(whole),
        units.rate(least),
        units.rate(most),
        units.other_rate(least),
        units.other_rate(most),
        units.bytes(bytes),
        units.other_bytes(bytes)
    );
}
