//! Log of reads and writes: equal for threads and processes, with the file offsets of calls that do
//! not state any.

use std::time::Duration;

use treering_engine::{
    EngineOptions, HeatLog, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions,
    StopFlag, Target,
};
use treering_model::{HeatReport, HotData};
use treering_script::{CreateHow, OpenHow, ParallelGroup, ParallelOptions, Task, WorkerKind};

use crate::operations::{OwnedCall, name};
use crate::stage::{EventRecorder, ScriptedSession, group, task};

const MIB: u64 = 1 << 20;

/// Steps on a file that is written, appended to, read at two offsets and renamed, and on another
/// that is removed.
fn operations(dir: &str) -> Vec<OwnedCall> {
    let (old, new) = (name("old"), name("new"));
    vec![
        OwnedCall::MakeDir(0, name(dir)),
        OwnedCall::OpenDir(0, name(dir), 1),
        OwnedCall::Create(1, old.clone(), CreateHow::Truncate, 0),
        OwnedCall::Write(0, 4096, 0),
        OwnedCall::Write(0, 4096, 4096),
        OwnedCall::WriteAt(0, 100, 3 * MIB),
        OwnedCall::Close(0),
        OwnedCall::OpenTo(OpenHow::Append, 1, old.clone(), 0),
        OwnedCall::Write(0, 50, 0),
        OwnedCall::Close(0),
        OwnedCall::Open(1, old.clone(), 0),
        OwnedCall::Seek(0, MIB),
        OwnedCall::Read(0, 10),
        OwnedCall::Seek(0, 8192),
        OwnedCall::ReadEach(0, 3),
        OwnedCall::Close(0),
        OwnedCall::Rename(1, old, 1, new),
        OwnedCall::Create(1, name("gone"), CreateHow::Truncate, 0),
        OwnedCall::Write(0, 7, 0),
        OwnedCall::Close(0),
        OwnedCall::Unlink(1, name("gone")),
        OwnedCall::CloseDir(1),
    ]
}

fn report(workers: WorkerKind) -> HeatReport {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let side_by_side = ParallelOptions { workers, ..ParallelOptions::default() };
    let tasks: Vec<Task> = ["a", "b"].map(|dir| task(dir, operations(dir))).into();
    let mut play =
        ScriptedSession::new(vec![("p", vec![ParallelGroup { side_by_side, ..group(tasks) }])]);
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Classic, 1);
    let log = HeatLog::new(Duration::from_secs(1), vec![place.path().display().to_string()]);
    assert_eq!(log.take_report(), None);
    let (progress, stop, targets) = (RunProgress::new(), StopFlag::new(), [target]);
    let mut events = EventRecorder::default();
    targets
        .run(
            &mut play,
            RunOptions {
                heat: Some(&log),
                ..RunOptions::new(&options, &mut events, &progress, &stop)
            },
        )
        .unwrap();
    log.take_report().unwrap()
}

fn find<'r>(data: &'r [HotData], path: &str, offset: u64) -> &'r HotData {
    let entry = data.iter().find(|entry| entry.path == path && entry.offset == offset);
    entry.unwrap_or_else(|| panic!("{path} {offset}: {data:?}"))
}

#[test]
fn heat_is_recorded_at_the_ranges_of_the_calls() {
    for workers in [WorkerKind::Thread, WorkerKind::Process] {
        let report = report(workers);
        assert_eq!((report.files, report.left_out), (4, 0));
        // Of each directory: new has ranges 0, 1 and 3, the one that went has one.
        assert_eq!(report.ranges, 8);
        for dir in ["a", "b"] {
            let new = format!("{dir}/new");
            let file = find(&report.hottest_files, &new, 0);
            let counts = file.counts;
            assert_eq!((counts.reads, counts.writes), (4, 4), "{report:?}");
            assert_eq!((counts.read_bytes, counts.written_bytes), (13, 8342));
            assert!(!file.removed && file.mean_interval_ns.is_some());
            let counts_at = |offset| find(&report.hottest_ranges, &new, offset).counts;
            assert_eq!(
                (counts_at(0).reads, counts_at(0).writes, counts_at(0).written_bytes),
                (3, 2, 8192)
            );
            assert_eq!((counts_at(MIB).reads, counts_at(MIB).read_bytes), (1, 10));
            // What was appended lies behind what stood there.
            assert_eq!((counts_at(3 * MIB).writes, counts_at(3 * MIB).written_bytes), (2, 150));
            assert!(find(&report.hottest_files, &format!("{dir}/gone"), 0).removed);
        }
        assert_eq!(report.concentration.last(), Some(&(1.0, 1.0)));
    }
}
