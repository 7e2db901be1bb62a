//! What ior measures of each rank, and the text that it prints of it.

pub mod json;
pub mod outliers;
pub mod parameters;
pub mod results;
pub mod text;
