//! Plans that reboot the machine for each trial, on a simulated machine in a directory: the
//! commands of its boot loader and of systemd are scripts that log their arguments. The real
//! machine is neither queried nor changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_model::{Ending, REBOOT_KERNEL_FACT, Trial};
use treering_testkit::{FinishedCommand, Program, RunningProgram, temp_dir_in};

use crate::kernels::{fact, trials};
use crate::program;

const OLD: &str = "6.1.0-4-amd64";
const NEW: &str = "6.12.9-amd64";
/// Kernel that boots by default.
const USUAL: &str = "6.10.1-amd64";
const UNIT: &str = "etc/systemd/system/treering-reboot.service";
const LINK: &str = "etc/systemd/system/multi-user.target.wants/treering-reboot.service";
const RECORD: &str = "var/lib/treering/reboot/campaign";

/// A simulated machine with its results and its plan.
struct Stand {
    program: Program,
}

impl Stand {
    /// Creates a machine with GRUB, and a plan of two rounds over two kernels.
    fn new() -> Self {
        let stand = Self { program: program() };
        for folder in [
            "root/proc/sys/kernel/random",
            "root/boot/grub",
            "root/usr/sbin",
            "root/usr/bin",
            "root/etc/systemd/system",
            "work",
        ] {
            fs::create_dir_all(stand.program.home().join(folder)).unwrap();
        }
        stand.comes_up(USUAL, 0);
        let entry = |release: &str| {
            format!(
                "menuentry 'Linux {release}' $menuentry_id_option 'linux-{release}' {{\n\
                 \tlinux /boot/vmlinuz-{release} root=/dev/sda1 ro\n}}\n"
            )
        };
        let entries = [USUAL, OLD, NEW].map(entry).concat();
        let menu = format!("if [ \"${{next_entry}}\" ] ; then\nfi\n{entries}");
        fs::write(stand.at("boot/grub/grub.cfg"), menu).unwrap();
        stand.script("usr/sbin/grub-reboot", "printf '%s' \"$1\" >\"$root/next\"");
        stand.script("usr/bin/grub-editenv", "rm -f \"$root/next\"");
        stand.script("usr/bin/systemctl", "");
        stand.plan("2", "workload = \"fs_mark\"\noptions = { files = 20, size = 4096 }\n");
        stand
    }

    fn at(&self, path: &str) -> PathBuf {
        self.program.home().join("root").join(path)
    }

