//! `treering layout --fresh-copy` on used filesystems: the copied files, the cost of reading them,
//! and the removal of the copy.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;

use serde_json::Value;
use treering_testkit::{LoopFs, require_loop_fs, require_root};

use crate::program;

/// Creates files that are neighbours in a directory but were not written one after the other.
fn age(top: &Path) {
    let name = |dir: usize, file: usize| top.join(format!("d{dir}/f{file}"));
    for dir in 0..10 {
        fs::create_dir(top.join(format!("d{dir}"))).unwrap();
    }
    for file in 0..40 {
        for dir in 0..10 {
            fs::write(name(dir, file), vec![b'x'; 20_000 + (file * 7919) % 50_000]).unwrap();
        }
        // The sync prevents the filesystem from allocating neighbours together.
        treering_sys::sync_filesystem(File::open(top).unwrap().as_fd()).unwrap();
    }
    symlink("d1/f1", top.join("link")).unwrap();
    fs::hard_link(name(1, 1), top.join("hard")).unwrap();
    let sparse = File::create(top.join("sparse")).unwrap();
    sparse.write_all_at(b"end", 8 << 20).unwrap();
}

fn images_in(dir: &Path) -> usize {
    let names = fs::read_dir(dir).unwrap().flatten();
    names.filter(|entry| entry.file_name().to_string_lossy().starts_with("treering-")).count()
}

fn seeks(reported: &Value, is_fresh: bool) -> Option<u64> {
    let reads = reported["reads"].as_array().unwrap().iter();
    let mut reads = reads.filter(|read| read["is_fresh"] == is_fresh);
    reads.next().unwrap()["requests"]["seeks"].as_u64()
}

#[test]
fn a_used_filesystem_costs_more_than_its_fresh_copy() {
    require_root!();
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let place = LoopFs::new(kind, 400);
        age(place.path());
        let words = ["layout", place.path().to_str().unwrap(), "--fresh-copy", "--repeat=2"];
        let reported = program().run(words.iter().chain(&["--format", "json"])).ends_with(0).stdout;
        let reported: Value = serde_json::from_str(&reported).unwrap();
        assert_eq!(reported["treering_fresh_copy"]["version"], 1);
        let copied = &reported["copied"];
        assert_eq!((copied["files"].as_u64(), copied["failed"].as_u64()), (Some(401), Some(0)));
        assert_eq!((&copied["hard_links"], &copied["symlinks"]), (&1.into(), &1.into()));
        // A hole does not count as content.
        assert!(copied["bytes"].as_u64().unwrap() < 24 << 20, "{kind} {copied}");
        assert_eq!(reported["fresh"]["files"], reported["aged"]["files"]);
        assert_eq!(reported["same_order"], true, "{kind}");
        assert_eq!(reported["reads"].as_array().unwrap().len(), 4);
        let read: Vec<&Value> =
            reported["reads"].as_array().unwrap().iter().map(|read| &read["bytes"]).collect();
        assert!(read.iter().all(|bytes| *bytes == read[0]), "{kind} {read:?}");
        let siblings = |side: &str| reported[side]["adjacent_siblings"].as_f64().unwrap();
        assert!(siblings("aged") + 0.3 < siblings("fresh"), "{kind} {reported}");
        let modelled = |side: &str| {
            let read = reported[side].pointer("/modelled_read/seconds/typical");
            read.and_then(Value::as_f64).unwrap()
        };
        assert!(modelled("aged") > modelled("fresh"), "{kind} {reported}");
        // Without permission to trace, there are no seeks, and a caution says so.
        match (seeks(&reported, false), seeks(&reported, true)) {
            (Some(aged), Some(fresh)) => assert!(aged > 2 * fresh, "{kind} {aged} {fresh}"),
            _ => assert!(
                reported["cautions"].to_string().contains("seeks are left out"),
                "{reported}"
            ),
        }
        assert_eq!(images_in(place.path().parent().unwrap()), 0);
    }
}

