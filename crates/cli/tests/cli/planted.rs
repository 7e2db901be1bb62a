//! Cautions about a trial, each with a real cause and beside a trial without the cause.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use treering_model::{Caution, CautionCode, Trial};
use treering_testkit::{
    FourLists, LoopFs, Program, is_root, require_loop_fs, require_root, skip, temp_dir,
};

use crate::faults::{Cgroup, Partitioned, run};
use crate::program;
use crate::trial::last;

fn prepared() -> Program {
    let program = program();
    FourLists::wide(60, 40_000).write_to(&program.home().join("lists"));
    program
}

fn words<'a>(dir: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", dir, "--quiet"];
    let few = ["--initial-dirs", "2", "--runs", "2"];
    let few = if more.contains(&"--runs") { &[][..] } else { &few };
    [&words[..], few, more].concat()
}

fn trial(program: &Program, dir: &str, more: &[&str]) -> Trial {
    program.run(words(dir, more)).ends_with(0);
    last(program)
}

fn caution(trial: &Trial, code: CautionCode) -> Option<&Caution> {
    trial.cautions.iter().find(|caution| caution.code == code)
}

fn fact<'t>(trial: &'t Trial, name: &str) -> Option<&'t str> {
    trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

#[test]
fn memory_limits_and_shortage_are_reported() {
    require_root!();
    let group = match Cgroup::with_memory(48) {
        Ok(group) => group,
        Err(reason) => return skip(&reason),
    };
    let program = prepared();
    fs::create_dir_all(program.home().join("w")).unwrap();
    // The run writes at once, since concurrent tests make the machine drop its caches.
    let large = ["--files", "4", "--size", "96M", "--sync-method", "none"];
    let large = [&["run", "fs_mark", "--dir", "w", "--quiet"], &large[..]].concat();
    group.run(&program, &large).ends_with(0);
    let squeezed = last(&program);
    let limited = caution(&squeezed, CautionCode::CgroupLimits).unwrap();
    assert!(limited.message.contains("memory to 48 MiB of "), "{limited:?}");
    assert_eq!(fact(&squeezed, "memory.usable_bytes"), Some("50331648"));
    let short = caution(&squeezed, CautionCode::MemorySqueezed).unwrap();
    assert!(short.message.contains("reached its memory limit"), "{short:?}");
    let outside = trial(&program, "w", &["--sync", "end"]);
    assert!(!outside.cautions.iter().any(|one| one.message.contains("memory to 48 MiB")));
    // The machine itself may have a memory limit, but not such a small one.
    assert!(matches!(fact(&outside, "conditions.memory_limit_hits"), None | Some("0")));
    assert_eq!(caution(&outside, CautionCode::MemorySqueezed), None);
}

#[test]
fn limited_cpus_are_reported() {
    let program = prepared();
    let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if cpus < 2 || run(Command::new("taskset").arg("-V")).is_err() {
        return skip("needs taskset and two processors");
    }
    fs::create_dir_all(program.home().join("w")).unwrap();
    let mut command = Command::new("taskset");
    command.args(["-c", "0", env!("CARGO_BIN_EXE_treering")]);
    let ran =
        treering_testkit::FinishedCommand::run(program.prepare(&mut command).args(words("w", &[])));
    ran.ends_with(0);
    let limited_trial = last(&program);
    let limited = caution(&limited_trial, CautionCode::CgroupLimits).unwrap();
    assert!(limited.message.contains("CPUs to 1"), "{limited:?}");
    let free = trial(&program, "w", &[]);
    assert!(
        !free.cautions.iter().any(|limited_trial| limited_trial.message.contains("CPUs to 1")),
        "{free:?}"
    );
}

#[test]
fn caches_dropped_by_another_process_are_reported() {
    require_root!();
    let program = prepared();
    // The run has more events than a pipe can hold, so it cannot end before the first are read.
    let mut more = words("w", &["--initial-dirs", "3", "--runs", "300", "--events=-"]);
    more.push("--no-store");
    let mut running = program.command(&more).spawn().unwrap();
    let out = std::io::BufReader::new(running.stdout.take().unwrap());
    let mut has_dropped = false;
    let mut codes = Vec::new();
    for line in std::io::BufRead::lines(out) {
        let event: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["event"] == "task_ended" && !has_dropped {
            fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
            has_dropped = true;
        }
        codes.extend(event["code"].as_str().map(str::to_owned));
    }
    assert!(running.wait().unwrap().success());
    assert!(codes.contains(&"caches_dropped_outside".to_owned()), "{codes:?}");
}

#[test]
fn dirty_data_from_before_are_reported() {
    let program = prepared();
    let bulk = temp_dir();
    let is_finished = AtomicBool::new(false);
    let ready = AtomicBool::new(false);
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            let bytes = vec![7_u8; 4 << 20];
            // The loop alternates between two files, so that one is always complete.
            for name in ["one", "other"].iter().cycle() {
                if is_finished.load(Ordering::Relaxed) {
                    break;
                }
                let mut file = File::create(bulk.path().join(name)).unwrap();
                for _ in 0..64 {
                    file.write_all(&bytes).unwrap();
                }
                ready.store(true, Ordering::Relaxed);
            }
        });
        while !ready.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        // Another process may sync the whole machine at that time.
        let is_reported = (0..10).any(|_| {
            let trial = trial(&program, "w", &["--sync", "none"]);
            caution(&trial, CautionCode::NotQuiet).is_some()
        });
        is_finished.store(true, Ordering::Relaxed);
        is_reported
    });
    assert!(found);
}

