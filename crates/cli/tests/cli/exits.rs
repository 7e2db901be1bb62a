//! Failing runs: the exit codes and the first lines of the originals, no figures for work that was
//! not done, and panics.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use treering_testkit::{
    FinishedCommand, FourLists, LoopFs, Program, require_loop_fs, require_root, skip, temp_dir,
};

use crate::faults::run;
use crate::program;

/// A tool on a target: its arguments, with `{}` for the target, and its output before it fails.
struct Tool {
    words: &'static str,
    header: &'static str,
    /// Exit codes on a read-only filesystem, for a missing directory, and for a file.
    codes: [i32; 3],
}

const TOOLS: [Tool; 10] = [
    Tool { words: "fs_mark -n 5 -d {}", header: "Version 3.3, 1 thread(s)", codes: [1, 1, 1] },
    Tool {
        words: "fs_mark -n 5 -D 4 -t 2 -d {}",
        header: "Version 3.3, 2 thread(s)",
        codes: [1, 1, 1],
    },
    Tool { words: "dbench -c load.txt -t 1 -D {} 2", header: "dbench version 4", codes: [1, 1, 1] },
    Tool { words: "bonnie++ -u root -r 0 -s 1 -n 1 -d {}", header: "", codes: [1, 1, 1] },
    Tool {
        words: "compilebench -s lists -i 1 -r 0 -n -D {}",
        header: "using working directory",
        // A missing directory is created.
        codes: [1, 0, 1],
    },
    Tool { words: "blogbench -i 1 -s 1 -d {}", header: "Scratch dir = [", codes: [0, 1, 1] },
    Tool {
        words: "fio --name=j --size=64k --rw=write --directory={}",
        header: "",
        codes: [1, 1, 1],
    },
    Tool { words: "mdtest -n 2 -d {}", header: "mdtest-", codes: [255, 255, 255] },
    Tool { words: "ior -b 64k -t 64k -o {}/f", header: "IOR-", codes: [255, 255, 255] },
    Tool { words: "ffsb profile.ffsb", header: "FFSB version", codes: [1, 1, 1] },
];

const READ_ONLY: usize = 0;
const MISSING: usize = 1;
const FILE: usize = 2;

fn prepared() -> Program {
    let program = program();
    let home = program.home();
    FourLists::wide(3, 100).write_to(&home.join("lists"));
    let load = "Mkdir \"/clients\" *\nMkdir \"/clients/client1\" *\n\
                NTCreateX \"/clients/client1/f\" 0x40 0x2 10003 NT_STATUS_OK\n\
                WriteX 10003 0 100 100 NT_STATUS_OK\nClose 10003 NT_STATUS_OK\n";
    fs::write(home.join("load.txt"), load).unwrap();
    program
}

/// Writes a profile of ffsb for a target.
fn profile(program: &Program, target: &str) {
    let profile = format!(
        "time=1\n[filesystem0]\nlocation={target}\nnum_files=3\nnum_dirs=1\nmin_filesize=4096\n\
         max_filesize=4096\n[end0]\n[threadgroup0]\nnum_threads=1\nread_weight=1\n\
         read_size=4096\nread_blocksize=4096\nwrite_weight=1\nwrite_size=4096\n\
         write_blocksize=4096\n[end0]\n"
    );
    fs::write(program.home().join("profile.ffsb"), profile).unwrap();
}

fn on(program: &Program, tool: &Tool, target: &str) -> FinishedCommand {
    let words = tool.words.replace("{}", target);
    program.run(words.split_whitespace())
}

/// Runs each tool on a target of this kind.
fn each_ends(kind: usize, target: impl Fn(&Program) -> String) {
    for tool in &TOOLS {
        let program = prepared();
        let target = target(&program);
        profile(&program, &target);
        let ran = on(&program, tool, &target).ends_with(tool.codes[kind]);
        let whole_output = format!("{}{}", ran.stdout, ran.stderr);
        let header = tool.header.is_empty() || whole_output.contains(tool.header);
        assert!(header, "{}: {ran}", tool.words);
        assert!(
            !whole_output.to_lowercase().contains("nan%") && !whole_output.contains("NaN"),
            "{ran}"
        );
    }
}

#[test]
fn each_tool_fails_like_the_original_on_a_missing_directory() {
    require_root!();
    each_ends(MISSING, |_| "missing/below".to_owned());
}