#[test]
fn a_copy_in_a_directory_is_removed_again() {
    require_root!();
    require_loop_fs!("xfs");
    let (aged, fresh) = (LoopFs::new("ext4", 200), LoopFs::new("xfs", 400));
    age(aged.path());
    let on = fresh.path().join("on");
    fs::create_dir(&on).unwrap();
    let (from, to) = (aged.path().to_str().unwrap(), on.to_str().unwrap());
    let copy = |on: &str| program().run(["layout", from, "--fresh-copy", "--repeat=1", "--on", on]);
    let page = copy(to).ends_with(0).stdout;
    assert!(page.contains("adjacent siblings") && page.contains("time"), "{page}");
    assert_eq!(fs::read_dir(&on).unwrap().count(), 0);
    fs::write(on.join("mine"), "mine").unwrap();
    copy(to).ends_with(3).complains("is not empty: it has mine");
    assert_eq!(fs::read(on.join("mine")).unwrap(), b"mine");
    copy(on.join("mine").to_str().unwrap()).ends_with(3).complains("is a file");
    let inside = aged.path().join("d1");
    copy(inside.to_str().unwrap()).ends_with(3).complains("inside the tree to be copied");
    program().run(["layout", from, "--on", to]).ends_with(2);
    program().run(["layout", from, "--fresh-copy", "--sample", "5"]).ends_with(2);
}

/// Reproduces a published script whose `mkfs.ext4 -f` fails, so that each copy is put beside the
/// earlier ones.
#[test]
fn a_copy_beside_older_copies_is_cautioned() {
    require_root!();
    require_loop_fs!("ext4");
    let (aged, unaged) = (LoopFs::new("ext4", 400), LoopFs::new("ext4", 400));
    age(aged.path());
    let compare = |on: &Path| {
        let (path, on) = (aged.path().to_str().unwrap(), on.to_str().unwrap());
        let words = ["layout", path, "--fresh-copy", "--on", on, "--repeat=1", "--format", "json"];
        let reported = program().run(words).ends_with(0).stdout;
        serde_json::from_str::<Value>(&reported).unwrap()["cautions"].to_string()
    };
    let cautions = compare(unaged.path());
    assert!(!cautions.contains("not_fresh"), "{cautions}");
    for old in ["copy-of-100", "copy-of-200"] {
        fs::create_dir(unaged.path().join(old)).unwrap();
        age(&unaged.path().join(old));
    }
    let now = unaged.path().join("copy-of-300");
    fs::create_dir(&now).unwrap();
    let cautions = compare(&now);
    assert!(cautions.contains("not on a fresh filesystem (not_fresh)"), "{cautions}");
    assert!(cautions.contains("also has copy-of-100 and 1 more"), "{cautions}");
    assert!(cautions.contains("free space in "), "{cautions}");
}

#[test]
fn an_interrupted_comparison_leaves_nothing() {
    require_root!();
    require_loop_fs!("ext4");
    let (aged, fresh) = (LoopFs::new("ext4", 200), LoopFs::new("ext4", 200));
    age(aged.path());
    let on = fresh.path().join("on");
    fs::create_dir(&on).unwrap();
    let program = program();
    let words = ["--fresh-copy", "--repeat=1000", "--on", on.to_str().unwrap()];
    let running = program.start(["layout", aged.path().to_str().unwrap()].iter().chain(&words));
    // The test waits until the copy has begun.
    for _ in 0..500 {
        if on.join("copy-1/d1").exists() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    running.send("INT");
    running.finish().ends_with(130).complains("interrupted");
    assert_eq!(fs::read_dir(&on).unwrap().count(), 0);
}

#[test]
fn a_target_that_is_too_small_is_reported() {
    require_root!();
    require_loop_fs!("ext4");
    let (aged, fresh) = (LoopFs::new("ext4", 200), LoopFs::new("ext4", 16));
    age(aged.path());
    let on = fresh.path().join("on");
    fs::create_dir(&on).unwrap();
    let words = ["--fresh-copy", "--on", on.to_str().unwrap()];
    let words = ["layout", aged.path().to_str().unwrap()].into_iter().chain(words);
    program().run(words).ends_with(3).complains("No space left");
    assert_eq!(fs::read_dir(&on).unwrap().count(), 0);
}
