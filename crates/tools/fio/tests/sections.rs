//! Jobs of several sections: what decides a comparison of each; and jobs on files that are there.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::Path;

use treering_engine::{
    EngineOptions, LatencyMode, PayloadKind, RunOptions, RunProgress, RunSessions, StopFlag, Target,
};
use treering_fio::Fio;
use treering_script::{ExistingFiles, Job, Settings, TargetFacts, Workload};
use treering_testkit::{TaskCollector, assert_decides_as_foreseen, temp_dir};

/// Native job of this job file, with more options.
fn job(text: &str, options: &[(&str, &str)]) -> Result<Box<dyn Job>, String> {
    let dir = temp_dir();
    let path = dir.path().join("j.fio");
    fs::write(&path, text).unwrap();
    let file = ("jobfile".to_owned(), path.to_str().unwrap().to_owned());
    let more = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = Settings::new(std::iter::once(file).chain(more).collect());
    Fio.native(&settings).map_err(|error| error.message)
}

/// Runs a job in a directory; checks what decides, or returns the error.
fn run(job: &dyn Job, dir: &Path) -> Result<(), String> {
    let options =
        EngineOptions::new(LatencyMode::All, PayloadKind::Native { compressibility: 0 }, 1);
    let mut session = job.begin(&TargetFacts::unknown());
    let (mut tasks, progress) = (TaskCollector::default(), RunProgress::new());
    let stop = StopFlag::new();
    let options = RunOptions::new(&options, &mut tasks, &progress, &stop);
    Target::open(dir)
        .unwrap()
        .run(session.as_mut(), options)
        .map_err(|error| treering_script::with_causes(&error))?;
    assert_decides_as_foreseen(job, &session.metrics());
    Ok(())
}

fn primary(job: &dyn Job) -> Vec<String> {
    let metrics = job.foreseen_metrics(&TargetFacts::unknown());
    metrics.iter().filter(|one| one.primary).map(treering_model::Metric::full_name).collect()
}

const DATABASE: &str = "[global]\nsize=64k\nbs=4k\n\
    [log]\nrw=write\nfdatasync=1\n\
    [table]\nrw=randwrite\nfsync=8\nnumjobs=2\n\
    [scan]\nrw=read\nrate_iops=400\nfsync=1\n\
    [mixed]\nrw=randrw\nrate_iops=,400\n\
    [pauses]\nrw=write\nthinktime=100\n\
    [backup]\nrw=read\n";

#[test]
fn syncs_of_each_section_decide_and_latencies_of_those_that_are_slowed() {
    let job = job(DATABASE, &[]).unwrap();
    let expected = [
        "log/write_mib_per_second",
        "log/sync_latency_p99_nanoseconds",
        "scan/read_latency_p99_nanoseconds",
        "mixed/read_mib_per_second",
        "mixed/write_latency_p99_nanoseconds",
        "pauses/write_latency_p99_nanoseconds",
        "backup/read_mib_per_second",
        "table/write_mib_per_second",
        "table/sync_latency_p99_nanoseconds",
    ];
    assert_eq!(primary(job.as_ref()), expected);
    assert_eq!(job.deciding_sync(), None);
    let dir = temp_dir();
    run(job.as_ref(), dir.path()).unwrap();
}

#[test]
fn a_job_in_place_works_on_the_files_that_are_there_and_makes_none() {
    let dir = temp_dir();
    fs::create_dir(dir.path().join("db")).unwrap();
    fs::write(dir.path().join("db/pages"), vec![1; 1 << 16]).unwrap();
    let text = "[global]\nfilename=db/pages\nsize=64k\nbs=4k\n[read]\nrw=randread\n";
    let reads = job(text, &[("in-place", "true")]).unwrap();
    assert_eq!(reads.existing_files(), Some(ExistingFiles::Read));
    run(reads.as_ref(), dir.path()).unwrap();
    assert_eq!(fs::read(dir.path().join("db/pages")).unwrap(), vec![1; 1 << 16]);
    let text = "[here]\nfilename=page\nsize=64k\nbs=4k\nrw=randwrite\nfsync=4\n";
    let writes = job(text, &[("in-place", "true")]).unwrap();
    assert_eq!(writes.existing_files(), Some(ExistingFiles::Rewritten));
    let missing = run(writes.as_ref(), dir.path()).unwrap_err();
    assert!(missing.contains("its file page is missing or too short"), "{missing}");
    fs::write(dir.path().join("page"), vec![1; 1 << 15]).unwrap();
    let short = run(writes.as_ref(), dir.path()).unwrap_err();
    assert!(short.contains("its file page is missing or too short"), "{short}");
    fs::write(dir.path().join("page"), vec![1; 1 << 16]).unwrap();
    run(writes.as_ref(), dir.path()).unwrap();
    assert_ne!(fs::read(dir.path().join("page")).unwrap(), vec![1; 1 << 16]);
    let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap()).collect();
    names.sort_by_key(fs::DirEntry::file_name);
    assert_eq!(names.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["db", "page"]);
}

#[test]
fn a_job_in_place_leads_nowhere_else_and_makes_no_files() {
    for directory in ["/etc", "..", "a/../../b"] {
        let text = format!("[a]\nrw=read\nsize=4k\nfilename=hosts\ndirectory={directory}\n");
        let refused = job(&text, &[("in-place", "true")]).err().unwrap();
        assert!(refused.contains("outside of the directory"), "{directory}: {refused}");
    }
    let makes = [
        "create_on_open=1",
        "unlink=1",
        "unlink_each_loop=1",
        "file_append=1",
        "ioengine=filedelete",
        "ioengine=ftruncate",
        "ioengine=falloc",
    ];
    for makes in makes {
        let text = format!("[a]\nrw=write\nsize=4k\nfilename=hosts\n{makes}\n");
        let refused = job(&text, &[("in-place", "true")]).err().unwrap();
        assert!(refused.contains("makes, resizes or removes files"), "{makes}: {refused}");
    }
}

#[test]
fn values_of_which_fio_ignores_a_part_are_refused_natively() {
    for text in ["bs=4kx", "runtime=1min", "thinktime=1.5"] {
        let refused = job(&format!("[a]\nrw=write\nsize=1m\n{text}\n"), &[]).err();
        assert!(refused.is_some_and(|why| why.contains("as fio does")), "{text}");
    }
    assert!(job("[a]\nrw=write\nsize=1m\nbs=64k,\nruntime=5s\n", &[]).is_ok());
}
