//! `treering compare`: plans and quick plans on directories and on real filesystems, their stored
//! trials, their continuation after a kill, and the removal of every leftover.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use treering_model::{CellRole, Ending, Trial};
use treering_store::{Access, Filter, LoadDetail, Store, TrialState};
use treering_testkit::{FourLists, Program, TempDir, require_loop_fs, temp_dir_in, tree_of};

use crate::{only_release, program};

/// A program with a small data set and two empty directories.
fn prepared() -> Program {
    let program = program();
    FourLists::tiny().write_to(&program.home().join("lists"));
    fs::create_dir(program.home().join("a")).unwrap();
    fs::create_dir(program.home().join("b")).unwrap();
    program
}

/// Trials of a store, oldest first.
fn trials(store: &Path) -> Vec<Trial> {
    let store = Store::open(store, Access::ReadOnly).unwrap();
    store.check().unwrap();
    let ids: Vec<_> =
        store.trials(&Filter::default()).unwrap().iter().rev().map(|one| one.trial).collect();
    store.load_many(&ids, LoadDetail::Tasks).unwrap()
}

/// Number of trials by round, role and variant.
fn cells(trials: &[Trial]) -> BTreeMap<(u32, CellRole, String), usize> {
    let mut cells = BTreeMap::new();
    for trial in trials {
        let cell = trial.beginning.cell.as_ref().unwrap();
        *cells.entry((cell.round, cell.role, cell.variant.clone())).or_default() += 1;
    }
    cells
}

const JOB: [&str; 7] = ["--", "--dataset", "./lists", "--initial-dirs", "2", "--runs", "4"];

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["compare", "--store", "/dev/shm/none"][..], more].concat()
}

/// Arguments that `compare` two directories with their own store.
fn directories<'a>(store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let compare = ["compare", "--directories", "a,b", "--store", store];
    [&compare[..], more, &JOB[..]].concat()
}

/// A store on another filesystem than the directories.
struct Results(TempDir);

impl Results {
    fn new() -> Self {
        Self(temp_dir_in(Path::new("/dev/shm")))
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("results.treering")
    }

