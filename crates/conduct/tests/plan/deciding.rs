//! Primary comparisons and the number of rounds of a plan before it runs.

use std::fs;
use std::path::Path;

use treering_conduct::plan::{ComparedTrialSet, PlanChanges, Stopping};

use crate::{read_file, read_plan};

const TWO: &str = "[[variant]]\nfilesystem = \"ext4\"\n[[variant]]\nfilesystem = \"xfs\"\n";
const FS_MARK: &str = "[[job]]\nworkload = \"fs_mark\"\n";

fn rounds_of(text: &str) -> (u32, Stopping) {
    let plan = read_plan(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.shortfall(), None, "a default obeys");
    (plan.family(), plan.stopping)
}

/// Two variants, and two jobs on each of them.
const BOTH_WAYS: [(&str, &str); 6] = [
    ("ext4", ""),
    ("xfs", "ext4"),
    ("ext4: one", ""),
    ("ext4: many", "ext4: one"),
    ("xfs: one", ""),
    ("xfs: many", "xfs: one"),
];

#[test]
fn the_default_number_of_rounds_follows_the_family() {
    let fixed = |rounds| Stopping::Fixed { rounds };
    // Two primary metrics: the rate, and the p99 latency of fsync.
    assert_eq!(rounds_of(&format!("{TWO}{FS_MARK}")), (2, fixed(7)));
    let three = format!("{TWO}[[variant]]\nfilesystem = \"btrfs\"\n");
    assert_eq!(rounds_of(&format!("{three}{FS_MARK}")), (4, fixed(8)));
    // A control does not count as a contender.
    assert_eq!(rounds_of(&format!("control = true\n{three}{FS_MARK}")), (4, fixed(8)));
    let jobs = format!("{FS_MARK}name = \"a\"\n{FS_MARK}name = \"b\"\n{FS_MARK}");
    assert_eq!(rounds_of(&format!("{three}{jobs}")), (12, fixed(9)));
    let chosen = "[report]\nprimary = [\"operation_seconds\"]\n";
    assert_eq!(rounds_of(&format!("{three}{chosen}")), (2, fixed(7)));
    // The chosen metric does not exist in the other jobs.
    let both = "[[job]]\n[[job]]\nworkload = \"fs_mark\"\n";
    assert_eq!(rounds_of(&format!("{TWO}{both}{chosen}")), (1, fixed(6)));
}

#[test]
fn sequential_looks_begin_where_a_difference_can_be_shown() {
    let three = format!("{TWO}[[variant]]\nfilesystem = \"btrfs\"\n{FS_MARK}");
    let rule = |rule: &str| rounds_of(&format!("{three}[stopping]\n{rule}")).1;
    let precise = rule("rule = \"precision\"\nhalf-width = \"2%\"\n");
    assert_eq!(precise, Stopping::Precision { half_width: 0.02, fewest: 8, most: 30 });
    assert_eq!(
        rule("rule = \"time\"\nminutes = 4\n"),
        Stopping::Time { minutes: 4.0, fewest: 8, most: 30 }
    );
    assert_eq!(
        rule("rule = \"sequential\"\n"),
        Stopping::Sequential { looks: vec![10, 15, 20, 30] }
    );
}

#[test]
fn too_few_rounds_are_reported_and_run() {
    let three = format!("{TWO}[[variant]]\nfilesystem = \"btrfs\"\n{FS_MARK}");
    for (said, words) in [
        ("rounds = 6\n", "6 rounds cannot show a difference: 4 primary comparisons"),
        ("stopping = { rule = \"sequential\", looks = [6, 12] }\n", "after 6 rounds"),
        (
            "stopping = { rule = \"precision\", half-width = \"1%\", fewest = 6 }\n",
            "after 6 rounds no difference can be shown yet",
        ),
    ] {
        let plan = read_plan(&format!("{said}{three}")).unwrap();
        let shortfall = plan.shortfall().unwrap();
        assert!(shortfall.contains(words), "{shortfall}");
        assert!(shortfall.contains("at least"), "{shortfall}");
        assert_eq!(plan.stopping.first_end(), 6);
    }
}

