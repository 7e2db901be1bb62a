//! Order of ior's calls, without a disk: tests of a rank, offsets in shared and separate files,
//! shifts, the time limit.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;

use treering_engine::{SessionRequest, rehearse_session};
use treering_ior::IorWorkload;
use treering_script::{
    Call, CreateHow, DirSlot, OpenHow, SessionStop, TargetFacts, Task, Workload,
};

use treering_testkit::sequence::{self, calls, settings, totals};

fn words(call: &Call<'_>) -> String {
    let at = |at: DirSlot, name: &CStr| match at {
        DirSlot::TARGET => name.to_str().unwrap().to_owned(),
        DirSlot(slot) => format!("{slot}:{}", name.to_str().unwrap()),
    };
    match *call {
        Call::OpenDir { at: from, path, into } => format!("open {} as {}", at(from, path), into.0),
        Call::MakeDir { at: from, name } => format!("mkdir {}", at(from, name)),
        Call::RemoveDir { at: from, name } => format!("rmdir {}", at(from, name)),
        Call::Create { at: from, path, how: CreateHow::OrOpen, .. } => {
            format!("create {}", at(from, path))
        }
        Call::Open { at: from, path, how: OpenHow::Read, .. } => format!("open {}", at(from, path)),
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::WriteAt { bytes, position, .. } => format!("write {bytes}@{position}"),
        Call::ReadAt { bytes, position, .. } => format!("read {bytes}@{position}"),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::Close { .. } => "close".to_owned(),
        Call::Unlink { at: from, path } => format!("unlink {}", at(from, path)),
        other => panic!("{other:?} is not ior's"),
    }
}

/// The calls of one rank in each phase, with the name of the phase.
fn phases(text: &str, classic: bool, rank: u16) -> Vec<String> {
    let settings = settings(text);
    let job = if classic { IorWorkload.classic(&settings) } else { IorWorkload.native(&settings) }
        .unwrap();
    sequence::phases(job.as_ref(), words, rank)
}

#[test]
fn single_rank_makes_the_calls_of_the_original() {
    assert_eq!(
        phases("file=/m/f block=128K transfer=64K fsync", true, 0),
        [
            "write: unlink f, create f, seek 0, write 65536, seek 65536, write 65536, fsync, close",
            "read: open f, seek 0, read 65536, seek 65536, read 65536, close",
            "remove: unlink f",
        ]
    );
}

#[test]
fn segments_of_a_shared_file_have_a_block_of_every_rank() {
    let words = "file=/m/f block=16 transfer=8 segments=2 ranks=3 write keep";
    let made = phases(words, true, 1);
    assert_eq!(
        made,
        [
            "write: create f, seek 16, write 8, seek 24, write 8, seek 64, write 8, seek 72, write 8, \
          close"
        ]
    );
    let words = "file=/m/f block=16 transfer=8 segments=2 ranks=3 write keep file-per-process";
    let made = phases(words, true, 1);
    assert_eq!(
        made,
        [
            "write: unlink f.00000001, create f.00000001, seek 0, write 8, seek 8, write 8, seek 16, \
          write 8, seek 24, write 8, close"
        ]
    );
}

#[test]
fn native_workers_read_what_their_neighbours_wrote() {
    let made = phases("workers=2 block=8 transfer=8 files=own", false, 0);
    assert_eq!(
        made,
        [
            "write: mkdir ior-0, open ior-0 as 1, create 1:data.00000000, write 8@0, fsync, close",
            "read: open ior-0 as 1, open 1:data.00000001, read 8@0, close",
            "remove: open ior-0 as 1, unlink 1:data.00000000, rmdir ior-0",
        ]
    );
}

#[test]
fn random_order_of_a_shared_file_visits_every_offset_once() {
    for (words, classic) in [
        (
            "file=/m/f block=80 transfer=8 segments=2 ranks=3 write keep random \
             random-offset-seed=7",
            true,
        ),
        ("block=80 transfer=8 segments=2 workers=3 order=random only=write", false),
    ] {
        let mut places: Vec<u64> = (0..3)
            .flat_map(|rank| phases(words, classic, rank))
            .flat_map(|phase| phase.split(", ").map(str::to_owned).collect::<Vec<_>>())
            .filter_map(|call| {
                let at = call.strip_prefix("seek ").or_else(|| call.strip_prefix("write 8@"))?;
                at.parse().ok()
            })
            .collect();
        assert!(places.windows(2).any(|two| two[1] < two[0]), "{words}");
        places.sort_unstable();
        assert_eq!(places, (0..60).map(|number| number * 8).collect::<Vec<u64>>(), "{words}");
    }
}

#[test]
fn ranks_catch_up_with_the_fastest_after_the_time_limit() {
    let settings = settings("block=8 transfer=8 segments=10 workers=2 stonewall=5 shift=0");
    let job = IorWorkload.native(&settings).unwrap();
    let facts = TargetFacts::unknown();
    let mut session = job.begin(&facts);
    let moved = |task: &mut Task, message: &str| {
        calls(task.script.as_mut(), words).iter().filter(|call| call.starts_with(message)).count()
    };
    let mut phases = 0;
    let mut groups = 0;
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let SessionRequest::Group(mut group, listener) = request else {
            phases += 1;
            groups = 0;
            return Ok(());
        };
        groups += 1;
        let [first, second] = &mut group.tasks[..] else { return Ok(()) };
        match (phases, groups) {
            (1, 2) => {
                assert_eq!(moved(first, "write"), 10);
                group.time_limit.unwrap().deadline.reach();
                assert_eq!(moved(second, "write"), 1);
            }
            (1, 3) => assert_eq!((moved(first, "write"), moved(second, "write")), (0, 9)),
            (2, 1) => {
                assert_eq!(moved(second, "read"), 10);
                return Err(SessionStop::Ended);
            }
            other => panic!("no group is expected in {other:?}"),
        }
        listener.task_ended(&totals(0, first));
        listener.task_ended(&totals(1, second));
        Ok(())
    });
    rehearsed.unwrap();
    assert_eq!((phases, groups), (2, 1));
}
