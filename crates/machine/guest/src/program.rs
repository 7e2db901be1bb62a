//! Init program of a guest: treering itself, which must not depend on other files.

use std::path::{Path, PathBuf};

use crate::bytes::occurrences;
use crate::elf::{interpreter, is_elf, loaded_part, machine};
use crate::{Architecture, GuestError, unpack::read_all};

/// Limit of the program size in bytes.
const BYTES_MAX: u64 = 1 << 30;
/// The running program.
const OWN: &str = "/proc/self/exe";
/// Text in every treering, by which one for another architecture is known. Host and guest have to
/// be of the same version.
const MARK: &str = concat!("treering ", env!("CARGO_PKG_VERSION"), " as the init of a guest");

/// Static program, reduced to its loaded part.
#[derive(Clone)]
pub struct GuestProgram {
    pub(crate) bytes: Vec<u8>,
}

impl GuestProgram {
    /// Finds treering for guests of an architecture: the running program, or, for another
    /// architecture than that of this machine, the named file or one at the usual places.
    ///
    /// # Errors
    /// If there is none, or it is dynamically linked, for another architecture, or of another
    /// version.
    pub fn find(architecture: Architecture, named: Option<&Path>) -> Result<Self, GuestError> {
        let path = match named {
            Some(path) => path.to_owned(),
            None if architecture.is_own() => return Self::read(OWN.as_ref(), architecture),
            None => {
                let running =
                    std::fs::read_link(OWN).map_err(GuestError::io("cannot read", OWN))?;
                let mut places = architecture.program_places(&running).into_iter();
                places.find(|path| path.is_file()).ok_or(GuestError::NoProgram(architecture))?
            }
        };
        let found = Self::read(&path, architecture)?;
        if occurrences(&found.bytes, MARK.as_bytes()).next().is_none() {
            let why = format!("it is not treering {}", env!("CARGO_PKG_VERSION"));
            return Err(GuestError::Program { path, why });
        }
        Ok(found)
    }

    /// Reads a program for guests of this architecture.
    ///
    /// # Errors
    /// If the program cannot be read, is for another architecture, or is dynamically linked, since
    /// a guest has no libraries.
    pub fn read(path: &Path, architecture: Architecture) -> Result<Self, GuestError> {
        let file = std::fs::File::open(path).map_err(GuestError::io("cannot open", path))?;
        let bytes = read_all(file, BYTES_MAX).map_err(GuestError::io("cannot read", path))?;
        let path = PathBuf::from(path);
        let refused = |why: String| GuestError::Program { path: path.clone(), why };
        let own = machine(&bytes).and_then(Architecture::of_elf);
        if !is_elf(&bytes) || own != Some(architecture) {
            let why = format!("it is not a program for {}, as the kernel", architecture.title());
            return Err(refused(why));
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

#[cfg(test)]
mod tests {
    use super::{GuestProgram, MARK};
    use crate::Architecture;

    /// Static program of this architecture with nothing but a text.
    fn program(elf: u16, text: &str) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64 + 56, 0);
        bytes.extend(text.as_bytes());
        bytes[18..20].copy_from_slice(&elf.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&1_u16.to_le_bytes());
        bytes[64..68].copy_from_slice(&1_u32.to_le_bytes());
        let length = bytes.len() as u64;
        bytes[96..104].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    #[test]
    fn a_named_program_is_treering_of_this_version_for_the_kernels_architecture() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("treering-aarch64");
        for (elf, text, said) in [
            (183, MARK, None),
            (62, MARK, Some("it is not a program for AArch64")),
            (183, "treering 0.0.0 as the init of a guest", Some("it is not treering ")),
        ] {
            std::fs::write(&path, program(elf, text)).unwrap();
            let error = GuestProgram::find(Architecture::Aarch64, Some(&path)).err();
            let error = error.map(|error| error.to_string());
            let is_expected = match said {
                None => error.is_none(),
                Some(said) => error.as_ref().is_some_and(|error| error.contains(said)),
            };
            assert!(is_expected, "{error:?}");
        }
    }
}