    fn text(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

#[test]
fn baselines_of_a_plan_apply_to_its_run_and_to_reports() {
    let program = prepared();
    let results = Results::new();
    for name in ["c", "d"] {
        fs::create_dir(program.home().join(name)).unwrap();
    }
    let mut plan = "name = \"pairs\"\nrounds = 2\nwarm-up = false\n".to_owned();
    for (name, more) in [("a", ""), ("b", ""), ("c", ""), ("d", "against = \"c\"\n")] {
        let directory = program.home().join(name).display().to_string();
        plan += &format!(
            "[[variant]]\nname = \"{name}\"\n{more}device = {{ directory = \"{directory}\" }}\n"
        );
    }
    plan += "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 20, size = 100 }\n";
    fs::write(program.home().join("pairs.toml"), plan).unwrap();
    let store = results.text();
    let typed = ["compare", "pairs.toml", "--store", &store, "--format", "json"];
    let compared = program.run(typed).ends_with(0).stdout;
    let again = program.run(["report", "--store", &store, "--plan", "pairs", "--format", "json"]);
    let again = again.ends_with(0).stdout;
    assert_eq!(compared, again);
    let page: Value = serde_json::from_str(&compared).unwrap();
    let pairs = page["contenders"].as_array().unwrap().iter();
    let pairs: Vec<_> = pairs.map(|one| (one["against"].as_str(), one["name"].as_str())).collect();
    assert_eq!(pairs, [(Some("a"), Some("b")), (Some("c"), Some("d"))]);
    assert_eq!(
        (&page["baseline"]["name"], &page["baselines"][0]["name"]),
        (&"a".into(), &"c".into())
    );
    // A baseline in the arguments replaces those of the plan.
    let options = ["report", "--store", &store, "--plan", "pairs", "--baseline", "variant:b"];
    let ran = program.run(options.into_iter().chain(["--format", "json"])).ends_with(0);
    let page: Value = serde_json::from_str(&ran.stdout).unwrap();
    let pairs = page["contenders"].as_array().unwrap().iter();
    assert!(pairs.clone().count() == 3 && pairs.clone().all(|one| one["against"] == "b"), "{ran}");
}

#[test]
fn the_page_foot_has_the_command_that_repeats_the_campaign() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let options = ["--rounds", "1", "--no-warm-up", "-q", "--format", "html"];
    let page = program.run(directories(&store, &options)).ends_with(0).stdout;
    let foot = page.split_once("class=\"origin\"").unwrap().1;
    let typed = format!(
        "treering compare --directories a,b --store {store} --rounds 1 --no-warm-up -- --dataset \
         ./lists --initial-dirs 2 --runs 4<"
    );
    assert!(foot.contains(&typed), "{foot}");
    let again = ["report", "--plan", "quick", "--store", &store];
    let page = program.run(again.into_iter().chain(["--format", "html"])).ends_with(0).stdout;
    let foot = page.split_once("class=\"origin\"").unwrap().1;
    assert!(foot.contains("--print-plan -o quick.toml &amp;&amp; treering compare"), "{foot}");
    let printed = again.into_iter().chain(["--print-plan", "-o", "quick.toml"]);
    program.run(printed).ends_with(0);
    program.run(["compare", "quick.toml", "--store", &store, "--dry-run"]).ends_with(0);
}

#[test]
fn directories_are_compared_in_rounds_and_left_empty() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let options = ["--rounds", "2", "--control", "--format", "json"];
    let ran = program.run(directories(&store, &options)).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&document["baseline"]["name"], &document["contenders"][0]["name"]),
        (&"a".into(), &"b".into())
    );
    assert!(document["comparisons"].as_array().unwrap().iter().all(|one| one["pairs"] == 2));
    assert!(ran.stderr.contains("  after 2 rounds, b against a: "), "{ran}");
    let kept = trials(&results.path());
    let expected = [
        ((0, CellRole::WarmUp, "a"), 1),
        ((0, CellRole::WarmUp, "b"), 1),
        ((1, CellRole::Round, "a"), 1),
        ((1, CellRole::Round, "b"), 1),
        ((1, CellRole::Control, "a"), 1),
        ((2, CellRole::Round, "a"), 1),
        ((2, CellRole::Round, "b"), 1),
        ((2, CellRole::Control, "a"), 1),
    ];
    let expected = expected.map(|((round, role, name), n)| ((round, role, name.to_owned()), n));
    assert_eq!(cells(&kept), BTreeMap::from(expected));
    let campaign = kept[0].beginning.trial;
    assert!(kept.iter().all(|one| one.beginning.cell.as_ref().unwrap().campaign == campaign));
    assert!(kept.iter().all(|one| one.facts.iter().any(|fact| fact.name == "caches.dropped")));
    for dir in ["a", "b"] {
        assert!(tree_of(&program.home().join(dir)).is_empty(), "{dir}");
        assert_eq!(fs::read_dir(program.home().join(dir)).unwrap().count(), 0, "{dir}");
    }
    // The page can be printed again, by the plan's name or by the printed command.
    let again = program.run(["report", "--plan", "quick", "--store", &store, "--format", "json"]);
    let again: Value = serde_json::from_str(&again.ends_with(0).stdout).unwrap();
    assert_eq!(again["comparisons"], document["comparisons"]);
    let gate = program.run(["report", "--plan", "quick", "--store", &store, "--gate"]);
    gate.ends_with(5);
}

/// Waits until `count` trials of a store have ended.
fn wait_for_trials(store: &Path, count: usize) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        let over = Store::open(store, Access::ReadOnly)
            .and_then(|store| store.trials(&Filter::default()))
            .map(|all| all.iter().filter(|one| one.state != TrialState::Running).count());
        if over.is_ok_and(|over| over >= count) {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("no {count} trials");
}

#[test]
fn a_killed_campaign_resumes_where_it_stopped() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let line = directories(&store, &["--rounds", "4", "--no-warm-up", "--control"]);
    let run = program.start(&line);
    wait_for_trials(&results.path(), 3);
    run.send("KILL");
    run.finish();
    let before = trials(&results.path());
    let done = before.iter().filter(|trial| trial.ending == Ending::Completed).count();
    assert!((3..12).contains(&done), "{done}");

    let reported = program
        .run([&line[..5], &["--rounds", "4", "--no-warm-up", "--dry-run"], &JOB[..]].concat());
    reported.ends_with(0);
    for dir in ["a", "b"] {
        let work = program.home().join(dir).join("treering-work");
        if !work.join(".treering-run").exists() {
            // A kill before the mark was written leaves an empty mark.
            fs::create_dir_all(&work).unwrap();
            fs::write(work.join(".treering-run"), "").unwrap();
        }
    }
    let resume = directories(&store, &["--rounds", "4", "--no-warm-up", "--control", "--resume"]);
    let ran = program.run(&resume).ends_with(0);
    assert!(ran.stderr.contains(&format!("{done} of 12 trials are done")), "{ran}");
    let after = trials(&results.path());
    let mut completed = after.clone();
    completed.retain(|trial| trial.ending == Ending::Completed);
    assert_eq!(completed.len(), 12);
    assert!(cells(&completed).values().all(|count| *count == 1));
    assert!(before.iter().filter(|t| t.ending == Ending::Completed).all(|t| after.contains(t)));
    for dir in ["a", "b"] {
        assert_eq!(fs::read_dir(program.home().join(dir)).unwrap().count(), 0, "{dir}");
    }
    // A continued plan may have more rounds, and repeats no trial.
    let more = directories(&store, &["--rounds", "5", "--no-warm-up", "--control", "--resume"]);
    program.run(&more).ends_with(0);
    let mut completed = trials(&results.path());
    completed.retain(|trial| trial.ending == Ending::Completed);
    assert_eq!(completed.len(), 15);
    // If all rounds are complete, the run says so and shows the page.
    let ran = program.run(&more).ends_with(0);
    assert!(ran.stderr.contains("all 5 rounds are complete; nothing to run"), "{ran}");
    assert!(ran.stdout.contains("operation_seconds"), "{ran}");
    assert_eq!(trials(&results.path()).len(), after.len() + 3);
}

