//! bonnie++ 2.00a.

pub mod asked;
pub mod test;
pub mod text;
