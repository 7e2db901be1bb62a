//! What was seen beside the numbers of the work: layouts, fresh copies, heat; the ranks.

pub(crate) mod artifact;
pub(crate) mod fresh_copy;
pub(crate) mod heat;
pub(crate) mod layout;
pub(crate) mod modelled;
pub(crate) mod played;
pub(crate) mod ranks;
