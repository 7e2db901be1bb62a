//! Commands of a variant: one that prepares the target of a trial, and one that cleans up
//! afterwards.
//!
//! The cleanup command is recorded before the prepare command starts, so that `lab release` runs it
//! after a kill.

use std::path::Path;

use super::cleanup::{clean_up, run};
use crate::LabError;
use crate::lab::Lab;
use crate::register::{CleanupCommand, OwnedRecord, ResourceKind};

/// Commands around a trial; each is a program with its arguments, or empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrialCommands<'a> {
    /// Runs before the trial.
    pub(crate) prepare: &'a [String],
    /// Runs after the trial, also if the preparation or the trial failed.
    pub(crate) cleanup: &'a [String],
    /// Environment variables of both, as (name, value).
    pub(crate) environment: &'a [(String, String)],
    /// Working directory of both.
    pub(crate) folder: &'a Path,
}

/// Prepared target of a trial. Dropping runs the cleanup command, which stays in the register if it
/// fails.
#[derive(Debug)]
pub(crate) struct PreparedPlace {
    lab: Lab,
    cleanup: Option<(OwnedRecord, CleanupCommand)>,
}

impl PreparedPlace {
    /// Records the cleanup command, and runs the prepare command.
    ///
    /// # Errors
    /// When a command does not exist, or the prepare command fails; the cleanup command has then
    /// run.
    pub(crate) fn prepare(commands: TrialCommands<'_>, lab: &Lab) -> Result<Self, LabError> {
        let mut prepared = Self { lab: lab.clone(), cleanup: None };
        if !commands.cleanup.is_empty() {
            let command = CleanupCommand {
                words: commands.cleanup.to_vec(),
                environment: commands.environment.to_vec(),
                folder: commands.folder.to_owned(),
            };
            let kind = ResourceKind::Cleanup(command.clone());
            let record = lab.register.record(&lab.machine, |_| kind)?;
            prepared.cleanup = Some((record, command));
        }
        if !commands.prepare.is_empty() {
            let (words, environment) = (commands.prepare, commands.environment);
            run(words, environment, commands.folder, &lab.tools)?;
        }
        Ok(prepared)
    }

    /// Runs the cleanup command.
    ///
    /// # Errors
    /// When the command fails; it then stays in the register.
    pub(crate) fn clean_up(mut self) -> Result<(), LabError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), LabError> {
        let Some((record, command)) = self.cleanup.take() else { return Ok(()) };
        clean_up(&command, &self.lab.tools)?;
        record.remove()
    }
}

impl Drop for PreparedPlace {
    fn drop(&mut self) {
        let _stays_in_the_register = self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::{PreparedPlace, TrialCommands};
    use crate::{DeviceError, Lab, LabError};

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn commands_run_in_the_folder_with_the_environment() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let (prepare, cleanup) = (shell("echo \"$NAME\" > made"), shell("rm made"));
        let environment = [("NAME".to_owned(), "ext4 -O x".to_owned())];
        let folder = top.path();
        let commands = TrialCommands {
            prepare: &prepare,
            cleanup: &cleanup,
            environment: &environment,
            folder,
        };
        let prepared = PreparedPlace::prepare(commands, &lab).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("made")).unwrap(), "ext4 -O x\n");
        assert_eq!(lab.list().unwrap().len(), 1);
        prepared.clean_up().unwrap();
        assert!(!folder.join("made").exists() && lab.list().unwrap().is_empty());
    }

    #[test]
    fn cleanup_runs_after_a_failed_preparation() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let (prepare, cleanup) = (shell("touch made; exit 3"), shell("rm made"));
        let folder = top.path();
        let commands =
            TrialCommands { prepare: &prepare, cleanup: &cleanup, environment: &[], folder };
        let failed = PreparedPlace::prepare(commands, &lab);
        assert!(matches!(failed, Err(LabError::Device(DeviceError::Tool { .. }))));
        assert!(!folder.join("made").exists() && lab.list().unwrap().is_empty());
    }

    #[test]
    fn cleanup_of_a_killed_run_is_run_by_a_release() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let (prepare, cleanup) = (shell("touch made"), shell("rm made"));
        let folder = top.path();
        let commands =
            TrialCommands { prepare: &prepare, cleanup: &cleanup, environment: &[], folder };
        let mut prepared = PreparedPlace::prepare(commands, &lab).unwrap();
        // Simulates a kill, which closes the record and runs no destructor.
        drop(prepared.cleanup.take());
        drop(prepared);
        let left = lab.list().unwrap();
        assert!(left[0].kind.to_string().contains("rm made"), "{}", left[0].kind);
        assert!(lab.release(left)[0].1.is_ok());
        assert!(!folder.join("made").exists() && lab.list().unwrap().is_empty());
    }

    #[test]
    fn a_cleanup_that_always_fails_can_be_given_up() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let cleanup = shell("exit 7");
        let folder = top.path();
        let commands = TrialCommands { prepare: &[], cleanup: &cleanup, environment: &[], folder };
        let prepared = PreparedPlace::prepare(commands, &lab).unwrap();
        assert!(prepared.clean_up().is_err());
        let left = lab.list().unwrap();
        assert!(lab.release(left.clone())[0].1.is_err());
        assert_eq!(lab.list().unwrap().len(), 1, "it stays until it is given up");
        let written = lab.give_up(&left[0], 7).unwrap().unwrap();
        assert!(lab.list().unwrap().is_empty());
        let line = std::fs::read_to_string(written).unwrap();
        assert!(line.starts_with("7 ") && line.ends_with("\"sh -c exit 7\"\n"), "{line}");
    }

    #[test]
    fn cleanups_of_a_killed_run_are_run_in_the_reverse_order_of_their_preparations() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap();
        let folder = top.path();
        for name in ["variant", "job"] {
            let cleanup = shell(&format!("echo {name} >> order"));
            let commands =
                TrialCommands { prepare: &[], cleanup: &cleanup, environment: &[], folder };
            let mut prepared = PreparedPlace::prepare(commands, &lab).unwrap();
            drop(prepared.cleanup.take());
        }
        let freed = lab.release(lab.list().unwrap());
        assert!(freed.iter().all(|(_, freed)| freed.is_ok()));
        assert_eq!(std::fs::read_to_string(folder.join("order")).unwrap(), "job\nvariant\n");
    }
}
