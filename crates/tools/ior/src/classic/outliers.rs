//! Warnings about ranks whose times are far from the mean of all ranks.

use super::results::AccessKind;
use treering_model::workloads::ior::TransferCounts;

/// Name of a rank's time, and its value in seconds.
type RankTimeColumn = (&'static str, fn(&RankTimes) -> f64);

/// Checked times, in the order of the original.
const FIGURES: [RankTimeColumn; 5] = [
    ("start time", |rank| rank.open.0),
    ("elapsed create time", |rank| rank.open.1 - rank.open.0),
    ("elapsed transfer time", |rank| rank.moved.1 - rank.moved.0),
    ("elapsed close time", |rank| rank.close.1 - rank.close.0),
    ("end time", |rank| rank.close.1),
];

/// Start and end times of a rank's open, transfers and close, in seconds since 1970.
struct RankTimes {
    open: (f64, f64),
    moved: (f64, f64),
    close: (f64, f64),
}

/// Threshold of the outlier warnings, and the time origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutlierWarnings {
    /// Deviation from the mean, in seconds, above which a rank is reported; 0 disables the
    /// warnings.
    pub threshold_seconds: u64,
    /// Start of the trial, in milliseconds since 1970.
    pub started_unix_ms: u64,
}

impl OutlierWarnings {
    /// Warnings about a test; `tasks` are the counts of each task with its rank. A rank whose host
    /// is unknown is printed as on `unknown`.
    pub(crate) fn lines(
        &self,
        access: AccessKind,
        tasks: &[(usize, TransferCounts)],
        host: &dyn Fn(usize) -> Option<String>,
    ) -> String {
        let ranks = tasks.iter().map(|(rank, _)| rank + 1).max().unwrap_or(0);
        let rank_times: Vec<_> =
            (0..ranks).filter_map(|rank| Some((rank, self.times(tasks, rank)?))).collect();
        if self.threshold_seconds == 0 || rank_times.is_empty() {
            return String::new();
        }
        let mut lines = String::new();
        for (name, figure) in FIGURES {
            let number = rank_times.len() as f64;
            let mean = rank_times.iter().map(|(_, times)| figure(times)).sum::<f64>() / number;
            let squares = rank_times.iter().map(|(_, times)| (figure(times) - mean).powi(2));
            let deviation = (squares.sum::<f64>() / number).sqrt();
            for (rank, times) in &rank_times {
                let value = figure(times);
                if (value - mean).abs() > self.threshold_seconds as f64 {
                    let host = host(*rank).unwrap_or_else(|| "unknown".to_owned());
                    lines += &format!(
                        "WARNING: for {host}, task {rank}, {} {name} is {value:.6} \
                         (mean={mean:.6}, stddev={deviation:.6})\n\n",
                        access.word()
                    );
                }
            }
        }
        lines
    }

    fn times(&self, tasks: &[(usize, TransferCounts)], rank: usize) -> Option<RankTimes> {
        let mut own = tasks.iter().filter(|(of, _)| *of == rank).map(|(_, counts)| counts);
        let first = own.next()?;
        let last = own.next_back().unwrap_or(first);
        let at = |ns: u64| self.started_unix_ms as f64 / 1e3 + ns as f64 / 1e9;
        Some(RankTimes {
            open: (at(first.open.began_ns), at(first.open.ended_ns)),
            moved: (at(first.moved.began_ns), at(last.moved.ended_ns)),
            close: (at(last.close.began_ns), at(last.close.ended_ns)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::OutlierWarnings;
    use crate::classic::results::AccessKind;
    use treering_model::workloads::ior::{TimeSpan, TransferCounts};

    #[test]
    fn outlier_ranks_get_the_originals_warning() {
        let second = 1_000_000_000;
        let task = |seconds: u64| {
            let ended_ns = seconds * second;
            TransferCounts {
                moved: TimeSpan { began_ns: 0, ended_ns },
                close: TimeSpan { began_ns: ended_ns, ended_ns },
                ..TransferCounts::default()
            }
        };
        let tasks = [(0, task(1)), (1, task(1)), (2, task(7))];
        let host = |rank: usize| (rank == 0).then(|| "a".to_owned());
        let of = |threshold_seconds: u64| {
            OutlierWarnings { threshold_seconds, started_unix_ms: 1500 }.lines(
                AccessKind::Write,
                &tasks,
                &host,
            )
        };
        let transfer = "WARNING: for unknown, task 2, write elapsed transfer time is 7.000000 \
                        (mean=3.000000, stddev=2.828427)\n\n";
        let end = "WARNING: for unknown, task 2, write end time is 8.500000 (mean=4.500000, \
                   stddev=2.828427)\n\n";
        assert_eq!(of(3), [transfer, end].concat());
        assert_eq!(of(1).lines().filter(|line| line.contains("for a, task 0")).count(), 2);
        assert_eq!((of(0), of(4)), (String::new(), String::new()));
    }
}
