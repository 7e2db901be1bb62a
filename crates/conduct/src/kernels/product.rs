//! Kernels that a build has made, by the places where the make targets of the kernel put them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use thiserror::Error;
use treering_guest::BUILT_IMAGES;

/// Beginnings of the names of packages without the image.
const OTHER_PACKAGES: [&str; 4] =
    ["linux-headers-", "linux-libc-dev", "kernel-headers-", "kernel-devel-"];
/// Folders of packages: `bindeb-pkg` writes beside the tree, `binrpm-pkg` and rpmbuild below it.
const PACKAGE_FOLDERS: [&str; 6] =
    ["", "..", "rpmbuild/RPMS", "rpmbuild/RPMS/x86_64", "rpmbuild/RPMS/aarch64", "tar-install"];
/// Reason why a successful build has no kernel.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum NoProduct {
    /// Nothing is at the places that are known.
    #[error(
        "the build was successful, but made neither a package with an image (linux-image-*.deb, \
         kernel-*.rpm) nor an image ({})", BUILT_IMAGES.join(", ")
    )]
    Nothing,
    /// More than one package was written meanwhile.
    #[error(
        "several packages with an image were written during the build, and one is meant \
         (bisect-step: --kernel names it): {}",
        packages.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(", ")
    )]
    Several {
        /// The packages.
        packages: Vec<PathBuf>,
    },
}

/// Finds the kernel that a build in this tree has made: the package that was written since then, or
/// else the tree itself with its image.
///
/// # Errors
/// The reason, if there is none, or several packages.
pub(super) fn made_kernel(tree: &Path, since: SystemTime) -> Result<PathBuf, NoProduct> {
    let mut packages: BTreeSet<PathBuf> = BTreeSet::new();
    for folder in PACKAGE_FOLDERS {
        for entry in fs::read_dir(tree.join(folder)).into_iter().flatten().flatten() {
            let written = entry.metadata().ok().filter(fs::Metadata::is_file);
            let written = written.and_then(|metadata| metadata.modified().ok());
            let is_meant = is_package_of_image(&entry.file_name().to_string_lossy());
            packages.extend(written.filter(|&at| is_meant && at >= since).map(|_| entry.path()));
        }
    }
    let packages: Vec<PathBuf> = packages.into_iter().collect();
    match packages.as_slice() {
        [package] => Ok(package.clone()),
        [] if BUILT_IMAGES.iter().any(|image| tree.join(image).is_file()) => Ok(tree.to_owned()),
        [] => Err(NoProduct::Nothing),
        _ => Err(NoProduct::Several { packages }),
    }
}

/// Reports whether this is the file name of a package with an image and its modules.
fn is_package_of_image(name: &str) -> bool {
    let end = Path::new(name).extension().and_then(OsStr::to_str);
    let is_debian = name.starts_with("linux-image-") && end == Some("deb");
    let is_rpm = name.starts_with("kernel-") && end == Some("rpm");
    let is_other = OTHER_PACKAGES.iter().any(|start| name.starts_with(start));
    let is_debug = name.contains("-dbg_") || name.contains("-debuginfo");
    let is_source = name.ends_with(".src.rpm");
    (is_debian || is_rpm) && !is_other && !is_debug && !is_source
}

#[cfg(test)]
mod tests {
    use super::{NoProduct, is_package_of_image, made_kernel};
    use std::fs;
    use std::time::Duration;

    #[test]
    fn packages_of_the_image_are_known_by_name() {
        for (name, is_meant) in [
            ("linux-image-6.11.0_6.11.0-2_amd64.deb", true),
            ("linux-image-6.11.0-dbg_6.11.0-2_amd64.deb", false),
            ("linux-headers-6.11.0_6.11.0-2_amd64.deb", false),
            ("linux-libc-dev_6.11.0-2_amd64.deb", false),
            ("kernel-6.11.0-2.x86_64.rpm", true),
            ("kernel-headers-6.11.0-2.x86_64.rpm", false),
            ("kernel-6.11.0-2.src.rpm", false),
            ("linux-image.txt", false),
        ] {
            assert_eq!(is_package_of_image(name), is_meant, "{name}");
        }
    }

    #[test]
    fn a_package_of_an_earlier_build_is_not_taken() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("linux");
        fs::create_dir_all(tree.join("arch/x86/boot")).unwrap();
        let now = tree.metadata().unwrap().modified().unwrap();
        assert_eq!(made_kernel(&tree, now), Err(NoProduct::Nothing));
        let old = place.path().join("linux-image-1_1_amd64.deb");
        let file = fs::File::create(&old).unwrap();
        file.set_modified(now - Duration::from_secs(60)).unwrap();
        fs::write(tree.join("arch/x86/boot/bzImage"), "").unwrap();
        assert_eq!(made_kernel(&tree, now), Ok(tree.clone()));
        file.set_modified(now + Duration::from_secs(60)).unwrap();
        assert_eq!(made_kernel(&tree, now), Ok(tree.join("../linux-image-1_1_amd64.deb")));
        // Another build may write beside the tree at the same time.
        let other = place.path().join("linux-image-2_1_amd64.deb");
        fs::File::create(&other).unwrap().set_modified(now + Duration::from_secs(9)).unwrap();
        let why = made_kernel(&tree, now).unwrap_err().to_string();
        assert!(why.contains("linux-image-1_1") && why.contains("linux-image-2_1"), "{why}");
    }
}
