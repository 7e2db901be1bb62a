//! fio on block devices, beside the original: it reads all of them, and writes those that nothing
//! uses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use treering_testkit::{
    BlockDevice, FinishedCommand, LoopFs, Program, TempDir, at_once, require_root, require_tool,
    temp_dir,
};

use crate::program;

const MIB: u64 = 1 << 20;

/// Creates a device on a file of zeros; also returns the directory of the file.
fn device() -> (BlockDevice, TempDir) {
    let dir = temp_dir();
    let file = dir.path().join("image");
    fs::File::create(&file).unwrap().set_len(16 * MIB).unwrap();
    (BlockDevice::on(&file), dir)
}

/// Runs treering with a PATH that has no installed fio.
fn ours(program: &Program, line: &str) -> FinishedCommand {
    let words = ["fio", "--no-store", "--name=a", "--output-format=json"];
    let mut command = program.command(words.into_iter().chain(line.split(' ')));
    FinishedCommand::run(command.env("PATH", "/no/such/directory"))
}

fn original(dir: &Path, line: &str) -> Output {
    let words = ["--name=a", "--output-format=json"].into_iter().chain(line.split(' '));
    Command::new("fio").args(words).current_dir(dir).output().unwrap()
}

/// Requests and bytes of each job in both directions, and the named disk.
fn work(text: &str) -> (Vec<[u64; 5]>, Value) {
    let begin = text.find('{').unwrap_or_else(|| panic!("no JSON: {text}"));
    let document: Value = serde_json::from_str(&text[begin..]).unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    let jobs = document["jobs"].as_array().unwrap().iter().map(|job| {
        let [reads, writes] = ["read", "write"].map(|way| &job[way]);
        [
            number(&job["error"]),
            number(&reads["total_ios"]),
            number(&reads["io_bytes"]),
            number(&writes["total_ios"]),
            number(&writes["io_bytes"]),
        ]
    });
    (jobs.collect(), document["disk_util"][0]["name"].clone())
}

const LINES: &[&str] = &[
    "--rw=read",
    "--rw=randread --size=100m --ioengine=libaio --iodepth=8 --direct=1",
    "--rw=randread --size=1m --ioengine=io_uring --iodepth=4 --loops=2",
    "--rw=write --size=100m --bs=64k",
    "--rw=randwrite --bs=8k --verify=crc32c",
    "--rw=randrw --size=50% --fsync=16 --end_fsync=1",
    "--rw=write --size=1m --offset=1m --unlink=1 --overwrite=1 --fallocate=posix",
    "--rw=randwrite --io_size=2m --size=4m --numjobs=2 --offset_increment=5m",
    "--rw=randread --size=1m --ioengine=sync --pre_read=1",
    "--rw=read --size=1m --offset=15872k --readonly",
];

#[test]
fn requests_to_a_device_equal_the_original() {
    require_root!();
    require_tool!("fio");
    at_once(LINES, |line| {
        let (program, (device, dir)) = (program(), device());
        let line = format!("--filename={} {line}", device.path());
        let theirs = original(dir.path(), &line);
        let mine = ours(&program, &line);
        assert_eq!(mine.code, theirs.status.code(), "{line}: {mine}");
        let theirs = String::from_utf8(theirs.stdout).unwrap();
        if theirs.contains("\"jobs\"") {
            assert_eq!(work(&mine.stdout), work(&theirs), "{line}");
        }
        // The device node is unchanged, and its file has the same length.
        let kind = fs::metadata(device.path()).unwrap().file_type();
        assert!(std::os::unix::fs::FileTypeExt::is_block_device(&kind), "{line}");
        assert_eq!(fs::metadata(dir.path().join("image")).unwrap().len(), 16 * MIB, "{line}");
    });
}

#[test]
fn a_mounted_device_is_read_but_not_written() {
    require_root!();
    let (program, place) = (program(), LoopFs::new("ext4", 32));
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let point = place.path().to_str().unwrap();
    let line = table.lines().rfind(|line| line.split(' ').nth(1) == Some(point)).unwrap();
    let device = line.split(' ').next().unwrap();
    let line = |more: &str| format!("--filename={device} --size=1m {more}");
    ours(&program, &line("--rw=randread")).ends_with(0);
    let refused = ours(&program, &line("--rw=randwrite")).ends_with(1);
    assert!(refused.stderr.contains(&format!("refusing to write to {device}:")), "{refused}");
    assert!(refused.stderr.contains("is mounted at"), "{refused}");
    assert!(refused.stderr.contains("allow_mounted_write=1"), "{refused}");
    // The last MiB of a new filesystem is free.
    let beyond = line("--rw=randwrite --offset=31m --allow_mounted_write=1");
    ours(&program, &beyond).ends_with(0);
}

