//! Aged filesystem compared with a fresh copy of the same files: median read figures of both, and
//! the ratio of each turn.

use serde::Serialize;
use treering_model::{ColdRead, FreshCopy, Unit};
use treering_stats::{ALPHA, Scale, compare_paired, median};

/// Median and range of a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeasureSummary {
    /// Median of the values.
    pub median: f64,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
}

/// Figure measured on the aged tree and on its fresh copy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyMeasure {
    /// Name of the figure in tables.
    pub name: &'static str,
    /// Unit of the medians.
    pub unit: Unit,
    /// Values of the aged tree over all turns.
    pub aged: MeasureSummary,
    /// Values of the fresh copy over all turns.
    pub fresh: MeasureSummary,
    /// Ratio aged / fresh over the turns; `None` where a value is 0.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio; `None` for a single turn.
    pub interval: Option<(f64, f64)>,
}

/// Definition of a figure: name, unit, and how it is computed from a cold read.
type MeasureDefinition = (&'static str, Unit, fn(&ColdRead) -> Option<f64>);

const KINDS: [MeasureDefinition; 6] = [
    ("time", Unit::Seconds, |read| Some(read.seconds)),
    ("time of the played disk", Unit::Seconds, |read| read.disk_seconds),
    ("seeks", Unit::Count, |read| read.requests.map(|requests| requests.seeks as f64)),
    ("requests", Unit::Count, |read| read.requests.map(|requests| requests.reads as f64)),
    ("read from the device", Unit::Bytes, |read| {
        read.requests.map(|requests| requests.bytes as f64)
    }),
    ("dynamic layout score", Unit::Count, |read| read.requests?.layout_score),
];

/// Figures that the cold reads of both trees provide.
pub fn copy_measures(copy: &FreshCopy) -> Vec<CopyMeasure> {
    KINDS.iter().filter_map(|kind| measure(copy, kind)).collect()
}

fn measure(copy: &FreshCopy, (name, unit, of): &MeasureDefinition) -> Option<CopyMeasure> {
    let value = |turn: u32, is_fresh: bool| {
        let mut reads = copy.reads.iter();
        of(reads.find(|read| read.turn == turn && read.is_fresh == is_fresh)?)
    };
    let turns = copy.reads.iter().filter(|read| !read.is_fresh).map(|read| read.turn);
    let (aged, fresh): (Vec<f64>, Vec<f64>) =
        turns.filter_map(|turn| Some((value(turn, false)?, value(turn, true)?))).unzip();
    let compared = compare_paired(&fresh, &aged, Scale::Ratio, ALPHA).ok();
    Some(CopyMeasure {
        name,
        unit: *unit,
        aged: middle(&aged)?,
        fresh: middle(&fresh)?,
        ratio: compared.map(|compared| compared.estimate),
        interval: compared.and_then(|compared| compared.interval).map(|i| (i.low, i.high)),
    })
}

fn middle(values: &[f64]) -> Option<MeasureSummary> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(MeasureSummary { median: median(values).ok()?, low, high })
}

#[cfg(test)]
mod tests {
    use super::copy_measures;
    use treering_model::{ColdRead, FreshCopy, ReadRequests};

    fn read(turn: u32, is_fresh: bool, seconds: f64, seeks: Option<u64>) -> ColdRead {
        let requests = seeks.map(|seeks| ReadRequests { seeks, ..ReadRequests::default() });
        ColdRead { turn, is_fresh, seconds, requests, ..ColdRead::default() }
    }

    #[test]
    fn ratios_are_computed_per_turn() {
        let reads = vec![
            read(0, false, 2.0, Some(90)),
            read(0, true, 1.0, Some(30)),
            read(1, true, 2.0, Some(30)),
            read(1, false, 6.0, Some(90)),
            read(2, false, 4.0, Some(90)),
            read(2, true, 2.0, Some(30)),
        ];
        let measures = copy_measures(&FreshCopy { reads, ..FreshCopy::default() });
        let named = |name| measures.iter().find(|measure| measure.name == name).unwrap();
        let time = named("time");
        assert!((time.aged.median - 4.0).abs() < 1e-12 && (time.fresh.median - 2.0).abs() < 1e-12);
        assert!((time.aged.low - 2.0).abs() < 1e-12 && (time.aged.high - 6.0).abs() < 1e-12);
        let (low, high) = time.interval.unwrap();
        assert!(low < 2.0 && 3.0 < high, "{time:?}");
        assert!((named("seeks").ratio.unwrap() - 3.0).abs() < 1e-9);
        assert!(measures.iter().all(|measure| measure.name != "dynamic layout score"));
    }

    #[test]
    fn a_played_disk_has_a_time_of_its_own() {
        let played = |turn, is_fresh, disk_seconds| ColdRead {
            disk_seconds: Some(disk_seconds),
            ..read(turn, is_fresh, 9.0, None)
        };
        let reads = vec![played(0, false, 4.0), played(0, true, 1.0)];
        let measures = copy_measures(&FreshCopy { reads, ..FreshCopy::default() });
        let disk = measures.iter().find(|measure| measure.name.contains("played disk")).unwrap();
        assert!((disk.ratio.unwrap() - 4.0).abs() < 1e-9, "{disk:?}");
    }

    #[test]
    fn untraced_or_zero_figures_have_no_ratio() {
        let reads = vec![read(0, false, 2.0, None), read(0, true, 1.0, None)];
        let measures = copy_measures(&FreshCopy { reads, ..FreshCopy::default() });
        assert_eq!(measures.len(), 1);
        assert!((measures[0].ratio.unwrap() - 2.0).abs() < 1e-12 && measures[0].interval.is_none());
        let reads = vec![read(0, false, 2.0, Some(5)), read(0, true, 1.0, Some(0))];
        let measures = copy_measures(&FreshCopy { reads, ..FreshCopy::default() });
        assert_eq!(measures[1].ratio, None);
        assert!(copy_measures(&FreshCopy::default()).is_empty());
    }
}
