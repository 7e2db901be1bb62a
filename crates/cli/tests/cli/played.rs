//! Played disks: real filesystems on them, their statistics, flushes, and leftovers when the
//! playing process is killed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use treering_model::{PlayedCounts, PlayedStatus, Scope, Trial};
use treering_testkit::{
    FinishedCommand, Program, RunningProgram, require_loop_fs, require_root, require_tool, skip,
    temp_dir_in, wait_until,
};

use crate::{only_release, program};

/// Description of a disk whose head is fast enough for tests: half a millisecond a request.
const QUICK: &str = r#"
about = "A quick disk"
capacity-bytes = 100_000_000_000
queue = 32
uncertainty-percent = 20
[mechanics]
revolutions-per-minute = 90000
seek = { single-track-ms = 0.05, average-ms = 0.6, full-stroke-ms = 1.2 }
[transfer]
outer-bytes-per-second = 2_000_000_000
inner-bytes-per-second = 1_000_000_000
overhead-ms = 0.02
"#;

/// True if FUSE is available; prints a skip message otherwise.
pub(crate) fn can_play() -> bool {
    let is_there = Path::new("/dev/fuse").exists();
    if !is_there {
        skip("no /dev/fuse here");
    }
    is_there
}

pub(crate) fn quick_disk(program: &Program) -> PathBuf {
    let path = program.home().join("quick.toml");
    fs::write(&path, QUICK).unwrap();
    path
}

/// Path of the file behind a loop device.
fn shown_at(node: &str) -> PathBuf {
    let name = Path::new(node).file_name().unwrap().to_str().unwrap();
    let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap();
    PathBuf::from(file.trim_end())
}

fn status(shown: &Path) -> PlayedStatus {
    serde_json::from_slice(&fs::read(shown.with_file_name("status")).unwrap()).unwrap()
}

/// Attaches a played disk until the process is told to end; returns the device node.
pub(crate) fn attached(program: &Program, disk: &str, megabytes: u32) -> (RunningProgram, String) {
    let size = format!("{megabytes}M");
    let mut running = program.start(["lab", "disk", disk, "--size", &size]);
    let line = running.wait_for(" is played: ");
    let node = line.split_whitespace().find(|word| word.starts_with("/dev/loop")).unwrap();
    let node = node.to_owned();
    (running, node)
}

fn tool(program: &str, arguments: &[&str]) {
    FinishedCommand::run(Command::new(program).args(arguments)).ends_with(0);
}

/// Mount point of a device, unmounted when dropped.
pub(crate) struct Here(PathBuf);

impl Here {
    pub(crate) fn new(program: &Program, node: &str) -> Self {
        let point = program.home().join("mnt");
        fs::create_dir_all(&point).unwrap();
        tool("mount", &[node, point.to_str().unwrap()]);
        Self(point)
    }

    /// Path of the mount point.
    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let _unmounted_already = Command::new("umount").arg(&self.0).output();
    }
}

fn is_alive(pid: u32) -> bool {
    // A zombie process has no open files.
    fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut all| all.next().is_some())
}

/// Id of the process that plays the disk with this image.
fn player_of(image: &str) -> u32 {
    let is_it = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.get(1..4) == Some(&[b"lab".as_slice(), b"play", image.as_bytes()][..])
    };
    let player = || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.find(is_it)
    };
    wait_until("the disk is played", || player().is_some());
    player().unwrap()
}

/// Part of a mountinfo line that names xfs on the loop device over a played image, if there is such
/// a device.
fn device_over(image: &str) -> Option<String> {
    let mark = Path::new(image).file_stem()?.to_str()?.strip_prefix("treering-")?;
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let is_it = |device: &fs::DirEntry| {
        let file = fs::read_to_string(device.path().join("loop/backing_file"));
        file.is_ok_and(|file| file.contains(mark))
    };
    let device = devices.into_iter().find(is_it)?;
    Some(format!(" - xfs /dev/{} ", device.file_name().to_str()?))
}

fn number(trial: &Trial, name: &str) -> f64 {
    let metric = trial.metrics.iter().find(|one| one.name == name && one.scope == Scope::Trial);
    metric.unwrap_or_else(|| panic!("{name}: {:?}", trial.metrics)).value
}