#[test]
fn each_tool_fails_like_the_original_on_a_file() {
    require_root!();
    each_ends(FILE, |program| {
        fs::write(program.home().join("file"), "mine").unwrap();
        "file".to_owned()
    });
}

/// Read-only filesystem in memory with a directory `sub` and a file of 64 KiB.
fn read_only() -> LoopFs {
    let place = LoopFs::in_memory(8);
    fs::create_dir(place.path().join("sub")).unwrap();
    fs::write(place.path().join("content"), vec![7; 65_536]).unwrap();
    run(Command::new("mount").args(["-o", "remount,ro"]).arg(place.path())).unwrap();
    place
}

#[test]
fn each_tool_fails_like_the_original_on_a_read_only_target() {
    require_root!();
    let place = read_only();
    each_ends(READ_ONLY, |_| place.path().to_str().unwrap().to_owned());
}

/// Compares with the originals, if installed, on the same targets.
#[test]
fn exit_codes_equal_those_of_installed_originals() {
    require_root!();
    let place = read_only();
    for tool in &TOOLS {
        let mut words = tool.words.split_whitespace();
        let name = words.next().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(original) =
            std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
        else {
            skip(&format!("the original {name} is not in the path"));
            continue;
        };
        for kind in [READ_ONLY, MISSING, FILE] {
            let program = prepared();
            fs::write(program.home().join("file"), "mine").unwrap();
            let target = match kind {
                READ_ONLY => place.path().to_str().unwrap(),
                MISSING => "missing/below",
                _ => "file",
            };
            let words = words.clone().map(|word| word.replace("{}", target));
            let mut command = Command::new(&original);
            let theirs = FinishedCommand::run(command.args(words).current_dir(program.home()));
            theirs.ends_with(tool.codes[kind]);
        }
    }
}

#[test]
fn fio_reports_the_error_of_a_target_in_json() {
    require_root!();
    let place = read_only();
    let program = program();
    fs::write(program.home().join("file"), "mine").unwrap();
    let in_target = place.path().join("f");
    for (file, error) in [(in_target.as_path(), 30), (Path::new("file/f"), 20)] {
        let file = format!("--filename={}", file.display());
        let words = ["fio", "--name=j", &file, "--size=64k", "--rw=write", "--output-format=json"];
        let ran = program.run(words).ends_with(1);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["jobs"][0]["error"], error, "{ran}");
        assert_eq!(report["jobs"][0]["write"]["total_ios"], 0, "{ran}");
    }
    // A job that only reads cannot fail here.
    let file = format!("--filename={}", place.path().join("content").display());
    program.run(["fio", "--name=j", &file, "--size=64k", "--rw=read"]).ends_with(0);
}

#[test]
fn dbench_ignores_what_follows_the_number_of_processes() {
    let program = prepared();
    fs::create_dir(program.home().join("w")).unwrap();
    let words = "dbench -D w -c load.txt --run-once 1 2";
    let ran = program.run(words.split_whitespace()).ends_with(0);
    assert!(ran.stdout.contains(" 1 clients  1 procs "), "{ran}");
}

#[test]
fn ior_prints_no_row_of_a_test_that_failed() {
    for format in [&[][..], &["-O", "summaryFormat=CSV"], &["-O", "summaryFormat=JSON"]] {
        let program = program();
        let words = ["ior", "-r", "-b", "64k", "-t", "64k", "-o", "missing"];
        let ran = program.run(words.iter().chain(format)).ends_with(255);
        assert!(ran.stderr.contains("No such file or directory"), "{ran}");
        let rows = |line: &&str| line.trim_start().starts_with("read ") || line.contains("read,");
        assert_eq!(ran.stdout.lines().find(rows), None, "{ran}");
        assert!(!ran.stdout.contains("Stat()"), "{ran}");
    }
    // The row of an earlier test stays.
    let program = program();
    fs::create_dir(program.home().join("f")).unwrap();
    let ran = program.run(["ior", "-w", "-b", "64k", "-t", "64k", "-o", "f"]).ends_with(255);
    assert!(!ran.stdout.lines().any(|line| line.starts_with("write ")), "{ran}");
}

