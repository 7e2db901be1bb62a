//! Metrics of programs that measure any other: hyperfine and Google Benchmark.

use super::spec::metrics;

metrics! {
    /// Most memory that a run of a command used at once, as hyperfine prints it.
    PEAK_MEMORY_BYTES = "peak_memory_bytes", Bytes, Lower;
    /// Wall-clock time of an iteration of a benchmark, as Google Benchmark prints it.
    ITERATION_NANOSECONDS = "iteration_nanoseconds", Nanoseconds, Lower;
    /// CPU time of an iteration of a benchmark, as Google Benchmark prints it.
    ITERATION_CPU_NANOSECONDS = "iteration_cpu_nanoseconds", Nanoseconds, Lower;
}
