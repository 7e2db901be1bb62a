//! The scripts of the four tasks: make the directories, create the pool, do the transactions,
//! delete the remaining files.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::{CreateHow, DirSlot, FileSlot, Io, OpenHow, Script, Stop};

use super::options::RunShape;
use super::pool::{FileOperation, FilePool, PoolFile};

/// Name of the directory that a run makes.
pub(super) const ROOT: &str = "postmark-0";
/// Slot of that directory.
const ROOT_DIR: DirSlot = DirSlot(1);
const FILE: FileSlot = FileSlot(0);
/// Bytes of a stdio buffer.
const BUFFER: u32 = 4096;

/// Counts of a task: finished operations, bytes moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskCounts {
    pub(super) transactions: u32,
    pub(super) created: u32,
    pub(super) read: u32,
    pub(super) appended: u32,
    pub(super) deleted: u32,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
}

/// Pool of a run, shared by its tasks, which run one after another.
pub(super) type SharedPool = Arc<Mutex<FilePool>>;

/// Part of the work that a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskPart {
    /// Makes the directories.
    MakeDirs,
    /// Creates the initial files.
    CreatePool,
    /// Does the transactions, as long as there are files.
    Transactions,
    /// Deletes the files that are left.
    DeletePool,
}

/// Script of a task.
#[derive(Debug)]
pub(super) struct Worker {
    part: TaskPart,
    shape: RunShape,
    pool: SharedPool,
    counts: TaskCounts,
}

impl Worker {
    /// Creates the script for a part of the work.
    pub(super) fn new(part: TaskPart, shape: RunShape, pool: SharedPool) -> Self {
        Self { part, shape, pool, counts: TaskCounts::default() }
    }

    fn transactions(&mut self, io: &mut dyn Io, pool: &mut FilePool) -> Result<(), Stop> {
        while self.counts.transactions < self.shape.transactions && !pool.is_empty() {
            self.make(io, pool.read_or_append())?;
            self.make(io, pool.create_or_delete())?;
            self.counts.transactions += 1;
        }
        Ok(())
    }

    /// Makes the calls of an operation, and counts it.
    fn make(&mut self, io: &mut dyn Io, operation: Option<FileOperation>) -> Result<(), Stop> {
        match operation {
            Some(FileOperation::Create(file)) => {
                let buffered = self.shape.buffered;
                let how = if buffered { CreateHow::Truncate } else { CreateHow::OrOpen };
                io.create(ROOT_DIR, &path(&file), how, FILE)?;
                self.write(io, 0, file.bytes)?;
                self.counts.created += 1;
            }
            Some(FileOperation::Read(file)) => {
                io.open(ROOT_DIR, &path(&file), OpenHow::Read, FILE)?;
                self.read(io, file.bytes)?;
                self.counts.read += 1;
            }
            Some(FileOperation::Append(file, more)) => {
                io.open(ROOT_DIR, &path(&file), OpenHow::Append, FILE)?;
                self.write(io, file.bytes, more)?;
                self.counts.appended += 1;
            }
            Some(FileOperation::Delete(file)) => {
                io.unlink(ROOT_DIR, &path(&file))?;
                self.counts.deleted += 1;
            }
            None => {}
        }
        Ok(())
    }

    /// Writes `bytes` at the position `from`, and closes the file.
    fn write(&mut self, io: &mut dyn Io, from: u32, bytes: u32) -> Result<(), Stop> {
        let mut position = u64::from(from);
        for piece in self.pieces(bytes, self.shape.write_size) {
            self.counts.written_bytes += io.write(FILE, piece, position)?;
            position += u64::from(piece);
        }
        io.close(FILE)
    }

    /// Reads a file of this size to its end, and closes it.
    fn read(&mut self, io: &mut dyn Io, bytes: u32) -> Result<(), Stop> {
        for piece in self.pieces(bytes, self.shape.read_size) {
            // Stdio asks for a whole buffer and gets the rest of the file.
            let request = if self.shape.buffered { piece.max(BUFFER) } else { piece };
            self.counts.read_bytes += io.read(FILE, request)?;
        }
        io.close(FILE)
    }

    /// Divides a transfer into calls. Without buffering, the last call is made even if it is
    /// empty.
    fn pieces(&self, bytes: u32, block: u32) -> impl Iterator<Item = u32> + use<> {
        let buffered = self.shape.buffered;
        let whole = if buffered { (block / BUFFER).max(1) * BUFFER } else { block };
        let remainder = Some(bytes % whole).filter(|remainder| *remainder > 0 || !buffered);
        std::iter::repeat_n(whole, (bytes / whole) as usize).chain(remainder)
    }
}

/// Path of a file, relative to the directory of the run.
fn path(file: &PoolFile) -> CString {
    let number = file.number;
    c_string(file.subdir.map_or_else(|| number.to_string(), |subdir| format!("s{subdir}/{number}")))
}

/// Converts a generated name, which has no NUL.
fn c_string(name: String) -> CString {
    CString::new(name).unwrap_or_default()
}

impl Script for Worker {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        let root = c_string(ROOT.to_owned());
        if self.part == TaskPart::MakeDirs {
            io.make_dir(DirSlot::TARGET, &root)?;
        }
        io.open_dir(DirSlot::TARGET, &root, ROOT_DIR)?;
        let shared = Arc::clone(&self.pool);
        let mut pool = shared.lock().unwrap_or_else(PoisonError::into_inner);
        match self.part {
            TaskPart::MakeDirs => (0..self.shape.subdirs)
                .try_for_each(|subdir| io.make_dir(ROOT_DIR, &c_string(format!("s{subdir}")))),
            TaskPart::CreatePool => {
                (0..self.shape.number).try_for_each(|_| self.make(io, pool.create()))
            }
            TaskPart::Transactions => self.transactions(io, &mut pool),
            TaskPart::DeletePool => {
                let mut slot = 0;
                while let Some(operation) = pool.delete_from(&mut slot) {
                    self.make(io, Some(operation))?;
                }
                Ok(())
            }
        }
    }

    fn counters(&mut self) -> Counters {
        match self.part {
            TaskPart::MakeDirs => Counters::default(),
            TaskPart::CreatePool | TaskPart::Transactions | TaskPart::DeletePool => {
                Counters::from_value(&self.counts)
            }
        }
    }
}
