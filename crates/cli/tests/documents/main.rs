//! Runs every command of README.md and docs/ as printed, on an ext4 of 20 GB and with 8 GB of
//! address space. Long commands are interrupted after some seconds, when they have been accepted
//! and have begun their work. The exit code of each must be 0, or the one that the page or a table
//! names, and its output of the format that was asked for. The first example of a page of use runs
//! to its end. Commands that are not run as printed are listed in the tables, each with a reason.
#![expect(clippy::unwrap_used, reason = "tests")]

mod bisection;
mod blocks;
mod runs;
mod tables;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use treering_testkit::{
    FinishedCommand, FourLists, LoopFs, Program, is_root, is_tool, require_loop_fs, require_root,
    skip,
};

use blocks::{Block, blocks, first_example, plan_above};
use runs::{RECORDED, wrong_kinds};
use tables::{
    EXITS, FIRST_EXAMPLES, FIRST_NOT_RUN, INSTEAD, NEEDS, NOT_RUN, PREPARE, PREPARE_FOR, STUBS,
};

/// Size of the filesystem mounted at /mnt, in MiB.
const ROOM_MIB: u64 = 20_480;
/// Seconds after which a command is interrupted; commands that write what a later one reads may
/// take longer, so that they end by themselves under any load. Those of a first example, which have
/// to end by themselves, are only interrupted where they hang.
const SECONDS: u32 = 3;
const SECONDS_TO_END: u32 = 60;
const SECONDS_OF_FIRST: u32 = 3600;
/// Commands that write such files or trials without running a workload, as patterns of the shell.
const QUICK: &str = "age\\ profile|age\\ extract|dataset\\ *|delete\\ *|exclude\\ *|export\\ *|image\\ *\
     |import\\ *|include\\ *|label\\ *|layout\\ *|plan\\ *|report\\ *|store\\ *";

macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test]
        fn $name() {
            commands_work($page);
        })*
    };
}

pages! {
    readme: "README.md",
    aging: "docs/aging.md",
    aging_maintenance: "docs/aging-maintenance.md",
    aging_curves: "docs/aging-curves.md",
    aging_near_full: "docs/aging-near-full.md",
    aging_profiles: "docs/aging-profiles.md",
    arm64: "docs/arm64.md",
    clients: "docs/clients.md",
    compare: "docs/compare.md",
    counters: "docs/counters.md",
    datasets: "docs/datasets.md",
    disks: "docs/disks.md",
    evidence_aging: "docs/evidence/aging.md",
    evidence_aging_maintenance: "docs/evidence/aging-maintenance.md",
    evidence_clients: "docs/evidence/clients.md",
    evidence_datasets: "docs/evidence/datasets.md",
    evidence_disks: "docs/evidence/disks.md",
    evidence_fair: "docs/evidence/fair.md",
    evidence_ffsb: "docs/evidence/ffsb.md",
    evidence_fio: "docs/evidence/fio.md",
    evidence_history: "docs/evidence/history.md",
    evidence_io500: "docs/evidence/io500.md",
    evidence_ior: "docs/evidence/ior.md",
    evidence_kernels: "docs/evidence/kernels.md",
    evidence_layout: "docs/evidence/layout.md",
    evidence_load: "docs/evidence/load.md",
    evidence_mdtest: "docs/evidence/mdtest.md",
    evidence_performance: "docs/evidence/performance.md",
    evidence_questions: "docs/evidence/questions.md",
    evidence_rounds: "docs/evidence/rounds.md",
    evidence_statistics: "docs/evidence/statistics.md",
    evidence_sweeps: "docs/evidence/sweeps.md",
    evidence_truth: "docs/evidence/truth.md",
    evidence_why: "docs/evidence/why.md",
    fair: "docs/fair.md",
    fresh_copy: "docs/fresh-copy.md",
    gate: "docs/gate.md",
    heat: "docs/heat.md",
    history: "docs/history.md",
    images: "docs/images.md",
    import: "docs/import.md",
    inside: "docs/inside.md",
    kernel_check: "docs/kernel-check.md",
    kernels: "docs/kernels.md",
    labels: "docs/labels.md",
    layers: "docs/layers.md",
    layout: "docs/layout.md",
    load: "docs/load.md",
    mmtests: "docs/mmtests.md",
    my_patch: "docs/my-patch.md",
    overview: "docs/overview.md",
    packaging: "docs/packaging.md",
    plan: "docs/plan.md",
    questions: "docs/questions.md",
    reading: "docs/reading.md",
    reboots: "docs/reboots.md",
    report: "docs/report.md",
    schedulers: "docs/schedulers.md",
    share: "docs/share.md",
    slower_with_age: "docs/slower-with-age.md",
    sweeps: "docs/sweeps.md",
    trace: "docs/trace.md",
    vng: "docs/vng.md",
    which_filesystem: "docs/which-filesystem.md",
    age: "docs/workloads/age.md",
    blogbench: "docs/workloads/blogbench.md",
    bonnie: "docs/workloads/bonnie.md",
    command: "docs/workloads/command.md",
    compilebench: "docs/workloads/compilebench.md",
    dbench: "docs/workloads/dbench.md",
    ffsb: "docs/workloads/ffsb.md",
    filebench: "docs/workloads/filebench.md",
    fio: "docs/workloads/fio.md",
    fs_mark: "docs/workloads/fs_mark.md",
    io500: "docs/workloads/io500.md",
    ior: "docs/workloads/ior.md",
    mdtest: "docs/workloads/mdtest.md",
    postmark: "docs/workloads/postmark.md",
}