#[test]
fn the_estimate_and_too_few_rounds_are_reported_first() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let ran = program.run(directories(&store, &["--rounds", "2"])).ends_with(0);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    let at = |words: &str| lines.iter().position(|line| line.contains(words)).expect(words);
    let first = at("round 0: ");
    assert!(at("2 rounds and a warm-up round: 6 trials, about ") < first, "{ran}");
    assert!(at("will compare: ") < first, "{ran}");
    assert!(at("1 primary comparison: at least 6 rounds are needed") < first, "{ran}");
    let few = "caution: 2 rounds cannot show a difference: its primary comparison needs";
    assert!(at(few) < first, "{ran}");
    // The dry run has the same caution, and the default number of rounds is sufficient.
    let dry = program.run(directories(&store, &["--rounds", "2", "--dry-run"])).ends_with(0);
    assert!(dry.stdout.contains("2 rounds and a warm-up round: 6 trials, about "), "{dry}");
    assert!(dry.stdout.contains("earlier trials"), "{dry}");
    assert!(dry.stderr.contains("at least 6"), "{dry}");
    let enough = program.run(directories(&store, &["--dry-run"])).ends_with(0);
    assert!(
        enough.stdout.contains("6 to 20 rounds and a warm-up round: at most 42 trials"),
        "{enough}"
    );
    assert!(!enough.stderr.contains("caution"), "{enough}");
}

#[test]
fn an_unknown_primary_metric_fails_before_the_first_trial() {
    let program = prepared();
    fs::write(
        program.home().join("plan.toml"),
        PLAN.replace("initial create/seconds", "initial create/second"),
    )
    .unwrap();
    for line in [words(&["plan.toml", "--dry-run"]), vec!["doctor", "plan.toml"]] {
        let ran = program.run(line).ends_with(2);
        assert!(ran.stderr.contains("no job of this plan yields `initial create/second`"), "{ran}");
        assert!(ran.stderr.contains("did you mean `initial create/seconds`?"), "{ran}");
        assert!(ran.stderr.contains("plan.toml:37:12"), "{ran}");
    }
    let quick = directories("/dev/shm/none", &["--primary", "no_such_thing", "--dry-run"]);
    program.run(quick).ends_with(2).complains("no_such_thing");
    let quick = directories("/dev/shm/none", &["--primary", "initial creat/mib", "--dry-run"]);
    program.run(quick).ends_with(2).complains("did you mean `initial create/mib_per_second`?");
    let quick = directories("/dev/shm/none", &["--primary", "phase moon/elapsed_seconds"]);
    let ran = program.run(quick).ends_with(2);
    assert!(ran.stderr.contains("phase operations/elapsed_seconds"), "{ran}");
}

#[test]
fn a_warm_up_that_fails_in_every_variant_ends_the_comparison() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let compare = ["compare", "--directories", "a,b", "--store", &store, "--workload", "command"];
    let ran = program.run([&compare[..], &["--", "false"]].concat()).ends_with(4);
    assert!(ran.stderr.contains("the warm-up failed in every variant"), "{ran}");
    assert_eq!(trials(&results.path()).len(), 2, "only the warm-up");
    // A single variant without failures is enough to continue.
    let one = ["--rounds", "1", "--", "sh", "-c", "case $PWD in */a/*) exit 0; esac; exit 1"];
    let ran = program.run([&compare[..], &one[..]].concat()).ends_with(4);
    assert!(!ran.stderr.contains("the warm-up failed in every variant"), "{ran}");
    assert_eq!(trials(&results.path()).len(), 2 + 4);
}

