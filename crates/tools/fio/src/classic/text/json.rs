//! JSON report in the original's schema and order.

use std::io;
use std::sync::Arc;

use crate::language::{Direction, Section, SteadyState, UnifiedReporting};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use treering_script::DiskCounts;

use super::{
    ReportContext, ReportRow, VERSION, bandwidth, busy, cpu, iops, lat, percent, requests,
    share_of_group,
};
use crate::classic::histogram::middle_ns;
use crate::classic::tally::{DirectionTally, Latencies, Stat, SteadyTally, Tally};

/// JSON value with ordered keys.
enum Json {
    Text(String),
    Number(u64),
    Float(f64),
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
}

fn field(name: &str, value: Json) -> (String, Json) {
    (name.to_owned(), value)
}

fn number(name: &str, value: u64) -> (String, Json) {
    field(name, Json::Number(value))
}

fn float(name: &str, value: f64) -> (String, Json) {
    field(name, Json::Float(value))
}

/// Options as given. As in the original, keys without a value are not listed.
fn options(name: &str, given: &[(String, String)], job: &Section) -> Option<(String, Json)> {
    if given.is_empty() {
        return None;
    }
    let fields = given.iter().filter(|(key, _)| !job.extras.bare.contains(key));
    let fields = fields.map(|(key, value)| field(key, Json::Text(value.clone())));
    Some(field(name, Json::Object(fields.collect())))
}

/// JSON document of the whole report. `plus` adds the latency buckets.
pub(super) fn report(
    rows: &[ReportRow],
    first: Option<&Arc<Section>>,
    when: &ReportContext,
    plus: bool,
) -> String {
    let mut document = vec![
        field("fio version", Json::Text(VERSION.to_owned())),
        number("timestamp", when.unix_ms / 1000),
        number("timestamp_ms", when.unix_ms),
        field("time", Json::Text(when.time.clone())),
    ];
    document.extend(first.and_then(|job| options("global options", &job.given_globally, job)));
    let jobs = rows.iter().map(|row| job(rows, row, when, plus)).collect();
    document.push(field("jobs", Json::Array(jobs)));
    if let Some(watched) = &when.disk {
        document.push(field("disk_util", Json::Array(vec![disk(watched)])));
    }
    written(&Json::Object(document))
}

fn job(rows: &[ReportRow], row: &ReportRow, when: &ReportContext, plus: bool) -> Json {
    let (section, tally) = (&row.job, &row.tally);
    let mut job = vec![field("jobname", Json::Text(section.name.clone()))];
    if let Some(description) = &section.description {
        job.push(field("desc", Json::Text(description.clone())));
    }
    job.push(number("groupid", row.group as u64));
    job.push(number("error", tally.errno));
    job.push(number("eta", when.left_s));
    job.push(number("elapsed", when.elapsed_ms.div_ceil(1000)));
    job.extend(options("job options", &row.last.given, &row.last));
    let is_apart = section.extras.unified != UnifiedReporting::Mixed;
    for (direction, name) in Direction::NAMES.into_iter().enumerate().filter(|_| is_apart) {
        let share = share_of_group(rows, row, direction);
        job.push(field(name, of_direction(row, &tally.directions[direction], share, plus)));
    }
    let reported = section.reported.lat_percentiles || section.reported.clat_percentiles;
    let lat = latencies(&tally.sync, &section.reported.percentiles, reported, plus);
    let sync = vec![number("total_ios", tally.syncs()), field("lat_ns", lat)];
    if is_apart {
        job.push(field("sync", Json::Object(sync)));
    }
    if section.extras.unified != UnifiedReporting::Apart {
        job.push(field("mixed", of_direction(row, &tally.mixed(), 100.0, plus)));
    }
    job.extend(machine(tally));
    job.extend(distributions(tally));
    if section.extras.tolerance.is_any() {
        job.push(number("total_err", tally.errors[0]));
        job.push(number("first_error", tally.errors[1]));
    }
    // As in the original, a job that moves no data has no depth.
    if tally.depth > 0 && !(section.extras.verify.only && section.rw.writes) {
        let latency = section.extras.latency;
        job.push(number("latency_depth", tally.depth));
        job.push(number("latency_target", latency.ns));
        job.push(float("latency_percentile", latency.percentile));
        job.push(number("latency_window", latency.window_us));
    }
    job.extend(
        tally.steady.as_ref().map(|steady_tally| steady(section.extras.steady, steady_tally)),
    );
    Json::Object(job)
}

