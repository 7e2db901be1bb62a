//! Logs of requests in fio's formats: `write_lat_log`, `write_bw_log`, `write_iops_log`,
//! `write_hist_log`, and `write_iolog`, whose lines are `MICROSECONDS FILE ACTION [OFFSET BYTES]`.
//!
//! A line is `TIME, VALUE, DIRECTION, BYTES, PRIORITY`: milliseconds from the job's start, and a
//! latency in nanoseconds, KiB per second or requests per second. With `log_avg_msec` a line
//! averages the requests of a window; otherwise it is one request. With `log_offset` the offset
//! follows the bytes.

mod files;
mod histograms;

use std::path::Path;

use crate::language::LogOptions;

use super::worker::Worker;
use files::{LogFiles, LogLine};
use histograms::HistogramWindows;

/// Number of lines that are held before they are written: a clone writes its logs while it works.
const LINES_HELD: usize = 1 << 14;
/// Number of bytes of histograms that are held before they are written.
const HISTOGRAM_BYTES_HELD: usize = 1 << 20;

/// Kinds of lines.
const SLAT: usize = 0;
const CLAT: usize = 1;
const LAT: usize = 2;
const BANDWIDTH: usize = 3;
const IOPS: usize = 4;
/// Kinds of lines of `write_iolog`: a request, and a file that is opened or closed.
pub(super) const ISSUED: u64 = 5;
pub(super) const OPENED: u64 = 6;
pub(super) const CLOSED: u64 = 7;
/// Direction numbers of fsync, fdatasync and sync_file_range.
pub(super) const SYNC: u64 = 3;
pub(super) const DATA_SYNC: u64 = 4;
pub(super) const RANGE_SYNC: u64 = 5;
/// Averaging window of a log.
#[derive(Clone, Copy, Debug, Default)]
struct AveragingWindow {
    began_ms: u64,
    sum: u128,
    count: u64,
    most: u64,
}

/// Completed request.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompletedRequest {
    /// Milliseconds since the start.
    pub(super) at_ms: u64,
    /// Index of the direction: 0 for reads, 1 for writes.
    pub(super) direction: usize,
    pub(super) bytes: u64,
    pub(super) offset: u64,
    /// Submission latency, for queued requests only.
    pub(super) slat_ns: Option<u64>,
    pub(super) clat_ns: u64,
}

/// Logs of a running clone.
#[derive(Clone, Debug)]
pub(super) struct Logs {
    options: LogOptions,
    files: LogFiles,
    /// True if files are written.
    is_real: bool,
    lines: Vec<LogLine>,
    histograms: HistogramWindows,
    /// Lines of histograms.
    histogram_text: String,
    windows: [[AveragingWindow; 3]; 3],
    /// Start of the window of bandwidth and IOPS, common to all directions.
    rates_began_ms: u64,
    rates: [[u64; 2]; 3],
    last_ms: u64,
}

impl Logs {
    /// Logs of a clone, if its job asks for any; relative paths begin at `base`.
    pub(super) fn of_worker(worker: &Worker, base: &Path) -> Option<Box<Self>> {
        let options = &worker.job.logs;
        options.is_any().then(|| Box::new(Self::new(options, LogFiles::of_worker(worker, base))))
    }

    fn new(options: &LogOptions, files: LogFiles) -> Self {
        Self {
            options: options.clone(),
            files,
            is_real: false,
            lines: Vec::new(),
            histograms: HistogramWindows::default(),
            histogram_text: String::new(),
            windows: Default::default(),
            rates_began_ms: 0,
            rates: Default::default(),
            last_ms: 0,
        }
    }

    /// Begins the logs; in memory no files are written.
    pub(super) fn begin(&mut self, is_real: bool) {
        self.is_real = is_real;
    }

