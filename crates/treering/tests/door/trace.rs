//! Block traces of real devices: what is recorded, what others read of it, and what is drawn.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use treering_testkit::{LoopFs, Program, Ran, require_loop_fs, require_root, skip, temp_dir};

use crate::program;
use crate::trial::last;

/// Whether events can be recorded here; says why not.
fn can_trace(place: &LoopFs) -> bool {
    let dir = place.path().to_str().unwrap();
    let tried = program().run(["trace", "--dir", dir, "--way", "perf_event", "--", "true"]);
    if tried.code != Some(0) {
        skip(&format!("no block traces here: {}", tried.stderr.trim()));
    }
    tried.code == Some(0)
}

/// Writes so many blocks of 4 KiB around the page cache.
fn write_direct(file: &Path, blocks: u32) -> Vec<String> {
    let (of, count) = (format!("of={}", file.display()), format!("count={blocks}"));
    ["dd", "if=/dev/zero", &of, "bs=4096", &count, "oflag=direct", "status=none"]
        .map(str::to_owned)
        .to_vec()
}

/// Records a command; the whole as JSON.
fn traced(program: &Program, options: &[&str], command: &[String]) -> Value {
    let words = ["trace", "--format", "json"].into_iter().chain(options.iter().copied());
    let words = words.chain(["--"]).chain(command.iter().map(String::as_str));
    let ran = program.run(words).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["trace_version"], 1);
    document["runs"][0]["whole"].clone()
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {value}"))
}

#[test]
fn every_request_is_recorded_both_ways() {
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 64);
    if !can_trace(&place) {
        return;
    }
    let program = program();
    let dir = place.path().to_str().unwrap();
    for way in ["perf_event", "tracefs"] {
        let file = place.path().join(way);
        let whole =
            traced(&program, &["--dir", dir, "--sync", "--way", way], &write_direct(&file, 200));
        // The journal writes besides.
        assert!(number(&whole, "/writes/requests") >= 200.0, "{way} {whole}");
        assert!(number(&whole, "/writes/bytes") >= 819_200.0, "{way} {whole}");
        assert_eq!(number(&whole, "/lost_events"), 0.0, "{way}");
        assert!(number(&whole, "/write_amplification") >= 1.0, "{way} {whole}");
        let timed = number(&whole, "/writes/issue_to_complete/samples");
        assert!(timed >= 200.0 && number(&whole, "/depth_max") >= 1.0, "{way} {whole}");
        let device = whole.pointer("/devices/0/name").unwrap().as_str().unwrap();
        assert!(device.starts_with("loop"), "{device}");
    }
    let counters = ["--dir", dir, "--sync", "--way", "statistics"];
    let whole = traced(&program, &counters, &write_direct(&place.path().join("s"), 100));
    assert!(number(&whole, "/writes/requests") >= 100.0, "{whole}");
    assert_eq!(whole["ordered"], 0);
}

#[test]
fn a_partition_is_told_from_its_disk() {
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
    // 1 MiB from the beginning of the second partition, and nothing of the first.
    assert_eq!(shown("1MiB:1.2MiB"), 30.0);
    assert_eq!(shown("0:"), 30.0);
}

#[test]
fn the_viewers_of_blktrace_accept_what_is_written() {
    require_loop_fs!("xfs");
    let place = LoopFs::new("xfs", 400);
    if !can_trace(&place) {
        return;
    }
    let program = program();
    let dir = place.path().to_str().unwrap();
    let out = program.home().join("blk");
    let own = program.home().join("own.trace");
    let options =
        ["--dir", dir, "--blktrace-out", out.to_str().unwrap(), "--out", own.to_str().unwrap()];
    let whole = traced(&program, &options, &write_direct(&place.path().join("f"), 300));
    // Both files say the same.
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
    // What is there is not mixed with another trace.
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
    let told = tool("btt", &["-i", "dump"]).unwrap_or_default();
    assert!(told.is_empty() || told.contains("D2C"), "{told}");
    if tool("iowatcher", &["-t", device, "-o", "picture.svg"]).is_some() {
        assert!(std::fs::read_to_string(out.join("picture.svg")).unwrap().contains("</svg>"));
    }
}

#[test]
fn plots_are_small_and_whole() {
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 64);
    if !can_trace(&place) {
        return;
    }
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
    program
        .run(["trace", "plot", one, "-o", "plot.png"])
        .ends_with(2)
        .complains(".svg or an .html");
    std::fs::write(program.home().join("no.trace"), "no trace at all, but long enough").unwrap();
    program.run(["trace", "show", "no.trace"]).ends_with(3).complains("byte 0");
    program.run(["trace", "show", "nowhere.trace"]).ends_with(3);
}

#[test]
fn a_command_keeps_its_exit_code() {
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 64);
    if !can_trace(&place) {
        return;
    }
    let program = program();
    let dir = place.path().to_str().unwrap();
    let run = |command: &[&str]| -> Ran {
        program.run(["trace", "--dir", dir, "--"].iter().chain(command))
    };
    run(&["sh", "-c", "exit 7"]).ends_with(7);
    run(&["sh", "-c", "kill -TERM $$"]).ends_with(143);
    run(&["no-such-program-anywhere"]).ends_with(127);
    program
        .run(["trace", "--dir", "/proc", "--", "true"])
        .ends_with(3)
        .complains("no block device");
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
fn a_run_has_the_requests_of_its_phases() {
    require_loop_fs!("xfs");
    let place = LoopFs::new("xfs", 400);
    if !can_trace(&place) {
        return;
    }
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
    require_loop_fs!("xfs");
    let place = LoopFs::new("xfs", 400);
    if !can_trace(&place) {
        return;
    }
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
