//! Headline figures of fio, filebench and dbench: requests or operations per second, bandwidth and
//! latency, by direction or kind.
//!
//! The figures are read from the metrics of a trial, so that native runs and imported logs have the
//! same rows; figures that a log does not contain are absent.

use treering_model::metrics::bonnie::OPS_PER_SECOND;
use treering_model::metrics::dbench::THROUGHPUT_MIB_PER_SECOND;
use treering_model::metrics::latency::{LATENCY_NANOSECONDS, LATENCY_NS};
use treering_model::metrics::{MetricSpec, load, rates};
use treering_model::{Metric, Scope, Trial};

/// Workloads with headline figures.
const WORKLOADS: [&str; 3] = ["fio", "filebench", "dbench"];

/// Metric name prefixes and suffixes that denote a direction.
const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "sync"];

/// Number of requests beyond p99.9 below which the percentile depends on few slow requests.
pub const FEW_BEYOND: u64 = 10;

/// Figures of the requests of one direction, or of the operations of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestFigures {
    /// Job, flowop or operation; empty for the whole trial.
    pub of: String,
    /// Direction: `read`, `write`, `trim` or `sync`; `None` where all directions are counted
    /// together.
    pub direction: Option<&'static str>,
    /// Requests or operations per second.
    pub operations_per_second: Option<f64>,
    /// MiB per second.
    pub mib_per_second: Option<f64>,
    /// Number of requests with a measured latency.
    pub timed: Option<u64>,
    /// Mean latency in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Median latency in nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of the latency in nanoseconds.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile of the latency in nanoseconds.
    pub p999_ns: Option<f64>,
    /// Maximum latency in nanoseconds.
    pub max_ns: Option<f64>,
}

impl RequestFigures {
    /// Row label in tables: `randread read`, `fsync`, `all`.
    pub fn label(&self) -> String {
        let kind = if self.of.is_empty() { "all" } else { &self.of };
        match self.direction {
            Some(direction) => format!("{kind} {direction}"),
            None => kind.to_owned(),
        }
    }

    /// Number of requests slower than p99.9; `None` when the percentile or the number of requests
    /// is missing.
    pub fn beyond_p999(&self) -> Option<u64> {
        self.p999_ns.and(self.timed).map(|timed| timed / 1000)
    }

    /// Reports whether fewer than [`FEW_BEYOND`] requests lie beyond p99.9.
    pub fn has_few_beyond(&self) -> bool {
        self.beyond_p999().is_some_and(|beyond| beyond < FEW_BEYOND)
    }

    /// Limits the percentiles to the maximum: a percentile is the bound of a bucket and can exceed
    /// the slowest request.
    fn cap_percentiles(&mut self) {
        let Some(max_ns) = self.max_ns else { return };
        for quantile_ns in [&mut self.p50_ns, &mut self.p99_ns, &mut self.p999_ns] {
            *quantile_ns = quantile_ns.map(|ns| ns.min(max_ns));
        }
    }

    fn has_latency(&self) -> bool {
        [self.mean_ns, self.p50_ns, self.p99_ns, self.p999_ns, self.max_ns]
            .iter()
            .any(Option::is_some)
    }

