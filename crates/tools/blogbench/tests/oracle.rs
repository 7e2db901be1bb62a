//! Comparison of each thread's calls with a model of the original, and runs in memory and on a real
//! disk.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::path::Path;

use treering_blogbench::Blogbench;
use treering_engine::oracle::TreeSnapshot;
use treering_engine::{
    EngineOptions, LatencyMode, MemoryCaller, MemoryFilesystem, PayloadKind, RunOptions,
    RunProgress, RunSessions, SessionRequest, StopFlag, Target, rehearse_session,
};
use treering_model::{Counters, Metric, Scope};
use treering_script::{
    Call, CallError, CallResult, CreateHow, EntryKind, GroupStart, Job, OpenHow, Session,
    SessionStop, Settings, SyncScope, TargetFacts, Task, TaskListener, Workload,
};
use treering_testkit::{temp_dir, temp_dir_in};

use treering_testkit::{TaskCollector, assert_decides_as_foreseen};

fn settings(options: &[(&str, &str)]) -> Settings {
    Settings::new(
        options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
    )
}

/// Classic job with a directory that is never accessed.
fn classic(options: &[(&str, &str)]) -> Box<dyn Job> {
    let options = [&[("directory", "/m/w")], options].concat();
    Blogbench.classic(&settings(&options)).unwrap()
}

fn native(options: &[(&str, &str)]) -> Box<dyn Job> {
    Blogbench.native(&settings(options)).unwrap()
}

/// Call as text, and true if it failed.
type DescribedCall = (String, bool);

fn words(call: &Call<'_>) -> String {
    let text = |name: &CStr| name.to_str().unwrap().to_owned();
    match *call {
        Call::OpenDir { path, .. } => format!("opendir {}", text(path)),
        Call::MakeDir { name, .. } => format!("mkdir {}", text(name)),
        Call::Rename { from, to, .. } => format!("rename {} {}", text(from), text(to)),
        Call::Create { path, how: CreateHow::Truncate, .. } => format!("create {}", text(path)),
        Call::Open { path, how: OpenHow::Read, .. } => format!("open {}", text(path)),
        Call::Read { bytes, .. } => format!("read {bytes}"),
        Call::Write { bytes, .. } => format!("write {bytes}"),
        Call::Close { .. } => "close".to_owned(),
        Call::Pause { .. } => "pause".to_owned(),
        Call::Sync { scope: SyncScope::Machine } => "sync".to_owned(),
        Call::Sync { scope: SyncScope::Target } => "syncfs".to_owned(),
        ref other => panic!("{other:?} is not blogbench's"),
    }
}

/// Single thread, driven call by call.
struct ThreadActor(treering_engine::SteppedTask<DescribedCall>);

impl ThreadActor {
    fn new(task: Task, memory: &MemoryFilesystem) -> Self {
        let describe =
            |call: &Call<'_>, done: Result<CallResult, CallError>| (words(call), done.is_err());
        Self(treering_engine::SteppedTask::new(task.script, MemoryCaller::new(memory), describe))
    }

    /// The next call; `None` at the end.
    fn call(&mut self) -> Option<DescribedCall> {
        self.0.next()
    }

    /// Performs calls up to the first that satisfies `is_last`.
    fn until(&mut self, is_last: impl Fn(&str) -> bool) -> Vec<DescribedCall> {
        let mut calls = Vec::new();
        while let Some(call) = self.call() {
            calls.push(call);
            if is_last(&calls.last().unwrap().0) {
                break;
            }
            assert!(calls.len() < 100_000, "it comes");
        }
        calls
    }

    /// Performs calls until the script ends.
    fn rest(&mut self) -> Vec<DescribedCall> {
        self.until(|_| false)
    }
}

