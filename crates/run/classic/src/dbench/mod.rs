//! dbench 4.00, and what 5.0 prints for other programs.

pub mod account;
pub mod text;
pub mod tick;
