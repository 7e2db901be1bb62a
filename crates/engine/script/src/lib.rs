//! Interface that workloads are written against: jobs, sessions, the code of tasks, and calls.
//!
//! A task is straight code that asks an [`Io`] for each call to the kernel and never makes one
//! itself. That gives golden sequences without a disk, dry runs, the footprint before the run,
//! several ways to call the kernel, and a filesystem in memory as test oracle.

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

pub use board::{Board, Deadline, Snapshot};
pub use buffers::{Buffers, OpenBuffers};
pub use call::{
    Call, Completion, CreateHow, Dir, File, MAX_DIRS, MAX_FILES, OpenHow, Request, Subject,
    SyncScope,
};
pub use causes::with_causes;
pub use classic::{
    ClassicMode, ClassicOutput, ClassicPayload, ClassicScene, ClassicTraces, DiskCounts, MakeRoots,
    Meeting, NoDirectory, Room, Said, Witness,
};
pub use config_error::ConfigError;
pub use entries::{Entries, Entry, EntryKind};
pub use io::{CallError, Done, Expect, Io, Spent, Stop, Usage};
pub use job::{
    AllRanks, Caches, Conductor, Footprint, GroupStart, Identity, Job, LayoutFeed, NoListener,
    OnSignal, OutlineLine, ParallelGroup, Phase, Program, ProgramEnd, Queue, QueueKind,
    ReportedPhase, Script, Session, SessionResult, SessionStop, SideBySide, TargetFacts, Task,
    TaskListener, TimeLimit, Unfinished, Watch, WorkerKind,
};
pub use names::{Kind, NameError, NameId, Names, NamesBuilder, path_components};
pub use option_table::with_option_table;
pub use options::{
    Machine, Manifest, Nodes, OptionSpec, OverRanks, Settings, Support, ValueKind, Workload,
    parse_count, parse_size,
};
pub use random::Random;
pub use record::{Answer, ClassicRecord, JobRecord};
pub use session_error::SessionError;
pub use setting_files::SettingFiles;
pub use signal::Signal;
pub use spans::{SpanRow, Spans};
pub use treering_sys::{Errno, Scheduling, SyncMode, available_memory_bytes};
pub use typed_options::OptionValue;
