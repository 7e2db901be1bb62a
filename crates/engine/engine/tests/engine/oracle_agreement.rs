//! Random steps have the same effect on the kernel's filesystem and in memory: results, errors,
//! trees.

use std::fs::File;
use std::os::fd::AsFd;

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, sample};
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    Caller, Confinement, EntryOrder, LARGEST_CALL_BYTES, MemoryCaller, MemoryFilesystem, Payload,
    PayloadKind, SyncCaller,
};
use treering_script::{CallResult, CreateHow, OpenHow};

use crate::operations::{OwnedCall, name};

fn names() -> impl Strategy<Value = std::ffi::CString> {
    sample::select(vec!["a", "b", "c"]).prop_map(name)
}

fn paths() -> impl Strategy<Value = std::ffi::CString> {
    let several = collection::vec(sample::select(vec!["a", "b", "c"]), 1..4);
    // Now and then a name that must be refused.
    prop_oneof![
        20 => several.prop_map(|names| name(&names.join("/"))),
        1 => sample::select(vec!["..", "a/../b", "/a", "a//b", "."]).prop_map(name),
    ]
}

fn create_modes() -> impl Strategy<Value = CreateHow> {
    sample::select(vec![
        CreateHow::Append,
        CreateHow::Truncate,
        CreateHow::TruncateToRead,
        CreateHow::Exclusive,
        CreateHow::ExclusiveToRead,
        CreateHow::OrOpen,
    ])
}

fn opens() -> impl Strategy<Value = OpenHow> {
    sample::select(vec![
        OpenHow::Read,
        OpenHow::Write,
        OpenHow::Append,
        OpenHow::ReadWrite,
        OpenHow::Directory,
    ])
}

fn operations() -> impl Strategy<Value = OwnedCall> {
    let (dir, slot, file) = (|| 0..3u16, || 0..3u16, || 0..2u16);
    prop_oneof![
        3 => (dir(), paths(), slot())
            .prop_map(|(at, path, into)| OwnedCall::OpenDir(at, path, into)),
        1 => dir().prop_map(OwnedCall::CloseDir),
        2 => dir().prop_map(OwnedCall::ReadDir),
        5 => (dir(), names()).prop_map(|(at, name)| OwnedCall::MakeDir(at, name)),
        2 => (dir(), names()).prop_map(|(at, name)| OwnedCall::RemoveDir(at, name)),
        6 => (dir(), paths(), create_modes(), file())
            .prop_map(|(at, path, how, into)| OwnedCall::Create(at, path, how, into)),
        4 => (dir(), paths(), opens(), file())
            .prop_map(|(at, path, how, into)| OwnedCall::OpenTo(how, at, path, into)),
        2 => (file(), prop_oneof![9 => 0..20_000u64, 1 => Just(u64::MAX)])
            .prop_map(|(file, position)| OwnedCall::Seek(file, position)),
        2 => (dir(), names(), dir(), names())
            .prop_map(|(at, from, to_at, to)| OwnedCall::Rename(at, from, to_at, to)),
        1 => (dir(), names(), dir(), names())
            .prop_map(|(at, from, to_at, to)| OwnedCall::Link(at, from, to_at, to)),
        // A name of their own: others may not open it for writing.
        1 => dir().prop_map(|at| OwnedCall::MakeNode(at, name("node"))),
        1 => dir().prop_map(|at| OwnedCall::Unlink(at, name("node"))),
        // A name of their own: what a link on the way is refused with depends on who walks it.
        1 => dir().prop_map(|at| OwnedCall::Symlink(at, name("link"))),
        1 => dir().prop_map(|at| OwnedCall::Unlink(at, name("link"))),
        1 => (dir(), names()).prop_map(|(at, name)| OwnedCall::SetTimes(at, name)),
        1 => (dir(), any::<bool>()).prop_map(|(dir, data_only)| OwnedCall::SyncDir(dir, data_only)),
        2 => (file(), 0..9000u32, 0..20_000u64)
            .prop_map(|(file, bytes, position)| OwnedCall::ReadAt(file, bytes, position)),
        2 => (file(), 0..9000u32, 0..20_000u64)
            .prop_map(|(file, bytes, position)| OwnedCall::WriteAt(file, bytes, position)),
        1 => (file(), 1..20u32).prop_map(|(file, bytes)| OwnedCall::ReadEach(file, bytes)),
        1 => (file(), 1..20u32).prop_map(|(file, bytes)| OwnedCall::WriteEach(file, bytes)),
        2 => file().prop_map(OwnedCall::FileStat),
        3 => (file(), 0..9000u32).prop_map(|(file, bytes)| OwnedCall::Read(file, bytes)),
        5 => (file(), 0..9000u32, 0..100_000u64)
            .prop_map(|(file, bytes, position)| OwnedCall::Write(file, bytes, position)),
        2 => (file(), prop_oneof![9 => 0..20_000u64, 1 => Just(u64::MAX)])
            .prop_map(|(file, bytes)| OwnedCall::Truncate(file, bytes)),
        1 => dir().prop_map(OwnedCall::MakeAgain),
        1 => file().prop_map(OwnedCall::Fsync),
        2 => file().prop_map(OwnedCall::Close),
        3 => (dir(), paths()).prop_map(|(at, path)| OwnedCall::Unlink(at, path)),
        2 => (dir(), names()).prop_map(|(at, name)| OwnedCall::Stat(at, name)),
        2 => (dir(), names()).prop_map(|(at, name)| OwnedCall::Size(at, name)),
    ]
}

