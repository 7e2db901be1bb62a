//! The vocabulary of metrics: the name, unit, better direction and meaning of every number that a
//! trial may have, each declared once. Native runs, classic runs, importers and observers make
//! their metrics from these, and `cargo xtask tidy` refuses their names anywhere else.
//!
//! One file for each workload or observer; what several share is in a file by topic.
//! docs/metrics.md is [`page()`].

pub mod blogbench;
pub mod bonnie;
pub mod command;
pub mod cpu;
pub mod dbench;
pub mod ffsb;
pub mod filebench;
pub mod fio;
pub mod fs_mark;
pub mod latency;
pub mod layout;
pub mod load;
mod page;
pub mod played;
pub mod rates;
mod spec;
pub mod summary;
pub mod times;
pub mod trace;

pub use page::page;
pub use spec::{MetricSpec, is_observation};
