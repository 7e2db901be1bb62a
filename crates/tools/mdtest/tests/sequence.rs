//! Order of mdtest's calls, without a disk: tests of a rank, trees, shifts, the time limit.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;

use treering_engine::{SessionRequest, rehearse_session};
use treering_mdtest::MdtestWorkload;
use treering_script::{
    Call, CreateHow, DirSlot, OpenHow, SessionStop, SyncScope, TargetFacts, Task, Workload,
};

use treering_testkit::sequence::{self, calls, settings, totals};

fn text(name: &CStr) -> String {
    name.to_str().unwrap().to_owned()
}

fn words(call: &Call<'_>) -> String {
    let at = |at: DirSlot, name: &CStr| match at {
        DirSlot::TARGET => text(name),
        DirSlot(slot) => format!("{slot}:{}", text(name)),
    };
    match *call {
        Call::OpenDir { at: from, path, into } => format!("open {} as {}", at(from, path), into.0),
        Call::MakeDir { at: from, name } => format!("mkdir {}", at(from, name)),
        Call::RemoveDir { at: from, name } => format!("rmdir {}", at(from, name)),
        Call::Create { at: from, path, how, .. } => {
            assert_eq!(how, CreateHow::OrOpen);
            format!("create {}", at(from, path))
        }
        Call::Open { at: from, path, how, .. } => {
            let how = match how {
                OpenHow::Read => "read",
                OpenHow::ReadWrite => "read-write",
                OpenHow::Write => "write",
                other => panic!("{other:?} is not mdtest's"),
            };
            format!("open {} to {how}", at(from, path))
        }
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::Close { .. } => "close".to_owned(),
        Call::Stat { at: from, name } => format!("stat {}", at(from, name)),
        Call::Unlink { at: from, path } => format!("unlink {}", at(from, path)),
        Call::Rename { at: from, from: old, to_at, to } => {
            format!("rename {} {}", at(from, old), at(to_at, to))
        }
        Call::Sync { scope: SyncScope::Machine } => "sync".to_owned(),
        Call::Pause { ns } => format!("pause {ns}"),
        Call::Sync { scope: SyncScope::Target } => "syncfs".to_owned(),
        other => panic!("{other:?} is not mdtest's"),
    }
}

/// The calls of one rank in each phase, with the name of the phase.
fn phases(text: &str, classic: bool, rank: u16) -> Vec<String> {
    let settings = settings(text);
    let job =
        if classic { MdtestWorkload.classic(&settings) } else { MdtestWorkload.native(&settings) }
            .unwrap();
    sequence::phases(job.as_ref(), words, rank)
}

#[test]
fn single_rank_makes_the_calls_of_the_original() {
    let made = phases("dir=/m items=3 write-bytes=10 read-bytes=10 sync-file call-sync", true, 0);
    let file = |n: u32| format!("create 2:file.mdtest.0.{n}, seek 0, write 10, fsync, close");
    let read = |n: u32| format!("open 2:file.mdtest.0.{n} to read-write, seek 0, read 10, close");
    let top = "open test-dir.0-0/mdtest_tree.0 as 2";
    let each = |call: &str| (0..3).map(|n| format!("{call}{n}")).collect::<Vec<_>>().join(", ");
    assert_eq!(
        made,
        [
            "tree-create: mkdir test-dir.0-0, open test-dir.0-0 as 1, mkdir 1:mdtest_tree.0"
                .to_owned(),
            format!("dir-create: {top}, {}, sync", each("mkdir 2:dir.mdtest.0.")),
            format!("dir-stat: {top}, {}, sync", each("stat 2:dir.mdtest.0.")),
            format!(
                "dir-rename: {top}, rename 2:dir.mdtest.0.0 2:dir.mdtest.0.0-XX, rename \
                 2:dir.mdtest.0.1 2:dir.mdtest.0.0, rename 2:dir.mdtest.0.0-XX 2:dir.mdtest.0.1, \
                 sync"
            ),
            format!("dir-remove: {top}, {}, sync", each("rmdir 2:dir.mdtest.0.")),
            format!("file-create: {top}, {}, {}, {}, sync", file(0), file(1), file(2)),
            format!("file-stat: {top}, {}, sync", each("stat 2:file.mdtest.0.")),
            format!("file-read: {top}, {}, {}, {}, sync", read(0), read(1), read(2)),
            format!("file-remove: {top}, {}, sync", each("unlink 2:file.mdtest.0.")),
            "tree-remove: open test-dir.0-0 as 1, rmdir 1:mdtest_tree.0, rmdir test-dir.0-0"
                .to_owned(),
        ]
    );
}

