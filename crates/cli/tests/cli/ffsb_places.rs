//! Locations of FFSB's files: remains of an earlier run or of other programs, several filesystems,
//! aging, direct I/O.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_testkit::{FinishedCommand, LoopFs, require_loop_fs, temp_dir_in, tree_of};

use crate::ffsb::{Profile, data, figure, rows};
use crate::program;
use crate::trial::last;

/// Inode numbers of the files, to detect replaced files.
fn inodes(place: &Path) -> BTreeSet<u64> {
    let inode = |path: String| {
        let metadata = fs::symlink_metadata(place.join(path)).unwrap();
        std::os::unix::fs::MetadataExt::ino(&metadata)
    };
    tree_of(place).into_keys().map(inode).collect()
}

/// File names from `datafile0` on.
fn names(count: u32) -> BTreeSet<String> {
    (0..count).map(|number| format!("datafile{number}")).collect()
}

#[test]
fn files_of_an_earlier_run_are_recreated_or_reused() {
    let program = program();
    let place = program.home().join("w");
    let mix = "create_weight=3\ndelete_weight=1\ncreatedir_weight=1\nmetaop_weight=1";
    Profile::new("num_files=30\nnum_dirs=5", mix).run(&program).ends_with(0);
    assert!(data(&place).len() > 30);
    assert!(fs::read_dir(place.join("meta")).unwrap().next().is_some());
    // With other counts, no files of the first run stay, even if they may be reused.
    let with = |reuse: u8, files: u32| {
        let files = format!("num_files={files}\nnum_dirs=2\nreuse={reuse}");
        Profile::new(&files, "stat_weight=1").seconds(0)
    };
    let ran = with(1, 20).run(&program).ends_with(0);
    assert!(ran.stdout.contains("recreating new fileset\n"), "{ran}");
    assert_eq!(data(&place), names(20));
    assert_eq!(fs::read_dir(place.join("meta")).unwrap().count(), 0);
    let dirs = fs::read_dir(place.join("data")).unwrap();
    assert_eq!(dirs.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), 2);
    // Equal files are reused if the profile permits it.
    let original_inodes = inodes(&place);
    let ran = with(1, 20).run(&program).ends_with(0);
    assert!(ran.stdout.contains("checking existing fs: w\n"), "{ran}");
    assert_eq!(inodes(&place), original_inodes);
    let ran = with(0, 20).run(&program).ends_with(0);
    assert!(ran.stdout.contains("creating new fileset w\n"), "{ran}");
    // A file of another size and a missing file are detected.
    fs::write(place.join("data/datafile20"), "x").unwrap();
    assert!(with(1, 21).run(&program).ends_with(0).stdout.contains("creating new"));
    let one = tree_of(&place.join("data")).into_keys().next().unwrap();
    fs::remove_file(place.join("data").join(one)).unwrap();
    assert!(with(1, 21).run(&program).ends_with(0).stdout.contains("creating new"));
    assert_eq!(data(&place), names(21));
}

#[test]
fn foreign_files_are_not_reused() {
    for (paths, dirs) in [
        (["data/datafile18446744073709551615", "data/datafile0"], 0),
        (["data/datafile9999999999999999", "data/datafile0"], 0),
        (["data/datafile0", "data/datadir0/datafile0"], 1),
    ] {
        let program = program();
        let place = program.home().join("w");
        for dir in ["meta", "data/datadir0"].iter().take(1 + dirs) {
            fs::create_dir_all(place.join(dir)).unwrap();
        }
        fs::create_dir_all(place.join("data")).unwrap();
        for path in paths {
            fs::write(place.join(path), [0; 5000]).unwrap();
        }
        let files = format!("reuse=1\nnum_files=2\nnum_dirs={dirs}");
        let profile = Profile::new(&files, "delete_weight=1").seconds(100_000);
        let ran = profile.run(&program).ends_with(1).complains("no files are left");
        assert_eq!(rows(&ran.stdout)[0].transactions, 2);
        assert!(ran.stdout.contains("recreating new fileset\n"), "{ran}");
    }
}

