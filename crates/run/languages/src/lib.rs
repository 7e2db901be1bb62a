//! The languages of workloads, one folder each: text is read into typed values that know their
//! places. What a value means for a run is the workload's; what is wrong with a text is reported
//! the same way in all of them. Nothing here opens a file.

pub mod ffsb;
pub mod loadfile;
pub mod messages;
pub mod wml;
