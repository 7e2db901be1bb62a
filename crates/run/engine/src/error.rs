//! What can go wrong in a run, with path, call and the system's own words.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use treering_model::SinkError;

use crate::CallFailure;

/// Why a run ended before its end. What was done until then has been told to the sink.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A call failed in a way that its script did not expect.
    #[error("{failure}")]
    Call {
        /// The task it was part of: its kind and subject.
        task: String,
        /// The call.
        #[source]
        failure: Box<CallFailure>,
    },
    /// A signal asked to stop.
    #[error("interrupted by signal {signal}")]
    Interrupted {
        /// Its number.
        signal: i32,
    },
    /// The stop flag was halted, not by a signal and not by a worker of this run.
    #[error("stopped before its end")]
    Halted,
    /// A defect of ours: a worker panicked.
    #[error("{task}: the worker panicked: {message}")]
    Panicked {
        /// The task.
        task: String,
        /// What it said.
        message: String,
    },
    /// The process of a worker ended without its result.
    #[error("{task}: the worker's process was lost: {why}")]
    Lost {
        /// The task.
        task: String,
        /// How it ended.
        why: String,
    },
    /// The session itself cannot go on.
    #[error("{why}")]
    Session {
        /// Why.
        why: String,
    },
    /// A worker could not be set up.
    #[error("worker {worker} cannot be started: {source}")]
    Start {
        /// Which, counted from 0.
        worker: usize,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The place could not be renewed between two phases.
    #[error("the place could not be had again between two phases: {why}")]
    Renewal {
        /// Why.
        why: String,
    },
    /// A listener could not take an event.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// Why a directory cannot be a target.
#[derive(Debug, Error)]
#[error("{what} {}: {source}", path.display())]
pub struct TargetError {
    /// What was being done: `open`.
    pub what: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}