#[test]
fn filesystems_on_a_played_disk_have_its_modelled_times() {
    require_root!();
    if !can_play() {
        return;
    }
    for (kind, images) in [("ext4", 1), ("xfs", 1), ("btrfs", 2)] {
        require_loop_fs!(kind);
        let program = program();
        let disk = quick_disk(&program);
        let plan = program.home().join("plan.toml");
        let text = format!(
            "rounds = 1\nwarm-up = false\ndisk = {disk:?}\nremount = true\n\
             [device]\nloop = \"400MiB\"\nsparse = true\ncount = {images}\n\
             [[variant]]\nfilesystem = \"{kind}\"\n\
             [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 60, size = \"16KiB\" }}\n"
        );
        fs::write(&plan, text).unwrap();
        let results = temp_dir_in(Path::new("/dev/shm"));
        let store = results.path().join("store");
        let (plan, store) = (plan.to_str().unwrap(), store.to_str().unwrap());
        program.run(["compare", plan, "--store", store]).ends_with(0);
        let exported = program.run(["export", "last", "--format", "json", "--store", store]);
        let mut document: Value = serde_json::from_str(&exported.ends_with(0).stdout).unwrap();
        let trial: Trial = serde_json::from_value(document["trials"][0].take()).unwrap();
        assert_eq!(trial.fact(PlayedStatus::DISK_FACT), disk.to_str(), "{kind}");
        assert_eq!(trial.fact(PlayedStatus::FINGERPRINT_FACT).map(str::len), Some(16));
        // Each file is synced, which takes at least a write and a flush.
        let (requests, flushes) =
            (number(&trial, "played_requests"), number(&trial, "played_flushes"));
        assert!(requests >= 60.0 && flushes >= 60.0, "{kind}: {requests} {flushes}");
        let busy = number(&trial, "played_busy_seconds");
        let parts = ["seek", "rotation", "transfer"];
        let parts = parts.map(|part| number(&trial, &format!("played_{part}_seconds")));
        assert!(parts.iter().sum::<f64>() <= busy && parts.iter().all(|one| *one > 0.0), "{kind}");
        // The trial cannot end before its disk is idle.
        assert!(trial.wall_ns as f64 / 1e9 > busy, "{kind}: {busy} s");
        assert!(number(&trial, "played_late_p99_ns") >= number(&trial, "played_late_p50_ns"));
    }
}

#[test]
fn flushed_data_are_in_the_image() {
    require_root!();
    require_loop_fs!("ext4");
    if !can_play() {
        return;
    }
    let program = program();
    let disk = quick_disk(&program);
    let (running, node) = attached(&program, disk.to_str().unwrap(), 64);
    let before = status(&shown_at(&node));
    assert_eq!(before.disk, disk.to_str().unwrap());
    tool("mkfs.ext4", &["-q", &node]);
    let image = before.image.clone();
    let words = b"written before the flush 4711";
    {
        let here = Here::new(&program, &node);
        let mut file = File::create(here.0.join("file")).unwrap();
        file.write_all(&words.repeat(200)).unwrap();
        file.sync_all().unwrap();
        let found = fs::read(&image).unwrap();
        assert!(found.windows(words.len()).any(|window| window == words));
        let after = status(&shown_at(&node)).counts.since(&before.counts);
        assert!(after.flushes > 0 && after.writes > 0 && after.bytes > 0, "{after:?}");
        assert!(after.late.values().sum::<u64>() == after.requests, "{after:?}");
    }
    let player = player_of(&image);
    running.send("INT");
    let ended = running.finish().ends_with(0);
    assert!(ended.stdout.starts_with("/dev/loop") && ended.stderr.contains("answers late by"));
    assert!(!Path::new(&image).exists() && !is_alive(player));
}

/// A program that reads every file takes as long on a played disk as the replay of the trace of the
/// same reads predicts.
#[test]
fn the_modelled_cost_of_a_trace_equals_the_played_time() {
    require_root!();
    require_loop_fs!("ext4");
    if !can_play() {
        return;
    }
    let program = program();
    let disk = quick_disk(&program);
    let disk = disk.to_str().unwrap();
    let (running, node) = attached(&program, disk, 256);
    tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &node]);
    let counts = || status(&shown_at(&node)).counts;
    let here = Here::new(&program, &node);
    for number in 0..600usize {
        fs::write(here.0.join(format!("f{}", number * 7919 % 600)), vec![b'x'; 20_000]).unwrap();
    }
    let dir = here.0.to_str().unwrap();
    tool("sync", &["-f", dir]);
    tool("sh", &["-c", "echo 3 > /proc/sys/vm/drop_caches"]);
    let trace = program.home().join("cold.trace");
    let before = counts();
    let order = format!("ls {dir} | sort -R --random-source=/bin/ls");
    let read = format!("for f in $({order}); do cat {dir}/$f; done > /dev/null");
    let words = ["trace", "--dir", dir, "--out", trace.to_str().unwrap(), "--", "sh", "-c", &read];
    let recorded = program.run(words);
    let done: PlayedCounts = counts().since(&before);
    if recorded.code == Some(0) && trace.exists() {
        let words = ["trace", "cost", trace.to_str().unwrap(), "--disk", disk, "--format", "csv"];
        let cost = program.run(words).ends_with(0).stdout;
        let modelled = busy_of(&cost);
        let played = done.busy_ns as f64 / 1e9;
        assert!(done.requests > 500 && played > 0.05, "{done:?}");
        assert!((modelled / played - 1.0).abs() < 0.15, "{modelled} s, played {played} s\n{cost}");
    } else {
        skip(&format!("no block traces here: {}", recorded.stderr.trim()));
    }
    drop(here);
    running.send("INT");
    running.finish().ends_with(0);
}

