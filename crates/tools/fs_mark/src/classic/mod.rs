//! Output of fs_mark 3.3, and the closing lines of its later version.

pub(crate) mod account;
pub(crate) mod methods;
pub(crate) mod text;
