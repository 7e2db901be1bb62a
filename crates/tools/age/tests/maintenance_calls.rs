//! Tests of the calls that maintain a filesystem, on real ones: files keep their bytes.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

use treering_engine::{CallReply, Caller, Payload, PayloadKind, SyncCaller, Target};
use treering_script::{Call, CallError, CallResult, CreateHow, DirSlot, Errno, FileSlot, OpenHow};
use treering_testkit::{LoopFs, require_loop_fs, require_root, require_tool};

const FILE: FileSlot = FileSlot(0);
const OTHER: FileSlot = FileSlot(1);
const PIECES: u64 = 24;
const PIECE_BYTES: usize = 8192;

fn caller(place: &Path) -> SyncCaller {
    let target = Target::open(place).unwrap();
    let payload = Payload::new(PayloadKind::Native { compressibility: 0 }, 7);
    SyncCaller::new(target.dir().as_fd(), target.confinement(), payload).unwrap()
}

fn open(caller: &mut SyncCaller, name: &str, how: OpenHow, into: FileSlot) {
    let path = CString::new(name).unwrap();
    let call = Call::Open { at: DirSlot::TARGET, path: &path, how, into };
    caller.call(&call).unwrap();
}

fn create(caller: &mut SyncCaller, name: &str, into: FileSlot) {
    let path = CString::new(name).unwrap();
    let how = CreateHow::ExclusiveToRead;
    caller.call(&Call::Create { at: DirSlot::TARGET, path: &path, how, into }).unwrap();
}

/// Writes two files in turn, piece by piece and each to the disk, and leaves a hole in the first.
fn interleave(place: &Path) {
    let mut files = ["one", "two"].map(|name| File::create(place.join(name)).unwrap());
    for piece in 0..PIECES {
        for file in &mut files {
            let byte = u8::try_from(piece).unwrap() + 1;
            file.seek(SeekFrom::Start((piece + piece / 12 * 5) * PIECE_BYTES as u64)).unwrap();
            file.write_all(&[byte; PIECE_BYTES]).unwrap();
            file.sync_all().unwrap();
        }
    }
    // An end inside of a block.
    files[0].write_all(b"end").unwrap();
    files[0].sync_all().unwrap();
}

/// Number of fragments of a file, from the words `N extents found`.
fn fragments(path: &Path) -> u64 {
    File::open(path).unwrap().sync_all().unwrap();
    let told = Command::new("filefrag").arg(path).output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    let found = told.rsplit(": ").next().and_then(|text| text.split_once(" extent"));
    found.and_then(|(count, _)| count.parse().ok()).unwrap_or_else(|| panic!("{told}"))
}

/// Bytes of a file as they are on the disk.
fn cold(path: &Path) -> Vec<u8> {
    File::open(path).unwrap().sync_all().unwrap();
    fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
    fs::read(path).unwrap()
}

fn defragmented(kind: &str) {
    let mounted = LoopFs::new(kind, 400);
    let place = mounted.path();
    interleave(place);
    let path = place.join("one");
    let (before, content) = (fragments(&path), cold(&path));
    assert!(before > 2, "{kind}: {before} fragments");
    let mut caller = caller(place);
    open(&mut caller, "one", OpenHow::ReadWrite, FILE);
    let call = Call::Defragment { file: FILE, at: DirSlot::TARGET };
    caller.call(&call).unwrap();
    let after = fragments(&path);
    assert!(after < before, "{kind}: {before} fragments, then {after}");
    assert!(cold(&path) == content, "{kind}: other bytes");
    assert_eq!(content.len() % PIECE_BYTES, 3);
    // There is nothing to gain any more, and nothing is left behind.
    caller.call(&call).unwrap();
    assert!(cold(&path) == content, "{kind}: other bytes");
    let left = fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name != "lost+found").count(), 2, "{kind}");
}

#[test]
fn defragmented_files_have_fewer_fragments_and_the_same_bytes() {
    require_root!();
    require_tool!("filefrag");
    for kind in ["ext4", "xfs", "btrfs"] {
        require_loop_fs!(kind);
        defragmented(kind);
    }
}

fn errno(done: Result<CallReply, CallError>) -> Option<Errno> {
    done.err().map(|error| error.errno)
}

