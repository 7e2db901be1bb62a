//! dbench 4.00, and what 5.0 prints for other programs.

pub(crate) mod account;
pub(crate) mod text;
pub(crate) mod tick;
