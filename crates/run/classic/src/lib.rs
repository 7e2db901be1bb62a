//! What the imitated tools count, and the text that they print of it: one folder each.
//!
//! The figures are serde structs that workers fill and trials record with their tasks; `text` of
//! each tool turns them into its output, byte for byte. Pure: no clock, no file, no call. When
//! something is printed is decided by the workload, which hears the events.

pub mod blogbench;
pub mod bonnie;
pub mod compilebench;
pub mod dbench;
pub mod ffsb;
pub mod filebench;
pub mod fio;
pub mod fs_mark;
pub mod ior;
pub mod mdtest;
