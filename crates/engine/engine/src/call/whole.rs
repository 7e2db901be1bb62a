//! Repetition of short writes until everything is written.

use treering_script::CallError;
use treering_sys::Errno;

use crate::{CallReply, LARGEST_CALL_BYTES};

/// Calls `once` with the bytes written so far and the bytes left, until everything is written.
#[inline]
pub(super) fn whole(
    bytes: u32,
    mut once: impl FnMut(u64, usize) -> Result<usize, Errno>,
) -> Result<CallReply, CallError> {
    let (mut written, mut calls) = (0u64, 0u32);
    loop {
        let left = u64::from(bytes) - written;
        let result = once(written, usize::try_from(left).unwrap_or(LARGEST_CALL_BYTES));
        calls += 1;
        match result {
            // Nothing written and no error: retrying could go on for ever.
            Ok(0) if left > 0 => {
                return Err(CallError { errno: Errno::IO, calls, bytes: written });
            }
            Ok(taken) => written += taken as u64,
            Err(errno) => return Err(CallError { errno, calls, bytes: written }),
        }
        if written >= u64::from(bytes) {
            return Ok(CallReply::moved(written, calls));
        }
    }
}