#[test]
fn filebench_fails_if_filesets_do_not_fit() {
    require_root!();
    let (program, place) = (program(), LoopFs::in_memory(4));
    let text = format!(
        "define fileset name=a,path={},entries=64,size=1m,dirwidth=5,prealloc\n\
         define process name=p {{ thread name=t {{ flowop statfile name=s,filesetname=a }} }}\n\
         run 1\n",
        place.path().display()
    );
    fs::write(program.home().join("w.f"), text).unwrap();
    let ran = program.run(["filebench", "-f", "w.f"]).ends_with(1);
    assert!(ran.stderr.contains("No space left on device"), "{ran}");
    assert!(ran.stdout.contains("NO VALID RESULTS!"), "{ran}");
    assert!(!ran.stdout.contains("completed"), "{ran}");
}

#[test]
fn one_variant_is_refused_before_the_first_trial() {
    let program = program();
    fs::create_dir(program.home().join("a")).unwrap();
    let ran = program.run(["compare", "--directories", "a"]).ends_with(2);
    assert!(ran.stderr.contains("--directories: 'a' alone"), "{ran}");
    assert!(ran.stderr.contains("hint: name two or more: --directories A,B"), "{ran}");
    assert!(!program.data().exists(), "nothing was kept");
    // A single variant can be printed, since the user may add a second one.
    program.run(["compare", "--directories", "a", "--print-plan"]).ends_with(0);
}

#[test]
fn one_filesystem_is_refused_before_the_first_trial() {
    require_loop_fs!("ext4");
    let ran = program().run(["compare", "--filesystems", "ext4"]).ends_with(2);
    assert!(ran.stderr.contains("hint: name two or more: --filesystems ext4,xfs"), "{ran}");
}

#[test]
fn a_comparison_fails_if_every_trial_of_a_variant_failed() {
    require_root!();
    let (program, place) = (program(), read_only());
    fs::create_dir(program.home().join("a")).unwrap();
    let dirs = format!("a,{}", place.path().display());
    let words = ["compare", "--directories", &dirs, "--workload", "fs_mark", "--rounds", "2"];
    let job = ["--no-warm-up", "--quiet", "--", "--files", "5"];
    let ran = program.run(words.iter().chain(&job)).ends_with(4);
    let message =
        format!("treering: every trial of '{}' failed; the first: ", place.path().display());
    let line = ran.stderr.lines().find(|line| line.starts_with(&message));
    assert!(line.is_some_and(|line| line.contains("Read-only file system")), "{ran}");
    // A gate fails, too.
    let ran = program.run(words.iter().chain(&["--gate"]).chain(&job));
    assert_ne!(ran.code, Some(0), "{ran}");
}

/// Runs the program with a `getrandom` that fails with this error.
fn without_getrandom(program: &Program, error: &str, words: &[&str]) -> Option<FinishedCommand> {
    let of_ours = program.command(words);
    let mut command = Command::new("strace");
    let trace = temp_dir();
    command.args(["-f", "-qq", "-e", "trace=getrandom", "-e"]);
    command.arg(format!("inject=getrandom:error={error}")).arg("-o").arg(trace.path().join("out"));
    command.arg(of_ours.get_program()).args(of_ours.get_args()).current_dir(program.home());
    for (name, value) in of_ours.get_envs() {
        command.env(name, value.unwrap_or(OsStr::new("")));
    }
    if Command::new("strace").arg("-V").output().is_err() {
        skip("strace is not installed");
        return None;
    }
    Some(FinishedCommand::run(&mut command))
}

#[test]
fn random_numbers_come_from_a_file_if_getrandom_fails() {
    for error in ["ENOSYS", "EPERM"] {
        let program = program();
        fs::create_dir(program.home().join("w")).unwrap();
        let words = ["run", "fs_mark", "--dir", "w", "--files", "5", "-q"];
        let Some(ran) = without_getrandom(&program, error, &words) else { return };
        ran.ends_with(0);
    }
}

/// The standard library panics on other errors of the call.
#[test]
fn a_panic_is_reported_in_a_line_with_its_own_exit_code() {
    let program = program();
    fs::create_dir(program.home().join("w")).unwrap();
    let words = ["run", "fs_mark", "--dir", "w", "--files", "5", "-q"];
    let Some(ran) = without_getrandom(&program, "EFAULT", &words) else { return };
    let ran = ran.ends_with(70);
    assert!(ran.stderr.starts_with("treering: "), "{ran}");
    assert!(ran.stderr.contains("hint: this is a bug in treering"), "{ran}");
}
