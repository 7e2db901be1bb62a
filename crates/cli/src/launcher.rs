//! Launchers such as mpirun: whether one has started this process, as one of how many.

/// Variables in which launchers say how many processes they have started. `SLURM_NTASKS` is not
/// among them: it is there in every batch job, also where one process is started.
const SIZES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_SIZE", "MPICH, or another one with its process manager"),
    ("MV2_COMM_WORLD_SIZE", "MVAPICH"),
    ("SLURM_STEP_NUM_TASKS", "Slurm"),
];

/// Number of processes that a parallel launcher says it has started, with the environment variable
/// that holds the number, and the name of the launcher; `None` without a launcher.
pub(crate) fn said_size() -> Option<(u64, &'static str, &'static str)> {
    SIZES.iter().find_map(|(name, launcher)| {
        let size = std::env::var(name).ok()?.trim().parse().ok()?;
        Some((size, *name, *launcher))
    })
}

/// True if the output of this process passes through a parallel launcher. A launcher may put a
/// terminal in between although its own output is a file (Open MPI does). A shell in a job of Slurm
/// is one process with its own terminal.
pub(crate) fn is_launched() -> bool {
    said_size().is_some_and(|(size, _, launcher)| size > 1 || launcher != "Slurm")
}
