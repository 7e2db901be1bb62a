//! A plan that reboots its machine by GRUB between two real kernels. The machine is a guest whose
//! disk has a partition with its system; GRUB is installed there by `grub-install`, and its menu is
//! made by `grub-mkconfig`, both in the guest. It boots from this disk, as hardware does.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{Ending, REBOOT_KERNEL_FACT};
use treering_testkit::{FinishedCommand, skip, temp_dir};

use crate::kernels::{fact, trials};
use crate::kexec::{Stage, program_and_two_kernels, system_tool};

/// Programs of GRUB for the machine.
const PROGRAMS: [&str; 7] = [
    "/usr/sbin/grub-install",
    "/usr/sbin/grub-mkconfig",
    "/usr/sbin/grub-probe",
    "/usr/sbin/grub-reboot",
    "/usr/bin/grub-editenv",
    "/usr/bin/grub-mkrelpath",
    "/usr/bin/grub-script-check",
];
/// Files and directories that these programs read.
const DATA: [&str; 4] = [
    "/usr/lib/grub/i386-pc",
    "/usr/share/grub/grub-mkconfig_lib",
    "/etc/grub.d/00_header",
    "/etc/grub.d/10_linux",
];
const BUSYBOX: &str = "/bin/busybox";
const SETTINGS: &str = "GRUB_DEFAULT=0\nGRUB_TIMEOUT=0\nGRUB_DISTRIBUTOR=Test\n\
                        GRUB_TERMINAL=console\n\
                        GRUB_CMDLINE_LINUX=\"console=ttyS0 loglevel=5 panic=-1 no_timer_check \
                        system=/dev/vda1 loader=grub\"\n";
const INSTALL: &str = "set -e\ngrub-install --target=i386-pc /dev/vda\n\
                       grub-mkconfig -o /boot/grub/grub.cfg\n";
/// Begin of the partition, and sizes of disk and filesystem.
const PARTITION_AT: u64 = 1 << 20;
const DISK_BYTES: u64 = 1 << 30;
const SYSTEM: &str = "1020M";
const PARTITIONS: &str = "label: dos\nstart=2048, type=83, bootable\n";
const SECONDS_MAX: &str = "1800";
const ATTEMPTS_MAX: u32 = 3;