/// Runs a session with one thread of each kind (writer, rewriter, commenter, reader), lets `act`
/// drive them, and ends it.
fn one_of_each<'j>(
    job: &'j dyn Job,
    memory: &MemoryFilesystem,
    mut act: impl FnMut(&mut dyn TaskListener, Vec<ThreadActor>),
) -> Box<dyn Session + 'j> {
    let mut session = job.begin(&TargetFacts::unknown());
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let SessionRequest::Group(group, listener) = request else { return Ok(()) };
        let actors = group.tasks.into_iter().map(|task| ThreadActor::new(task, memory));
        let Some(tick_every) = group.tick_every else {
            actors.for_each(|mut actor| _ = actor.rest());
            return Ok(());
        };
        assert_eq!(tick_every.as_secs(), 7);
        act(listener, actors.collect());
        Err(SessionStop::Ended)
    });
    assert_eq!(rehearsed, Ok(()));
    session
}

const ONE_OF_EACH: [(&str, &str); 6] = [
    ("writers", "1"),
    ("rewriters", "1"),
    ("commenters", "1"),
    ("readers", "1"),
    ("iterations", "1"),
    ("sleep", "7"),
];

/// Takes the calls that write a file off the front: its name, and its bytes.
fn written<'s>(calls: &mut impl Iterator<Item = &'s DescribedCall>) -> (String, u64) {
    let mut next = || calls.next().unwrap().0.as_str();
    let name = next().strip_prefix("create ").unwrap().strip_suffix(".tmp").unwrap();
    let mut bytes = 0;
    let mut is_last = false;
    loop {
        let call = next();
        if call == "close" {
            break;
        }
        assert!(!is_last, "only the last write is short");
        let piece: u64 = call.strip_prefix("write ").unwrap().parse().unwrap();
        assert!((1..=8192).contains(&piece));
        is_last = piece < 8192;
        bytes += piece;
    }
    assert_eq!(next(), format!("rename {name}.tmp {name}"));
    (name.to_owned(), bytes)
}

fn number_of(name: &str) -> (&str, u32) {
    let (kind, tail) = name.split_once('-').unwrap();
    (kind, tail.split_once('.').unwrap().0.parse().unwrap())
}

fn check_bytes(kind: &str, bytes: u64) {
    let range = match kind {
        "article" => 1024..32_768,
        "picture" => 8192..65_536,
        "comment" => 2048..10_240,
        other => panic!("{other}"),
    };
    assert!(range.contains(&bytes), "{kind} of {bytes} bytes");
}

/// Checks for files of one kind, from a number down to 1; returns that number.
fn series<'s>(
    calls: &mut std::iter::Peekable<impl Iterator<Item = &'s DescribedCall>>,
    of: &str,
) -> u32 {
    let (first, bytes) = written(calls);
    let (kind, count) = number_of(&first);
    assert_eq!(kind, of);
    assert!((1..=100).contains(&count));
    check_bytes(kind, bytes);
    for number in (1..count).rev() {
        let (name, bytes) = written(calls);
        assert_eq!(number_of(&name), (of, number));
        check_bytes(of, bytes);
    }
    count
}

#[test]
fn classic_run_syncs_first_and_starts_threads_in_creation_order() {
    let job = classic(&ONE_OF_EACH);
    let mut session = job.begin(&TargetFacts::unknown());
    let memory = MemoryFilesystem::default();
    let mut names = Vec::new();
    let rehearsed = rehearse_session(session.as_mut(), &mut |request| {
        let group = match request {
            SessionRequest::Phase(phase) => {
                names.push(phase.name);
                return Ok(());
            }
            SessionRequest::Group(group, _) => group,
        };
        if names.last().unwrap() == "benchmark" {
            let kinds: Vec<&str> = group.tasks.iter().map(|task| task.kind.as_str()).collect();
            assert_eq!(kinds, ["writer", "rewriter", "commenter", "reader"]);
            assert_eq!(group.side_by_side.start, GroupStart::AsMade);
            assert!(group.time_limit.is_some_and(|limit| limit.after.as_secs() > 7), "it ends");
        } else {
            let task = group.tasks.into_iter().next().unwrap();
            assert_eq!(ThreadActor::new(task, &memory).rest(), [("sync".to_owned(), false)]);
        }
        Ok(())
    });
    assert_eq!(rehearsed, Ok(()));
    assert_eq!(names, ["sync", "benchmark"]);
    assert!(session.remains().is_empty(), "what the original leaves stays");
}

