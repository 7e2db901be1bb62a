//! filebench 1.5-alpha3.

pub mod summary;
pub mod tally;
pub mod text;
