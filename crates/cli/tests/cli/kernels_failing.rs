//! Failing guests, with real kernels: each gives a failed trial with the messages of the console,
//! the round goes on, and no processes or files are left.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use treering_model::{Ending, Trial};
use treering_testkit::{FinishedCommand, Program, skip, temp_dir};

use crate::kernels::{fact, in_guests, prepared, trials};
use crate::only_release;

/// C program that causes faults in a guest, since guests have no shell.
const TROUBLE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void trigger(const char *what) {
    FILE *file = fopen("/proc/sysrq-trigger", "w");
    if (!file || fputs(what, file) < 0 || fclose(file)) exit(3);
}
int main(int count, char **words) {
    if (count < 2) return 2;
    if (!strcmp(words[1], "panic")) trigger("c");
    if (!strcmp(words[1], "reboot")) trigger("b");
    while (!strcmp(words[1], "memory")) {
        char *piece = malloc(1 << 20);
        if (piece) memset(piece, 1, 1 << 20);
    }
    return 0;
}
"#;

/// Builds the program [`TROUBLE`]; `None` if it cannot be linked statically.
fn trouble(place: &Path) -> Option<PathBuf> {
    let program = place.join("trouble");
    let mut compiler = Command::new("cc");
    compiler.args(["-static", "-O1", "-x", "c", "-", "-o"]).arg(&program);
    let started = compiler.stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut started) = started else {
        skip("there is no C compiler");
        return None;
    };
    started.stdin.take().unwrap().write_all(TROUBLE.as_bytes()).unwrap();
    if !started.wait().unwrap().success() {
        skip("nothing can be linked statically here");
        return None;
    }
    Some(program)
}

/// Failure message of the trial of this job or variant.
fn why_failed<'t>(kept: &'t [Trial], name: &str) -> &'t str {
    let is_meant = |trial: &&Trial| {
        let cell = trial.beginning.cell.as_ref().unwrap();
        cell.job == name || cell.variant == name
    };
    match kept.iter().find(is_meant).map(|trial| &trial.ending) {
        Some(Ending::Failed { why }) => why,
        other => panic!("{name}: {other:?}"),
    }
}

fn completed(kept: &[Trial]) -> usize {
    kept.iter().filter(|trial| trial.ending == Ending::Completed).count()
}

/// Runs the comparison of this plan.
fn compared(program: &Program, place: &Path, store: &Path, plan: &str) -> FinishedCommand {
    let file = place.join("plan.toml");
    fs::write(&file, plan).unwrap();
    FinishedCommand::run(program.command(["compare", "--store"]).arg(store).arg(&file))
}

fn nothing_stays(program: &Program) {
    let left = program.run(["lab", "list"]).ends_with(0);
    assert!(!left.stdout.contains("which is gone"), "{left}");
}

/// Process IDs of the guests that a process has started, without QEMU processes that print the
/// version.
fn guests(parent: u32) -> Vec<u32> {
    let tasks = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let all = tasks.unwrap_or_default();
    let all = all.split_whitespace().filter_map(|id| id.parse().ok());
    let is_meant = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|word| word == "-initrd")
    };
    all.filter(is_meant).collect()
}

#[test]
fn a_guest_crash_fails_one_trial_with_the_last_console_lines() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let Some(trouble) = trouble(place.path()) else { return };
    let (kernel, trouble) = (kernels[0].display(), trouble.display());
    let job =
        |what: &str| format!("[[job]]\nname = \"{what}\"\ncommand = [\"{trouble}\", \"{what}\"]\n");
    let jobs: String = ["panic", "reboot", "memory", "none"].map(job).concat();
    let plan = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ memory = \"256MiB\", accelerator = \"tcg\" }}\n\
         [[variant]]\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n{jobs}"
    );
    let (ran, kept) =
        in_guests(place.path(), |store| compared(&program, place.path(), store, &plan));
    assert_eq!(kept.len(), 4, "{ran}");
    let why = why_failed(&kept, "panic");
    assert!(why.contains("the kernel panicked: Kernel panic"), "{why}");
    assert!(why.contains("; called by: sysrq_handle_crash < __handle_sysrq"), "{why}");
    let why = why_failed(&kept, "reboot");
    assert!(why.contains("the guest ended before its trial"), "{why}");
    let why = why_failed(&kept, "memory");
    assert!(why.contains("ran out of its 256 MiB of memory: Out of memory"), "{why}");
    assert_eq!(completed(&kept), 1, "{ran}");
    nothing_stays(&program);
}

