//! Block traces of real devices: the recorded events, other programs that read them, and the plots.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use treering_model::Scope;
use treering_testkit::{
    FinishedCommand, LoopFs, Program, cannot_loop_mount, require_loop_fs, require_root,
    require_tool, skip, temp_dir,
};

use crate::trial::last;
use crate::{only_release, program};

/// True if block traces can be recorded here; prints the reason otherwise.
fn can_trace(place: &LoopFs) -> bool {
    let dir = place.path().to_str().unwrap();
    let tried = program().run(["trace", "--dir", dir, "--method", "perf_event", "--", "true"]);
    if tried.code != Some(0) {
        skip(&format!("no block traces here: {}", tried.stderr.trim()));
    }
    tried.code == Some(0)
}

/// Filesystem on a loop device whose requests can be traced; prints why there is none.
fn traceable(kind: &str, mib: u64) -> Option<LoopFs> {
    if let Some(reason) = cannot_loop_mount(kind) {
        skip(&reason);
        return None;
    }
    Some(LoopFs::new(kind, mib)).filter(can_trace)
}

/// Writes `blocks` blocks of 4 KiB with direct I/O.
fn write_direct(file: &Path, blocks: u32) -> Vec<String> {
    let (of, count) = (format!("of={}", file.display()), format!("count={blocks}"));
    ["dd", "if=/dev/zero", &of, "bs=4096", &count, "oflag=direct", "status=none"]
        .map(str::to_owned)
        .to_vec()
}

/// Records a command, and returns the summary of the whole trace as JSON.
fn traced(program: &Program, options: &[&str], command: &[String]) -> Value {
    let words = ["trace", "--format", "json"].into_iter().chain(options.iter().copied());
    let words = words.chain(["--"]).chain(command.iter().map(String::as_str));
    let ran = program.run(words).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&document["format"], &document["version"]), (&"treering trace".into(), &2.into()));
    document["runs"][0]["whole"].clone()
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {value}"))
}

#[test]
fn every_request_is_recorded_by_both_methods() {
    let Some(place) = traceable("ext4", 64) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    for way in ["perf_event", "tracefs"] {
        let file = place.path().join(way);
        let whole =
            traced(&program, &["--dir", dir, "--sync", "--method", way], &write_direct(&file, 200));
        // The journal causes further writes.
        assert!(number(&whole, "/writes/requests") >= 200.0, "{way} {whole}");
        assert!(number(&whole, "/writes/bytes") >= 819_200.0, "{way} {whole}");
        assert_eq!(number(&whole, "/lost_events"), 0.0, "{way}");
        assert!(number(&whole, "/write_amplification") >= 1.0, "{way} {whole}");
        let timed = number(&whole, "/writes/issue_to_complete/samples");
        assert!(timed >= 200.0 && number(&whole, "/depth_max") >= 1.0, "{way} {whole}");
        let device = whole.pointer("/devices/0/name").unwrap().as_str().unwrap();
        assert!(device.starts_with("loop"), "{device}");
    }
    let counters = ["--dir", dir, "--sync", "--method", "statistics"];
    let whole = traced(&program, &counters, &write_direct(&place.path().join("s"), 100));
    assert!(number(&whole, "/writes/requests") >= 100.0, "{whole}");
    let unknown = ["seeks", "seeks_per_second", "ordered", "layout_score"];
    assert!(unknown.iter().all(|name| whole.get(name).is_none()), "{whole}");
    let report = program.run(["trace", "--dir", dir, "--method", "statistics", "--", "sync"]);
    assert!(!report.ends_with(0).stdout.contains("0 seeks"));
    // The option is still accepted under its old name.
    let words = ["trace", "--dir", dir, "--method", "statistics", "--out", "s.trace", "--", "true"];
    program.run(words).ends_with(2).complains("no events that --out could keep");
    assert!(!program.home().join("s.trace").exists());
}