#[test]
fn every_shipped_plan_has_the_rounds_that_it_needs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plans");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let plan = read_file(&text, path.to_str().unwrap()).unwrap();
        assert!(plan.family() > 0, "{}", path.display());
        assert_eq!(plan.shortfall(), None, "{}", path.display());
        count += 1;
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn unknown_metrics_are_refused_at_their_position() {
    let with = |metric: &str| read_plan(&format!("{TWO}[report]\nprimary = [\"{metric}\"]\n"));
    let error = with("create/mib_per_secnd").unwrap_err();
    assert!(error.message().contains("no job of this plan yields"), "{error}");
    assert!(error.hint().unwrap().contains("did you mean `create/mib_per_second`?"), "{error}");
    assert!(error.to_string().contains("plan.toml:6:12"), "{error}");
    for metric in ["no_such_thing", "creates/seconds", "phase /elapsed_seconds", "x/trace_seeks"] {
        assert!(with(metric).is_err(), "{metric}");
    }
    for metric in [
        "create/mib_per_second",
        "create/system_cpu_seconds",
        "operation_seconds",
        "elapsed_seconds",
        "user_cpu_seconds",
        "phase operations/elapsed_seconds",
        "phase operations/trace_seeks",
        "layout_score_percent",
    ] {
        with(metric).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Names of the compared sets of trials of a plan, each with its baseline.
fn compared(text: &str) -> Vec<(String, Option<String>)> {
    let plan = read_plan(text).unwrap_or_else(|error| panic!("{error}"));
    let sets = plan.compared_sets();
    let pair = |set: &ComparedTrialSet| {
        (set.name.clone(), set.baseline.map(|place| sets[place].name.clone()))
    };
    sets.iter().map(pair).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    let baseline = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    pairs.iter().map(|(name, base)| ((*name).to_owned(), baseline(base))).collect()
}

#[test]
fn jobs_with_against_are_compared_between_variants_too_if_a_variant_says_with_which() {
    let jobs = format!(
        "{FS_MARK}name = \"one\"\n{FS_MARK}name = \"many\"\noptions = {{ threads = 4 }}\n\
         against = \"one\"\n"
    );
    let variants = format!("{TWO}against = \"ext4\"\n");
    assert_eq!(compared(&format!("{variants}{jobs}")), pairs(&BOTH_WAYS));
    let family = |text: &str| read_plan(text).unwrap().family();
    let (apart, both) = (family(&format!("{TWO}{jobs}")), family(&format!("{variants}{jobs}")));
    // Two jobs are compared between variants, and one with the other on each of two variants.
    assert_eq!(both, 2 * apart);
    // The jobs of a single variant have nothing else to be compared with.
    let alone = "[[variant]]\nfilesystem = \"ext4\"\n";
    assert_eq!(compared(&format!("{alone}{jobs}")), pairs(&[("one", ""), ("many", "one")]));
}

#[test]
fn minutes_replace_the_rounds_of_a_plan() {
    let mut plan = read_plan(&format!("rounds = 40\n{TWO}{FS_MARK}")).unwrap();
    let changes = PlanChanges { minutes: Some(10.0), ..PlanChanges::default() };
    plan.change(&changes, false).unwrap();
    assert_eq!(plan.stopping, Stopping::Time { minutes: 10.0, fewest: 7, most: 20 });
}

#[test]
fn jobs_with_against_are_compared_on_each_variant() {
    let jobs = format!(
        "{FS_MARK}name = \"plain\"\n{FS_MARK}name = \"many\"\noptions = {{ threads = 4 }}\n\
         against = \"one\"\n{FS_MARK}name = \"one\"\n"
    );
    assert_eq!(compared(&format!("{TWO}{jobs}")), pairs(&BOTH_WAYS));
    // Each of the three comparisons has two primary metrics.
    assert_eq!(rounds_of(&format!("{TWO}{jobs}")).0, 6);
    let alone = "[[variant]]\nfilesystem = \"ext4\"\n";
    let expected = [("one", ""), ("many", "one")];
    assert_eq!(compared(&format!("{alone}{jobs}")), pairs(&expected));
    let plan = read_plan(&format!("{TWO}{jobs}")).unwrap();
    let reread = read_plan(&plan.to_toml()).unwrap();
    assert_eq!((reread.compared_sets(), reread.digest()), (plan.compared_sets(), plan.digest()));
    let others = read_plan(&format!("{TWO}{}", jobs.replace("against = \"one\"\n", ""))).unwrap();
    assert_ne!(others.digest(), plan.digest());
}

#[test]
fn points_of_a_sweep_are_compared_with_the_first_or_the_named_one() {
    let sweep = |against: &str| {
        format!("{FS_MARK}name = \"make\"\nsweep = {{ threads = [1, 2, 4] }}\n{against}")
    };
    let alone = "[[variant]]\nfilesystem = \"ext4\"\n";
    let first = [
        ("make, threads=1", ""),
        ("make, threads=2", "make, threads=1"),
        ("make, threads=4", "make, threads=1"),
    ];
    // Without `against` the points of the sweep are not compared.
    assert_eq!(compared(&format!("{alone}{}", sweep(""))), pairs(&[("ext4", "")]));
    assert_eq!(compared(&format!("{alone}{}", sweep("against = \"make\"\n"))), pairs(&first));
    let named = sweep("against = \"make, threads=4\"\n");
    let expected = [
        ("make, threads=4", ""),
        ("make, threads=1", "make, threads=4"),
        ("make, threads=2", "make, threads=4"),
    ];
    assert_eq!(compared(&format!("{alone}{named}")), pairs(&expected));
    // Two variants are compared with one another, unless the plan says `against`.
    let expected = [("ext4", ""), ("xfs", "ext4")];
    assert_eq!(compared(&format!("{TWO}{}", sweep(""))), pairs(&expected));
    assert_eq!(compared(&format!("{TWO}{named}")).len(), 6);
}