    /// Writes a script that logs its arguments, and then runs `does`.
    fn script(&self, path: &str, does: &str) {
        let root = self.program.home().join("root").display().to_string();
        let text =
            format!("#!/bin/sh\nroot={root}\necho \"${{0##*/}} $*\" >>\"$root/calls\"\n{does}\n");
        let place = self.at(path);
        // Another process writes the file: see `Program::copy_to`.
        let made = format!("cat >{0} && chmod 755 {0}", place.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("printf '%s' \"$1\" | {{ {made}; }}"), "sh", &text]);
        FinishedCommand::run(&mut shell).ends_with(0);
    }

    fn plan(&self, rounds: &str, job: &str) {
        let text = format!(
            "machine = \"reboot\"\nrounds = {rounds}\nwarm-up = false\n\
             device = {{ directory = \"{}\" }}\n\
             [[variant]]\nname = \"old\"\nkernel = \"{OLD}\"\n\
             [[variant]]\nname = \"new\"\nkernel = \"{NEW}\"\n\
             [[job]]\nname = \"it\"\n{job}",
            self.program.home().join("work").display()
        );
        fs::write(self.program.home().join("plan.toml"), text).unwrap();
    }

    /// Job that runs until this file exists.
    fn until(&self, file: &str) -> String {
        let file = self.program.home().join(file);
        let loops = format!("while ! test -e {}; do sleep .05; done", file.display());
        format!("command = [\"sh\", \"-c\", \"{loops}\"]\n")
    }

    /// `treering compare` of the plan, as typed by a user.
    fn compare(&self, options: &[&str]) -> Command {
        let mut command = self.program.command(["compare", "--boot-root"]);
        command.arg(self.at("")).arg(self.program.home().join("plan.toml")).args(options);
        command
    }

    fn store(&self) -> PathBuf {
        self.program.data().join("results.treering")
    }

    fn lab(&self, words: &[&str]) -> FinishedCommand {
        let mut command = self.program.command(["lab"]);
        FinishedCommand::run(command.args(words).arg("--boot-root").arg(self.at("")))
    }

    fn comes_up(&self, release: &str, boot: u32) {
        fs::write(self.at("proc/sys/kernel/osrelease"), format!("{release}\n")).unwrap();
        fs::write(self.at("proc/sys/kernel/random/boot_id"), format!("boot-{boot}\n")).unwrap();
        fs::write(self.at("proc/cmdline"), "root=/dev/sda1 ro\n").unwrap();
    }

    fn boot_number(&self) -> u32 {
        let id = fs::read_to_string(self.at("proc/sys/kernel/random/boot_id")).unwrap();
        id.trim().trim_start_matches("boot-").parse().unwrap()
    }

    /// Kernel that the boot loader boots now. Reading the one-time entry removes it.
    fn next_kernel(&self) -> String {
        let next = fs::read_to_string(self.at("next")).unwrap_or_default();
        let _there_was_none = fs::remove_file(self.at("next"));
        next.strip_prefix("linux-").unwrap_or(USUAL).to_owned()
    }

    /// Boots the machine into this kernel, whichever was requested; returns the command of the
    /// unit, if installed.
    fn boots_into(&self, release: &str) -> Option<Command> {
        self.comes_up(release, self.boot_number() + 1);
        if !self.at(LINK).exists() {
            return None;
        }
        let unit = fs::read_to_string(self.at(UNIT)).unwrap();
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let words: Vec<&str> = line.trim_matches('"').split("\" \"").collect();
        assert!(Path::new(words[0]).is_absolute());
        Some(self.program.command(&words[1..]))
    }

    /// Boots the machine into the requested kernel, and runs the unit to its end.
    fn boots(&self) -> Option<FinishedCommand> {
        let release = self.next_kernel();
        self.boots_into(&release).map(|mut command| FinishedCommand::run(&mut command))
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// Endings of the trials in order: round, variant, and the error of a failed trial.
    fn endings(&self) -> Vec<(u32, String, Option<String>)> {
        let ending = |trial: &Trial| {
            let cell = trial.beginning.cell.as_ref().unwrap();
            let why = match &trial.ending {
                Ending::Completed => None,
                Ending::Failed { why } => Some(why.clone()),
                other => Some(format!("{other:?}")),
            };
            (cell.round, cell.variant.clone(), why)
        };
        trials(&self.store()).iter().map(ending).collect()
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        for path in [UNIT, LINK, RECORD, "var/lib/treering/reboot", "next"] {
            assert!(self.at(path).symlink_metadata().is_err(), "{path} is left");
        }
        let listed = self.lab(&["list"]).ends_with(0);
        assert!(!listed.stdout.contains("reboots of this machine"), "{listed}");
    }
}

#[test]
fn each_trial_boots_its_kernel_without_leftovers() {
    let stand = Stand::new();
    let shown = FinishedCommand::run(&mut stand.compare(&["--dry-run"])).ends_with(0);
    assert_eq!(stand.calls(), [""; 0], "a dry run calls nothing");
    stand.nothing_is_left();
    FinishedCommand::run(&mut stand.compare(&[]))
        .ends_with(2)
        .complains("reboots this machine")
        .complains("--yes");
    assert_eq!(stand.calls(), [""; 0]);
    stand.nothing_is_left();

    let begun = FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
    assert!(begun.stderr.contains("rebooting into"), "{begun}");
    let listed = stand.lab(&["list"]).ends_with(0);
    assert!(listed.stdout.contains("reboots of this machine"), "{listed}");
    assert!(listed.stdout.contains("plan plan, which goes on"), "{listed}");
    let mut last = begun;
    for _ in 0..4 {
        last = stand.boots().unwrap().ends_with(0);
    }
    assert!(last.stdout.contains("new against old"), "{last}");
    assert!(stand.boots().is_none());
    stand.nothing_is_left();

    let kept = trials(&stand.store());
    assert_eq!(kept.len(), 4);
    let campaigns: Vec<_> =
        kept.iter().map(|trial| trial.beginning.cell.as_ref().unwrap().campaign).collect();
    assert!(campaigns.iter().all(|one| *one == kept[0].beginning.trial), "{campaigns:?}");
    let boots: std::collections::BTreeSet<_> =
        kept.iter().map(|trial| fact(trial, "reboot.boot_id").unwrap()).collect();
    assert_eq!(boots.len(), 4);
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed);
        let variant = &trial.beginning.cell.as_ref().unwrap().variant;
        let kernel = if variant == "old" { OLD } else { NEW };
        assert_eq!(fact(trial, REBOOT_KERNEL_FACT), Some(kernel));
    }
    // The commands of the dry run are those that were executed.
    let root = stand.at("").display().to_string();
    let commands: Vec<String> = shown
        .stdout
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches("then ").strip_prefix(&root))
        .map(|line| line.rsplit_once("bin/").unwrap().1.to_owned())
        .collect();
    assert_eq!(commands, stand.calls(), "{shown}");
}

