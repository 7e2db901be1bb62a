//! Output of FFSB 6.0-RC2, byte for byte.
//!
//! This module only formats. Texts end with a newline. Some lines are a tab and nothing else; the
//! original has them. Minima and maxima of calls are as exact as the clock: a 64-bit build of the
//! original loses digits of them to single precision.

use crate::language::operation::Operation;
use crate::language::{
    Aging, FileSizes, Filesystem, LatencySelection, Profile, ThreadGroup, TimedCall,
};

use super::tally::{CallTimes, WorkerCounters};

/// Counters of a group, and its settings for the report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupReport<'r> {
    /// Sum of the workers' counters.
    pub tally: &'r WorkerCounters,
    /// Calls that are timed, and their latency ranges.
    pub stats: Option<&'r LatencySelection>,
}

const fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Three significant digits, as C's `%.3g`.
fn three_digits(number: f64) -> String {
    let scientific = format!("{number:.2e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |digits: &str| {
        if !digits.contains('.') {
            return digits.to_owned();
        }
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match usize::try_from(2 - exponent) {
        Ok(decimals) if exponent >= -4 => without_zeros(&format!("{number:.decimals$}")),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
        }
    }
}

/// Size in the largest unit up to GB in which it is at least 1; 1000 to 1023 of a unit print as
/// `1e+03`.
fn size(bytes: f64) -> String {
    let mut number = bytes;
    let mut units = ["B", "KB", "MB", "GB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while number >= 1024.0 {
        let Some(larger) = units.next() else { break };
        number /= 1024.0;
        unit = larger;
    }
    three_digits(number) + unit
}

/// `part` as a percentage of `sum`; 0 for an empty sum.
fn percent(part: f64, sum: f64) -> f64 {
    if sum > 0.0 { part / sum * 100.0 } else { 0.0 }
}

/// Rate per second; 0 if no time passed.
fn per_second(number: f64, took_s: f64) -> f64 {
    if took_s > 0.0 { number / took_s } else { 0.0 }
}

/// Lines before the files are created; `used_shares` are the used shares of the filesystems, in
/// their order.
pub(crate) fn configuration(profile: &Profile, used_shares: &[f64]) -> String {
    let mut text = "FFSB version 6.0-RC2 started\n\n".to_owned();
    for filesystem in profile.groups.iter().filter_map(|group| group.bound) {
        text += &format!("{filesystem}\n");
    }
    text += &match profile.seconds {
        0 => "Only creating the fileset, not running benchmark.\n".to_owned(),
        seconds => format!("benchmark time = {seconds}\n"),
    };
    for (number, section) in profile.groups.iter().enumerate() {
        text += &format!("ThreadGroup {number}\n================\n");
        text += &group(section);
    }
    for (number, section) in profile.filesystems.iter().enumerate() {
        let used = used_shares.get(number).copied().unwrap_or(0.0);
        text += &filesystem(section, profile, used);
    }
    text
}

/// Lines of a group after its title.
fn group(group: &ThreadGroup) -> String {
    let bytes = |number: u64| format!("{number}\t({})", size(number as f64));
    let mut text = format!(
        "\t num_threads      = {}\n\
         \t\n\
         \t read_random      = {}\n\
         \t read_size        = {}\n\
         \t read_blocksize   = {}\n\
         \t read_skip        = {}\n\
         \t read_skipsize    = {}\n\
         \t\n\
         \t write_random     = {}\n\
         \t write_size       = {}\n\
         \t fsync_file       = 0\n\
         \t write_blocksize  = {}\n\
         \t wait time        = {}\n",
        group.threads,
        on_off(group.read_random),
        bytes(group.read_bytes),
        bytes(group.read_block_bytes.into()),
        on_off(group.read_skip_bytes.is_some()),
        bytes(group.read_skip_bytes_given),
        on_off(group.write_random),
        bytes(group.write_bytes),
        bytes(group.write_block_bytes.into()),
        group.delay_ms,
    );
    if let Some(filesystem) = group.bound {
        text += &format!("\t\n\t bound to fs {filesystem}\n");
    }
    text += "\t\n\t op weights\n";
    let sum: f64 = group.weights.iter().map(|weight| *weight as f64).sum();
    for operation in Operation::ALL {
        let weight = group.weight(operation);
        let share = percent(weight as f64, sum);
        text += &format!("\t {:>20} = {weight} ({share:.2}%)\n", operation.name());
    }
    text + "\t\n"
}

