//! `treering layout`, compared with tools that read the same structures: e2freefrag, xfs_db,
//! filefrag and btrfs.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use treering_testkit::{
    LoopFs, Program, TempDir, require_loop_fs, require_root, require_tool, skip, temp_dir_in,
};

use crate::program;

/// An image with a filesystem, unmounted when this is dropped, even if the test panics.
struct Image {
    kind: &'static str,
    file: PathBuf,
    mounted: PathBuf,
    is_mounted: bool,
    _dir: TempDir,
}

impl Image {
    fn new(kind: &'static str, mebibytes: u64, options: &[&str]) -> Self {
        let dir = temp_dir_in(&std::env::temp_dir());
        // Other users must be able to read the image.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (file, mounted) = (dir.path().join("image"), dir.path().join("mounted"));
        File::create(&file).unwrap().set_len(mebibytes << 20).unwrap();
        fs::create_dir(&mounted).unwrap();
        said(Command::new(format!("mkfs.{kind}")).arg("-q").args(options).arg(&file));
        let mut image = Self { kind, file, mounted, is_mounted: false, _dir: dir };
        image.mount();
        fs::set_permissions(&image.mounted, fs::Permissions::from_mode(0o755)).unwrap();
        image
    }

    fn mount(&mut self) {
        let mut mount = Command::new("mount");
        said(mount.args(["-o", "loop", "-t", self.kind]).arg(&self.file).arg(&self.mounted));
        self.is_mounted = true;
    }

    fn unmount(&mut self) {
        said(Command::new("umount").arg(&self.mounted));
        self.is_mounted = false;
    }

    /// Loop device of the mounted filesystem.
    fn device(&self) -> String {
        said(Command::new("findmnt").args(["-n", "-o", "SOURCE"]).arg(&self.mounted))
            .trim()
            .to_owned()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.is_mounted {
            let _reported_by_the_panic_before = Command::new("umount").arg(&self.mounted).status();
        }
    }
}

/// Standard output of a tool, which must succeed.
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Layout as JSON.
fn layout(program: &Program, path: &Path, more: &[&str]) -> Value {
    let words = [&["layout", path.to_str().unwrap(), "--format", "json"], more].concat();
    let ran = program.run(words).ends_with(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn number(value: &Value, path: &str) -> f64 {
    let value_at_path = value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value}"));
    value_at_path.as_f64().unwrap_or_else(|| panic!("{path} is no number: {value}"))
}

fn whole(value: &Value, path: &str) -> u64 {
    let value_at_path = value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value}"));
    value_at_path.as_u64().unwrap_or_else(|| panic!("{path} is no whole number: {value}"))
}

/// Extents and bytes of free space by size, from the JSON.
fn histogram(reported: &Value) -> Vec<(u64, u64, u64)> {
    let bins = reported["free_space"]["histogram"].as_array().unwrap();
    let of =
        |bin: &Value| (whole(bin, "/from_bytes"), whole(bin, "/extents"), whole(bin, "/bytes"));
    bins.iter().map(of).collect()
}

