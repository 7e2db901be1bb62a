//! Flowops that choose, open, create, close, delete and stat files.

use treering_script::{CreateHow, DirSlot, FileSlot, Io, OpenHow, Random, Stop};

use super::super::draw::{AttributeAmount, whole};
use super::super::namespace::RunFileset;
use super::super::plan::FDS;
use super::super::pool::{EntryPool, EntryState, PickResult};
use super::super::tree::TreeEntry;
use super::{FlowopExit, Worker};

/// Number for no file.
pub(super) const NONE: u32 = u32::MAX;
/// Maximum number of attempts to find a file that no worker has open.
const TRIES_MAX: u64 = 100;

/// State of a descriptor of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct DescriptorState {
    pub(super) is_open: bool,
    pub(super) fileset: usize,
    /// Number of the file, kept after it was closed so that it can be deleted.
    pub(super) file: u32,
    /// File position of sequential reads and writes.
    pub(super) position: u64,
}

impl Default for DescriptorState {
    fn default() -> Self {
        Self { is_open: false, fileset: 0, file: NONE, position: 0 }
    }
}

/// Draws an index as the original does: a value around 1 gives the middle.
fn draw_index(index: &AttributeAmount, count: u64, random: &mut Random) -> u32 {
    let half = (count / 2) as f64;
    let drawn = whole(index.draw_real(random) * half);
    u32::try_from(drawn % count.max(1)).unwrap_or(0)
}

impl Worker {
    /// Reserves the next entry of a fileset; `state` says if it must exist.
    #[inline]
    pub(super) fn pick(
        &mut self,
        fileset: usize,
        entries: fn(&RunFileset) -> (&EntryPool, &[TreeEntry]),
        state: EntryState,
    ) -> Result<u32, FlowopExit> {
        let Self { namespace, steps, pc, random, .. } = self;
        let (pool, listed) = entries(&namespace.filesets[fileset]);
        let pick = match &steps[*pc].indexed {
            None => pool.next(state),
            Some(index) => pool.from(draw_index(index, listed.len() as u64, random), state),
        };
        match pick {
            PickResult::One(entry) => Ok(entry),
            PickResult::Busy => Err(FlowopExit::Busy),
            PickResult::None => Err(self.out_of_files()),
        }
    }

    /// Reserves the next file of the flowop's fileset; returns the fileset and the file. `without`
    /// is the error if the flowop has no fileset.
    #[inline]
    fn pick_file(&mut self, state: EntryState, without: &str) -> Result<(usize, u32), FlowopExit> {
        let Some(fileset) = self.flow().fileset else { return Err(self.fail(without)) };
        let file = self.pick(fileset, |of| (&of.files, &of.tree.files), state)?;
        Ok((fileset, file))
    }

    /// Prepares access to a file: opens its directory and sets its name. Returns the directory to
    /// which the name is relative.
    #[inline]
    fn locate_file(
        &mut self,
        io: &mut dyn Io,
        (fileset, file): (usize, u32),
        takes_path: bool,
    ) -> Result<DirSlot, Stop> {
        let entry = self.namespace.filesets[fileset].tree.files[file as usize];
        self.locate(io, fileset, entry, takes_path)
    }

    /// Descriptor of the current flowop.
    #[inline]
    pub(super) fn descriptor(&mut self) -> &mut DescriptorState {
        &mut self.fds[usize::from(self.present.fd)]
    }

    /// Descriptor to be opened: the flowop's own, or the next one in rotation.
    fn next_fd(&mut self) -> u8 {
        let flow = self.flow();
        if flow.fd > 0 || !flow.opens_next {
            return flow.fd;
        }
        let entries =
            flow.fileset.map_or(1, |fileset| self.namespace.filesets[fileset].plan.entries);
        let last = usize::try_from(FDS).unwrap_or(1);
        let most = usize::try_from(entries).unwrap_or(1);
        // As in the original, descriptors rotate from the end of the table down, one for each file.
        if self.fd_rotor == 0 || last - self.fd_rotor == most {
            self.fd_rotor = last;
        }
        self.fd_rotor -= 1;
        u8::try_from(self.fd_rotor).unwrap_or(0)
    }

    pub(super) fn open_file(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        self.present.fd = self.next_fd();
        if self.descriptor().is_open {
            return Err(self.fail("attempted to open without closing on its fd"));
        }
        self.open_next(io)
    }

    /// Opens a file if the flowop's descriptor has none. The call is not counted for the flowop.
    #[inline]
    pub(super) fn open_if_closed(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        self.present.fd = self.next_fd();
        if !self.descriptor().is_open {
            self.open_next(io)?;
            (self.present.calls, self.present.timed) = (0, 0);
        }
        Ok(())
    }

