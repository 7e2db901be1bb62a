//! Cleanup commands that can never succeed, given up by the user and written down.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::{Lab, LabLeftover, LeftoverKind};
use crate::LabError;
use crate::error::unfit;
use crate::register::ResourceKind;

/// File in the register with a line for each command that was given up.
const FILE: &str = "given-up";

impl Lab {
    /// Gives up the cleanup command of a killed run: its record is removed without running it, and
    /// a line with the time in Unix milliseconds, the directory and the command is added to a
    /// file, whose path is returned; `None` if the record is gone.
    ///
    /// # Errors
    /// When the leftover is no cleanup command, its run is alive, or the line cannot be written;
    /// the record then stays.
    pub fn give_up(
        &self,
        leftover: &LabLeftover,
        unix_ms: i64,
    ) -> Result<Option<PathBuf>, LabError> {
        let (LeftoverKind::Cleanup { .. }, Some(id)) = (&leftover.kind, &leftover.id) else {
            let what = &leftover.kind;
            return Err(unfit(format!("only cleanup commands are given up, not {what}")));
        };
        let path = self.register_of(leftover).folder().join(FILE);
        let Some((record, facts)) = self.claim(leftover, id)? else { return Ok(None) };
        let ResourceKind::Cleanup(command) = facts.kind else {
            return Err(unfit("the record is not that of a cleanup command".to_owned()));
        };
        let (folder, words) = (command.folder.display(), command.words.join(" "));
        let line = format!("{unix_ms} {:?} {:?}\n", folder.to_string(), words);
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let written = opened.and_then(|mut file| {
            file.write_all(line.as_bytes())?;
            file.sync_all()
        });
        written.map_err(LabError::io("cannot write", &path))?;
        record.remove()?;
        Ok(Some(path))
    }
}
