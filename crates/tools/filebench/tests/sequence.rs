//! Calls of filebench's flowops in their order, in memory: creation and use of filesets.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::ffi::CStr;
use std::ops::ControlFlow;

use treering_engine::{
    EntryOrder, MemoryCaller, MemoryFilesystem, SessionRequest, rehearse, rehearse_session,
};
use treering_filebench::Filebench;
use treering_model::TaskTotals;
use treering_script::{Call, OpenHow, Script, Settings, TargetFacts, Workload};
use treering_testkit::temp_dir;

/// Formats a call.
fn words(call: &Call<'_>) -> String {
    let text = |name: &CStr| name.to_str().unwrap().trim_start_matches('0').to_owned();
    match *call {
        Call::OpenDir { path, .. } => format!("opendir {}", path.to_str().unwrap()),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::RemoveDir { name, .. } => format!("rmdir {}", text(name)),
        Call::Unlink { path, .. } => format!("unlink {}", text(path)),
        Call::Create { path, .. } => format!("create {}", text(path)),
        Call::Open { path, how: OpenHow::Read, .. } => format!("open {} to read", text(path)),
        Call::Open { path, .. } => format!("open {}", text(path)),
        Call::Stat { name, .. } => format!("stat {}", text(name)),
        Call::FileStat { .. } => "fstat".to_owned(),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Write { bytes, position, .. } => format!("write {bytes} at {position}"),
        Call::ReadAt { bytes, position, .. } => format!("pread {bytes} {position}"),
        Call::WriteAt { bytes, position, .. } => format!("pwrite {bytes} {position}"),
        Call::Seek { position, .. } => format!("seek {position}"),
        Call::SeekEnd { .. } => "seek end".to_owned(),
        Call::Advise { random: true, .. } => "advise random".to_owned(),
        Call::Fsync { .. } => "fsync".to_owned(),
        Call::Close { .. } => "close".to_owned(),
        Call::ReadDir { .. } => "readdir".to_owned(),
        Call::CloseDir { .. } => "closedir".to_owned(),
        Call::Submit { requests } => format!("submit {}", requests.len()),
        Call::Reap { least } => format!("reap {least}"),
        Call::Sync { .. } => "sync".to_owned(),
        Call::Pause { .. } | Call::Await { .. } => "wait".to_owned(),
        ref other => panic!("{other:?} is not filebench's"),
    }
}

/// First calls of a script, and its counters.
fn calls(script: &mut dyn Script, memory: &MemoryFilesystem, most: usize) -> Vec<String> {
    let mut caller = MemoryCaller::new(memory);
    let mut calls = Vec::new();
    let mut watch = |call: &Call<'_>, _done| {
        calls.push(words(call));
        if calls.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    rehearse(script, &mut caller, 1000, &mut watch).unwrap();
    calls
}

/// Calls of the setup, then those of the first thread, up to `most`.
fn run(text: &str, most: usize) -> (Vec<String>, Vec<String>, Option<String>) {
    let dir = temp_dir();
    let path = dir.path().join("w.f");
    std::fs::write(&path, text).unwrap();
    let options = vec![("workload".to_owned(), path.to_str().unwrap().to_owned())];
    let job = Filebench.native(&Settings::new(options)).unwrap();
    let memory = MemoryFilesystem::new(EntryOrder::Creation);
    let mut session = job.begin(&TargetFacts::unknown());
    let (mut setup, mut work) = (Vec::new(), Vec::new());
    let mut phases = 0;
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let SessionRequest::Group(group, listener) = request else {
            phases += 1;
            return Ok(());
        };
        let phase = phases - 1;
        for (worker, mut task) in (0..).zip(group.tasks) {
            let most = if phase == 2 { most } else { 10_000 };
            let done = calls(task.script.as_mut(), &memory, most);
            match phase {
                0 => setup.extend(done),
                2 if worker == 0 => work = done,
                _ => {}
            }
            let (kind, counters) = (task.kind.clone(), task.script.counters());
            let wall_ns = 1;
            let totals =
                TaskTotals { phase, worker, kind, counters, wall_ns, ..TaskTotals::default() };
            listener.task_ended(&totals);
        }
        Ok(())
    });
    (setup, work, rehearsed.err().map(|failure| failure.to_string()))
}