/// A sparse file of 4.1 GiB; the original could not read beyond 4 GiB.
#[test]
fn a_large_file_of_an_earlier_run_is_read_at_random() {
    let program = program();
    let place = program.home().join("w");
    for dir in ["data", "meta"] {
        fs::create_dir_all(place.join(dir)).unwrap();
    }
    let file = fs::File::create(place.join("data/datafile0")).unwrap();
    file.set_len(4403 << 20).unwrap();
    let mut profile = Profile::new("", "read_random=1\nread_weight=1\nreadall_weight=0");
    profile.files = "num_files=1\nreuse=1\nmin_filesize=4403m\nmax_filesize=4403m".to_owned();
    let ran = profile.run(&program).ends_with(0);
    assert!(ran.stdout.contains("checking existing fs: w\n"), "{ran}");
    assert!(rows(&ran.stdout)[0].transactions > 0);
    assert_eq!(file.metadata().unwrap().len(), 4403 << 20);
}

#[test]
fn foreign_files_end_the_run_before_any_removal() {
    let program = program();
    let place = program.home().join("w");
    let profile = Profile::new("num_files=10\nnum_dirs=2", "stat_weight=1").seconds(0);
    profile.run(&program).ends_with(0);
    let original_inodes = inodes(&place);
    for (name, what) in [
        ("data/photo.jpg", "file"),
        ("data/datafile007", "file"),
        ("data/datadir0/fillfile1", "file"),
        ("meta/datafile1", "file"),
        ("data/datafile77", "directory"),
        ("data/datafile78", "link"),
    ] {
        let path = place.join(name);
        let made_by_somebody = match what {
            "file" => fs::write(&path, "mine"),
            "directory" => fs::create_dir(&path),
            _ => symlink("/etc/passwd", &path),
        };
        made_by_somebody.unwrap();
        let word = path.file_name().unwrap().to_str().unwrap().to_owned();
        let ran = profile.run(&program).ends_with(1).complains(&word);
        assert!(ran.stderr.contains("nothing was removed"), "{ran}");
        let said = ["creating new", "fs setup took", "Setup complete", "operations ran"];
        let whole_output = ran.stdout.clone() + &ran.stderr;
        assert!(said.iter().all(|said| !whole_output.contains(said)), "{ran}");
        assert!(path.symlink_metadata().is_ok(), "{name}");
        assert!(inodes(&place).is_superset(&original_inodes), "{name}");
        let gone = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        gone.unwrap();
    }
    // Links in place of the directories are not followed.
    fs::rename(place.join("data"), place.join("elsewhere")).unwrap();
    symlink(place.join("elsewhere"), place.join("data")).unwrap();
    profile.run(&program).ends_with(1);
    assert!(inodes(&place.join("elsewhere")).is_superset(&original_inodes));
}

/// Profile of two filesystems, with one thread in each and one in both.
fn two(first: &Path, second: &Path) -> Profile {
    let mut profile = Profile::new("num_files=10\nnum_dirs=2", "create_weight=1\nop_delay=5");
    profile = profile.at(first);
    let (first, second) = (first.display(), second.display());
    profile.files += &format!("\n[end]\n[filesystem]\nlocation={second}\nclone={first}");
    profile.group += &format!(
        "\n[end]\n[threadgroup]\nnum_threads=1\nbindfs={first}\nmetaop_weight=1\nop_delay=5\n\
         [end]\n[threadgroup]\nnum_threads=1\nbindfs={second}\ncreatedir_weight=1\nop_delay=5"
    );
    profile
}

#[test]
fn several_filesystems_are_used_concurrently() {
    let program = program();
    let (first, second) = (program.home().join("a"), program.home().join("b"));
    fs::create_dir(&second).unwrap();
    two(&first, &second).run(&program).ends_with(0);
    let created = [&first, &second].map(|place| data(place).len() - 10);
    assert!(created.iter().all(|files| *files > 0), "{created:?}");
    let entries = |path: PathBuf| fs::read_dir(path).unwrap().count();
    assert!(entries(first.join("meta")) > 0 && entries(second.join("meta")) == 0);
    assert!(!first.join("data/datadir2").exists() && second.join("data/datadir2").exists());
    let operations = figure(&last(&program), "operations");
    assert!(operations > created.iter().sum::<usize>() as f64);
    // A foreign file in the second filesystem stops the run before the first is touched.
    let original_inodes = inodes(&first);
    fs::write(second.join("data/mine"), "mine").unwrap();
    two(&first, &second).run(&program).ends_with(1).complains("b/data holds the entry mine");
    assert_eq!(inodes(&first), original_inodes);
}

