//! ior as a user runs it: output and files of the original and of treering, side by side.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use treering_model::Op;
use treering_testkit::{FinishedCommand, Program, temp_dir};

use crate::originals::{original, run_original, run_ours};
use crate::program;
use crate::trial::{calls, last, metric};

pub(crate) fn classic(program: &Program, ranks: u32, words: &str) -> FinishedCommand {
    run_ours(program, "ior", ranks, words)
}

/// Lines without the parts that differ in every run: times, figures, the filesystem.
pub(crate) fn shape(text: &str) -> Vec<String> {
    let varying = ["Began", "Finished", "StartTime", "Command line", "FS "];
    let lines = text.lines().filter(|line| !varying.iter().any(|begin| line.starts_with(begin)));
    lines
        .map(|line| {
            if let Some((name, value)) = line.split_once(':') {
                let is_rate = name.starts_with("Max ");
                return format!("{name}: {}", if is_rate { "a rate" } else { value });
            }
            let (mut figures, mut words) = (0, Vec::new());
            for word in line.split([' ', ',']).filter(|word| !word.is_empty()) {
                if word.contains('.') && word.parse::<f64>().is_ok() {
                    figures += 1;
                } else if word.parse::<f64>().is_err() {
                    words.push(word);
                }
            }
            // Figures of some thousands have no decimals, so only their presence counts.
            format!("{} with {}", words.join(" "), if figures > 0 { "figures" } else { "none" })
        })
        .collect()
}

/// Files in a directory, with their bytes.
pub(crate) fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut entries: Vec<(String, Vec<u8>)> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect();
    entries.sort();
    entries
}

/// Number of ranks and command line of each case; `-G` makes the data equal.
const LINES: [(u32, &str); 16] = [
    (1, "-b 1m -t 256k"),
    (2, "-b 512k -t 128k -s 2 -i 2 -G 7 -k -v"),
    (3, "-F -b 256k -t 64k -G 7 -k -e"),
    (2, "-F -b 256k -t 64k -G 7 -k -l o"),
    (2, "-b 256k -t 64k -G 7 -k -l r -Y -w"),
    (3, "-b 256k -t 32k -G 7 -k -z --random-offset-seed=5 -w"),
    (2, "-F -b 256k -t 32k -G 7 -k -z --random-offset-seed=5 -i 2 -m"),
    (2, "-b 256k -t 64k -C -w -W -R -G 7"),
    (2, "-b 256k -t 64k -c -j 1000 -G 7 -k"),
    (2, "-b 256k -t 64k -i 2 -O summaryFormat=CSV"),
    (3, "-b 256k -t 64k -v -N 2"),
    (2, "-b 256k -t 64k -M 1% -a posix"),
    (3, "--dataPacketType=timestamp -C -Q 1 -g -G=-1385000000 -k -e -b 256k -t 64k -F -w -r -R"),
    (2, "-b 256k -t 64k -G 7 -k -w -O taskPerNodeOffset=1,checkRead=1 -O fsync=1 -Z -Z -X 3 -F"),
    (2, "-b 256k -t 64k -s 4 -D 60 -O stoneWallingWearOut=1 -g -G 7 -k -O keepFile=1"),
    (1, "-b 4k -t 1k -s 8 -G 7 -k -i 2 -E -O useO_DIRECT=0"),
];

#[test]
fn lines_and_files_equal_the_original() {
    let Some(original) = original("ior") else { return };
    for (ranks, words) in LINES {
        let (program, other) = (program(), temp_dir());
        for dir in [program.home(), other.path()] {
            fs::create_dir(dir.join("out")).unwrap();
        }
        let words = format!("{words} -o out/f");
        let theirs = run_original(&original, other.path(), ranks, &words).ends_with(0);
        let ours = classic(&program, ranks, &words).ends_with(0);
        assert_eq!(shape(&ours.stdout), shape(&theirs.stdout), "{words}");
        assert_eq!(files(&program.home().join("out")), files(&other.path().join("out")), "{words}");
    }
}

/// Script of three tests: write a file, then read and compare it, then write one file by one of two
/// ranks. The last test has no `RUN` directive.
pub(crate) const SCRIPT: &str = "a script
IOR START
    blockSize=256k, transferSize=64k # and so on
    testFile = out/f
    SETTIMESTAMPSIGNATURE=7
    keepFile=1
    writeFile=1
RUN
    writeFile=0
    checkRead=1
    repetitions=2
RUN
    # the third
    filePerProc=1
    checkRead=0
    writeFile=1
    readFile=1
    numTasks=1
    verbose=1
";

