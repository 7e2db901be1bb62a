//! bonnie++ as a user runs it: output and system calls of the original and of treering, side by
//! side.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use treering_model::Ending;
use treering_testkit::{
    FinishedCommand, LoopFs, Program, at_once, require_loop_fs, require_root, skip, temp_dir,
    traced,
};

use crate::program;
use crate::trial::{again, cautions, last, metric};

/// Path of a program of Debian's bonnie++ 2.00a, if installed.
fn installed(path: &str) -> Option<PathBuf> {
    let found = PathBuf::from(path);
    if found.is_file() {
        return Some(found);
    }
    skip(&format!("{path} is not installed"));
    None
}

const ORIGINAL: &str = "/usr/sbin/bonnie++";

fn classic(program: &Program, words: &str) -> FinishedCommand {
    program.run(["bonnie++"].into_iter().chain(words.split_whitespace()))
}

/// Fields of the CSV line.
fn fields(text: &str) -> Vec<String> {
    let line = text.lines().find(|line| line.starts_with("1.9")).unwrap();
    line.split(',').map(str::to_owned).collect()
}

/// Table with its figures replaced by letters, since rates and latencies always differ.
fn shape_of_table(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with("1.9"));
    lines
        .map(|line| match line.get(..19) {
            Some(name) if line.starts_with("Latency") || has_figures(&line[19..]) => {
                let filled = line[19..].chars().map(|letter| letter == ' ');
                // Columns that are not blank.
                let ends = filled
                    .collect::<Vec<bool>>()
                    .chunks(10)
                    .map(|column| if column.iter().all(|blank| *blank) { ' ' } else { 'x' })
                    .collect::<String>();
                format!("{name}{}", ends.trim_end())
            }
            _ => line.to_owned(),
        })
        .collect()
}

/// True for rates, or pluses for a test that was too short; false for a heading.
fn has_figures(columns: &str) -> bool {
    !columns.contains("--") && columns.contains(|one: char| one == '+' || one.is_ascii_digit())
}

const LINES: [&str; 8] = [
    "-s 4:4k:200:3 -n 1:1024:512:3 -f1 -c 1",
    "-s 4:64k:20 -n 0 -f",
    "-s 2 -n 1 -f -m a-long-name-of-a-machine",
    "-s 0 -n 1:-1:0:2 -q",
    "-s 0 -n 1:6000:5000:3:4k -b",
    "-s 0 -n 1 -x 2 -q",
    "-s 1:1024k:9:12 -n 0 -f -x 1",
    "-s 2 -n 1 -f -q -b",
];

#[test]
fn tables_lines_and_progress_equal_the_original() {
    require_root!();
    let Some(original) = installed(ORIGINAL) else { return };
    at_once(&LINES, |words| {
        let (program, other) = (program(), temp_dir());
        let words = format!("-d . -u root -r 0 -z 7 -m oak {words}");
        let mut command = Command::new(&original);
        let theirs =
            FinishedCommand::run(command.args(words.split_whitespace()).current_dir(other.path()))
                .ends_with(0);
        let ours = classic(&program, &format!("{words} --csv-columns original")).ends_with(0);
        assert_eq!(shape_of_table(&ours.stdout), shape_of_table(&theirs.stdout), "{words}");
        assert_eq!(shape_of_table(&ours.stderr), shape_of_table(&theirs.stderr), "{words}");
        let (our, their) = (fields(&ours.stdout), fields(&theirs.stdout));
        assert_eq!(our.len(), their.len(), "{words}");
        for (place, (our, their)) in our.iter().zip(&their).enumerate() {
            let asked = place < 9 || (21..26).contains(&place);
            assert!(our == their || !asked, "field {place} of {words}: {our} {their}");
            assert_eq!(our.is_empty(), their.is_empty(), "field {place} of {words}: {our} {their}");
        }
        assert_eq!(ours.stdout.lines().count(), theirs.stdout.lines().count(), "{words}");
        for dir in [program.home(), other.path()] {
            let left = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
            let left: Vec<_> =
                left.filter(|name| name.to_string_lossy().contains("Bonnie")).collect();
            assert!(left.is_empty(), "{left:?}");
        }
    });
}

/// Calls of a command on files of bonnie++, in a form that is the same for both programs.
fn words_of(command: &Command, dir: &Path, large: bool) -> Option<Vec<String>> {
    let calls = "mkdir,mkdirat,open,openat,openat2,read,write,lseek,fsync,sync,syncfs,close,\
                 unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,newfstatat,statx";
    let calls = traced(command, dir, calls)?;
    Some(calls.iter().filter_map(|one| word(&one.call, large)).collect())
}