/// A counter of a tick by its name.
fn counted(counters: &Counters, name: &str) -> u64 {
    counters.read::<serde_json::Value>().unwrap()[name].as_u64().unwrap()
}

#[test]
fn writer_creates_articles_and_pictures_in_descending_order() {
    let (job, memory) = (classic(&ONE_OF_EACH), MemoryFilesystem::default());
    one_of_each(job.as_ref(), &memory, |listener, mut actors| {
        let writer = &mut actors[0];
        let mut calls = writer.until(|call| call == "mkdir blog-1");
        calls.pop();
        let mut calls = calls.iter().peekable();
        assert_eq!(calls.next().unwrap().0, "mkdir blog-0");
        assert_eq!(calls.next().unwrap().0, "opendir blog-0");
        let articles = series(&mut calls, "article");
        let pictures = series(&mut calls, "picture");
        assert_eq!(calls.next(), None);
        let counters = listener.tick(1);
        assert_eq!(counted(&counters, "blogs_written"), 1);
        assert_eq!(counted(&counters, "articles_written"), u64::from(articles));
        assert_eq!(counted(&counters, "pictures_written"), u64::from(pictures));
        assert_eq!(counted(&counters, "pictures_read"), 0);
        // The deadline is reached: the second blog is done to its end.
        let tail = writer.rest();
        let mut calls = tail.iter().peekable();
        assert_eq!(calls.next().unwrap().0, "opendir blog-1");
        series(&mut calls, "article");
        series(&mut calls, "picture");
        assert_eq!(calls.next(), None);
        assert!(listener.tick(2).is_empty(), "no row comes after the last");
        let standing = memory
            .snapshot()
            .entries
            .iter()
            .filter(|(_, kind, _)| *kind == EntryKind::File)
            .count();
        assert!(standing >= usize::try_from(articles + pictures).unwrap());
    });
}

/// Lets the writer create this many blogs.
fn make_blogs(actors: &mut [ThreadActor], count: u32) {
    actors[0].until(|call| call == format!("mkdir blog-{count}"));
}

#[test]
fn a_rewriter_writes_an_article_and_often_a_picture() {
    let (job, memory) = (classic(&ONE_OF_EACH), MemoryFilesystem::default());
    one_of_each(job.as_ref(), &memory, |listener, mut actors| {
        // Without blogs it waits: a second, in pieces.
        let waits: Vec<DescribedCall> = (0..150).map(|_| actors[1].call().unwrap()).collect();
        assert!(waits.iter().all(|(call, _)| call == "pause"));
        make_blogs(&mut actors, 5);
        actors[1].until(|call| call.starts_with("opendir"));
        let mut blogs = BTreeSet::new();
        let (mut alone, mut both) = (0, 0);
        for _ in 0..200 {
            let mut calls = actors[1].until(|call| call.starts_with("opendir"));
            let (opens, refused) = calls.pop().unwrap();
            assert!(!refused);
            blogs.insert(opens);
            calls.retain(|(call, _)| call != "pause");
            let mut calls = calls.iter().peekable();
            let (first, bytes) = written(&mut calls);
            let (kind, number) = number_of(&first);
            check_bytes(kind, bytes);
            assert!((1..=100).contains(&number));
            if kind == "picture" {
                let (second, bytes) = written(&mut calls);
                check_bytes("article", bytes);
                assert!(second.starts_with("article-"));
                both += 1;
            } else {
                assert_eq!(kind, "article");
                alone += 1;
            }
            assert_eq!(calls.next(), None);
        }
        assert!(alone > 50 && both > 50, "{alone} and {both}");
        // Of six begun blogs neither the first nor the one that is being made.
        let drawn: Vec<&str> = blogs.iter().map(String::as_str).collect();
        assert_eq!(drawn, ["opendir blog-1", "opendir blog-2", "opendir blog-3", "opendir blog-4"]);
        listener.tick(1);
        assert!(!actors[1].rest().iter().any(|(call, _)| call.starts_with("opendir")));
    });
}