#[test]
fn a_script_is_one_run_of_several_tests() {
    let program = program();
    fs::create_dir(program.home().join("out")).unwrap();
    fs::write(program.home().join("script"), SCRIPT).unwrap();
    let ours = classic(&program, 2, "-f script").ends_with(0);
    let trial = last(&program);
    let moved = |kind| (calls(&trial, kind, Op::Write), calls(&trial, kind, Op::Read));
    assert_eq!(moved("test0-write"), (8, 0));
    assert_eq!(moved("test1-read"), (0, 16), "two repetitions");
    assert_eq!(moved("test2-write"), (8, 0), "one rank");
    for kind in ["test0-write", "test1-read", "test2-write", "test2-read"] {
        assert!(metric(&trial, kind, "mib_per_second").unwrap() > 0.0, "{kind}");
    }
    let made = files(&program.home().join("out"));
    let made: Vec<_> = made.iter().map(|(name, data)| (name.as_str(), data.len())).collect();
    assert_eq!(made, [("f", 524_288), ("f.00000000", 262_144)]);
    for times in ["TestID  ", "Options: ", "access    bw(MiB/s)"] {
        assert_eq!(ours.stdout.matches(times).count(), 3, "{times}: {ours}");
    }
    let json = classic(&program, 2, "-f script -O summaryFormat=JSON").ends_with(0);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["tests"][2]["TestID"], 2);
    assert_eq!(document["summary"].as_array().unwrap().len(), 4);
    let Some(original) = original("ior") else { return };
    let place = temp_dir();
    fs::create_dir(place.path().join("out")).unwrap();
    fs::write(place.path().join("script"), SCRIPT).unwrap();
    let theirs = run_original(&original, place.path(), 2, "-f script").ends_with(0);
    assert_eq!(shape(&ours.stdout), shape(&theirs.stdout));
    assert_eq!(files(&program.home().join("out")), files(&place.path().join("out")));
}

#[test]
fn script_errors_are_shown_with_their_line() {
    let program = program();
    fs::write(program.home().join("script"), "IOR START\n  blockSize = 4x\nRUN\nreadfil=1\n")
        .unwrap();
    let ran = classic(&program, 1, "-f script").ends_with(1);
    let output = format!("{}{}", ran.stdout, ran.stderr);
    for part in [
        "script:2:15: blockSize: '4x' is not a size\n  2 |   blockSize = 4x\n    |               ^",
        "script:4:1: there is no directive 'readfil'",
        "did you mean readFile?",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let ran = classic(&program, 1, "-f none").ends_with(1);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("-f none: No such file"), "{ran}");
}

#[test]
fn unsupported_options_are_refused_first() {
    for (words, message, code) in [
        ("-b 4m -t 3m", "block size must be a multiple of transfer size", 1),
        ("-a DFS", "there is no such interface here", 1),
        ("-O numNodes=3", "the ranks that are there decide it", 1),
        ("-O intraTestBarrier=1", "did you mean intraTestBarriers?", 1),
        ("-y", "all files are in one directory", 2),
        ("-M 100%", "MiB are available", 1),
        ("-M much", "give bytes, as 2g, or a share, as 75%", 1),
    ] {
        let program = program();
        let ran = classic(&program, 1, words).ends_with(code);
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(output.contains(message), "{words}: {output}");
        assert!(!program.home().join("testFile").exists());
    }
}

/// An earlier version took `--dry-run` for an abbreviation of a refused option.
#[test]
fn a_dry_run_lists_the_tests_and_does_nothing() {
    let program = program();
    let ran = classic(&program, 2, "-b 128k -t 64k --dry-run").ends_with(0);
    assert!(ran.stdout.contains("repetition 1: worker 1: write 2 transfers of 65536"), "{ran}");
    assert!(!program.home().join("testFile").exists());
    assert!(classic(&program, 1, "--dryRun").ends_with(2).stderr.contains("see --dry-run"));
}

/// Collects the names in a JSON document, each with its parents.
fn keys(value: &serde_json::Value, above: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => map.iter().for_each(|(name, value)| {
            let path = format!("{above}/{name}");
            keys(value, &path, found);
            found.insert(path);
        }),
        serde_json::Value::Array(all) => all.iter().for_each(|value| keys(value, above, found)),
        _ => {}
    }
}

#[test]
fn json_is_one_document_with_the_names_of_the_original() {
    let program = program();
    let words = "-b 256k -t 64k -i 2 -v -C -D 60 -O stoneWallingWearOut=1 -O summaryFormat=JSON";
    let ours = classic(&program, 2, words).ends_with(0);
    let document: serde_json::Value = serde_json::from_str(&ours.stdout).unwrap();
    let test = &document["tests"][0];
    assert_eq!(test["Results"].as_array().unwrap().len(), 6, "{ours}");
    assert_eq!(test["Options"]["aggregate filesize"], "524288 bytes");
    assert_eq!(document["summary"][1]["operation"], "read");
    assert!(document["summary"][0]["bwMeanMIB"].as_f64().unwrap() > 0.0);
    let Some(original) = original("ior") else { return };
    let place = temp_dir();
    let words = format!("{words} -O summaryFile=all.json");
    run_original(&original, place.path(), 2, &words).ends_with(0);
    let text = fs::read_to_string(place.path().join("all.json")).unwrap();
    let theirs: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (mut our_names, mut their_names) = (BTreeSet::new(), BTreeSet::new());
    keys(&document, "", &mut our_names);
    keys(&theirs, "", &mut their_names);
    assert_eq!(our_names, their_names);
}

