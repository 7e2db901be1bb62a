//! Process started by a launcher: its command line, host, and connection with the other ranks.

use treering_engine::{RankError, RankLink};
use treering_script::Workload;

use crate::failure::{Failure, FailureKind};

/// Description of this process for the other ranks.
pub struct RankProcess<'a> {
    /// Command line, without the name of the program.
    pub words: Vec<String>,
    /// Host name.
    pub host: String,
    /// Workloads that the process can run.
    pub workloads: &'a [&'static dyn Workload],
}

/// Connection of a rank to the other ranks.
pub trait Connection {
    /// Link that carries the messages.
    fn link(&self) -> &dyn RankLink;

    /// Name of the message passing library.
    fn library(&self) -> String;

    /// Aborts all ranks at once.
    fn abort(&self) -> !;
}

/// Failure of a rank that was lost or has left.
pub(crate) fn failed(error: &RankError) -> Failure {
    Failure::of(FailureKind::Environment, error)
}