#[test]
fn a_partition_is_distinguished_from_its_disk() {
    require_root!();
    let files = temp_dir();
    let image = files.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let table = files.path().join("table");
    std::fs::write(&table, "label: dos\nstart=2048, size=65536\nstart=67584\n").unwrap();
    let run = |line: &str| {
        let ran = Command::new("sh").args(["-c", line]).output();
        ran.ok()
            .filter(|ran| ran.status.success())
            .map(|ran| String::from_utf8(ran.stdout).unwrap().trim().to_owned())
    };
    let partitioned = format!("sfdisk -q {} < {}", image.display(), table.display());
    let attached = format!("losetup --find --show --partscan {}", image.display());
    let Some(disk) = run(&partitioned).and_then(|_| run(&attached)) else {
        skip("no sfdisk, or no loop devices");
        return;
    };
    let second = PathBuf::from(format!("{disk}p2"));
    let program = program();
    let trace = program.home().join("p2.trace");
    let both = format!(
        "dd if=/dev/zero of={disk}p1 bs=4096 count=50 oflag=direct status=none; \
         dd if=/dev/zero of={disk}p2 bs=4096 count=30 seek=256 oflag=direct status=none"
    );
    let outcome = if second.exists() {
        let words = ["--device", second.to_str().unwrap(), "--out", trace.to_str().unwrap()];
        let words = ["trace"].into_iter().chain(words).chain(["--", "sh", "-c", &both]);
        Some(program.run(words))
    } else {
        None
    };
    run(&format!("losetup --detach {disk}"));
    let Some(ran) = outcome else {
        skip("the kernel makes no partitions of loop devices here");
        return;
    };
    if ran.stderr.contains("no block trace") {
        skip(&ran.stderr);
        return;
    }
    ran.ends_with(0);
    let shown = |window: &str| {
        let file = trace.to_str().unwrap();
        let words = ["trace", "show", file, "--format", "json", "--offsets", window];
        let document: Value =
            serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap();
        number(&document, "/runs/0/whole/writes/requests")
    };
    // Offsets count from the start of the second partition, and the first one has no requests.
    assert_eq!(shown("1MiB:1.2MiB"), 30.0);
    assert_eq!(shown("0:"), 30.0);
}

#[test]
fn the_viewers_of_blktrace_accept_what_is_written() {
    let Some(place) = traceable("xfs", 400) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    let out = program.home().join("blk");
    let own = program.home().join("own.trace");
    let options =
        ["--dir", dir, "--blktrace-out", out.to_str().unwrap(), "--out", own.to_str().unwrap()];
    let whole = traced(&program, &options, &write_direct(&place.path().join("f"), 300));
    // Both files have the same figures.
    let figures = |path: &Path| {
        let words = ["trace", "show", path.to_str().unwrap(), "--format", "json"];
        let document: Value =
            serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap();
        let whole = &document["runs"][0]["whole"];
        ["/writes/requests", "/seeks", "/events", "/merges"].map(|path| number(whole, path))
    };
    let recorded =
        ["/writes/requests", "/seeks", "/events", "/merges"].map(|path| number(&whole, path));
    assert_eq!(figures(&out), recorded);
    assert_eq!(figures(&own), recorded);
    // Existing files are not mixed with another trace.
    let again = ["trace", "show", own.to_str().unwrap(), "--blktrace-out", out.to_str().unwrap()];
    program.run(again).ends_with(3).complains("exists");

    let device = whole.pointer("/devices/0/name").unwrap().as_str().unwrap();
    let tool = |name: &str, words: &[&str]| {
        Command::new(name).args(words).current_dir(&out).output().ok().map(|ran| {
            let said = String::from_utf8_lossy(&ran.stdout).into_owned();
            assert!(ran.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&ran.stderr));
            said
        })
    };
    let Some(parsed) = tool("blkparse", &["-i", device, "-d", "dump"]) else {
        skip("blkparse is not installed");
        return;
    };
    let events = format!("{device}): {} entries", recorded[2]);
    assert!(
        parsed.contains(&events),
        "{events}\n{}",
        parsed.lines().rev().take(9).collect::<String>()
    );
    assert!(parsed.contains("Skips: 0 forward"));
    let reported = tool("btt", &["-i", "dump"]).unwrap_or_default();
    assert!(reported.is_empty() || reported.contains("D2C"), "{reported}");
    if tool("iowatcher", &["-t", device, "-o", "picture.svg"]).is_some() {
        assert!(std::fs::read_to_string(out.join("picture.svg")).unwrap().contains("</svg>"));
    }
}

