//! What mdtest measures of each rank, and the text that it prints of it.

pub mod pattern;
pub mod results;
pub mod table;
pub mod text;
