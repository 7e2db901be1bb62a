//! Per-rank measurements of ior, and the text printed from them.

pub(crate) mod json;
pub(crate) mod outliers;
pub(crate) mod parameters;
pub(crate) mod results;
pub(crate) mod text;