/// Sends each of these signals to the next QEMU of a running comparison, once it `is_time`.
fn signal_each(running: &mut Child, signals: &[&str], is_time: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut before = Vec::new();
    for signal in signals {
        let qemu = loop {
            assert!(running.try_wait().unwrap().is_none(), "it ended too early");
            let guest_ids = guests(running.id());
            let new = guest_ids.into_iter().find(|id| !before.contains(id));
            if let Some(new) = new.filter(|_| is_time(before.len())) {
                break new;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        before.push(qemu);
        let sent = Command::new("kill").args(["-s", signal, &qemu.to_string()]).status();
        assert!(sent.unwrap().success());
    }
    before
}

/// Plan with one variant, whose guest hangs after 20 s of silence.
fn impatient_plan(kernel: &Path, rounds: u32, files: u32) -> String {
    format!(
        "rounds = {rounds}\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ timeout = 20, accelerator = \"tcg\" }}\n\
         [[variant]]\nkernel = \"{}\"\nfilesystem = \"ext4\"\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = {files}, size = 0 }}\n",
        kernel.display()
    )
}

#[test]
fn a_killed_qemu_and_a_hanging_guest_fail_one_trial_each() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let (file, store) = (place.path().join("plan.toml"), place.path().join("results.db"));
    fs::write(&file, impatient_plan(&kernels[0], 2, 10_000)).unwrap();
    let mut command = program.command(["compare", "--store"]);
    let running = command.arg(&store).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
    let mut running = running.stderr(Stdio::piped()).spawn().unwrap();
    let has_begun = |ended: usize| store.exists() && trials(&store).len() > ended;
    let signalled = signal_each(&mut running, &["KILL", "STOP"], has_begun);
    let ran = running.wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&ran.stderr);
    let kept = trials(&store);
    assert_eq!(kept.len(), 2, "{output}");
    let why = |at: usize| match &kept[at].ending {
        Ending::Failed { why } => why.as_str(),
        other => panic!("{at}: {other:?}\n{output}"),
    };
    assert!(why(0).starts_with("QEMU ended (signal: 9"), "{}", why(0));
    assert!(why(1).contains("the guest hung: it said nothing for 20 s"), "{}", why(1));
    for qemu in signalled {
        assert!(!Path::new(&format!("/proc/{qemu}")).exists(), "QEMU {qemu} is left");
    }
    nothing_stays(&program);
}

#[test]
fn a_guest_that_ends_before_its_trial_is_rebooted_with_its_console_kept() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let (file, store) = (place.path().join("plan.toml"), place.path().join("results.db"));
    let plan = impatient_plan(&kernels[0], 1, 10).replace("timeout = 20", "timeout = 180");
    fs::write(&file, plan).unwrap();
    let mut command = program.command(["compare", "--store"]);
    let running = command.arg(&store).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
    let mut running = running.stderr(Stdio::piped()).spawn().unwrap();
    signal_each(&mut running, &["KILL"], |_| true);
    let ran = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("the guest did not come up (QEMU ended (signal: 9"), "{said}");
    let kept = trials(&store);
    assert_eq!(completed(&kept), 1, "{said}");
    assert_eq!(fact(&kept[0], "guest.failed_boots"), Some("1"), "{said}");
    let show = |options: &[&str]| {
        let mut command = program.command(["show", "--store"]);
        FinishedCommand::run(command.arg(&store).arg("last").args(options))
    };
    show(&["--console"]).ends_with(0);
    show(&["--console", "--tasks"]).ends_with(2).complains("--console");
    nothing_stays(&program);
}

#[test]
fn a_guest_that_computes_for_ever_in_its_boot_is_given_up_with_advice() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    // With so little memory the kernel unpacks its initramfs for ever.
    let short = "append = \"mem=70M\", timeout = 20, ";
    let plan = impatient_plan(&kernels[0], 1, 10).replace("timeout = 20, ", short);
    let (ran, kept) =
        in_guests(place.path(), |store| compared(&program, place.path(), store, &plan));
    let Ending::Failed { why } = &kept[0].ending else { panic!("{ran}") };
    assert!(why.starts_with("the guest was not ready ") && why.contains("`append`"), "{why}");
    assert!(why.contains("; the console "), "{why}");
    // On a busy host the clock may give a boot up before the CPU time does, and that is repeated.
    assert!(matches!(fact(&kept[0], "guest.failed_boots"), Some("1" | "2")), "{ran}");
    nothing_stays(&program);
}

