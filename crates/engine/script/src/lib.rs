//! Interface that workloads are written against: jobs, sessions, the code of tasks, and calls.
//!
//! A task is plain sequential code that asks an [`Io`] for each system call and never makes one
//! itself. This allows golden sequences without a disk, dry runs, footprints before a run, several
//! ways to call the kernel, and a filesystem in memory as test oracle.

mod board;
mod buffers;
mod call;
mod causes;
mod classic;
mod config_error;
mod entries;
mod io;
mod job;
mod names;
mod option_table;
mod options;
mod random;
mod record;
mod session_error;
mod setting_files;
mod signal;
mod spans;
mod typed_options;

pub use board::{CounterBoard, Deadline, StatusText};
pub use buffers::{Buffers, OpenBuffers};
pub use call::{
    AsyncRequest, Call, CallSubject, Completion, CreateHow, DirSlot, FileSlot, MAX_DIRS, MAX_FILES,
    OpenHow, SyncScope,
};
pub use causes::with_causes;
pub use classic::{
    ClassicMode, ClassicOutput, ClassicPayload, ClassicScene, ClassicTraces, DiskCounts,
    MissingRootPolicy, OutputContext, SemaphoreBarrier, StatfsSpace, ToolOutput, UnusableDirectory,
};
pub use config_error::ConfigError;
pub use entries::{DirEntries, DirEntry, EntryKind};
pub use io::{CallError, CallResult, ExpectedErrors, Io, ResourceUsage, Stop, TaskUsage};
pub use job::{
    AllRanks, CachePolicy, Conductor, Credentials, ExistingFiles, ExternalProgram, Footprint,
    GroupStart, IoQueue, Job, JobDevice, LayoutFeed, NoListener, OutlineLine, ParallelGroup,
    ParallelOptions, Phase, ProgramEnd, ProgramWatch, QueueKind, ReportedPhase, RunRequest,
    ScaleUnit, Script, Session, SessionResult, SessionStop, SignalEffect, TargetFacts, Task,
    TaskListener, TimeLimit, UnfinishedTasks, WorkScale, WorkerKind,
};
pub use names::{NameError, NameId, NameTree, NamesBuilder, NodeKind, path_components};
pub use option_table::with_option_table;
pub use options::{
    MachineFacts, OptionSpec, OptionSupport, RankDistribution, RankPlacement, Settings, ValueKind,
    Workload, WorkloadManifest, parse_count, parse_size,
};
pub use random::Random;
pub use record::{ClassicRecord, ContextAnswer, JobRecord};
pub use session_error::SessionError;
pub use setting_files::SettingFiles;
pub use signal::WakeSignal;
pub use spans::{OperationSpans, SpanRow};
pub use treering_sys::{
    Errno, RequestFlags, SchedulingParameters, SyncMode, available_memory_bytes,
};
pub use typed_options::OptionValue;
