//! Native runs of fio with the installed fio (`--with-fio`): its report is stored like that of a
//! native run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use treering_model::metrics::{is_call_latency, is_observation};
use treering_model::{Ending, Op, Scope, Trial};
use treering_store::{Access, Filter, LoadDetail, Store};
use treering_testkit::{FinishedCommand, Program, require_tool};

use crate::program;
use crate::trial::{again, calls, failure, last, tasks};

fn write(program: &Program, job: &str) {
    fs::write(program.home().join("j.fio"), job).unwrap();
}

fn native(program: &Program, words: &[&str]) -> FinishedCommand {
    program.run(["run", "fio", "j.fio", "--dir", "d"].iter().chain(words))
}

/// Metrics as name, scope, whether primary, and number of tasks.
fn named(trial: &Trial) -> Vec<(String, Scope, bool, u64)> {
    let of = |metric: &treering_model::Metric| {
        (metric.name.clone(), metric.scope.clone(), metric.primary, metric.tasks)
    };
    trial.metrics.iter().map(of).collect()
}

/// Programs whose working directory is below a directory.
fn working_in(place: &Path) -> Vec<PathBuf> {
    let mut entries = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if cwd.starts_with(place) {
            entries.push(entry.path());
        }
    }
    entries
}

/// True if at least two processes in `place` have made many reads: the clones are at work.
fn work_there(place: &Path) -> bool {
    let reads = |process: &PathBuf| -> u64 {
        let text = fs::read_to_string(process.join("io")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("syscr: "));
        line.and_then(|count| count.parse().ok()).unwrap_or(0)
    };
    working_in(place).iter().filter(|process| reads(process) > 5000).count() >= 2
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn fio_reports_the_same_figures_as_a_native_run() {
    require_tool!("fio");
    let program = program();
    let elsewhere = program.home().join("elsewhere");
    let job = format!(
        "[global]\nsize=256k\ndirectory={}\n[w]\nrw=write\nfsync=8\nnumjobs=3\ngroup_reporting\n\
         [x]\nrw=randwrite\nbs=8k\n[r]\nstonewall\nrw=randrw\nioengine=libaio\niodepth=4\nnumjobs=2\n",
        elsewhere.display()
    );
    write(&program, &job);
    native(&program, &[]).ends_with(0);
    let ours = last(&program);
    native(&program, &["--with-fio"]).ends_with(0);
    let theirs = last(&program);
    assert_eq!(theirs.ending, Ending::Completed);
    // fio prints percentiles of either completion or total latency.
    let mut ours_printed = named(&ours);
    ours_printed.retain(|(name, ..)| !name.contains("_clat_p"));
    let mut theirs_printed = named(&theirs);
    // treering does not see the calls of another program, which also lays out files by other calls.
    for printed in [&mut ours_printed, &mut theirs_printed] {
        printed.retain(|(name, ..)| !is_observation(name) && !is_call_latency(name));
    }
    assert_eq!(theirs_printed, ours_printed);
    let phases = |trial: &Trial| -> Vec<(String, u32, u64)> {
        let of =
            |phase: &treering_model::PhaseTotals| (phase.name.clone(), phase.tasks, phase.bytes);
        trial.phases.iter().skip(1).map(of).collect()
    };
    assert_eq!(phases(&theirs), phases(&ours));
    let work = |trial: &Trial| -> Vec<(String, String)> {
        let all_tasks = tasks(trial).into_iter();
        let done = all_tasks.filter(|(kind, _)| !["layout", "directories"].contains(kind));
        done.map(|(kind, subject)| (kind.to_owned(), subject.to_owned())).collect()
    };
    assert_eq!(work(&theirs), work(&ours));
    for (kind, op) in [("w", Op::Write), ("x", Op::Write), ("w", Op::Fsync)] {
        assert_eq!(calls(&theirs, kind, op), calls(&ours, kind, op), "{kind} {op}");
    }
    // Every request is in a histogram of total latency.
    for op in theirs.phases.iter().flat_map(|phase| &phase.ops).filter(|op| op.bytes > 0) {
        assert_eq!(op.latency.samples(), op.calls, "{op:?}");
    }
    assert!(theirs.facts.iter().any(|fact| fact.name == "fio.version"));
    assert!(!elsewhere.exists(), "nothing outside the target");
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0, "removed");
    program.run(again(&program)).ends_with(0);
    assert_eq!(last(&program).beginning.parameters, theirs.beginning.parameters);
    native(&program, &["--with-fio", "--keep", "--runtime", "1"]).ends_with(0);
    assert!(program.home().join("d/fio-0/w.0.0").exists());
    native(&program, &["--with-fio"]).ends_with(2).complains("is there already");
}