#[test]
fn an_uncompared_variant_is_cautioned_before_the_first_trial() {
    let program = prepared();
    let plan = PLAN.replace(
        "[[job]]\nname = \"small\"",
        "[[variant]]\nname = \"atime\"\n\
        filesystem = \"xfs\"\nmount = \"relatime\"\nagainst = \"xfs, no access times\"\n\n\
        [[job]]\nname = \"small\"",
    );
    fs::write(program.home().join("plan.toml"), plan).unwrap();
    let dry = program.run(words(&["plan.toml", "--dry-run"])).ends_with(0);
    let pairs = "will compare: atime with xfs, no access times on initial create/seconds of small";
    assert!(dry.stdout.contains(pairs), "{dry}");
    assert!(dry.stderr.contains("caution: ext4 is compared with nothing"), "{dry}");
}

#[test]
fn the_quick_plan_has_one_primary_metric_for_each_workload() {
    let program = prepared();
    for (workload, options, primary) in [
        ("compilebench", &JOB[..], "operation_seconds"),
        ("fs_mark", &[][..], "create/files_per_second"),
        ("bonnie++", &[], "elapsed_seconds"),
        ("dbench", &[], "operations_per_second"),
    ] {
        let quick = ["compare", "--directories", "a,b", "--workload", workload, "--print-plan"];
        let printed = program.run([&quick[..], options].concat()).ends_with(0).stdout;
        assert!(printed.contains(&format!("primary = [\"{primary}\"]")), "{printed}");
        assert!(printed.contains("minutes = 3.5\nfewest = 6\nmost = 20\n"), "{printed}");
        assert!(printed.contains("control = false\n"), "{printed}");
    }
}

#[test]
fn documented_comparisons_have_enough_rounds() {
    require_loop_fs!("xfs");
    require_loop_fs!("btrfs");
    let program = prepared();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for entry in fs::read_dir(docs).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let text = text.replace("\\\n", " ");
        let compares = |line: &&str| {
            line.starts_with("treering compare --filesystems")
                && ["--rounds ", "--precision ", "--sequential"]
                    .iter()
                    .any(|one| line.contains(one))
        };
        for line in text.lines().filter(compares) {
            let command = line.split('#').next().unwrap();
            let words = command.split_whitespace().skip(2);
            let forecast = ["compare", "--dry-run", "--store", "/dev/shm/none"];
            let ran = program.run(forecast.into_iter().chain(words)).ends_with(0);
            assert!(!ran.stderr.contains("caution"), "{}: {line}: {ran}", path.display());
            count += 1;
        }
    }
    assert!(count >= 2, "{count}");
}

#[test]
fn a_resumed_plan_frees_leftovers_of_its_killed_run() {
    require_loop_fs!("ext4");
    require_loop_fs!("xfs");
    let _alone = only_release();
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let line = |plan: &'static str| ["compare", plan, "--store", &store];
    // The other plan has its own store, so that trials can be counted.
    let elsewhere = Results::new();
    for (file, name, results) in [("a.toml", "first", &results), ("b.toml", "second", &elsewhere)] {
        let plan = PLAN.replace("name = \"two\"", &format!("name = \"{name}\""));
        fs::write(program.home().join(file), plan).unwrap();
        let run = program.start(["compare", file, "--store", &results.text()]);
        wait_for_trials(&results.path(), 1);
        run.send("KILL");
        run.finish();
    }
    let gone = |name: &str| {
        let listed = program.run(["lab", "list"]).ends_with(0).stdout;
        listed.contains(&format!("a run of plan {name}, which is gone"))
    };
    assert!(gone("first") && gone("second"));
    let ran = program.run([&line("a.toml")[..], &["--resume", "--rounds", "1"]].concat());
    let ran = ran.ends_with(0);
    let of_own = |line: &str| {
        line.contains("freed ") && line.ends_with(", which a killed run of this plan left")
    };
    assert!(ran.stderr.lines().any(of_own), "{ran}");
    // Leftovers of another plan are named with the command that frees them, and stay.
    let of_other = |line: &str| {
        line.contains("another run that was killed left image ")
            && line.ends_with("; `treering lab release` frees it")
    };
    assert!(ran.stderr.lines().any(of_other), "{ran}");
    assert!(!gone("first") && gone("second"));
    program.run(["lab", "release"]).ends_with(0);
    assert!(!gone("second"));
}