#[test]
fn commenter_may_draw_the_first_blog_and_waits_while_it_is_missing() {
    let (job, memory) = (classic(&ONE_OF_EACH), MemoryFilesystem::default());
    one_of_each(job.as_ref(), &memory, |_, mut actors| {
        assert_eq!(actors[2].call().unwrap(), ("opendir blog-0".to_owned(), true));
        assert_eq!(actors[2].call().unwrap().0, "pause");
        make_blogs(&mut actors, 3);
        actors[2].until(|call| call.starts_with("opendir"));
        let mut blogs = BTreeSet::new();
        for _ in 0..60 {
            let mut calls = actors[2].until(|call| call.starts_with("opendir"));
            blogs.insert(calls.pop().unwrap().0);
            let mut calls = calls.iter().peekable();
            series(&mut calls, "comment");
            assert_eq!(calls.next(), None);
        }
        let drawn: Vec<&str> = blogs.iter().map(String::as_str).collect();
        assert_eq!(drawn, ["opendir blog-0", "opendir blog-1", "opendir blog-2"]);
    });
}

/// Model of the original: the files that a reader looks for in a blog, in order, and whether each
/// exists.
fn looked_for(blog: &str, sizes: &BTreeMap<String, u64>, comments: bool) -> Vec<String> {
    let is_there = |name: &String| sizes.contains_key(&format!("{blog}/{name}"));
    let mut names = Vec::new();
    if comments {
        for number in 1.. {
            names.push(format!("comment-{number}.xml"));
            if !is_there(names.last().unwrap()) {
                break;
            }
        }
    }
    for number in 1.. {
        names.push(format!("picture-{number}.jpg"));
        names.push(format!("article-{number}.xml"));
        if !is_there(names.last().unwrap()) {
            return names;
        }
    }
    unreachable!()
}

#[test]
fn a_reader_reads_until_an_article_is_missing() {
    for (bytes, read_bytes, blogs) in [(65_536, None, 40), (512, Some(("read-bytes", "512")), 2)] {
        let options: Vec<(&str, &str)> = ONE_OF_EACH.into_iter().chain(read_bytes).collect();
        let (job, memory) = (classic(&options), MemoryFilesystem::default());
        one_of_each(job.as_ref(), &memory, |listener, mut actors| {
            assert_eq!(actors[3].call().unwrap().0, "pause");
            make_blogs(&mut actors, 4);
            for _ in 0..30 {
                actors[2].until(|call| call.starts_with("opendir"));
            }
            let is_file = |entry: &(_, EntryKind, u64)| entry.1 == EntryKind::File;
            let sizes: BTreeMap<String, u64> = memory
                .snapshot()
                .entries
                .into_iter()
                .filter(is_file)
                .map(|(path, _, bytes)| (path.to_str().unwrap().to_owned(), bytes))
                .collect();
            let mut first = actors[3].until(|call| call.starts_with("open "));
            let mut opened = first.pop().unwrap();
            let (mut with, mut without) = (0, 0);
            for _ in 0..blogs {
                let path = opened.0.strip_prefix("open ").unwrap().to_owned();
                let (blog, name) = path.split_once('/').unwrap();
                assert!(["blog-1", "blog-2"].contains(&blog) || blog == "blog-3", "{blog}");
                let comments = name.starts_with("comment");
                *(if comments { &mut with } else { &mut without }) += 1;
                for wanted in looked_for(blog, &sizes, comments) {
                    let path = format!("{blog}/{wanted}");
                    assert_eq!(opened.0, format!("open {path}"));
                    let mut calls = actors[3].until(|call| call.starts_with("open "));
                    assert_eq!(opened.1, !sizes.contains_key(&path));
                    let next = calls.pop().unwrap();
                    calls.retain(|(call, _)| call != "pause");
                    if let Some(size) = sizes.get(&path) {
                        let reads = usize::try_from(size.div_ceil(bytes)).unwrap() + 1;
                        assert_eq!(calls.len(), reads + 1);
                        let read = format!("read {bytes}");
                        assert!(calls[..reads].iter().all(|(call, _)| *call == read));
                        assert_eq!(calls[reads].0, "close");
                    } else {
                        assert_eq!(calls, []);
                    }
                    opened = next;
                }
            }
            assert!(blogs < 40 || (with > 5 && without > 5), "{with} and {without}");
            assert_eq!(
                counted(&listener.tick(1), "blogs_read"),
                blogs,
                "each is one more of the score"
            );
        });
    }
}