#[test]
fn a_member_of_another_device_is_not_written() {
    require_root!();
    let (program, (device, _dir)) = (program(), device());
    let _above = BlockDevice::on(Path::new(device.path()));
    let line = format!("--filename={} --size=1m --rw=write --allow_mounted_write=1", device.path());
    let refused = ours(&program, &line).ends_with(1);
    assert!(refused.stderr.contains("refusing to write to"), "{refused}");
}

#[test]
fn native_runs_write_empty_or_named_devices_only() {
    require_root!();
    let (program, (device, dir)) = (program(), device());
    let job = format!("[a]\nfilename={}\nsize=1m\nrw=randwrite\nverify=crc32c\n", device.path());
    fs::write(program.home().join("w.fio"), &job).unwrap();
    fs::write(program.home().join("r.fio"), job.replace("randwrite", "randread")).unwrap();
    let run = |more: &[&str]| {
        let words = ["run", "fio", "--no-store", "--quiet", "--dir"];
        let target = program.home().to_str().unwrap().to_owned();
        program.run(words.into_iter().chain([target.as_str()]).chain(more.iter().copied()))
    };
    run(&["w.fio"]).ends_with(0);
    // The device is not empty any more.
    let refused = run(&["w.fio"]).ends_with(3);
    assert!(refused.stderr.contains("it is not empty"), "{refused}");
    assert!(refused.stderr.contains("--erase"), "{refused}");
    run(&["w.fio", "--erase", device.path()]).ends_with(0);
    run(&["r.fio"]).ends_with(0);
    let before = fs::read(dir.path().join("image")).unwrap();
    assert!(before[..1 << 20].iter().any(|byte| *byte != 0));
    assert!(before[1 << 20..].iter().all(|byte| *byte == 0));
}

#[test]
fn missing_and_foreign_device_paths_are_refused() {
    let program = program();
    for (path, why) in [("/dev/null", "no block device"), ("/dev/no-such-disk", "No such file")] {
        let ran = ours(&program, &format!("--filename={path} --size=1m --rw=write")).ends_with(1);
        assert!(ran.stderr.contains(why), "{ran}");
    }
    assert!(!Path::new("/dev/no-such-disk").exists());
}

#[test]
fn two_command_lines_work_in_one_directory_at_a_time() {
    let program = program();
    let line = ["fio", "--no-store", "--name=a", "--size=1m", "--time_based", "--runtime=60"];
    let mut first = program.command(line).spawn().unwrap();
    while !program.home().join("a.0.0").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    ours(&program, "--size=1m --filename=b").ends_with(0);
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn the_installed_fio_is_not_handed_a_device_in_use() {
    require_root!();
    require_tool!("fio");
    let (program, (device, _dir)) = (program(), device());
    let run = |more: &str| {
        let line = format!("--filename={} --size=1m --rw=write {more}", device.path());
        let words = ["fio", "--no-store", "--name=a"];
        program.run(words.into_iter().chain(line.split(' ')))
    };
    run("--ioengine=mmap").ends_with(0);
    let above = BlockDevice::on(Path::new(device.path()));
    for more in ["--ioengine=mmap", "--ioengine=mmap --allow_mounted_write=1", "--rw=trim"] {
        let refused = run(more).ends_with(1);
        assert!(refused.stderr.contains("refusing to write to"), "{refused}");
        assert!(!refused.stderr.contains("runs this job"), "{refused}");
    }
    let job = format!(
        "[global]\nfilename={}\nsize=1m\n[a]\nrw=randwrite\nioengine=mmap\n",
        device.path()
    );
    fs::write(program.home().join("w.fio"), &job).unwrap();
    fs::write(program.home().join("r.fio"), job.replace("randwrite", "randread")).unwrap();
    program.run(["fio", "--no-store", "w.fio"]).ends_with(1).complains("refusing to write to");
    // The original writes to the files of all sections, not to those of the last one only.
    fs::write(program.home().join("both.fio"), format!("{job}filename=own\n")).unwrap();
    program.run(["fio", "--no-store", "both.fio"]).ends_with(1).complains("refusing to write to");
    program.run(["fio", "--no-store", "r.fio"]).ends_with(0).complains("runs this job");
    drop(above);
    run("--ioengine=mmap").ends_with(0);
}

#[test]
fn a_device_node_in_the_current_directory_is_a_block_device() {
    require_root!();
    require_tool!("cp");
    let (program, (device, _dir)) = (program(), device());
    let node = program.home().join("node");
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(device.path()).arg(&node);
    assert!(copy.status().unwrap().success());
    ours(&program, "--filename=node --rw=randread --size=1m").ends_with(0);
    let _above = BlockDevice::on(Path::new(device.path()));
    let refused = ours(&program, "--filename=node --rw=write --size=1m").ends_with(1);
    assert!(refused.stderr.contains("refusing to write to"), "{refused}");
}