#[test]
fn the_installed_fio_accepts_or_rejects_jobs_itself() {
    require_tool!("fio");
    let program = program();
    write(&program, "[a]\nsize=64k\nrw=write\nverify=crc32c\nbuffer_pattern=0xdeadbeef\n");
    // A word after the option is the job file, not the path of fio.
    program.run(["run", "fio", "--with-fio", "j.fio", "--dir", "d"]).ends_with(0);
    assert_eq!(calls(&last(&program), "a", Op::Write), 16);
    write(&program, "[a]\nsize=64k\nno_such_option=1\n");
    native(&program, &["--with-fio"]).ends_with(4).complains("no_such_option");
    assert!(failure(&last(&program)).contains("no_such_option"));
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0, "removed");
    write(&program, "[a]\nsize=64k\nexec_prerun=touch /tmp/x\n");
    native(&program, &["--with-fio"]).ends_with(2).complains("j.fio:3:1: exec_prerun");
    write(&program, "[a]\nsize=64k\n");
    native(&program, &["--with-fio=/no/such/fio"]).ends_with(2).complains("install fio");
    native(&program, &["--with-fio=true"]).ends_with(0);
    let words = ["--with-fio=/bin/true"];
    native(&program, &words).ends_with(2).complains("it is no fio");
    for option in ["--payload=classic", "--latency=off", "--handicap=5%", "--seed=3", "--heat"] {
        native(&program, &["--with-fio", option]).ends_with(2);
    }
    let shown = native(&program, &["--with-fio", "--dry-run"]).ends_with(0).stdout;
    assert!(shown.starts_with("[a]\nsize=64k\ndirectory=../fio-0\n"), "{shown}");
}

const ENDLESS: &str = "[s]\nsize=1m\ntime_based\nruntime=1000\nrw=randrw\nnumjobs=2\n";

#[test]
fn a_signal_stops_fio_and_its_work_is_stored() {
    require_tool!("fio");
    let program = program();
    write(&program, ENDLESS);
    let place = program.home().join("d");
    let run = program.start(["run", "fio", "j.fio", "--dir", "d", "--with-fio"]);
    eventually("fio works", || work_there(&place));
    run.send("INT");
    run.finish().ends_with(130);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Interrupted);
    assert_eq!(working_in(&place), [] as [PathBuf; 0]);
    assert!(calls(&trial, "s", Op::Read) > 0);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "removed");
}

#[test]
fn a_kill_leaves_no_fio_process() {
    require_tool!("fio");
    let program = program();
    write(&program, ENDLESS);
    let place = program.home().join("d");
    let run = program.start(["run", "fio", "j.fio", "--dir", "d", "--with-fio"]);
    eventually("fio works", || work_there(&place));
    run.send("KILL");
    eventually("fio has ended", || working_in(&place).is_empty());
    drop(run);
    program.run(["clean", "d"]).ends_with(0);
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "cleaned");
}

#[test]
fn plans_can_use_the_installed_fio() {
    require_tool!("fio");
    let program = program();
    write(&program, "[a]\nsize=1m\nrw=randwrite\n");
    for variant in ["a", "b"] {
        fs::create_dir(program.home().join(variant)).unwrap();
    }
    let place = |name: &str| program.home().join(name).display().to_string();
    let plan = format!(
        "rounds = 1\nwarm-up = false\ncontrol = false\n\
         [[variant]]\nname = \"a\"\ndevice = {{ directory = \"{}\" }}\n\
         [[variant]]\nname = \"b\"\ndevice = {{ directory = \"{}\" }}\n\
         [[job]]\nworkload = \"fio\"\nname = \"ours\"\noptions = {{ jobfile = \"j.fio\" }}\n\
         [[job]]\nworkload = \"fio\"\nname = \"theirs\"\n\
         options = {{ jobfile = \"j.fio\", with-fio = true }}\n",
        place("a"),
        place("b")
    );
    fs::write(program.home().join("plan.toml"), plan).unwrap();
    let results = treering_testkit::temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    program.run(["compare", "plan.toml", "--store", store.to_str().unwrap()]).ends_with(0);
    let store = Store::open(&store, Access::ReadOnly).unwrap();
    let all_trials = store.trials(&Filter::default()).unwrap();
    let ids: Vec<_> = all_trials.iter().map(|one| one.trial).collect();
    let mut written: BTreeMap<bool, u64> = BTreeMap::new();
    for trial in store.load_many(&ids, LoadDetail::Tasks).unwrap() {
        let is_theirs = trial.facts.iter().any(|fact| fact.name == "fio.version");
        *written.entry(is_theirs).or_default() +=
            trial.phases.last().map_or(0, |phase| phase.bytes);
    }
    assert_eq!(written, BTreeMap::from([(false, 2 << 20), (true, 2 << 20)]));
}

