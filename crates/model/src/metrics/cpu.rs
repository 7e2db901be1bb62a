//! Metrics of CPU time and its shares.

use super::spec::metrics;

metrics! {
    /// User and system CPU time: of compilebench of one task of this kind, in the mean; of the
    /// others of all workers together.
    CPU_SECONDS = "cpu_seconds", Seconds, Lower;
    /// User CPU time of all tasks.
    USER_CPU_SECONDS = "user_cpu_seconds", Seconds, Lower;
    /// System CPU time: of a kind of one task, in the mean; of a phase or trial of all tasks.
    SYSTEM_CPU_SECONDS = "system_cpu_seconds", Seconds, Lower;
    /// User and system CPU time of the operations of all kinds together.
    OPERATION_CPU_SECONDS = "operation_cpu_seconds", Seconds, Lower;
    /// User and system CPU time of one request or operation, in the mean.
    CPU_PER_OPERATION_NANOSECONDS = "cpu_per_operation_nanoseconds", Nanoseconds, Lower;
    /// User and system CPU time by the elapsed time. More than 100 with several workers.
    CPU_PERCENT = "cpu_percent", Percent, Lower;
    /// User CPU time by the elapsed time, as logs print it.
    USER_CPU_PERCENT = "user_cpu_percent", Percent, Lower;
    /// System CPU time by the elapsed time, as logs print it.
    SYSTEM_CPU_PERCENT = "system_cpu_percent", Percent, Lower;
    /// CPU time in which a guest sent its events to the host, by the time for which its processors
    /// were busy during the trial.
    GUEST_PORT_CPU_PERCENT = "guest_port_cpu_percent", Percent, Lower;
}