    /// Records a completed request.
    pub(super) fn ended(&mut self, ended: CompletedRequest) {
        let CompletedRequest { at_ms, direction, bytes, offset, slat_ns, clat_ns } = ended;
        let of = (direction, bytes, offset);
        self.last_ms = at_ms;
        if self.options.latencies.is_some() {
            if let Some(slat_ns) = slat_ns {
                self.latency(SLAT, at_ms, of, slat_ns);
            }
            self.latency(CLAT, at_ms, of, clat_ns);
            self.latency(LAT, at_ms, of, clat_ns + slat_ns.unwrap_or(0));
        }
        if self.options.histograms.is_some() && self.options.histogram_ms > 0 {
            let request = [at_ms, direction as u64, bytes, clat_ns];
            self.histograms.ended(&mut self.histogram_text, &self.options, request);
            if self.histogram_text.len() >= HISTOGRAM_BYTES_HELD {
                self.write();
            }
        }
        if self.options.average_ms > 0 {
            self.rates[direction][0] += bytes;
            self.rates[direction][1] += 1;
            self.rates_so_far(at_ms);
            return;
        }
        if self.options.bandwidth.is_some() {
            let kib = u128::from(bytes) * 1_000_000_000 / u128::from(clat_ns.max(1)) / 1024;
            let kib = u64::try_from(kib).unwrap_or(u64::MAX);
            self.push([BANDWIDTH as u64, at_ms, kib, direction as u64, bytes, offset]);
        }
        if self.options.iops.is_some() {
            self.push([IOPS as u64, at_ms, 1, direction as u64, bytes, offset]);
        }
    }

    fn latency(&mut self, kind: usize, at_ms: u64, of: (usize, u64, u64), ns: u64) {
        let (direction, bytes, offset) = of;
        let average_ms = self.options.average_ms;
        if average_ms == 0 {
            self.push([kind as u64, at_ms, ns, direction as u64, bytes, offset]);
            return;
        }
        let window = &mut self.windows[kind][direction];
        window.sum += u128::from(ns);
        window.count += 1;
        window.most = window.most.max(ns);
        if at_ms.saturating_sub(window.began_ms) >= average_ms {
            self.close(kind, direction, at_ms);
        }
    }

    /// Ends a window; the next one begins at a multiple of its length.
    fn close(&mut self, kind: usize, direction: usize, at_ms: u64) {
        let began_ms = at_ms - at_ms % self.options.average_ms.max(1);
        let AveragingWindow { sum, count, most, .. } = std::mem::replace(
            &mut self.windows[kind][direction],
            AveragingWindow { began_ms, ..AveragingWindow::default() },
        );
        if count > 0 {
            let mean = u64::try_from(sum / u128::from(count)).unwrap_or(u64::MAX);
            let value = if self.options.has_maxima { most } else { mean };
            self.push([kind as u64, at_ms, value, direction as u64, 0, 0]);
        }
    }

    fn rates_so_far(&mut self, at_ms: u64) {
        let ms = at_ms.saturating_sub(self.rates_began_ms);
        if ms < self.options.average_ms {
            return;
        }
        self.rates_began_ms = at_ms;
        for (direction, [bytes, requests]) in
            std::mem::take(&mut self.rates).into_iter().enumerate()
        {
            if requests == 0 {
                continue;
            }
            if self.options.bandwidth.is_some() {
                let kib = bytes * 1000 / ms / 1024;
                self.push([BANDWIDTH as u64, at_ms, kib, direction as u64, 0, 0]);
            }
            if self.options.iops.is_some() {
                self.push([IOPS as u64, at_ms, requests * 1000 / ms, direction as u64, 0, 0]);
            }
        }
    }

    /// Records one event of a file for `write_iolog`: microseconds, the file's number, the
    /// direction, bytes and the offset.
    pub(super) fn issued(&mut self, kind: u64, [us, file, direction, bytes, offset]: [u64; 5]) {
        if self.options.requests.is_some() {
            self.push([kind, us, file, direction, bytes, offset]);
        }
    }