    fn open_next(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let picked = self.pick_file(EntryState::Standing, "there is no open file on its fd")?;
        let at = self.locate_file(io, picked, true)?;
        let (fileset, file) = picked;
        let namespace = &self.namespace.filesets[fileset];
        let how = match (namespace.plan.readonly, namespace.plan.writeonly) {
            (true, _) => OpenHow::Read,
            (false, true) => OpenHow::Write,
            (false, false) => OpenHow::ReadWrite,
        };
        io.open(at, self.name.as_c_str(), how, self.present.file())?;
        namespace.files.opened(file);
        namespace.files.put_back(file);
        self.opened(io, picked)
    }

    pub(super) fn create_file(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        if self.descriptor().is_open {
            return Err(self.fail("attempted to create without closing on its fd"));
        }
        let picked = self.pick_file(EntryState::Missing, "it has no fileset")?;
        let at = self.locate_file(io, picked, true)?;
        let (fileset, file) = picked;
        io.create(at, self.name.as_c_str(), CreateHow::OrOpen, self.present.file())?;
        let files = &self.namespace.filesets[fileset].files;
        files.opened(file);
        files.add_created(file);
        self.opened(io, picked)
    }

    #[inline]
    fn opened(&mut self, io: &mut dyn Io, (fileset, file): (usize, u32)) -> Result<(), FlowopExit> {
        self.count_call(io);
        *self.descriptor() = DescriptorState { is_open: true, fileset, file, position: 0 };
        if self.flow().no_readahead {
            io.advise(self.present.file(), 0, 0, true)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn close_file(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        if !self.descriptor().is_open {
            return Err(self.fail("attempted to close an already closed fd"));
        }
        io.close(self.present.file())?;
        self.count_call(io);
        let descriptor = self.descriptor();
        descriptor.is_open = false;
        let DescriptorState { fileset, file, .. } = *descriptor;
        self.namespace.filesets[fileset].files.closed(file);
        Ok(())
    }

    /// Deletes a file. One that others have open stays: in classic mode, as in the original,
    /// nothing is done and nothing printed; natively the next file is taken, so that the number of
    /// deletions is kept.
    pub(super) fn delete_file(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        loop {
            let DescriptorState { is_open, fileset, file, .. } = *self.descriptor();
            let is_own = self.present.fd > 0 && file != NONE;
            let picked = if is_own {
                self.hold_own(fileset, file)?;
                (fileset, file)
            } else {
                self.pick_file(EntryState::Standing, "it has no file to delete")?
            };
            let (fileset, file) = picked;
            let files = &self.namespace.filesets[fileset].files;
            if files.opens(file) <= u32::from(is_own && is_open) {
                let at = self.locate_file(io, picked, true)?;
                io.unlink(at, self.name.as_c_str())?;
                self.count_call(io);
                self.namespace.filesets[fileset].files.remove_deleted(file);
                return Ok(());
            }
            files.put_back(file);
            self.present.tries += 1;
            let gives_up = self.present.tries > TRIES_MAX || self.flow().fileset.is_none();
            if self.namespace.classic || gives_up {
                return Err(FlowopExit::Skipped);
            }
        }
    }

    /// Reserves the file of the flowop's descriptor, and detaches it from the descriptor. If
    /// another thread holds or deleted the file, gives up after some attempts.
    fn hold_own(&mut self, fileset: usize, file: u32) -> Result<(), FlowopExit> {
        let is_held = self.namespace.filesets[fileset].files.hold(file);
        if !is_held && self.present.tries <= TRIES_MAX {
            self.present.tries += 1;
            return Err(FlowopExit::Busy);
        }
        self.descriptor().file = NONE;
        if is_held { Ok(()) } else { Err(FlowopExit::Skipped) }
    }

    pub(super) fn stat_file(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        if self.present.fd > 0 && self.descriptor().is_open {
            io.file_size(self.present.file())?;
            self.count_call(io);
            return Ok(());
        }
        let picked = self.pick_file(EntryState::Standing, "it has no file to look at")?;
        let at = self.locate_file(io, picked, false)?;
        io.stat(at, self.name.as_c_str())?;
        self.count_call(io);
        let (fileset, file) = picked;
        self.namespace.filesets[fileset].files.put_back(file);
        Ok(())
    }

    pub(super) fn sync_file(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        if !self.descriptor().is_open {
            return Err(self.fail("attempted to fsync a closed fd"));
        }
        io.fsync(self.present.file())?;
        self.count_call(io);
        Ok(())
    }

    /// Syncs each open file of the fileset.
    pub(super) fn sync_set(&mut self, io: &mut dyn Io) -> Result<(), FlowopExit> {
        let fileset = self.flow().fileset;
        for fd in 0..self.fds.len() {
            let DescriptorState { is_open, fileset: of, .. } = self.fds[fd];
            if is_open && Some(of) == fileset {
                io.fsync(FileSlot(u16::try_from(fd).unwrap_or(0)))?;
                self.count_call(io);
            }
        }
        if self.present.calls > 0 { Ok(()) } else { Err(FlowopExit::Skipped) }
    }
}
