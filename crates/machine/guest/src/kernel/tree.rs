//! Kernels in directories: an unpacked package, an installed image with its modules, or a build
//! tree.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::collect::{IMAGE_BYTES_MAX, PackageCollector};
use super::{image, module_name};
use crate::GuestError;
use crate::unpack::read_all;

/// Image paths in a build tree.
const BUILT: [&str; 2] = ["arch/x86/boot/bzImage", "arch/x86_64/boot/bzImage"];
/// Limit of the directory depth.
const DEPTH_MAX: usize = 16;
/// Limit of the number of files.
const FILES_MAX: usize = 200_000;

/// Reads a directory with `boot` and `lib/modules`, or a build tree.
pub(super) fn read(top: &Path) -> Result<PackageCollector, GuestError> {
    let mut collector = PackageCollector::default();
    if let Some(image) = BUILT.iter().map(|name| top.join(name)).find(|path| path.is_file()) {
        built(top, &image, &mut collector)?;
        return Ok(collector);
    }
    for part in ["boot", "lib/modules", "usr/lib/modules", "lib/modprobe.d", "usr/lib/modprobe.d"] {
        let folder = top.join(part);
        if folder.is_dir() {
            collect(top, &folder, &mut collector)?;
        }
    }
    Ok(collector)
}

/// Reads a single image; its modules are those installed for its release, next to it or in the
/// system.
pub(super) fn collect_for_image(path: &Path) -> Result<PackageCollector, GuestError> {
    let mut collector = PackageCollector::default();
    let file = open(path)?;
    let bytes = read_all(file, IMAGE_BYTES_MAX).map_err(GuestError::io("cannot read", path))?;
    let Some((release, _)) = image::release(&bytes) else {
        let why = "it is neither a package nor an x86 boot image (bzImage)".to_owned();
        return Err(GuestError::NoKernel { path: path.to_owned(), why });
    };
    let name = path.to_string_lossy();
    let taken = collector.take_image(&name, &mut bytes.as_slice());
    taken.map_err(GuestError::io("cannot read", path))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let config = folder.join(format!("config-{release}"));
    if config.is_file() {
        let taken = collector.take_configuration(&mut open(&config)?);
        taken.map_err(GuestError::io("cannot read", &config))?;
    }
    let beside = folder.parent().unwrap_or(Path::new("/"));
    for top in [beside, Path::new("/")] {
        let modules = top.join("lib/modules").join(&release);
        if modules.is_dir() {
            collect(top, &modules, &mut collector)?;
            break;
        }
    }
    Ok(collector)
}

/// Collects the files below a directory, by their paths relative to the top.
fn collect(top: &Path, folder: &Path, collector: &mut PackageCollector) -> Result<(), GuestError> {
    for path in files(folder)? {
        let name = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
        let looked = collector.look(&name, &mut open(&path)?);
        looked.map_err(GuestError::io("cannot read", &path))?;
    }
    Ok(())
}

/// Reads a build tree, where modules are spread over the source directories.
fn built(top: &Path, image: &Path, collector: &mut PackageCollector) -> Result<(), GuestError> {
    let failed = |path: &Path| GuestError::io("cannot read", path.to_owned());
    collector.take_image("bzImage", &mut open(image)?).map_err(failed(image))?;
    let config = top.join(".config");
    if config.is_file() {
        collector.take_configuration(&mut open(&config)?).map_err(failed(&config))?;
    }
    let list = top.join("modules.builtin");
    if list.is_file() {
        collector.take_built_in(&mut open(&list)?).map_err(failed(&list))?;
    }
    let list = top.join("modules.builtin.modinfo");
    if list.is_file() {
        let taken = collector.take_built_in_information(&mut open(&list)?);
        taken.map_err(failed(&list))?;
    }
    for folder in ["arch/x86", "block", "crypto", "drivers", "fs", "lib", "mm"] {
        let folder = top.join(folder);
        if !folder.is_dir() {
            continue;
        }
        for path in files(&folder)? {
            let below = path.strip_prefix(top).unwrap_or(&path).to_string_lossy().into_owned();
            if module_name(&below).is_some() {
                let name = format!("lib/modules/built/kernel/{below}");
                collector.look(&name, &mut open(&path)?).map_err(failed(&path))?;
            }
        }
    }
    Ok(())
}

/// Regular files below a directory, sorted by name. Links are not followed.
fn files(folder: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let mut files = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = fs::read_dir(&folder).map_err(GuestError::io("cannot list", &folder))?;
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => {
                    open.push((entry.path(), depth + 1));
                }
                Ok(kind) if kind.is_file() && files.len() < FILES_MAX => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

fn open(path: &Path) -> Result<File, GuestError> {
    File::open(path).map_err(GuestError::io("cannot open", path))
}

#[cfg(test)]
mod tests {
    use super::super::image::boot_image;
    use crate::Kernel;
    use std::path::Path;

    fn write(top: &Path, name: &str, bytes: &[u8]) {
        let path = top.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn installed_images_find_their_modules() {
        let top = tempfile::tempdir().unwrap();
        write(top.path(), "boot/vmlinuz-6.1", &boot_image("6.1 (a@b) #1"));
        write(top.path(), "boot/config-6.1", b"CONFIG_X=y\n");
        write(top.path(), "lib/modules/6.1/kernel/fs/xfs/xfs.ko", b"module");
        write(top.path(), "lib/modules/6.2/kernel/fs/xfs/xfs.ko", b"of another");
        let kernel = Kernel::read(&top.path().join("boot/vmlinuz-6.1")).unwrap();
        assert_eq!(kernel.module("xfs").unwrap().unwrap(), b"module");
        assert_eq!(kernel.configuration.as_deref(), Some("CONFIG_X=y\n"));
    }

    #[test]
    fn modules_of_a_build_tree_are_found() {
        let top = tempfile::tempdir().unwrap();
        write(top.path(), "arch/x86/boot/bzImage", &boot_image("6.1-mine (a@b) #1"));
        write(top.path(), "fs/xfs/xfs.ko", b"module");
        write(top.path(), "modules.builtin", b"kernel/fs/ext4/ext4.ko\n");
        std::os::unix::fs::symlink("/", top.path().join("fs/up")).unwrap();
        let kernel = Kernel::read(top.path()).unwrap();
        assert_eq!(kernel.release, "6.1-mine");
        assert!(kernel.is_built_in("ext4") && kernel.module("xfs").is_some());
    }
}
