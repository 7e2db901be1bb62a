//! blogbench 1.1.

pub mod counts;
pub mod text;