/// Busy time of the only device in a table of costs.
fn busy_of(csv: &str) -> f64 {
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let head =
        rows.iter().position(|row| row.iter().any(|cell| cell.starts_with("busy ["))).unwrap();
    let column = rows[head].iter().position(|cell| cell.starts_with("busy [")).unwrap();
    rows[head + 1][column].trim().parse().unwrap_or_else(|_| panic!("{csv}"))
}

#[test]
fn killed_processes_leave_only_releasable_devices() {
    require_root!();
    require_loop_fs!("xfs");
    require_tool!("kill");
    if !can_play() {
        return;
    }
    let _turn = only_release();
    for stops_the_player in [false, true] {
        let program = program();
        let disk = quick_disk(&program);
        let plan = program.home().join("plan.toml");
        let text = format!(
            "rounds = 1\nwarm-up = false\n[device]\nloop = \"1GiB\"\nsparse = true\n\
             [[variant]]\nfilesystem = \"xfs\"\ndisk = {disk:?}\n\
             [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 30000, size = \"16KiB\" }}\n"
        );
        fs::write(&plan, text).unwrap();
        let results = temp_dir_in(Path::new("/dev/shm"));
        let store = results.path().join("store");
        let words = ["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()];
        let running = program.start(words);
        let run = running.id();
        let played = || {
            let listed = program.run(["lab", "list", "--format", "csv"]).ends_with(0).stdout;
            let mut lines = listed.lines().filter(|line| line.contains("played disk"));
            let line = lines.find(|line| line.contains(&format!("process {run})")))?;
            // The device name follows in the line.
            let mut words = line.split([' ', ',']);
            words.find(|word| word.contains("/treering-")).map(str::to_owned)
        };
        wait_until("a played disk is listed", || played().is_some());
        let image = played().unwrap();
        let player = player_of(&image);
        let mounted = || fs::read_to_string("/proc/self/mountinfo").unwrap();
        let works = || device_over(&image).is_some_and(|node| mounted().contains(&node));
        wait_until("it works", works);
        sleep(Duration::from_millis(300));
        running.send("KILL");
        running.finish();
        assert!(is_alive(player), "the filesystem has lost its disk");
        if stops_the_player {
            tool("kill", &["-STOP", &player.to_string()]);
        }
        let released = program.run(["lab", "release"]).ends_with(0).stdout;
        assert!(released.contains(&format!("freed played disk {image}")), "{released}");
        assert!(!Path::new(&image).exists());
        wait_until("the player ends", || !is_alive(player));
        assert!(!mounted().contains("fuse.treering") || played().is_none());
    }
}

#[test]
fn a_disk_whose_process_dies_fails_the_trial_and_leaves_nothing() {
    require_root!();
    require_loop_fs!("ext4");
    require_tool!("kill");
    if !can_play() {
        return;
    }
    let program = program();
    let disk = quick_disk(&program);
    let images = program.home().join("images");
    fs::create_dir(&images).unwrap();
    let plan = program.home().join("plan.toml");
    let text = format!(
        "rounds = 1\nwarm-up = false\n\
         [device]\nloop = \"1GiB\"\nsparse = true\nimages = {images:?}\ndisk = {disk:?}\n\
         [[variant]]\nfilesystem = \"ext4\"\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 30000, size = \"16KiB\" }}\n"
    );
    fs::write(&plan, text).unwrap();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("store");
    let words = ["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()];
    let mut running = program.start(words);
    running.wait_for("round 1");
    let image = || {
        let found = fs::read_dir(&images).unwrap().flatten().next();
        found.map(|entry| entry.path().to_str().unwrap().to_owned())
    };
    wait_until("there is an image", || image().is_some());
    let player = player_of(&image().unwrap());
    tool("kill", &["-KILL", &player.to_string()]);
    let ended = running.finish();
    assert_ne!(ended.code, None, "{}", ended.stderr);
    assert_eq!(image(), None, "{}", ended.stderr);
}

/// Compares the time to read the aged tree of a source history of a thousand steps, from a
/// repository made here, with that of its copy on another played disk, by the disks' own clocks.
#[test]
fn an_aged_history_is_slower_to_read_than_its_copy() {
    require_root!();
    require_loop_fs!("ext4");
    require_tool!("git");
    require_tool!("awk");
    if !can_play() {
        return;
    }
    let program = program();
    let disk = quick_disk(&program);
    let home = program.home();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/played/repository.sh");
    let (repository, history) = (home.join("repository"), home.join("history"));
    let [repository, history] = [&repository, &history].map(|path| path.to_str().unwrap());
    tool("sh", &[script, repository, "1000"]);
    program.run(["age", "extract", repository, "-o", history]).ends_with(0);
    let disks = ["aged", "fresh"].map(|name| {
        let (running, node) = attached(&program, disk.to_str().unwrap(), 400);
        tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &node]);
        let point = home.join(name);
        fs::create_dir(&point).unwrap();
        tool("mount", &[&node, point.to_str().unwrap()]);
        (running, node, Here(point))
    });
    let [aged, fresh] = [0, 1].map(|at: usize| disks[at].2.0.to_str().unwrap());
    let words = ["--profile", "source-history", "--history", history, "--no-store"];
    program.run(["age", aged].iter().chain(&words)).ends_with(0);
    tool("cp", &["-a", &format!("{aged}/age-0"), fresh]);
    tool("sync", &["-f", fresh]);
    let times = [0, 1].map(|at: usize| {
        let (_, node, here) = &disks[at];
        tool("sh", &["-c", "echo 3 > /proc/sys/vm/drop_caches"]);
        let before = status(&shown_at(node)).counts;
        let read = format!("find {} -type f -exec cat {{}} + > /dev/null", here.0.display());
        tool("sh", &["-c", &read]);
        let done = status(&shown_at(node)).counts.since(&before);
        assert!(done.bytes > 10 << 20, "{done:?}");
        done.seek_ns as f64
    });
    // The time of seeks follows from where the files are, not from when they are read: two runs had
    // 10 and 14 times as much. The whole time had 1.21 to 1.32, and less on a busy machine.
    assert!(times[0] / times[1] > 2.0, "{times:?}");
    for (running, _, here) in disks {
        drop(here);
        running.send("INT");
        running.finish().ends_with(0);
    }
}

