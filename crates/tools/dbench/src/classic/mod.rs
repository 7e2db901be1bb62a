//! Output of dbench 4.00, and the machine-readable output of 5.0.

pub(crate) mod account;
pub(crate) mod text;
pub(crate) mod tick;
