//! Engine that executes scripts: it turns steps into calls on a filesystem, and counts and times
//! them.
//!
//! [`RunSessions::run`] runs a session at a [`SessionPlace`]: a [`Target`] directory, or a
//! [`MemoryFilesystem`], the oracle of tests. Workloads describe their work with the types of
//! `script`; results leave as events. Preparing devices, observing trials and storing results are
//! tasks of other crates.

mod call;
mod clock;
mod conduct;
mod error;
mod heat;
mod options;
pub mod oracle;
mod payload;
mod places;
mod program;
mod progress;
mod ranks;
mod recorder;
mod rehearsal;
mod run;
mod totals;
mod workers;

pub use call::memory::MemoryCaller;
pub use call::memory_tree::{EntryOrder, MemoryFilesystem};
pub use call::sync::SyncCaller;
pub use call::{CallFailure, CallReply, Caller, LARGEST_CALL_BYTES};
pub use clock::TrialClock;
pub use error::{EngineError, TargetError};
pub use heat::{HeatBook, HeatLog, HotRange};
pub use options::{EngineOptions, RunOptions};
pub use payload::{Payload, PayloadKind};
pub use places::SessionPlace;
pub use places::manifest::TreeManifest;
pub use places::remove::{RemovalCounts, RemoveError, remove_tree};
pub use places::renewal::{RenewablePlace, RenewableTarget};
pub use places::target::Target;
pub use progress::{ProgressSnapshot, RunProgress};
pub use ranks::{
    ClockRelation, LaunchEnd, LaunchError, Launcher, PhaseBarriers, RankChannels, RankError,
    RankLink, RankReport, RankSkew, SoloLink, USUAL_LAUNCHER, World, channels, find_program,
    is_rank_of_plan, middle_ns, own_directory,
};
pub use recorder::{CallRecorder, LatencyMode};
pub use rehearsal::{SessionRequest, SteppedTask, rehearse, rehearse_session};
pub use run::RunSessions;
pub use treering_sys::{Confinement, FileIdentity, StopFlag};
pub use workers::handicap::HANDICAP_PERCENT_MAX;