/// Creates files of many sizes and removes every third, so that the free space is fragmented.
fn age(dir: &Path) {
    for folder in 0..20 {
        let folder = dir.join(format!("d{folder}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..60_usize {
            let bytes = vec![b'x'; (file * 7919) % 150_000 + 5000];
            fs::write(folder.join(format!("f{file}")), bytes).unwrap();
        }
        sync(dir);
        for file in (0..60).step_by(3) {
            fs::remove_file(folder.join(format!("f{file}"))).unwrap();
        }
    }
    sync(dir);
}

fn sync(dir: &Path) {
    said(Command::new("sync").arg("-f").arg(dir));
}

#[test]
fn free_space_of_ext4_equals_e2freefrag() {
    require_loop_fs!("ext4");
    let mut image = Image::new("ext4", 256, &[]);
    age(&image.mounted);
    image.unmount();
    let reported = layout(&program(), &image.file, &[]);
    let e2freefrag = said(Command::new("e2freefrag").arg(&image.file));
    let line = |begin: &str| {
        let line = e2freefrag.lines().find_map(|line| line.strip_prefix(begin)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(whole(&reported, "/free_space/extents"), line("Num. free extent: "));
    assert!(line("Num. free extent: ") > 100, "{e2freefrag}");
    assert_eq!(whole(&reported, "/free_space/bytes"), line("Free blocks: ") * line("Blocksize: "));
    assert_eq!(histogram(&reported), e2freefrag_bins(&e2freefrag, line("Blocksize: ")));
    assert_eq!(reported["filesystem"], "ext4");
    assert!(reported["through"].as_str().unwrap().contains("noload"));
}

/// Parses lines such as `   4K...    8K-  :          1281          1281    0.37%`.
fn e2freefrag_bins(text: &str, block_bytes: u64) -> Vec<(u64, u64, u64)> {
    let bin = |line: &str| {
        let (range, counts) = line.split_once(':')?;
        let from = range.split("...").next()?.trim();
        let unit = match from.chars().last()? {
            'K' => 1 << 10,
            'M' => 1 << 20,
            'G' => 1 << 30,
            _ => return None,
        };
        let from: u64 = from[..from.len() - 1].parse().ok()?;
        let mut counts = counts.split_whitespace();
        let extents = counts.next()?.parse().ok()?;
        let blocks: u64 = counts.next()?.parse().ok()?;
        Some((from * unit, extents, blocks * block_bytes))
    };
    text.lines().filter_map(bin).collect()
}

#[test]
fn free_space_of_xfs_equals_xfs_db_except_for_the_free_list() {
    require_loop_fs!("xfs");
    let mut image = Image::new("xfs", 400, &[]);
    age(&image.mounted);
    image.unmount();
    let reported = layout(&program(), &image.file, &[]);
    let mut freesp = Command::new("xfs_db");
    let totals = said(freesp.args(["-r", "-c", "freesp -s"]).arg(&image.file));
    let total = |name: &str| {
        let line = totals.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    // Blocks that the free space btrees reserve for themselves (AGFL): the kernel counts them as
    // used, freesp as free.
    let one = |place: &str, name: &str| {
        let (print, mut command) = (format!("print {name}"), Command::new("xfs_db"));
        let text = said(command.args(["-r", "-c", place, "-c", &print]).arg(&image.file));
        text.trim().trim_start_matches(&format!("{name} = ")).parse::<u64>().unwrap()
    };
    let groups = one("sb 0", "agcount");
    let kept: u64 = (0..groups).map(|group| one(&format!("agf {group}"), "flcount")).sum();
    assert!(kept > 0);
    assert_eq!(whole(&reported, "/free_space/extents") + kept, total("total free extents"));
    let bytes = whole(&reported, "/free_space/bytes");
    assert_eq!(bytes / 4096 + kept, total("total free blocks"));
    assert!(whole(&reported, "/free_space/extents") > 100, "{reported}");
}

#[test]
fn free_space_of_btrfs_equals_btrfs_progs() {
    require_loop_fs!("btrfs");
    let image = Image::new("btrfs", 600, &[]);
    age(&image.mounted);
    let reported = layout(&program(), &image.mounted, &[]);
    let device = image.device();
    let dump = |tree: &str| {
        said(Command::new("btrfs").args(["inspect-internal", "dump-tree", "-t", tree, &device]))
    };
    // Data block groups come from the chunk tree; then the free space tree is counted.
    let chunks = dump("3");
    let mut data = Vec::new();
    let mut start = None;
    for line in chunks.lines() {
        if let Some((_, key)) = line.split_once("CHUNK_ITEM ") {
            start = key.split(')').next().and_then(|at| at.parse::<u64>().ok());
        } else if line.contains("type DATA") {
            data.extend(start);
        }
    }
    assert!(!data.is_empty(), "{chunks}");
    let (mut extents, mut is_data) = (0, false);
    for line in dump("10").lines() {
        if let Some((before, _)) = line.split_once(" FREE_SPACE_INFO ") {
            let at = before.rsplit('(').next().and_then(|at| at.parse::<u64>().ok());
            is_data = at.is_some_and(|at| data.contains(&at));
        } else if let Some(count) = line.trim().strip_prefix("free space info extent count ") {
            let count = count.split(' ').next().unwrap().parse::<u64>().unwrap();
            extents += if is_data { count } else { 0 };
        }
    }
    assert_eq!(whole(&reported, "/free_space/extents"), extents);
    assert!(extents > 50);
    let usage = said(Command::new("btrfs").args(["filesystem", "usage", "-b"]).arg(&image.mounted));
    let data = usage.lines().find_map(|line| line.strip_prefix("Data,single: Size:")).unwrap();
    let mut figures = data
        .split(", Used:")
        .map(|figure| figure.split([' ', ',']).next().unwrap().parse::<u64>().unwrap());
    let (size, used) = (figures.next().unwrap(), figures.next().unwrap());
    assert_eq!(whole(&reported, "/fullness/data/total_bytes"), size);
    assert_eq!(whole(&reported, "/fullness/data/used_bytes"), used);
    assert_eq!(whole(&reported, "/free_space/bytes"), size - used);
    let line = |begin: &str| {
        let line = usage.lines().find_map(|line| line.trim().strip_prefix(begin)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    assert_eq!(whole(&reported, "/fullness/unallocated_bytes"), line("Device unallocated:"));
}

/// Creates files of every kind: contiguous, fragmented, with holes, unwritten, empty, small.
fn all_sorts(dir: &Path) {
    let make = |name: &str| File::create(dir.join(name)).unwrap();
    make("whole").write_all_at(&vec![1; 300_000], 0).unwrap();
    make("empty");
    make("small").write_all_at(b"small", 0).unwrap();
    let sparse = make("sparse");
    for at in [0, 1 << 20, 9 << 20] {
        sparse.write_all_at(&[2; 8192], at).unwrap();
    }
    let unwritten = dir.join("unwritten");
    said(Command::new("fallocate").args(["-l", "1M"]).arg(&unwritten));
    File::options().write(true).open(unwritten).unwrap().write_all_at(&[3; 4096], 40_960).unwrap();
    // Two files grow alternately, each piece synced before the next, so both are fragmented.
    let turns = [make("turn-a"), make("turn-b")];
    for piece in 0..12 {
        for file in &turns {
            file.write_all_at(&[4; 16_384], piece * 16_384).unwrap();
            file.sync_all().unwrap();
        }
    }
    fs::hard_link(dir.join("whole"), dir.join("whole-again")).unwrap();
    std::os::unix::fs::symlink("whole", dir.join("link")).unwrap();
    sync(dir);
}

/// Extents of each file according to filefrag: name, total, and lines. Files whose data are within
/// the metadata are omitted.
fn filefrag(dir: &Path) -> Vec<(String, u64, u64)> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if !entry.file_type().unwrap().is_file() || name == "whole-again" {
            continue;
        }
        let text = said(Command::new("filefrag").arg("-v").arg(entry.path()));
        let last = text.lines().last().unwrap();
        let count = last.rsplit(": ").next().unwrap().split(' ').next().unwrap();
        let is_extent = |line: &&str| line.split(':').next().unwrap().trim().parse::<u32>().is_ok();
        let lines: Vec<&str> = text.lines().filter(is_extent).collect();
        if !lines.iter().any(|line| line.contains("inline")) {
            entries.push((name, count.parse().unwrap(), lines.len() as u64));
        }
    }
    entries
}

/// Compares the extents of files with those listed by filefrag.
fn has_the_extents_of_filefrag(kind: &'static str, options: &[&str]) {
    let image = Image::new(kind, 400, options);
    let dir = image.mounted.join("sorts");
    fs::create_dir(&dir).unwrap();
    all_sorts(&dir);
    let can_share = kind != "ext4";
    if can_share {
        let mut copy = Command::new("cp");
        said(copy.arg("--reflink=always").arg(dir.join("turn-a")).arg(dir.join("copy")));
        sync(&dir);
    }
    let reported = layout(&program(), &dir, &[]);
    let expected_extents = filefrag(&dir);
    let with_blocks: Vec<_> =
        expected_extents.iter().filter(|(_, pieces, _)| *pieces > 0).collect();
    let pieces: u64 = with_blocks.iter().map(|(_, pieces, _)| pieces).sum();
    let extents: u64 = with_blocks.iter().map(|(_, _, extents)| extents).sum();
    assert!(pieces > with_blocks.len() as u64, "something is in pieces: {expected_extents:?}");
    assert_eq!(whole(&reported, "/placed_files"), with_blocks.len() as u64, "{expected_extents:?}");
    assert_eq!(whole(&reported, "/extents/placed/extents"), extents, "{expected_extents:?}");
    let mean = pieces as f64 / with_blocks.len() as f64;
    assert!(
        (number(&reported, "/extents_per_file") - mean).abs() < 1e-12,
        "{expected_extents:?}\n{reported}"
    );
    let most = with_blocks.iter().map(|(_, pieces, _)| *pieces).max();
    assert_eq!(Some(whole(&reported, "/most_extents")), most);
    let fragmented = with_blocks.iter().filter(|(_, pieces, _)| *pieces > 1).count();
    assert_eq!(whole(&reported, "/fragmented_files"), fragmented as u64);
    assert_eq!(
        whole(&reported, "/files"),
        7 + u64::from(can_share),
        "a file of two names counts once"
    );
    assert_eq!(whole(&reported, "/passed/hard_links"), 1);
    assert_eq!(whole(&reported, "/passed/others"), 1);
    assert_eq!(whole(&reported, "/empty_files"), 1);
    assert_eq!(whole(&reported, "/inline_files"), u64::from(kind == "btrfs"));
    let unwritten = whole(&reported, "/extents/unwritten/bytes");
    assert_eq!(unwritten, (1 << 20) - 4096, "the page that was written is not among them");
    let shared = whole(&reported, "/extents/shared/bytes");
    assert_eq!(shared, if can_share { 2 * 12 * 16_384 } else { 0 });
}

#[test]
fn extents_on_ext4_equal_filefrag() {
    require_loop_fs!("ext4");
    has_the_extents_of_filefrag("ext4", &[]);
}

#[test]
fn extents_on_xfs_equal_filefrag() {
    require_loop_fs!("xfs");
    has_the_extents_of_filefrag("xfs", &[]);
}

#[test]
fn extents_on_btrfs_equal_filefrag() {
    require_loop_fs!("btrfs");
    has_the_extents_of_filefrag("btrfs", &[]);
}

#[test]
fn other_block_sizes_are_supported() {
    require_loop_fs!("ext4");
    let image = Image::new("ext4", 64, &["-b", "1024"]);
    fs::write(image.mounted.join("file"), vec![1; 10 * 1024]).unwrap();
    let reported = layout(&program(), &image.mounted, &[]);
    assert_eq!(whole(&reported, "/block_bytes"), 1024);
    assert_eq!(number(&reported, "/layout_score"), 1.0);
    let smallest = histogram(&reported)[0].0;
    assert!(smallest >= 1024);
}

#[test]
fn a_mounted_device_is_examined_without_leftovers() {
    require_loop_fs!("xfs");
    let mut image = Image::new("xfs", 400, &[]);
    age(&image.mounted);
    let program = program();
    let reported = layout(&program, &image.mounted, &[]);
    let device = image.device();
    for path in [Path::new(&device), &image.file] {
        let same = layout(&program, path, &[]);
        assert!(same["through"].as_str().unwrap().contains("its mount at"), "{same}");
        assert_eq!(same["free_space"], reported["free_space"]);
        assert_eq!(same["traversal_score"], reported["traversal_score"]);
        assert_eq!(same["files"], reported["files"]);
    }
    image.unmount();
    let before = fs::metadata(&image.file).unwrap().modified().unwrap();
    let content = said(Command::new("cksum").arg(&image.file));
    let private = layout(&program, &image.file, &[]);
    assert!(private["through"].as_str().unwrap().contains("norecovery"), "{private}");
    for field in
        ["files", "adjacent_siblings", "traversal_score", "extents_per_file", "modelled_read"]
    {
        assert_eq!(private[field], reported[field], "{field}");
    }
    assert_eq!(fs::metadata(&image.file).unwrap().modified().unwrap(), before);
    assert_eq!(said(Command::new("cksum").arg(&image.file)), content, "not a byte was written");
    let attached = said(Command::new("losetup").arg("-j").arg(&image.file));
    assert_eq!(attached, "", "no loop device is left");
    image.mount();
    image.unmount();
}

#[test]
fn a_killed_survey_leaves_no_mount_and_no_loop_device() {
    require_loop_fs!("ext4");
    let mut image = Image::new("ext4", 256, &[]);
    for folder in 0..200 {
        let folder = image.mounted.join(folder.to_string());
        fs::create_dir(&folder).unwrap();
        (0..20).for_each(|file| fs::write(folder.join(file.to_string()), "x").unwrap());
    }
    image.unmount();
    let attached = || said(Command::new("losetup").arg("-j").arg(&image.file));
    let mut seen = false;
    for wait in [2, 5, 10, 20, 40, 80] {
        let mut looking =
            program().command(["layout", image.file.to_str().unwrap()]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(wait));
        seen |= !attached().is_empty();
        looking.kill().unwrap();
        looking.wait().unwrap();
        // The kernel releases the device shortly after the process has ended.
        let gone = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            attached().is_empty()
        });
        assert!(gone, "{}", attached());
    }
    if !seen {
        skip("the kill came before or after the look each time");
    }
}

#[test]
fn without_root_the_layout_is_partial() {
    require_root!();
    require_loop_fs!("btrfs");
    require_tool!("setpriv");
    for (kind, tells) in [("ext4", true), ("xfs", true), ("btrfs", false)] {
        let image = Image::new(kind, 400, &[]);
        fs::write(image.mounted.join("open"), vec![1; 20_000]).unwrap();
        fs::create_dir(image.mounted.join("closed")).unwrap();
        fs::set_permissions(image.mounted.join("closed"), fs::Permissions::from_mode(0o700))
            .unwrap();
        let binary = env!("CARGO_BIN_EXE_treering");
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", binary]);
        command.args(["layout", "--format", "json"]).arg(&image.mounted).current_dir("/");
        let reported: Value = serde_json::from_str(&said(&mut command)).unwrap();
        assert_eq!(whole(&reported, "/files"), 1);
        assert!(whole(&reported, "/passed/unreadable") >= 1);
        assert_eq!(reported["free_space"].is_object(), tells, "{reported}");
        if !tells {
            let why = reported["free_space_problem"].as_str().unwrap();
            assert!(why.contains("CAP_SYS_ADMIN"), "{why}");
            assert!(whole(&reported, "/fullness/data/total_bytes") > 0);
        }
    }
}

#[test]
fn targets_without_a_layout_are_refused() {
    require_root!();
    let program = program();
    let memory = LoopFs::in_memory(16);
    fs::write(memory.path().join("file"), "x").unwrap();
    program
        .run(["layout", memory.path().to_str().unwrap()])
        .ends_with(3)
        .complains("tmpfs does not report where files lie");
    let nothing = program.home().join("nothing");
    program.run(["layout", nothing.to_str().unwrap()]).ends_with(2).complains("cannot find");
    fs::write(&nothing, vec![0; 1 << 20]).unwrap();
    // A file that is not an image has extents, if its filesystem reports them.
    let listed = program.run(["layout", nothing.to_str().unwrap()]);
    assert!(listed.code == Some(0) && listed.stdout.contains("Extents") || listed.code == Some(3));
    let memory = memory.path().join("file");
    program.run(["layout", memory.to_str().unwrap()]).ends_with(3).complains("no FIEMAP");
    program.run(["layout", "/dev/null"]).ends_with(3).complains("not a directory, block device");
    program.run(["layout", "/", "--seed", "3"]).ends_with(2);
    program.run(["layout", "/", "--sample", "0"]).ends_with(2);
}

#[test]
fn a_damaged_image_is_refused_or_counted_and_never_hangs() {
    require_loop_fs!("ext4");
    let mut image = Image::new("ext4", 160, &[]);
    age(&image.mounted);
    image.unmount();
    let whole = fs::read(&image.file).unwrap();
    for seed in 0..12_u64 {
        let mut damaged = whole.clone();
        for turn in 0..400_u64 {
            let draw = (seed * 1000 + turn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // Damage the metadata behind the superblock.
            let at = 4096 + usize::try_from(draw >> 20).unwrap() % (8 << 20);
            damaged[at] ^= u8::try_from(draw & 0xff).unwrap() | 1;
        }
        fs::write(&image.file, damaged).unwrap();
        let ran = program().run(["layout", image.file.to_str().unwrap(), "--format", "json"]);
        assert!(matches!(ran.code, Some(0 | 3)), "{ran}");
    }
}

#[test]
fn a_sampled_layout_has_confidence_intervals() {
    require_loop_fs!("ext4");
    let mut image = Image::new("ext4", 256, &[]);
    age(&image.mounted);
    let program = program();
    let complete_layout = layout(&program, &image.mounted, &[]);
    assert!(complete_layout["intervals"].is_null() && complete_layout["sampled_files"].is_null());
    let reported = layout(&program, &image.mounted, &["--sample", "400"]);
    let again = layout(&program, &image.mounted, &["--sample", "400"]);
    assert_eq!(reported, again, "a seed decides");
    assert_eq!(reported["files"], complete_layout["files"]);
    let sampled = whole(&reported, "/sampled_files");
    assert!((100..700).contains(&sampled), "{sampled}");
    let ends = reported["intervals"]["adjacent_siblings"].as_array().unwrap();
    let value = number(&reported, "/adjacent_siblings");
    assert!(ends[0].as_f64().unwrap() <= value && value <= ends[1].as_f64().unwrap());
    let more = layout(&program, &image.mounted, &["--sample", "100000"]);
    assert!(more["sampled_files"].is_null(), "all of them were measured");
    image.unmount();
}

#[test]
fn deep_and_broad_trees_are_walked_completely() {
    require_loop_fs!("ext4");
    let image = Image::new("ext4", 256, &["-N", "30000"]);
    // The tree is deeper than the number of directories held open, with long paths.
    let mut dir = image.mounted.clone();
    for level in 0..400 {
        let name = format!("level-{level}");
        fs::create_dir(dir.join(&name)).unwrap();
        fs::write(dir.join(&name).join("file"), "x").unwrap();
        dir = dir.join(&name);
    }
    for name in 0..5000 {
        fs::create_dir(image.mounted.join(format!("broad-{name}"))).unwrap();
    }
    let reported = layout(&program(), &image.mounted, &[]);
    assert_eq!(whole(&reported, "/files"), 400);
    assert_eq!(whole(&reported, "/directories"), 400 + 5000 + 2, "with lost+found and the top");
    assert_eq!(whole(&reported, "/passed/unreadable"), 0);
}

#[test]
fn other_mounts_are_not_entered() {
    require_loop_fs!("ext4");
    let image = Image::new("ext4", 64, &[]);
    fs::write(image.mounted.join("here"), "x").unwrap();
    let inside = image.mounted.join("inside");
    fs::create_dir(&inside).unwrap();
    said(Command::new("mount").args(["-t", "tmpfs", "other"]).arg(&inside));
    fs::write(inside.join("there"), "x").unwrap();
    let reported = layout(&program(), &image.mounted, &[]);
    said(Command::new("umount").arg(&inside));
    assert_eq!(whole(&reported, "/files"), 1);
    assert_eq!(whole(&reported, "/passed/mounts"), 1);
}

#[test]
fn layouts_have_every_output_format() {
    require_loop_fs!("ext4");
    let image = Image::new("ext4", 64, &[]);
    age_little(&image.mounted);
    for format in ["plain", "terminal", "markdown", "html", "csv"] {
        let ran = program().run(["layout", "--format", format, image.mounted.to_str().unwrap()]);
        assert!(ran.ends_with(0).stdout.contains("traversal score"), "{format}");
    }
    program().run(["layout", "--format", "word", "/"]).ends_with(2);
}

fn age_little(dir: &Path) {
    (0..10).for_each(|file| fs::write(dir.join(file.to_string()), vec![1; 9000]).unwrap());
}

#[test]
fn overlay_files_are_identified_by_device_and_inode() {
    require_loop_fs!("ext4");
    let (lower, upper) = (Image::new("ext4", 32, &[]), Image::new("ext4", 32, &[]));
    let (top, work) = (upper.mounted.join("top"), upper.mounted.join("work"));
    [&top, &work].iter().for_each(|dir| fs::create_dir(dir).unwrap());
    // Equal filesystems number their files alike.
    for (below, count) in [(&lower.mounted, 300), (&top, 300)] {
        let name = if below == &top { "u" } else { "l" };
        let dir = below.join(format!("dir-{name}"));
        fs::create_dir(&dir).unwrap();
        (0..count).for_each(|file| fs::write(dir.join(format!("{name}{file}")), "x").unwrap());
        fs::hard_link(dir.join(format!("{name}0")), dir.join("further")).unwrap();
    }
    let dir = temp_dir_in(&std::env::temp_dir());
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.mounted.display(),
        top.display(),
        work.display()
    );
    let mut mount = Command::new("mount");
    mount.args(["-t", "overlay", "overlay", "-o", &options]).arg(dir.path());
    if !mount.status().unwrap().success() {
        skip("no overlayfs here");
        return;
    }
    let ran = program().run(["layout", dir.path().to_str().unwrap(), "--format", "json"]);
    said(Command::new("umount").arg(dir.path()));
    let reported: Value = serde_json::from_str(&ran.ends_with(0).stdout).unwrap();
    assert_eq!(
        (whole(&reported, "/files"), whole(&reported, "/passed/hard_links")),
        (600, 2),
        "{reported}"
    );
}

#[test]
fn an_image_with_errors_panic_causes_no_panic() {
    require_loop_fs!("ext4");
    let mut image = Image::new("ext4", 32, &["-e", "panic"]);
    fs::write(image.mounted.join("f"), "x").unwrap();
    image.unmount();
    let before = fs::read(&image.file).unwrap();
    let reported = layout(&program(), &image.file, &[]);
    assert!(reported["through"].as_str().unwrap().contains("errors=continue"), "{reported}");
    assert!(fs::read(&image.file).unwrap() == before, "nothing is written");
}

#[test]
fn listed_extents_equal_filefrag() {
    require_loop_fs!("ext4");
    let image = Image::new("ext4", 64, &[]);
    let (one, two) = (image.mounted.join("one"), image.mounted.join("two"));
    for block in 0..6u64 {
        for path in [&one, &two] {
            let file = File::options().create(true).truncate(false).write(true).open(path).unwrap();
            file.write_all_at(&[1; 4096], block * 8192).unwrap();
            file.sync_all().unwrap();
        }
    }
    let program = program();
    let [first, second] = [&one, &two].map(|path| path.to_str().unwrap());
    let ran = program.run(["layout", first, second, "--format", "json"]).ends_with(0);
    let reported: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&reported["format"], &reported["version"]),
        (&"treering extents".into(), &1.into())
    );
    assert_eq!(reported["files"].as_array().unwrap().len(), 2);
    for (number, path) in [first, second].iter().enumerate() {
        let file = &reported["files"][number];
        let extents = file["extents"].as_array().unwrap();
        let of = |extent: &Value| {
            format!(
                "{} {} {}",
                whole(extent, "/logical_bytes") / 4096,
                whole(extent, "/physical_bytes") / 4096,
                whole(extent, "/length_bytes") / 4096
            )
        };
        let reported: Vec<String> = extents.iter().map(of).collect();
        let listed = said(Command::new("filefrag").args(["-v", "-b4096", path]));
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(':').map(str::trim).collect();
            fields.first()?.parse::<u64>().ok()?;
            let begin = |field: &str| field.split("..").next().unwrap().trim().to_owned();
            Some(format!("{} {} {}", begin(fields[1]), begin(fields[2]), fields[3]))
        };
        assert_eq!(reported, listed.lines().filter_map(row).collect::<Vec<_>>(), "{listed}");
        let pieces = format!("{} extent", whole(file, "/pieces"));
        assert!(listed.contains(&pieces), "{pieces}: {listed}");
    }
    let page = program.run(["layout", first]).ends_with(0).stdout;
    assert!(page.contains("physical block") && page.contains("last"), "{page}");
    // The filesystem in an image is examined, unless --extents is given.
    let file = image.file.to_str().unwrap();
    let ran = program.run(["layout", file, "--extents", "--format", "json"]).ends_with(0);
    assert!(ran.stdout.contains("treering extents"), "{}", ran.stdout);
    assert!(layout(&program, &image.file, &[])["files"].is_number());
    let dir = image.mounted.to_str().unwrap();
    program.run(["layout", first, dir]).ends_with(2).complains("not a regular file");
}
