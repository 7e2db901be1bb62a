//! Init program of a guest: treering itself, which must not depend on other files.

use std::path::Path;

use crate::elf::{interpreter, is_elf, loaded_part};
use crate::{GuestError, unpack::read_all};

/// Limit of the program size in bytes.
const BYTES_MAX: u64 = 1 << 30;

/// Static program, reduced to its loaded part.
#[derive(Clone)]
pub struct GuestProgram {
    pub(crate) bytes: Vec<u8>,
}

impl GuestProgram {
    /// Reads a program, usually the running executable.
    ///
    /// # Errors
    /// If the program cannot be read, or is dynamically linked, since a guest has no libraries.
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

impl std::fmt::Debug for GuestProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program of {} bytes", self.bytes.len())
    }
}
