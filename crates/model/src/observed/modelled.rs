//! Times on a modelled disk: on one whose seeks cost, whatever the device here is.

use serde::{Deserialize, Serialize};

/// The modelled disk whose times stand beside traces and layouts.
pub const MODELLED_DISK: &str = "hdd-7200";

/// A time in seconds with its interval from the uncertainty of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelledSeconds {
    /// As the numbers of the disk are.
    pub typical: f64,
    /// With a disk as fast as it may be.
    pub low: f64,
    /// With one as slow as it may be.
    pub high: f64,
}

impl ModelledSeconds {
    /// From the times of a typical disk, of a fast one and of a slow one. A faster disk that meets
    /// a place at another angle need not be faster, so the three are put in order.
    pub fn of([typical, fast, slow]: [f64; 3]) -> Self {
        Self { typical, low: fast.min(typical).min(slow), high: slow.max(typical).max(fast) }
    }
}
