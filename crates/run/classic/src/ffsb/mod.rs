//! FFSB 6.0-RC2.

pub mod tally;
pub mod text;