#[test]
fn plots_are_small_and_complete() {
    let Some(place) = traceable("ext4", 64) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    let files = ["one.trace", "two.trace"].map(|name| program.home().join(name));
    for file in &files {
        let options = ["--dir", dir, "--out", file.to_str().unwrap()];
        traced(&program, &options, &write_direct(&place.path().join("f"), 100));
    }
    let [one, two] = [&files[0], &files[1]].map(|path| path.to_str().unwrap());
    for output in ["plot.svg", "plot.html"] {
        let words = ["trace", "plot", one, two, "--label", "first,sec<ond", "-o", output];
        program.run(words).ends_with(0);
        let drawn = std::fs::read_to_string(program.home().join(output)).unwrap();
        assert!(drawn.contains("sec&lt;ond") && !drawn.contains("sec<ond"));
        assert!(drawn.contains("class=\"cells writes\"") && drawn.contains("seeks a second"));
        assert!(drawn.len() < 500_000, "{}", drawn.len());
        assert!(!drawn.contains("src=") && !drawn.contains("url("), "nothing is loaded");
    }
    program.run(["trace", "plot", one, "-o", "plot.png"]).ends_with(2).complains(".svg or .html");
    std::fs::write(program.home().join("no.trace"), "no trace at all, but long enough").unwrap();
    program.run(["trace", "show", "no.trace"]).ends_with(3).complains("byte 0");
    program.run(["trace", "show", "nowhere.trace"]).ends_with(2);
}

#[test]
fn a_trace_has_an_estimated_time_on_modelled_disks() {
    let Some(place) = traceable("ext4", 64) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    let file = program.home().join("a.trace");
    let file = file.to_str().unwrap();
    let write = write_direct(&place.path().join("f"), 50);
    traced(&program, &["--dir", dir, "--sync", "--out", file], &write);
    let mine = program.home().join("mine.toml");
    let disks = "capacity-bytes = 1_000_000_000\nqueue = 1\nuncertainty-percent = 10\n\
                 about = \"x\"\nflash = { read-ms = 100, write-ms = 100, at-a-time = 1 }\n\
                 [transfer]\nouter-bytes-per-second = 1e6\ninner-bytes-per-second = 1e6\n\
                 overhead-ms = 0\n";
    std::fs::write(&mine, disks).unwrap();
    let words = ["trace", "cost", file, "--format", "csv", "--disk", "hdd-7200", "--disk"];
    let ran = program.run(words.iter().chain(&[mine.to_str().unwrap()])).ends_with(0);
    let rows: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("disk_costs,a.trace"))
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 2, "{ran}");
    for row in &rows {
        let number = |place: usize| row[place].parse::<f64>().unwrap();
        assert!(number(4) >= 50.0, "{ran}");
        assert!(number(7) <= number(6) && number(6) <= number(8), "{ran}");
    }
    let busy = |row: &[&str]| row[6].parse::<f64>().unwrap();
    assert!(busy(&rows[0]) > 0.0 && busy(&rows[1]) >= 5.0, "{ran}");
    // The page of the trace has the same figures for a whole file.
    let shown = |options: &[&str]| -> Value {
        let words = [&["trace", "show", file, "--format", "json"], options].concat();
        serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap()
    };
    let priced = &shown(&[])["runs"][0]["modelled_disk"];
    assert_eq!(priced["disk"], "hdd-7200");
    let typical = number(priced, "/busy_seconds/typical");
    assert!((typical - busy(&rows[0])).abs() < 1e-6 * typical.max(1.0), "{priced} {ran}");
    assert!(shown(&["--times", "0:1000"])["runs"][0].get("modelled_disk").is_none());
    program.run(["trace", "cost", file, "--disk", "tape"]).ends_with(2).complains("no disk 'tape'");
    std::fs::write(&mine, disks.replace("queue = 1", "queue = 0")).unwrap();
    let words = ["trace", "cost", file, "--disk", mine.to_str().unwrap()];
    program.run(words).ends_with(2).complains("queue is not between");
    program.run(["trace", "cost", "/nowhere.trace"]).ends_with(2);
}

