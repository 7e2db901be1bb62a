//! Times on a modelled disk, which has seek costs whatever the real device is.

use serde::{Deserialize, Serialize};

/// Modelled disk whose times accompany traces and layouts.
pub const MODELLED_DISK: &str = "hdd-7200";

/// Modelled time in seconds, with an interval from the uncertainty of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelledSeconds {
    /// Time with the nominal figures of the disk.
    pub typical: f64,
    /// Shortest time of the disks within the uncertainty of its figures.
    pub low: f64,
    /// Longest of these times.
    pub high: f64,
}

impl ModelledSeconds {
    /// Builds the interval from the time of the disk with its nominal figures, followed by those of
    /// disks that are drawn from the uncertainty of the figures.
    pub fn from_times(times: impl IntoIterator<Item = f64>) -> Self {
        let mut times = times.into_iter();
        let typical = times.next().unwrap_or_default();
        let start = Self { typical, low: typical, high: typical };
        times.fold(start, |Self { low, high, .. }, time| Self {
            typical,
            low: low.min(time),
            high: high.max(time),
        })
    }
}
