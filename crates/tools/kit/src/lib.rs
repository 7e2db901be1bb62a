//! Code shared by the tools. One tool never imports another.
//!
//! Languages scan their texts with `cursor` and report errors with `faults`; importers read logs
//! with `import`; the other modules are parts of workloads. A [`Tool`] is one line in the registry.

pub mod ahead;
pub mod c_random;
pub mod cautions;
pub mod cursor;
pub mod excerpt;
pub mod faults;
pub mod imitation;
pub mod import;
pub mod occupied;
pub mod op_times;
pub mod outline;
pub mod packet;
pub mod parted;
mod place;
pub mod ranks;
pub mod settings;
pub mod space;
pub mod span;
pub mod sync_all;
pub mod units;

use import::Importer;
use treering_script::Workload;

/// Tool: its workload, the importer of its logs, or both.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Workload, if treering runs the tool.
    pub workload: Option<&'static dyn Workload>,
    /// Importer, if the tool leaves logs.
    pub importer: Option<&'static dyn Importer>,
}
