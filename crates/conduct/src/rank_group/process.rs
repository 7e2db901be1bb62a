//! One of the processes that a launcher started: its words and machine, and its connection with the
//! others.

use treering_engine::{Link, RankError};
use treering_script::Workload;

use crate::failure::{Failure, FailureKind};

/// This process, as the other ranks know it.
pub struct RankProcess<'a> {
    /// Its command line, without the name of the program.
    pub words: Vec<String>,
    /// The name of its machine.
    pub host: String,
    /// The workloads that it can run.
    pub workloads: &'a [&'static dyn Workload],
}

/// The connection of a rank with the others.
pub trait Connection {
    /// Carries messages.
    fn link(&self) -> &dyn Link;

    /// The name of the library that carries them.
    fn library(&self) -> String;

    /// Ends all ranks at once.
    fn abort(&self) -> !;
}

/// A rank that was lost or has left.
pub(crate) fn failed(error: &RankError) -> Failure {
    Failure::of(FailureKind::Environment, error)
}
