//! filebench as a user runs it: output, trees and trials of scripts, and the ends of runs.

use std::fs;
use std::path::Path;

use treering_model::metrics::{is_call_latency, is_counter};
use treering_model::{Ending, Scope, Trial};
use treering_testkit::{FinishedCommand, LoopFs, Program, require_loop_fs, temp_dir_in, tree_of};

use crate::program;
use crate::trial::{again, failure, last};

/// Script in which two threads delete, create, read and stat files of 5000 bytes.
const MIX: &str = "set $dir=w\nset $nfiles=1000\nset $nthreads=2\n\
    define fileset name=set,path=$dir,entries=$nfiles,size=5000,dirwidth=10,prealloc=50\n\
    define process name=p { thread name=t,memsize=10m,instances=$nthreads {\n\
    flowop deletefile name=del,filesetname=set\n\
    flowop createfile name=make,filesetname=set,fd=1\n\
    flowop appendfilerand name=append,fd=1,iosize=8k\n\
    flowop closefile name=close1,fd=1\n\
    flowop openfile name=open,filesetname=set,fd=1\n\
    flowop readwholefile name=read,fd=1,iosize=1m\n\
    flowop closefile name=close2,fd=1\n\
    flowop statfile name=stat,filesetname=set\n\
    flowop opslimit name=limit } }\n\
    echo \"loaded $nfiles\"\n";

fn write(program: &Program, text: &str) {
    fs::write(program.home().join("w.f"), text).unwrap();
}

/// Runs a script as the original would.
fn classic(program: &Program, text: &str) -> FinishedCommand {
    write(program, text);
    program.run(["filebench", "-f", "w.f"])
}

/// Runs the script natively in `d`.
fn native(program: &Program, text: &str, words: &[&str]) -> FinishedCommand {
    write(program, text);
    program.run(["run", "filebench", "w.f", "--dir", "d"].iter().chain(words))
}

fn figure(trial: &Trial, scope: &Scope, name: &str) -> f64 {
    let matching = trial.metrics.iter().find(|one| one.name == name && one.scope == *scope);
    matching.unwrap_or_else(|| panic!("no {name}")).value
}

/// Count in a line of the table.
fn count(ran: &FinishedCommand, flowop: &str) -> u64 {
    let line = ran.stdout.lines().find(|line| line.starts_with(&format!("{flowop} ")));
    let line = line.unwrap_or_else(|| panic!("no {flowop}: {ran}"));
    line.split_whitespace().nth(1).unwrap().strip_suffix("ops").unwrap().parse().unwrap()
}

#[test]
fn a_classic_run_prints_the_original_output() {
    let program = program();
    let ran = classic(&program, &format!("{MIX}run 1\n")).ends_with(0);
    let mut rest = ran.stdout.as_str();
    for part in [
        "Filebench Version 1.5-alpha3\n0.000: loaded 1000\n",
        ": Populating and pre-allocating filesets\n",
        ": set populated: 1000 files, avg. dir. width = 10, avg. dir. depth = 3.0, 0 leafdirs, \
         4.768MB",
        ": Removing set tree (if exists)\n",
        ": Pre-allocating directories in set tree\n",
        ": Pre-allocating files in set tree\n",
        ": Waiting for pre-allocation to finish (in case of a parallel pre-allocation)\n",
        ": Population and pre-allocation of filesets completed\n",
        ": Starting 1 p instances\n",
        ": Running...\n",
        ": Run took 1 seconds...\n",
        ": Per-Operation Breakdown\nlimit                0ops        0ops/s   0.0mb/s    0.000ms/op \
         [",
        ": IO Summary: ",
        " rd/wr ",
        ": Shutting down processes\n",
    ] {
        let Some((_, after)) = rest.split_once(part) else { panic!("no {part:?}: {ran}") };
        rest = after;
    }
    let total: u64 = ["del", "make", "append", "close1", "open", "read", "close2", "stat"]
        .iter()
        .map(|flowop| count(&ran, flowop))
        .sum();
    assert!(ran.stdout.contains(&format!("IO Summary: {total:5} ops ")), "{ran}");
    let trial = last(&program);
    assert_eq!(figure(&trial, &Scope::Trial, "operations"), total as f64);
    // An import of the output has the reported figures.
    let log = program.home().join("log.txt");
    fs::write(&log, &ran.stdout).unwrap();
    program.run(["import", "log.txt"]).ends_with(0);
    let imported = last(&program);
    assert!(imported.metrics.iter().any(|metric| metric.primary), "{imported:?}");
    // The tree stays until the next run removes it.
    let tree = tree_of(&program.home().join("w"));
    assert!(tree.keys().all(|path| path.starts_with("set")), "{tree:?}");
    classic(&program, &format!("{MIX}run 1\n")).ends_with(0);
}