#[test]
fn items_of_leaves_are_numbered_from_the_first_leaf_and_trees_go_children_first() {
    let words = "dir=/m items-per-dir=2 depth=1 branch=2 leaf-only only-files only-create \
                 only-remove unique-dir";
    let made = phases(words, true, 0);
    let tree = "mdtest_tree.0.0";
    assert_eq!(
        made[0],
        format!(
            "tree-create: mkdir test-dir.0-0, open test-dir.0-0 as 1, mkdir 1:{tree}, open \
             test-dir.0-0/{tree} as 2, mkdir 2:mdtest_tree.0.1, mkdir 2:mdtest_tree.0.2"
        )
    );
    assert_eq!(
        made[1],
        format!(
            "file-create: open test-dir.0-0/{tree}/mdtest_tree.0.1 as 3, create \
             3:file.mdtest.0.2, close, create 3:file.mdtest.0.3, close, open \
             test-dir.0-0/{tree}/mdtest_tree.0.2 as 4, create 4:file.mdtest.0.4, close, create \
             4:file.mdtest.0.5, close"
        )
    );
    assert_eq!(
        made[3],
        format!(
            "tree-remove: open test-dir.0-0/{tree} as 2, rmdir 2:mdtest_tree.0.1, rmdir \
             2:mdtest_tree.0.2, open test-dir.0-0 as 1, rmdir 1:{tree}, rmdir test-dir.0-0"
        )
    );
}

#[test]
fn shift_selects_the_items_of_the_neighbouring_rank() {
    let words = "dir=/m items=1 ranks=4 shift=1 unique-dir only-files only-create only-stat \
                 only-read only-remove";
    let made = phases(words, true, 0);
    let calls: Vec<&str> =
        made[1..5].iter().map(|phase| phase.split(": ").nth(1).unwrap()).collect();
    assert_eq!(
        calls,
        [
            "open test-dir.0-0/mdtest_tree.1.0 as 2, create 2:file.mdtest.0.0, close",
            "open test-dir.0-0/mdtest_tree.2.0 as 2, stat 2:file.mdtest.1.0",
            "open test-dir.0-0/mdtest_tree.3.0 as 2, open 2:file.mdtest.2.0 to read-write, close",
            "open test-dir.0-0/mdtest_tree.0.0 as 2, unlink 2:file.mdtest.3.0",
        ]
    );
}

#[test]
fn unique_creator_option_lets_rank_0_create_all_items() {
    let words = "dir=/m items=1 ranks=2 collective only-files only-create only-remove";
    let first = phases(words, true, 0);
    assert_eq!(
        first[1],
        "file-create: open test-dir.0-0/mdtest_tree.0 as 2, create 2:file.mdtest.0.0, close, open \
         test-dir.0-0/mdtest_tree.0 as 2, create 2:file.mdtest.1.0, close, open \
         test-dir.0-0/mdtest_tree.0 as 2, open 2:file.mdtest.0.0 to write, close"
    );
    let second = phases(words, true, 1);
    assert_eq!(
        second[1],
        "file-create: open test-dir.0-0/mdtest_tree.0 as 2, open 2:file.mdtest.1.0 to write, close"
    );
    assert_eq!(second[2], "file-remove: ");
}

#[test]
fn items_are_spread_over_test_directories() {
    let made = phases("dir=/m items=2 items-per-dir=1 only-files only-create", true, 0);
    assert!(made[0].contains("mkdir test-dir.0-0, mkdir test-dir.0-1"), "{}", made[0]);
    assert_eq!(
        made[1],
        "file-create: open test-dir.0-0/mdtest_tree.0 as 2, create 2:file.mdtest.0.0, close, open \
         test-dir.0-1/mdtest_tree.0 as 2, create 2:file.mdtest.0.0, close"
    );
}

#[test]
fn natively_files_are_opened_to_read_and_the_target_is_synced() {
    let made = phases("items=1 only=files write-size=10 sync-each-test iterations=2", false, 0);
    let top = "open test-dir.0-0/mdtest_tree.0 as 2";
    assert_eq!(
        made[1],
        format!("file-create: {top}, create 2:file.mdtest.0.0, write 10, close, syncfs")
    );
    assert_eq!(
        made[3],
        format!("file-read: {top}, open 2:file.mdtest.0.0 to read, read 10, close, syncfs")
    );
    assert!(made[7].starts_with("file-create 2: open test-dir.1-0/"), "{}", made[7]);
}

