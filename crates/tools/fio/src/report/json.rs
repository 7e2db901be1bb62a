//! Parser of fio's JSON, 2.x and 3.x, with the bins of JSON+, into a run.

use serde_json::Value;

use super::bins;
use super::run::{COUNTS, DIRECTIONS, Direction, Disk, Job, Run, Statistic, Sync, limit_ns};
use treering_kit::import::number;

/// Maximum number of jobs of a run; larger documents are not read.
const JOBS_MOST: usize = 1024;
/// Maximum number of options of a job.
const OPTIONS_MOST: usize = 512;

/// Converts fio's JSON to a run; `say` receives warnings. `None` if there are no usable jobs.
pub(crate) fn run(document: &Value, say: &mut dyn FnMut(String)) -> Option<Run> {
    let version = document.get("fio version").and_then(Value::as_str).unwrap_or_default();
    let mut run = Run {
        version: version.trim_start_matches("fio-").to_owned(),
        reported_unix_ms: reported(document),
        has_all_options: true,
        ..Run::default()
    };
    run.options = options(document.get("global options"), &mut run.places);
    let jobs = document.get("jobs").or_else(|| document.get("client_stats"));
    let jobs = jobs.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if jobs.len() > JOBS_MOST {
        say(format!("more than {JOBS_MOST} jobs; the others are skipped"));
    }
    let is_sum = |job: &Value| job.get("jobname").and_then(Value::as_str) == Some("All clients");
    // The sum over all clients of a server follows them, but for a few clients that are not
    // reported.
    let has_others = jobs.iter().any(|job| !is_sum(job));
    for value in jobs.iter().take(JOBS_MOST).filter(|job| !has_others || !is_sum(job)) {
        run.has_all_options &= value.get("job options").is_some();
        let seconds = number(value, "elapsed").unwrap_or(0.0);
        let elapsed_ns = number::nanoseconds(seconds).unwrap_or(0);
        run.elapsed_ns = run.elapsed_ns.max(elapsed_ns);
        let job = job(value, &mut run.places, say);
        if job.error != 0 {
            say(format!("{} ended with error {}; kept as interrupted", job.name, job.error));
            run.is_interrupted = true;
        }
        run.jobs.push(job);
    }
    let disks = document.get("disk_util").and_then(Value::as_array);
    run.disks = disks.into_iter().flatten().map(disk).collect();
    if run.jobs.is_empty() {
        say("this JSON of fio has no job; skipped".to_owned());
        return None;
    }
    Some(run)
}

fn reported(document: &Value) -> Option<i64> {
    let ms = document.get("timestamp_ms").and_then(Value::as_i64);
    let seconds = || document.get("timestamp")?.as_i64()?.checked_mul(1000);
    // No later than the year 9999.
    ms.or_else(seconds).filter(|ms| (0..253_402_300_800_000).contains(ms))
}

/// Reads a number that is finite and not negative.
fn number(of: &Value, name: &str) -> Option<f64> {
    of.get(name)?.as_f64().filter(|number| number.is_finite() && *number >= 0.0)
}

fn whole(of: &Value, name: &str) -> Option<u64> {
    of.get(name)?.as_u64()
}

/// Reads the options except places, which are reported separately, and output paths.
fn options(of: Option<&Value>, places: &mut Vec<String>) -> Vec<(String, String)> {
    let mut reported = Vec::new();
    let fields = of.and_then(Value::as_object).into_iter().flatten();
    for (name, value) in fields.take(OPTIONS_MOST) {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match name.as_str() {
            "directory" | "filename" if !places.contains(&value) && !value.is_empty() => {
                places.push(value);
            }
            "directory" | "filename" | "name" => {}
            name if name.starts_with("write_") && name.ends_with("_log") => {}
            name => reported.push((name.to_owned(), value)),
        }
    }
    reported
}

