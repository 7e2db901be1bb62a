//! Workers: tasks run one after the other, on threads that start together, or in processes; their
//! time limit, and the ticks beside them.

pub(crate) mod gate;
pub(crate) mod handicap;
pub(crate) mod process_watch;
pub(crate) mod processes;
pub(crate) mod reported;
pub(crate) mod start;
pub(crate) mod threads;
pub(crate) mod ticks;
pub(crate) mod time_limit;
pub(crate) mod worker;
