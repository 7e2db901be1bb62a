//! Report in the terse format: fields between semicolons, versions 2 to 5.

use crate::language::UnifiedReporting;
use treering_script::DiskCounts;

use super::units::whole;
use super::{
    ReportContext, ReportRow, VERSION, bandwidth, busy, cpu, iops, lat, percent, requests,
    share_of_group,
};
use crate::classic::tally::{DirectionTally, Stat, Tally};

/// Percentile fields of a line.
const PERCENTILES: usize = 20;

/// Report of one line for each row.
pub(super) fn report(rows: &[ReportRow], version: u64, when: &ReportContext) -> String {
    let mut out = String::new();
    for row in rows {
        let mut fields = vec![version.to_string()];
        if version > 2 {
            fields.push(VERSION.to_owned());
        }
        fields.push(row.job.name.clone());
        fields.push(row.group.to_string());
        fields.push(row.tally.errno.to_string());
        let is_apart = row.job.extras.unified != UnifiedReporting::Mixed;
        for direction in (0..if version == 3 { 2 } else { 3 }).filter(|_| is_apart) {
            let share = share_of_group(rows, row, direction);
            of_direction(&mut fields, row, &row.tally.directions[direction], share, version);
        }
        if row.job.extras.unified != UnifiedReporting::Apart {
            of_direction(&mut fields, row, &row.tally.mixed(), 100.0, version);
        }
        machine(&mut fields, &row.tally);
        if version > 2 {
            when.disk.iter().for_each(|watched| disk(&mut fields, watched));
        }
        if row.job.extras.tolerance.is_any() {
            fields.extend(row.tally.errors.iter().map(u64::to_string));
        }
        if let Some(description) = &row.job.description {
            fields.push(description.clone());
        }
        out.push_str(&fields.join(";"));
        out.push('\n');
    }
    out
}

fn disk(fields: &mut Vec<String>, watched: &(DiskCounts, u64)) {
    let (disk, _) = watched;
    fields.push(disk.name.clone());
    let counts = [disk.requests, disk.merges, disk.ticks_ms].concat();
    fields.extend(counts.iter().map(u64::to_string));
    fields.push(disk.queue_ms.to_string());
    fields.push(format!("{:.2}%", busy(watched)));
}

fn float(number: f64) -> String {
    format!("{number:.6}")
}

/// Appends the statistic in microseconds.
fn micro(fields: &mut Vec<String>, stat: &Stat) {
    fields.push((stat.least / 1000).to_string());
    fields.push((stat.most / 1000).to_string());
    fields.push(float(stat.mean() / 1000.0));
    fields.push(float(stat.deviation() / 1000.0));
}

fn of_direction(
    fields: &mut Vec<String>,
    row: &ReportRow,
    direction: &DirectionTally,
    share: f64,
    version: u64,
) {
    fields.push((direction.bytes >> 10).to_string());
    fields.push((bandwidth(direction) / 1024).to_string());
    fields.push(whole(iops(direction)).to_string());
    fields.push(direction.runtime_ms.to_string());
    micro(fields, &direction.slat.stat);
    micro(fields, &direction.clat.stat);
    let reported = &row.job.reported;
    let (percentiles, of) = match (reported.lat_percentiles, reported.clat_percentiles) {
        (true, _) => (reported.percentiles.as_slice(), lat(direction)),
        (false, true) => (reported.percentiles.as_slice(), &direction.clat),
        (false, false) => (&[][..], &direction.clat),
    };
    let values = of.histogram.percentiles(percentiles);
    for place in 0..PERCENTILES {
        let ns = values.get(place).copied().unwrap_or(0);
        fields.push(match percentiles.get(place) {
            Some(percent) => format!("{percent:.6}%={}", ns / 1000),
            None => "0%=0".to_owned(),
        });
    }
    micro(fields, &lat(direction).stat);
    fields.push(direction.bandwidth.least.to_string());
    fields.push(direction.bandwidth.most.to_string());
    fields.push(format!("{share:.6}%"));
    fields.push(float(direction.bandwidth.mean()));
    fields.push(float(direction.bandwidth.deviation()));
    if version == 5 {
        fields.push(direction.bandwidth.samples.to_string());
        fields.push(direction.iops.least.to_string());
        fields.push(direction.iops.most.to_string());
        fields.push(float(direction.iops.mean()));
        fields.push(float(direction.iops.deviation()));
        fields.push(direction.iops.samples.to_string());
    }
}

fn machine(fields: &mut Vec<String>, tally: &Tally) {
    let (user, system) = cpu(tally);
    fields.push(format!("{user:.6}%"));
    fields.push(format!("{system:.6}%"));
    fields.extend(tally.usage.iter().map(u64::to_string));
    let done = requests(tally);
    fields.extend(tally.depths.iter().map(|count| format!("{:.1}%", percent(*count, done))));
    let coarse = &tally.coarse[10..];
    fields.extend(coarse.iter().map(|count| format!("{:.2}%", percent(*count, done))));
}
