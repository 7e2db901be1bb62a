//! Observations beside the figures of the workload: counters of the kernel, layouts, fresh copies,
//! images, data sets, heat, played disks, ranks and the machine.

pub(crate) mod artifact;
pub(crate) mod counters;
pub(crate) mod dataset;
pub(crate) mod fresh_copy;
pub(crate) mod functions;
pub(crate) mod heat;
pub(crate) mod image;
pub(crate) mod layout;
pub(crate) mod machine;
pub(crate) mod modelled;
pub(crate) mod played;
pub(crate) mod ranks;