#[test]
fn a_missing_named_store_is_created_before_the_first_boot() {
    let stand = Stand::new();
    stand.plan("1", "workload = \"fs_mark\"\noptions = { files = 20, size = 4096 }\n");
    // Results must not be on the filesystem under test.
    let work = temp_dir_in(Path::new("/dev/shm"));
    let plan = stand.program.home().join("plan.toml");
    let usual = stand.program.home().join("work").display().to_string();
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace(&usual, &work.path().display().to_string())).unwrap();
    let store = stand.program.home().join("new.db");
    let named = ["--yes", "--store", store.to_str().unwrap()];
    FinishedCommand::run(&mut stand.compare(&named)).ends_with(0);
    for _ in 0..2 {
        stand.boots().unwrap().ends_with(0);
    }
    stand.nothing_is_left();
    assert_eq!(trials(&store).len(), 2);
    // The store of a campaign that has begun is not created again: its filesystem may just not be
    // mounted.
    FinishedCommand::run(&mut stand.compare(&named)).ends_with(0);
    fs::remove_file(&store).unwrap();
    let ran = stand.boots().unwrap();
    assert_ne!(ran.code, Some(0), "{ran}");
    assert!(!store.exists());
}

#[test]
fn a_kernel_that_does_not_boot_fails_its_trial_and_the_plan_continues() {
    let stand = Stand::new();
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
    stand.boots().unwrap().ends_with(0);
    let wanted = stand.next_kernel();
    FinishedCommand::run(&mut stand.boots_into(USUAL).unwrap()).ends_with(0);
    for _ in 0..2 {
        stand.boots().unwrap().ends_with(0);
    }
    stand.nothing_is_left();
    let endings = stand.endings();
    assert_eq!(endings.len(), 4);
    let why = endings[1].2.clone().unwrap();
    assert_eq!(why, format!("the kernel {wanted} did not come back: {USUAL} did"));
    assert_eq!(endings.iter().filter(|(_, _, why)| why.is_some()).count(), 1, "{endings:?}");
}

#[test]
fn a_crash_during_a_trial_fails_it_once() {
    let stand = Stand::new();
    stand.plan("1", &stand.until("go"));
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
    let release = stand.next_kernel();
    let mut command = stand.boots_into(&release).unwrap();
    let mut running = RunningProgram::start(&mut command);
    running.wait_for("trial 1 of 2");
    let reached = || fs::read_to_string(stand.at(RECORD)).unwrap().contains("reached boot-1");
    assert!(reached());
    running.send("KILL");
    let _killed = running.finish();
    fs::write(stand.program.home().join("go"), "").unwrap();
    // The same kernel boots again, as it does if it is the default.
    FinishedCommand::run(&mut stand.boots_into(&release).unwrap()).ends_with(0);
    stand.boots().unwrap();
    stand.nothing_is_left();
    let failed: Vec<String> = stand.endings().into_iter().filter_map(|(_, _, why)| why).collect();
    let why = format!("the machine went down while {release} ran");
    assert_eq!(failed.iter().filter(|one| **one == why).count(), 1, "{failed:?}");
}

#[test]
fn a_stop_file_and_a_kernel_parameter_end_the_reboots() {
    for by_word in [false, true] {
        let stand = Stand::new();
        FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
        let release = stand.next_kernel();
        let mut command = stand.boots_into(&release).unwrap();
        if by_word {
            fs::write(stand.at("proc/cmdline"), "root=/dev/sda1 treering.stop\n").unwrap();
        } else {
            fs::write(stand.at("var/lib/treering/reboot/stop"), "").unwrap();
        }
        FinishedCommand::run(&mut command)
            .ends_with(130)
            .complains("were stopped")
            .complains("--resume --yes");
        stand.nothing_is_left();
        assert!(stand.boots().is_none());
        // The campaign can be resumed.
        FinishedCommand::run(&mut stand.compare(&["--yes", "--resume"])).ends_with(0);
        for _ in 0..4 {
            stand.boots().unwrap().ends_with(0);
        }
        stand.nothing_is_left();
        assert_eq!(stand.endings().len(), 4);
    }
}

