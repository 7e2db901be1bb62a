//! Kernels: image, modules and configuration, from a package or a directory.
//!
//! Packages are untrusted: nothing in them is written to disk, names only determine the role of a
//! file, and every size is limited.

mod arm64_image;
mod collect;
mod deb;
mod image;
mod payload;
mod rpm;
mod rules;
mod staleness;
mod tar;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::elf::section;
use crate::modinfo::ModuleInformation;
use crate::unpack::{read_all, unpacked};
use crate::{Architecture, GuestError};
use collect::{MODULE_BYTES_MAX, PackageCollector};
pub(crate) use rules::ModprobeRules;

/// Bytes needed to detect the package format.
const MAGIC_BYTES: u64 = 8;

/// Bootable kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Package, image or directory of the kernel.
    pub source: PathBuf,
    /// Processor for which it was built.
    pub architecture: Architecture,
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
    /// Checksum of the layout of modules (`module_layout`) that most modules have, which tells two
    /// builds of a release apart; `None` for kernels without symbol versions.
    pub(crate) layout: Option<u32>,
    /// Last words of the texts in the image of a kernel that came without modules and lists, if it
    /// can be unpacked.
    pub(crate) words: Option<BTreeSet<String>>,
}

/// Module file, possibly compressed.
pub(crate) struct ModuleFile {
    /// Path below the modules directory.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    /// Description; an explanation if the module is damaged.
    pub(crate) information: Result<ModuleInformation, String>,
}

impl ModuleFile {
    /// Module with its description.
    pub(crate) fn new(path: String, bytes: Vec<u8>) -> Self {
        // A damaged module is an error only where it is needed.
        let information = unpacked(bytes.as_slice())
            .and_then(|stream| read_all(stream, MODULE_BYTES_MAX))
            .map_err(|error| error.to_string())
            .and_then(|file| ModuleInformation::of_module(&file).ok_or_else(|| no_module(&file)));
        Self { path, bytes, information }
    }

    /// Takes the description away from a module that was built for another processor.
    fn check(&mut self, architecture: Architecture) {
        let own = self.information.as_ref().ok().and_then(|information| information.architecture);
        if let Some(own) = own.filter(|own| *own != architecture) {
            let why =
                format!("it is for {}, and the image for {}", own.title(), architecture.title());
            self.information = Err(why);
        }
    }
}

/// Explanation of a file that is no module.
fn no_module(file: &[u8]) -> String {
    let is_other = section(file, ".modinfo").is_some();
    let why = if is_other {
        "it is for a processor that guests do not have"
    } else {
        "it has no section .modinfo"
    };
    why.to_owned()
}

/// The checksum of the layout of modules that more than half of these modules have.
pub(crate) fn common_layout(modules: &BTreeMap<String, ModuleFile>) -> Option<u32> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let layouts = modules.values().filter_map(|file| file.information.as_ref().ok()?.layout);
    for layout in layouts {
        *counts.entry(layout).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    counts.into_iter().find(|(_, count)| 2 * count > all).map(|(layout, _)| layout)
}

impl std::fmt::Debug for ModuleFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes.len())
    }
}

impl Kernel {
    /// Reads a kernel: a package, a directory with the packages of one kernel, an image (with
    /// modules installed next to it), an unpacked package, or a kernel build tree.
    ///
    /// # Errors
    /// If no kernel is found, or a part of it is damaged or too large; names that part.
    pub fn read(source: &Path) -> Result<Self, GuestError> {
        let metadata = std::fs::metadata(source).map_err(GuestError::io("cannot find", source))?;
        let collected = match tree::packages_in(source) {
            _ if !metadata.is_dir() => collect_file(source)?,
            packages if packages.is_empty() => tree::read(source)?,
            packages => collect_packages(source, &packages)?,
        };
        collected.kernel(source)
    }

    /// Adds a module in a file, which replaces that of the same name.
    ///
    /// # Errors
    /// If the file cannot be read, or is no module of a kernel.
    pub fn add_module(&mut self, file: &Path) -> Result<(), GuestError> {
        let path = file.to_string_lossy().into_owned();
        let refused = |why: &str| package_error(file, "", why);
        let name = module_name(&path)
            .ok_or_else(|| refused("its name does not end like that of a module (.ko)"))?;
        if self.is_built_in(&name) {
            let why = format!("the kernel {} has this module built in", self.release);
            return Err(package_error(file, "", why));
        }
        let opened = File::open(file).map_err(GuestError::io("cannot open", file))?;
        let bytes = read_all(opened, MODULE_BYTES_MAX);
        let bytes = bytes.map_err(GuestError::io("cannot read", file))?;
        let mut module = ModuleFile::new(path, bytes);
        module.check(self.architecture);
        if let Err(why) = &module.information {
            return Err(refused(why));
        }
        self.modules.insert(name, module);
        Ok(())
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

/// Collects the files of a package, or of an image with its modules.
fn collect_file(source: &Path) -> Result<PackageCollector, GuestError> {
    let failed = || GuestError::io("cannot read", source);
    let mut file = File::open(source).map_err(GuestError::io("cannot open", source))?;
    let mut magic = Vec::new();
    (&mut file).take(MAGIC_BYTES).read_to_end(&mut magic).map_err(failed())?;
    file.seek(SeekFrom::Start(0)).map_err(failed())?;
    let is_archive = tar::is_archive(&mut file);
    file.seek(SeekFrom::Start(0)).map_err(failed())?;
    let file = BufReader::new(file);
    match magic.as_slice() {
        [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n'] => deb::read(file, source),
        [0xed, 0xab, 0xee, 0xdb, ..] => rpm::read(file, source),
        _ if is_archive => tar::collect(file, source, ""),
        _ => match tree::tree_of(source) {
            Some(top) => tree::read(&top),
            None => tree::collect_for_image(source),
        },
    }
}

/// Collects the files of the packages of one kernel, of which one has the image.
fn collect_packages(folder: &Path, packages: &[PathBuf]) -> Result<PackageCollector, GuestError> {
    let mut all = PackageCollector::default();
    for package in packages {
        if !all.merge(collect_file(package)?) {
            let why = "several of the packages in it have an image, and one kernel is meant";
            return Err(package_error(folder, "", why));
        }
    }
    Ok(all)
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