#[test]
fn a_command_keeps_its_exit_code() {
    let Some(place) = traceable("ext4", 64) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    let run = |command: &[&str]| -> FinishedCommand {
        program.run(["trace", "--dir", dir, "--"].iter().chain(command))
    };
    run(&["sh", "-c", "exit 7"]).ends_with(7);
    run(&["sh", "-c", "kill -TERM $$"]).ends_with(143);
    run(&["no-such-program-anywhere"]).ends_with(127);
    program
        .run(["trace", "--dir", "/proc", "--", "true"])
        .ends_with(3)
        .complains("not on a block device");
}

#[test]
fn without_permission_one_line_says_what_is_missing() {
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 64);
    let binary = env!("CARGO_BIN_EXE_treering");
    let dir = place.path().to_str().unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", binary]);
    command.args(["trace", "--dir", dir, "--", "true"]).current_dir("/");
    let Ok(ran) = command.output() else {
        skip("setpriv is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    if said.contains("setpriv:") {
        skip("the program cannot be started by another user here");
        return;
    }
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("no block trace")).collect();
    assert_eq!(lines.len(), 1, "{said}");
}

#[test]
fn a_run_records_the_requests_of_each_phase() {
    let Some(place) = traceable("xfs", 400) else { return };
    let program = program();
    let dir = place.path().join("w");
    let words =
        ["run", "fs_mark", "--dir", dir.to_str().unwrap(), "--trace", "--files", "50", "-q"];
    program.run(words).ends_with(0);
    let trial = last(&program);
    let traces: Vec<_> =
        trial.artifacts.iter().filter(|artifact| artifact.kind == "block_trace").collect();
    assert!(!traces.is_empty());
    let metrics: Vec<&str> = trial.metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert!(metrics.contains(&"trace_seeks"), "{metrics:?}");
    assert!(metrics.contains(&"trace_write_mib_per_second"), "{metrics:?}");
    let fact = |name: &str| trial.facts.iter().find(|fact| fact.name == name).unwrap();
    assert!(fact("trace.devices").value.starts_with("loop"));
    let page = program.run(["show", "--format", "html"]).ends_with(0).stdout;
    assert!(page.contains("Requests to the devices") && page.contains("class=\"cells writes\""));
}

#[test]
fn compilebench_traces_every_phase() {
    let Some(place) = traceable("xfs", 400) else { return };
    let program = program();
    treering_testkit::FourLists::wide(4, 20).write_to(&program.home().join("lists"));
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let point = place.path().to_str().unwrap();
    let device = mounts.lines().find(|line| line.split(' ').nth(1) == Some(point)).unwrap();
    let device = device.split(' ').next().unwrap();
    let dir = place.path().join("w");
    let words = ["compilebench", "-D", dir.to_str().unwrap(), "-s", "lists", "-i", "1", "-r", "2"];
    program.run(words.iter().chain(&["-t", "tr", "-d", device])).ends_with(0);
    let names: Vec<String> = std::fs::read_dir(program.home())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".blktrace."))
        .collect();
    assert!(names.iter().any(|name| name.starts_with("tr-create-dirs-0.blktrace.")), "{names:?}");
    assert!(names.iter().any(|name| name.starts_with("tr-operations-")), "{names:?}");
    program.run(["trace", "show", "tr-create-dirs-0.blktrace.0"]).ends_with(0);
}

/// Bytes that a device has read and written, from its kernel counters.
fn moved(device: &str) -> [u64; 2] {
    let stat = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).unwrap();
    let sectors: Vec<u64> = stat.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [sectors[2] * 512, sectors[6] * 512]
}

/// Writes back all data of the filesystem.
fn settle(place: &LoopFs) {
    assert!(Command::new("sync").arg("-f").arg(place.path()).status().unwrap().success());
}

/// The devices of a btrfs, by name.
fn members(place: &LoopFs) -> Vec<String> {
    let mut show = Command::new("btrfs");
    show.args(["filesystem", "show", "--raw"]).arg(place.path());
    let said = String::from_utf8(show.output().unwrap().stdout).unwrap();
    let path = |line: &str| line.split_once(" path /dev/").map(|(_, name)| name.trim().to_owned());
    let mut names: Vec<String> = said.lines().filter_map(path).collect();
    names.sort();
    names
}

