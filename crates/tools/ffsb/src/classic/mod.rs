//! FFSB 6.0-RC2.

pub(crate) mod tally;
pub(crate) mod text;
