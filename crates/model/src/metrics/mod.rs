//! Metric definitions: name, unit, better direction and meaning of every metric, each declared
//! once. Native runs, classic runs, importers and observers build their metrics from these, and
//! `cargo xtask tidy` refuses the names anywhere else.
//!
//! One file per workload or observer, and by topic for shared metrics. docs/metrics.md is generated
//! by [`page()`].

pub mod age;
pub mod blogbench;
pub mod bonnie;
pub mod command;
pub mod cpu;
pub mod dbench;
pub mod ffsb;
pub mod filebench;
pub mod fio;
pub mod fs_mark;
pub mod general;
pub mod latency;
pub mod layout;
pub mod load;
mod observed;
mod page;
pub mod rates;
mod spec;
pub mod summary;
pub mod times;
pub mod trace;

pub use observed::{
    RequestedRecording, calls, deferred, device, functions, is_call_latency, is_count_of_work,
    is_counter, is_observable, is_observation, kernel, observable_names, played,
    requested_recording,
};
pub use page::page;
pub use spec::MetricSpec;
