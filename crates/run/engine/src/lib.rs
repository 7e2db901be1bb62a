//! The engine executes scripts: it turns steps into calls on a filesystem and records what they
//! cost.
//!
//! [`run`] conducts a session on a [`Place`]: a [`Target`] directory, or a [`MemoryFilesystem`],
//! the oracle of tests. What workloads want done is data from `script`; what happened leaves as
//! events. Preparing devices, observing and keeping results are other crates.

mod call;
mod clock;
mod conduct;
mod error;
mod gate;
mod handicap;
mod heat;
pub mod oracle;
mod payload;
mod place;
mod processes;
mod program;
mod progress;
mod recorder;
mod rehearsal;
mod remove;
mod renewal;
mod start;
mod target;
mod threads;
mod ticks;
mod time_limit;
mod watched_program;
mod worker;

pub use call::memory::MemoryCaller;
pub use call::memory_tree::{EntryOrder, MemoryFilesystem};
pub use call::sync::SyncCaller;
pub use call::{CallFailure, Caller, LARGEST_CALL_BYTES, Reply};
pub use clock::TrialClock;
pub use conduct::{EngineOptions, run, run_on_target, run_on_targets, run_renewing};
pub use error::{EngineError, TargetError};
pub use handicap::HANDICAP_PERCENT_MAX;
pub use heat::{HeatBook, HeatLog, HotRange};
pub use payload::{Payload, PayloadKind};
pub use place::Place;
pub use progress::{Progress, ProgressSnapshot};
pub use recorder::{LatencyMode, Recorder};
pub use rehearsal::{Actor, rehearse};
pub use remove::{RemoveError, Removed, remove_tree};
pub use renewal::Renewable;
pub use target::Target;
pub use treering_sys::{Confinement, StopFlag};