#[test]
fn lab_release_ends_the_reboots_even_during_a_trial() {
    let stand = Stand::new();
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
    stand.lab(&["release", "--dry-run"]).ends_with(0);
    assert!(stand.at(UNIT).exists());
    // If the plan is released before the boot, the default kernel must boot next.
    let released = stand.lab(&["release"]).ends_with(0);
    assert!(released.stdout.contains("freed reboots of this machine"), "{released}");
    assert_eq!(stand.calls().last().unwrap(), "grub-editenv - unset next_entry");
    stand.nothing_is_left();

    stand.plan("1", &stand.until("go"));
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
    let release = stand.next_kernel();
    let mut running = RunningProgram::start(&mut stand.boots_into(&release).unwrap());
    running.wait_for("trial 1 of 2");
    let listed = stand.lab(&["list"]).ends_with(0);
    assert!(listed.stdout.contains("plan plan, running"), "{listed}");
    stand.lab(&["release"]).ends_with(0);
    fs::write(stand.program.home().join("go"), "").unwrap();
    let calls = stand.calls().len();
    running.finish().ends_with(130).complains("was released");
    assert_eq!(stand.calls().len(), calls, "nothing is booted any more");
    stand.nothing_is_left();
    assert_eq!(stand.endings().len(), 1);
}

#[test]
fn a_kill_between_boot_steps_loses_no_trial() {
    for (program, does) in [
        ("usr/sbin/grub-reboot", "kill -9 $PPID"),
        ("usr/sbin/grub-reboot", "printf '%s' \"$1\" >\"$root/next\"; kill -9 $PPID"),
        ("usr/bin/systemctl", "kill -9 $PPID"),
    ] {
        for by_hand in [false, true] {
            let stand = Stand::new();
            stand.plan("1", "workload = \"fs_mark\"\noptions = { files = 20, size = 4096 }\n");
            let well = fs::read_to_string(stand.at(program)).unwrap();
            stand.script(program, does);
            assert_eq!(FinishedCommand::run(&mut stand.compare(&["--yes"])).code, None);
            let body = well.splitn(4, '\n').last().unwrap();
            stand.script(program, body);
            if by_hand {
                FinishedCommand::run(&mut stand.compare(&["--yes", "--resume"])).ends_with(0);
            }
            let mut boots = 0;
            while let Some(ran) = stand.boots() {
                ran.ends_with(0);
                boots += 1;
                assert!(boots < 6, "it never ends");
            }
            stand.nothing_is_left();
            let endings = stand.endings();
            assert_eq!(endings.len(), 2, "{endings:?}");
            assert!(endings.iter().all(|(_, _, why)| why.is_none()), "{program}: {endings:?}");
        }
    }
}

#[test]
fn unbootable_kernels_are_reported_before_any_change() {
    let stand = Stand::new();
    let plan = stand.program.home().join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    let store_option = format!("--store={}", stand.program.home().join("x.db").display());
    for (from, to, option, said) in [
        ("6.12.9", "6.12.9", store_option.as_str(), "is on the filesystem under test"),
        (NEW, "6.13.0", "--quiet", "the kernel 6.13.0 cannot be booted by grub"),
        ("6.12.9", "6.12.9", "--boot-loader=kexec", "kexec cannot be used: there is no kexec"),
        ("6.12.9", "6.12.9", "--store=/dev/shm/x.db", "lost by a reboot"),
    ] {
        fs::write(&plan, text.replace(from, to)).unwrap();
        let mut command = stand.program.command(["compare", "--yes", "--boot-root"]);
        let ran = FinishedCommand::run(command.arg(stand.at("")).arg(&plan).arg(option));
        assert!(matches!(ran.code, Some(2 | 3)), "{ran}");
        ran.complains(said);
        assert_eq!(stand.calls(), [""; 0]);
        assert!(!stand.at(UNIT).exists() && !stand.at(RECORD).exists());
    }
    // If a command fails, earlier steps are undone.
    fs::write(&plan, text).unwrap();
    stand.script("usr/bin/systemctl", "echo no bus >&2; exit 1");
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(3).complains("no bus");
    stand.nothing_is_left();
}

#[test]
fn a_second_rebooting_plan_is_refused() {
    let stand = Stand::new();
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(0);
    FinishedCommand::run(&mut stand.compare(&["--yes"])).ends_with(2).complains("in progress");
    stand.plan("2", "workload = \"fs_mark\"\noptions = { files = 30, size = 4096 }\n");
    FinishedCommand::run(&mut stand.compare(&["--yes", "--resume"]))
        .ends_with(2)
        .complains("already");
    stand.lab(&["release"]).ends_with(0);
    stand.nothing_is_left();
}