#[test]
fn a_sync_before_the_run_is_in_no_rate() {
    let program = program();
    let before = "create files\nsystem \"sync\"\n";
    let ran = classic(&program, &format!("{MIX}{before}run 1\n")).ends_with(0);
    assert!(
        ran.stdout.contains(": Population and pre-allocation of filesets completed\n"),
        "{ran}"
    );
    let (_, summary) = ran.stdout.split_once(": IO Summary: ").unwrap();
    let printed: f64 = summary.split_whitespace().nth(2).unwrap().parse().unwrap();
    // The metric counts the time of the threads.
    let counted = figure(&last(&program), &Scope::Trial, "operations_per_second");
    assert!((printed / counted - 1.0).abs() < 1e-3, "{printed} {counted}: {ran}");
}

#[test]
fn only_filesets_are_removed() {
    let program = program();
    let photo = program.home().join("w/set/photo.jpg");
    fs::create_dir_all(photo.parent().unwrap()).unwrap();
    fs::write(&photo, "mine").unwrap();
    fs::write(program.home().join("w/set/00000001"), "ours").unwrap();
    let ran = classic(&program, &format!("{MIX}run 1\n")).ends_with(1);
    assert!(ran.stdout.contains("NO VALID RESULTS!"), "{ran}");
    assert!(ran.stderr.contains("holds something that no fileset has"), "{ran}");
    assert_eq!(fs::read_to_string(&photo).unwrap(), "mine");
    assert!(program.home().join("w/set/00000001").exists(), "nothing at all");
    assert!(!ran.stdout.contains("IO Summary"), "{ran}");
}

#[test]
fn threads_without_remaining_files_have_no_result() {
    let program = program();
    let text = "define fileset name=a,path=w,entries=20,size=1k,dirwidth=5,prealloc\n\
                define process name=p { thread name=t { flowop deletefile name=d,filesetname=a } }\n";
    let ran = classic(&program, &format!("{text}run 5")).ends_with(1);
    assert!(ran.stdout.contains("WARNING! Run stopped early:\n"), "{ran}");
    assert!(ran.stdout.contains("flowop d could not obtain a file. Please\n"), "{ran}");
    assert!(
        ran.stdout.contains("NO VALID RESULTS! Filebench run terminated prematurely\n"),
        "{ran}"
    );
    native(&program, &format!("{text}run 5"), &["--quiet"]).ends_with(4);
    let trial = last(&program);
    assert!(failure(&trial).contains("could not obtain a file"), "{trial:?}");
    let is_seen = |name: &str| is_counter(name) || is_call_latency(name);
    assert!(trial.metrics.iter().all(|metric| is_seen(&metric.name)), "{trial:?}");
    // In this quit mode, the same event ends the run successfully.
    let ran = classic(&program, &format!("set mode quit firstdone {text}run 60")).ends_with(0);
    assert_eq!(count(&ran, "d"), 20);
}

#[test]
fn snapshots_and_histograms_are_reported() {
    let program = program();
    let ran = classic(&program, &format!("enable lathist\n{MIX}psrun -1 3\n")).ends_with(0);
    assert!(ran.stdout.matches(": IO Summary: ").count() >= 2, "{ran}");
    let line = ran.stdout.lines().rfind(|line| line.starts_with("read ")).unwrap();
    let (_, counts) = line.split_once("\t[ ").unwrap();
    let counts: Vec<u64> =
        counts.trim_end_matches(" ]").split(' ').map(|count| count.parse().unwrap()).collect();
    assert_eq!(counts.len(), 64);
    assert!(counts.iter().sum::<u64>() > 0);
}

#[test]
fn a_period_that_ends_with_the_run_is_reported_once() {
    for run in ["psrun -1 1", "psrun 2 1"] {
        let program = program();
        let ran = classic(&program, &format!("{MIX}{run}\n")).ends_with(0);
        assert_eq!(ran.stdout.matches(": IO Summary: ").count(), 1, "{run}: {ran}");
    }
}

#[test]
fn threads_synchronise_by_semaphores() {
    let program = program();
    let text = "define fileset name=a,path=w,entries=4,size=8k,dirwidth=50,prealloc\n\
        define process name=taker { thread name=t { flowop semblock name=s,value=10,highwater=10\n\
        flowop statfile name=taken,filesetname=a } }\n\
        define process name=poster { thread name=t { flowop statfile name=posted,filesetname=a\n\
        flowop sempost name=post,target=s,value=1,blocking } }\nrun 1\n";
    let ran = classic(&program, text).ends_with(0);
    let (taken, posted) = (count(&ran, "taken"), count(&ran, "posted"));
    assert!(taken > 0, "{ran}");
    // Each take needs ten posts; at most 20 more may be left.
    assert!((taken * 10..=taken * 10 + 31).contains(&posted), "{taken} {posted}: {ran}");
    // A thread that waits for a post that never comes is reported, and the run ends.
    let stuck = text
        .replace("flowop sempost name=post,target=s,value=1,blocking", "flowop block name=b")
        .replace("run 1", "run 600");
    let ran = classic(&program, &stuck).ends_with(1);
    assert!(ran.stderr.contains("every thread waits for another one"), "{ran}");
}

