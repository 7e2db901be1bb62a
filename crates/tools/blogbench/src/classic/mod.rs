//! blogbench 1.1.

pub(crate) mod counts;
pub(crate) mod text;
