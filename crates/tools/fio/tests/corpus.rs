//! Job files as people write them: a native run makes as many requests as fio 3.33.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;

use treering_engine::{
    EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions, StopFlag, Target,
};
use treering_fio::Fio;
use treering_model::{Op, TaskTotals};
use treering_script::{Settings, TargetFacts, Workload};
use treering_testkit::{TaskCollector, temp_dir};

const CORPUS: &str = include_str!("../../../../testkit/corpus/fio-jobs.txt");

/// Runs a job file; returns the totals of its tasks.
fn tasks_of(text: &str) -> Vec<TaskTotals> {
    let dir = temp_dir();
    let path = dir.path().join("j.fio");
    fs::write(&path, text).unwrap();
    let file = ("jobfile".to_owned(), path.to_str().unwrap().to_owned());
    let job = Fio.native(&Settings::new(vec![file])).unwrap();
    let options =
        EngineOptions::new(LatencyMode::All, PayloadKind::Native { compressibility: 0 }, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let (mut tasks, progress) = (TaskCollector::default(), RunProgress::new());
    let stop = StopFlag::new();
    let options = RunOptions::new(&options, &mut tasks, &progress, &stop);
    Target::open(dir.path()).unwrap().run(session.as_mut(), options).unwrap();
    tasks.0
}

/// Requests of all tasks that are not part of the layout: calls, and requests given to a queue.
fn requests(tasks: &[TaskTotals]) -> u64 {
    let ops = tasks.iter().filter(|task| task.kind != "layout").flat_map(|task| &task.ops);
    let moving = ops.filter(|totals| matches!(totals.op, Op::Read | Op::Write | Op::Submit));
    moving.map(|totals| totals.calls).sum()
}

#[test]
fn job_files_of_the_corpus_make_as_many_requests_as_the_original() {
    for case in CORPUS.split("== ").skip(1) {
        let (heading, text) = case.split_once('\n').unwrap();
        let [name, reads, writes] = *heading.split(' ').collect::<Vec<_>>() else {
            panic!("{heading}: a name and two counts are expected");
        };
        let of_fio: u64 = reads.parse::<u64>().unwrap() + writes.parse::<u64>().unwrap();
        assert_eq!(requests(&tasks_of(text)), of_fio, "{name}");
    }
}