fn job(of: &Value, places: &mut Vec<String>, say: &mut dyn FnMut(String)) -> Job {
    let mut job = Job {
        name: of.get("jobname").and_then(Value::as_str).unwrap_or_default().to_owned(),
        group: whole(of, "groupid").unwrap_or(0),
        description: of.get("desc").and_then(Value::as_str).unwrap_or_default().to_owned(),
        error: whole(of, "error").unwrap_or(0),
        options: options(of.get("job options"), places),
        clones_ms: whole(of, "job_runtime").unwrap_or(0),
        ..Job::default()
    };
    for name in DIRECTIONS.into_iter().chain(["mixed"]) {
        let Some(value) = of.get(name) else { continue };
        let direction = direction(name, value);
        if let Some((_, bins)) = &direction.bins
            && let Some(reported) = whole(time_of(value, "clat").map_or(value, |(own, _)| own), "N")
            && reported
                != bins
                    .iter()
                    .map(|(_, count)| count)
                    .fold(0, |sum, n| u64::saturating_add(sum, *n))
            && direction.bins.as_ref().is_some_and(|(of, _)| *of == "clat")
        {
            say(format!(
                "{} {name}: the counts of its latencies are not {reported} in all",
                job.name
            ));
        }
        if direction.is_there() {
            job.directions.push(direction);
        }
    }
    if let (Some(user), Some(system)) = (number(of, "usr_cpu"), number(of, "sys_cpu")) {
        job.cpu_percent = Some([user, system]);
    }
    let counts = ["ctx", "majf", "minf"].into_iter().zip(COUNTS);
    job.counts = counts.filter_map(|(key, name)| Some((name, whole(of, key)?))).collect();
    let levels = [
        ("iodepth_level", "io_depths"),
        ("iodepth_submit", "submit"),
        ("iodepth_complete", "complete"),
    ];
    job.levels =
        levels.into_iter().filter_map(|(key, name)| Some((name, level(of.get(key)?)?))).collect();
    for (key, unit) in [("latency_ns", 1), ("latency_us", 1_000), ("latency_ms", 1_000_000)] {
        for (level, share) in of.get(key).and_then(Value::as_object).into_iter().flatten() {
            let share = share.as_f64().filter(|share| *share > 0.0 && share.is_finite());
            job.shares.extend(limit_ns(unit, level).zip(share));
        }
    }
    job.shares.sort_by_key(|(limit, _)| *limit);
    job.sync = of.get("sync").and_then(sync);
    job
}

/// Formats the levels that are not zero: `1=0.1%, 2=0.1%`.
fn level(of: &Value) -> Option<String> {
    let shares = of.as_object()?.iter();
    let there = shares.filter_map(|(level, share)| {
        let share = share.as_f64().filter(|share| *share > 0.0)?;
        Some((level, share))
    });
    let mut there: Vec<(&String, f64)> = there.collect();
    // Keys are in alphabetical order.
    let key = |level: &str| number::whole(level.trim_start_matches(">=")).unwrap_or(0);
    there.sort_by_key(|(level, _)| key(level));
    let reported = there.iter().map(|(level, share)| format!("{level}={}%", printed(*share, 1)));
    Some(reported.collect::<Vec<_>>().join(", "))
}

/// Share in percent with all its digits, and at least so many decimals.
pub(crate) fn printed(share: f64, decimals: usize) -> String {
    let digits = format!("{share:.6}");
    let needed = digits.trim_end_matches('0').len();
    let least = digits.len() - 6 + decimals;
    digits.get(..needed.max(least)).unwrap_or(&digits).to_owned()
}

/// Finds the latencies of a kind, in nanoseconds since 3.0 and in microseconds before; returns them
/// with the length of the unit.
fn time_of<'v>(of: &'v Value, name: &str) -> Option<(&'v Value, f64)> {
    let ns = of.get(format!("{name}_ns")).map(|value| (value, 1.0));
    let us = || of.get(format!("{name}_us")).or_else(|| of.get(name)).map(|value| (value, 1e3));
    ns.or_else(us)
}

fn spread(of: &Value) -> Option<Statistic> {
    let least = number(of, "min")?;
    let (most, mean) = (number(of, "max")?, number(of, "mean")?);
    let deviation = number(of, "stddev").unwrap_or(0.0);
    let spread = Statistic { least, most, mean, deviation };
    // An empty sample is reported as zeros.
    let is_empty = of.get("N").and_then(Value::as_u64) == Some(0) || most == 0.0 && mean == 0.0;
    (!is_empty && spread.is_sound()).then_some(spread)
}

