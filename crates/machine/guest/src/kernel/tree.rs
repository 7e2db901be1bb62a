//! Kernels in directories: an unpacked package, an installed image with its modules, or a build
//! tree.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use treering_model::filesystems::NINE_P_SOURCE;

use super::arm64_image::unpacked_image;
use super::collect::{IMAGE_BYTES_MAX, PackageCollector, is_taken};
use super::image::ImageIdentity;
use super::staleness::TreeTimes;
use super::{image, module_name};
use crate::unpack::read_all;
use crate::{BUILT_IMAGES, GuestError};

/// Image paths in a build tree.
const BUILT: [&str; 3] = [BUILT_IMAGES[0], "arch/x86_64/boot/bzImage", BUILT_IMAGES[1]];
/// Files of a build tree that describe it, beside its image and modules.
const DESCRIPTIONS: [&str; 3] = [".config", "modules.builtin", "modules.builtin.modinfo"];
/// Folders of a build tree with modules that a guest can need.
const SOURCES: [&str; 9] =
    ["arch/arm64", "arch/x86", "block", "crypto", "drivers", "fs", "lib", "mm", NINE_P_SOURCE];
/// Folders of an unpacked package.
const INSTALLED: [&str; 5] =
    ["boot", "lib/modules", "usr/lib/modules", "lib/modprobe.d", "usr/lib/modprobe.d"];
/// Ends of the names of packages that may be parts of a kernel.
const PACKAGES: [&str; 2] = ["deb", "rpm"];
/// Limit of such packages.
const PACKAGES_MAX: usize = 32;
/// Limit of the directory depth.
const DEPTH_MAX: usize = 16;
/// Limit of the number of files.
const FILES_MAX: usize = 200_000;

/// Reads a directory with `boot` and `lib/modules`, or a build tree.
pub(super) fn read(top: &Path) -> Result<PackageCollector, GuestError> {
    let mut collector = PackageCollector::default();
    if let Some(image) = image_of(top) {
        built(top, &image, &mut collector)?;
        return Ok(collector);
    }
    for folder in INSTALLED.iter().map(|part| top.join(part)).filter(|folder| folder.is_dir()) {
        collect(top, &folder, &mut collector)?;
    }
    Ok(collector)
}

