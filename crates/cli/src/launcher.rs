//! Parallel launchers such as mpirun: detects whether one started this process, and how many
//! processes it started.

use treering_conduct::ParallelLaunch;

/// Environment variables with the number of processes a launcher started. `SLURM_NTASKS` is not
/// among them: it is set in every batch job, even for one process.
const SIZE_VARIABLES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_SIZE", "MPICH, or another one with its process manager"),
    ("MV2_COMM_WORLD_SIZE", "MVAPICH"),
    ("SLURM_STEP_NUM_TASKS", "Slurm"),
];

/// Number of processes that a parallel launcher has started according to the environment, with the
/// variable and the name of the launcher; `None` without a launcher.
pub(crate) fn launched_size() -> Option<(u64, &'static str, &'static str)> {
    SIZE_VARIABLES.iter().find_map(|(name, launcher)| {
        let size = std::env::var(name).ok()?.trim().parse().ok()?;
        Some((size, *name, *launcher))
    })
}

/// Parallel launch of this process, according to the environment.
pub(crate) fn parallel_launch() -> Option<ParallelLaunch> {
    launched_size().map(|(size, variable, launcher)| ParallelLaunch { size, variable, launcher })
}

/// True if the output of this process passes through a parallel launcher. A launcher may connect a
/// terminal even if its own output is a file (Open MPI does). A shell in a job of Slurm is one
/// process with its own terminal.
pub(crate) fn is_launched() -> bool {
    launched_size().is_some_and(|(size, _, launcher)| size > 1 || launcher != "Slurm")
}