#[test]
fn a_btrfs_on_two_devices_is_reported_by_device() {
    require_loop_fs!("btrfs");
    let place = LoopFs::striped_btrfs(160, 2);
    if !can_trace(&place) {
        return;
    }
    let names = members(&place);
    assert_eq!(names.len(), 2, "{names:?}");
    settle(&place);
    let before: Vec<[u64; 2]> = names.iter().map(|name| moved(name)).collect();
    let program = program();
    let own = program.home().join("own.trace");
    let dir = place.path().to_str().unwrap();
    let options = ["--dir", dir, "--sync", "--out", own.to_str().unwrap()];
    let file = place.path().join("f").to_str().unwrap().to_owned();
    let write = ["dd", "if=/dev/zero", &format!("of={file}"), "bs=1M", "count=24", "status=none"];
    let whole = traced(&program, &options, &write.map(str::to_owned));
    let grown = names.iter().zip(&before).map(|(name, before)| {
        let now = moved(name);
        [now[0] - before[0], now[1] - before[1]]
    });
    let grown: Vec<[u64; 2]> = grown.collect();
    let devices = whole["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2, "{whole}");
    let mut seeks = 0.0;
    for (name, grown) in names.iter().zip(&grown) {
        let reported = devices.iter().find(|device| device["name"] == name.as_str()).unwrap();
        assert_eq!(number(reported, "/write_bytes"), grown[1] as f64, "{name} {whole}");
        assert_eq!(number(reported, "/read_bytes"), grown[0] as f64, "{name} {whole}");
        // Each device has half of the data, at offsets within the device.
        assert!(number(reported, "/write_bytes") >= f64::from(12 << 20), "{name} {whole}");
        assert_eq!(number(reported, "/bytes"), f64::from(160 << 20), "{name}");
        seeks += number(reported, "/seeks");
    }
    assert_eq!(number(&whole, "/seeks"), seeks, "{whole}");
    let total: u64 = grown.iter().map(|grown| grown[1]).sum();
    assert_eq!(number(&whole, "/writes/bytes"), total as f64);
    // The plot has a panel for each device.
    let plot = program.home().join("two.svg");
    let words = ["trace", "plot", own.to_str().unwrap(), "-o", plot.to_str().unwrap()];
    program.run(words).ends_with(0);
    let drawn = std::fs::read_to_string(plot).unwrap();
    assert!(names.iter().all(|name| drawn.contains(name.as_str())), "{names:?}");
    // A run traces both devices, too.
    let dir = place.path().join("w");
    let words = ["run", "fs_mark", "--dir", dir.to_str().unwrap(), "--trace", "--files", "50"];
    program.run(words.iter().chain(&["-q"])).ends_with(0);
    let trial = last(&program);
    let fact = |name: &str| trial.facts.iter().find(|fact| fact.name == name).unwrap();
    let mut followed: Vec<&str> = fact("trace.devices").value.split(' ').collect();
    followed.sort_unstable();
    assert_eq!(followed, names);
}

#[test]
fn traced_bytes_equal_the_device_counters() {
    require_loop_fs!("ext4");
    let place = LoopFs::with_options("ext4", 64, &["-O", "^has_journal"]);
    if !can_trace(&place) {
        return;
    }
    let program = program();
    let job = "[a]\nrw=randread\nsize=8m\ndirect=1\nioengine=libaio\niodepth=8\n";
    std::fs::write(program.home().join("j.fio"), job).unwrap();
    let dir = place.path().join("w");
    let run = |options: &[&str]| {
        let words = ["run", "fio", "j.fio", "--dir", dir.to_str().unwrap(), "-q"];
        program.run(words.iter().chain(options)).ends_with(0);
        settle(&place);
    };
    // After the first run, the metadata that the filesystem reads are cached.
    run(&[]);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let point = place.path().to_str().unwrap();
    let device = mounts.lines().find(|line| line.split(' ').nth(1) == Some(point)).unwrap();
    let device = device.split(' ').next().unwrap().trim_start_matches("/dev/");
    // Reads of the directory by the test itself must not occur within the run.
    std::fs::metadata(&dir).unwrap();
    let before = moved(device);
    run(&["--trace"]);
    let now = moved(device);
    let trial = last(&program);
    let of_phases = trial.artifacts.iter().filter(|artifact| artifact.kind == "block_trace");
    let of_phases: Vec<(&String, Value)> = of_phases
        .map(|artifact| (&artifact.name, serde_json::from_str(&artifact.body).unwrap()))
        .collect();
    let digests: Vec<&Value> = of_phases.iter().map(|(_, digest)| digest).collect();
    let sum = |path: &str| digests.iter().map(|digest| number(digest, path)).sum::<f64>();
    // If another test drops the caches, the filesystem reads metadata between the phases.
    let read = (now[0] - before[0]) as f64;
    let of_phases_alone = sum("/figures/reads/bytes");
    assert!(of_phases_alone <= read && read - of_phases_alone < 1e6, "{read}: {digests:?}");
    // The reads may include metadata blocks.
    assert!(sum("/figures/reads/bytes") >= f64::from(8 << 20), "{digests:?}");
    assert!(sum("/figures/reads/requests") >= 2048.0, "{digests:?}");
    assert_eq!(sum("/figures/lost_events"), 0.0);
    // Inodes are also written after the phases.
    assert!(sum("/figures/writes/bytes") <= (now[1] - before[1]) as f64, "{digests:?}");
    // The exported metrics have the same values. One phase reads the file; the filesystem may read
    // a metadata block in another.
    let metrics = |name: &'static str| {
        let matching = trial.metrics.iter().filter(move |metric| metric.name == name);
        matching.map(|metric| (metric.scope.clone(), metric.value))
    };
    let requests = |scope: &Scope| {
        let is_of = |(name, _): &&(&String, Value)| *scope == Scope::Phase((*name).clone());
        number(&of_phases.iter().find(is_of).unwrap().1, "/figures/reads/requests")
    };
    let means = metrics("trace_read_request_mean_bytes");
    let bytes: f64 = means.map(|(scope, mean)| mean * requests(&scope)).sum();
    assert!((bytes - of_phases_alone).abs() < 1.0, "{bytes}");
    assert!(metrics("trace_read_mib_per_second").any(|(_, rate)| rate > 0.0));
}

