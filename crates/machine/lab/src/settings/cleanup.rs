//! Runs the commands of a variant, for a trial and for leftovers of a killed run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::register::CleanupCommand;
use crate::tools::{self, ToolPath};
use crate::{DeviceError, LabError};

/// Runs a cleanup command, in `/` if its working directory is gone.
pub(crate) fn clean_up(command: &CleanupCommand, tools: &ToolPath) -> Result<(), LabError> {
    let folder = Some(command.folder.as_path()).filter(|folder| folder.is_dir());
    run(&command.words, &command.environment, folder.unwrap_or(Path::new("/")), tools)
}

/// Runs a command in a folder, with additional environment variables; a failing command is an
/// error.
pub(super) fn run(
    words: &[String],
    environment: &[(String, String)],
    folder: &Path,
    tools: &ToolPath,
) -> Result<(), LabError> {
    let Some((name, arguments)) = words.split_first() else { return Ok(()) };
    let program = if name.contains('/') { Some(PathBuf::from(name)) } else { tools.find(name) };
    let missing = || LabError::io("cannot run", name)(std::io::ErrorKind::NotFound.into());
    let program = program.ok_or_else(missing)?;
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let run = tools::run_with(&program, &arguments, folder, environment);
    let run = run.map_err(LabError::io("cannot run", &program))?;
    match run.failure {
        None => Ok(()),
        Some(failure) => {
            Err(DeviceError::Tool { command: run.command, failure, output: run.output }.into())
        }
    }
}
