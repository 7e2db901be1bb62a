//! Cautions about a trial whose cause is real, and the doctor's forecast of them.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use treering_model::{CautionCode, TaskTotals, Trial};
use treering_testkit::{
    BlockDevice, FourLists, LoopFs, Program, require_loop_fs, require_root, temp_dir,
};

use crate::program;
use crate::trial::last;

fn prepared() -> Program {
    let program = program();
    FourLists::wide(400, 3000).write_to(&program.home().join("lists"));
    program
}

fn run(program: &Program, dir: &Path, more: &[&str]) -> Trial {
    let dir = dir.to_str().unwrap();
    let words = ["run", "compilebench", "--dataset", "./lists", "--dir", dir, "--quiet"];
    program.run([&words[..], more].concat()).ends_with(0);
    last(program)
}

fn has(trial: &Trial, code: CautionCode) -> bool {
    trial.cautions.iter().any(|caution| caution.code == code)
}

#[test]
fn other_programs_that_use_the_cpus_are_reported() {
    let program = prepared();
    let is_finished = AtomicBool::new(false);
    let trial = thread::scope(|scope| {
        let cpus = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for _ in 0..cpus {
            scope.spawn(|| {
                while !is_finished.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let place = program.home().join("w");
        let trial = run(&program, &place, &["--initial-dirs", "20", "--runs", "60"]);
        is_finished.store(true, Ordering::Relaxed);
        trial
    });
    assert!(has(&trial, CautionCode::OtherLoad), "{:?}", trial.cautions);
    assert!(trial.facts.iter().any(|fact| fact.name == "conditions.other_programs_percent"));
}

#[test]
fn compressed_data_are_reported() {
    require_loop_fs!("btrfs");
    let program = prepared();
    let place = LoopFs::new("btrfs", 256);
    let dir = place.path().join("w");
    let few = ["--initial-dirs", "1", "--runs", "1"];
    let classic = [&few[..], &["--payload", "classic"]].concat();
    assert!(!has(&run(&program, &dir, &classic), CautionCode::CompressibleData));
    let remount = Command::new("mount")
        .args(["-o", "remount,compress=zstd"])
        .arg(place.path())
        .status()
        .unwrap();
    assert!(remount.success());
    assert!(has(&run(&program, &dir, &classic), CautionCode::CompressibleData));
    let half = [&few[..], &["--compressibility", "50%"]].concat();
    assert!(has(&run(&program, &dir, &half), CautionCode::CompressibleData));
    assert!(!has(&run(&program, &dir, &few), CautionCode::CompressibleData), "random bytes");
}

#[test]
fn a_handicap_slows_every_task_and_is_reported() {
    let program = prepared();
    let place = program.home().join("w");
    let few = ["--initial-dirs", "1", "--runs", "2", "--latency", "all"];
    // Time of a task outside its calls, relative to the calls: a lower bound, since other load on
    // the machine adds to it.
    let least_share = |trial: &Trial| {
        let over = |task: &TaskTotals| {
            let latencies = task.ops.iter().map(|op| &op.latency);
            let calls: f64 = latencies.map(|all| all.mean_ns() * all.samples() as f64).sum();
            task.wall_ns as f64 / calls - 1.0
        };
        trial.tasks.iter().map(over).fold(f64::INFINITY, f64::min)
    };
    let slowed = run(&program, &place, &[&few[..], &["--handicap", "100%"]].concat());
    assert!(has(&slowed, CautionCode::Handicapped));
    assert!(least_share(&slowed) >= 0.9, "{}", least_share(&slowed));
    let handicap = ("handicap".to_owned(), "100%".to_owned());
    assert!(slowed.beginning.parameters.contains(&handicap));
    assert!(!has(&run(&program, &place, &few), CautionCode::Handicapped));
    let wrong = program.run(["run", "compilebench", "--dir", "x", "--handicap", "much"]);
    wrong.ends_with(2).complains("--handicap");
}

#[test]
fn the_doctor_looks_at_a_directory_on_a_loop_device() {
    require_loop_fs!("ext4");
    let program = prepared();
    let place = LoopFs::new("ext4", 64);
    let path = place.path().to_str().unwrap();
    let output = program.run(["doctor", path]).ends_with(0).stdout;
    assert!(output.contains("host_cache_answers"), "{output}");
    assert!(output.contains("filesystem.type") && output.contains("ext4"), "{output}");
    assert!(output.contains("conditions.load_average"), "{output}");
}

#[test]
fn the_guard_prints_its_verdict_and_findings() {
    require_root!();
    require_loop_fs!("ext4");
    let program = program();
    let place = temp_dir();
    let file = place.path().join("disk");
    fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
    let device = BlockDevice::on(&file);
    let words = ["doctor", "--guard", device.path(), "--format"];
    let verdict = |code: i32, format: &str| {
        let ran = program.run([&words[..], &[format]].concat()).ends_with(code);
        ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let empty = verdict(0, "plain");
    assert!(empty.contains("Nothing stands against formatting it"), "{empty}");
    assert!(empty.contains("all that its file has blocks for"), "{empty}");
    let disk = fs::File::options().write(true).open(device.path()).unwrap();
    disk.write_all_at(b"x", 24 << 20).unwrap();
    disk.sync_all().unwrap();
    drop(disk);
    let full = verdict(1, "plain");
    let found = "there is data of an unknown kind at 24.0 MiB (byte 25165824)";
    assert!(full.contains(found) && full.contains("--erase"), "{full}");
    let json: serde_json::Value = serde_json::from_str(&verdict(1, "json")).unwrap();
    assert_eq!(json["format"], "treering guard");
    let flags = (&json["free"], &json["erasable"], json["obstacles"].as_array().unwrap().len());
    assert_eq!(flags, (&false.into(), &true.into(), 1));
    assert_eq!(fs::read(&file).unwrap()[24 << 20], b'x', "nothing is changed");
    let both = ["doctor", ".", "--guard", device.path()];
    program.run(both).ends_with(2);
}

#[test]
fn the_doctor_reads_a_plan() {
    let program = prepared();
    let plan = "rounds = 3\n[device]\nloop = \"64MiB\"\n[[variant]]\nfilesystem = \"ext4\"\n\
                [[job]]\noptions = { dataset = \"linux-6.1-small\", initial-dirs = 3, runs = 2 }\n";
    fs::write(program.home().join("plan.toml"), plan).unwrap();
    let output = program.run(["doctor", "plan.toml"]).ends_with(0).stdout;
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.contains("may_not_fit"), "{output}");
    assert!(output.contains("3 rounds cannot show a difference"), "{output}");
    program.run(["doctor", "nowhere"]).ends_with(2).complains("nowhere");
}
