//! What ior measures of each rank, and the text that it prints of it.

pub(crate) mod json;
pub(crate) mod outliers;
pub(crate) mod parameters;
pub(crate) mod results;
pub(crate) mod text;