/// Workload file with one thread of these flowops over a flat fileset `a` of four files of 5000
/// bytes.
fn file(fileset: &str, flowops: &str) -> String {
    format!(
        "set mode quit alldone define fileset name=a,path=/tmp,entries=4,size=5000,dirwidth=1000,\
         {fileset} define process name=p {{ thread name=t {{ {flowops} }} }} run 10"
    )
}

fn work(fileset: &str, flowops: &str, most: usize) -> Vec<String> {
    let (_, work, failure) = run(&file(fileset, flowops), most + 2);
    assert_eq!(failure, None);
    assert_eq!(work[..2], ["opendir filebench-0", "opendir 00000001"][..]);
    work[2..].to_vec()
}

#[test]
fn directories_are_created_and_files_filled_in_random_order() {
    let (setup, _, _) = run(&file("prealloc", "flowop finishoncount name=f,value=0"), 100);
    let begin = ["mkdir filebench-0", "opendir filebench-0", "mkdir 1"];
    assert_eq!(setup[..3], begin);
    assert_eq!(setup[3..5], ["opendir filebench-0", "opendir 00000001"]);
    let mut made: Vec<&String> = setup.iter().filter(|call| call.starts_with("create")).collect();
    assert!(!made.is_sorted(), "{made:?}");
    made.sort();
    assert_eq!(made, ["create 1", "create 2", "create 3", "create 4"]);
    assert_eq!(setup.iter().filter(|call| *call == "write 5000 at 0").count(), 4);
}

#[test]
fn files_are_picked_in_rotation_and_read_completely() {
    let flowops = "flowop openfile name=o,filesetname=a,fd=1 \
                   flowop readwholefile name=r,fd=1,iosize=4k flowop closefile name=c,fd=1";
    let done = work("prealloc,readonly", flowops, 12);
    assert_eq!(done[..4], ["open 1 to read", "read 4096", "read 4096", "close"]);
    assert_eq!((done[4].as_str(), done[8].as_str()), ("open 2 to read", "open 3 to read"));
    // Of a file that fills the last piece the end must be found.
    let done = work("prealloc", &flowops.replace("4k", "5000"), 4);
    assert_eq!(done, ["open 1", "read 5000", "read 5000", "close"]);
    let done = work("prealloc", &flowops.replace("iosize=4k", "iosize=0"), 4);
    assert_eq!(done, ["open 1", "read 5000", "read 5000", "close"]);
}

#[test]
fn deleted_files_are_created_again() {
    let flowops = "flowop deletefile name=d,filesetname=a flowop createfile name=c,filesetname=a,fd=1 \
                   flowop writewholefile name=w,fd=1,srcfd=1,iosize=4k flowop fsync name=s,fd=1 \
                   flowop closefile name=x,fd=1 flowop statfile name=st,filesetname=a";
    let done = work("prealloc", flowops, 14);
    let first = [
        "unlink 1",
        "create 1",
        "write 4096 at 0",
        "write 904 at 4096",
        "fsync",
        "close",
        // The choice of those that stand goes on for all.
        "stat 2",
        "unlink 3",
        "create 3",
    ];
    assert_eq!(done[..9], first);
}

