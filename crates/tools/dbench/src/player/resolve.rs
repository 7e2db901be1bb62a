//! Case-insensitive name lookup: a name is looked up directly, and if it is missing, its directory
//! is read for one that differs only in case, as a server for case-insensitive clients would.
//!
//! As in the original, such a name ends the search and is not used: the operation goes on with the
//! name as it is written.

use treering_script::{DirSlot, Io, Stop};

use super::places::DirId;
use super::{CallOutcome, Player, SCAN};

impl Player {
    /// Looks for the first names of the current operation.
    pub(super) fn resolve(&mut self, io: &mut dyn Io, names: usize) -> Result<(), Stop> {
        self.found = [false; 2];
        self.lost = [None; 2];
        (0..names).try_for_each(|which| self.look_for(io, which))
    }

    fn look_for(&mut self, io: &mut dyn Io, which: usize) -> Result<(), Stop> {
        let dir = self.spot(which).dir;
        let (at, reached) = self.reach(io, dir)?;
        self.at[which] = at;
        if let Err(errno) = reached {
            self.client().places.mark_unopenable(dir);
            self.lost[which] = Some(errno);
            return Ok(());
        }
        if self.name(which).is_empty() {
            // The top directory has no name to look up; it exists.
            self.found[which] = true;
            return Ok(());
        }
        let status = io.stat(at, self.name(which));
        self.found[which] = self.outcome_of(io, status)?.is_ok();
        if !self.found[which] {
            return if self.plan.resolve { self.look_for_alike(io, which) } else { Ok(()) };
        }
        if self.plan.xattr {
            let got = io.get_xattr(at, self.name(which));
            let _whatever = self.outcome_of(io, got)?;
        }
        Ok(())
    }

    /// Reads the directory of a name up to one that differs in case only.
    fn look_for_alike(&mut self, io: &mut dyn Io, which: usize) -> Result<(), Stop> {
        if self.open_parent(io, which)?.is_err() {
            return Ok(());
        }
        loop {
            let wanted = self.name(which).to_bytes();
            let is_alike = |name: &[u8]| name.eq_ignore_ascii_case(wanted);
            let goes_on = io.read_dir(SCAN).map(|mut entries| {
                !entries.is_empty() && !entries.any(|entry| is_alike(entry.name.to_bytes()))
            });
            if self.outcome_of(io, goes_on)? != Ok(true) {
                break;
            }
        }
        let closed = io.close_dir(SCAN);
        let _whatever = self.outcome_of(io, closed)?;
        Ok(())
    }

    /// Slot of a directory, which is opened if necessary, and the outcome of the open.
    pub(super) fn reach(
        &mut self,
        io: &mut dyn Io,
        dir: DirId,
    ) -> Result<(DirSlot, CallOutcome<()>), Stop> {
        let (slot, opens) = self.client().places.reach(dir);
        if !opens {
            return Ok((slot, Ok(())));
        }
        let opened = io.open_dir(DirSlot::TARGET, self.client().places.dir_path(dir), slot);
        Ok((slot, self.outcome_of(io, opened)?))
    }

    /// Opens the directory of a name once more, to read or to sync it.
    pub(super) fn open_parent(
        &mut self,
        io: &mut dyn Io,
        which: usize,
    ) -> Result<CallOutcome<()>, Stop> {
        let opened = if self.at[which] == DirSlot::TARGET {
            io.open_root(0, SCAN)
        } else {
            let dir = self.spot(which).dir;
            io.open_dir(DirSlot::TARGET, self.client().places.dir_path(dir), SCAN)
        };
        self.outcome_of(io, opened)
    }
}
