//! Calls that maintain a filesystem: free space is discarded, files share blocks, get other blocks,
//! or are kept in snapshots.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use treering_model::filesystems::{BTRFS, EXT4, XFS, name_of};
use treering_script::{Call, CallError, CallResult, DirSlot, FileSlot};
use treering_sys::{
    CopiedState, Errno, ExtentBuffer, FileExtent, PageBuffer, allocate, attributes, balance,
    dedupe, defragment_range, destroy_subvolume, file_extents, filesystem_facts, has_extents,
    make_snapshot, make_subvolume, move_extents, nameless_file, read_at, reflink, swap_extents,
    sync_file, trim, truncate, write_at,
};

use crate::{CallReply, LARGEST_CALL_BYTES};

/// Open directories and files of a caller, and its buffer for reading.
pub(super) struct OpenPlaces<'c> {
    pub(super) dirs: &'c [Option<OwnedFd>],
    pub(super) files: &'c [Option<OwnedFd>],
    pub(super) buffer: &'c mut PageBuffer,
}

impl OpenPlaces<'_> {
    fn dir(&self, dir: DirSlot) -> Result<BorrowedFd<'_>, Errno> {
        let slot = self.dirs.get(usize::from(dir.0)).and_then(Option::as_ref);
        slot.map(OwnedFd::as_fd).ok_or(Errno::BADF)
    }

    fn file(&self, file: FileSlot) -> Result<BorrowedFd<'_>, Errno> {
        let slot = self.files.get(usize::from(file.0)).and_then(Option::as_ref);
        slot.map(OwnedFd::as_fd).ok_or(Errno::BADF)
    }
}

/// Carries out a call of maintenance; `ENOSYS` for all others.
pub(super) fn attempt_maintenance(
    mut places: OpenPlaces<'_>,
    call: &Call<'_>,
) -> Result<CallReply, CallError> {
    match *call {
        Call::Trim { dir, bytes } => trim(places.dir(dir)?, bytes)?,
        Call::Balance { dir, percent } => balance(places.dir(dir)?, percent)?,
        Call::Reflink { from, into } => reflink(places.file(from)?, places.file(into)?)?,
        Call::Copy { from, into, bytes, position } => {
            return copy(&mut places, (from, into), bytes, position);
        }
        Call::Dedupe { from, into, start, bytes } => {
            let shared = dedupe(places.file(from)?, places.file(into)?, start, bytes)?;
            return Ok(CallReply::moved(shared, 1));
        }
        Call::Defragment { file, at } => {
            let (file, dir) = (places.file(file)?, places.dir(at)?);
            let kind = name_of(filesystem_facts(file)?.type_magic);
            let found = DEFRAGMENTERS.iter().find(|(of, _)| kind == Some(*of));
            let (_, defragment) = found.ok_or(Errno::OPNOTSUPP)?;
            // Data whose place is not decided yet has no extents.
            sync_file(file)?;
            defragment(file, dir)?;
        }
        Call::MakeSubvolume { at, name } => make_subvolume(places.dir(at)?, name)?,
        Call::Snapshot { of, at, name } => make_snapshot(places.dir(of)?, places.dir(at)?, name)?,
        Call::DestroySubvolume { at, name } => destroy_subvolume(places.dir(at)?, name)?,
        _ => return Err(Errno::NOSYS.into()),
    }
    Ok(CallReply::once(CallResult::Plain))
}

/// Copies a piece of a file to the same place of another; returns the bytes copied, 0 at the end.
fn copy(
    places: &mut OpenPlaces<'_>,
    (from, into): (FileSlot, FileSlot),
    bytes: u32,
    position: u64,
) -> Result<CallReply, CallError> {
    let file = |slot: FileSlot| {
        let open = places.files.get(usize::from(slot.0)).and_then(Option::as_ref);
        open.map(OwnedFd::as_fd).ok_or(Errno::BADF)
    };
    let (from, into) = (file(from)?, file(into)?);
    let wanted = usize::try_from(bytes).unwrap_or(LARGEST_CALL_BYTES).min(places.buffer.len());
    let got = read_at(from, &mut places.buffer[..wanted], position)?;
    let mut done = 0;
    while done < got {
        let written = write_at(into, &places.buffer[done..got], position + done as u64);
        done += written.map_err(|errno| CallError { errno, calls: 2, bytes: done as u64 })?;
    }
    Ok(CallReply::moved(done as u64, 2))
}

/// Way to give a file fewer extents; the directory is a place for a file without a name.
type Defragmenter = fn(BorrowedFd<'_>, BorrowedFd<'_>) -> Result<(), Errno>;

/// Filesystems whose files can be defragmented while they are mounted.
const DEFRAGMENTERS: &[(&str, Defragmenter)] =
    &[(EXT4.name, by_moving), (XFS.name, by_swapping), (BTRFS.name, by_writing_anew)];