#[test]
fn events_limit_the_rate() {
    let program = program();
    let text = "eventgen rate=200\ndefine fileset name=a,path=w,entries=4,size=8k,dirwidth=50,prealloc\n\
        define process name=p { thread name=t,instances=3 { flowop statfile name=s,filesetname=a\n\
        flowop eventlimit name=l } }\nrun 2\n";
    let ran = classic(&program, text).ends_with(0);
    let done = count(&ran, "s");
    assert!((200..=420).contains(&done), "400 events came: {ran}");
}

#[test]
fn a_native_run_is_reported_and_can_be_repeated() {
    let program = program();
    let words = ["--seconds", "1", "--files", "40", "--set", "nthreads=1", "--latency", "all"];
    native(&program, MIX, &words).ends_with(0);
    assert_eq!(fs::read_dir(program.home().join("d")).unwrap().count(), 0, "removed");
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    let primary = trial.metrics.iter().filter(|metric| metric.primary).count();
    assert_eq!(primary, 1);
    let read = Scope::Kind("read".to_owned());
    assert!(figure(&trial, &read, "latency_p99_nanoseconds") > 0.0);
    let rate: f64 = ["del", "make", "append", "close1", "open", "read", "close2", "stat"]
        .iter()
        .map(|name| figure(&trial, &Scope::Kind((*name).to_owned()), "operations_per_second"))
        .sum();
    let whole = figure(&trial, &Scope::Trial, "operations_per_second");
    assert!((rate / whole - 1.0).abs() < 1e-9, "{rate} {whole}");
    program.run(again(&program)).ends_with(0);
    assert_eq!(last(&program).beginning.parameters, trial.beginning.parameters);
}

#[test]
fn unsupported_statements_are_refused_with_their_location() {
    let program = program();
    native(&program, &format!("{MIX}system \"rm -rf /\"\nrun 1"), &[])
        .ends_with(2)
        .complains("w.f:");
    native(&program, MIX, &[]).ends_with(2).complains("the file has no run");
    native(&program, &format!("{MIX}run 1"), &["--set", "nfile=3"])
        .ends_with(2)
        .complains("perhaps nfiles is meant");
    program.run(["run", "filebench", "webprox", "--dir", "d"]).ends_with(2).complains("webproxy");
    program.run(["filebench"]).ends_with(1);
    let ran = program.run(["filebench", "-c"]).ends_with(0);
    assert!(ran.stdout.contains("cvar-gamma\n"), "{ran}");
    let ran = program.run(["filebench", "-c", "cvar-gamma"]).ends_with(0);
    assert!(ran.stdout.contains("\tmean\t\t4096.0\n"), "{ran}");
    let ran = program.run(["run", "filebench", "varmail", "--dir", "d", "--dry-run"]).ends_with(0);
    assert!(ran.stdout.contains("define fileset name=bigfileset"), "{ran}");
    let text = format!("{MIX}echo \"\u{1b}[2J\"\nrun 1");
    assert!(!classic(&program, &text).stdout.contains('\u{1b}'));
}

fn personalities_in(dir: &Path) {
    let program = program();
    for words in [
        &["webproxy", "--files", "200", "--threads", "4"][..],
        &["varmail", "--files", "100", "--threads", "3"],
        &["fileserver", "--files", "200", "--threads", "3"],
        &["webserver", "--files", "100", "--threads", "4"],
        &["videoserver", "--set", "filesize=1m", "--threads", "3", "--set", "numpassivevids=9"],
        &["oltp", "--set", "nshadows=5", "--set", "ndbwriters=2", "--set", "filesize=1m"],
    ] {
        let place = dir.join(words[0]);
        let first_words = ["run", "filebench"];
        let after = ["--seconds", "1", "--quiet", "--dir", place.to_str().unwrap()];
        program.run([&first_words[..], words, &after].concat()).ends_with(0);
        let trial = last(&program);
        assert_eq!(trial.ending, Ending::Completed, "{words:?}");
        assert!(figure(&trial, &Scope::Trial, "operations") > 50.0, "{words:?}");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }
}

#[test]
fn personalities_run_on_ext4() {
    require_loop_fs!("ext4");
    let place = LoopFs::new("ext4", 600);
    personalities_in(place.path());
}

#[test]
fn personalities_run_on_xfs() {
    require_loop_fs!("xfs");
    let place = LoopFs::new("xfs", 600);
    personalities_in(place.path());
}

#[test]
fn personalities_run_in_memory() {
    let place = temp_dir_in(Path::new("/dev/shm"));
    personalities_in(place.path());
}