#[test]
fn leftovers_of_a_killed_recording_are_freed() {
    let Some(place) = traceable("ext4", 64) else { return };
    let _alone = only_release();
    // A new recording also frees the remains, and one of another test may come first.
    if !(0..10).any(|_| is_named_and_released(&place)) {
        skip("other recordings free at once what a killed one left");
    }
}

/// True if the remains of a killed recording were named and released by treering; either way the
/// remains are gone.
fn is_named_and_released(place: &LoopFs) -> bool {
    let program = program();
    let dir = place.path().to_str().unwrap();
    // The command prints a line when it runs, and ends when its parent is gone.
    let line = "echo begun >&2; parent=$PPID; while [ -d /proc/$parent ]; do sleep 0.1; done";
    let words = ["trace", "--dir", dir, "--method", "tracefs", "--", "sh", "-c", line];
    let mut running = program.start(words);
    running.wait_for("begun");
    let name = format!("treering-{}-", running.id());
    let listed = || program.run(["lab", "list"]).ends_with(0).stdout;
    assert!(!listed().contains(&name), "it is in use");
    running.send("KILL");
    running.finish();
    let left = listed();
    let dry = program.run(["lab", "release", "--dry-run"]).ends_with(0).stdout;
    let freed = program.run(["lab", "release"]).stdout;
    assert!(!listed().contains(&name));
    if !freed.contains(&format!("freed instance {name}")) {
        return false;
    }
    assert!(left.contains(&name) && left.contains("a recording that has ended"), "{left}");
    assert!(dry.contains(&format!("would free instance {name}")), "{dry}");
    true
}

#[test]
fn a_recording_continues_over_a_remount() {
    let Some(place) = traceable("ext4", 64) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    let device = format!("$(findmnt -n -o SOURCE --mountpoint {dir})");
    let write = |name: &str| {
        let words = write_direct(&place.path().join(name), 100);
        words.join(" ")
    };
    // The device vanishes after its last user, so a descriptor holds it between the mounts.
    let line = format!(
        "set -e; device={device}; exec 9< $device; {}; umount {dir}; mount -t ext4 $device {dir}; \
         exec 9<&-; mount -o remount,noatime {dir}; {}",
        write("a"),
        write("b")
    );
    let command = ["sh", "-c", &line].map(str::to_owned);
    let whole = traced(&program, &["--dir", dir, "--sync"], &command);
    assert!(number(&whole, "/writes/requests") >= 200.0, "{whole}");
    assert_eq!(whole["devices"].as_array().unwrap().len(), 1, "{whole}");
}

