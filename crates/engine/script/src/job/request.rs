//! Request for a run: what is recorded of it, and what a repeat needs.

use treering_model::RunMode;

/// Request for a run, as it is recorded with the trial: all that a repeat needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// Classic or native.
    pub mode: RunMode,
    /// Names and values of all parameters, in a fixed order.
    pub parameters: Vec<(String, String)>,
}

impl RunRequest {
    /// Request by the command line of the imitated tool.
    pub const fn classic(parameters: Vec<(String, String)>) -> Self {
        Self { mode: RunMode::Classic, parameters }
    }

    /// Request by options of treering.
    pub const fn native(parameters: Vec<(String, String)>) -> Self {
        Self { mode: RunMode::Native, parameters }
    }

    /// True for a request by the command line of the imitated tool.
    pub fn is_classic(&self) -> bool {
        self.mode == RunMode::Classic
    }
}