fn filesystem(filesystem: &Filesystem, profile: &Profile, used: f64) -> String {
    let Filesystem { location, dirs, files, .. } = filesystem;
    let mut text = format!(
        "FileSystem {location}\n\
         ==========\n\
         \t num_dirs         = {dirs}\n\
         \t starting files   = {files}\n\
         \t\n"
    );
    match &filesystem.sizes {
        FileSizes::Range(least, most) => {
            let (small, large) = (size(*least as f64), size(*most as f64));
            text += &format!("\t min file size    = {least}\t({small})\n");
            text += &format!("\t max file size    = {most}\t({large})\n");
        }
        FileSizes::Weights(rows) => {
            text += "\t Fileset weight:\n";
            let sum: f64 = rows.iter().map(|(_, weight)| *weight as f64).sum();
            for (bytes, weight) in rows.iter().rev() {
                let (short, share) = (size(*bytes as f64), percent(*weight as f64, sum));
                text += &format!("\t\t {bytes:>12} ({short:>6}) -> {weight} ({share:.2}%)\n");
            }
        }
    }
    text += &format!(
        "\t directio         = {}\n\
         \t alignedio        = {}\n\
         \t bufferedio       = {}\n\
         \t\n\
         \t aging is {}\n\
         \t current utilization = {:.2}%\n",
        on_off(profile.direct),
        on_off(profile.align),
        on_off(profile.buffered),
        on_off(filesystem.aging.is_some()),
        used * 100.0
    );
    if let Some(Aging { group: ager, until_share }) = &filesystem.aging {
        text += &format!("\t desired utilization = {:.2}%\n\t \n", until_share * 100.0);
        text += &format!("\t Aging ThreadGroup for fs {location}\n\t ================\n");
        text += &group(ager);
    }
    text + "\t\n"
}

/// Line printed while files are created.
pub(crate) fn creating(location: &str) -> String {
    format!("creating new fileset {location}\n")
}

/// Line printed when the files of an earlier run are reused.
pub(crate) fn reusing(location: &str) -> String {
    format!("checking existing fs: {location}\n")
}

/// Line printed when the files of an earlier run do not match, and are created anew.
pub(crate) fn recreating(location: &str) -> String {
    reusing(location) + "recreating new fileset\n"
}

/// Line printed before the profile's command is run.
pub(crate) fn calling_out(command: &str) -> String {
    format!("executing callout: \n {command}\n")
}

/// Line printed when aging of a filesystem begins, with its used share and the target share.
pub(crate) fn aging(location: &str, from: f64, to: f64) -> String {
    format!("aging fs {location} from {from:.2} to {to:.2}\n")
}

/// Line printed after the file setup.
pub(crate) fn set_up(seconds: u64) -> String {
    format!("fs setup took {seconds} secs\n")
}

/// Line printed after the file setup of a run with time 0, which only creates files.
pub(crate) fn set_up_only() -> String {
    "Setup complete, exiting\n".to_owned()
}

/// Line printed after a sync.
pub(crate) fn syncing(seconds: u64) -> String {
    format!("Syncing()...{seconds} sec\n")
}

/// Line printed when the threads start; `ctime` is like `Fri Nov 20 17:47:47 2026`.
pub(crate) fn starting(ctime: &str) -> String {
    format!("Starting Actual Benchmark At: {ctime}\n\n")
}

/// Line printed after the threads have ended and their data is synced.
pub(crate) fn finished(ctime: &str) -> String {
    format!("FFSB benchmark finished   at: {ctime}\n\n")
}