#[test]
fn one_directory_under_two_names_is_refused() {
    let program = program();
    let (first, link) = (program.home().join("a"), program.home().join("l"));
    fs::create_dir_all(first.join("data")).unwrap();
    symlink(&first, &link).unwrap();
    for second in [link.clone(), PathBuf::from("./a"), PathBuf::from("l/../a")] {
        two(&first, &second).run(&program).ends_with(1).complains("are one directory");
    }
    two(&first, &link.join("data/x")).run(&program).ends_with(1).complains("in the files of");
    assert_eq!(fs::read_dir(&first).unwrap().count(), 1, "nothing was made");
}

#[test]
fn locations_of_any_length_are_created() {
    let program = program();
    let room = program.home().join("r");
    fs::create_dir(&room).unwrap();
    let before = room.to_str().unwrap().len() + 1;
    for length in [24, 40, 41, 255].into_iter().filter(|length| *length > before) {
        let location = room.join("x".repeat((length - before).min(250)));
        let profile = Profile::new("num_files=3", "stat_weight=1").seconds(0).at(&location);
        profile.run(&program).ends_with(0);
        assert_eq!(data(&location), names(3));
    }
    for name in ["x".repeat(24), "y".repeat(40)] {
        let profile = Profile::new("num_files=3", "stat_weight=1").seconds(0).at(&name);
        profile.run(&program).ends_with(0);
        assert_eq!(data(&program.home().join(name)), names(3));
    }
    // Only one missing level of directories is created.
    let profile = Profile::new("num_files=3", "stat_weight=1").seconds(0).at("n/m");
    let ran = profile.run(&program);
    assert!(ran.code != Some(0) && !program.home().join("n").exists(), "{ran}");
}

/// Percentage of a filesystem's blocks that are used.
fn used_percent(place: &Path) -> f64 {
    let mut command = Command::new("stat");
    let ran = FinishedCommand::run(command.args(["-f", "-c", "%b %f"]).arg(place)).ends_with(0);
    let numbers: Vec<f64> =
        ran.stdout.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (1.0 - numbers[1] / numbers[0]) * 100.0
}

/// Ages a filesystem with files of `bytes` bytes; returns the percentage in use.
fn aged(kind: &str, megabytes: u64, bytes: &str) -> f64 {
    let (program, place) = (program(), LoopFs::new(kind, megabytes));
    let location = place.path().join("w");
    let mut profile = Profile::new("num_files=5\nnum_dirs=1", "stat_weight=1").at(&location);
    profile.files += &format!(
        "\nmin_filesize={bytes}\nmax_filesize={bytes}\nagefs=1\ndesired_util=0.4\n[threadgroup]\n\
         num_threads=3\ncreate_weight=4\nappend_weight=1\ndelete_weight=2\nwrite_size=20k\n\
         write_blocksize=16k\n[end]"
    );
    let ran = profile.seconds(0).run(&program).ends_with(0);
    assert!(ran.stdout.contains(&format!("aging fs {} from 0.", location.display())), "{ran}");
    let there = data(&location);
    assert!(there.iter().filter(|name| name.starts_with("fillfile")).count() > 10);
    assert!(there.is_superset(&names(5)));
    used_percent(place.path())
}

#[test]
fn aging_ends_at_the_desired_utilization() {
    // xfs frees the blocks of deleted files later: on a busy machine, a quarter of the blocks that
    // were used at the end of aging were free afterwards.
    for (kind, megabytes, least) in [("ext4", 256, 32.0), ("xfs", 320, 20.0)] {
        require_loop_fs!(kind);
        let used = aged(kind, megabytes, "32k");
        assert!((least..46.0).contains(&used), "{kind}: {used} %");
    }
}