fn steady(asked: SteadyState, found: &SteadyTally) -> (String, Json) {
    let column = |one: usize| {
        Json::Array(found.seconds.iter().map(|second| Json::Number(second[one])).collect())
    };
    let [requests, bytes] = found.means();
    let data = vec![
        number("bw_mean", bytes),
        number("iops_mean", requests),
        field("iops", column(0)),
        field("bw", column(1)),
    ];
    let (word, limit, unit) = (asked.word(), asked.limit, asked.unit());
    let fields = vec![
        field("ss", Json::Text(format!("{word}:{limit:.6}{unit}"))),
        number("duration", asked.seconds),
        number("attained", u64::from(found.attained)),
        field("criterion", Json::Text(format!("{:.6}{unit}", found.criterion))),
        float("max_deviation", found.deviation),
        float("slope", found.slope),
        field("data", Json::Object(data)),
    ];
    field("steadystate", Json::Object(fields))
}

fn disk(watched: &(DiskCounts, u64)) -> Json {
    let (disk, _) = watched;
    let [reads, writes] = disk.requests;
    let [read_merges, write_merges] = disk.merges;
    let [read_ticks, write_ticks] = disk.ticks_ms;
    Json::Object(vec![
        field("name", Json::Text(disk.name.clone())),
        number("read_ios", reads),
        number("write_ios", writes),
        number("read_merges", read_merges),
        number("write_merges", write_merges),
        number("read_ticks", read_ticks),
        number("write_ticks", write_ticks),
        number("in_queue", disk.queue_ms),
        float("util", busy(watched)),
    ])
}

fn machine(tally: &Tally) -> Vec<(String, Json)> {
    let (user, system) = cpu(tally);
    vec![
        number("job_runtime", tally.runtime_ms),
        float("usr_cpu", user),
        float("sys_cpu", system),
        number("ctx", tally.usage[0]),
        number("majf", tally.usage[1]),
        number("minf", tally.usage[2]),
    ]
}

/// Limits of queue depths, and of the sizes of submissions and completions.
pub(super) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
pub(super) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// Limits of the coarse latency buckets.
pub(super) const LIMITS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

fn distributions(tally: &Tally) -> Vec<(String, Json)> {
    let shares = |name: &str, labels: &[&str], counts: &[u64], whole: u64| {
        let fields = labels.iter().zip(counts);
        let fields = fields.map(|(label, count)| float(label, percent(*count, whole)));
        field(name, Json::Object(fields.collect()))
    };
    let sum = |counts: &[u64]| counts.iter().sum();
    let done = requests(tally);
    vec![
        shares("iodepth_level", &DEPTHS, &tally.depths, done),
        shares("iodepth_submit", &BATCHES, &tally.submits, sum(&tally.submits)),
        shares("iodepth_complete", &BATCHES, &tally.completes, sum(&tally.completes)),
        shares("latency_ns", &LIMITS[..10], &tally.coarse[..10], done),
        shares("latency_us", &LIMITS[..10], &tally.coarse[10..20], done),
        shares("latency_ms", &LIMITS, &tally.coarse[20..], done),
    ]
}

