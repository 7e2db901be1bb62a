//! `treering kernel bisect-step`: its exit codes, and a complete `git bisect run` over stand-in
//! revisions with real kernels. The latter is skipped unless TREERING_KERNELS is set.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_guest::Kernel;
use treering_testkit::{FinishedCommand, Program, RunningProgram, skip, temp_dir};

use crate::kernels::prepared;
use crate::{only_release, program};

/// C program that is slower under the later of two kernels: the regression is planted and does not
/// depend on the load.
const SLOWER_LATER: &str = r"
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
int main(int count, char **words) {
    struct utsname name;
    if (count < 2 || uname(&name)) return 2;
    sleep(strcmp(name.release, words[1]) ? 1 : 3);
    return 0;
}
";

#[test]
fn errors_unrelated_to_the_revision_end_the_bisection() {
    let program = program();
    let place = temp_dir();
    let plan = place.path().join("plan.toml");
    program.run(["bisect-step", "--no-such-option"]).ends_with(255);
    program.run(["bisect-step", "--good", "k.deb", "none.toml"]).ends_with(255);
    let two = "device = { loop = \"64MiB\" }\n[[variant]]\nfilesystem = \"ext4\"\n\
               [[variant]]\nfilesystem = \"xfs\"\n[[job]]\nworkload = \"fs_mark\"\n";
    for (text, said) in [
        (two.replace("64MiB", "512MiB"), "has 2 variants"),
        (
            "device = { directory = \"/tmp\" }\n[[variant]]\n[[job]]\nworkload = \"fs_mark\"\n"
                .to_owned(),
            "is a directory of this machine",
        ),
        (
            "device = { loop = \"64MiB\" }\n[[variant]]\nfilesystem = \"ext4\"\n\
             [[job]]\nworkload = \"fs_mark\"\n"
                .to_owned(),
            "good: no kernel can be read",
        ),
    ] {
        fs::write(&plan, text).unwrap();
        let mut command = program.command(["bisect-step", "--good", "/nowhere/k.deb"]);
        let ran = FinishedCommand::run(command.arg(&plan));
        ran.ends_with(255).complains(said).complains("no revision is blamed");
    }
    let mut command = program.command(["bisect-step", "--good", "v6.11"]);
    let ran = FinishedCommand::run(command.arg(&plan));
    ran.ends_with(255).complains("git:v6.11");
}

/// Creates a repository with one commit for each of these kinds of revision, oldest first.
fn repository(place: &Path, kinds: &[&str]) -> Vec<String> {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(place).args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(words);
        let ran = FinishedCommand::run(&mut git).ends_with(0);
        ran.stdout.trim().to_owned()
    };
    git(&["init", "-q"]);
    let commit = |(number, kind): (usize, &&str)| {
        fs::write(place.join("revision"), format!("{kind}\n{number}\n")).unwrap();
        git(&["add", "revision"]);
        git(&["commit", "-q", "-m", kind]);
        git(&["rev-parse", "HEAD"])
    };
    kinds.iter().enumerate().map(commit).collect()
}

/// Builds a static program from this source.
pub(crate) fn compiled(source: &str, to: &Path) -> Option<()> {
    let mut compiler = Command::new("cc");
    compiler.args(["-static", "-x", "c", "-", "-o"]).arg(to);
    let mut started = compiler.stdin(Stdio::piped()).spawn().ok()?;
    started.stdin.take()?.write_all(source.as_bytes()).ok()?;
    started.wait().ok().filter(std::process::ExitStatus::success).map(|_| ())
}

/// Kinds of the revisions, oldest first: the first slower one is `FIRST_BAD`. Those that cannot be
/// judged are where git looks first.
const KINDS: [&str; 16] = [
    "good", "good", "good", "good", "dead", "good", "bad", "broken", "no build", "bad", "bad",
    "bad", "no build", "bad", "dead", "bad",
];
const FIRST_BAD: usize = 6;

/// Creates a kernel that does not boot: its header is that of another, and the code is missing.
fn dead_kernel(like: &Path, place: &Path) -> PathBuf {
    let kernel = Kernel::read(like).unwrap();
    let mut image = kernel.image;
    let behind_setup = (usize::from(image[0x1f1]) + 1) * 512;
    image[behind_setup..].fill(0);
    let folder = place.join("dead");
    fs::create_dir_all(folder.join("boot")).unwrap();
    fs::write(folder.join("boot/vmlinuz-dead"), image).unwrap();
    folder
}

/// Program, repository and command line of a bisection.
struct Bisected {
    program: Program,
    folder: PathBuf,
    /// Words after `treering`.
    step: Vec<String>,
}

/// Release in the name of a package.
fn release_of(package: &Path) -> String {
    let name = package.file_name().unwrap().to_string_lossy().into_owned();
    name.trim_start_matches("linux-image-").split('_').next().unwrap().to_owned()
}