fn root_of_project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn every_page_with_commands_is_tested() {
    let top = root_of_project();
    let mut pages = vec!["README.md".to_owned()];
    for dir in ["docs", "docs/evidence", "docs/workloads"] {
        for entry in fs::read_dir(top.join(dir)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.file_name().unwrap().to_str().unwrap();
                pages.push(format!("{dir}/{name}"));
            }
        }
    }
    pages.retain(|page| !blocks(&fs::read_to_string(top.join(page)).unwrap()).is_empty());
    pages.sort();
    let mut tested = PAGES.to_vec();
    tested.sort_unstable();
    assert_eq!(pages, tested, "a page with commands is missing in the list, or has none any more");
}

#[test]
fn every_table_entry_matches_a_page() {
    let top = root_of_project();
    let mut all_commands = String::new();
    let mut later_commands = String::new();
    for page in PAGES {
        let text = fs::read_to_string(top.join(page)).unwrap();
        let first = first_example(&text).filter(|_| is_of_use(page)).map(|block| block.line);
        for block in blocks(&text) {
            all_commands += &block.text;
            if Some(block.line) != first {
                later_commands += &block.text;
            }
        }
    }
    for (what, _, reason) in INSTEAD {
        assert!(all_commands.contains(what), "no command has {what} ({reason}) any more");
    }
    for (what, _, reason) in EXITS {
        assert!(all_commands.contains(what), "no command has {what} ({reason}) any more");
    }
    for (page, _) in PREPARE_FOR {
        assert!(PAGES.contains(page), "{page} is prepared for, and not tested");
    }
    for (what, reason) in NEEDS {
        assert!(all_commands.contains(what), "no command has {what} ({reason}) any more");
    }
    for (what, reason) in NOT_RUN {
        assert!(later_commands.contains(what), "no later block has {what} ({reason}) any more");
    }
    for (page, what, reason) in FIRST_NOT_RUN {
        let text = fs::read_to_string(top.join(page)).unwrap();
        let first = first_example(&text).unwrap_or_else(|| panic!("{page} has no example"));
        assert!(first.text.contains(what), "{page} has no {what} ({reason}) at first: can it run?");
    }
}