fn of_direction(row: &ReportRow, direction: &DirectionTally, share: f64, plus: bool) -> Json {
    let reported = &row.job.reported;
    let percentiles = reported.percentiles.as_slice();
    let bytes = bandwidth(direction);
    let nothing = Latencies::default();
    let lat = if reported.disable_lat { &nothing } else { lat(direction) };
    let slat = if reported.disable_slat { &nothing } else { &direction.slat };
    Json::Object(vec![
        number("io_bytes", direction.bytes),
        number("io_kbytes", direction.bytes >> 10),
        number("bw_bytes", bytes),
        number("bw", bytes / 1024),
        float("iops", iops(direction)),
        number("runtime", direction.runtime_ms),
        number("total_ios", direction.requests),
        number("short_ios", direction.short),
        number("drop_ios", 0),
        field("slat_ns", latencies(slat, percentiles, reported.slat_percentiles, plus)),
        field("clat_ns", latencies(&direction.clat, percentiles, reported.clat_percentiles, plus)),
        field("lat_ns", latencies(lat, percentiles, reported.lat_percentiles, plus)),
        number("bw_min", direction.bandwidth.least),
        number("bw_max", direction.bandwidth.most),
        float("bw_agg", share),
        float("bw_mean", direction.bandwidth.mean()),
        float("bw_dev", direction.bandwidth.deviation()),
        number("bw_samples", direction.bandwidth.samples),
        number("iops_min", direction.iops.least),
        number("iops_max", direction.iops.most),
        float("iops_mean", direction.iops.mean()),
        float("iops_stddev", direction.iops.deviation()),
        number("iops_samples", direction.iops.samples),
    ])
}

fn stat(stat: &Stat) -> Vec<(String, Json)> {
    vec![
        number("min", stat.least),
        number("max", stat.most),
        float("mean", stat.mean()),
        float("stddev", stat.deviation()),
        number("N", stat.samples),
    ]
}

fn latencies(of: &Latencies, percentiles: &[f64], reported: bool, plus: bool) -> Json {
    let mut fields = stat(&of.stat);
    if reported && of.stat.samples > 0 {
        let values = of.histogram.percentiles(percentiles);
        let ranked = percentiles.iter().zip(values);
        let ranked = ranked.map(|(percent, ns)| number(&format!("{percent:.6}"), ns)).collect();
        fields.push(field("percentile", Json::Object(ranked)));
        if plus {
            let bins = of.histogram.buckets();
            let bins = bins.map(|(bucket, count)| number(&middle_ns(bucket).to_string(), count));
            fields.push(field("bins", Json::Object(bins.collect())));
        }
    }
    Json::Object(fields)
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => to.serialize_str(text),
            Self::Number(number) => to.serialize_u64(*number),
            Self::Float(number) => to.serialize_f64(*number),
            Self::Object(fields) => {
                to.collect_map(fields.iter().map(|(name, value)| (name, value)))
            }
            Self::Array(values) => to.collect_seq(values),
        }
    }
}

/// Formatting of the original: `"name" : value`, and six digits after the decimal point, on which
/// parsers of its output rely.
struct FioFormatter<'i>(PrettyFormatter<'i>);

impl Formatter for FioFormatter<'_> {
    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_array(to)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array(to)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(to, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_array_value(to)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.begin_object(to)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object(to)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.0.end_object_value(to)
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, to: &mut W, number: f64) -> io::Result<()> {
        write!(to, "{number:.6}")
    }
}

fn written(document: &Json) -> String {
    let mut out = Vec::new();
    let mut writer = Serializer::with_formatter(&mut out, FioFormatter(PrettyFormatter::new()));
    document.serialize(&mut writer).expect("writing into memory cannot fail");
    out.push(b'\n');
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::{Json, field, float, number, written};

    #[test]
    fn json_is_formatted_as_in_the_original() {
        let job = Json::Object(vec![
            field("jobname", Json::Text("a \"b\"\\".to_owned())),
            number("z", u64::MAX),
            float("a", 0.5),
            field("none", Json::Array(Vec::new())),
        ]);
        let document = Json::Object(vec![field("jobs", Json::Array(vec![job]))]);
        let text = "{\n  \"jobs\" : [\n    {\n      \"jobname\" : \"a \\\"b\\\"\\\\\",\n      \
                    \"z\" : 18446744073709551615,\n      \"a\" : 0.500000,\n      \
                    \"none\" : []\n    }\n  ]\n}\n";
        assert_eq!(written(&document), text);
    }
}