#[test]
fn reads_from_kept_caches_are_reported() {
    let program = prepared();
    let reads = ["--mix", "read=1", "--drop-caches"];
    let reported = |dir: &str, drop: &str| {
        let trial = trial(&program, dir, &[&reads[..], &[drop]].concat());
        caution(&trial, CautionCode::DataFitInMemory).is_some()
    };
    assert!(reported("w", "none"));
    let creates = trial(&program, "w", &["--mix", "create=1", "--drop-caches", "none"]);
    assert_eq!(caution(&creates, CautionCode::DataFitInMemory), None, "nothing was read");
    if is_root() {
        assert!(!reported("w", "each"), "the caches are dropped");
        let memory = LoopFs::in_memory(64);
        assert!(
            !reported(memory.path().join("w").to_str().unwrap(), "none"),
            "there is no other place"
        );
    }
}

#[test]
fn a_trial_without_writeback_is_reported() {
    let program = prepared();
    for (sync, is_reported) in [("none", true), ("end", true), ("each", false)] {
        let trial = trial(&program, "w", &["--sync", sync]);
        let reported = caution(&trial, CautionCode::TooShort);
        assert_eq!(reported.is_some(), is_reported, "{sync}: {reported:?}");
    }
}

/// Creates an image of a filesystem about which the kernel warns at each mount.
fn overdue(dir: &Path) -> std::path::PathBuf {
    let image = dir.join("overdue");
    File::create(&image).unwrap().set_len(8 << 20).unwrap();
    run(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image)).unwrap();
    run(Command::new("tune2fs").args(["-c", "1", "-C", "5"]).arg(&image)).unwrap();
    image
}

#[test]
fn only_kernel_warnings_about_the_filesystem_are_reported() {
    require_loop_fs!("ext4");
    let program = prepared();
    let image = overdue(program.home());
    let point = program.home().join("point");
    fs::create_dir(&point).unwrap();
    let mounted = LoopFs::new("ext4", 64);
    let work = mounted.path().join("w").to_str().unwrap().to_owned();
    let during = |plant: &dyn Fn()| {
        let mut more = words(&work, &["--events=-"]);
        more.push("--no-store");
        let mut running = program.command(&more).spawn().unwrap();
        let out = std::io::BufReader::new(running.stdout.take().unwrap());
        let (mut is_done, mut said) = (false, Vec::new());
        for line in std::io::BufRead::lines(out) {
            let event: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            if event["event"] == "task_ended" && !is_done {
                plant();
                is_done = true;
            }
            if event["code"] == "kernel_warning" {
                said.push(event["message"].as_str().unwrap().to_owned());
            }
        }
        assert!(running.wait().unwrap().success());
        said
    };
    let mount = || {
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&point)).unwrap();
        run(Command::new("umount").arg(&point)).unwrap();
    };
    let caution = during(&mount);
    let of_other = |message: &String| message.contains("maximal mount count");
    assert!(!caution.iter().any(of_other), "of another loop device: {caution:?}");
    let device = Command::new("findmnt").args(["-n", "-o", "SOURCE"]).arg(mounted.path()).output();
    let device = String::from_utf8(device.unwrap().stdout).unwrap();
    let device = device.trim().trim_start_matches("/dev/").to_owned();
    let trigger = format!("/sys/fs/ext4/{device}/trigger_fs_error");
    let caution = during(&|| fs::write(&trigger, "planted error\n").unwrap());
    assert_eq!(caution.len(), 1, "{caution:?}");
    assert!(caution[0].contains("planted error") && caution[0].contains(&device), "{caution:?}");
    let write = || fs::write("/dev/kmsg", "<4>treering test: planted by a program\n").unwrap();
    let caution = during(&write);
    assert!(!caution.iter().any(|message| message.contains("planted")), "{caution:?}");
}

#[test]
fn a_misaligned_partition_is_reported() {
    require_loop_fs!("ext4");
    let mut disk = match Partitioned::new(&[2049, 40_960], 32_768) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let program = prepared();
    for (number, is_reported) in [(1, true), (2, false)] {
        let output =
            program.run(["doctor", disk.node(number).to_str().unwrap()]).ends_with(0).stdout;
        assert_eq!(output.contains("(misaligned)"), is_reported, "{output}");
        assert!(
            output.contains("device.start_sectors") && !output.contains("filesystem."),
            "{output}"
        );
        let dir = disk.mount(number).join("w");
        let trial = trial(&program, dir.to_str().unwrap(), &[]);
        assert_eq!(caution(&trial, CautionCode::Misaligned).is_some(), is_reported);
    }
}
