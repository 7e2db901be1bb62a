//! Call times of a worker in whole microseconds, as the original accounts for them.
//!
//! Native figures come from the engine. These accounts are kept beside them because the original's
//! row is computed from them: the rate of each worker, the overhead, and the minima, means and
//! maxima of the calls.

use serde::{Deserialize, Serialize};

/// Change of the time stamp in names and of the subdirectory, effective from one file on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameChange {
    /// First file with the new name.
    pub file: u64,
    /// Time stamp in the name, in seconds.
    pub stamp: u32,
    /// Subdirectory determined by the time: the start of a round robin, or every subdirectory of a
    /// hash.
    pub subdir: u32,
}

/// Minimum, mean and maximum of one call kind in microseconds, as printed by the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MinAvgMax {
    /// Minimum; 0 without calls.
    pub min_us: u64,
    /// Mean, rounded down.
    pub avg_us: u64,
    /// Maximum.
    pub max_us: u64,
}

/// Times of one kind of call.
#[derive(Clone, Copy, Debug, Default)]
struct CallTimes {
    sum_us: u64,
    min_us: Option<u64>,
    max_us: u64,
}

impl CallTimes {
    fn add(&mut self, us: u64) {
        self.sum_us += us;
        self.min_us = Some(self.min_us.map_or(us, |least| least.min(us)));
        self.max_us = self.max_us.max(us);
    }

    /// Column of the row; the mean is the sum divided by the number of files.
    fn column(&self, files: u64) -> MinAvgMax {
        MinAvgMax {
            min_us: self.min_us.unwrap_or(0),
            avg_us: self.sum_us.checked_div(files).unwrap_or(0),
            max_us: self.max_us,
        }
    }
}

/// Kind of a worker's call, as the original accounts for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallKind {
    /// Call that the original counts as overhead.
    Other,
    /// The open of a new file.
    Create,
    /// A write.
    Write,
    /// An fsync.
    Fsync,
    /// The close of a file that was written.
    Close,
    /// A sync.
    Sync,
    /// The open of a file that was written.
    Reopen,
    /// The close of a file that was reopened.
    CloseAgain,
    /// An unlink.
    Unlink,
    /// Call outside the timed loop that is not printed.
    Outside,
    /// Call before the timed loop; the loop starts when the call ends.
    Before,
}

/// Call times of one worker in one iteration.
#[derive(Debug, Default)]
pub(crate) struct CallAccount {
    /// True if only one file is reopened: its time then enters only the mean.
    only_first: bool,
    began_ns: u64,
    loop_ended_ns: u64,
    create: CallTimes,
    write: CallTimes,
    /// Sum and number of the current file's writes.
    file_writes: (u64, u64),
    /// Sum of the mean write of each file.
    write_means_us: u64,
    fsync: CallTimes,
    sync_us: u64,
    close: CallTimes,
    unlink: CallTimes,
    /// Start of the open of the currently reopened file, in nanoseconds.
    reopened_ns: Option<u64>,
}

impl CallAccount {
    /// Creates the accounts of a worker; `only_first` if it reopens only its first file.
    pub(crate) fn new(only_first: bool) -> Self {
        Self { only_first, ..Self::default() }
    }

    /// Begins the timed loop.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        self.began_ns = at_ns;
        self.loop_ended_ns = at_ns;
    }

    /// Accounts for a call.
    #[inline]
    pub(crate) fn add(&mut self, kind: CallKind, began_ns: u64, ended_ns: u64) {
        let us = ended_ns.saturating_sub(began_ns) / 1000;
        match kind {
            CallKind::Before => return self.begin(ended_ns),
            CallKind::Other | CallKind::Outside => {}
            CallKind::Create => self.create.add(us),
            CallKind::Write => {
                self.write.add(us);
                self.file_writes = (self.file_writes.0 + us, self.file_writes.1 + 1);
            }
            CallKind::Fsync if self.reopened_ns.is_none() => self.fsync.add(us),
            CallKind::Fsync => {}
            CallKind::Close => {
                self.close.add(us);
                let (sum, count) = std::mem::take(&mut self.file_writes);
                self.write_means_us += sum.checked_div(count).unwrap_or(0);
            }
            CallKind::Sync => self.sync_us += us,
            CallKind::Reopen => self.reopened_ns = Some(began_ns),
            CallKind::CloseAgain => {
                let opened_ns = self.reopened_ns.take().unwrap_or(began_ns);
                let us = ended_ns.saturating_sub(opened_ns) / 1000;
                if self.only_first {
                    self.fsync.sum_us += us;
                } else {
                    self.fsync.add(us);
                }
            }
            CallKind::Unlink => self.unlink.add(us),
        }
        if !matches!(kind, CallKind::Unlink | CallKind::Outside) {
            self.loop_ended_ns = ended_ns;
        }
    }

    /// End of the last call other than an unlink, in nanoseconds.
    pub(crate) fn now_ns(&self) -> u64 {
        self.loop_ended_ns
    }

    /// Totals of the iteration.
    pub(crate) fn close(&self, files: u64, full: bool, since: &[NameChange]) -> FileCounters {
        let loop_us = self.loop_ended_ns.saturating_sub(self.began_ns) / 1000;
        let in_calls = self.create.sum_us
            + self.write.sum_us
            + self.fsync.sum_us
            + self.sync_us
            + self.close.sum_us;
        let write = CallTimes { sum_us: self.write_means_us, ..self.write };
        FileCounters {
            files,
            full,
            no_room: false,
            loop_us,
            overhead_us: loop_us.saturating_sub(in_calls),
            create: self.create.column(files),
            write: write.column(files),
            fsync: self.fsync.column(files),
            sync: MinAvgMax { avg_us: self.sync_us, ..MinAvgMax::default() },
            close: self.close.column(files),
            unlink: self.unlink.column(files),
            since: since.to_vec(),
        }
    }
}

