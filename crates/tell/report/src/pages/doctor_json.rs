//! What `treering doctor` found, as data: `treering doctor --format json`.

use serde::Serialize;
use treering_model::Fact;

use crate::Warning;
use crate::data::Data;

/// What was found, the worst first.
#[derive(Debug, Serialize)]
pub struct Diagnosis<'d> {
    /// What was looked at: a directory, a device or a plan.
    pub path: &'d str,
    /// Why it cannot be used as it is.
    pub obstacles: &'d [String],
    /// What makes measurements doubtful.
    pub cautions: &'d [Warning],
    /// What was seen.
    pub environment: &'d [Fact],
}

impl Data for Diagnosis<'_> {
    const FORMAT: &'static str = "treering doctor";
    const VERSION: u32 = 1;
}