/// Percentiles formatted as in the normal output; entries of zero are padding.
fn percentiles(of: &Value, unit: f64) -> Vec<(String, f64)> {
    let fields = of.get("percentile").and_then(Value::as_object).into_iter().flatten();
    let read = |(level, value): (&String, &Value)| {
        let place = number::decimal(level).filter(|level| *level > 0.0 && *level <= 100.0)?;
        let value = value.as_f64().filter(|value| value.is_finite() && *value >= 0.0)?;
        Some((place, value * unit))
    };
    let mut levels: Vec<(f64, f64)> = fields.filter_map(read).collect();
    levels.sort_by(|left, right| left.0.total_cmp(&right.0));
    levels.into_iter().map(|(level, value)| (format!("{level}"), value)).collect()
}

fn direction(name: &'static str, of: &Value) -> Direction {
    let mut direction = Direction {
        name,
        runtime_ms: whole(of, "runtime").unwrap_or(0),
        ios: whole(of, "total_ios").unwrap_or(0),
        ops_per_second: number(of, "iops").unwrap_or(0.0),
        ..Direction::default()
    };
    let moved = whole(of, "io_bytes").unwrap_or(0);
    // Before 2.21 the unit is KiB, and the other key is missing.
    let is_kib = of.get("io_kbytes").is_none();
    direction.bytes = if is_kib { moved.saturating_mul(1024) } else { moved };
    let rate = number(of, "bw").unwrap_or(0.0) * 1024.0;
    let seconds = direction.runtime_ms as f64 / 1000.0;
    let exact = direction.ios as f64 / seconds;
    // Whole numbers before 2.2.
    if direction.ios > 0 && exact.is_finite() && (exact - direction.ops_per_second).abs() <= 1.0 {
        direction.ops_per_second = exact;
    }
    let exact = direction.bytes as f64 / seconds;
    direction.bytes_per_second = match number(of, "bw_bytes") {
        Some(rate) => rate,
        // In whole KiB.
        None if exact.is_finite() && (exact - rate).abs() <= 2048.0 => exact,
        None => rate,
    };
    for name in ["slat", "clat", "lat"] {
        let Some((value, unit)) = time_of(of, name) else { continue };
        direction.times.extend(spread(value).map(|spread| (name, spread.scaled(unit))));
        let shares = percentiles(value, unit).into_iter();
        let is_there = spread(value).is_some();
        direction.percentiles.extend(shares.filter(|_| is_there).map(|(of, ns)| (name, of, ns)));
        // Bins of the total latency are preferred to those of a part.
        if let Some(bins) = value.get("bins").and_then(bins::read)
            && (name != "slat" || direction.bins.is_none())
        {
            direction.bins = Some((name, bins));
        }
    }
    let samples = |prefix: &str, deviation: &str| {
        let read = |what: &str| number(of, &format!("{prefix}_{what}"));
        let (least, most, mean) = (read("min")?, read("max")?, read("mean")?);
        let spread = Statistic { least, most, mean, deviation: read(deviation)? };
        (spread.is_sound() && most > 0.0).then_some(spread)
    };
    direction.bandwidth = samples("bw", "dev").map(|spread| spread.scaled(1024.0));
    direction.iops = samples("iops", "stddev");
    direction
}

fn sync(of: &Value) -> Option<Sync> {
    let (value, unit) = time_of(of, "lat")?;
    let time = spread(value)?.scaled(unit);
    Some(Sync {
        ios: whole(of, "total_ios").or_else(|| whole(value, "N")).unwrap_or(0),
        time,
        percentiles: percentiles(value, unit),
        bins: value.get("bins").and_then(bins::read).unwrap_or_default(),
    })
}

fn disk(of: &Value) -> Disk {
    const COUNTS: [(&str, &str); 9] = [
        ("read_ios", "read_ios"),
        ("write_ios", "write_ios"),
        ("read_sectors", "read_sectors"),
        ("write_sectors", "write_sectors"),
        ("read_merges", "read_merges"),
        ("write_merges", "write_merges"),
        ("read_ticks", "read_ticks_ms"),
        ("write_ticks", "write_ticks_ms"),
        ("in_queue", "in_queue_ms"),
    ];
    Disk {
        name: of.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        counts: COUNTS
            .into_iter()
            .filter_map(|(key, name)| Some((name, whole(of, key)?)))
            .collect(),
        busy_percent: number(of, "util"),
    }
}