    /// Stores a metric in its field; a latency of the whole request replaces a completion latency.
    fn take(&mut self, metric: &Metric, kind: FigureKind) {
        let value = Some(metric.value);
        match kind {
            FigureKind::Operations => self.operations_per_second = value,
            FigureKind::Mib => self.mib_per_second = value,
            FigureKind::Timed => self.timed = self.timed.or(whole(metric.value)),
            FigureKind::Latency(level, rank) => {
                let place = match level {
                    LatencyStatistic::Mean => &mut self.mean_ns,
                    LatencyStatistic::P50 => &mut self.p50_ns,
                    LatencyStatistic::P99 => &mut self.p99_ns,
                    LatencyStatistic::P999 => &mut self.p999_ns,
                    LatencyStatistic::Max => &mut self.max_ns,
                };
                // The latency of the whole request takes precedence over that of the completion
                // alone.
                if place.is_none() || rank == LatencySpan::Whole {
                    *place = value;
                }
                if metric.tasks > 1 {
                    self.timed = Some(metric.tasks);
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LatencyStatistic {
    Mean,
    P50,
    P99,
    P999,
    Max,
}

/// Span of a latency: the whole request, or only from submission to completion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LatencySpan {
    Whole,
    Completion,
}

#[derive(Clone, Copy)]
enum FigureKind {
    Operations,
    Mib,
    Timed,
    Latency(LatencyStatistic, LatencySpan),
}

/// Headline figures of a trial in the order of its metrics; empty for workloads that have none.
pub fn requests(trial: &Trial) -> Vec<RequestFigures> {
    if !WORKLOADS.contains(&trial.beginning.workload.as_str()) {
        return Vec::new();
    }
    let mut rows: Vec<RequestFigures> = Vec::new();
    for metric in &trial.metrics {
        let of = match &metric.scope {
            Scope::Trial => "",
            Scope::Kind(name) => name.as_str(),
            Scope::Phase(_) => continue,
        };
        let (direction, name) = split_direction(&metric.name);
        let Some(kind) = figure_kind(name) else { continue };
        // Imported figures join the name of a job and its direction.
        let (of, direction) = match direction {
            Some(direction) => (of, Some(direction)),
            None => ends_in_direction(of),
        };
        let place = rows.iter().position(|row| row.of == of && row.direction == direction);
        let place = place.unwrap_or_else(|| {
            rows.push(RequestFigures { of: of.to_owned(), direction, ..RequestFigures::default() });
            rows.len() - 1
        });
        rows[place].take(metric, kind);
    }
    rows.iter_mut().for_each(RequestFigures::cap_percentiles);
    rows.retain(|row| {
        row.operations_per_second.is_some() || row.mib_per_second.is_some() || row.has_latency()
    });
    rows.splice(0..0, since_due(trial));
    rows
}

/// Figures of an offered load, with latencies measured from the time at which requests were due.
/// Latencies of the single jobs are measured from the issue of a request, which hides that a stall
/// delays the issue.
fn since_due(trial: &Trial) -> Option<RequestFigures> {
    let value = |spec: MetricSpec, word: &str| {
        let is_it = |metric: &&Metric| {
            metric.scope == Scope::Trial
                && (metric.name == spec.name || spec.word_of(&metric.name) == Some(word))
        };
        trial.metrics.iter().find(is_it).map(|metric| metric.value)
    };
    let due = |word: &str| value(load::DUE_LATENCY_NANOSECONDS, word);
    let figures = RequestFigures {
        of: "all, from when due".to_owned(),
        operations_per_second: value(load::OFFERED_OPERATIONS_PER_SECOND, ""),
        timed: value(load::DUE_OPERATIONS, "").and_then(whole),
        p50_ns: due("p50"),
        p99_ns: due("p99"),
        p999_ns: due("p999"),
        max_ns: due("max"),
        ..RequestFigures::default()
    };
    figures.has_latency().then_some(figures)
}

/// Reports whether a metric is one of the headline figures.
pub fn is_request_figure(metric: &Metric) -> bool {
    !matches!(metric.scope, Scope::Phase(_))
        && figure_kind(split_direction(&metric.name).1).is_some()
}

/// Splits a direction off the front of a metric name: `read` of `read_mib_per_second`.
fn split_direction(name: &str) -> (Option<&'static str>, &str) {
    let direction = DIRECTIONS
        .into_iter()
        .find_map(|direction| Some((direction, name.strip_prefix(direction)?.strip_prefix('_')?)));
    direction.map_or((None, name), |(direction, tail)| (Some(direction), tail))
}

/// Splits a direction off the end of a job name: `read` of `randrw read`.
fn ends_in_direction(of: &str) -> (&str, Option<&'static str>) {
    let direction = DIRECTIONS
        .into_iter()
        .find_map(|direction| Some((of.strip_suffix(direction)?.strip_suffix(' ')?, direction)));
    direction.map_or((of, None), |(job, direction)| (job, Some(direction)))
}

/// Classifies a metric by its name without the direction; also accepts the names that imports of
/// earlier versions used (`ops_per_second`, `lat_ns_p99`, `clat_ns_p99`).
fn figure_kind(name: &str) -> Option<FigureKind> {
    let is_one = |specs: &[MetricSpec]| specs.iter().any(|spec| spec.name == name);
    if is_one(&[rates::OPERATIONS_PER_SECOND, OPS_PER_SECOND]) {
        return Some(FigureKind::Operations);
    }
    if is_one(&[rates::MIB_PER_SECOND, THROUGHPUT_MIB_PER_SECOND]) {
        return Some(FigureKind::Mib);
    }
    if is_one(&[rates::CALLS]) {
        return Some(FigureKind::Timed);
    }
    let whole = LATENCY_NS.word_of(name).or_else(|| LATENCY_NANOSECONDS.word_of(name));
    let whole = whole.or_else(|| name.strip_prefix("lat_ns_"));
    let completion = || {
        let inner = name.strip_prefix("clat_")?;
        inner.strip_suffix("_nanoseconds").or_else(|| inner.strip_prefix("ns_"))
    };
    let (level, rank) = match whole {
        Some(level) => (level, LatencySpan::Whole),
        None => (completion()?, LatencySpan::Completion),
    };
    let level = match level {
        "mean" => LatencyStatistic::Mean,
        "p50" => LatencyStatistic::P50,
        "p99" => LatencyStatistic::P99,
        "p999" => LatencyStatistic::P999,
        "max" => LatencyStatistic::Max,
        _ => return None,
    };
    Some(FigureKind::Latency(level, rank))
}

fn whole(value: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    (value >= 1.0 && value.fract() == 0.0).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::{load, requests};
    use treering_model::{
        BetterDirection, Ending, Metric, RunMode, Scope, Trial, TrialHeader, TrialId, Unit,
    };

    fn metric(name: &str, scope: &str, value: f64, tasks: u64) -> Metric {
        let scope = match scope {
            "" => Scope::Trial,
            kind => Scope::Kind(kind.to_owned()),
        };
        Metric::new(name, scope, value, Unit::Count, BetterDirection::Lower).of_tasks(tasks)
    }

    fn trial(workload: &str, metrics: Vec<Metric>) -> Trial {
        Trial {
            metrics,
            ending: Ending::Completed,
            ..Trial::new(TrialHeader::new(TrialId::new(), workload, RunMode::Native))
        }
    }

    #[test]
    fn own_runs_and_imports_of_fio_give_the_same_rows() {
        let own = trial(
            "fio",
            vec![
                metric("read_mib_per_second", "job", 10.0, 1),
                metric("read_operations_per_second", "job", 2560.0, 1),
                metric("read_latency_mean_nanoseconds", "job", 90.0, 5000),
                metric("read_latency_p999_nanoseconds", "job", 900.0, 5000),
                metric("write_mib_per_second", "job", 5.0, 1),
                metric("cpu_per_operation_nanoseconds", "", 5.0, 1),
            ],
        );
        let rows = requests(&own);
        assert_eq!(rows.len(), 2, "{rows:?}");
        assert_eq!((rows[0].label(), rows[1].label()), ("job read".into(), "job write".into()));
        assert_eq!(
            (rows[0].mib_per_second, rows[0].operations_per_second),
            (Some(10.0), Some(2560.0))
        );
        assert_eq!(
            (rows[0].mean_ns, rows[0].p999_ns, rows[0].p50_ns),
            (Some(90.0), Some(900.0), None)
        );
        assert_eq!((rows[0].timed, rows[0].beyond_p999()), (Some(5000), Some(5)));
        assert!(rows[0].has_few_beyond() && !rows[1].has_few_beyond());
        let import = trial(
            "fio",
            vec![
                metric("clat_ns_mean", "job read", 80.0, 1),
                metric("lat_ns_mean", "job read", 90.0, 1),
                metric("clat_ns_p999", "job read", 900.0, 1),
                metric("clat_ns_min", "job read", 1.0, 1),
                metric("mib_per_second", "job read", 10.0, 1),
            ],
        );
        let imported = requests(&import);
        assert_eq!(imported.len(), 1, "{imported:?}");
        assert_eq!((imported[0].of.as_str(), imported[0].direction), ("job", Some("read")));
        assert_eq!((imported[0].mean_ns, imported[0].p999_ns), (Some(90.0), Some(900.0)));
        assert_eq!((imported[0].timed, imported[0].beyond_p999()), (None, None));
    }

    #[test]
    fn operations_stand_beside_the_whole_and_other_workloads_have_none() {
        let metrics = vec![
            metric("operations_per_second", "", 100.0, 2),
            metric("read_mib_per_second", "", 4.0, 2),
            metric("latency_ns_max", "Flush", 7.0, 12),
            metric("flush_time_percent", "", 9.0, 2),
        ];
        let labels: Vec<String> = requests(&trial("dbench", metrics.clone()))
            .iter()
            .map(super::RequestFigures::label)
            .collect();
        assert_eq!(labels, ["all", "all read", "Flush"]);
        assert_eq!(requests(&trial("compilebench", metrics)), []);
    }

    #[test]
    fn latencies_from_when_requests_were_due_are_the_first_row() {
        let kind = |name: &str, value: f64| {
            let (unit, better) = (Unit::Nanoseconds, BetterDirection::Lower);
            Metric::new(name, Scope::Kind("log".to_owned()), value, unit, better)
        };
        let due = load::DUE_LATENCY_NANOSECONDS;
        let trial = Trial {
            metrics: vec![
                kind("read_latency_p99_nanoseconds", 1.68e6),
                due.of_member(&["p99"], Scope::Trial, 977e6),
                load::OFFERED_OPERATIONS_PER_SECOND.of(Scope::Trial, 200.0),
            ],
            ending: Ending::Completed,
            ..Trial::new(TrialHeader::new(TrialId::new(), "fio", RunMode::Native))
        };
        let rows = requests(&trial);
        let shown: Vec<_> = rows.iter().map(|row| (row.label(), row.p99_ns)).collect();
        assert_eq!(
            shown,
            [("all, from when due".to_owned(), Some(977e6)), ("log read".to_owned(), Some(1.68e6))]
        );
        assert_eq!(rows[0].operations_per_second, Some(200.0));
    }
}
