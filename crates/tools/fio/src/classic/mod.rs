//! Output of fio 3.33.

pub(crate) mod histogram;
mod latencies;
pub(crate) mod offered;
pub(crate) mod tally;
pub(crate) mod text;
