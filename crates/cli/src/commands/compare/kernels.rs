//! Kernels of a command line: `treering kernel check` examines them before a plan uses them, and
//! `--kernel git:REVISION` builds them.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

use treering_conduct::plan::{KernelChoice, Machine, Plan};
use treering_conduct::{
    ChosenKernels, KernelBuild, KernelSources, check_kernel_file, commit_in_plan, is_commit,
    watch_signals,
};

use treering_sys::StopFlag;

use super::super::output;
use crate::arguments::{KernelCheckArgs, QuickArgs};
use crate::exit_codes::KERNEL_UNUSABLE;
use crate::failure::Failure;
use crate::terminal::Terminal;

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

/// Kernels of a comparison; builds those that are not built yet if `builds`.
pub(super) fn chosen(
    args: &QuickArgs,
    builds: bool,
    stop: &StopFlag,
) -> Result<ChosenKernels, Failure> {
    if !args.kernels.iter().any(|name| is_commit(name)) {
        let file = |file: &PathBuf| KernelChoice { name: None, file: file.clone() };
        let kernels = args.kernels.iter().map(file).collect();
        return Ok(ChosenKernels { kernels, unbuilt: Vec::new() });
    }
    if args.machine == Some(Machine::Reboot) {
        let message = "--kernel: a commit is built for guests";
        return Err(Failure::usage(message)
            .hint("with --machine reboot: install it and give its release (`uname -r`)"));
    }
    kernel_sources(args.build.as_deref(), stop)?.choose(&args.kernels, builds, &Terminal)
}

/// Finds the kernels of a plan's variants that name commits, unless --kernel replaces them; returns
/// lines about those that are not built yet.
pub(super) fn found(
    plan: &mut Plan,
    args: &QuickArgs,
    builds: bool,
    stop: &StopFlag,
) -> Result<Vec<String>, Failure> {
    if !args.kernels.is_empty() || commit_in_plan(plan).is_none() {
        return Ok(Vec::new());
    }
    kernel_sources(plan.build.clone().as_deref(), stop)?.find_kernels_of(plan, builds, &Terminal)
}

/// Sources of kernels: the repository of the current directory, with this build.
pub(super) fn kernel_sources(
    build: Option<&str>,
    stop: &StopFlag,
) -> Result<KernelSources, Failure> {
    let directory = std::env::current_dir().map_err(|error| {
        Failure::environment(format!("cannot determine the current directory: {error}"))
    })?;
    let build = build.map(|command| {
        // Standard output has the page alone.
        let output = std::io::stderr().as_fd().try_clone_to_owned();
        let output = output
            .map_err(|error| Failure::environment(format!("cannot run sh for --build: {error}")))?;
        Ok::<_, Failure>(KernelBuild { command: command.to_owned(), output, stop: stop.clone() })
    });
    let cache = std::path::absolute(crate::places::kernels_dir()?).map_err(|error| {
        Failure::environment(format!("cannot determine the directory of kernels: {error}"))
    })?;
    Ok(KernelSources { directory, cache, build: build.transpose()? })
}
