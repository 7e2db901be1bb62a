//! Kernel warnings and errors from a moment on, from `/dev/kmsg`.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// `O_NONBLOCK` in the type of `custom_flags`.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// Limit of a record in bytes.
const RECORD: usize = 8192;
/// Limit of records read, so that an endless log cannot block a trial.
const RECORDS: usize = 10_000;
/// Log level of warnings (`KERN_WARNING`); more severe levels are lower.
const WARNING: u32 = 4;

/// Kernel log, positioned at the time of opening.
pub(super) struct KernelLog {
    log: File,
}

impl KernelLog {
    /// Opens the log at its end; `None` without permission.
    pub(super) fn from_now() -> Option<Self> {
        let mut log =
            OpenOptions::new().read(true).custom_flags(NONBLOCK).open("/dev/kmsg").ok()?;
        log.seek(SeekFrom::End(0)).ok()?;
        Some(Self { log })
    }

    /// Kernel warnings since the log was opened; messages of programs are skipped.
    pub(super) fn warnings(mut self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut record = vec![0; RECORD];
        for _ in 0..RECORDS {
            match self.log.read(&mut record) {
                Ok(0) => break,
                Ok(length) => warnings.extend(warning(&String::from_utf8_lossy(&record[..length]))),
                // Records were overwritten before they were read; later ones are available.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        warnings
    }
}

/// Message of a record if it is a kernel warning. Format: `4,1234,5678901,-;message`, the first
/// number being 8 × facility + level.
fn warning(record: &str) -> Option<String> {
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    let message = text.lines().next()?;
    let is_kernels = priority >> 3 == 0;
    (is_kernels && priority & 7 <= WARNING).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::warning;

    #[test]
    fn warnings_of_the_kernel_are_distinguished_from_other_lines() {
        let text = "4,10,99,-;EXT4-fs (sda): warning\n SUBSYSTEM=block\n";
        assert_eq!(warning(text).as_deref(), Some("EXT4-fs (sda): warning"));
        assert!(warning("3,11,99,-;I/O error\n").is_some());
        assert_eq!(warning("6,12,99,-;loop0: detected capacity change\n"), None);
        // Facility 1: a program wrote it.
        assert_eq!(warning("12,13,99,-;from a program\n"), None);
        assert_eq!(warning("nonsense"), None);
    }
}