#[test]
fn a_resumed_plan_keeps_foreign_trees_and_names_the_removal_command() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    program.run(directories(&store, &["--rounds", "1", "--no-warm-up"])).ends_with(0);
    let resume = directories(&store, &["--rounds", "2", "--no-warm-up", "--resume"]);
    let work = program.home().join("a/treering-work");
    let tree = work.join("native-0");
    fs::create_dir_all(&tree).unwrap();
    let identity = |path: &Path| {
        let found = fs::metadata(path).unwrap();
        format!("{}:{}:{}:-", found.dev(), found.ino(), found.uid())
    };
    let (here, made) = (identity(&work), identity(&tree));
    for plan in ["", "plan 9f3c other\n"] {
        let mark = format!(
            "treering run 2\ntrial 0199\n{plan}directory {here} 0\nwill native-0\n\
             made {made} native-0\n"
        );
        fs::write(work.join(".treering-run"), mark).unwrap();
        let ran = program.run(&resume).ends_with(3);
        assert!(ran.stderr.contains("treering lab clean "), "{ran}");
        assert!(tree.exists(), "{ran}");
    }
    // Refused runs do not count as failed trials.
    program.run(["clean", "a/treering-work"]).ends_with(0);
    program.run(&resume).ends_with(0);
    let all_trials = trials(&results.path());
    assert!(all_trials.iter().all(|trial| trial.ending == Ending::Completed));
    assert_eq!(all_trials.len(), 4);
}

#[test]
fn additional_rounds_replace_those_with_excluded_trials() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let compare = |rounds: &str, more: &[&str]| {
        let options =
            [&["--rounds", rounds, "--no-warm-up", "--format", "json"][..], more].concat();
        let ran = program.run(directories(&store, &options)).ends_with(0);
        let page: Value = serde_json::from_str(&ran.stdout).unwrap();
        let pairs = page["comparisons"][0]["pairs"].as_u64().unwrap();
        (ran.stderr.clone(), pairs, page["cautions"].to_string())
    };
    compare("3", &[]);
    let before = trials(&results.path());
    let cell = |trial: &Trial| trial.beginning.cell.clone().unwrap();
    let out = before.iter().find(|trial| cell(trial).round == 2).unwrap().beginning.trial;
    let exclude = ["exclude", &out.text(), "--reason", "a backup ran", "--store", &store];
    program.run(exclude).ends_with(0);

    let (said, pairs, cautions) = compare("3", &["--resume"]);
    assert!(said.contains("6 of 6 trials are done"), "{said}");
    assert!(said.contains("1 of them is excluded") && said.contains("--rounds 4"), "{said}");
    assert_eq!((pairs, trials(&results.path()).len()), (2, 6));
    assert!(cautions.contains("trials_excluded") && cautions.contains("a backup ran"));

    // An additional round is complete, with trials in turns; the round with the gap stays
    // incomplete.
    let (said, pairs, _) = compare("4", &["--resume"]);
    assert_eq!(pairs, 3, "{said}");
    let after = trials(&results.path());
    assert!(after.len() == 8 && after[6..].iter().all(|trial| cell(trial).round == 4));

    program.run(["include", &out.text(), "--store", &store]).ends_with(0);
    let (said, pairs, _) = compare("4", &["--resume"]);
    assert!(pairs == 4 && !said.contains("excluded"), "{said}");
}

#[test]
fn stopping_rules_ignore_rounds_with_excluded_trials() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    // The interval may be so wide that the minimum number of rounds suffices.
    let options = ["--precision", "1000%", "--most-rounds", "9", "--no-warm-up"];
    let fresh = directories(&store, &options);
    let resume = directories(&store, &[&options[..], &["--resume"]].concat());
    let last_round = || {
        let all_trials = trials(&results.path());
        all_trials.iter().map(|one| one.beginning.cell.as_ref().unwrap().round).max().unwrap()
    };
    program.run(&fresh).ends_with(0).complains("enough after 6 rounds");
    assert_eq!((last_round(), trials(&results.path()).len()), (6, 12));
    program.run(&resume).ends_with(0).complains("nothing to run");
    assert_eq!(last_round(), 6);
    for (round, of_round) in [(2, 0), (5, 4)] {
        let all_trials = trials(&results.path());
        let out = all_trials[of_round * 2..].iter().map(|one| one.beginning.clone());
        let out = out.into_iter().find(|one| one.cell.as_ref().unwrap().round == round).unwrap();
        let reason = ["--reason", "a backup ran", "--store", &store];
        program.run([&["exclude", &out.trial.text()][..], &reason].concat()).ends_with(0);
    }
    // Two of the six rounds are excluded, so exactly two more are measured.
    program.run(&resume).ends_with(0).complains("enough after 8 rounds");
    assert_eq!((last_round(), trials(&results.path()).len()), (8, 16));
    program.run(&resume).ends_with(0).complains("nothing to run");
}