#[test]
fn qemu_ends_if_treering_is_killed() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let kernel = kernels[0].display();
    let plan = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ accelerator = \"tcg\" }}\n\
         [[variant]]\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n\
         [[job]]\nworkload = \"fs_mark\"\n"
    );
    let file = place.path().join("plan.toml");
    fs::write(&file, plan).unwrap();
    let mut command = program.command(["compare", "--store"]);
    command.arg(place.path().join("r.db")).arg(&file);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let qemu = loop {
        assert!(running.try_wait().unwrap().is_none(), "it ended too early");
        if let Some(qemu) = guests(running.id()).first() {
            break *qemu;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    running.kill().unwrap();
    running.wait().unwrap();
    let gone = || !Path::new(&format!("/proc/{qemu}")).exists();
    // QEMU is killed with its parent, which takes a moment.
    for _ in 0..1000 {
        if gone() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(gone(), "QEMU {qemu} is left");
    // Another run on this machine may have released the leftovers already.
    program.run(["lab", "release"]).ends_with(0);
    nothing_stays(&program);
}

#[test]
fn an_unsupported_filesystem_feature_is_reported() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    // A fake mkfs makes a filesystem with features newer than the kernel.
    let newer = place.path().join("mkfs.ext4");
    let script = "#!/bin/sh\n\
                  PATH=/usr/sbin:/sbin:/usr/bin:/bin\n\
                  [ \"$1\" = -V ] && exec mkfs.ext4 \"$@\"\n\
                  mkfs.ext4 \"$@\" || exit\n\
                  for disk; do :; done\n\
                  debugfs -w -R 'feature dirdata' \"$disk\" >/dev/null 2>&1\n";
    fs::write(&newer, script).unwrap();
    fs::set_permissions(&newer, fs::Permissions::from_mode(0o755)).unwrap();
    let kernel = kernels[0].display();
    let plan = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ accelerator = \"tcg\" }}\n\
         [[variant]]\nname = \"new\"\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 10, size = 4096 }}\n"
    );
    let file = place.path().join("plan.toml");
    fs::write(&file, plan).unwrap();
    let search = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", place.path().display());
    let (ran, kept) = in_guests(place.path(), |store| {
        let mut command = program.command(["compare", "--store"]);
        FinishedCommand::run(command.arg(store).arg(&file).env("PATH", &search))
    });
    let why = why_failed(&kept, "new");
    let begin = "the kernel does not know what the filesystem was made with (dirdata): ";
    assert!(why.starts_with(begin), "{why}\n{ran}");
    assert!(fact(&kept[0], "guest.kernel_release").is_some());
}

#[test]
fn a_program_with_libraries_is_refused_before_the_first_trial() {
    let Some((program, kernels)) = prepared() else { return };
    let place = temp_dir();
    let kernel = kernels[0].display();
    let job = |command: &str| {
        format!(
            "rounds = 1\ndevice = {{ loop = \"64MiB\" }}\n\
             [[variant]]\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n\
             [[job]]\nname = \"it\"\ncommand = {command}\n"
        )
    };
    let binary = format!("[\"{}\"]", std::env::current_exe().unwrap().display());
    for (command, said) in [("\"ls | wc\"", "no shell"), (binary.as_str(), "it is not static")] {
        let store = place.path().join("results.db");
        let ran = compared(&program, place.path(), &store, &job(command));
        ran.ends_with(2).complains(said);
        assert!(!store.exists());
    }
}

#[test]
fn a_resumed_plan_boots_its_guests_from_the_same_filesystem() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let (file, store) = (place.path().join("plan.toml"), place.path().join("results.db"));
    let second = format!(
        "[[variant]]\nkernel = \"{}\"\nname = \"again\"\nfilesystem = \"ext4\"\n[[job]]",
        kernels[0].display()
    );
    let plan = impatient_plan(&kernels[0], 2, 10).replace("timeout = 20", "timeout = 180");
    fs::write(&file, plan.replace("[[job]]", &second)).unwrap();
    let command = |more: &[&str]| {
        let mut command = program.command(["compare", "--store"]);
        command.arg(&store).args(more).arg(&file);
        command
    };
    // It is killed in a trial after the first, and interrupted in the one after that.
    for (signal, more) in [("KILL", &[][..]), ("INT", &["--resume"][..])] {
        let before = if store.exists() { completed(&trials(&store)) } else { 0 };
        let mut command = command(more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = command.spawn().unwrap();
        while !store.exists() || completed(&trials(&store)) == before {
            assert!(running.try_wait().unwrap().is_none(), "it ended too early");
            std::thread::sleep(Duration::from_millis(20));
        }
        let id = running.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        running.wait().unwrap();
    }
    let ran = FinishedCommand::run(&mut command(&["--resume"])).ends_with(0);
    assert!(!ran.stderr.contains("cannot be made again"), "{ran}");
    let kept = trials(&store);
    assert!(completed(&kept) >= 3, "{ran}");
    let images: Vec<_> = kept
        .iter()
        .filter_map(|trial| Some((fact(trial, "image.fingerprint")?, fact(trial, "mkfs.output"))))
        .collect();
    assert!(images.len() >= 3 && images.iter().all(|image| *image == images[0]), "{images:?}");
    nothing_stays(&program);
}
