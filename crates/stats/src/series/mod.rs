//! Series of samples in one run or a history: description, autocorrelation, trends and changes.
pub(crate) mod autocorrelation;
pub(crate) mod bounded_cost;
pub(crate) mod change_point;
pub(crate) mod heat;
pub(crate) mod knee;
pub(crate) mod lasting_trend;
pub(crate) mod level_shift;
pub(crate) mod ljung_box;
pub(crate) mod mann_kendall;
pub(crate) mod noise;
pub(crate) mod serial_check;
pub(crate) mod settle;
pub(crate) mod step_or_memory;
pub(crate) mod theil_sen;