/// Report from `Results:` to the end. Several groups each have a table, followed by their call
/// times, before the table of the totals; a single group has only the latter.
pub(crate) fn report(
    groups: &[GroupReport<'_>],
    took_s: f64,
    user_s: f64,
    system_s: f64,
) -> String {
    let mut text = format!("Results:\nBenchmark took {took_s:.2} sec\n\n");
    if groups.len() > 1 {
        for (number, group) in groups.iter().enumerate() {
            text += &format!("ThreadGroup {number}\n===============\n");
            text += &table(group.tally, took_s);
            text += "\n";
            text += &group.stats.map(|stats| calls(group.tally, stats)).unwrap_or_default();
        }
    }
    let mut total = WorkerCounters::default();
    groups.iter().for_each(|group| total.add(group.tally));
    text += "Total Results\n===============\n";
    text += &table(&total, took_s);
    // An empty line stands below each group, also where it is alone, but not below the sum.
    if let [GroupReport { stats, .. }] = groups {
        text += "\n";
        text += &stats.map(|stats| calls(&total, stats)).unwrap_or_default();
    }
    let (user, system) = (percent(user_s, took_s), percent(system_s, took_s));
    let sum = percent(user_s + system_s, took_s);
    text + &format!(
        "\n\n{user:.1}% User   Time\n{system:.1}% System Time\n{sum:.1}% CPU Utilization\n"
    )
}

/// Table of operations, with the sums.
fn table(tally: &WorkerCounters, took_s: f64) -> String {
    let mut text = format!(
        "{:>20}   {}\t {}\t{}\t    {}\t   {}\n{:>20}   {}\t {}\t{}\t    {}\t   {}\n",
        "Op Name",
        "Transactions",
        "Trans/sec",
        "% Trans",
        "% Op Weight",
        "Throughput",
        "=======",
        "============",
        "=========",
        "=======",
        "===========",
        "==========",
    );
    let (operations, transactions) = (tally.operations() as f64, tally.transactions() as f64);
    let throughput = |bytes: u64| size(per_second(bytes as f64, took_s)) + "/sec";
    let (mut read, mut written) = (0, 0);
    for operation in Operation::ALL {
        let done = tally.done[operation.place()];
        let moves = operation.reads() || operation.writes();
        if operation.reads() {
            read += done.bytes;
        } else if operation.writes() {
            written += done.bytes;
        }
        if done.transactions == 0 {
            continue;
        }
        text += &format!(
            "{:>20} : {:>12}\t{:>10.2}\t{:>6.3}%\t\t{:>6.3}%\t  {:>11}\n",
            operation.name(),
            done.transactions,
            per_second(done.transactions as f64, took_s),
            percent(done.transactions as f64, transactions),
            percent(done.operations as f64, operations),
            if moves { throughput(done.bytes) } else { "NA".to_owned() },
        );
    }
    text += &format!("-\n{:.2} Transactions per Second\n\n", per_second(transactions, took_s));
    if read > 0 || written > 0 {
        text += "Throughput Results\n===================\n";
    }
    for (name, bytes) in [("Read", read), ("Write", written)] {
        if bytes > 0 {
            text += &format!("{name} Throughput: {}\n", throughput(bytes));
        }
    }
    text
}

/// Table of a group's call latencies, followed by an empty line.
fn calls(tally: &WorkerCounters, stats: &LatencySelection) -> String {
    let mut text = "System Call Latency statistics in millisecs\n\
                    =====\n\
                    \t\tMin\t\tAvg\t\tMax\t\tTotal Calls\n\
                    \t\t========\t========\t========\t============\n"
        .to_owned();
    for call in TimedCall::ALL {
        let times = &tally.calls[call.place()];
        if times.calls > 0 && !stats.ignored[call.place()] {
            text += &row_of(call, times, stats);
        }
    }
    text + "\n"
}

fn row_of(call: TimedCall, times: &CallTimes, stats: &LatencySelection) -> String {
    let mean_us = times.sum_us as f64 / times.calls as f64;
    let ms = |us: f64| us / 1000.0;
    let mut text = format!(
        "[{:>7}]\t{:.6}\t{:.6}\t{:.6}\t{:>12}\n",
        call.name(),
        ms(times.min_us as f64),
        ms(mean_us),
        ms(times.max_us as f64),
        times.calls
    );
    if stats.ranges_ms.is_empty() {
        return text + "   -\n";
    }
    let backwards = stats.ranges_ms.iter().enumerate().rev();
    for (printed, (number, (from, to))) in backwards.enumerate() {
        let count = times.in_range.get(number).copied().unwrap_or(0);
        text += &format!("\t\t msec_range[{printed}]\t{from:.6} - {to:.6} : {count:>8}\n");
    }
    text + "\n"
}

#[cfg(test)]
mod tests;