/// True for a page that says how treering is used; the others hold measurements.
fn is_of_use(page: &str) -> bool {
    !page.starts_with("docs/evidence/")
}

fn commands_work(page: &str) {
    require_root!();
    require_loop_fs!("ext4");
    let text = fs::read_to_string(root_of_project().join(page)).unwrap();
    let first = if is_of_use(page) { first_example(&text) } else { None };
    let is_first = |block: &Block| first.as_ref().is_some_and(|first| first.line == block.line);
    let is_listed = |block: &Block| {
        if is_first(block) {
            FIRST_NOT_RUN.iter().any(|(one, _, _)| *one == page)
        } else {
            NOT_RUN.iter().any(|(what, _)| block.text.contains(what))
        }
    };
    let blocks: Vec<Block> = blocks(&text)
        .into_iter()
        .filter(|block| !is_listed(block) && can_run(page, block))
        .collect();
    let filesystem = LoopFs::new("ext4", ROOM_MIB);
    let program = Program::new(env!("CARGO_BIN_EXE_treering"));
    let tools = prepared(&program);
    let work = filesystem.path().join("work");
    fs::create_dir(&work).unwrap();
    FourLists::tiny().write_to(&work.join("DATASETS"));
    symlink(root_of_project().join("examples"), work.join("examples")).unwrap();
    let own_plan = first.as_ref().and_then(|first| plan_above(&text, first));
    fs::write(work.join("own.toml"), own_plan.unwrap_or_default()).unwrap();
    let own = PREPARE_FOR.iter().filter(|(one, _)| *one == page).map(|(_, text)| *text);
    let own: String = own.collect();
    let mut script = PREPARE.replace("# What a page alone needs stands here.\n", &own);
    for block in blocks {
        let to_end = if is_first(&block) { "TO_END=1 " } else { "" };
        let mut text = block.text;
        for (from, to, _) in INSTEAD {
            text = text.replace(from, to);
        }
        let file = tools.join(format!("line-{}.sh", block.line));
        fs::write(&file, with_exits(&text)).unwrap();
        let (name, line) = (file.display(), block.line);
        script += &format!("{to_end}sh -e {name} || echo \"{page}:{line}: exit $?\" >> $FAULTS\n");
    }
    fs::write(tools.join("all.sh"), script).unwrap();
    let mut command = Command::new("unshare");
    program
        .prepare(&mut command)
        .args(["--mount", "--propagation", "private", "sh"])
        .arg(tools.join("all.sh"))
        .env("ROOM", filesystem.path())
        .env("TOOLS", &tools)
        .env("FAULTS", tools.join("faults"));
    let ran = FinishedCommand::run(&mut command);
    let faults = fs::read_to_string(tools.join("faults")).unwrap_or_default();
    assert!(faults.is_empty(), "{page}:\n{faults}\n{ran}");
    ran.ends_with(0);
    let wrong = wrong_kinds(&tools);
    assert!(wrong.is_empty(), "{page}: {wrong:#?}");
}

