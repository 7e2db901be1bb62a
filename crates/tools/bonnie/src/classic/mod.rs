//! bonnie++ 2.00a.

pub(crate) mod asked;
pub(crate) mod test;
pub(crate) mod text;
