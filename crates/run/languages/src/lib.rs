//! The languages of workloads, one folder each: text is read into typed values that know their
//! places. What a value means for a run is the workload's. All languages cut their texts with
//! `cursor` and report with `faults`. Nothing here opens a file but `datasets::classic`, whose
//! dataset is a directory.

mod cursor;
pub mod datasets;
mod excerpt;
pub mod faults;
pub mod ffsb;
pub mod fio;
pub mod ior;
pub mod loadfile;
pub mod nearest;
mod place;
pub mod wml;