/// Jobs with a fixed amount of work, and typical examples, shortened.
const CHECKED: [&str; 7] = [
    "[a]\nrw=randread\nsize=512k\nnumjobs=3\ngroup_reporting\n",
    "[a]\nrw=randrw\nrwmixread=70\nsize=1m\nfsync=8\nioengine=libaio\niodepth=8\n",
    "[a]\nrw=write\nbs=64k\nsize=1m\nend_fsync=1\n[b]\nstonewall\nrw=read\n\
     filename=a.0.0\nsize=1m\n",
    "[a]\nrw=randwrite\nnrfiles=5\nfilesize=4k-64k\nfile_service_type=random:4\nsize=256k\n",
    "[a]\nrw=randwrite\nsize=256k\nio_size=700k\nioengine=io_uring\niodepth=4\n",
    "[a]\nrw=randread\nbssplit=4k/60:8k/40\nsize=1m\nioengine=mmap\n",
    "[a]\nrw=rw\nsize=1m\nioengine=sync\nbsrange=1k-8k\nbs_unaligned\nloops=2\n",
];

/// Example job files, with the replacements that shorten them.
const EXAMPLES: [(&str, &[(&str, &str)]); 6] = [
    ("report-2012", &[("size=100m", "size=4m")]),
    ("mmtests-async-randrw", &[("(2*$mb_memory*1m)", "8m"), ("=100m", "=1m"), ("=5\n", "=1\n")]),
    ("mmtests-async-seqwrite", &[("(2*$mb_memory*1m)", "8m"), ("=100m", "=1m"), ("=5\n", "=1\n")]),
    ("database", &[("size=4g", "size=16m"), ("size=512m", "size=4m")]),
    ("overwrite-sparse", &[("size=1g", "size=4m")]),
    ("small-files", &[("nrfiles=10000", "nrfiles=50")]),
];

/// Cells of a table of a page.
fn table<'p>(page: &'p Value, name: &str) -> Vec<Vec<&'p Value>> {
    let blocks = page["blocks"].as_array().unwrap();
    let table = blocks.iter().find(|block| block["name"] == name).unwrap();
    let rows = table["rows"].as_array().unwrap();
    rows.iter().map(|row| row.as_array().unwrap().iter().collect()).collect()
}

#[test]
fn fio_and_native_runs_issue_the_same_requests() {
    require_tool!("fio");
    let program = program();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fio");
    let examples = EXAMPLES.map(|(name, changes)| {
        let text = fs::read_to_string(examples.join(format!("{name}.fio"))).unwrap();
        changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{name}: {from}");
            text.replace(from, to)
        })
    });
    for job in CHECKED.map(str::to_owned).into_iter().chain(examples) {
        write(&program, &job);
        let words = ["--check", "--turns=1", "--runtime=1", "--format=json", "--no-store", "-q"];
        let ran = native(&program, &words).ends_with(0);
        let page: Value = serde_json::from_str(&ran.stdout).unwrap();
        let work = table(&page, "work");
        assert!(!work.is_empty(), "{job}{ran}");
        let requests = table(&page, "requests");
        let jobs = job.lines().filter(|line| line.starts_with('[') && !line.starts_with("[global"));
        assert_eq!(requests.len(), jobs.count(), "{job}");
        for row in requests {
            assert_eq!(row[2]["text"], "same", "{job}{ran}");
        }
        assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0, "removed");
    }
}

#[test]
fn differences_are_reported_with_an_exit_code() {
    require_tool!("fio");
    let program = program();
    // A wrapper of fio changes the block size, so that the two runs differ.
    let other = program.home().join("other-fio");
    let script = "#!/bin/sh\ncase $1 in --version) echo fio-3.33; exit;; esac\n\
                  sed s/^bs=4k/bs=8k/ | fio \"$@\"\n";
    fs::write(&other, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&other, mode).unwrap();
    write(&program, "[a]\nsize=64k\nbs=4k\nrw=write\n");
    let words = ["--check", "--turns=1", "--with-fio=./other-fio", "--no-store"];
    let ran = native(&program, &words).ends_with(1);
    assert!(ran.stdout.contains("They differ."), "{ran}");
    assert!(ran.stdout.contains("differ: fio 8 requests,"), "{ran}");
    assert!(ran.stdout.contains("no. 1: fio write 8192 at 0 of a.0.0"), "{ran}");
    let ran = native(&program, &["--turns=2"]).ends_with(2);
    assert!(ran.stderr.contains("--check"), "{ran}");
}
