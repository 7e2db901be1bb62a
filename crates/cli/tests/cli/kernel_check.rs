//! `treering kernel check --no-boot` of damaged kernels: the damage is named without a boot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_guest::Kernel;
use treering_testkit::{FinishedCommand, skip, temp_dir};

use crate::kernels::{image, packages};
use crate::program;

/// Asserts that the check of this file fails and says this.
fn assert_unusable(file: &Path, said: &str) {
    let program = program();
    let mut check = program.command(["kernel", "check", "--no-boot"]);
    let checked = FinishedCommand::run(check.arg(file)).ends_with(1);
    let lines = checked.stdout.lines().filter(|line| line.starts_with("  unusable"));
    assert!(lines.clone().any(|line| line.contains(said)), "{}: {checked}", file.display());
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn files_that_are_no_kernel_are_named_as_what_they_are() {
    let place = temp_dir();
    let mut aarch64 = vec![0; 4096];
    aarch64[..2].copy_from_slice(b"MZ");
    aarch64[56..60].copy_from_slice(b"ARMd");
    let mut risc_v = aarch64.clone();
    risc_v[48..60].copy_from_slice(b"RISCV\0\0\0RSC\x05");
    let mut rpm = vec![0; 96];
    rpm[..4].copy_from_slice(&[0xed, 0xab, 0xee, 0xdb]);
    rpm.extend([0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0]);
    for (name, bytes, said) in [
        ("cut", &image("6.1-cut")[..2000], "it is cut: it has 2000 bytes"),
        ("aarch64", &aarch64, "it is an image for AArch64 that is cut"),
        ("risc-v", &risc_v, "it is an image for RISC-V, and guests are x86-64 or AArch64"),
        ("garbage.gz", b"\x1f\x8bgarbage", "it is gzip data"),
        ("garbage.deb", b"garbage", "it is neither a package nor a boot image"),
        ("empty", b"", "it is empty"),
        ("cut.rpm", &rpm, "it ends too early, in its headers"),
        ("cut.deb", b"!<arch>\n", "it has no data.tar, as a Debian package has"),
        ("initrd.img", b"070701", "it is an initramfs (cpio archive)"),
        ("vmlinux", b"\x7fELF\x02\x01", "it is an ELF file such as vmlinux"),
    ] {
        assert_unusable(&written(place.path(), name, bytes), said);
    }
    let directory = place.path().join("directory");
    fs::create_dir(&directory).unwrap();
    assert_unusable(&directory, "there is no boot/vmlinuz-*");
    // The modules were not installed, or are on another machine.
    written(place.path(), "bare/boot/vmlinuz-6.1-bare", &image("6.1-bare"));
    written(place.path(), "bare/lib/modules/6.1-bare/modules.builtin", b"kernel/fs/ext4/ext4.ko\n");
    assert_unusable(&place.path().join("bare"), "has no module virtio_pci, which a guest needs");
    let tree = place.path().join("tree");
    let control = "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\n\
                   Description: x\n";
    written(&tree, "DEBIAN/control", control.as_bytes());
    written(&tree, "usr/share/doc/x/README", b"no kernel");
    let package = place.path().join("other.deb");
    let mut build = Command::new("dpkg-deb");
    let built = build.args(["-Zxz", "--build"]).args([&tree, &package]).output();
    if built.is_ok_and(|built| built.status.success()) {
        assert_unusable(&package, "there is no boot/vmlinuz-*");
    } else {
        skip("dpkg-deb is not installed: no package without a kernel is checked");
    }
}

#[test]
fn damaged_parts_of_real_kernels_are_named() {
    let Some(kernels) = packages() else { return };
    let place = temp_dir();
    let kernel = Kernel::read(&kernels[0]).unwrap();
    let bytes = &kernel.image;
    let cut = written(place.path(), "cut/vmlinuz", &bytes[..bytes.len() / 2]);
    assert_unusable(&cut, "it is cut: it has");
    // A distribution's image alone lacks the port of a guest.
    let name = format!("vmlinuz-{}", kernel.release);
    let alone = written(place.path(), &format!("alone/boot/{name}"), bytes);
    assert_unusable(&alone, "has no module virtio_console, which a guest needs");
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0xa5);
    let damaged = written(place.path(), &format!("damaged/{name}"), &damaged);
    assert_unusable(&damaged, "the kernel in it is damaged");
    if kernels.len() < 2 {
        skip("there is one kernel only: no modules of another one are checked");
        return;
    }
    let other = Kernel::read(&kernels[kernels.len() - 1]).unwrap();
    let mixed = place.path().join("mixed");
    let mut unpack = Command::new("dpkg-deb");
    FinishedCommand::run(unpack.arg("-x").args([&kernels[0], &mixed])).ends_with(0);
    fs::remove_file(mixed.join("boot").join(&name)).unwrap();
    written(&mixed, &format!("boot/vmlinuz-{}", other.release), &other.image);
    let modules = mixed.join("lib/modules");
    fs::rename(modules.join(&kernel.release), modules.join(&other.release)).unwrap();
    assert_unusable(&mixed, "of its modules were built for another kernel");
}
