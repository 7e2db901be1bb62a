//! What is known of a workload outside its own code, a file for each: the counters that readers of
//! trials need, and what a benchmark prescribes. How it is run is not here.

pub mod io500;
pub mod ior;
pub mod mdtest;
