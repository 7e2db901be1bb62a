//! Output of filebench 1.5-alpha3.

pub(crate) mod summary;
pub(crate) mod tally;
pub(crate) mod text;
