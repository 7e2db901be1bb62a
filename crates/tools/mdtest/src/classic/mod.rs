//! Per-rank measurements of mdtest, and the text printed from them.

pub(crate) mod results;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod verbose;