#[test]
fn a_trace_file_has_the_figures_of_its_recording() {
    let Some(place) = traceable("ext4", 64) else { return };
    let program = program();
    let dir = place.path().to_str().unwrap();
    let file = program.home().join("a.trace");
    let file = file.to_str().unwrap();
    let write = write_direct(&place.path().join("f"), 50);
    let recorded = traced(&program, &["--dir", dir, "--sync", "--out", file], &write);
    let shown = || program.run(["trace", "show", file, "--format", "json"]).ends_with(0).stdout;
    let document: Value = serde_json::from_str(&shown()).unwrap();
    assert_eq!(document["runs"][0]["whole"], recorded);
    assert!(number(&recorded, "/latency_by_time/bins/0/max_ns") >= 0.0, "{recorded}");
    // An existing file is not overwritten, and the command does not run.
    let touched = program.home().join("touched");
    let words = ["trace", "--dir", dir, "--out", file, "--", "touch", touched.to_str().unwrap()];
    program.run(words).ends_with(3).complains("exists");
    assert!(!touched.exists());
    assert_eq!(serde_json::from_str::<Value>(&shown()).unwrap(), document);
    std::fs::write(program.home().join("empty.trace"), "").unwrap();
    program.run(["trace", "show", "empty.trace"]).ends_with(3).complains("is empty");
}

#[test]
fn a_bio_based_device_has_figures() {
    require_root!();
    let Ok(added) = std::fs::read_to_string("/sys/class/zram-control/hot_add") else {
        skip("this kernel has no zram");
        return;
    };
    let added = added.trim().to_owned();
    let node = format!("/dev/zram{added}");
    std::fs::write(format!("/sys/block/zram{added}/disksize"), "16M").unwrap();
    let outcome = std::panic::catch_unwind(|| {
        let program = program();
        let write = [
            "dd",
            "if=/dev/zero",
            &format!("of={node}"),
            "bs=4096",
            "count=30",
            "oflag=direct",
            "status=none",
        ]
        .map(str::to_owned);
        let own = program.home().join("z.trace");
        let options = ["--device", &node, "--out", own.to_str().unwrap()];
        let words = ["trace", "--format", "json"].into_iter().chain(options).chain(["--"]);
        let ran = program.run(words.chain(write.iter().map(String::as_str)));
        if ran.stderr.contains("no block trace") || !Path::new(&node).exists() {
            skip(&ran.stderr);
            return;
        }
        let document: Value = serde_json::from_str(&ran.ends_with(0).stdout).unwrap();
        let whole = &document["runs"][0]["whole"];
        assert_eq!(number(whole, "/writes/requests"), 30.0, "{whole}");
        assert_eq!(number(whole, "/writes/queue_to_complete/samples"), 30.0, "{whole}");
        assert_eq!(number(whole, "/sequential"), 29.0, "{whole}");
        assert!(whole.get("missing_bytes").is_none(), "{whole}");
    });
    let reset = std::fs::write("/sys/class/zram-control/hot_remove", &added);
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
    reset.unwrap();
}

#[test]
fn write_amplification_includes_asynchronous_and_mmap_writes() {
    let Some(place) = traceable("ext4", 64) else { return };
    require_tool!("fio");
    let program = program();
    let dir = place.path().to_str().unwrap();
    for engine in ["libaio", "io_uring", "mmap"] {
        let line = [
            "fio",
            "--name=a",
            "--rw=write",
            "--size=8m",
            "--bs=64k",
            "--direct=0",
            &format!("--ioengine={engine}"),
            &format!("--directory={dir}"),
            &format!("--filename={engine}"),
            "--output=/dev/null",
        ];
        let whole = traced(&program, &["--dir", dir, "--sync"], &line.map(str::to_owned));
        let Some(ratio) = whole.get("write_amplification").and_then(Value::as_f64) else {
            continue;
        };
        assert!((0.5..4.0).contains(&ratio), "{engine}: {whole}");
    }
}
