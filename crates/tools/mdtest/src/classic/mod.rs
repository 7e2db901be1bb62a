//! What mdtest measures of each rank, and the text that it prints of it.

pub(crate) mod results;
pub(crate) mod table;
pub(crate) mod text;
