//! Metrics that observers take rather than the workload, by their names.

pub mod calls;
pub mod deferred;
pub mod device;
pub mod functions;
pub mod kernel;
pub mod played;

use super::spec::MetricSpec;
use super::{layout, trace};
use crate::Op;

/// Name prefixes of the observers whose metrics share one.
const PREFIXES: [&str; 3] = ["trace_", "layout_", "played_"];
/// Quantiles in the names of latencies of system calls.
const QUANTILES: [&str; 4] = ["p50", "p99", "p999", "max"];

/// Reports whether a metric comes from an observer rather than the workload.
pub fn is_observation(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_counter(name)
}

/// Reports whether a metric comes from the counters of the kernel and of the devices, which are
/// read in every trial.
pub fn is_counter(name: &str) -> bool {
    let lists = [device::ALL, kernel::ALL, deferred::ALL, functions::ALL];
    lists.into_iter().flatten().any(|spec| has(spec, name))
}

/// Metrics that count what the same work took at the devices and in the layout, however long.
static COUNTS_OF_WORK: [&MetricSpec; 9] = [
    &device::READ_REQUESTS,
    &device::READ_BYTES,
    &device::WRITE_REQUESTS,
    &device::WRITTEN_BYTES,
    &device::DISCARD_REQUESTS,
    &device::FLUSHES,
    &trace::SEEKS,
    &trace::WRITE_AMPLIFICATION,
    &layout::EXTENTS_PER_FILE,
];

/// Reports whether a metric counts what the work took, such as requests and bytes at the devices,
/// seeks or extents. Between equal works it does not depend on the time that they took.
pub fn is_count_of_work(name: &str) -> bool {
    COUNTS_OF_WORK.iter().any(|spec| spec.name == name)
}

/// Reports whether a metric is the latency of one kind of system call.
pub fn is_call_latency(name: &str) -> bool {
    has(&calls::CALL_LATENCY_NANOSECONDS, name)
}

/// Reports whether observers can give a metric of this name, apart from its part of the trial.
pub fn is_observable(name: &str) -> bool {
    all().any(|spec| has(spec, name)) || call_latencies().any(|known| known == name)
}

/// Recording that a metric needs and that is made by request only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedRecording<'n> {
    /// Block traces.
    Trace,
    /// Layouts of the files.
    Layout,
    /// Latencies of the function of the kernel with this name.
    Function(&'n str),
    /// A disk that is played.
    PlayedDisk,
}

/// Recording that a metric needs, named apart from its part of the trial; `None` for a metric of
/// every trial.
pub fn requested_recording(name: &str) -> Option<RequestedRecording<'_>> {
    let has_any = |list: &[MetricSpec]| list.iter().any(|spec| has(spec, name));
    if let Some(function) = functions::ALL.iter().find_map(|spec| spec.word_of(name)) {
        return Some(RequestedRecording::Function(function));
    }
    let lists = [
        (trace::ALL, RequestedRecording::Trace),
        (layout::ALL, RequestedRecording::Layout),
        (played::ALL, RequestedRecording::PlayedDisk),
    ];
    lists.into_iter().find(|(list, _)| has_any(list)).map(|(_, recording)| recording)
}

/// Names of the metrics that observers can give, without families of them.
pub fn observable_names() -> Vec<String> {
    let own = all().filter(|spec| !spec.name.contains("{}")).map(|spec| spec.name.to_owned());
    own.chain(call_latencies()).collect()
}

/// Metrics of observers except the latencies of calls.
fn all() -> impl Iterator<Item = &'static MetricSpec> {
    let lists = [
        trace::ALL,
        layout::ALL,
        played::ALL,
        device::ALL,
        kernel::ALL,
        deferred::ALL,
        functions::ALL,
    ];
    lists.into_iter().flatten()
}

fn call_latencies() -> impl Iterator<Item = String> {
    let specs_of = |op: Op| {
        QUANTILES.map(|quantile| calls::CALL_LATENCY_NANOSECONDS.member(&[op.name(), quantile]))
    };
    Op::ALL.into_iter().flat_map(specs_of)
}

fn has(spec: &MetricSpec, name: &str) -> bool {
    spec.word_of(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::{
        RequestedRecording, is_call_latency, is_counter, is_observation, requested_recording,
    };

    #[test]
    fn metrics_of_requested_recordings_are_known() {
        for (name, recording) in [
            ("trace_seeks", Some(RequestedRecording::Trace)),
            ("layout_extents_per_file", Some(RequestedRecording::Layout)),
            ("played_seek_seconds", Some(RequestedRecording::PlayedDisk)),
            (
                "function_jbd2_log_wait_commit_mean_nanoseconds",
                Some(RequestedRecording::Function("jbd2_log_wait_commit")),
            ),
            ("device_flushes", None),
            ("fsync_call_latency_p99_nanoseconds", None),
        ] {
            assert_eq!(requested_recording(name), recording, "{name}");
        }
    }

    #[test]
    fn counters_are_known_by_name_and_not_by_prefix() {
        for name in ["device_flushes", "kernel_thread_jbd2_cpu_seconds", "deferred_write_bytes"] {
            assert!(is_counter(name) && is_observation(name), "{name}");
        }
        for name in ["kernel_build_seconds", "device_speed", "trace_seeks", "elapsed_seconds"] {
            assert!(!is_counter(name), "{name}");
        }
        assert!(is_observation("layout_score_percent") && !is_observation("kernel_build_seconds"));
    }

    #[test]
    fn latencies_of_calls_are_not_those_of_requests() {
        assert!(is_call_latency("fsync_call_latency_p99_nanoseconds"));
        assert!(!is_call_latency("read_latency_p99_nanoseconds"));
    }
}
