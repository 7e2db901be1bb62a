//! A plan that reboots its machine by kexec between two real kernels. The machine is a guest with
//! its system and results on one disk and the directory under test on another; it has no systemd,
//! for which `kexec_machine.c` substitutes. In the tests of `reboots`, scripts replace the boot
//! loader as well.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_guest::{Kernel, needed};
use treering_model::{Ending, GuestDisk, REBOOT_KERNEL_FACT, Trial};
use treering_testkit::{FinishedCommand, Program, skip, temp_dir};

use crate::bisecting::compiled;
use crate::kernels::{fact, initramfs, prepared, trials};

/// Source of the program that is the machine's first process and its commands.
const MACHINE: &str = concat!(include_str!("guest_modules.c"), include_str!("kexec_machine.c"));
/// Timeout of the machine, in seconds; five boots and four trials take a minute.
const SECONDS_MAX: &str = "1200";
const ATTEMPTS_MAX: u32 = 3;

/// Directory with the contents of the system disk, and the files that QEMU boots.
pub(crate) struct Stage<'p> {
    pub(crate) place: &'p Path,
    pub(crate) root: PathBuf,
    machine: PathBuf,
}

impl<'p> Stage<'p> {
    /// Builds the disk with treering, the machine's programs, and a plan over these kernels; `None`
    /// if a tool to make them is missing.
    pub(crate) fn new(
        place: &'p Path,
        program: &Program,
        releases: [&str; 2],
        rounds: u32,
    ) -> Option<Self> {
        let (root, machine) = (place.join("root"), place.join("machine"));
        if compiled(MACHINE, &machine).is_none() {
            skip("nothing can be compiled statically here");
            return None;
        }
        if Command::new("cpio").arg("--version").stdout(Stdio::null()).status().is_err() {
            skip("there is no cpio");
            return None;
        }
        for folder in
            ["boot", "dev", "proc", "sys", "run", "tmp", "root", "work", "usr/sbin", "usr/bin"]
        {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        program.copy_to(&root.join("treering"));
        fs::copy(&machine, root.join("usr/sbin/kexec")).unwrap();
        symlink("../sbin/kexec", root.join("usr/bin/systemctl")).unwrap();
        let variant =
            |release: &str| format!("[[variant]]\nname = \"{release}\"\nkernel = \"{release}\"\n");
        let plan = format!(
            "machine = \"reboot\"\nrounds = {rounds}\nwarm-up = false\n\
             device = {{ directory = \"/work\" }}\n{}\
             [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 50, size = 4096 }}\n",
            releases.map(variant).concat()
        );
        fs::write(root.join("plan.toml"), plan).unwrap();
        Some(Self { place, root, machine })
    }

    /// Installs a kernel: its image, and an initramfs with its modules.
    pub(crate) fn install(&self, kernel: &Kernel) {
        let boot = self.root.join("boot");
        fs::write(boot.join(format!("vmlinuz-{}", kernel.release)), &kernel.image).unwrap();
        let tree = self.place.join(&kernel.release);
        for folder in ["dev", "mnt"] {
            fs::create_dir_all(tree.join(folder)).unwrap();
        }
        let modules = needed(kernel, GuestDisk::Virtio, "ext4", &[]).unwrap();
        let archive = boot.join(format!("initrd.img-{}", kernel.release));
        initramfs(&tree, &self.machine, &modules, &archive);
    }

    /// Creates an image with ext4, filled from this directory.
    pub(crate) fn disk(&self, name: &str, from: Option<&Path>) -> PathBuf {
        let image = self.place.join(name);
        let mut mkfs = system_tool("mkfs.ext4");
        mkfs.args(["-q", "-F"]);
        if let Some(from) = from {
            mkfs.arg("-d").arg(from);
        }
        FinishedCommand::run(mkfs.arg(&image).arg("1G")).ends_with(0);
        image
    }

    /// Runs the machine on its own disks until it powers off; returns the console output and the
    /// system disk. Retries if an emulated kernel panics by itself.
    fn finished(&self, release: &str) -> (String, PathBuf) {
        for attempt in 0..ATTEMPTS_MAX {
            let system = self.disk(&format!("system-{attempt}"), Some(&self.root));
            let work = self.disk(&format!("work-{attempt}"), None);
            let console = self.run(release, [&system, &work]);
            if !console.contains("Kernel panic") {
                return (console, system);
            }
            skip(&format!("the machine panicked by itself, and is started again: {console}"));
        }
        panic!("the machine panics each time");
    }

    /// Boots the machine with this kernel, and waits until it powers off; returns the console
    /// output.
    fn run(&self, release: &str, disks: [&Path; 2]) -> String {
        let console = self.place.join("console");
        let mut qemu = Command::new("timeout");
        qemu.args(["-s", "KILL", SECONDS_MAX, "qemu-system-x86_64"])
            .args(["-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max"])
            .args(["-smp", "2", "-m", "1024", "-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-display", "none", "-serial"])
            .arg(format!("file:{}", console.display()))
            .arg("-kernel")
            .arg(self.root.join(format!("boot/vmlinuz-{release}")))
            .arg("-initrd")
            .arg(self.root.join(format!("boot/initrd.img-{release}")))
            .args(["-append", "console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check"]);
        for disk in disks {
            qemu.arg("-drive").arg(format!("if=virtio,format=raw,file={}", disk.display()));
        }
        let ran = FinishedCommand::run(&mut qemu);
        let output = String::from_utf8_lossy(&fs::read(console).unwrap_or_default()).into_owned();
        assert_eq!(ran.code, Some(0), "{ran}\n{output}");
        output
    }

    /// Copies a directory out of the disk image after the run.
    pub(crate) fn read_back(&self, disk: &Path, folder: &str) -> PathBuf {
        let to = self.place.join("back").join(folder.trim_start_matches('/'));
        fs::create_dir_all(&to).unwrap();
        let mut debugfs = system_tool("debugfs");
        debugfs.arg("-R");
        debugfs.arg(format!("rdump {folder} {}", to.display())).arg(disk);
        FinishedCommand::run(&mut debugfs).ends_with(0);
        to.join(Path::new(folder).file_name().unwrap())
    }

    /// Asserts that the unit, its link and the record have been removed.
    pub(crate) fn assert_nothing_is_left(&self, system: &Path) {
        for folder in ["/etc/systemd/system", "/var/lib/treering"] {
            let left = self.read_back(system, folder);
            let files = treering_testkit::tree_of(&left);
            assert!(files.is_empty(), "{folder}: {files:?}");
        }
    }
}

/// Command of a program that may be in no user's search path.
pub(crate) fn system_tool(name: &str) -> Command {
    let mut tool = Command::new(name);
    tool.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin");
    tool
}

/// The static program, and the first and the last kernel; `None` with a reason if it has no two.
pub(crate) fn program_and_two_kernels() -> Option<(Program, [Kernel; 2])> {
    let (program, kernels) = prepared()?;
    if kernels.len() < 2 {
        skip("there is one kernel only");
        return None;
    }
    let both = [&kernels[0], &kernels[kernels.len() - 1]];
    Some((program, both.map(|path| Kernel::read(path).unwrap())))
}

#[test]
fn a_machine_that_kexecs_gives_each_trial_its_kernel_and_finishes_the_plan() {
    let Some((program, both)) = program_and_two_kernels() else { return };
    let place = temp_dir();
    let releases = [both[0].release.as_str(), both[1].release.as_str()];
    let Some(stage) = Stage::new(place.path(), &program, releases, 2) else { return };
    both.iter().for_each(|kernel| stage.install(kernel));
    let (console, system) = stage.finished(releases[0]);

    let results = stage.read_back(&system, "/root").join("results.db");
    assert!(results.exists(), "{console}");
    let kept = trials(&results);
    assert_eq!(kept.len(), 4, "{console}");
    let cell = |trial: &Trial| trial.beginning.cell.clone().unwrap();
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed, "{console}");
        assert_eq!(fact(trial, REBOOT_KERNEL_FACT), Some(cell(trial).variant.as_str()));
        assert_eq!(fact(trial, "kernel.release"), fact(trial, REBOOT_KERNEL_FACT));
        assert_eq!(fact(trial, "reboot.loader"), Some("kexec"));
    }
    let boots: BTreeSet<_> = kept.iter().map(|trial| fact(trial, "reboot.boot_id")).collect();
    assert_eq!(boots.len(), 4, "{console}");
    // Both kernels run in the first round, then both in the second.
    for (number, round) in kept.chunks(2).enumerate() {
        let names: BTreeSet<_> = round.iter().map(|trial| cell(trial).variant).collect();
        assert_eq!(names, BTreeSet::from(releases.map(str::to_owned)));
        assert!(round.iter().all(|trial| cell(trial).round == u32::try_from(number).unwrap() + 1));
    }
    stage.assert_nothing_is_left(&system);
}
