//! Serialized result of a task, from a worker process or another machine.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};
use treering_model::{Counters, CpuTime, IntervalTotals, Latency, Op, OpTotals};

use crate::workers::worker::{SyncShare, TaskEnd, TaskRun};
use crate::{CallFailure, HeatBook};

/// Serializable form of a [`TaskRun`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReportedRun {
    end: ReportedEnd,
    began_ns: u64,
    wall_ns: u64,
    cpu: CpuTime,
    sync_wall_ns: u64,
    sync_cpu: CpuTime,
    files: u64,
    ops: Vec<OpTotals>,
    /// Counters as JSON text, and their bulk data.
    counters: (String, Vec<u64>),
    intervals: Vec<IntervalTotals>,
    heat: Option<HeatBook>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum ReportedEnd {
    Finished,
    Stopped,
    Failed { op: Op, path: Vec<u8>, errno: i32, calls: u32, bytes: u64 },
    Panicked(String),
    Lost(String),
}

impl ReportedRun {
    pub(crate) fn from_run(run: TaskRun) -> Self {
        let end = match run.end {
            TaskEnd::Finished => ReportedEnd::Finished,
            TaskEnd::Stopped => ReportedEnd::Stopped,
            TaskEnd::Panicked(message) => ReportedEnd::Panicked(message),
            TaskEnd::Lost(why) => ReportedEnd::Lost(why),
            TaskEnd::Failed(failure) => {
                let CallFailure { op, path, errno, calls, bytes } = *failure;
                let path = path.into_os_string().into_vec();
                ReportedEnd::Failed { op, path, errno, calls, bytes }
            }
        };
        Self {
            end,
            began_ns: run.began_ns,
            wall_ns: run.wall_ns,
            cpu: run.cpu,
            sync_wall_ns: run.sync.wall_ns,
            sync_cpu: run.sync.cpu,
            files: run.files,
            ops: run.ops,
            counters: run.counters.into_parts(),
            intervals: run.intervals,
            heat: run.heat,
        }
    }

    pub(crate) fn into_run(self) -> TaskRun {
        let end = match self.end {
            ReportedEnd::Finished => TaskEnd::Finished,
            ReportedEnd::Stopped => TaskEnd::Stopped,
            ReportedEnd::Panicked(message) => TaskEnd::Panicked(message),
            ReportedEnd::Lost(why) => TaskEnd::Lost(why),
            ReportedEnd::Failed { op, path, errno, calls, bytes } => {
                let path = OsStr::from_bytes(&path).into();
                TaskEnd::Failed(Box::new(CallFailure { op, path, errno, calls, bytes }))
            }
        };
        TaskRun {
            end,
            began_ns: self.began_ns,
            wall_ns: self.wall_ns,
            cpu: self.cpu,
            sync: SyncShare { wall_ns: self.sync_wall_ns, cpu: self.sync_cpu },
            files: self.files,
            ops: self.ops,
            counters: Counters::from_json(self.counters.0).with_bulk(self.counters.1),
            intervals: self.intervals,
            heat: self.heat,
        }
    }

    /// Copy without the data that only the rank with the results needs: latencies, intervals, heat.
    pub(crate) fn without_details(&self) -> Self {
        let without = |op: &OpTotals| OpTotals { latency: Latency::new(), ..op.clone() };
        Self {
            end: self.end.clone(),
            counters: self.counters.clone(),
            ops: self.ops.iter().map(without).collect(),
            intervals: Vec::new(),
            heat: None,
            ..*self
        }
    }
}

impl TaskRun {
    /// Result of a task whose worker or rank did not report.
    pub(crate) fn lost(why: String, began_ns: u64) -> Self {
        Self {
            end: TaskEnd::Lost(why),
            began_ns,
            wall_ns: 0,
            cpu: CpuTime::default(),
            sync: SyncShare::default(),
            files: 0,
            ops: Vec::new(),
            counters: Counters::default(),
            intervals: Vec::new(),
            heat: None,
        }
    }
}