/// Counters of a worker in one iteration: its log line in the original, and the data needed to find
/// its files again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileCounters {
    /// Number of complete files.
    pub files: u64,
    /// True if the filesystem ran full.
    pub full: bool,
    /// True if the worker did not start because there was no room for all files.
    pub no_room: bool,
    /// Duration of the loop, unlinking excluded.
    pub loop_us: u64,
    /// Part of the loop spent outside open, write, fsync, sync and close.
    pub overhead_us: u64,
    /// Open.
    pub create: MinAvgMax,
    /// Write; the mean is the mean over the files' mean writes.
    pub write: MinAvgMax,
    /// Fsync, or open, fsync and close of a reopened file.
    pub fsync: MinAvgMax,
    /// Sync; the column of the mean shows the total time.
    pub sync: MinAvgMax,
    /// Close of a written file.
    pub close: MinAvgMax,
    /// Unlink.
    pub unlink: MinAvgMax,
    /// Changes of time stamp and subdirectory, each with its first file.
    pub since: Vec<NameChange>,
}

impl FileCounters {
    /// The columns in the order of the row.
    pub(crate) fn columns(&self) -> [MinAvgMax; 6] {
        [self.create, self.write, self.fsync, self.sync, self.close, self.unlink]
    }

    /// Rate of the worker, from the loop time rounded to a tenth of a second as in the log of the
    /// original's workers.
    pub(crate) fn files_per_second(&self) -> f64 {
        let rate = self.files as f64 / (self.loop_us.max(1) as f64 / 1e6);
        format!("{rate:.1}").parse().unwrap_or(rate)
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;

    use super::{CallAccount, CallKind, MinAvgMax, NameChange};

    const US: u64 = 1000;

    fn column(min_us: u64, avg_us: u64, max_us: u64) -> MinAvgMax {
        MinAvgMax { min_us, avg_us, max_us }
    }

    #[test]
    fn call_times_are_summed_as_in_the_original() {
        let mut account = CallAccount::default();
        account.begin(100 * US);
        let mut now = 100 * US;
        let mut call = |kind, us: u64| {
            account.add(kind, now, now + us * US);
            now += us * US;
        };
        for (create, first, second) in [(10, 3, 4), (21, 5, 9)] {
            call(CallKind::Other, 2);
            call(CallKind::Create, create);
            call(CallKind::Write, first);
            call(CallKind::Write, second);
            call(CallKind::Close, 1);
        }
        call(CallKind::Sync, 500);
        for us in [40, 60] {
            call(CallKind::Reopen, us);
            call(CallKind::Fsync, us);
            call(CallKind::CloseAgain, us);
        }
        call(CallKind::Unlink, 1000);
        let since = [NameChange { file: 0, stamp: 5, subdir: 3 }];
        let counters = account.close(2, false, &since);
        assert_eq!(counters.loop_us, 17 + 3 + 37 + 1 + 500 + 120 + 180);
        assert_eq!(counters.overhead_us, 4);
        assert_eq!(counters.create, column(10, 15, 21));
        assert_eq!(counters.write, column(3, 5, 9), "means 3 and 7 of the files");
        assert_eq!(counters.fsync, column(120, 150, 180));
        assert_eq!(counters.sync, column(0, 500, 0));
        assert_eq!(counters.close, column(1, 1, 1));
        assert_eq!(counters.unlink, column(1000, 500, 1000));
        assert_eq!(Counters::from_value(&counters).read(), Some(counters));
    }

    #[test]
    fn the_fsync_of_the_first_file_alone_has_no_minimum() {
        let mut account = CallAccount { only_first: true, ..CallAccount::default() };
        account.begin(0);
        account.add(CallKind::Reopen, 0, 10 * US);
        account.add(CallKind::Fsync, 10 * US, 290 * US);
        account.add(CallKind::CloseAgain, 290 * US, 300 * US);
        let counters = account.close(3, false, &[]);
        assert_eq!(counters.fsync, column(0, 100, 0));
        assert_eq!(counters.overhead_us, 0);
        assert!((counters.files_per_second() - 10_000.0).abs() < 1e-9);
    }

    #[test]
    fn empty_account_has_zero_means() {
        let counters = CallAccount::default().close(0, true, &[]);
        assert_eq!(counters.columns(), [MinAvgMax::default(); 6]);
        assert!(counters.files_per_second().abs() < 1e-9);
        assert_eq!(Counters::from_value(&counters).read(), Some(counters));
    }
}
