//! Kernels: image, modules and configuration, from a package or a directory.
//!
//! Packages are untrusted: nothing in them is written to disk, names only determine the role of a
//! file, and every size is limited.

mod collect;
mod deb;
mod image;
mod rpm;
mod rules;
mod tar;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::GuestError;
use crate::modinfo::ModuleInformation;
use crate::unpack::{read_all, unpacked};
use collect::MODULE_BYTES_MAX;
pub(crate) use rules::ModprobeRules;

/// Bytes needed to detect the package format.
const MAGIC_BYTES: u64 = 8;

/// Bootable kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Package, image or directory of the kernel.
    pub source: PathBuf,
    /// Release, as in `uname -r`.
    pub release: String,
    /// Version, as in `uname -v`; empty if the image lacks it.
    pub version: String,
    /// Boot image.
    pub image: Vec<u8>,
    /// Build configuration, if known.
    pub configuration: Option<String>,
    pub(crate) modules: BTreeMap<String, ModuleFile>,
    /// Built-in modules; `None` if unknown, when any module may be built in.
    pub(crate) built_in: Option<BTreeSet<String>>,
    /// Descriptions of built-in modules, as far as they are known.
    pub(crate) built_in_information: BTreeMap<String, ModuleInformation>,
    /// Rules of modprobe in the package.
    pub(crate) rules: ModprobeRules,
}

/// Module file, possibly compressed.
pub(crate) struct ModuleFile {
    /// Path below the modules directory.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    /// Description; an explanation if the module is damaged.
    pub(crate) information: Result<ModuleInformation, String>,
}

impl std::fmt::Debug for ModuleFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes.len())
    }
}

impl Kernel {
    /// Reads a kernel: a `.deb` or `.rpm` package, an image (with modules installed next to it), an
    /// unpacked package, or a kernel build tree.
    ///
    /// # Errors
    /// If no kernel is found, or a part of it is damaged or too large; names that part.
    pub fn read(source: &Path) -> Result<Self, GuestError> {
        let metadata = std::fs::metadata(source).map_err(GuestError::io("cannot find", source))?;
        let collected = if metadata.is_dir() {
            tree::read(source)?
        } else {
            let mut file = File::open(source).map_err(GuestError::io("cannot open", source))?;
            let mut magic = Vec::new();
            let begun = (&mut file).take(MAGIC_BYTES).read_to_end(&mut magic);
            begun.map_err(GuestError::io("cannot read", source))?;
            let rewound = file.seek(SeekFrom::Start(0));
            rewound.map_err(GuestError::io("cannot read", source))?;
            let file = BufReader::new(file);
            match magic.as_slice() {
                [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n'] => deb::read(file, source)?,
                [0xed, 0xab, 0xee, 0xdb, ..] => rpm::read(file, source)?,
                _ => match tree::tree_of(source) {
                    Some(top) => tree::read(&top)?,
                    None => tree::collect_for_image(source)?,
                },
            }
        };
        collected.kernel(source)
    }

    /// Decompressed module; `None` if the kernel lacks it.
    pub(crate) fn module(&self, name: &str) -> Option<Result<Vec<u8>, GuestError>> {
        let file = self.modules.get(name)?;
        let bytes = unpacked(file.bytes.as_slice())
            .and_then(|stream| read_all(stream, MODULE_BYTES_MAX))
            .map_err(|error| GuestError::Package {
                package: self.source.clone(),
                member: file.path.clone(),
                why: error.to_string(),
            });
        Some(bytes)
    }

    /// Reports whether a module is known to be built in.
    pub(crate) fn is_built_in(&self, module: &str) -> bool {
        self.built_in.as_ref().is_some_and(|names| names.contains(module))
    }
}

/// Copies a kernel into a folder: a package under its name, a directory under `name` with only the
/// files that [`Kernel::read`] takes. An image in a build tree is copied with its tree. Returns the
/// copy.
///
/// # Errors
/// If a file cannot be read or written.
pub fn copy_kernel(source: &Path, folder: &Path, name: &str) -> Result<PathBuf, GuestError> {
    let top = if source.is_dir() { Some(source.to_owned()) } else { tree::tree_of(source) };
    let copy = match &top {
        Some(_) => folder.join(name),
        None => folder.join(source.file_name().unwrap_or_default()),
    };
    match top {
        Some(top) => tree::copy(&top, &copy)?,
        None => {
            std::fs::copy(source, &copy).map_err(GuestError::io("cannot copy", source))?;
        }
    }
    Ok(copy)
}

/// Module name of a path, with `-` replaced by `_`; `None` for other files.
pub(crate) fn module_name(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (stem, packing) = file.split_once(".ko")?;
    let is_module = !stem.is_empty() && matches!(packing, "" | ".xz" | ".zst" | ".gz");
    is_module.then(|| stem.replace('-', "_"))
}

fn package_error(package: &Path, member: &str, why: impl ToString) -> GuestError {
    GuestError::Package {
        package: package.to_owned(),
        member: member.to_owned(),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Kernel, module_name};
    use std::path::Path;

    #[test]
    fn module_names_ignore_compression() {
        let path = "kernel/arch/x86/crypto/crc32c-intel.ko.xz";
        assert_eq!(module_name(path).as_deref(), Some("crc32c_intel"));
        assert_eq!(module_name("ext4.ko").as_deref(), Some("ext4"));
        assert_eq!(module_name("ext4.ko.txt"), None);
        assert_eq!(module_name("modules.order"), None);
        assert_eq!(module_name("kernel/.ko"), None);
    }

    #[test]
    fn missing_and_invalid_kernels_are_named() {
        let top = tempfile::tempdir().unwrap();
        let missing = Kernel::read(&top.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none"), "{missing}");
        let file = top.path().join("text");
        std::fs::write(&file, "not a kernel").unwrap();
        assert!(Kernel::read(&file).unwrap_err().to_string().contains("has no kernel"));
        assert!(Kernel::read(top.path()).unwrap_err().to_string().contains("has no kernel"));
        assert!(Kernel::read(Path::new("/dev/null")).is_err());
    }
}