#[test]
fn a_time_limit_never_ends_before_the_required_rounds() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let options = ["--minutes", "0.01", "--no-warm-up"];
    let fresh = directories(&store, &options);
    let resume = directories(&store, &[&options[..], &["--resume"]].concat());
    let ran = program.run(&fresh).ends_with(0);
    ran.complains("6 to 20 rounds").complains("another one does not fit into the time");
    let count = trials(&results.path()).len();
    assert!((12..40).contains(&count) && count.is_multiple_of(2), "{count}");
    program.run(&resume).ends_with(0).complains("nothing to run");
}

#[test]
fn ctrl_c_ends_a_campaign_and_releases_everything() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let mut run = program.start(directories(&store, &["--rounds", "50"]));
    run.wait_for("round 1: ");
    run.send("INT");
    let ran = run.finish().ends_with(130);
    assert!(ran.stderr.contains("--resume"), "{ran}");
    for dir in ["a", "b"] {
        assert_eq!(fs::read_dir(program.home().join(dir)).unwrap().count(), 0, "{dir}");
    }
}

#[test]
fn a_directory_lost_during_a_campaign_fails_only_its_trials() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    // Trials last long enough to lose one directory during a trial in the other.
    FourLists::wide(200, 3000).write_to(&program.home().join("wide"));
    let compare = ["compare", "--directories", "a,b", "--store", &store, "--no-warm-up"];
    let more = ["--rounds", "4", "--no-control", "--format", "json"];
    let job = ["--", "--dataset", "./wide", "--initial-dirs", "10", "--runs", "10"];
    let mut run = program.start([&compare[..], &more, &job].concat());
    run.wait_for("round 2: a ");
    fs::rename(program.home().join("b"), program.home().join("gone")).unwrap();
    let ran = run.finish().ends_with(0);
    assert!(ran.stderr.contains("the filesystem could not be prepared"), "{ran}");
    let kept = trials(&results.path());
    assert_eq!(kept.len(), 8, "every cell has its trial");
    let failed = |trial: &&Trial| matches!(trial.ending, Ending::Failed { .. });
    let failed: Vec<&Trial> = kept.iter().filter(failed).collect();
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|trial| trial.beginning.cell.as_ref().unwrap().variant == "b"));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let codes = document["cautions"].as_array().unwrap().iter().map(|one| &one["code"]);
    assert!(codes.into_iter().any(|code| code == "failed_trial"), "{document}");
    // A failed round must not count as zero: it is in no comparison.
    let whole = 4 - failed.len();
    let comparisons = document["comparisons"].as_array().unwrap();
    assert!(comparisons.iter().all(|one| one["pairs"] == whole), "{whole}: {document}");
}

/// Plan of two filesystems on this machine, one with a mount option.
const PLAN: &str = r#"
name = "two"
question = "Is xfs better than ext4 at nothing much?"
rounds = 2
warm-up = false
control = true
remount = true

[device]
loop = "320MiB"

[[variant]]
name = "ext4"
filesystem = "ext4"

[[variant]]
name = "xfs, no access times"
filesystem = "xfs"
mount = "noatime"

[[job]]
name = "small"
[job.options]
dataset = "./lists"
initial-dirs = 2
runs = 4

[[job]]
name = "sorted"
[job.options]
dataset = "./lists"
initial-dirs = 1
runs = 2
order = "sorted"

[report]
primary = ["initial create/seconds"]
threshold = "10%"
"#;

#[test]
fn a_plan_runs_on_filesystems_made_for_it() {
    require_loop_fs!("ext4");
    require_loop_fs!("xfs");
    let (program, results) = (prepared(), Results::new());
    fs::write(program.home().join("plan.toml"), PLAN).unwrap();
    let store = results.text();
    let line = ["compare", "plan.toml", "--store", &store, "--gate", "--format", "json"];
    let ran = program.run(line).ends_with(5);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let comparisons = document["comparisons"].as_array().unwrap();
    let primary: Vec<&Value> = comparisons.iter().filter(|one| one["primary"] == true).collect();
    assert_eq!(primary.len(), 2, "one of each job");
    assert!(
        primary
            .iter()
            .all(|one| one["metric"] == "initial create/seconds" && one["threshold"] == 0.1)
    );
    let again = ["report", "--plan", "two", "--store", &store, "--format", "json"];
    let again: Value = serde_json::from_str(&program.run(again).ends_with(0).stdout).unwrap();
    assert_eq!(again["comparisons"], document["comparisons"], "judged as the plan says");
    let codes = document["cautions"].as_array().unwrap().iter().map(|one| one["code"].as_str());
    assert!(!codes.into_iter().any(|code| code == Some("sizes_differ")), "{document}");
    let kept = trials(&results.path());
    assert_eq!(kept.len(), 12);
    let fact = |trial: &Trial, name: &str| {
        trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
    };
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed);
        let cell = trial.beginning.cell.as_ref().unwrap();
        let kind = if cell.variant == "ext4" { "ext4" } else { "xfs" };
        assert_eq!(fact(trial, "filesystem.type").unwrap(), kind);
        assert!(fact(trial, "mkfs.command").unwrap().contains(&format!("mkfs.{kind}")));
        // Concurrent tests also drop the caches, which may disturb this trial.
        let dropped = fact(trial, "caches.dropped").unwrap();
        assert!(["verified", "unverified"].contains(&&*dropped), "{dropped}");
        let options = fact(trial, "filesystem.mount_options").unwrap_or_default();
        assert_eq!(options.contains("noatime"), kind == "xfs", "{options}");
    }
    let left = program.run(["lab", "list"]).ends_with(0);
    assert!(!left.stdout.contains("plan two, which is gone"), "{left}");
}

