//! fs_mark 3.3, and the closing lines of its later version.

pub mod account;
pub mod methods;
pub mod text;
