//! Requests of which many are under way, and files as memory: on the kernel and in memory.

use treering_engine::{MemoryFilesystem, Place, StopFlag, Target};
use treering_model::Op;
use treering_script::{
    Call, CreateHow, Dir, File, OpenHow, Outcome, Queue, QueueKind, Request, Script, Step, Task,
};

use crate::stage::{Play, perform, task_of, wave};

const BLOCK: u32 = 4096;
const DEPTH: u16 = 4;
const BLOCKS: u16 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Make,
    Submit,
    Reap,
    Reopen,
    Map,
    ReadMapped,
    WriteMapped,
    SyncMapped,
    Close,
}

/// Writes a file by requests and reads the end of it by a mapping.
struct Requesting {
    stage: Stage,
    next: u16,
    free: Vec<u16>,
    requests: Vec<Request>,
    done: u64,
}

impl Requesting {
    fn new() -> Self {
        let free = (0..DEPTH).collect();
        Self { stage: Stage::Make, next: 0, free, requests: Vec::new(), done: 0 }
    }

    fn hear(&mut self, last: &Outcome<'_>) {
        match *last {
            Outcome::Taken(taken) => {
                assert_eq!(taken as usize, self.requests.len());
                self.stage = Stage::Reap;
            }
            Outcome::Reaped(ended) => {
                assert!(!ended.is_empty());
                for one in ended {
                    assert_eq!(one.result, Ok(BLOCK));
                    self.free.push(one.tag);
                    self.done += 1;
                }
                let all = self.done == u64::from(BLOCKS);
                let more = self.next < BLOCKS;
                self.stage = if all {
                    Stage::Reopen
                } else if more {
                    Stage::Submit
                } else {
                    Stage::Reap
                };
            }
            Outcome::Bytes(bytes) => assert_eq!(bytes, u64::from(BLOCK)),
            _ => {}
        }
    }
}

impl Script for Requesting {
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(&last);
        let file = File(7);
        let position = u64::from(BLOCKS - 1) * u64::from(BLOCK);
        let bytes = u64::from(BLOCKS) * u64::from(BLOCK);
        let call = match self.stage {
            Stage::Make => {
                self.stage = Stage::Submit;
                let how = CreateHow::ExclusiveToRead;
                Call::Create { at: Dir::TARGET, path: c"file", how, into: file }
            }
            Stage::Submit => {
                self.requests.clear();
                while self.next < BLOCKS
                    && let Some(tag) = self.free.pop()
                {
                    let position = u64::from(self.next) * u64::from(BLOCK);
                    self.requests.push(Request { file, writes: true, bytes: BLOCK, position, tag });
                    self.next += 1;
                }
                Call::Submit { requests: &self.requests }
            }
            Stage::Reap => Call::Reap { least: 1 },
            Stage::Reopen => {
                self.stage = Stage::Map;
                let how = OpenHow::ReadWrite;
                Call::Open { at: Dir::TARGET, path: c"file", how, into: file }
            }
            Stage::Map => {
                self.stage = Stage::ReadMapped;
                Call::Map { file, bytes, writes: true, random: false }
            }
            Stage::ReadMapped => {
                self.stage = Stage::WriteMapped;
                Call::ReadMapped { file, bytes: BLOCK, position }
            }
            Stage::WriteMapped => {
                self.stage = Stage::SyncMapped;
                Call::WriteMapped { file, bytes: BLOCK, position }
            }
            Stage::SyncMapped => {
                self.stage = Stage::Close;
                Call::SyncMapped { file }
            }
            Stage::Close if self.next == BLOCKS => {
                self.next += 1;
                Call::Close { file }
            }
            Stage::Close => return None,
        };
        Some(call.into())
    }
}

fn check<P: Place>(place: &P, kind: QueueKind) -> bool {
    let task = Task {
        queue: Some(Queue { kind, depth: DEPTH }),
        ..task_of("a", Box::new(Requesting::new()))
    };
    let mut play = Play::new(vec![("p", vec![wave(vec![task])])]);
    let (result, heard) = perform(&mut play, place, &StopFlag::new());
    if let Err(error) = result {
        // A sandbox may have none of them.
        assert!(error.to_string().contains("no queue for its requests"), "{error}");
        return false;
    }
    let tasks = heard.tasks();
    let calls = |op: Op| tasks[0].ops.iter().find(|one| one.op == op).map_or(0, |one| one.calls);
    let bytes = |op: Op| tasks[0].ops.iter().find(|one| one.op == op).map_or(0, |one| one.bytes);
    assert_eq!(bytes(Op::Reap), u64::from(BLOCKS) * u64::from(BLOCK));
    assert_eq!((bytes(Op::Read), bytes(Op::Write)), (u64::from(BLOCK), u64::from(BLOCK)));
    assert_eq!((calls(Op::Fsync), calls(Op::Map), bytes(Op::Submit)), (1, 1, 0));
    assert!(calls(Op::Submit) >= u64::from(BLOCKS / DEPTH));
    assert_eq!(tasks[0].bytes, u64::from(BLOCKS + 2) * u64::from(BLOCK));
    true
}

#[test]
fn requests_are_done_by_each_kind_of_queue_and_in_memory() {
    for kind in [QueueKind::Libaio, QueueKind::IoUring] {
        let memory = MemoryFilesystem::default();
        assert!(check(&memory, kind));
        let place = tempfile::tempdir().unwrap();
        if !check(&Target::open(place.path()).unwrap(), kind) {
            continue;
        }
        let about = std::fs::metadata(place.path().join("file")).unwrap();
        assert_eq!(about.len(), u64::from(BLOCKS) * u64::from(BLOCK));
    }
}

#[test]
fn a_queue_without_depth_is_no_queue() {
    let task = Task {
        queue: Some(Queue { kind: QueueKind::Libaio, depth: 0 }),
        ..task_of("a", Box::new(Requesting::new()))
    };
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let mut play = Play::new(vec![("p", vec![wave(vec![task])])]);
    let (result, _heard) = perform(&mut play, &target, &StopFlag::new());
    assert!(result.unwrap_err().to_string().contains("Invalid argument"));
}