#[test]
fn an_unmountable_variant_ends_the_plan_without_leftovers() {
    require_loop_fs!("ext4");
    let (program, results) = (prepared(), Results::new());
    let plan = PLAN.replace("\"noatime\"", "\"noatime,no-such-option\"");
    fs::write(program.home().join("plan.toml"), plan).unwrap();
    let store = results.text();
    for line in [&["plan.toml", "--store", &store][..], &["plan.toml", "--dry-run"]] {
        let ran = program.run([&["compare"], line].concat()).ends_with(2);
        assert!(ran.stderr.contains("`mount` is refused"), "{ran}");
        assert!(
            ran.stderr.contains("no-such-option") && ran.stderr.contains("plan.toml:19"),
            "{ran}"
        );
        let left = program.run(["lab", "list"]).ends_with(0);
        assert!(!left.stdout.contains("plan two, which is gone"), "{left}");
    }
}

#[test]
fn an_invalid_plan_is_refused_with_its_line() {
    let program = prepared();
    fs::write(program.home().join("plan.toml"), PLAN.replace("runs = 4", "rnus = 4")).unwrap();
    let ran = program.run(words(&["plan.toml"])).ends_with(2);
    assert!(ran.stderr.contains("plan.toml:26") && ran.stderr.contains("rnus = 4"), "{ran}");
    assert!(ran.stderr.contains("runs"), "names what would be right: {ran}");
    fs::write(program.home().join("plan.toml"), b"name = \"\xff\"").unwrap();
    program.run(words(&["plan.toml"])).ends_with(2).complains("UTF-8");
    program.run(words(&["nowhere.toml"])).ends_with(2).complains("nowhere.toml");
    program.run(words(&["plan.toml", "--rounds", "3"])).ends_with(2);
}

#[test]
fn a_quick_plan_can_be_printed_and_read_again() {
    let program = prepared();
    let quick = ["compare", "--directories", "a,b", "--sequential", "--print-plan"];
    let printed = program.run([&quick[..], &JOB[..]].concat()).ends_with(0).stdout;
    fs::write(program.home().join("quick.toml"), &printed).unwrap();
    let again = program.run(["compare", "quick.toml", "--print-plan"]).ends_with(0).stdout;
    assert_eq!(again, printed);
    let shown = program.run(["compare", "quick.toml", "--dry-run"]).ends_with(0).stdout;
    assert!(shown.contains("round 30: a"), "{shown}");
    assert!(shown.contains("at most 62 trials, about "), "{shown}");
    assert!(tree_of(&program.home().join("a")).is_empty());
}

/// Plan of two ext4 on this machine, one without a journal.
const WATCHED: &str = r#"
name = "watched"
rounds = 2
warm-up = false
control = true

[device]
loop = "320MiB"

[[variant]]
name = "ext4"
filesystem = "ext4"

[[variant]]
name = "no journal"
filesystem = "ext4"
mkfs = "-O ^has_journal"

[[job]]
[job.options]
dataset = "./lists"
initial-dirs = 2
runs = 4
"#;

/// Comparisons of observing rounds, or those of measured rounds.
fn of_rounds(document: &Value, observed: bool) -> Vec<&Value> {
    let all = document["comparisons"].as_array().unwrap().iter();
    all.filter(|one| one["observed"] == observed).collect()
}