#[test]
fn copies_share_blocks_where_the_filesystem_can() {
    require_root!();
    for kind in ["xfs", "btrfs", "ext4"] {
        require_loop_fs!(kind);
        let mounted = LoopFs::new(kind, 400);
        let mut caller = caller(mounted.path());
        let content = vec![7; 100_000];
        fs::write(mounted.path().join("one"), &content).unwrap();
        open(&mut caller, "one", OpenHow::Read, FILE);
        create(&mut caller, "other", OTHER);
        let copy = Call::Copy { from: FILE, into: OTHER, bytes: 1 << 20, position: 0 };
        let copied = caller.call(&copy).unwrap();
        assert_eq!(copied.done, CallResult::Bytes(100_000), "{kind}");
        let dedupe = Call::Dedupe { from: FILE, into: OTHER, start: 0, bytes: 98_304 };
        let reflink = Call::Reflink { from: FILE, into: OTHER };
        if kind == "ext4" {
            assert_eq!(errno(caller.call(&dedupe)), Some(Errno::OPNOTSUPP));
            assert_eq!(errno(caller.call(&reflink)), Some(Errno::OPNOTSUPP));
            continue;
        }
        assert_eq!(caller.call(&dedupe).unwrap().done, CallResult::Bytes(98_304), "{kind}");
        // A single other byte keeps the range apart.
        let mut other = File::options().write(true).open(mounted.path().join("other")).unwrap();
        other.write_all(b"x").unwrap();
        assert_eq!(caller.call(&dedupe).unwrap().done, CallResult::Bytes(0), "{kind}");
        caller.call(&reflink).unwrap();
        assert!(cold(&mounted.path().join("other")) == content, "{kind}");
    }
}

#[test]
fn snapshots_keep_what_is_removed_and_are_destroyed_by_their_names() {
    require_root!();
    require_loop_fs!("btrfs");
    let mounted = LoopFs::new("btrfs", 400);
    let place = mounted.path();
    let mut caller = caller(place);
    let (at, of) = (DirSlot::TARGET, DirSlot(1));
    caller.call(&Call::MakeSubvolume { at, name: c"live" }).unwrap();
    caller.call(&Call::OpenDir { at, path: c"live", into: of }).unwrap();
    fs::write(place.join("live/file"), "kept").unwrap();
    caller.call(&Call::Snapshot { of, at, name: c"then" }).unwrap();
    fs::remove_file(place.join("live/file")).unwrap();
    assert_eq!(fs::read_to_string(place.join("then/file")).unwrap(), "kept");
    assert_eq!(errno(caller.call(&Call::Snapshot { of, at, name: c"then" })), Some(Errno::EXIST));
    caller.call(&Call::DestroySubvolume { at, name: c"then" }).unwrap();
    let destroy = Call::DestroySubvolume { at, name: c"then" };
    assert_eq!(errno(caller.call(&destroy)), Some(Errno::NOENT));
    fs::create_dir(place.join("plain")).unwrap();
    assert!(caller.call(&Call::DestroySubvolume { at, name: c"plain" }).is_err());
    assert!(place.join("plain").exists() && place.join("live").exists());
}

#[test]
fn free_space_is_discarded_by_root() {
    require_root!();
    require_loop_fs!("ext4");
    let mounted = LoopFs::new("ext4", 100);
    let mut caller = caller(mounted.path());
    caller.call(&Call::Trim { dir: DirSlot::TARGET, bytes: u64::MAX }).unwrap();
}

/// Bytes of the chunks of data of a btrfs, from `btrfs filesystem df`.
fn data_chunk_bytes(place: &Path) -> u64 {
    let command = ["filesystem", "df", "-b"];
    let told = Command::new("btrfs").args(command).arg(place).output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    let data = told.lines().find_map(|line| line.strip_prefix("Data, single: total="));
    let bytes = data.and_then(|data| data.split(',').next()?.parse().ok());
    bytes.unwrap_or_else(|| panic!("{told}"))
}

#[test]
fn a_balance_gives_chunks_back_and_no_byte_changes() {
    require_root!();
    require_tool!("btrfs");
    require_loop_fs!("btrfs");
    let mounted = LoopFs::new("btrfs", 1500);
    let place = mounted.path();
    for number in 0..100 {
        fs::write(place.join(format!("{number}")), vec![number; 10 << 20]).unwrap();
    }
    assert!(Command::new("sync").arg("-f").arg(place).status().unwrap().success());
    // One file in eight stays, so that no chunk is empty.
    (0..100).filter(|number| number % 8 != 0).for_each(|number| {
        fs::remove_file(place.join(format!("{number}"))).unwrap();
    });
    assert!(Command::new("sync").arg("-f").arg(place).status().unwrap().success());
    let before = data_chunk_bytes(place);
    caller(place).call(&Call::Balance { dir: DirSlot::TARGET, percent: 100 }).unwrap();
    let after = data_chunk_bytes(place);
    assert!(after < before / 2, "{before}, then {after}");
    assert!(cold(&place.join("96")) == vec![96; 10 << 20]);
    let other = LoopFs::new("ext4", 64);
    let call = Call::Balance { dir: DirSlot::TARGET, percent: 100 };
    let refused = errno(caller(other.path()).call(&call));
    assert_eq!(refused, Some(Errno::NOTTY));
}
