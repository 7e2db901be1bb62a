//! Names of the files of a run, and the calls that make and remove them.
//!
//! A population is a directory `NAME` below the root of the run, or a tree of directories if it has
//! a fan-out or a tree; a file is `f` and its number, a unit `u` and its number.

use std::collections::HashSet;
use std::ffi::CString;
use std::fmt::Write as _;

use treering_script::{
    CreateHow, DirSlot, Errno, ExpectedErrors, FileSlot, Io, OpenHow, Stop, SyncScope,
};

use super::maintenance::plan::MaintenanceKind;
use super::operation::LiveFile;
use super::profile::{FilesPlan, Model};

/// Name of the tree of a run.
pub(super) const ROOT: &str = "age-0";
/// Subvolume that holds the files of a run with snapshots; the snapshots lie beside it.
pub(super) const LIVE: &str = "live";

pub(super) const ROOT_DIR: DirSlot = DirSlot(1);
pub(super) const HERE: DirSlot = DirSlot(2);
pub(super) const THERE: DirSlot = DirSlot(3);
pub(super) const FILE: FileSlot = FileSlot(0);
/// Slot of the second of two files.
pub(super) const OTHER: FileSlot = FileSlot(1);
/// Largest size of one write, in bytes.
const WRITE_BYTES: u64 = 1 << 20;

/// True if the files of a model lie in a subvolume.
pub(super) fn is_in_subvolume(model: &Model) -> bool {
    model.maintenance.iter().any(|plan| plan.kind == MaintenanceKind::Snapshot)
}

/// Path of the directory with the files of a model.
pub(super) fn root_path(model: &Model) -> String {
    if is_in_subvolume(model) { format!("{ROOT}/{LIVE}") } else { ROOT.to_owned() }
}

/// Numbers of the directories to make in that of the population; the top of a tree like one on
/// disk is that itself.
pub(super) fn directories_to_make(plan: &FilesPlan) -> std::ops::Range<u64> {
    u64::from(plan.layout.is_some())..plan.directories
}

/// Path of a directory below the root, with its ancestors by the fan-out or the tree.
pub(super) fn directory_path(plan: &FilesPlan, directory: u64) -> String {
    if plan.layout.is_some() && directory == 0 {
        return plan.name.clone();
    }
    let mut numbers = vec![directory];
    let above = |number: u64| match &plan.layout {
        Some(layout) => layout.above(number),
        None => number.checked_sub(1)?.checked_div(plan.fan_out),
    };
    while let Some(number) = numbers.last().and_then(|number| above(*number)) {
        numbers.push(number);
    }
    let mut path = plan.name.clone();
    for number in numbers.iter().rev() {
        // Writing to a string does not fail.
        let _ = write!(path, "/d{number}");
    }
    path
}

pub(super) fn path(plan: &FilesPlan, live: &LiveFile) -> String {
    if let Some(tree) = &plan.tree {
        return format!("{}/{}", plan.name, tree.path(live.id));
    }
    let kind = if live.files.is_some() { 'u' } else { 'f' };
    format!("{}/{kind}{}", directory_path(plan, live.directory), live.id)
}

pub(super) fn c_string(text: String) -> CString {
    CString::new(text).expect("names are made of letters, digits, '-' and '/'")
}

/// Outcome of a write.
pub(super) enum WriteOutcome {
    All,
    /// The filesystem became full before the end.
    Full,
}

pub(super) fn write(io: &mut dyn Io, from: u64, bytes: u64) -> Result<WriteOutcome, Stop> {
    let mut done = 0;
    while done < bytes {
        let piece = u32::try_from((bytes - done).min(WRITE_BYTES)).unwrap_or(u32::MAX);
        match io.write(FILE, piece, from + done).unless_full()? {
            Ok(moved) => done += moved,
            Err(_) => return Ok(WriteOutcome::Full),
        }
    }
    Ok(WriteOutcome::All)
}

/// Directories of a tree, made together with the first file in each.
#[derive(Debug, Default)]
pub(super) struct MadeDirectories {
    made: HashSet<String>,
}

impl MadeDirectories {
    /// Makes the ancestors of a path below the population's directory; false if the filesystem is
    /// full.
    pub(super) fn make(&mut self, io: &mut dyn Io, path: &str) -> Result<bool, Stop> {
        let parents = path.match_indices('/').map(|(place, _)| &path[..place]).skip(1);
        for parent in parents {
            if self.made.contains(parent) {
                continue;
            }
            let (above, name) = parent.rsplit_once('/').unwrap_or(("", parent));
            io.open_dir(ROOT_DIR, &c_string(above.to_owned()), HERE)?;
            if io.make_dir(HERE, &c_string(name.to_owned())).unless_full()?.is_err() {
                return Ok(false);
            }
            self.made.insert(parent.to_owned());
        }
        Ok(true)
    }
}