#[test]
fn traces_and_layouts_are_recorded_in_separate_rounds() {
    require_loop_fs!("ext4");
    let (program, results) = (prepared(), Results::new());
    fs::write(program.home().join("plan.toml"), WATCHED).unwrap();
    let store = results.text();
    let line = |more: &[&'static str]| -> Vec<String> {
        let command_words =
            [&["compare", "plan.toml", "--store", &store, "--format", "json"], more].concat();
        command_words.into_iter().map(str::to_owned).collect()
    };
    let reported = program.run(line(&["--trace", "--layout", "--dry-run"])).ends_with(0).stdout;
    let observing: Vec<&str> =
        reported.lines().filter(|line| line.starts_with("observing round 1: ")).collect();
    assert_eq!(observing.len(), 2, "{reported}");
    assert!(reported.contains("8 trials"), "{reported}");

    let plain: Value = serde_json::from_str(&program.run(line(&[])).ends_with(0).stdout).unwrap();
    assert!(of_rounds(&plain, true).is_empty());
    // Observing rounds can be added later without measuring again.
    let ran = program.run(line(&["--trace", "--layout", "--resume"])).ends_with(0);
    assert!(ran.stderr.contains("6 of 8 trials are done"), "{ran}");
    assert!(ran.stderr.contains("observing round 1: no journal"), "{ran}");
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let measured: Vec<Value> = of_rounds(&document, false).into_iter().cloned().collect();
    assert_eq!(&measured, plain["comparisons"].as_array().unwrap());
    assert_eq!(document["baseline"]["observed"], 1);
    let kept = trials(&results.path());
    assert_eq!(kept.len(), 8);
    let is_seen = |name: &str| name.starts_with("trace_") || name.starts_with("layout_");
    for trial in &kept {
        let cell = trial.beginning.cell.as_ref().unwrap();
        let is_observed = cell.role == CellRole::Observed;
        let watched = trial.beginning.parameters.iter().any(|(name, _)| name == "layout");
        assert_eq!(watched, is_observed);
        assert_eq!(trial.metrics.iter().any(|metric| is_seen(&metric.name)), is_observed);
        assert_eq!(trial.beginning.label.ends_with(" (observed)"), is_observed);
    }
    let seen = of_rounds(&document, true);
    assert!(seen.iter().all(|one| is_seen(one["name"].as_str().unwrap())), "{seen:?}");
    assert!(seen.iter().any(|one| one["name"] == "layout_traversal_score_percent"), "{seen:?}");
    assert!(seen.iter().all(|one| one["pairs"] == 1 && one["verdict"] == "single-run"));
    // Nothing is left to run, and another kind of observation is run again.
    let ran = program.run(line(&["--trace", "--layout", "--resume"])).ends_with(0);
    assert!(ran.stderr.contains("8 of 8 trials are done"), "{ran}");
    let ran = program.run(line(&["--trace", "--layout-every", "2", "--resume"])).ends_with(0);
    assert!(ran.stderr.contains("6 of 8 trials are done"), "{ran}");
    let html = ["report", "--plan", "watched", "--store", &store, "--format", "html"];
    let html = program.run(html).ends_with(0).stdout;
    assert!(html.contains("disk layout after"), "the map of each side");
    assert!(html.contains("In separate rounds, which enter no other figure"));
    if seen.iter().any(|one| one["name"] == "trace_seeks") {
        assert!(html.contains("Device activity in phase "));
    }
    let left = program.run(["lab", "list"]).ends_with(0);
    assert!(!left.stdout.contains("plan watched, which is gone"), "{left}");
}

#[test]
fn measured_rounds_are_observed_if_requested() {
    let (program, results) = (prepared(), Results::new());
    let store = results.text();
    let more = ["--rounds", "1", "--layout", "--observe-in", "measured", "--format", "json"];
    let ran = program.run(directories(&store, &more)).ends_with(0);
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(of_rounds(&document, true).is_empty());
    for trial in trials(&results.path()) {
        let role = trial.beginning.cell.as_ref().unwrap().role;
        let watched = trial.beginning.parameters.iter().any(|(name, _)| name == "layout");
        assert_eq!(watched, role != CellRole::WarmUp, "{role:?}");
    }
}

#[test]
fn observing_rounds_without_an_observer_are_refused() {
    let program = prepared();
    for wrong in [
        &["--observe-rounds", "2"][..],
        &["--observe-in", "own"],
        &["--trace", "--observe-in", "measured", "--observe-rounds", "2"],
        &["--trace", "--observe-in", "both"],
        &["--layout-every", "0"],
    ] {
        program.run(directories("/dev/shm/none", wrong)).ends_with(2).complains("--");
    }
    let quick = ["--trace", "--layout-every", "3", "--observe-rounds", "2", "--print-plan"];
    let printed = program.run(directories("/dev/shm/none", &quick)).ends_with(0).stdout;
    let section = "[observe]\ntrace = true\nlayout = false\nlayout-every = 3\nin = \"own\"\n\
                   rounds = 2\n";
    assert!(printed.contains(section), "{printed}");
}
