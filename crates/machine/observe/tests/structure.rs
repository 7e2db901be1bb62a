//! Blocks of directories and trees on real filesystems, beside what the filesystems' own programs
//! say.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_model::{LayoutMetadata, LayoutStructure};
use treering_observe::layout::{SurveyPlan, survey};
use treering_sys::{MountTable, sync_filesystem};
use treering_testkit::{LoopFs, require_loop_fs, require_root, require_tool};

const DIRECTORIES: usize = 4;
const FILES: usize = 900;

/// Directories that grow in turn, so that their blocks are not neighbours; returns the survey.
fn grown(top: &Path) -> LayoutStructure {
    for directory in 0..DIRECTORIES {
        fs::create_dir(top.join(format!("d{directory}"))).unwrap();
    }
    for file in 0..FILES {
        for directory in 0..DIRECTORIES {
            let name = format!("d{directory}/a-file-with-a-rather-long-name-{file:06}");
            fs::write(top.join(name), vec![1; if file % 50 == 0 { 9000 } else { 0 }]).unwrap();
        }
        if file % 50 == 0 {
            sync(top);
        }
    }
    sync(top);
    // The programs read the device, to which a log alone was written so far; what is written now
    // may move blocks of btrfs.
    remount_read_only(top);
    let opened = File::open(top).unwrap();
    let go_on = &mut |_: &_, _| ControlFlow::Continue(());
    let found = survey(opened.as_fd(), &SurveyPlan::default(), go_on).unwrap();
    found.layout.structure.unwrap()
}

fn sync(top: &Path) {
    sync_filesystem(File::open(top).unwrap().as_fd()).unwrap();
}

fn device(top: &Path) -> String {
    let table = MountTable::read().unwrap();
    let mount = table.mount_of(File::open(top).unwrap()).unwrap();
    mount.source.to_string_lossy().into_owned()
}

fn of_kind<'s>(found: &'s LayoutStructure, kind: &str) -> &'s LayoutMetadata {
    let known: Vec<&str> = found.metadata.iter().map(|one| one.kind.as_str()).collect();
    let place = known.iter().position(|name| *name == kind);
    &found.metadata[place.unwrap_or_else(|| panic!("{kind}: {known:?}"))]
}

/// Remounts a filesystem, once no program that another test starts has its files open: until it is
/// executed, it has all descriptors of this process.
fn remount_read_only(top: &Path) {
    let began = Instant::now();
    let remounted =
        || Command::new("mount").args(["-o", "remount,ro"]).arg(top).status().unwrap().success();
    while !remounted() {
        assert!(began.elapsed() < Duration::from_secs(60), "{} stays busy", top.display());
        sleep(Duration::from_millis(50));
    }
}

