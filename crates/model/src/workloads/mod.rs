//! Facts about workloads that other crates need, one file each: counters for readers of trials, and
//! prescribed values of benchmarks. Execution is elsewhere.

pub mod io500;
pub mod ior;
pub mod load;
pub mod mdtest;
