//! Asynchronous requests with many in flight, and memory-mapped files: on the kernel and in memory.

use treering_engine::{MemoryFilesystem, RunSessions, StopFlag, Target};
use treering_model::Op;
use treering_script::{
    AsyncRequest, CreateHow, DirSlot, FileSlot, Io, IoQueue, OpenHow, QueueKind, RequestFlags,
    Script, Stop, Task,
};

use crate::stage::{ScriptedSession, group, perform, task_of};

const BLOCK: u32 = 4096;
const DEPTH: u16 = 4;
const BLOCKS: u16 = 32;

/// Script that writes a file through a queue and reads its end through a mapping.
struct QueuedScript;

impl Script for QueuedScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        const FILE: FileSlot = FileSlot(7);
        io.create(DirSlot::TARGET, c"file", CreateHow::ExclusiveToRead, FILE)?;
        let mut free: Vec<u16> = (0..DEPTH).collect();
        let (mut next, mut done) = (0, 0);
        while done < BLOCKS {
            let tags = free.drain(..).take(usize::from(BLOCKS - next)).collect::<Vec<_>>();
            let requests: Vec<AsyncRequest> = (next..)
                .zip(tags)
                .map(|(block, tag)| {
                    let position = u64::from(block) * u64::from(BLOCK);
                    AsyncRequest { file: FILE, writes: true, bytes: BLOCK, position, tag }
                })
                .collect();
            if !requests.is_empty() {
                assert_eq!(io.submit(&requests)? as usize, requests.len());
                next += u16::try_from(requests.len()).unwrap();
            }
            let ended = io.reap(1)?;
            assert!(!ended.is_empty());
            for completion in ended {
                assert_eq!(completion.result, Ok(BLOCK));
                free.push(completion.tag);
                done += 1;
            }
        }
        io.open(DirSlot::TARGET, c"file", OpenHow::ReadWrite, FILE)?;
        let (bytes, last) = (u64::from(BLOCKS) * u64::from(BLOCK), u64::from(BLOCKS - 1));
        io.map(FILE, bytes, true, false)?;
        let position = last * u64::from(BLOCK);
        assert_eq!(io.read_mapped(FILE, BLOCK, position)?, u64::from(BLOCK));
        assert_eq!(io.write_mapped(FILE, BLOCK, position)?, u64::from(BLOCK));
        io.sync_mapped(FILE)?;
        io.close(FILE)
    }
}

fn check<P: RunSessions>(place: &P, kind: QueueKind) -> bool {
    let task = Task {
        queue: Some(IoQueue {
            kind,
            depth: DEPTH,
            read_bytes: 0,
            write_bytes: BLOCK,
            flags: RequestFlags::default(),
        }),
        ..task_of("a", Box::new(QueuedScript))
    };
    let mut play = ScriptedSession::new(vec![("p", vec![group(vec![task])])]);
    let (result, events) = perform(&mut play, place, &StopFlag::new());
    if let Err(error) = result {
        // A sandbox may have none of them.
        assert!(error.to_string().contains("no queue for its requests"), "{error}");
        return false;
    }
    let tasks = events.tasks();
    let calls = |op: Op| {
        tasks[0].ops.iter().find(|totals| totals.op == op).map_or(0, |totals| totals.calls)
    };
    let bytes = |op: Op| {
        tasks[0].ops.iter().find(|totals| totals.op == op).map_or(0, |totals| totals.bytes)
    };
    assert_eq!(bytes(Op::Reap), u64::from(BLOCKS) * u64::from(BLOCK));
    assert_eq!((bytes(Op::Read), bytes(Op::Write)), (u64::from(BLOCK), u64::from(BLOCK)));
    assert_eq!((calls(Op::Fsync), calls(Op::Map), bytes(Op::Submit)), (1, 1, 0));
    assert!(calls(Op::Submit) >= u64::from(BLOCKS / DEPTH));
    assert_eq!(tasks[0].bytes, u64::from(BLOCKS + 2) * u64::from(BLOCK));
    true
}

#[test]
fn requests_complete_in_every_queue_kind_and_in_memory() {
    for kind in [QueueKind::Libaio, QueueKind::IoUring] {
        let memory = MemoryFilesystem::default();
        assert!(check(&memory, kind));
        let place = tempfile::tempdir().unwrap();
        if !check(&Target::open(place.path()).unwrap(), kind) {
            continue;
        }
        let metadata = std::fs::metadata(place.path().join("file")).unwrap();
        assert_eq!(metadata.len(), u64::from(BLOCKS) * u64::from(BLOCK));
    }
}

#[test]
fn a_queue_without_depth_is_no_queue() {
    let task = Task {
        queue: Some(IoQueue {
            kind: QueueKind::Libaio,
            depth: 0,
            read_bytes: 0,
            write_bytes: 0,
            flags: RequestFlags::default(),
        }),
        ..task_of("a", Box::new(QueuedScript))
    };
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let mut play = ScriptedSession::new(vec![("p", vec![group(vec![task])])]);
    let (result, _heard) = perform(&mut play, &target, &StopFlag::new());
    assert!(result.unwrap_err().to_string().contains("Invalid argument"));
}
