//! What observers saw of a filesystem beside the numbers of the work: layouts, fresh copies, heat.

pub(crate) mod artifact;
pub(crate) mod fresh_copy;
pub(crate) mod heat;
pub(crate) mod layout;
pub(crate) mod modelled;
pub(crate) mod played;