/// Packages in a directory that is neither an unpacked package nor a build tree: the parts of a
/// kernel that is distributed in several.
pub(super) fn packages_in(top: &Path) -> Vec<PathBuf> {
    if image_of(top).is_some() || INSTALLED.iter().any(|part| top.join(part).is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(top).into_iter().flatten().flatten();
    let mut packages: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    packages.retain(|path| {
        let end = path.extension().unwrap_or_default();
        PACKAGES.iter().any(|known| end == *known) && path.is_file()
    });
    packages.sort();
    packages.truncate(PACKAGES_MAX);
    packages
}

/// Image of a build tree.
fn image_of(top: &Path) -> Option<PathBuf> {
    BUILT.iter().map(|name| top.join(name)).find(|path| path.is_file())
}

/// Build tree in which an image is, with its modules.
pub(super) fn tree_of(image: &Path) -> Option<PathBuf> {
    let image = image.canonicalize().ok()?;
    let name = BUILT.iter().find(|name| image.ends_with(name))?;
    let top = image.ancestors().nth(Path::new(name).components().count())?;
    top.join(DESCRIPTIONS[0]).is_file().then(|| top.to_owned())
}

/// Copies the files of a directory that [`read`] takes; the copy has the same paths below `to`.
pub(super) fn copy(top: &Path, to: &Path) -> Result<(), GuestError> {
    let paths = match image_of(top) {
        Some(image) => {
            let described = DESCRIPTIONS.iter().map(|name| top.join(name));
            let mut paths: Vec<PathBuf> =
                described.filter(|path| path.is_file()).chain([image]).collect();
            paths.extend(modules_of(top)?);
            paths
        }
        None if !packages_in(top).is_empty() => packages_in(top),
        None => {
            let folders = INSTALLED.iter().map(|part| top.join(part));
            let of_folders: Result<Vec<_>, _> =
                folders.filter(|folder| folder.is_dir()).map(|folder| files(&folder)).collect();
            let mut paths = of_folders?.concat();
            paths
                .retain(|path| is_taken(&path.strip_prefix(top).unwrap_or(path).to_string_lossy()));
            paths
        }
    };
    for path in paths {
        let copy = to.join(path.strip_prefix(top).unwrap_or(&path));
        let folder = copy.parent().unwrap_or(to);
        fs::create_dir_all(folder).map_err(GuestError::io("cannot make", folder))?;
        fs::copy(&path, &copy).map_err(GuestError::io("cannot copy to", &copy))?;
    }
    Ok(())
}

/// Modules of a build tree that a guest can need, without those that are older than their sources;
/// none if they were not made with its image. They may load all the same: their release says
/// nothing where the commits of a release share it.
fn modules_of(top: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let mut all = Vec::new();
    if are_modules_stale(top) {
        return Ok(all);
    }
    let mut times = TreeTimes::new(top);
    for folder in SOURCES.iter().map(|name| top.join(name)).filter(|folder| folder.is_dir()) {
        let files = files(&folder)?.into_iter();
        all.extend(files.filter(|path| {
            let is_module =
                path.file_name().is_some_and(|name| module_name(&name.to_string_lossy()).is_some());
            is_module && is_taken(&installed(top, path)) && !times.is_stale(path)
        }));
    }
    Ok(all)
}

/// Reads a single image; its modules are those installed for its release, next to it or in the
/// system.
pub(super) fn collect_for_image(path: &Path) -> Result<PackageCollector, GuestError> {
    let mut collector = PackageCollector::default();
    let file = open(path)?;
    let bytes = read_all(file, IMAGE_BYTES_MAX).and_then(unpacked_image);
    let bytes = bytes.map_err(GuestError::io("cannot read", path))?;
    let Some(ImageIdentity { release, .. }) = image::identity(&bytes) else {
        let why = image::described(&bytes);
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
    for path in modules_of(top)? {
        let name = installed(top, &path);
        collector.look(&name, &mut open(&path)?).map_err(failed(&path))?;
    }
    Ok(())
}

/// Path of a module of a build tree after its installation.
fn installed(top: &Path, module: &Path) -> String {
    let below = module.strip_prefix(top).unwrap_or(module).to_string_lossy();
    format!("lib/modules/built/kernel/{below}")
}

/// Reports whether the code of the image was linked after the symbols of the modules were written,
/// as by `make bzImage` alone: `make modules` writes these anew.
fn are_modules_stale(top: &Path) -> bool {
    let written = |name: &str| top.join(name).metadata().and_then(|file| file.modified()).ok();
    let (code, symbols) = (written("vmlinux.o"), written("Module.symvers"));
    code.zip(symbols).is_some_and(|(code, symbols)| symbols < code)
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
    use crate::{Kernel, copy_kernel};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

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
        // The image names its tree, and a copy has what was read.
        write(top.path(), ".config", b"CONFIG_X=y\n");
        let image = top.path().join("arch/x86/boot/bzImage");
        for source in [top.path(), &image] {
            let place = tempfile::tempdir().unwrap();
            let copy = copy_kernel(source, place.path(), "copy").unwrap();
            let copied = Kernel::read(&copy).unwrap();
            assert!(copied.is_built_in("ext4") && copied.module("xfs").is_some());
            assert_eq!(copied.configuration.as_deref(), Some("CONFIG_X=y\n"));
        }
    }

    #[test]
    fn modules_older_than_the_image_are_left_out() {
        let top = tempfile::tempdir().unwrap();
        write(top.path(), "arch/x86/boot/bzImage", &boot_image("6.1-mine (a@b) #2"));
        write(top.path(), "fs/xfs/xfs.ko", b"module");
        write(top.path(), "modules.builtin", b"kernel/fs/ext4/ext4.ko\n");
        write(top.path(), "Module.symvers", b"");
        write(top.path(), "vmlinux.o", b"");
        let at = |name: &str, second: u64| {
            let file = std::fs::File::options().write(true).open(top.path().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
        };
        at("vmlinux.o", 5);
        for (symbols, has_module) in [(4, false), (5, true), (6, true)] {
            at("Module.symvers", symbols);
            let kernel = Kernel::read(top.path()).unwrap();
            assert_eq!(kernel.module("xfs").is_some(), has_module, "{symbols}");
        }
    }
}