fn bisected(program: Program, kernels: &[PathBuf], place: &Path) -> Option<Bisected> {
    let slower = place.join("slower");
    if compiled(SLOWER_LATER, &slower).is_none() {
        skip("nothing can be compiled statically here");
        return None;
    }
    let (good, bad) = (&kernels[0], &kernels[kernels.len() - 1]);
    let plan = place.join("plan.toml");
    let text = format!(
        "warm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ accelerator = \"tcg\", cpus = 1, memory = \"512MiB\", timeout = 60 }}\n\
         [[variant]]\nfilesystem = \"ext4\"\n\
         [[job]]\nname = \"it\"\ncommand = [\"{}\", \"{}\"]\n",
        slower.display(),
        release_of(bad)
    );
    fs::write(&plan, text).unwrap();
    let build = format!(
        "rm -rf kernel.deb; case $(head -n 1 revision) in good) cp {} kernel.deb;; \
         bad) cp {} kernel.deb;; broken) printf '!<arch>\\n' >kernel.deb;; \
         dead) cp -r {} kernel.deb;; *) exit 2;; esac",
        good.display(),
        bad.display(),
        dead_kernel(good, place).display()
    );
    let step = ["bisect-step", "--quiet", "--rounds", "6", "--threshold", "50%", "--build", &build];
    let mut step: Vec<String> = step.iter().map(|&word| word.to_owned()).collect();
    let path = |path: &Path| path.display().to_string();
    step.extend(["--kernel".to_owned(), "kernel.deb".to_owned(), "--good".to_owned(), path(good)]);
    step.extend(["--accept".to_owned(), "kernel_settings_differ".to_owned()]);
    step.extend(["--store".to_owned(), path(&place.join("results.db")), path(&plan)]);
    Some(Bisected { program, folder: place.join("linux"), step })
}

#[test]
fn git_bisect_run_names_the_revision_at_which_the_kernel_became_slower() {
    let Some((program, kernels)) = prepared() else { return };
    if kernels.len() < 2 {
        skip("there is one kernel only");
        return;
    }
    let _alone = only_release();
    let place = temp_dir();
    let Some(it) = bisected(program, &kernels, place.path()) else { return };
    fs::create_dir(&it.folder).unwrap();
    let commits = repository(&it.folder, &KINDS);
    let step = |at: usize| {
        fs::write(it.folder.join("revision"), KINDS[at]).unwrap();
        FinishedCommand::run(it.program.command(&it.step).current_dir(&it.folder))
    };
    step(8).ends_with(125).complains("skipped (125): this revision does not build");
    step(7).ends_with(125).complains("skipped (125): ").complains("kernel.deb");
    step(4).ends_with(125).complains("skipped (125): a trial of this kernel failed: ");
    FinishedCommand::run(Command::new("git").args(["checkout", "-q", "."]).current_dir(&it.folder))
        .ends_with(0);

    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        it.program.prepare(git.args(words)).current_dir(&it.folder);
        FinishedCommand::run(&mut git)
    };
    let treering = place.path().join("treering");
    it.program.copy_to(&treering);
    let mut words = vec!["bisect", "run", treering.to_str().unwrap()];
    words.extend(it.step.iter().map(String::as_str));
    let mut ran = None;
    for _attempt in 0..3 {
        git(&["bisect", "start", &commits[15], &commits[0]]).ends_with(0);
        let now = ran.insert(git(&words));
        if !now.stderr.contains("the kernel panicked") {
            break;
        }
        // An emulated kernel may panic on a busy machine; its revision is then skipped.
        skip(&format!("a guest panicked by itself, and all is started again: {now}"));
        git(&["bisect", "reset"]).ends_with(0);
    }
    let ran = ran.unwrap().ends_with(0);
    let first = format!("{} is the first bad commit", commits[FIRST_BAD]);
    assert!(ran.stdout.contains(&first), "{ran}");
}

#[test]
fn a_job_that_fails_under_the_good_kernel_too_ends_the_bisection() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let Some(it) = bisected(program, &kernels, place.path()) else { return };
    fs::create_dir(&it.folder).unwrap();
    repository(&it.folder, &["good"]);
    // The program wants an argument.
    let plan = place.path().join("plan.toml");
    let text = fs::read_to_string(&plan).unwrap();
    let end = text.rfind(", ").unwrap();
    fs::write(&plan, format!("{}]\n", &text[..end])).unwrap();
    let ran = FinishedCommand::run(it.program.command(&it.step).current_dir(&it.folder));
    ran.ends_with(255)
        .complains("a trial of the good kernel failed: ")
        .complains("no revision is blamed");
    // Whichever kernel comes first, the good one is asked at once.
    let stored = crate::kernels::trials(&place.path().join("results.db"));
    assert!((1..=2).contains(&stored.len()), "{}", stored.len());
}

#[test]
fn ctrl_c_ends_a_sequential_bisection_step() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let Some(it) = bisected(program, &kernels, place.path()) else { return };
    fs::create_dir(&it.folder).unwrap();
    fs::write(it.folder.join("revision"), "good\n").unwrap();
    // The command line runs without --rounds and --quiet.
    let is_left_out = |word: &&String| !["--quiet", "--rounds", "6"].contains(&word.as_str());
    let step: Vec<&String> = it.step.iter().filter(is_left_out).collect();
    let mut command = it.program.command(&step);
    let mut running = RunningProgram::start(command.current_dir(&it.folder));
    running.wait_for("10 to 30 rounds: at most 60 trials");
    running.wait_for("(trial 1 of 60");
    running.send("INT");
    let ran = running.finish().ends_with(130);
    assert!(!ran.stderr.contains("good (0)") && !ran.stderr.contains("bad (1)"), "{ran}");
    let stored = crate::kernels::trials(&place.path().join("results.db"));
    assert!(stored.len() <= 1, "{ran}");
    // A Ctrl-C of the user may reach the build first.
    let build = it.step.iter().position(|word| word == "--build").unwrap() + 1;
    let mut words = it.step.clone();
    "kill -INT $$".clone_into(&mut words[build]);
    let mut command = it.program.command(&words);
    FinishedCommand::run(command.current_dir(&it.folder))
        .ends_with(130)
        .complains("ended by signal 2");
}