/// The commands, those that say `# ends with N` told of it by `ENDS`.
fn with_exits(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("# ends with ") {
        Some((command, code)) => format!("ENDS={code} {command}\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn an_example_that_names_its_exit_code_ends_with_it() {
    for (page, code) in FIRST_EXAMPLES {
        let text = fs::read_to_string(root_of_project().join(page)).unwrap();
        let named = format!("# ends with {code}\n");
        let first = blocks(&text).into_iter().find(|block| block.text.contains(&named));
        let first = first.unwrap_or_else(|| panic!("{page} names no code {code}"));
        // A machine that slows down while it runs drifts, and the gate says so: then once more.
        let drifted = "--accept drifting";
        let ran = (0..3).map(|_| run_first(&first.text));
        let ran = ran.into_iter().find(|ran| !ran.stderr.contains(drifted));
        match ran {
            Some(ran) => _ = ran.ends_with(*code),
            None => skip("the machine slowed down during each of three comparisons"),
        }
    }
}

/// Runs a block as printed, in memory, but in a place of its own.
fn run_first(text: &str) -> FinishedCommand {
    let program = Program::new(env!("CARGO_BIN_EXE_treering"));
    let memory = format!("/dev/shm/treering-example-{}", std::process::id());
    fs::create_dir(&memory).unwrap();
    let mut command = Command::new("sh");
    let script = text.replace("/dev/shm/", &format!("{memory}/"));
    program.prepare(&mut command).args(["-e", "-c", &script]).current_dir(program.home());
    let path = Path::new(env!("CARGO_BIN_EXE_treering")).parent().unwrap().display();
    command.env("PATH", format!("{path}:/usr/bin:/bin"));
    let ran = FinishedCommand::run(&mut command);
    fs::remove_dir_all(&memory).unwrap();
    ran
}

/// True if the external programs that a block needs are installed; prints a skip message otherwise.
fn can_run(page: &str, block: &Block) -> bool {
    let mut needed = NEEDS.iter().filter(|(what, _)| block.text.contains(what));
    let absent = needed.find(|(_, tool)| !is_tool(tool));
    if let Some((_, tool)) = absent {
        skip(&format!("{page}:{}: {tool} is not installed", block.line));
    }
    absent.is_none()
}

/// Creates the directory used as `PATH`: the program, and fakes of other programs.
fn prepared(program: &Program) -> PathBuf {
    let tools = program.home().join("tools");
    let real = program.home().join("real");
    for dir in [&tools, &real] {
        fs::create_dir(dir).unwrap();
    }
    for name in ["treering", "compilebench", "fs_mark", "ffsb", "bonnie++", "dbench", "blogbench"] {
        symlink(env!("CARGO_BIN_EXE_treering"), real.join(name)).unwrap();
    }
    let real = real.display();
    let exits = EXITS.iter().map(|(what, codes, _)| format!("*'{what}'*) allowed='{codes}';;\n"));
    let exits: String = exits.collect();
    let limited = format!(
        "#!/bin/sh\n\
         ulimit -v 8388608\n\
         name=${{0##*/}}\n\
         real={real}/$name\n\
         case \"$1 $2\" in\n{QUICK}) limit={SECONDS_TO_END};; *) limit=${{LIMIT:-{SECONDS}}};; esac\n\
         [ -z \"${{TO_END-}}\" ] || limit={SECONDS_OF_FIRST}\n\
         allowed=${{ENDS:-0}}\n\
         case \"$name $* \" in\n{exits}esac\n\
         # The links lead to this script instead of past it.\n\
         if [ \"$name $1\" = \"treering links\" ]; then\n\
         for tool in {real}/*; do ln -sf \"$TOOLS/treering\" \"$2/${{tool##*/}}\"; done\n\
         exit 0\n\
         fi\n\
         {RECORDED}"
    );
    let write = |name: &str, text: &str| {
        let file = tools.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    };
    write("treering", &limited);
    for (name, text, _) in STUBS {
        write(name, &format!("#!/bin/sh\n{text}\n"));
    }
    tools
}

#[test]
fn without_root_commands_are_parsed() {
    // Commands run only as root; otherwise each line that begins with the program's name is parsed.
    if is_root() {
        return;
    }
    let program = Program::new(env!("CARGO_BIN_EXE_treering"));
    for page in PAGES {
        let text = fs::read_to_string(root_of_project().join(page)).unwrap();
        for block in blocks(&text) {
            for line in block.text.lines().filter_map(|line| line.strip_prefix("treering ")) {
                let words = line.split('#').next().unwrap_or(line).split_whitespace();
                let native: Vec<&str> = words.take_while(|word| *word != "--").collect();
                if line.contains(['…', '[', '\'', '\\']) {
                    continue;
                }
                program.run(native.into_iter().chain(["--help"])).ends_with(0);
            }
        }
    }
}
