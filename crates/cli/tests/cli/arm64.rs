//! Kernels for AArch64 in guests that are emulated. The trial needs their package in the folder
//! `arm64` of the kernels, QEMU, and treering for them, and is skipped with a message elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{Accelerator, Ending};
use treering_testkit::{FinishedCommand, is_tool, skip, temp_dir};

use crate::kernels::{fact, image, in_guests, packages, prepared, top};
use crate::program;

/// Image for AArch64 that comes alone, with the names of the drivers that a guest needs.
fn arm64_image() -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[56..60].copy_from_slice(b"ARMd");
    bytes.extend(b"Linux version 6.1-arm64 (a@b) #1 SMP\0virtio_console\0virtio_blk\0ext4\0");
    bytes
}

/// Text of a plan with these kernels.
fn plan(guest: &str, kernels: &[&Path]) -> String {
    let variant = |kernel: &&Path| {
        let name = kernel.file_name().unwrap().display();
        let kernel = kernel.display();
        format!("[[variant]]\nname = \"{name}\"\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n")
    };
    let variants: String = kernels.iter().map(variant).collect();
    format!("rounds = 1\ndevice = {{ loop = \"512MiB\" }}\n[guest]\n{guest}\n{variants}")
}

#[test]
fn kernels_for_two_architectures_and_a_program_for_another_one_are_refused() {
    let (place, program) = (temp_dir(), program());
    let write = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let (arm64, x86) = (write("Image", &arm64_image()), write("bzImage", &image("6.1-x86")));
    let mut check = program.command(["kernel", "check", "--no-boot"]);
    let checked = FinishedCommand::run(check.arg(&arm64)).ends_with(0);
    assert!(checked.stdout.contains("architecture  AArch64"), "{checked}");
    let refused = |guest: &str, kernels: &[&Path], code: i32, said: &str| {
        let plan = write("plan.toml", plan(guest, kernels).as_bytes());
        let mut command = program.command(["compare", "--dry-run"]);
        FinishedCommand::run(command.arg(plan)).ends_with(code).complains(said);
    };
    refused("program = \"/bin/true\"", &[&arm64], 3, "it is not a program for AArch64");
    refused("program = \"./none\"", &[&arm64], 3, "none");
    refused("", &[&x86, &arm64], 2, "6.1-x86 is for x86-64");
}

/// Package of a kernel for AArch64.
fn package() -> Option<PathBuf> {
    let folder = packages()?.first()?.parent()?.join("arm64");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let found = files.pop();
    if found.is_none() {
        let folder = folder.display();
        skip(&format!("no kernel in {folder} (apt-get download linux-image-cloud-arm64:arm64)"));
    }
    found
}

#[test]
fn a_kernel_for_arm64_runs_a_trial_on_an_emulated_machine() {
    let (Some(kernel), Some((program, _))) = (package(), prepared()) else { return };
    let words = ["compare", "--workload", "fs_mark", "--size", "512MiB", "--rounds", "1"];
    let mut build = Command::new(top().join("scripts/build.sh"));
    let built = build.args(["--demo", "--for", "aarch64"]).current_dir(top()).output().unwrap();
    if !built.status.success() || !is_tool("qemu-system-aarch64") {
        skip("treering for AArch64 is not built here, or QEMU for it is not installed");
        return;
    }
    let place = temp_dir();
    let (_, kept) = in_guests(place.path(), |store| {
        let mut command = program.command(words);
        command.args(["--no-warm-up", "--filesystems", "ext4", "--store"]).arg(store);
        command.arg("--kernel").arg(&kernel).args(["--", "--files", "50", "--size", "4096"]);
        FinishedCommand::run(&mut command)
    });
    assert_eq!(kept.len(), 1);
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed);
        assert_eq!(fact(trial, "guest.architecture"), Some("AArch64"));
        assert_eq!(fact(trial, Accelerator::FACT), Some(Accelerator::Icount.name()));
        assert!(fact(trial, "kernel.release").is_some_and(|name| name.contains("arm64")));
    }
}
