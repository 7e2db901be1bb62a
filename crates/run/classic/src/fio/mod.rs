//! fio 3.33.

pub mod histogram;
mod latencies;
pub mod offered;
pub mod tally;
pub mod text;