/// Output of a program that succeeds.
fn output(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Blocks of a sequence of addresses in blocks, and how many directly follow the one before.
fn counted(blocks: &[u64]) -> (u64, u64) {
    let following = blocks.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
    (blocks.len() as u64, following as u64)
}

fn assert_is(found: &LayoutMetadata, sequences: &[Vec<u64>]) {
    let counts: Vec<(u64, u64)> = sequences.iter().map(|blocks| counted(blocks)).collect();
    let blocks: u64 = counts.iter().map(|(blocks, _)| blocks).sum();
    let following: u64 = counts.iter().map(|(_, following)| following).sum();
    assert_eq!((found.blocks, found.stretches), (blocks, blocks - following), "{found:?}");
}

#[test]
fn blocks_of_htrees_are_those_that_debugfs_lists() {
    require_root!();
    require_loop_fs!("ext4");
    require_tool!("debugfs");
    let place = LoopFs::new("ext4", 300);
    let found = grown(place.path());
    let device = device(place.path());
    let blocks = |directory: usize| -> Vec<u64> {
        // Level Entries Logical Physical Length: 1/ 1 2/62 4 - 4 9218 - 9218 1
        let listed = output("debugfs", &["-R", &format!("ex -l /d{directory}"), &device]);
        let mut blocks = Vec::new();
        for line in listed.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let dash = words.iter().rposition(|word| *word == "-").unwrap();
            let number = |at: usize| words[at].parse::<u64>().unwrap();
            blocks.extend(number(dash - 1)..=number(dash + 1));
        }
        blocks
    };
    let sequences: Vec<Vec<u64>> = (0..DIRECTORIES).map(blocks).collect();
    assert!(sequences.iter().all(|blocks| blocks.len() > 4));
    assert_is(of_kind(&found, "htree directories"), &sequences);
    // The top and lost+found have few names.
    assert!(of_kind(&found, "linear directories").blocks >= 1);
    let groups = output("dumpe2fs", &["-h", &device]);
    let value = |name: &str| -> u64 {
        let line = groups.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let (all, each) = (value("Block count:"), value("Blocks per group:"));
    let total = (all - value("First block:")).div_ceil(each);
    assert_eq!(found.groups.unwrap().total, total);
}

#[test]
fn blocks_of_xfs_directories_are_those_that_xfs_db_lists() {
    require_root!();
    require_loop_fs!("xfs");
    require_tool!("xfs_db");
    let place = LoopFs::new("xfs", 400);
    let found = grown(place.path());
    let device = device(place.path());
    let block_bytes = fs::metadata(place.path()).unwrap().blksize();
    assert_eq!(block_bytes, 4096);
    let mut sequences = Vec::new();
    for directory in 0..DIRECTORIES {
        let inode = fs::metadata(place.path().join(format!("d{directory}"))).unwrap().ino();
        let commands = ["-r", "-c", &format!("inode {inode}"), "-c", "bmap", &device];
        let mut blocks = Vec::new();
        // data offset 6 startblock 76 (0/76) count 3 flag 0
        for line in output("xfs_db", &commands).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words[at].parse::<u64>().unwrap();
            // Addresses of xfs_db have gaps between groups, which no directory crosses.
            if number(2) << 12 < 1 << 35 {
                blocks.extend(number(4)..number(4) + number(7));
            }
        }
        sequences.push(blocks);
    }
    assert!(sequences.iter().all(|blocks| blocks.len() > 4));
    assert_is(of_kind(&found, "directory data"), &sequences);
    assert_eq!(found.groups.unwrap().total, 4);
}

#[test]
fn leaves_of_btrfs_are_those_that_its_dump_lists() {
    require_root!();
    require_loop_fs!("btrfs");
    require_tool!("btrfs");
    let place = LoopFs::new("btrfs", 400);
    let found = grown(place.path());
    let device = device(place.path());
    let dump = output("btrfs", &["inspect-internal", "dump-tree", "-t", "5", &device]);
    // leaf 30490624 items 74 free space 3216 generation 8 owner FS_TREE
    let mut leaves = Vec::new();
    let mut seen = BTreeSet::new();
    for line in dump.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["leaf", address, "items", ..] = words.as_slice() {
            let address: u64 = address.parse().unwrap();
            if seen.insert(address) {
                leaves.push(address / 16384);
            }
        }
    }
    assert!(leaves.len() > 10, "{}", leaves.len());
    assert_is(of_kind(&found, "file tree leaves"), &[leaves]);
    let names: BTreeMap<&str, u64> =
        found.metadata.iter().map(|kind| (kind.kind.as_str(), kind.blocks)).collect();
    assert!(names["file tree nodes"] >= 1, "{names:?}");
    assert!(found.groups.unwrap().total >= 1);
}

#[test]
fn inodes_of_siblings_that_were_made_in_turn_are_not_neighbours() {
    require_root!();
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        let place = LoopFs::new(kind, 400);
        let found = grown(place.path());
        let distance = found.inode_distance.unwrap();
        assert!(distance.p50 >= 1 && distance.max > 1, "{kind}: {distance:?}");
        assert!(found.next_inodes.unwrap() <= 1.0);
        assert!(found.directories.unwrap().blocks > 4, "{kind}");
    }
}
