//! Sources of counters, one file and one line in [`SOURCES`] each.

mod btrfs_commits;
mod dirty_pages;
mod disk_statistics;
mod fast_commits;
mod io_uring_workers;
mod journal;
mod kernel_threads;
mod pressure;
mod sysfs_values;
mod text_file;
mod vmstat;
mod xfs_statistics;

use super::reading::Reading;
use super::scene::CounterScene;

/// Source of counters that is read again and again.
pub(super) trait CounterSource {
    /// Reads all values; those that cannot be read are left out.
    fn read(&mut self) -> Vec<Reading>;

    /// True if the values change only by work for the filesystem under test or its devices, so that
    /// they tell when it is quiet.
    fn shows_work(&self) -> bool {
        false
    }
}

/// Opens a source for a trial; `None` where it does not exist.
type Open = fn(&CounterScene) -> Option<Box<dyn CounterSource>>;

/// Every source.
const SOURCES: &[Open] = &[
    disk_statistics::open,
    kernel_threads::open,
    io_uring_workers::open,
    journal::open,
    fast_commits::open,
    btrfs_commits::open,
    xfs_statistics::open,
    sysfs_values::open,
    vmstat::open,
    dirty_pages::open,
    pressure::open,
];

/// Opens all sources that exist for a trial.
pub(super) fn open(scene: &CounterScene) -> Vec<Box<dyn CounterSource>> {
    SOURCES.iter().filter_map(|open| open(scene)).collect()
}
