//! fio 3.33.

pub mod histogram;
pub mod offered;
pub mod tally;
pub mod text;