/// Sixteen files for each of three threads would fill three quarters of the filesystem. At 40 %,
/// three files are being written, and five more follow.
#[test]
fn aging_with_large_files_ends_at_the_desired_utilization() {
    for (kind, megabytes, least) in [("ext4", 256, 32.0), ("xfs", 320, 20.0)] {
        require_loop_fs!(kind);
        let used = aged(kind, megabytes, "4m");
        assert!((least..56.0).contains(&used), "{kind}: {used} %");
    }
}

#[test]
fn direct_io_transfers_whole_blocks() {
    for kind in ["ext4", "xfs"] {
        require_loop_fs!(kind);
        let (program, place) = (program(), LoopFs::new(kind, 320));
        let location = place.path().join("w");
        let mut profile = Profile::new(
            "reuse=1\nnum_dirs=2",
            "read_weight=1\nreadall_weight=1\nwrite_weight=1\nwriteall_weight=1\nread_random=1\n\
             write_fsync_weight=1\nappend_weight=1\ncreate_weight=1\ndelete_weight=1\n\
             write_random=1\nstat_weight=1\nopen_close_weight=1\nop_delay=1\nwrite_size=8k",
        );
        profile = profile.at(&location);
        profile.files += "\nnum_files=30\nmin_filesize=1\nmax_filesize=30001";
        // Files of a run without direct I/O have sizes that are not multiples of a block, and are
        // not reused.
        profile.clone().seconds(0).run(&program).ends_with(0);
        let direct = profile.top("directio=1");
        let ran = direct.run(&program).ends_with(0);
        ran.clone().complains("whole blocks of 4096 bytes");
        assert!(ran.stdout.contains("recreating new fileset") && !ran.stderr.contains("fails"));
        let sizes: Vec<u64> = tree_of(&location).into_values().collect();
        assert!(sizes.iter().all(|bytes| bytes % 4096 == 0), "{kind}: {sizes:?}");
        assert_eq!(rows(&ran.stdout).len(), 10, "{ran}");
        // Files of a run with direct I/O are reused, although 30,001 bytes became 32,768.
        direct.clone().seconds(0).run(&program).ends_with(0);
        let ran = direct.seconds(0).run(&program).ends_with(0);
        assert!(ran.stdout.contains("checking existing fs: "), "{ran}");
    }
}

#[test]
fn a_location_has_one_run_and_clean_removes_leftovers_of_a_killed_one() {
    // If results were on the filesystem under test, they would wait in memory and stay there after
    // a kill.
    let results = temp_dir_in(Path::new("/dev/shm"));
    let program = program().with_data(results.path().join("data"));
    let profile = Profile::new("num_files=20", "stat_weight=1\nop_delay=5").seconds(100_000);
    let profile = profile.top("callout=echo begins >&2");
    profile.write(&program);
    let mut first = program.start(["ffsb", "p.ffsb"]);
    first.wait_for("begins");
    let original_inodes = inodes(&program.home().join("w"));
    let ran = program.run(["ffsb", "p.ffsb"]).complains("another run is working in");
    assert!(ran.code != Some(0) && inodes(&program.home().join("w")) == original_inodes, "{ran}");
    first.send("KILL");
    assert_eq!(first.finish().code, None);
    // The next run recognises names of FFSB, and replaces the files.
    profile.clone().seconds(1).run(&program).ends_with(0);
    profile.write(&program);
    let words = ["run", "ffsb", "p.ffsb", "--dir", "d", "--callout", "run"];
    let mut native = program.start(words);
    native.wait_for("begins");
    native.send("KILL");
    assert_eq!(native.finish().code, None);
    assert_eq!(data(&program.home().join("d/ffsb-0")), names(20));
    fs::create_dir(program.home().join("d/ffsb-mine")).unwrap();
    program.run(words).ends_with(3).complains("a run that was killed");
    program.run(["clean", "d"]).ends_with(0);
    let left = fs::read_dir(program.home().join("d")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["ffsb-mine"]);
}
