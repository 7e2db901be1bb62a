//! Modules of real kernels, without booting them: every package in the directory that
//! TREERING_KERNELS names (if it is 1, in that of `scripts/setup.sh`), with the usual filesystems
//! and all kinds of disks. Where modprobe is installed, its own answer is the reference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{CryptLayer, GuestDisk, Layer};
use treering_testkit::{is_tool, skip, temp_dir};

use super::needed;
use crate::{Architecture, GuestError, GuestModule, Kernel};

const FILESYSTEMS: [&str; 4] = ["ext4", "xfs", "btrfs", "f2fs"];

/// Kernel packages, if the environment asks for them.
fn packages() -> Vec<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "the environment says where kernels are")]
    let asked = std::env::var_os("TREERING_KERNELS");
    let Some(asked) = asked else { return Vec::new() };
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let folder = if asked == "1" { top.join("target/kernels") } else { PathBuf::from(asked) };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    files.sort();
    files
}

/// Checks that each module follows those that it needs, and that the code for the processor
/// precedes everything that could choose an algorithm.
fn check_order(kernel: &Kernel, modules: &[GuestModule]) {
    let mut seen = BTreeSet::new();
    for module in modules {
        let information = kernel.modules[&module.name].information.as_ref().unwrap();
        for name in &information.depends {
            let is_there = seen.contains(name.as_str()) || kernel.is_built_in(name);
            assert!(is_there, "{}: {} needs {name}", kernel.release, module.name);
        }
        assert!(information.version_magic.starts_with(&kernel.release), "{information:?}");
        assert!(seen.insert(module.name.as_str()));
    }
    if kernel.architecture != Architecture::X86_64 {
        return;
    }
    let place = |name: &str| modules.iter().position(|module| module.name == name);
    let intel = place("crc32c_intel");
    let is_before = |name: &str| place(name).is_none_or(|other| intel.is_some_and(|it| it < other));
    let choosing = ["libcrc32c", "jbd2", "ext4", "xfs", "btrfs"];
    assert!(choosing.iter().all(|name| is_before(name)), "{}", kernel.release);
}

/// Tree with the modules of a package and the lists of depmod; `None` without the programs.
fn installed(package: &Path, release: &str) -> Option<treering_testkit::TempDir> {
    if !["depmod", "modprobe", "dpkg-deb"].into_iter().all(is_tool) {
        return None;
    }
    let place = temp_dir();
    let script = "dpkg-deb --fsys-tarfile \"$1\" | tar -x -C \"$2\" --wildcards \
                  '*/modules.*' '*/kernel/fs/*' '*/kernel/lib/*' '*/kernel/crypto/*' \
                  '*/kernel/arch/*' '*/kernel/drivers/[abmnsv]*' && cd \"$2\" &&
                  { [ -e lib/modules ] || ln -s usr/lib lib; } && depmod -b \"$2\" \"$3\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(package).arg(place.path()).arg(release);
    let ran = shell.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(place)
}

/// Modules that modprobe would load for a name.
fn by_modprobe(root: &Path, release: &str, name: &str) -> Vec<String> {
    let mut modprobe = Command::new("modprobe");
    modprobe.args(["--show-depends", "--config", "/dev/null", "-d"]).arg(root);
    let answer = modprobe.args(["-S", release, name]).output().unwrap();
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let paths = text.lines().filter_map(|line| line.strip_prefix("insmod "));
    paths.filter_map(|path| crate::kernel::module_name(path.trim())).collect()
}

/// Reason for which a kernel is refused: a driver that it really lacks.
fn refused(kernel: &Kernel, error: &GuestError, filesystem: &str, disk: GuestDisk) {
    let GuestError::MissingModule { module, .. } = error else { panic!("{error}") };
    let is_disk = crate::disk::modules(disk).contains(&module.as_str());
    assert!(is_disk || module == filesystem, "{}: {error}", kernel.release);
    let text = kernel.configuration.as_deref().unwrap_or_default();
    let option = match module.as_str() {
        "ahci" => "CONFIG_SATA_AHCI",
        "f2fs" => "CONFIG_F2FS_FS",
        _ => panic!("{}: {error}", kernel.release),
    };
    assert!(!text.lines().any(|line| line.starts_with(&format!("{option}="))), "{error}");
}

#[test]
fn every_kernel_loads_what_modprobe_would_load_for_each_filesystem_and_disk() {
    let packages = packages();
    if packages.is_empty() {
        skip("no kernel packages: TREERING_KERNELS names a directory with them");
    }
    for package in packages {
        let kernel = Kernel::read(&package).unwrap();
        let root = installed(&package, &kernel.release);
        for (filesystem, disk) in
            FILESYSTEMS.into_iter().flat_map(|name| GuestDisk::ALL.map(|disk| (name, disk)))
        {
            let crypt = [Layer::Crypt(CryptLayer::default())];
            let modules = match needed(&kernel, disk, filesystem, &crypt) {
                Ok(modules) => modules,
                Err(error) => {
                    refused(&kernel, &error, filesystem, disk);
                    continue;
                }
            };
            check_order(&kernel, &modules);
            let Some(root) = &root else { continue };
            let names: Vec<String> = [format!("fs-{filesystem}"), "dm_crypt".to_owned()].into();
            let disks = crate::disk::modules(disk).iter().map(|&name| name.to_owned());
            for name in names.into_iter().chain(disks) {
                for module in by_modprobe(root.path(), &kernel.release, &name) {
                    let is_loaded = modules.iter().any(|own| own.name == module);
                    assert!(is_loaded, "{}: {name} loads {module}", kernel.release);
                }
            }
        }
    }
}