/// Lets btrfs write the file anew, to wherever its allocator finds room.
fn by_writing_anew(file: BorrowedFd<'_>, _at: BorrowedFd<'_>) -> Result<(), Errno> {
    defragment_range(file)
}

/// Ranges of a file with data, as (start, bytes), and the number of its fragments.
#[derive(Default)]
struct FilePieces {
    ranges: Vec<(u64, u64)>,
    fragments: u64,
}

impl FilePieces {
    /// Pieces of a file up to this offset: what a filesystem has allocated behind the end of the
    /// file is not its data.
    fn of(file: BorrowedFd<'_>, end: u64) -> Result<Self, Errno> {
        let (mut pieces, mut last): (Self, Option<FileExtent>) = (Self::default(), None);
        file_extents(file, &mut ExtentBuffer::default(), |extent| {
            let Some(left) = end.checked_sub(extent.logical).filter(|left| *left > 0) else {
                return;
            };
            let length = extent.length.min(left);
            match pieces.ranges.last_mut().filter(|last| last.0 + last.1 == extent.logical) {
                Some(range) => range.1 += length,
                None => pieces.ranges.push((extent.logical, length)),
            }
            let follows = |last: FileExtent| last.end() == extent.physical;
            pieces.fragments += u64::from(!last.is_some_and(follows));
            last = Some(*extent);
        })?;
        Ok(pieces)
    }

    /// Allocates the same ranges of another file; false if that has not fewer fragments then.
    fn allocate_in(&self, other: BorrowedFd<'_>, end: u64) -> Result<bool, Errno> {
        for (start, bytes) in &self.ranges {
            allocate(other, *start, *bytes, true)?;
        }
        Ok(Self::of(other, end)?.fragments < self.fragments)
    }
}

/// A file without a name that is as long as `file` and has fewer fragments; `None` if the file
/// cannot be improved.
fn better_place(
    file: BorrowedFd<'_>,
    at: BorrowedFd<'_>,
) -> Result<Option<(OwnedFd, FilePieces)>, Errno> {
    let length = attributes(file)?.bytes;
    let end = length.next_multiple_of(filesystem_facts(file)?.block_bytes.max(1));
    let pieces = FilePieces::of(file, end)?;
    if pieces.fragments <= pieces.ranges.len() as u64 {
        return Ok(None);
    }
    let other = nameless_file(at)?;
    truncate(other.as_fd(), length)?;
    Ok(pieces.allocate_in(other.as_fd(), end)?.then_some((other, pieces)))
}

/// Moves the blocks of a file one range after the other, as e4defrag does.
fn by_moving(file: BorrowedFd<'_>, at: BorrowedFd<'_>) -> Result<(), Errno> {
    let block_bytes = filesystem_facts(file)?.block_bytes.max(1);
    // A file within its inode has no extents either, and is shorter than a block.
    if !has_extents(file)? && attributes(file)?.bytes >= block_bytes {
        return Err(Errno::OPNOTSUPP);
    }
    let Some((donor, pieces)) = better_place(file, at)? else { return Ok(()) };
    for (start, bytes) in pieces.ranges {
        let (mut next, end) = (start / block_bytes, (start + bytes).div_ceil(block_bytes));
        while next < end {
            // Blocks that somebody else holds stay where they are.
            let moved = match move_extents(file, donor.as_fd(), next, end - next) {
                Err(Errno::BUSY) => 0,
                moved => moved?,
            };
            if moved == 0 {
                break;
            }
            next += moved;
        }
    }
    Ok(())
}

/// Copies a file, and exchanges its blocks with those of the copy, as xfs_fsr does.
fn by_swapping(file: BorrowedFd<'_>, at: BorrowedFd<'_>) -> Result<(), Errno> {
    let state = CopiedState::of(file)?;
    let Some((copy, pieces)) = better_place(file, at)? else { return Ok(()) };
    let mut buffer = PageBuffer::filled(0, LARGEST_CALL_BYTES);
    let length = attributes(file)?.bytes;
    for (start, bytes) in pieces.ranges {
        let (mut next, end) = (start, (start + bytes).min(length));
        while next < end {
            let wanted = usize::try_from(end - next).unwrap_or(usize::MAX).min(buffer.len());
            let got = read_at(file, &mut buffer[..wanted], next)?;
            if got == 0 {
                break;
            }
            let mut done = 0;
            while done < got {
                done += write_at(copy.as_fd(), &buffer[done..got], next + done as u64)?;
            }
            next += got as u64;
        }
    }
    sync_file(copy.as_fd())?;
    match swap_extents(file, copy.as_fd(), &state) {
        // A file that somebody else changed meanwhile keeps its blocks, and so does one whose copy
        // has more extents: the kernel counts written and unwritten blocks apart.
        Err(Errno::BUSY | Errno::INVAL) => Ok(()),
        swapped => swapped,
    }
}
