//! Debian packages: an `ar` archive that contains a tar archive.

use std::io::Read;
use std::path::Path;

use super::collect::PackageCollector;
use super::{package_error, tar};
use crate::GuestError;

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: usize = 60;
/// Limit of archive members; a package has three.
const MEMBERS_MAX: usize = 100;

/// Reads the files of a package.
pub(super) fn read(mut from: impl Read, package: &Path) -> Result<PackageCollector, GuestError> {
    let short = |_| package_error(package, "", "it ends too early, in its ar archive");
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic).map_err(short)?;
    for _ in 0..MEMBERS_MAX {
        let mut header = [0; HEADER_BYTES];
        if from.read_exact(&mut header).is_err() {
            break;
        }
        let text = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim().trim_end_matches('/').to_owned()
        };
        let (name, size) = (text(0..16), text(48..58));
        let size: u64 =
            size.parse().ok().filter(|_| header.ends_with(b"`\n")).ok_or_else(|| {
                package_error(package, &name, "its header in the ar archive is none")
            })?;
        if name.starts_with("data.tar") {
            return tar::collect(from.take(size), package, &name);
        }
        let padded = size.saturating_add(size % 2);
        let skipped = std::io::copy(&mut (&mut from).take(padded), &mut std::io::sink());
        skipped.map_err(GuestError::io("cannot read", package))?;
    }
    Err(package_error(package, "", "it has no data.tar, as a Debian package has"))
}

#[cfg(test)]
mod tests {
    use super::super::image::boot_image;
    use super::read;
    use crate::Kernel;
    use std::path::Path;
    use std::process::Command;

    /// A package with these files, made by dpkg-deb.
    fn package(files: &[(&str, &[u8])], top: &Path) -> Option<std::path::PathBuf> {
        let tree = top.join("tree");
        let control = "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\n\
                       Description: x\n";
        for (name, bytes) in files.iter().chain(&[("DEBIAN/control", control.as_bytes())]) {
            let path = tree.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let out = top.join("x.deb");
        let mut build = Command::new("dpkg-deb");
        build.args(["-Zxz", "--build"]).arg(&tree).arg(&out);
        if !build.output().is_ok_and(|done| done.status.success()) {
            treering_testkit::skip("dpkg-deb is not installed");
            return None;
        }
        Some(out)
    }

    #[test]
    fn a_kernel_is_read_from_a_debian_package() {
        let top = tempfile::tempdir().unwrap();
        let image = boot_image("6.1.0-x (a@b) #1 SMP");
        let long = format!("lib/modules/6.1.0-x/kernel/fs/{}/nls-{}.ko", "d".repeat(120), "n");
        let Some(deb) = package(
            &[
                ("boot/vmlinuz-6.1.0-x", &image),
                ("boot/config-6.1.0-x", b"CONFIG_KASAN=y\n"),
                ("lib/modules/6.1.0-x/modules.builtin", b"kernel/fs/ext4/ext4.ko\n"),
                ("lib/modules/6.1.0-x/kernel/fs/xfs/xfs.ko", b"a module"),
                (&long, b"another"),
            ],
            top.path(),
        ) else {
            return;
        };
        let kernel = Kernel::read(&deb).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.version.as_str()), ("6.1.0-x", "#1 SMP"));
        assert_eq!(kernel.image, image);
        assert_eq!(kernel.configuration.as_deref(), Some("CONFIG_KASAN=y\n"));
        assert!(kernel.is_built_in("ext4"));
        assert_eq!(kernel.module("xfs").unwrap().unwrap(), b"a module");
        assert_eq!(kernel.module("nls_n").unwrap().unwrap(), b"another");
        let whole = std::fs::read(&deb).unwrap();
        let cut = read(&whole[..whole.len() - 40], Path::new("/cut.deb"));
        let error = cut.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("/cut.deb: data.tar"), "{error}");
        // Others distribute the modules in a package of their own.
        let parts = tempfile::tempdir().unwrap();
        let folder = parts.path().join("packages");
        std::fs::create_dir(&folder).unwrap();
        let halves: [&[(&str, &[u8])]; 2] = [
            &[("boot/vmlinuz-6.1.0-x", &image)],
            &[("lib/modules/6.1.0-x/kernel/fs/xfs/xfs.ko", b"a module")],
        ];
        for (number, half) in halves.into_iter().enumerate() {
            let place = tempfile::tempdir().unwrap();
            let Some(part) = package(half, place.path()) else { return };
            std::fs::copy(part, folder.join(format!("{number}.deb"))).unwrap();
        }
        assert_eq!(Kernel::read(&folder).unwrap().module("xfs").unwrap().unwrap(), b"a module");
        std::fs::copy(&deb, folder.join("third.deb")).unwrap();
        let error = Kernel::read(&folder).unwrap_err().to_string();
        assert!(error.contains("several of the packages in it have an image"), "{error}");
    }

    #[test]
    fn invalid_packages_are_rejected_with_a_reason() {
        let errors =
            |bytes: &[u8]| read(bytes, Path::new("/x.deb")).map(|_| ()).unwrap_err().to_string();
        assert!(errors(b"!<arch>\n").contains("no data.tar"));
        assert!(errors(b"!<").contains("ends too early"));
        let header = format!("!<arch>\n{:<16}{:<32}{:<10}xx", "data.tar.xz", "", "-5");
        assert!(errors(header.as_bytes()).contains("data.tar.xz: its header"));
    }
}