#[test]
fn each_rank_can_have_its_own_directory() {
    let program = program();
    fs::create_dir(program.home().join("out")).unwrap();
    classic(&program, 2, "-F -u -b 128k -t 64k -d 1 -T 5 -k -o out/f").ends_with(0);
    for rank in 0..2 {
        let own = program.home().join(format!("out/{rank}"));
        let found = files(&own);
        let sizes: Vec<_> = found.iter().map(|(name, data)| (name.as_str(), data.len())).collect();
        assert_eq!(sizes, [(format!("f.0000000{rank}").as_str(), 131_072)]);
        let mode = fs::metadata(&own).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "the original makes it for its owner alone");
    }
    let trial = last(&program);
    assert_eq!(calls(&trial, "setup", Op::Pause), 2, "a second before each test");
}

#[test]
fn a_write_ended_by_time_is_read_by_a_later_run() {
    let program = program();
    let words = "-F -b 64k -t 64k -s 1000000 -D 1 -O stoneWallingWearOut=1 -G 3 -k -o f \
                 -O stoneWallingStatusFile=state";
    let wrote = classic(&program, 2, &format!("{words} -w")).ends_with(0);
    assert!(wrote.stdout.contains("stonewalling pairs accessed min: "), "{wrote}");
    let state = fs::read_to_string(program.home().join("state")).unwrap();
    let bytes = state.parse::<u64>().unwrap() * 65_536;
    for rank in 0..2 {
        let file = program.home().join(format!("f.0000000{rank}"));
        assert_eq!(fs::metadata(file).unwrap().len(), bytes, "all wrote as much as the fastest");
    }
    let words = "-F -b 64k -t 64k -s 1000000 -G 3 -k -o f -O stoneWallingStatusFile=state -r -R";
    let read = classic(&program, 2, words).ends_with(0);
    assert!(!read.stdout.contains("ERROR"), "{read}");
    let trial = last(&program);
    assert_eq!(calls(&trial, "read", Op::Read), 2 * bytes / 65_536);
}

#[test]
fn a_native_run_reorders_tasks_reports_and_cleans_up() {
    let program = program();
    fs::create_dir(program.home().join("target")).unwrap();
    let words = "run ior --dir target --workers 3 --block 256K --transfer 64K --segments 2";
    program.run(words.split_whitespace()).ends_with(0);
    assert!(files(&program.home().join("target")).is_empty());
    let trial = last(&program);
    for kind in ["write", "read"] {
        assert!(metric(&trial, kind, "mib_per_second").unwrap() > 0.0, "{kind}");
        assert!(metric(&trial, kind, "worker_skew_ratio").unwrap() >= 1.0, "{kind}");
    }
    assert_eq!(calls(&trial, "write", Op::Write), 3 * 4 * 2);
}

#[test]
fn each_rank_warns_of_an_existing_file() {
    let program = program();
    fs::create_dir(program.home().join("out")).unwrap();
    for (kept, fate) in [("", "deleted"), ("-E ", "overwritten")] {
        let words = format!("{kept}-b 64k -t 64k -F -w -k -o out/f");
        classic(&program, 2, &words).ends_with(0);
        let output = classic(&program, 2, &words).ends_with(0).stdout;
        for rank in 0..2 {
            let warning = format!(
                "WARNING: The file \"out/f.0000000{rank}\" exists already and will be {fate}\n"
            );
            assert!(output.contains(&warning), "{output}");
        }
        let warned = output.find("exists already").unwrap();
        assert!(warned < output.find("access    bw(MiB/s)").unwrap(), "before the table: {output}");
    }
}

#[test]
fn rank_and_operation_files_equal_the_original() {
    let program = program();
    fs::create_dir_all(program.home().join("out/d")).unwrap();
    let words = "-b 256k -t 64k -F -a MPIIO -O saveRankPerformanceDetailsCSV=ranks -O \
                 savePerOpDataCSV=op -o out/f@out/d/g -k";
    let ran = classic(&program, 2, words).ends_with(0);
    assert!(ran.stderr.contains("-a MPIIO: each transfer is one call of POSIX"), "{ran}");
    let ranks = fs::read_to_string(program.home().join("ranks")).unwrap();
    let begins: Vec<&str> =
        ranks.lines().map(|line| &line[..line.match_indices(',').nth(1).unwrap().0]).collect();
    assert_eq!(begins, ["access,rank", "write,0", "write,1", "read,0", "read,1"]);
    for rank in 0..2 {
        let operations = fs::read_to_string(program.home().join(format!("op-0-0000{rank}.csv")));
        // The log has the operations of the last test: four transfers and the heading.
        assert_eq!(operations.unwrap().lines().count(), 5);
    }
    for file in ["out/f.00000000", "out/d/g.00000001"] {
        assert_eq!(fs::metadata(program.home().join(file)).unwrap().len(), 256 << 10);
    }
}
