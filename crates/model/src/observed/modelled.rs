//! Times on a modelled disk, which has seek costs whatever the real device is.

use serde::{Deserialize, Serialize};

/// Modelled disk whose times accompany traces and layouts.
pub const MODELLED_DISK: &str = "hdd-7200";

/// Modelled time in seconds, with an interval from the uncertainty of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelledSeconds {
    /// Time with the nominal figures of the disk.
    pub typical: f64,
    /// Time with the fastest plausible disk.
    pub low: f64,
    /// Time with the slowest plausible disk.
    pub high: f64,
}

impl ModelledSeconds {
    /// Builds the interval from the times of the nominal, fast and slow disk. A faster disk may
    /// meet a sector at a worse angle and be slower, so the three are sorted.
    pub fn from_times([typical, fast, slow]: [f64; 3]) -> Self {
        Self { typical, low: fast.min(typical).min(slow), high: slow.max(typical).max(fast) }
    }
}