    #[inline]
    fn push(&mut self, line: LogLine) {
        self.lines.push(line);
        if self.lines.len() >= LINES_HELD {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if self.is_real {
            self.files.write(&self.options, &self.lines, &self.histogram_text);
        }
        self.lines.clear();
        self.histogram_text.clear();
    }

    /// Closes the last interval of each latency log, which ends with the work.
    fn close_all(&mut self) {
        for kind in [SLAT, CLAT, LAT] {
            for direction in [0, 1, 2] {
                self.close(kind, direction, self.last_ms);
            }
        }
    }

    /// Writes the rest of the logs; returns messages about files that could not be written.
    pub(super) fn end(mut self) -> Vec<String> {
        self.close_all();
        self.write();
        self.files.failures()
    }
}

#[cfg(test)]
mod tests {
    use super::{CompletedRequest, LogFiles, LogLine, LogOptions, Logs};

    fn logs(options: &LogOptions) -> Logs {
        Logs::new(options, LogFiles::default())
    }

    fn lines(mut logs: Logs) -> Vec<LogLine> {
        logs.close_all();
        logs.lines
    }

    fn options(average_ms: u64) -> LogOptions {
        let prefix = || Some("p".to_owned());
        LogOptions {
            latencies: prefix(),
            bandwidth: prefix(),
            iops: prefix(),
            average_ms,
            ..LogOptions::default()
        }
    }

    fn ended(at_ms: u64, direction: usize, clat_ns: u64) -> CompletedRequest {
        CompletedRequest { at_ms, direction, bytes: 4096, offset: 512, slat_ns: None, clat_ns }
    }

    #[test]
    fn each_request_is_in_each_log() {
        let mut logs = logs(&options(0));
        logs.ended(ended(3, 1, 1_000_000));
        logs.ended(CompletedRequest { slat_ns: Some(5), ..ended(4, 0, 10) });
        let lines = lines(logs);
        let expected: [[u64; 6]; 9] = [
            [1, 3, 1_000_000, 1, 4096, 512],
            [2, 3, 1_000_000, 1, 4096, 512],
            [3, 3, 4000, 1, 4096, 512],
            [4, 3, 1, 1, 4096, 512],
            [0, 4, 5, 0, 4096, 512],
            [1, 4, 10, 0, 4096, 512],
            [2, 4, 15, 0, 4096, 512],
            [3, 4, 400_000_000, 0, 4096, 512],
            [4, 4, 1, 0, 4096, 512],
        ];
        assert_eq!(lines, expected);
        assert!(!LogOptions::default().is_any());
    }

    #[test]
    fn averaging_windows_begin_at_multiples_of_their_length() {
        let mut latencies = logs(&LogOptions { bandwidth: None, iops: None, ..options(10) });
        for (at_ms, ns) in [(1, 10), (9, 20), (13, 30), (19, 1), (20, 3), (21, 7)] {
            latencies.ended(ended(at_ms, 0, ns));
        }
        let totals = lines(latencies).into_iter().filter(|line| line[0] == 2);
        let totals: Vec<[u64; 2]> = totals.map(|line| [line[1], line[2]]).collect();
        assert_eq!(totals, [[13, 20], [20, 2], [21, 7]]);
        let maxima = LogOptions { has_maxima: true, bandwidth: None, iops: None, ..options(10) };
        let mut longest = logs(&maxima);
        for (at_ms, ns) in [(1, 10), (9, 20), (13, 3)] {
            longest.ended(ended(at_ms, 0, ns));
        }
        assert!(lines(longest).iter().all(|line| line[2] == 20));
        let mut rates = logs(&LogOptions { latencies: None, ..options(100) });
        for (at_ms, direction) in [(50, 0), (60, 1), (100, 0), (150, 0)] {
            rates.ended(ended(at_ms, direction, 1));
        }
        assert_eq!(
            lines(rates),
            [
                [3, 100, 80, 0, 0, 0],
                [4, 100, 20, 0, 0, 0],
                [3, 100, 40, 1, 0, 0],
                [4, 100, 10, 1, 0, 0]
            ]
        );
    }
}