/// Adds GRUB, and a shell with its tools, to the machine's system; false if they are not installed.
fn add_grub(root: &Path) -> bool {
    let all = PROGRAMS.iter().chain(&DATA).chain(&[BUSYBOX]);
    if let Some(missing) = all.clone().find(|path| !Path::new(path).exists()) {
        skip(&format!(
            "there is no {missing} (packages grub-pc-bin, grub2-common, busybox-static)"
        ));
        return false;
    }
    for path in all {
        let to = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let mut copy = Command::new("cp");
        FinishedCommand::run(copy.args(["-rL", path]).arg(&to)).ends_with(0);
    }
    for program in PROGRAMS {
        // Scripts have no libraries.
        let listed = Command::new("ldd").arg(program).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            let to = root.join(library.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(library, &to).unwrap();
        }
    }
    let applets = Command::new(BUSYBOX).arg("--list").output().unwrap();
    for applet in String::from_utf8(applets.stdout).unwrap().lines() {
        // GRUB would compare versions by this dpkg, which cannot.
        if !["busybox", "dpkg"].contains(&applet) {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
    }
    fs::create_dir_all(root.join("etc/default")).unwrap();
    fs::create_dir_all(root.join("boot/grub")).unwrap();
    for (path, text) in [
        ("etc/default/grub", SETTINGS),
        ("etc/os-release", "NAME=Test\nID=test\n"),
        ("install.sh", INSTALL),
    ] {
        fs::write(root.join(path), text).unwrap();
    }
    true
}

/// Disk with one partition, in which the system is.
fn partitioned(stage: &Stage<'_>, name: &str) -> PathBuf {
    let disk = stage.place.join(name);
    fs::File::create(&disk).unwrap().set_len(DISK_BYTES).unwrap();
    let mut mkfs = system_tool("mkfs.ext4");
    mkfs.args(["-q", "-F", "-E", &format!("offset={PARTITION_AT}"), "-d"]).arg(&stage.root);
    FinishedCommand::run(mkfs.arg(&disk).arg(SYSTEM)).ends_with(0);
    let script = format!("printf '{PARTITIONS}' | sfdisk -q '{}'", disk.display());
    FinishedCommand::run(system_tool("sh").args(["-c", &script])).ends_with(0);
    disk
}

/// Starts the machine with these options until it powers off; returns the console output.
fn run(stage: &Stage<'_>, disks: [&Path; 2], options: &[&str]) -> String {
    let console = stage.place.join("console");
    let mut qemu = Command::new("timeout");
    qemu.args(["-s", "KILL", SECONDS_MAX, "qemu-system-x86_64"])
        .args(["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-smp", "2"])
        .args(["-m", "1024", "-nodefaults", "-no-user-config", "-display", "none", "-serial"])
        .arg(format!("file:{}", console.display()))
        .args(options);
    for disk in disks {
        qemu.arg("-drive").arg(format!("if=virtio,format=raw,file={}", disk.display()));
    }
    let ran = FinishedCommand::run(&mut qemu);
    let output = String::from_utf8_lossy(&fs::read(console).unwrap_or_default()).into_owned();
    assert_eq!(ran.code, Some(0), "{ran}\n{output}");
    output
}

/// Installs GRUB on a disk and runs the plan from it; returns the output of the second console and
/// the disk. Repeats both if an emulated kernel panics by itself.
fn finished(stage: &Stage<'_>, release: &str) -> (String, PathBuf) {
    let file = |begin: &str| stage.root.join(format!("boot/{begin}-{release}"));
    let (kernel, initramfs) = (file("vmlinuz"), file("initrd.img"));
    let line = "console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check system=/dev/vda1 \
                install=1";
    let with_kernel = ["-no-reboot", "-kernel", kernel.to_str().unwrap()];
    let with_initramfs = ["-initrd", initramfs.to_str().unwrap(), "-append", line];
    for attempt in 0..ATTEMPTS_MAX {
        let disk = partitioned(stage, &format!("system-{attempt}"));
        let work = stage.disk(&format!("work-{attempt}"), None);
        let disks = [disk.as_path(), work.as_path()];
        let options = [&with_kernel[..], &with_initramfs[..]].concat();
        let mut console = run(stage, disks, &options);
        if !console.contains("Kernel panic") {
            assert!(console.contains("install.sh ended with 0"), "{console}");
            console = run(stage, disks, &["-vga", "std"]);
        }
        if !console.contains("Kernel panic") {
            return (console, disk);
        }
        skip(&format!("the machine panicked by itself, and is started again: {console}"));
    }
    panic!("the machine panics each time");
}

#[test]
fn a_machine_with_grub_on_its_disk_boots_each_trial_with_its_kernel() {
    let Some((program, both)) = program_and_two_kernels() else { return };
    let place = temp_dir();
    let releases = [both[0].release.as_str(), both[1].release.as_str()];
    let Some(stage) = Stage::new(place.path(), &program, releases, 1) else { return };
    both.iter().for_each(|kernel| stage.install(kernel));
    if !add_grub(&stage.root) {
        return;
    }
    let (console, disk) = finished(&stage, releases[1]);

    let partition = PathBuf::from(format!("{}?offset={PARTITION_AT}", disk.display()));
    let results = stage.read_back(&partition, "/root").join("results.db");
    assert!(results.exists(), "{console}");
    let kept = trials(&results);
    assert_eq!(kept.len(), 2, "{console}");
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed, "{console}");
        let variant = &trial.beginning.cell.as_ref().unwrap().variant;
        assert_eq!(fact(trial, REBOOT_KERNEL_FACT), Some(variant.as_str()));
        assert_eq!(fact(trial, "kernel.release"), Some(variant.as_str()));
        assert_eq!(fact(trial, "reboot.loader"), Some("grub"));
        // GRUB says which image it has loaded.
        let line = fact(trial, "kernel.command_line").unwrap();
        assert!(line.contains(&format!("BOOT_IMAGE=/boot/vmlinuz-{variant}")), "{line}");
    }
    let boots: BTreeSet<_> = kept.iter().map(|trial| fact(trial, "reboot.boot_id")).collect();
    assert_eq!(boots.len(), 2, "{console}");
    let menu = stage.read_back(&partition, "/boot/grub");
    // The next boot is the usual one.
    let variables = fs::read_to_string(menu.join("grubenv")).unwrap();
    assert!(!variables.contains("next_entry=gnulinux"), "{variables}");
    stage.assert_nothing_is_left(&partition);
}
