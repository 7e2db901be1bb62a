//! The script of docs/gate.md for programs, in a bisection by git.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use treering_testkit::{FinishedCommand, Program, is_tool, skip, temp_dir};

use crate::blocks::blocks;
use crate::root_of_project;

const COMMITS: usize = 16;
/// The commit from which on the program takes longer, and the first one that git looks at, which
/// does not compile.
const FIRST_SLOW: usize = 11;
const BROKEN: usize = 8;

/// A program that waits: how long does not depend on the load.
fn source(commit: usize) -> String {
    let milliseconds = if commit < FIRST_SLOW { 100 } else { 1500 };
    let rest = if commit == BROKEN { "this is no C" } else { "" };
    format!(
        "#include <unistd.h>\n\
         int main(void) {{ usleep({milliseconds}000); return 0; }} /* {commit} */\n{rest}\n"
    )
}

/// Creates the repository in `place`, and the build of its first commit in `good` next to it.
/// Returns the names of the first commit, of the first slow one and of the last.
fn repository(place: &Path, git: &dyn Fn(&[&str]) -> FinishedCommand) -> [String; 3] {
    git(&["init", "-q"]).ends_with(0);
    fs::write(
        place.join("Makefile"),
        "install:\n\tmkdir -p $(DESTDIR)/bin\n\t$(CC) -o $(DESTDIR)/bin/tool tool.c\n",
    )
    .unwrap();
    let commit = |number: usize| {
        fs::write(place.join("tool.c"), source(number)).unwrap();
        git(&["add", "."]).ends_with(0);
        git(&["commit", "-q", "-m", "change"]).ends_with(0);
        if number == 1 {
            let mut make = Command::new("make");
            make.args(["-s", "install"]).arg(format!("DESTDIR={}/../good", place.display()));
            FinishedCommand::run(make.current_dir(place)).ends_with(0);
        }
        git(&["rev-parse", "HEAD"]).stdout.trim().to_owned()
    };
    let names: Vec<String> = (1..=COMMITS).map(commit).collect();
    [1, FIRST_SLOW, COMMITS].map(|number| names[number - 1].clone())
}

#[test]
fn git_bisect_run_names_the_commit_at_which_the_program_became_slower() {
    if let Some(tool) = ["git", "make", "cc"].into_iter().find(|tool| !is_tool(tool)) {
        return skip(&format!("{tool} is not installed"));
    }
    let page = fs::read_to_string(root_of_project().join("docs/gate.md")).unwrap();
    let script = blocks(&page).into_iter().find(|block| block.text.contains("run ../judge.sh"));
    let place = temp_dir();
    let [repository_dir, test] = ["repository", "test"].map(|name| place.path().join(name));
    for dir in [&repository_dir, &test] {
        fs::create_dir(dir).unwrap();
    }
    // The slow program takes fifteen times as long: still twice as long on a busy machine.
    let text = script.unwrap().text.replace("/mnt/test", &test.display().to_string());
    let judge = place.path().join("judge.sh");
    fs::write(&judge, text.replace("--threshold 10%", "--threshold 50%")).unwrap();
    fs::set_permissions(&judge, Permissions::from_mode(0o755)).unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_treering"));
    let path = Path::new(env!("CARGO_BIN_EXE_treering")).parent().unwrap().display();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        program.prepare(&mut git).args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words);
        git.env("PATH", format!("{path}:/usr/bin:/bin"));
        FinishedCommand::run(git.current_dir(&repository_dir))
    };
    let [good, first_slow, newest] = repository(&repository_dir, &git);
    // Commits are skipped by accident where a machine drifts: then once more.
    let bisection = || {
        git(&["bisect", "start", &newest, &good]).ends_with(0);
        git(&["bisect", "run", "../judge.sh"])
    };
    let ran = (0..3).map(|_| bisection()).find(|ran| !ran.stdout.contains("could be any of"));
    let Some(ran) = ran else {
        return skip("the machine drifted during each of three bisections");
    };
    let ran = ran.ends_with(0);
    assert!(ran.stdout.contains(&format!("{first_slow} is the first bad commit")), "{ran}");
}
