//! Maintenance between the operations of a run: its keys in a profile, the files it works on, the
//! code of its tasks, its costs and its gain.

pub(crate) mod costs;
pub(crate) mod plan;
pub(crate) mod sample;
pub(crate) mod script;