/// True if the name is that of the large file, or of one of the many small files, depending on
/// `large`.
fn is_file(name: &str, large: bool) -> bool {
    if large {
        return name.starts_with("Bonnie.");
    }
    let many = name.len() >= 10 && name.contains("0000000") && !name.contains('.');
    many && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Short form of a call on the files under test; `None` for any other call.
fn word(call: &str, large: bool) -> Option<String> {
    let name = call.split('(').next()?;
    let result = call.rsplit(" = ").next()?.split(['<', ' ']).next()?;
    // The call names its file by the descriptor's path, or by its last path argument.
    let of_fd = call.split('<').nth(1).and_then(|rest| rest.split('>').next());
    let named = call.split('"').skip(1).step_by(2).last().unwrap_or_default();
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let on_fd = of_fd.map(last).is_some_and(|name| is_file(&name, large));
    let on_name = is_file(&last(named), large);
    let word = match name {
        "mkdir" | "mkdirat" if last(named).starts_with("Bonnie.") || named.starts_with("000") => {
            "mkdir".to_owned()
        }
        "open" | "openat" | "openat2" if on_name && !call.contains("O_DIRECTORY") => {
            let flags =
                ["O_RDWR", "O_WRONLY", "O_RDONLY", "O_CREAT", "O_EXCL", "O_DIRECT", "O_SYNC"];
            let has = |flag: &&str| call.split(['|', ' ', ',', ')']).any(|word| word == *flag);
            format!("open {}", flags.into_iter().filter(has).collect::<Vec<_>>().join("|"))
        }
        "read" | "write" if on_fd => format!("{name} {result}"),
        "lseek" if on_fd => "seek".to_owned(),
        "fsync" if on_fd => name.to_owned(),
        "fsync" if of_fd.is_some_and(|path| path.contains("Bonnie.")) => "fsync dir".to_owned(),
        "close" if on_fd => name.to_owned(),
        "sync" | "syncfs" => "sync".to_owned(),
        "rmdir" => name.to_owned(),
        "unlinkat" if call.contains("AT_REMOVEDIR") => "rmdir".to_owned(),
        "unlink" | "unlinkat" if on_name => format!("unlink {result}"),
        "link" | "linkat" if on_name => "link".to_owned(),
        "symlink" | "symlinkat" if on_name => "symlink".to_owned(),
        "newfstatat" | "statx" if on_name => "stat".to_owned(),
        _ => return None,
    };
    Some(word)
}

/// Calls of treering and of the original.
fn both(original: &Path, words: &str, large: bool) -> Option<(Vec<String>, Vec<String>)> {
    let words = format!("-d . -u root -r 0 -z 7 -q {words}");
    let (program, other) = (program(), LoopFs::new("ext4", 64));
    let mut theirs = Command::new(original);
    let theirs = words_of(theirs.args(words.split_whitespace()), other.path(), large)?;
    let mut ours = program.command(["bonnie++", "--no-store"]);
    let ours = words_of(ours.args(words.split_whitespace()), other.path(), large)?;
    Some((ours, theirs))
}

#[test]
fn calls_on_the_large_file_equal_the_original() {
    require_loop_fs!("ext4");
    let Some(original) = installed(ORIGINAL) else { return };
    for words in ["-s 1:64k:60:3 -n 0 -f", "-s 2:256k:40:2 -n 0 -f -b"] {
        let Some((ours, theirs)) = both(&original, words, true) else { return };
        // Three tests end with a close each; then come the calls of the seekers, in any order.
        let split = |calls: &[String]| {
            let close = calls.iter().enumerate().filter(|(_, call)| *call == "close").nth(2);
            let (before, seeks) = calls.split_at(close.unwrap().0 + 1);
            let mut counts = BTreeMap::new();
            for call in seeks {
                *counts.entry(call.clone()).or_insert(0_usize) += 1;
            }
            (before.to_vec(), counts)
        };
        let mut theirs = theirs;
        // Even without the tests of single bytes, the original creates the file and removes it
        // again.
        let nothing = ["open O_RDWR|O_CREAT|O_EXCL", "fsync", "close", "unlink 0"];
        assert_eq!(theirs.drain(1..5).collect::<Vec<_>>(), nothing, "{words}");
        let ((our, our_seeks), (their, their_seeks)) = (split(&ours), split(&theirs));
        assert_eq!(our, their, "{words}");
        let chunk = if words.contains("64k") { 65_536 } else { 262_144 };
        for (seeks, opens) in [(&our_seeks, 0), (&their_seeks, 1)] {
            let count = |call: &str| seeks.get(call).copied().unwrap_or(0);
            let updates = count(&format!("write {chunk}"));
            let (reads, seekers) = if chunk == 65_536 { (60, 3) } else { (40, 2) };
            assert_eq!(count(&format!("read {chunk}")), reads, "{seeks:?}");
            assert_eq!(count("seek"), reads + updates, "{seeks:?}");
            // The original's main thread opens, fsyncs and closes the file once more.
            assert_eq!(count("open O_RDWR"), seekers + opens, "{seeks:?}");
            assert_eq!(count("close"), seekers + opens, "{seeks:?}");
            let fsyncs = if words.contains("-b") { updates } else { 0 };
            assert_eq!(count("fsync"), seekers + opens + fsyncs, "{seeks:?}");
            assert_eq!(count("unlink 0"), 1, "{seeks:?}");
        }
    }
}

#[test]
fn calls_on_the_small_files_equal_the_original() {
    require_loop_fs!("ext4");
    let Some(original) = installed(ORIGINAL) else { return };
    for words in [
        "-s 0 -n 1",
        "-s 0 -n 1:5000:5000:3:4k",
        "-s 0 -n 1:0:0:2 -b",
        "-s 0 -n 1:-1:0:2",
        "-s 0 -n 1:-2 -b",
    ] {
        let Some((ours, theirs)) = both(&original, words, false) else { return };
        let mut theirs = theirs;
        // The original opens no files if there are none to read, and directories only with -b.
        theirs.retain(|call| call != "open O_RDONLY" || words.contains("5000"));
        let first = ours.iter().zip(&theirs).position(|(our, their)| our != their);
        let around = first.map(|at| (at, &ours[at.saturating_sub(3)..(at + 3).min(ours.len())]));
        assert_eq!(first, None, "{words}: {around:?}, theirs {:?}", first.map(|at| &theirs[at]));
        assert_eq!(ours.len(), theirs.len(), "{words}");
    }
}

/// Feeds a text to a program.
fn piped(program: &Path, text: &str) -> FinishedCommand {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    FinishedCommand {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

#[test]
fn csv_lines_are_read_by_the_original_tools_and_the_importer() {
    require_root!();
    let words = "-d . -u root -r 0 -z 7 -m oak -s 4:4k:200:12 -n 1:2000:1000:3:4k -f -q";
    let versions = ["1.96", "1.97", "1.98"];
    let cases = versions.map(|version| [(version, "right"), (version, "original")]).concat();
    let lines = Mutex::new(Vec::new());
    at_once(&cases, |(version, columns)| {
        let more = format!("{words} --csv-version {version} --csv-columns {columns}");
        let line = classic(&program(), &more).ends_with(0).stdout;
        assert_eq!(fields(&line).len(), if *version == "1.98" { 50 } else { 48 });
        lines.lock().unwrap().push((*version, *columns, line));
    });
    let (program, lines) = (program(), lines.into_inner().unwrap());
    let [text, html] = ["/usr/bin/bon_csv2txt", "/usr/bin/bon_csv2html"].map(installed);
    for (version, columns, line) in &lines {
        let file = program.home().join("line.csv");
        fs::write(&file, line).unwrap();
        let file = file.to_str().unwrap();
        let seen = program.run(["import", file, "--again", "--label", "x"]).ends_with(0);
        assert!(!seen.stdout.contains("no figure"), "{seen}");
        let trial = last(&program);
        let value = |name: &str| {
            let all = &trial.beginning.parameters;
            all.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        assert_eq!(value("dirs").as_deref(), Some("3"), "{version} {columns}");
        assert_eq!(value("max-size").as_deref(), Some("2000"), "{version} {columns}");
        assert_eq!(value("seed").as_deref(), Some("7"), "{version} {columns}");
        let right = *columns == "right" || *version != "1.98";
        assert_eq!(value("chunk").is_some(), right, "{version} {columns}");
        if *version != "1.98" {
            continue;
        }
        if let Some(text) = &text {
            let table = piped(text, line).ends_with(0);
            assert_eq!(table.stderr, "", "{columns}");
            assert!(table.stdout.contains("Sequential Create"), "{table}");
            let shown = if right { "1:2000:1000/3" } else { "1:2000:1000" };
            assert!(table.stdout.contains(shown), "{columns}: {table}");
        }
        if let Some(html) = &html {
            let page = piped(html, line).ends_with(0);
            assert!(page.stdout.contains("oak"), "{page}");
        }
    }
}

#[test]
fn a_classic_trial_has_figures_that_the_table_omits() {
    require_root!();
    let program = program();
    let words = "-d . -u root -r 0 -s 4 -n 1 -f -c 2 -q";
    let line = fields(&classic(&program, words).ends_with(0).stdout);
    assert_eq!((line[3].as_str(), line[11].as_str()), ("2", "+++++"));
    let trial = last(&program);
    assert_eq!(trial.beginning.workload, "bonnie++");
    for (kind, rate) in [
        ("block write", "mib_per_second"),
        ("rewrite", "mib_per_second"),
        ("seeks", "ops_per_second"),
        ("random delete", "files_per_second"),
    ] {
        assert!(metric(&trial, kind, rate).unwrap() > 0.0, "{kind}");
        assert!(metric(&trial, kind, "latency_ns_max").unwrap() > 0.0, "{kind}");
    }
    let seekers = trial.tasks.iter().filter(|task| task.kind == "seeks").count();
    assert_eq!(seekers, 2 * 5);
    // Each thread counts its own CPU only.
    let cpu = metric(&trial, "seeks", "cpu_percent").unwrap();
    let most = 110.0 * std::thread::available_parallelism().unwrap().get() as f64;
    assert!(cpu <= most, "{cpu}");
    let words = again(&program);
    assert!(words.contains(&"--seed".to_owned()), "{words:?}");
    program.run(&words).ends_with(0);
}

#[test]
fn a_native_run_reports_precision_and_cached_data() {
    require_loop_fs!("ext4");
    let (program, place) = (program(), LoopFs::new("ext4", 128));
    let dir = place.path().join("w");
    let words = ["run", "bonnie++", "--size", "16M", "--files", "2000", "--max-size", "4K"];
    let more_words = ["--dirs", "3", "--quiet", "--dir", dir.to_str().unwrap()];
    program.run(words.iter().chain(&more_words)).ends_with(0);
    let trial = last(&program);
    assert_eq!(trial.ending, Ending::Completed);
    assert_eq!(trial.phases.len(), 10);
    for kind in ["block write", "block read", "sequential create", "random delete"] {
        assert!(metric(&trial, kind, "rate_uncertainty_percent").is_some(), "{kind}");
        assert!(metric(&trial, kind, "elapsed_seconds").unwrap() > 0.0);
    }
    assert!(cautions(&trial).contains(&"data_fit_in_memory"), "{:?}", cautions(&trial));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    program.run(again(&program)).ends_with(0);
}

#[test]
fn zeros_on_a_compressing_filesystem_are_cautioned() {
    require_loop_fs!("btrfs");
    let (program, place) = (program(), LoopFs::new("btrfs", 256));
    let mut remount = Command::new("mount");
    remount.args(["-o", "remount,compress=zstd"]).arg(place.path());
    assert!(remount.status().unwrap().success());
    let words = format!("-d {} -u root -r 0 -s 4 -n 0 -f -q", place.path().display());
    classic(&program, &words).ends_with(0);
    let seen = last(&program);
    assert!(cautions(&seen).contains(&"compressible_data"), "{:?}", cautions(&seen));
}

#[test]
fn invalid_command_lines_exit_with_1_and_the_original_message() {
    require_root!();
    let program = program();
    let says = |words: &str, text: &str| {
        let ran = classic(&program, words).ends_with(1);
        assert!(ran.stderr.contains(text), "{words}: {ran}");
        assert_eq!(ran.stdout, "", "{words}");
    };
    says("-d .", "You must use the \"-u\" switch when running as root.\n");
    says("-d nope -u root", "Can't change to directory \"nope\".\n");
    says("-u nosuch", "Can't find user nosuch\n");
    let double = "Using uid:0, gid:0.\nFile size should be double RAM for good results, RAM is \
                  1000M.\n";
    says("-u root -r 1000 -s 1999", double);
    says("-u root -s 0 -n 28340", "Not enough ram to test with 28340K files.\n");
    says("-u root -s 0 -n 16 -r 1", "When testing 16K of files in 1 MiB of RAM");
    says("-u root -s 16 -r 0 -D", "give -f as well");
    says("-u root -c 0", "-c: from 1 to 200");
    says("-u root -s 0 -n 0", "there is no test");
    says("-u root extra", "extra");
    says("-u root -p x", "-p: 'x' is neither");
    says("-u root -p 2 -y s", "not both");
}

#[test]
fn both_forms_of_f_and_both_link_names_work() {
    require_root!();
    let program = program();
    for name in ["bonnie++", "bonnie"] {
        let link = program.home().join(name);
        symlink(env!("CARGO_BIN_EXE_treering"), &link).unwrap();
        for byte in ["-f", "-f1", "-f 1"] {
            let mut command = Command::new(&link);
            let words = format!("-u root -r 0 -n 0 -s 1 -q -m oak {byte} -d .");
            program.prepare(&mut command).args(words.split_whitespace());
            let line = fields(&FinishedCommand::run(&mut command).ends_with(0).stdout);
            assert_eq!(line[9].is_empty(), byte == "-f", "{name} {byte}");
        }
    }
}

#[test]
fn a_prompt_waits_for_a_line_before_each_test() {
    require_root!();
    let program = program();
    let mut command = program.command(["bonnie++", "-u", "root", "-r", "0", "-s", "1", "-f"]);
    command.args(["-n", "1", "-y", "p", "-m", "oak", "-d", "."]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&[b'\n'; 10]).unwrap();
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let prompts: Vec<&str> = out.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(prompts, ["1:", "2:", "4:", "5:", "6:", "7:", "8:", "9:", "10:", "11:"]);
    assert!(out.starts_with("\n1:\n"), "{out}");
}

/// The semaphore key is machine-wide, so a single test covers every case.
#[test]
fn processes_synchronise_at_semaphores_even_with_the_original() {
    require_root!();
    let Some(original) = installed(ORIGINAL) else { return };
    let program = program();
    let outcome = classic(&program, "-u root -p 2");
    if outcome.stderr.contains("not implemented") || outcome.stderr.contains("Permission") {
        skip("there are no semaphores here");
        return;
    }
    assert_eq!(outcome.ends_with(0).stdout, "Creating semaphore for 2 procs.\n");
    let place = temp_dir();
    let words = "-d . -u root -r 0 -s 1 -n 1 -f -q -m oak -y s";
    let mut theirs = Command::new(&original);
    theirs.args(words.split_whitespace()).current_dir(place.path());
    let theirs = theirs.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Neither program would end without the other.
    let ours = classic(&program, words).ends_with(0);
    let theirs = theirs.wait_with_output().unwrap();
    assert!(theirs.status.success());
    assert_eq!(fields(&ours.stdout).len(), 50);
    let used = classic(&program, words).ends_with(1);
    assert!(used.stderr.contains("semop failed"), "{used}");
    let removed = classic(&program, "-u root -p -1").ends_with(0);
    assert_eq!(removed.stdout, "Semaphore removed.\n");
    let missing = classic(&program, words).ends_with(1);
    assert!(missing.stderr.contains("Can't get semaphore ID: No such file"), "{missing}");
    classic(&program, "-u root -p -1").ends_with(1);
    let left = fs::read_dir(program.home()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("Bonnie")));
}

#[test]
fn files_are_removed_when_a_run_is_stopped_or_fails() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(48));
    let dir = place.path().display();
    let words = format!("bonnie++ -d {dir} -u root -r 0 -s 16 -n 20 -f -x 1000");
    let mut run = program.start(words.split_whitespace());
    run.wait_for("Create files in sequential order...");
    run.send("INT");
    let ran = run.finish();
    assert_eq!(ran.code, Some(5), "{ran}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    let ran = classic(&program, &format!("-d {dir} -u root -r 0 -s 100 -n 0 -f")).ends_with(1);
    assert!(ran.stderr.contains("No space left"), "{ran}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_run_has_the_permissions_of_the_requested_user() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(16));
    let dir = place.path().join("own");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, PermissionsExt::from_mode(0o700)).unwrap();
    let words = format!("-d {} -u 12345:678 -r 0 -s 1 -n 1 -f -q", dir.display());
    let ran = classic(&program, &words).ends_with(1);
    assert!(ran.stderr.contains("Permission denied"), "{ran}");
    chown(&dir, Some(12_345), Some(678)).unwrap();
    classic(&program, &words).ends_with(0);
}

/// Numbers are parsed like `atoi`: a suffix has no effect, and 0 makes no semaphores.
#[test]
fn memory_suffixes_and_zero_processes_are_parsed_like_the_original() {
    require_root!();
    let program = program();
    let small = classic(&program, "-d . -u root -n 0 -r 16m -s 31m").ends_with(1);
    assert!(small.stderr.contains("RAM is 16M."), "{small}");
    let ran = classic(&program, "-d . -u root -n 0 -r 0 -s 1m -p 0 -f").ends_with(0);
    assert!(ran.stdout.contains("1.98,2.00a,"), "{ran}");
}
