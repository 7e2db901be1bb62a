//! Processes and threads: starting, ending, signals, limits, shared memory and resource usage.
pub(crate) mod child;
pub(crate) mod clock;
pub(crate) mod descendants;
pub(crate) mod first;
pub(crate) mod fork;
pub(crate) mod limits;
pub(crate) mod memory;
pub(crate) mod panics;
pub(crate) mod parent;
pub(crate) mod rusage;
pub(crate) mod scheduling;
pub(crate) mod semaphores;
pub(crate) mod serving;
pub(crate) mod shared;
pub(crate) mod signals;
pub(crate) mod user;
