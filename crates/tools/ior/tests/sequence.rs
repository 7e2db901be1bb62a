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
        Call::MakePrivateDir { at: from, name } => format!("mkdir of 0700 {}", at(from, name)),
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
        Call::Stat { at: from, name } => format!("stat {}", at(from, name)),
        Call::Size { at: from, name } => format!("size {}", at(from, name)),
        Call::OpenRoot { root, into } => format!("root {root} as {}", into.0),
        Call::Truncate { bytes, .. } => format!("truncate {bytes}"),
        Call::Map { bytes, writes, random, .. } => {
            let how = if writes { "write" } else { "read" };
            format!("map {bytes} to {how}{}", if random { " randomly" } else { "" })
        }
        Call::WriteMapped { bytes, position, .. } => format!("copy {bytes} to {position}"),
        Call::ReadMapped { bytes, position, .. } => format!("copy {bytes} from {position}"),
        Call::SyncMapped { .. } => "msync".to_owned(),
        Call::Pause { ns } => format!("pause {ns}"),
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
            "write: stat f, unlink f, create f, seek 0, write 65536, seek 65536, write 65536, \
             fsync, close",
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
        ["write: stat f.00000001, unlink f.00000001, create f.00000001, seek 0, write 8, \
             seek 8, write 8, seek 16, write 8, seek 24, write 8, close"]
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

#[test]
fn a_sync_after_each_transfer_is_made_twice_as_the_original_does() {
    assert_eq!(
        phases("file=/m/f block=8 transfer=8 fsync-each fsync write keep", true, 0),
        ["write: stat f, unlink f, create f, seek 0, write 8, fsync, fsync, fsync, close"]
    );
    assert_eq!(
        phases("file=/m/f block=16 transfer=8 fsync-each write keep", true, 0),
        ["write: stat f, unlink f, create f, seek 0, write 8, fsync, fsync, seek 8, write 8, \
          fsync, fsync, close"]
    );
}

#[test]
fn barriers_stand_between_open_transfers_and_close() {
    let words = "file=/m/f block=8 transfer=8 ranks=2 barriers keep use-existing";
    // The first of two ranks waits, told without a clock once; the second finds all there.
    assert_eq!(
        phases(words, true, 0),
        [
            "write: stat f, create f, pause 20000, seek 0, write 8, pause 20000, close",
            "read: open f, pause 20000, seek 0, read 8, pause 20000, close",
        ]
    );
    assert_eq!(
        phases(words, true, 1),
        ["write: create f, seek 8, write 8, close", "read: open f, seek 8, read 8, close"]
    );
}

#[test]
fn barriers_of_the_first_rank_to_come_wait_for_the_last() {
    let made = phases("file=/m/f block=8 transfer=8 barriers keep use-existing write", true, 0);
    assert_eq!(made, ["write: stat f, create f, seek 0, write 8, close"]);
}

#[test]
fn a_mapping_has_the_bytes_of_all_ranks() {
    let words = "file=/m/f block=8 transfer=8 ranks=2 api=MMAP fsync use-existing keep";
    assert_eq!(
        phases(words, true, 1),
        [
            "write: create f, truncate 16, map 16 to write, copy 8 to 8, msync, close",
            "read: open f, map 16 to read, copy 8 from 8, close",
        ]
    );
}

#[test]
fn mpi_io_is_one_call_at_an_offset_for_each_transfer() {
    let words = "file=/m/f block=16 transfer=8 api=MPIIO file-per-process";
    assert_eq!(
        phases(words, true, 0),
        [
            "write: stat f.00000000, unlink f.00000000, create f.00000000, truncate 0, write 8@0, \
          write 8@8, close",
            "read: open f.00000000, read 8@0, read 8@8, close",
            "remove: unlink f.00000000",
        ]
    );
}

#[test]
fn the_dummy_interface_calls_nothing() {
    assert_eq!(
        phases("file=/m/f block=16 transfer=8 api=DUMMY", true, 0),
        ["write: pause 0, pause 0, pause 0", "read: pause 0, pause 0, pause 0", "remove: "]
    );
}

#[test]
fn blocks_of_the_file_are_drawn_only_where_nothing_is_written() {
    let words = "file=/m/f block=16 transfer=8 keep random random-blocks";
    let error = IorWorkload.classic(&settings(&format!("{words} write"))).err().unwrap();
    assert!(error.message.starts_with("-z twice draws places"), "{}", error.message);
    assert!(IorWorkload.classic(&settings(&format!("{words} read"))).is_ok());
}

#[test]
fn ranks_take_turns_at_files_in_several_directories() {
    let words = "file=/m/d/a@/m/e/b block=8 transfer=8 ranks=3 file-per-process keep use-existing";
    // Rank 2 has the first file, and works in the first directory.
    assert_eq!(
        phases(words, true, 2),
        [
            "write: stat a.00000002, create a.00000002, seek 0, write 8, close",
            "read: open a.00000002, seek 0, read 8, close",
        ]
    );
    let words = "file=/m/d/a@/m/e/b@/m/d/c block=8 transfer=8 ranks=3 file-per-process keep \
                 use-existing write";
    // Rank 1 of three files works in the second directory, whose number is its own.
    assert_eq!(
        phases(words, true, 1),
        ["write: stat b.00000001, create b.00000001, seek 0, write 8, close"]
    );
    let words = "file=/m/d/a@/m/d/b@/m/e/c block=8 transfer=8 ranks=3 file-per-process keep \
                 use-existing write";
    assert_eq!(
        phases(words, true, 1),
        ["write: root 0 as 1, stat 1:b.00000001, root 0 as 1, create 1:b.00000001, seek 0, \
          write 8, close"]
    );
}

/// Sets of options with which IO500 and its forerunners call ior.
const SETS: [&str; 8] = [
    "packet-type=incompressible reorder task-offset=1 barriers data-seed=-1385000000 keep fsync \
     directives=stoneWallingStatusFile=/m/s transfer=1m block=64m file-per-process read check-read \
     api=POSIX directives=saveRankPerformanceDetailsCSV=/m/r",
    "packet-type=timestamp reorder task-offset=1 barriers data-seed=-1385000000 keep fsync \
     transfer=47008 block=47008 segments=100 write deadline=300 direct directives=\
     stoneWallingStatusFile=/m/s directives=stoneWallingWearOut=1",
    "task-offset=1 barriers data-seed=-165000000 random random-offset-seed=123 fsync keep \
     transfer=4096 block=1m segments=100 write deadline=300 directives=stoneWallingWearOut=1",
    "barriers data-seed=729000000 keep fsync file-per-process read deadline=300 random \
     random-blocks api=MPIIO transfer=4096 block=4096 segments=100",
    "unique-dir file-per-process write deadline=300 directives=stoneWallingWearOut=1 barriers keep",
    "read check-read direct transfer=1m block=13m file-per-process data-seed=27 keep barriers \
     directives=stoneWallingStatusFile=/m/s",
    "read check-read segments=2 use-existing verbose repetitions=1 data-seed=27 keep barriers \
     transfer=47008 block=47008",
    "write barriers keep deadline=0 transfer=47008 block=47008 segments=10 \
     directives=taskPerNodeOffset=2,minTimeDuration=0,savePerOpDataCSV=/m/o",
];

#[test]
fn sets_of_options_of_io500_are_taken() {
    for set in SETS {
        let settings = settings(&format!("file=/m/x {set}"));
        let job = IorWorkload.classic(&settings);
        assert!(job.is_ok(), "{set}: {:?}", job.err());
        assert!(IorWorkload.classic_mode(&settings).is_ok(), "{set}");
    }
}
