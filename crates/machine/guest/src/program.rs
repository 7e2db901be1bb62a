//! The program that is the first of a guest: our own, which has to need nothing of a system.

use std::path::Path;

use crate::elf::{interpreter, is_elf, loaded_part};
use crate::{GuestError, unpack::read_all};

/// Larger than any build of ours.
const BYTES_MAX: u64 = 1 << 30;

/// A static program, as far as it is loaded.
#[derive(Clone)]
pub struct Program {
    pub(crate) bytes: Vec<u8>,
}

impl Program {
    /// Reads a program, usually the one that runs.
    ///
    /// # Errors
    /// When it cannot be read, or needs a loader and libraries, which a guest does not have.
    pub fn read(path: &Path) -> Result<Self, GuestError> {
        let file = std::fs::File::open(path).map_err(GuestError::io("cannot open", path))?;
        let bytes = read_all(file, BYTES_MAX).map_err(GuestError::io("cannot read", path))?;
        let refused = |why: String| GuestError::Program { path: path.to_owned(), why };
        if !is_elf(&bytes) {
            return Err(refused("it is not a program for this kind of machine".to_owned()));
        }
        if let Some(loader) = interpreter(&bytes) {
            let why = format!("it is not static, and needs {loader} and libraries");
            return Err(refused(why));
        }
        let part = loaded_part(&bytes);
        part.map(|bytes| Self { bytes }).ok_or_else(|| refused("it is damaged".to_owned()))
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program of {} bytes", self.bytes.len())
    }
}