#[test]
fn sequential_reads_and_writes_continue_and_wrap_around() {
    let done = work("prealloc", "flowop read name=r,filesetname=a,iosize=3000", 6);
    let reads = ["open 1", "read 3000", "read 3000", "read 3000", "seek 0", "read 3000"];
    assert_eq!(done, reads);
    let done = work("prealloc", "flowop write name=w,filesetname=a,iosize=3000", 3);
    assert_eq!(done, ["open 1", "write 3000 at 0", "write 3000 at 3000"]);
    let done = work("prealloc", "flowop appendfile name=w,filesetname=a,iosize=100", 5);
    let appends = ["open 1", "seek end", "write 100 at 5000", "seek end", "write 100 at 5100"];
    assert_eq!(done, appends);
    let random = "flowop read name=r,filesetname=a,iosize=1000,random,noreadahead";
    let done = work("prealloc", random, 30);
    assert_eq!(done[..2], ["open 1", "advise random"]);
    assert!(
        done[2..].iter().all(|call| call.starts_with("pread 1000 ") && call.ends_with("000")
            || call == "pread 1000 0"),
        "{done:?}"
    );
}

#[test]
fn asynchronous_writes_are_submitted_and_reaped() {
    let flowops = "flowop aiowrite name=w,filesetname=a,iosize=1000,random,iters=4 \
                   flowop aiowait name=x";
    let done = work("prealloc", flowops, 7);
    let wanted = ["open 1", "submit 1", "submit 1", "submit 1", "submit 1", "reap 2", "submit 1"];
    assert_eq!(done, wanted);
}

#[test]
fn missing_parent_directories_are_created() {
    let flowops = "flowop createfile name=c,filesetname=a,fd=1 flowop closefile name=x,fd=1";
    let (setup, work, failure) = run(&file("prealloc=0", flowops), 100);
    assert_eq!(setup, ["mkdir filebench-0", "opendir filebench-0", "opendir filebench-0"]);
    assert_eq!(failure, None);
    let first = [
        "opendir filebench-0",
        "opendir 00000001",
        "mkdir 1",
        "opendir 00000001",
        "opendir 00000001",
        "create 1",
        "close",
        "create 2",
        "close",
        "create 3",
        "close",
        "create 4",
        "close",
    ];
    // Then there is none that is missing: the thread ends by itself.
    assert_eq!(work, first);
}

#[test]
fn leaf_directories_are_created_listed_and_removed() {
    let text = "set mode quit alldone define fileset name=a,path=/tmp,entries=0,leafdirs=3,\
                dirwidth=1000,prealloc define process name=p { thread name=t { \
                flowop removedir name=r,filesetname=a flowop makedir name=m,filesetname=a \
                flowop listdir name=l,filesetname=a } } run 10";
    let (_, work, _) = run(text, 14);
    let first = [
        "opendir filebench-0",
        "opendir 00000001",
        "rmdir 1",
        "mkdir 1",
        "opendir filebench-0",
        "readdir",
        "readdir",
        "closedir",
        "rmdir 2",
        "mkdir 2",
        "opendir 00000001",
        "readdir",
        "readdir",
        "closedir",
    ];
    assert_eq!(work, first);
}

#[test]
fn running_out_of_files_fails_the_run_unless_it_is_the_end_condition() {
    let flowops = "flowop deletefile name=d,filesetname=a";
    let text = file("prealloc", flowops);
    let (_, work, failure) = run(&text, 100);
    assert_eq!((work.len(), failure), (6, None));
    let (_, _, failure) = run(&text.replace("alldone", "timeout"), 100);
    assert!(failure.unwrap().starts_with("d could not obtain a file"));
    let (_, _, failure) = run(&text.replace("alldone", "firstdone"), 100);
    assert_eq!(failure, None);
}

#[test]
fn a_run_without_operations_fails() {
    let flowops = "flowop finishoncount name=f,value=0";
    let (_, _, failure) = run(&file("prealloc", flowops), 100);
    assert!(failure.unwrap().contains("yielded nothing"));
}

#[test]
fn finishoncount_ends_the_run_and_iterations_repeat() {
    let flowops =
        "flowop statfile name=s,filesetname=a,iters=3 flowop finishoncount name=f,value=5";
    let done = work("prealloc", flowops, 100);
    assert_eq!(done, ["stat 1", "stat 2", "stat 3", "stat 4", "stat 1", "stat 2"]);
}
