//! Reads and writes of tasks with their own buffers: writes take the data that the script put into
//! a buffer, reads leave theirs in it. One call moves the whole request, whatever its size.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use treering_script::{Buffers, Call, CallError, OpenBuffers, RequestFlags};
use treering_sys::{
    Errno, FileMapping, read, read_at, read_vector, read_vector_at, write, write_at, write_both,
    write_vector_at,
};

use crate::CallReply;
use crate::call::whole::whole;

/// Buffer of calls without a tag.
const UNTAGGED: u16 = 0;

/// True for calls that read or write through a buffer.
pub(super) fn is_buffered(call: &Call<'_>) -> bool {
    matches!(
        call,
        Call::Read { .. }
            | Call::ReadAt { .. }
            | Call::ReadMapped { .. }
            | Call::Write { .. }
            | Call::WriteAt { .. }
            | Call::WriteMapped { .. }
    )
}

/// Open files of a task, by their slots.
pub(super) struct OpenFiles<'c> {
    pub(super) files: &'c [Option<OwnedFd>],
    /// Flags of vectored calls; `None` for plain ones.
    pub(super) vectored: Option<RequestFlags>,
    pub(super) mappings: &'c mut HashMap<u16, FileMapping>,
}

/// Makes a buffered call.
pub(super) fn attempt_buffered(
    open: OpenFiles<'_>,
    buffers: &Buffers,
    call: &Call<'_>,
) -> Result<CallReply, CallError> {
    let OpenFiles { files, vectored, mappings } = open;
    let mut buffers = buffers.open();
    let fd = |number: u16| files.get(usize::from(number))?.as_ref().map(OwnedFd::as_fd);
    match *call {
        Call::Read { file, bytes } => {
            let read = if vectored.is_some() { read_vector } else { read };
            let got = read(fd(file.0).ok_or(Errno::BADF)?, part(&mut buffers, bytes))?;
            Ok(CallReply::moved(got as u64, 1))
        }
        Call::ReadAt { file, bytes, position } => {
            let file = fd(file.0).ok_or(Errno::BADF)?;
            let into = part(&mut buffers, bytes);
            let got = match vectored {
                Some(flags) => read_vector_at(file, into, position, flags)?,
                None => read_at(file, into, position)?,
            };
            Ok(CallReply::moved(got as u64, 1))
        }
        Call::ReadMapped { file, bytes, position } => {
            mappings.get(&file.0).ok_or(Errno::BADF)?.read(position, part(&mut buffers, bytes))?;
            Ok(CallReply::moved(u64::from(bytes), 1))
        }
        Call::WriteMapped { file, bytes, position } => {
            mappings
                .get_mut(&file.0)
                .ok_or(Errno::BADF)?
                .write(position, part(&mut buffers, bytes))?;
            Ok(CallReply::moved(u64::from(bytes), 1))
        }
        Call::Write { file, bytes, .. } => {
            let (file, data) = (fd(file.0).ok_or(Errno::BADF)?, &*part(&mut buffers, bytes));
            whole(bytes, |written, _| {
                let left = remainder(data, written);
                if vectored.is_some() { write_both(file, left, &[]) } else { write(file, left) }
            })
        }
        Call::WriteAt { file, bytes, position } => {
            let (file, data) = (fd(file.0).ok_or(Errno::BADF)?, &*part(&mut buffers, bytes));
            whole(bytes, |written, _| {
                let at = position.wrapping_add(written);
                match vectored {
                    Some(flags) => write_vector_at(file, remainder(data, written), &[], at, flags),
                    None => write_at(file, remainder(data, written), at),
                }
            })
        }
        _ => Err(Errno::NOSYS.into()),
    }
}

fn part<'b>(buffers: &'b mut OpenBuffers<'_>, bytes: u32) -> &'b mut [u8] {
    buffers.get(UNTAGGED, usize::try_from(bytes).unwrap_or(0))
}

/// Remainder of a write that was cut short.
fn remainder(data: &[u8], written: u64) -> &[u8] {
    usize::try_from(written).ok().and_then(|from| data.get(from..)).unwrap_or(&[])
}