/// Comparable form of a step's result. Entries are only counted at the end of a directory: their
/// order, and the reporting of concurrent changes, depend on the filesystem.
fn result(caller: &mut impl Caller, operation: &OwnedCall) -> String {
    match caller.call(&operation.call()) {
        Ok(reply) => format!("{:?}", reply.done),
        Err(error) => format!("{} failed: {}", operation.call().op(), error.errno),
    }
}

fn compare(confinement: Confinement, operations: &[OwnedCall], seed: u64) {
    let place = tempfile::tempdir().unwrap();
    let dir = File::open(place.path()).unwrap();
    let payload = Payload::new(PayloadKind::Classic, 0);
    let mut real = SyncCaller::new(dir.as_fd(), confinement, payload).unwrap();
    let filesystem = MemoryFilesystem::new(EntryOrder::Seeded(seed));
    let mut memory = MemoryCaller::new(&filesystem);
    for (number, operation) in operations.iter().enumerate() {
        let (by_kernel, by_oracle) = (result(&mut real, operation), result(&mut memory, operation));
        assert_eq!(by_kernel, by_oracle, "step {number}: {operation:?}");
    }
    assert_eq!(TreeSnapshot::from_directory(place.path()).unwrap(), filesystem.snapshot());
    real.close_all();
    memory.close_all();
    let closed = OwnedCall::Close(0);
    assert_eq!(result(&mut real, &closed), result(&mut memory, &closed));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(300))]

    #[test]
    fn the_memory_filesystem_agrees_with_the_kernel(
        operations in collection::vec(operations(), 1..80),
        seed in any::<u64>(),
        walk in any::<bool>(),
    ) {
        let confinement = if walk { Confinement::Walk } else { Confinement::Kernel };
        compare(confinement, &operations, seed);
    }
}

#[test]
fn a_file_cannot_take_the_place_of_a_directory_above_it() {
    let operations = [
        OwnedCall::MakeDir(0, name("c")),
        OwnedCall::OpenDir(0, name("c"), 2),
        OwnedCall::Create(2, name("b"), CreateHow::Append, 0),
        OwnedCall::Rename(2, name("b"), 0, name("c")),
    ];
    compare(Confinement::Kernel, &operations, 0);
}

#[test]
fn requests_of_any_size_take_the_fewest_calls() {
    let place = tempfile::tempdir().unwrap();
    let dir = File::open(place.path()).unwrap();
    let payload = Payload::new(PayloadKind::Native { compressibility: 0 }, 0);
    let mut real = SyncCaller::new(dir.as_fd(), Confinement::Kernel, payload).unwrap();
    let mut memory = MemoryCaller::new(&MemoryFilesystem::default());
    sizes_and_calls(&mut real);
    sizes_and_calls(&mut memory);
    let metadata = std::fs::metadata(place.path().join("big")).unwrap();
    assert_eq!(metadata.len(), 1000 + 2 * LARGEST_CALL_BYTES as u64 + 1);
}

fn sizes_and_calls(caller: &mut impl Caller) {
    let most = u32::try_from(LARGEST_CALL_BYTES).unwrap();
    let mut moved = |operation: OwnedCall| {
        let reply = caller.call(&operation.call()).unwrap();
        let bytes = if let CallResult::Bytes(bytes) = reply.done { bytes } else { 0 };
        (bytes, reply.calls)
    };
    moved(OwnedCall::Create(0, name("big"), CreateHow::Append, 0));
    assert_eq!(moved(OwnedCall::Write(0, 0, 0)), (0, 1));
    assert_eq!(moved(OwnedCall::Write(0, 1000, 0)), (1000, 1));
    // Also across the end of the payload's buffer.
    assert_eq!(moved(OwnedCall::Write(0, most, 1000)), (u64::from(most), 1));
    assert_eq!(moved(OwnedCall::Write(0, most + 1, 1000)), (u64::from(most) + 1, 2));
    moved(OwnedCall::Open(0, name("big"), 1));
    assert_eq!(moved(OwnedCall::Read(1, u32::MAX)), (u64::from(most), 1));
}

#[test]
fn directory_entries_do_not_depend_on_the_order() {
    let place = tempfile::tempdir().unwrap();
    let dir = File::open(place.path()).unwrap();
    let payload = Payload::new(PayloadKind::Classic, 0);
    let mut real = SyncCaller::new(dir.as_fd(), Confinement::Kernel, payload).unwrap();
    let mut orders = Vec::new();
    for order in [EntryOrder::Creation, EntryOrder::Seeded(1), EntryOrder::Seeded(2)] {
        let mut memory = MemoryCaller::new(&MemoryFilesystem::new(order));
        orders.push(names_after_making(&mut memory, 700));
    }
    orders.push(names_after_making(&mut real, 700));
    assert!(orders[0].is_sorted());
    assert_ne!(orders[1], orders[2]);
    for order in &mut orders {
        order.sort_unstable();
    }
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(orders[0].len(), 700);
}

fn names_after_making(caller: &mut impl Caller, files: u32) -> Vec<String> {
    let mut make = |operation: OwnedCall| {
        caller.call(&operation.call()).unwrap();
    };
    make(OwnedCall::MakeDir(0, name("d")));
    make(OwnedCall::OpenDir(0, name("d"), 1));
    for number in 0..files {
        make(OwnedCall::Create(1, name(&format!("file-{number:05}")), CreateHow::Exclusive, 0));
    }
    make(OwnedCall::OpenDir(0, name("d"), 1));
    let mut names = Vec::new();
    loop {
        let reply = caller.call(&OwnedCall::ReadDir(1).call()).unwrap();
        assert_eq!(reply.done, CallResult::Entries);
        let entries = caller.entries();
        if entries.is_empty() {
            return names;
        }
        names.extend(entries.map(|entry| entry.name.to_str().unwrap().to_owned()));
    }
}