#[test]
fn native_threads_end_between_two_files() {
    let (job, memory) = (native(&ONE_OF_EACH), MemoryFilesystem::default());
    let session = one_of_each(job.as_ref(), &memory, |listener, mut actors| {
        assert_eq!(actors[0].call().unwrap().0, "opendir blogbench-0");
        actors[0].until(|call| call.starts_with("create"));
        listener.tick(1);
        let tail = actors[0].rest();
        assert!(
            tail.iter().filter(|(call, _)| call.starts_with("rename")).count() == 1,
            "{tail:?}"
        );
        assert_eq!(tail.last().unwrap().0.split(' ').next(), Some("rename"));
    });
    assert_eq!(session.remains(), ["blogbench-0"]);
}

#[test]
fn oldest_blog_is_rewritten_when_the_space_limit_is_reached() {
    let options: Vec<(&str, &str)> = ONE_OF_EACH.into_iter().chain([("max-size", "23M")]).collect();
    let (job, memory) = (classic(&options), MemoryFilesystem::default());
    one_of_each(job.as_ref(), &memory, |listener, mut actors| {
        assert_eq!(job.footprint(&TargetFacts::unknown()).peak_dirs, 3 + 1);
        let mut made = Vec::new();
        for _ in 0..8 {
            let calls = actors[0].until(|call| call.starts_with("mkdir"));
            made.extend(calls.last().cloned());
        }
        let names: Vec<&str> = made.iter().map(|(call, _)| call.as_str()).collect();
        let once = ["mkdir blog-0", "mkdir blog-1", "mkdir blog-2"];
        assert_eq!(names[..3], once);
        assert_eq!(names[3..6], once);
        assert!(made[3..].iter().all(|(_, refused)| *refused), "they are there");
        assert_eq!(counted(&listener.tick(1), "anew"), 5);
    });
}

/// Metrics and files of a run through the engine.
struct EngineRun {
    metrics: Vec<Metric>,
    snapshot: TreeSnapshot,
    files: BTreeMap<String, u64>,
}

