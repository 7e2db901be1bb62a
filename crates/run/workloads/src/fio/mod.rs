//! fio: job files run natively, as fio 3.33 runs them.
//!
//! `jobfile` is the language. Nothing here calls the kernel.

mod jobfile;

use treering_script::ConfigError;

use jobfile::{Machine, Surroundings};

/// The jobs of a file with every option resolved, written as a job file again. `file` is its name
/// in errors. It includes no other, and knows no environment.
///
/// # Errors
/// When it cannot be read; says where, and what would be right.
pub fn show_job_file(file: &str, text: &[u8]) -> Result<String, ConfigError> {
    let reader = |_: &str, _: &str| Err("no file is included here".to_owned());
    let environment = |_: &str| None;
    let machine = Machine { cpus: 1, page_bytes: 4096, memory_mib: 1024 };
    let around = Surroundings { reader: &reader, environment: &environment, machine };
    jobfile::parse(file, text, &[], &around).map(|jobs| jobfile::show(&jobs))
}