/// Production of file data: written, or only allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataMode {
    Written,
    /// Allocated by fallocate, without data.
    Allocated,
}

pub(super) fn put(
    io: &mut dyn Io,
    data: DataMode,
    from: u64,
    bytes: u64,
) -> Result<WriteOutcome, Stop> {
    if data == DataMode::Written || bytes == 0 {
        return write(io, from, bytes);
    }
    let allocated = io.allocate(FILE, from, bytes, false).unless_full()?;
    Ok(if allocated.is_ok() { WriteOutcome::All } else { WriteOutcome::Full })
}

/// Creates a whole file under a name.
pub(super) fn create(
    io: &mut dyn Io,
    name: &CString,
    how: CreateHow,
    (data, bytes): (DataMode, u64),
    fsync: bool,
) -> Result<WriteOutcome, Stop> {
    if io.create(ROOT_DIR, name, how, FILE).unless_full()?.is_err() {
        return Ok(WriteOutcome::Full);
    }
    let wrote = put(io, data, 0, bytes)?;
    if fsync && matches!(wrote, WriteOutcome::All) {
        io.fsync(FILE)?;
    }
    io.close(FILE)?;
    Ok(wrote)
}

/// Opens a file, and creates another to be its copy.
fn open_copy(io: &mut dyn Io, (from, into): (&CString, &CString)) -> Result<(), Stop> {
    io.open(ROOT_DIR, from, OpenHow::Read, FILE)?;
    io.create(ROOT_DIR, into, CreateHow::Exclusive, OTHER)
}

/// Closes both files of a copy, even on a full filesystem, since an open file keeps its space.
fn close_copy(io: &mut dyn Io, fsync: bool) -> Result<WriteOutcome, Stop> {
    let has_room = !fsync || io.fsync(OTHER).unless_full()?.is_ok();
    io.close(OTHER)?;
    io.close(FILE)?;
    Ok(if has_room { WriteOutcome::All } else { WriteOutcome::Full })
}

/// Writes a copy of a file of this many bytes.
pub(super) fn copy_file(
    io: &mut dyn Io,
    names: (&CString, &CString),
    bytes: u64,
    fsync: bool,
) -> Result<WriteOutcome, Stop> {
    open_copy(io, names)?;
    let mut done = 0;
    while done < bytes {
        let piece = u32::try_from((bytes - done).min(WRITE_BYTES)).unwrap_or(u32::MAX);
        match io.copy(FILE, OTHER, piece, done).unless_full()? {
            // Somebody else has shortened the file.
            Ok(0) => break,
            Ok(copied) => done += copied,
            Err(_) => {
                close_copy(io, false)?;
                return Ok(WriteOutcome::Full);
            }
        }
    }
    close_copy(io, fsync)
}

/// Makes a copy of a file that shares its blocks.
pub(super) fn reflink(
    io: &mut dyn Io,
    names: (&CString, &CString),
    fsync: bool,
) -> Result<WriteOutcome, Stop> {
    open_copy(io, names)?;
    if io.reflink(FILE, OTHER).unless_full()?.is_err() {
        close_copy(io, false)?;
        return Ok(WriteOutcome::Full);
    }
    close_copy(io, fsync)
}

/// Punches a hole into a file.
pub(super) fn punch(
    io: &mut dyn Io,
    name: &CString,
    (position, bytes): (u64, u64),
    fsync: bool,
) -> Result<WriteOutcome, Stop> {
    io.open(ROOT_DIR, name, OpenHow::Write, FILE)?;
    // A hole of no bytes is an error of the call.
    if bytes > 0 {
        io.punch(FILE, position, bytes)?;
    }
    if fsync {
        io.fsync(FILE)?;
    }
    io.close(FILE)?;
    Ok(WriteOutcome::All)
}

/// Removes a file that may be missing. If the removal needs space, a commit frees some first.
pub(super) fn remove_file(io: &mut dyn Io, name: &CString) -> Result<(), Stop> {
    match io.unlink(ROOT_DIR, name).or_errno()? {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(_) => {
            let _lost_data_are_deleted_anyway = io.sync(SyncScope::Target).unless_full()?;
            io.unlink(ROOT_DIR, name)
        }
    }
}
