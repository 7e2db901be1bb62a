//! Removal of all files below a directory; the directories stay, as in the original.

use treering_script::{DirEntries, DirSlot, EntryKind, Io, Stop};

use super::{Player, TREE, TREE_LEVELS};

/// The slot of a level's directory.
fn slot(level: usize) -> DirSlot {
    DirSlot(TREE + u16::try_from(level).unwrap_or_default())
}

impl Player {
    /// Removes the files below the current operation's name.
    pub(super) fn deltree(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let dir = self.spot(0).dir;
        let (at, reached) = self.reach(io, dir)?;
        self.at[0] = at;
        if reached.is_err() {
            self.client().places.mark_unopenable(dir);
            return Ok(());
        }
        if self.name(0).is_empty() {
            return Ok(());
        }
        let opened = io.open_dir(at, self.name(0), slot(0));
        if self.outcome_of(io, opened)?.is_ok() { self.empty(io, 0) } else { Ok(()) }
    }

    /// Empties the directory that is open at this level, and closes it.
    fn empty(&mut self, io: &mut dyn Io, level: usize) -> Result<(), Stop> {
        let dir = slot(level);
        loop {
            // Kept: what is read below comes into the same buffer.
            let read = io.read_dir(dir).map(|entries| entries.packed().to_vec());
            let batch = self.outcome_of(io, read)?.unwrap_or_default();
            if batch.is_empty() {
                break;
            }
            for entry in DirEntries::new(&batch) {
                let status = io.stat(dir, entry.name);
                let _whatever = self.outcome_of(io, status)?;
                if entry.kind != EntryKind::Directory {
                    let removed = io.unlink(dir, entry.name);
                    let _whatever = self.outcome_of(io, removed)?;
                } else if level + 1 >= TREE_LEVELS {
                    self.report("Deltree goes no deeper than 32 directories".to_owned());
                } else {
                    let opened = io.open_dir(dir, entry.name, slot(level + 1));
                    if self.outcome_of(io, opened)?.is_ok() {
                        self.empty(io, level + 1)?;
                    }
                }
            }
        }
        let closed = io.close_dir(dir);
        let _whatever = self.outcome_of(io, closed)?;
        Ok(())
    }
}