#[test]
fn unplayable_disks_are_refused_first() {
    let program = program();
    let plan = program.home().join("plan.toml");
    let job = "[[job]]\nworkload = \"fs_mark\"\n";
    for (text, complaint) in [
        ("disk = \"hdd-7201\"\n[[variant]]\nfilesystem = \"ext4\"\n", "did you mean `hdd-7200`"),
        (
            "[device]\nloop = \"2GiB\"\ndisk = \"hp97560\"\n[[variant]]\nfilesystem = \"ext4\"\n",
            "too small",
        ),
        (
            "[device]\nblock = \"/dev/sdz\"\ndisk = \"hdd-7200\"\n[[variant]]\n",
            "`disk` is for loop images",
        ),
        (
            "disk = \"hdd-7200\"\n[device]\ndirectory = \"/tmp\"\n[[variant]]\n",
            "over loop images only",
        ),
        ("[[variant]]\nfilesystem = \"ext4\"\ndisk = \"./a.toml\"\n", "does not begin with /"),
    ] {
        fs::write(&plan, format!("{text}{job}")).unwrap();
        program
            .run(["compare", plan.to_str().unwrap(), "--dry-run"])
            .ends_with(2)
            .complains(complaint);
    }
    program.run(["lab", "disk", "tape"]).complains("hdd-7200");
    let compare = ["compare", "--filesystems", "ext4,xfs", "--disk", "tape", "--dry-run"];
    program.run(compare).complains("hdd-7200");
}

#[test]
fn every_disk_that_the_documents_name_can_be_played_and_is_told_in_the_help() {
    let program = program();
    let disks = include_str!("../../../../docs/disks.md");
    let plans = include_str!("../../../../docs/plan.md");
    let names: Vec<&str> = treering_trace::ModelledDisk::names().collect();
    assert!(names.contains(&"hdd-7200-500g"), "{names:?}");
    for name in names {
        let row = format!("\n| `{name}` |");
        assert!(disks.contains(&row) && plans.contains(&format!("`{name}`")), "{name}");
        for words in [["lab", "disk"], ["trace", "cost"]] {
            let help = program.run([words[0], words[1], "--help"]).ends_with(0).stdout;
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains(&format!("{name},")), "{words:?} {name}: {help}");
        }
        if can_play() {
            let (running, _node) = attached(&program, name, 64);
            running.send("INT");
            running.finish().ends_with(0);
        }
    }
}
