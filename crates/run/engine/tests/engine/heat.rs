//! The log of what is read and written: the same from threads and from processes, with the places
//! that calls without a place have.

use std::time::Duration;

use treering_engine::{
    EngineOptions, HeatLog, LatencyMode, PayloadKind, Progress, StopFlag, Target, run_on_targets,
};
use treering_model::{HeatReport, HotData};
use treering_script::{CreateHow, OpenHow, SideBySide, Task, Wave, WorkerKind};

use crate::deeds::{Deed, name};
use crate::stage::{Heard, Play, task, wave};

const MIB: u64 = 1 << 20;

/// A file that is written, appended to, read at two places, renamed; another that goes.
fn deeds(dir: &str) -> Vec<Deed> {
    let (old, new) = (name("old"), name("new"));
    vec![
        Deed::MakeDir(0, name(dir)),
        Deed::OpenDir(0, name(dir), 1),
        Deed::Create(1, old.clone(), CreateHow::Truncate, 0),
        Deed::Write(0, 4096, 0),
        Deed::Write(0, 4096, 4096),
        Deed::WriteAt(0, 100, 3 * MIB),
        Deed::Close(0),
        Deed::OpenTo(OpenHow::Append, 1, old.clone(), 0),
        Deed::Write(0, 50, 0),
        Deed::Close(0),
        Deed::Open(1, old.clone(), 0),
        Deed::Seek(0, MIB),
        Deed::Read(0, 10),
        Deed::Seek(0, 8192),
        Deed::ReadEach(0, 3),
        Deed::Close(0),
        Deed::Rename(1, old, 1, new),
        Deed::Create(1, name("gone"), CreateHow::Truncate, 0),
        Deed::Write(0, 7, 0),
        Deed::Close(0),
        Deed::Unlink(1, name("gone")),
        Deed::CloseDir(1),
    ]
}

fn report(workers: WorkerKind) -> HeatReport {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap();
    let side_by_side = SideBySide { workers, ..SideBySide::default() };
    let tasks: Vec<Task> = ["a", "b"].map(|dir| task(dir, deeds(dir))).into();
    let mut play = Play::new(vec![("p", vec![Wave { side_by_side, ..wave(tasks) }])]);
    let options = EngineOptions::new(LatencyMode::All, PayloadKind::Classic, 1);
    let log = HeatLog::new(Duration::from_secs(1), vec![place.path().display().to_string()]);
    assert_eq!(log.take_report(), None);
    let (progress, stop, targets) = (Progress::new(), StopFlag::new(), [target]);
    let mut heard = Heard::default();
    run_on_targets(&mut play, &targets, &options, &mut heard, &progress, &stop, Some(&log))
        .unwrap();
    log.take_report().unwrap()
}

fn find<'r>(data: &'r [HotData], path: &str, offset: u64) -> &'r HotData {
    let found = data.iter().find(|one| one.path == path && one.offset == offset);
    found.unwrap_or_else(|| panic!("{path} {offset}: {data:?}"))
}

#[test]
fn places_and_counts_are_those_of_the_calls() {
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
            let of = |offset| find(&report.hottest_ranges, &new, offset).counts;
            assert_eq!((of(0).reads, of(0).writes, of(0).written_bytes), (3, 2, 8192));
            assert_eq!((of(MIB).reads, of(MIB).read_bytes), (1, 10));
            // What was appended lies behind what stood there.
            assert_eq!((of(3 * MIB).writes, of(3 * MIB).written_bytes), (2, 150));
            assert!(find(&report.hottest_files, &format!("{dir}/gone"), 0).removed);
        }
        assert_eq!(report.concentration.last(), Some(&(1.0, 1.0)));
    }
}