#[test]
fn ranks_catch_up_with_the_fastest_after_the_creation_time_limit() {
    let settings = settings("items=10 only=files workers=2 stonewall=5");
    let job = MdtestWorkload.native(&settings).unwrap();
    let facts = TargetFacts::unknown();
    let mut session = job.begin(&facts);
    let creates = |task: &mut Task| {
        let mut made = calls(task.script.as_mut(), words);
        made.retain(|call| call.starts_with("create"));
        made
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
        if phases == 1 {
            return Ok(());
        }
        let [first, second] = &mut group.tasks[..] else { panic!("two workers") };
        match (phases, groups) {
            (2, 1) => {
                let limit = group.time_limit.unwrap();
                assert_eq!(limit.after.as_secs(), 5);
                // The first worker made all before time was over, the second one item after.
                assert_eq!(creates(first).len(), 10);
                limit.deadline.reach();
                assert_eq!(creates(second), ["create 2:file.mdtest.1.0"]);
            }
            (2, 2) => {
                assert!(group.time_limit.is_none());
                assert_eq!(creates(first).len(), 0);
                let made = creates(second);
                assert_eq!((made.len(), made[0].as_str()), (9, "create 2:file.mdtest.1.1"));
            }
            (3, 1) => {
                assert_eq!(calls(second.script.as_mut(), words).len(), 1 + 10);
                return Err(SessionStop::Ended);
            }
            other => panic!("no group is expected in {other:?}"),
        }
        listener.task_ended(&totals(0, first));
        listener.task_ended(&totals(1, second));
        Ok(())
    });
    rehearsed.unwrap();
    assert_eq!((phases, groups), (3, 1));
}

#[test]
fn delays_stand_before_the_first_test_of_a_kind() {
    let made = phases("items=1 only-create pre-delay=1 dir=/m", true, 0);
    let second = "pause 1000000000";
    let of = |name: &str| made.iter().find(|phase| phase.starts_with(name)).unwrap().clone();
    assert!(of("dir-create").starts_with(&format!("dir-create: {second}, ")), "{made:?}");
    assert!(of("file-create").starts_with(&format!("file-create: {second}, ")), "{made:?}");
    let made = phases("items=1 only-files pre-delay=1 dir=/m", true, 0);
    assert_eq!(made.join("\n").matches(second).count(), 1, "{made:?}");
}

#[test]
fn commands_stand_around_each_test_of_items() {
    let options = "items=1 only-create dir=/m run-cmd-before-phase=a run-cmd-after-phase=b";
    let job = MdtestWorkload.classic(&settings(options)).unwrap();
    let facts = TargetFacts::unknown();
    let mut session = job.begin(&facts);
    let (mut commands, mut phase) = (Vec::new(), String::new());
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        match request {
            SessionRequest::Phase(began) => phase = began.name,
            SessionRequest::Group(mut group, listener) => {
                commands.extend(group.command.take().map(|command| format!("{phase} {command}")));
                for (worker, task) in (0..).zip(&mut group.tasks) {
                    calls(task.script.as_mut(), words);
                    listener.task_ended(&totals(worker, task));
                }
            }
        }
        Ok(())
    });
    rehearsed.unwrap();
    assert_eq!(commands, ["dir-create a", "dir-create b", "file-create a", "file-create b"]);
}

/// Sets of options with which IO500 and its forerunners call mdtest.
const SETS: [&str; 6] = [
    "data-packet-type=incompressible items=100 time-unique write-bytes=3901 read-bytes=3901 \
     rate-and-time data-offset=-499000000 shift=1 only-files stonewall-file=/m/x only-read \
     verify-read save-rank-performance-details=/m/r api=POSIX direct",
    "items=100 unique-dir leaf-only only-files rate-and-time data-offset=-515000000 shift=1 \
     only-remove direct",
    "only-create only-files items=100 unique-dir leaf-only stonewall=300 stonewall-file=/m/x \
     direct shift=1",
    "only-create only-files call-sync write-bytes=3901 read-bytes=3901 items=100 verbose \
     verbosity=1",
    "only-remove only-files items=100 depth=1 branch=12 unique-dir leaf-only",
    "items=10 pre-delay=1 first=1 last=1 stride=1 mknod run-cmd-before-phase=true \
     run-cmd-after-phase=true save-per-op-data-csv=/m/o",
];

#[test]
fn sets_of_options_of_io500_are_taken() {
    for set in SETS {
        let settings = settings(&format!("dir=/m/x {set}"));
        let job = MdtestWorkload.classic(&settings);
        assert!(job.is_ok(), "{set}: {:?}", job.err());
        assert!(MdtestWorkload.classic_mode(&settings).is_ok(), "{set}");
    }
}