fn perform<P: RunSessions + ?Sized>(
    job: &dyn Job,
    place: &P,
) -> (Vec<Metric>, BTreeMap<String, u64>) {
    let mode = if job.times_every_call() { LatencyMode::All } else { LatencyMode::Sampled };
    let options = EngineOptions::new(mode, PayloadKind::Zeros, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let mut tasks = TaskCollector::default();
    let stop = StopFlag::new();
    place
        .run(session.as_mut(), RunOptions::new(&options, &mut tasks, &RunProgress::new(), &stop))
        .unwrap();
    assert_decides_as_foreseen(job, &session.metrics());
    let mut files: BTreeMap<String, u64> = BTreeMap::new();
    for task in tasks.0 {
        *files.entry(task.kind).or_default() += task.files;
    }
    (session.metrics(), files)
}

/// Runs the job on tmpfs if available: a sync of a shared filesystem would wait for the writes of
/// other programs.
fn on_disk(job: &dyn Job) -> EngineRun {
    let shared = Path::new("/dev/shm");
    let real = if shared.is_dir() { temp_dir_in(shared) } else { temp_dir() };
    let (metrics, files) = perform(job, &Target::open(real.path()).unwrap());
    EngineRun { metrics, files, snapshot: TreeSnapshot::from_directory(real.path()).unwrap() }
}

fn in_memory(job: &dyn Job) -> EngineRun {
    let memory = MemoryFilesystem::default();
    let (metrics, files) = perform(job, &memory);
    EngineRun { metrics, files, snapshot: memory.snapshot() }
}

impl EngineRun {
    fn figure(&self, scope: &Scope, name: &str) -> f64 {
        let is_wanted = |metric: &&Metric| metric.name == name && metric.scope == *scope;
        self.metrics.iter().find(is_wanted).map_or(0.0, |metric| metric.value)
    }

    /// Checks names, locations and sizes; returns the number of blogs.
    fn check(&self, root: &str) -> u64 {
        let mut blogs = 0;
        for (path, kind, bytes) in &self.snapshot.entries {
            let path = path.to_str().unwrap();
            if path == root.trim_end_matches('/') {
                continue;
            }
            let parts: Vec<&str> = path.strip_prefix(root).unwrap().split('/').collect();
            let number: u64 = parts[0].strip_prefix("blog-").unwrap().parse().unwrap();
            match (kind, &parts[1..]) {
                (EntryKind::Directory, []) => {
                    assert_eq!(parts[0], format!("blog-{number}"));
                    blogs += 1;
                }
                (EntryKind::File, [name]) => {
                    let (kind, number) = number_of(name);
                    assert!((1..=100).contains(&number), "{path}");
                    check_bytes(kind, *bytes);
                }
                other => panic!("{path} is {other:?}"),
            }
        }
        blogs
    }
}

#[test]
fn counters_match_the_files_left_by_a_full_run() {
    let few = [("iterations", "2"), ("sleep", "1"), ("readers", "4"), ("max-size", "200M")];
    for ran in [on_disk(native(&few).as_ref()), in_memory(native(&few).as_ref())] {
        let blogs = ran.check("blogbench-0/");
        let trial = Scope::Trial;
        let (writes, anew) =
            (ran.figure(&trial, "write_score"), ran.figure(&trial, "blogs_written_anew"));
        assert!(blogs > 1 && writes > 0.0 && ran.figure(&trial, "read_score") > 0.0);
        // Those that were begun and not done do not count.
        assert!(writes - anew <= blogs as f64, "{writes} of which {anew}, {blogs} stand");
        for kind in ["write article", "write picture", "read article", "write blog", "read blog"] {
            let scope = Scope::Kind(kind.to_owned());
            let (p50, p99) =
                (ran.figure(&scope, "latency_ns_p50"), ran.figure(&scope, "latency_ns_p99"));
            assert!(p50 > 0.0 && p99 >= p50, "{kind}");
        }
        let primary: Vec<&str> = ran
            .metrics
            .iter()
            .filter(|metric| metric.primary)
            .map(|metric| metric.name.as_str())
            .collect();
        assert_eq!(primary, ["write_score_per_second", "read_score_per_second"]);
        assert!(ran.files["reader"] > 0 && ran.files["commenter"] > 0);
    }
    let ran = in_memory(classic(&few).as_ref());
    assert!(ran.check("") > 1);
    let scope = Scope::Kind("write article".to_owned());
    assert!(ran.figure(&scope, "files_per_second") > 0.0);
    assert!(ran.figure(&scope, "latency_ns_p50") <= 0.0, "calls are not timed for it");
}

#[test]
fn thread_kinds_can_be_disabled() {
    let few = [("iterations", "1"), ("sleep", "1"), ("max-size", "200M")];
    let without = |kinds: &[&str]| {
        let none = kinds.iter().map(|&kind| (kind, "0"));
        let options: Vec<(&str, &str)> = few.iter().copied().chain(none).collect();
        in_memory(native(&options).as_ref())
    };
    let writing = without(&["rewriters", "commenters", "readers"]);
    assert!(writing.files.keys().all(|kind| !kind.starts_with("read")));
    assert!(writing.figure(&Scope::Trial, "write_score") > 0.0);
    let reading = without(&["writers", "rewriters", "commenters"]);
    assert_eq!(reading.check("blogbench-0/"), 0);
    let waits = reading.figure(&Scope::Trial, "waits");
    assert!(waits > 0.0, "there is nothing to read");
}
