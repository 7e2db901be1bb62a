//! Commands that pages print, including those under 'Again' and 'One more trial', run as printed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use treering_testkit::{FinishedCommand, Program, temp_dir_in};

use crate::program;

/// Commands of a page as text: lines that begin with the program, joined with their continuation
/// lines.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in page.lines() {
        let words = line.trim();
        if goes_on {
            // The continuation of a word has no leading space.
            let before = commands.last_mut().unwrap();
            let glue = if line.starts_with(' ') { " " } else { "" };
            *before = format!("{}{glue}{words}", before.trim_end_matches('\\').trim_end());
        } else if line.starts_with("  ") && words.starts_with("treering ") {
            commands.push(words.to_owned());
        } else {
            continue;
        }
        goes_on = words.ends_with('\\');
    }
    commands
}

/// Runs a command with a shell, in the home of the program.
fn typed(program: &Program, command: &str) -> FinishedCommand {
    let tools = program.home().join("tools");
    if !tools.exists() {
        fs::create_dir(&tools).unwrap();
        symlink(env!("CARGO_BIN_EXE_treering"), tools.join("treering")).unwrap();
    }
    let mut shell = Command::new("sh");
    program.prepare(&mut shell).args(["-ec", command]).current_dir(program.home());
    shell.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", tools.display()));
    FinishedCommand::run(&mut shell)
}

#[test]
fn every_command_on_a_comparison_page_runs() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("s.treering").display().to_string();
    for dir in ["a dir", "b", "DIR"] {
        fs::create_dir(program.home().join(dir)).unwrap();
    }
    let words = ["compare", "--directories", "a dir,b", "--workload", "fs_mark", "--rounds", "2"];
    let ours = ["--store", &store, "--full", "--", "--files", "40"];
    let page = program.run([&words[..], &ours].concat()).ends_with(0).stdout;
    let printed = commands(&page);
    let trials = printed.iter().filter(|command| command.contains(" run fs_mark")).count();
    assert!(trials >= 2 && printed.len() > trials, "{printed:?}\n{page}");
    for command in &printed {
        typed(&program, command).ends_with(0);
    }
}

#[test]
fn an_imported_trial_is_repeated_by_the_command_in_its_log() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("s.treering").display().to_string();
    for side in ["base", "new"] {
        let (one, two) = (format!("w/{side}/1"), format!("w/{side}/2"));
        fs::create_dir_all(program.home().join(&one)).unwrap();
        fs::create_dir_all(program.home().join(&two)).unwrap();
        let words = ["fs_mark", "-S", "0", "-d", &one, "-d", &two, "-n", "20", "-s", "512", "-t"];
        let log = program.run(words.into_iter().chain(["1", "--no-store"])).ends_with(0).stdout;
        fs::write(program.home().join(side), log).unwrap();
    }
    let imported = program.run(["import", "base", "new", "--store", &store]).ends_with(0).stdout;
    let next = commands(&imported);
    assert_eq!(next.len(), 1, "{imported}");
    typed(&program, &next[0]).ends_with(0);
    let words = ["report", "--baseline", "base", "--contender", "new", "--store", &store];
    let page = program.run(words.into_iter().chain(["--full"])).ends_with(0).stdout;
    let printed = commands(&page);
    let repeats = |command: &&String| {
        command.contains("fs_mark -S 0 -d w/") && command.contains(" -s 512 -t 1 ")
    };
    assert_eq!(printed.iter().filter(repeats).count(), 2, "{printed:?}");
    for command in &printed {
        typed(&program, command).ends_with(0);
    }
}
