//! `treering kernel check`: examines kernels before a plan uses them.

use std::process::ExitCode;

use treering_conduct::{check_kernel_file, watch_signals};

use super::super::output;
use crate::arguments::KernelCheckArgs;
use crate::exit_codes::KERNEL_UNUSABLE;
use crate::failure::Failure;

/// Checks each kernel, and prints its findings before the next one.
pub(crate) fn check_kernels(args: &KernelCheckArgs) -> Result<ExitCode, Failure> {
    let signals = watch_signals()?;
    let search = std::env::var_os("PATH").unwrap_or_default();
    let boot = (!args.no_boot).then_some(search.as_os_str());
    let mut are_usable = true;
    for file in &args.files {
        let checked = check_kernel_file(file, boot, signals.flag())?;
        are_usable &= checked.is_usable;
        output::with_writer(None, |out| {
            checked.lines.iter().try_for_each(|line| writeln!(out, "{line}"))
        })?;
    }
    Ok(if are_usable { ExitCode::SUCCESS } else { ExitCode::from(KERNEL_UNUSABLE) })
}
