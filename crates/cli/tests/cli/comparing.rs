//! `treering report` over a store of made-up trials: its selectors, its gate, its JSON.

use std::path::Path;

use serde_json::Value;
use treering_model::{
    BetterDirection, Cell, CellRole, Ending, Fact, Metric, RunMode, Scope, TrialEvent, TrialHeader,
    TrialId, TrialSink, Unit,
};
use treering_store::{Access, Store};

use crate::browser::made_up;
use crate::program;

/// Rates of the rounds of both sides, before the factor of each side.
const ROUNDS: [f64; 8] = [100.0, 104.0, 97.0, 102.0, 99.0, 101.0, 98.0, 103.0];

/// Records a trial of a side with this rate.
fn record(store: &mut Store, label: &str, filesystem: &str, started: i64, rate: f64) {
    record_as(store, label, filesystem, started, rate, |_| ());
}

/// Records a trial whose header is `changed`.
fn record_as(
    store: &mut Store,
    label: &str,
    filesystem: &str,
    started: i64,
    rate: f64,
    changed: impl Fn(&mut TrialHeader),
) {
    let scope = Scope::Kind("create".to_owned());
    let rate =
        Metric::new("mib_per_second", scope, rate, Unit::MibPerSecond, BetterDirection::Higher);
    let mut header = TrialHeader {
        started_unix_ms: started,
        treering_version: "0.1.0".to_owned(),
        label: label.to_owned(),
        target: format!("/nowhere/{label}"),
        parameters: vec![("runs".to_owned(), "3".to_owned())],
        ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
    };
    changed(&mut header);
    let events = [
        TrialEvent::Began(header),
        TrialEvent::Environment {
            facts: vec![Fact { name: "filesystem.type".to_owned(), value: filesystem.to_owned() }],
        },
        TrialEvent::Measured(rate.primary().of_tasks(3)),
        TrialEvent::Ended { ending: Ending::Completed, at_ns: 1_000_000_000 },
    ];
    let mut recorder = store.recorder();
    for event in &events {
        recorder.accept(event).unwrap();
    }
}

/// Position of a side in a round: the order alternates from round to round.
const fn by_turns(round: i64, place: i64) -> i64 {
    if round % 2 == 0 { place } else { 9 - place }
}

/// Eight rounds of the sides `base`, `slow`, `fast` and `equal`, and one trial of `once`.
fn fill(file: &Path) {
    let mut store = Store::open(file, Access::ReadWrite).unwrap();
    for (round, rate) in (0..).zip(ROUNDS) {
        let sides = [
            ("base", "ext4", 1.0),
            ("slow", "xfs", 0.9),
            ("fast", "btrfs", 1.1),
            ("equal", "ext4", 1.0),
        ];
        for (place, (label, filesystem, factor)) in (0..).zip(sides) {
            let started = 10 * round + by_turns(round, place);
            record(&mut store, label, filesystem, started, rate * factor);
        }
    }
    record(&mut store, "once", "ext4", 1000, 50.0);
}

#[test]
fn the_gate_sets_the_exit_code() {
    let program = program();
    let file = made_up(&program);
    fill(&file);
    let file = file.to_str().unwrap();
    let against = |contender: &'static str, more: &[&'static str]| {
        let typed =
            ["report", "--store", file, "--baseline", "base", "--contender", contender, "--gate"];
        program.run(typed.into_iter().chain(more.iter().copied()))
    };
    let accept = ["--accept", "filesystems_differ"];
    for (contender, code) in [("slow", 1), ("fast", 0), ("equal", 0), ("once", 5)] {
        against(contender, &accept).ends_with(code);
    }
    // Differences below the threshold are ignored.
    against("slow", &[&accept[..], &["--threshold", "20%"]].concat()).ends_with(0);
    // If the user did not ask for other filesystems, a difference between them makes the gate
    // unclear.
    against("equal", &[]).ends_with(0);
    for contender in ["slow", "fast"] {
        against(contender, &[]).ends_with(5).complains("filesystems_differ");
    }
    let options = ["report", "--store", file, "--baseline", "fs:ext4", "--contender", "fs:xfs"];
    let gate = [&options[..], &["--gate", "--threshold", "20%"]].concat();
    program.run(gate.clone()).ends_with(5).complains("unpaired: compilebench: 17 and 8 trials");
    program.run([&gate[..], &["--accept", "unpaired"]].concat()).ends_with(0);
    let reported = against("slow", &["--format", "json"]).ends_with(5);
    let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
    assert_eq!(reported["gate"], "unclear");
    assert!(
        reported["gate_reasons"][0].as_str().unwrap().contains("filesystems_differ"),
        "{reported}"
    );
    for (wrong, words) in [
        ("nonsense", "not a caution about comparisons"),
        ("too_short", "not a caution that stops a gate"),
    ] {
        let refused = against("equal", &["--accept", wrong]).ends_with(2);
        refused.complains(words).complains("one of: accelerators_differ, unequal_work, ");
    }
    // A selector that matches nothing is an error of its own, not a gate result.
    for wrong in [
        ["--baseline", "base", "--contender", "nobody"],
        ["--baseline", "base", "--contender", "label:base"],
        ["--baseline", "fs:zfs", "--threshold", "3%"],
        ["--baseline", "base", "--format", "docx"],
    ] {
        program.run(["report", "--store", file, "--gate"].into_iter().chain(wrong)).ends_with(2);
    }
}

#[test]
fn a_gate_needs_an_accepted_caution_for_trials_not_interleaved() {
    let program = program();
    let file = made_up(&program);
    let mut store = Store::open(&file, Access::ReadWrite).unwrap();
    for (place, (label, factor)) in (0..).zip([("old", 1.0), ("new", 0.9)]) {
        for (round, rate) in (0..).zip(ROUNDS) {
            record(&mut store, label, "ext4", 100 * place + round, rate * factor);
        }
    }
    drop(store);
    let options = ["report", "--store", file.to_str().unwrap(), "--baseline", "old"];
    let gate = [&options[..], &["--contender", "new", "--gate"]].concat();
    let stopped = program.run(gate.clone()).ends_with(5);
    stopped.complains("not_interleaved: compilebench: 8 of 8 trials of 'old' were run before all");
    program.run([&gate[..], &["--accept", "not_interleaved"]].concat()).ends_with(1);
}

/// Two builds of one program have different paths and are measured alternately; the new one is
/// slower.
#[test]
fn builds_under_different_paths_are_compared_with_ignore() {
    let program = program();
    let file = made_up(&program);
    let mut store = Store::open(&file, Access::ReadWrite).unwrap();
    for (round, rate) in (0..).zip(ROUNDS) {
        let mut sides = [("old", 1.0), ("new", 0.8)];
        sides.rotate_left(usize::try_from(round).unwrap() % 2);
        for (place, (label, factor)) in (0..).zip(sides) {
            record_as(&mut store, label, "ext4", 10 * round + place, rate * factor, |header| {
                header.workload = "command".to_owned();
                header.parameters.push(("command".to_owned(), format!("./{label}/bench")));
            });
        }
    }
    drop(store);
    let options = ["report", "--store", file.to_str().unwrap(), "--baseline", "old"];
    let gate = [&options[..], &["--contender", "new", "--gate"]].concat();
    program.run(gate.clone()).ends_with(5).complains("parameters_differ");
    program.run([&gate[..], &["--ignore", "command"]].concat()).ends_with(1);
    let refused = program.run([&gate[..], &["--ignore", "comand"]].concat()).ends_with(2);
    refused.complains("no trial of the variants has a parameter 'comand'");
}

/// A plan is changed and run again: its first version had a handicap.
#[test]
fn trials_of_an_earlier_plan_are_not_pooled_with_those_of_the_newest() {
    let program = program();
    let file = made_up(&program);
    let mut store = Store::open(&file, Access::ReadWrite).unwrap();
    for (number, digest, factor) in [(0, "first", 0.5), (1, "second", 1.0)] {
        let campaign = TrialId::new();
        for (round, rate) in (0..).zip(ROUNDS) {
            for (place, (variant, factor)) in (0..).zip([("base", 1.0), ("patched", factor)]) {
                let own = by_turns(i64::from(round), place);
                let started = 1000 * number + 10 * i64::from(round) + own;
                record_as(&mut store, "", "ext4", started, rate * factor, |header| {
                    header.cell = Some(Cell {
                        campaign,
                        plan: "patch".to_owned(),
                        digest: digest.to_owned(),
                        variant: variant.to_owned(),
                        job: "create".to_owned(),
                        round,
                        role: CellRole::Round,
                    });
                });
            }
        }
    }
    drop(store);
    let file = file.to_str().unwrap();
    for selected in [
        vec!["--baseline", "variant:base", "--contender", "variant:patched"],
        vec!["--by", "variant"],
        vec!["--plan", "patch"],
    ] {
        let typed = [&["report", "--store", file, "--gate"][..], &selected].concat();
        let page = program.run(typed).ends_with(0);
        let is_named = page.stdout.contains("of another plan: 16");
        assert!(is_named || selected[0] == "--plan", "{page}");
    }
}

#[test]
fn a_gate_never_passes_without_a_comparison() {
    let program = program();
    std::fs::create_dir_all(program.data()).unwrap();
    let (file, empty) = (program.data().join("made-up"), program.data().join("empty"));
    fill(&file);
    drop(Store::open(&empty, Access::ReadWrite).unwrap());
    let (file, empty) = (file.to_str().unwrap(), empty.to_str().unwrap());
    for typed in [
        vec!["report", "--gate"],
        vec!["report", "--store", empty, "--gate"],
        vec!["report", "--store", file, "--gate", "--by", "kernel"],
    ] {
        program.run(typed).ends_with(5).complains("gate: unclear; nothing was compared");
    }
    program
        .run(["report", "--store", file, "--gate", "--plan", "none"])
        .ends_with(2)
        .complains("no trial is of a plan named 'none'");
    let plan = |variants: &[(&str, &str)]| {
        let variant = |(name, kernel): &(&str, &str)| {
            let dir = program.home().join(name);
            std::fs::create_dir_all(&dir).unwrap();
            format!("[[variant]]\nname = \"{name}\"\n{kernel}device = {{ directory = {dir:?} }}\n")
        };
        let variants: String = variants.iter().map(variant).collect();
        let job = "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 5 }\n";
        let text = format!("question = \"?\"\nrounds = 1\nwarm-up = false\n{variants}{job}");
        std::fs::write(program.home().join("plan.toml"), text).unwrap();
        program.run(["compare", "plan.toml", "--gate", "--quiet"])
    };
    let elsewhere = "kernel = \"0.0.1-nobody\"\n";
    plan(&[("a", "")]).ends_with(5).complains("one variant has nothing to be compared with");
    plan(&[("a", elsewhere), ("b", elsewhere)]).ends_with(5).complains("under this kernel");
    plan(&[("a", ""), ("b", elsewhere)]).ends_with(5).complains("of 2 variants 1 have trials");
}

#[test]
fn selectors_and_groups_find_the_same_trials() {
    let program = program();
    let file = made_up(&program);
    fill(&file);
    let file = file.to_str().unwrap();
    let reported = |words: &[&str]| -> Value {
        let typed = ["report", "--store", file, "--format", "json"];
        let typed = typed.into_iter().chain(words.iter().copied());
        serde_json::from_str(&program.run(typed).ends_with(0).stdout).unwrap()
    };
    let one = reported(&["--baseline", "fs:btrfs", "--contender", "fs:xfs"]);
    assert_eq!(one["comparisons"][0]["verdict"], "worse");
    assert_eq!(one["comparisons"][0]["pairs"], 8);
    let target = reported(&["--baseline", "target:/nowhere/fast", "--contender", "label:slow"]);
    assert_eq!(target["comparisons"][0]["ratio"], one["comparisons"][0]["ratio"]);
    let names = |document: &Value| -> Vec<String> {
        let sides = document["contenders"].as_array().unwrap();
        sides.iter().map(|side| side["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&reported(&["--by", "fs"])), ["xfs", "btrfs"]);
    assert_eq!(names(&reported(&["--by", "fs", "--baseline", "xfs"])), ["ext4", "btrfs"]);
    assert_eq!(names(&reported(&["--baseline", "fast"])), ["base", "slow", "equal", "once"]);
}

#[test]
fn every_chart_is_written_as_a_file_and_no_other_file_is_touched() {
    let program = program();
    let file = made_up(&program);
    fill(&file);
    let dir = program.home().join("new/charts");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    let (file, charts) = (file.to_str().unwrap(), dir.to_str().unwrap());
    let typed = |format: &str| {
        let words = ["report", "--store", file, "--baseline", "base", "--contender", "slow"];
        program.run(words.into_iter().chain(["--charts", charts, "--format", format]))
    };
    // Charts are written with any format, even one for programs.
    for format in ["plain", "json", "html"] {
        let ran = typed(format).ends_with(0);
        assert!(ran.stderr.contains("2 charts written to "), "{ran}");
        let ratios = "ratios.svg";
        let rounds = "compilebench-native-ratio-by-round-create-mib-s.svg";
        assert_eq!(names(), [rounds, ratios], "{format}");
    }
    let ratios = dir.join("ratios.svg");
    let text = std::fs::read_to_string(&ratios).unwrap();
    assert!(text.contains("<svg xmlns=\"http://www.w3.org/2000/svg\"") && text.contains("slow"));
    // Charts for a paper have one column.
    let words = ["report", "--store", file, "--baseline", "base", "--contender", "slow", "-o"];
    let words = words.into_iter().chain(["/dev/null", "--format", "plain"]);
    program.run(words.clone().chain(["--charts", charts, "--paper"])).ends_with(0);
    let text = std::fs::read_to_string(&ratios).unwrap();
    assert!(text.contains("width=\"3.5in\""), "{text}");
    program.run(words.clone().chain(["--paper"])).ends_with(2);
    let unplanned = program
        .run(words.filter(|word| *word != "--format" && *word != "plain").chain(["--print-plan"]))
        .ends_with(2);
    assert!(unplanned.stderr.contains("these trials are of no plan"), "{unplanned}");
    // A file that treering did not write stays, and no other chart is written.
    let rounds = dir.join("compilebench-native-ratio-by-round-create-mib-s.svg");
    std::fs::write(&rounds, "<svg>my own</svg>").unwrap();
    std::fs::remove_file(&ratios).unwrap();
    let refused = typed("plain").ends_with(3);
    assert!(refused.stderr.contains("is not a chart made by treering"), "{refused}");
    assert_eq!(std::fs::read_to_string(&rounds).unwrap(), "<svg>my own</svg>");
    assert_eq!(names().len(), 1);
    // The same holds for the target of a link.
    std::fs::remove_file(&rounds).unwrap();
    std::os::unix::fs::symlink("/dev/null", &rounds).unwrap();
    typed("plain").ends_with(3);
    assert!(rounds.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_brief_page_fits_a_mail_and_no_width_breaks_words_or_tables() {
    let program = program();
    std::fs::create_dir_all(program.data()).unwrap();
    let file = program.data().join("made-up");
    fill(&file);
    // The name is longer than its cell, so it must be broken instead of the table.
    let long = "a-kernel-with-a-name-of-more-than-half-a-line";
    let mut store = Store::open(&file, Access::ReadWrite).unwrap();
    for (round, rate) in (0..).zip(ROUNDS) {
        record(&mut store, long, "ext4", 10 * round + 5, rate * 0.8);
    }
    drop(store);
    let file = file.to_str().unwrap();
    let typed = ["report", "--store", file, "--baseline", "base"];
    let sides = ["--contender", "slow", "--contender", "fast", "--contender", long];
    let text = |more: &[&str]| {
        let words = typed.into_iter().chain(sides).chain(more.iter().copied());
        program.run(words).ends_with(0).stdout
    };
    // By default the answer fits on a screen, and ratios above 1 mean better.
    let answer = text(&[]);
    assert!(answer.lines().count() <= 24, "{answer}");
    for part in ["slow against base", "x as good", "caution: ", "--full", "report.html"] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let brief = text(&["--brief"]);
    for part in ["slow against base", "worse", "caution", "filesystems_differ", "verdict"] {
        assert!(brief.contains(part), "{part}: {brief}");
    }
    for part in ["Exploratory", "advice:", "mkfs"] {
        assert!(!brief.contains(part), "{part}: {brief}");
    }
    assert!(brief.lines().count() < 80, "{brief}");
    // The column heads of the verdicts appear once, in one line.
    let heads: Vec<&str> = brief.lines().filter(|line| line.starts_with("metric ")).collect();
    assert!(heads.len() == 1 && heads[0].contains("verdict") && heads[0].contains("interval"));
    let page = text(&["--full", "--width", "72"]);
    // The columns fill more than one table, so the name need not be broken.
    assert!(page.lines().any(|line| line.contains(&format!("MiB/s  {long}"))), "{page}");
    for text in [brief, page] {
        assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
    }
}

/// Odd tables of two sides with ten rounds, each with the gate's exit code and what it says. A row
/// is made from its number, its side and its time without noise: the contender takes 30 % longer.
#[test]
fn a_gate_on_an_odd_table_has_the_exit_code_of_its_kind() {
    let header = "time,label,metric,value,unit,direction";
    // The sides take turns in going first, and no two values are equal.
    let row = |number: usize| {
        let (round, is_first) = (number / 2, number.is_multiple_of(2));
        let is_new = is_first == (round % 2 == 1);
        let scatter = 1.0 + (number * number * 37 % 29) as f64 / 2900.0;
        (if is_new { "new" } else { "old" }, if is_new { 130.0 } else { 100.0 } * scatter)
    };
    let time = |number: usize| format!("2026-04-03T10:{number:02}:00Z");
    type Row = fn(usize, &str, f64, String) -> String;
    let cases: [(&str, Row, i32, &str); 7] = [
        ("plain", |_, side, ms, at| format!("{at},{side},m,{ms},ms,lower"), 1, "worse"),
        (
            "two-units",
            |_, side, ms, at| match side {
                "old" => format!("{at},old,m,{ms},ms,lower"),
                _ => format!("{at},new,m,{},s,lower", ms / 1000.0),
            },
            1,
            "worse",
        ),
        (
            "rows-from-last-to-first",
            |number, side, ms, _| {
                format!("2026-04-03T10:{:02}:00Z,{side},m,{ms},ms,lower", 19 - number)
            },
            1,
            "worse",
        ),
        (
            "one-time",
            |_, side, ms, _| format!("2026-04-03,{side},m,{ms},ms,lower"),
            5,
            "not_interleaved",
        ),
        (
            "two-spellings",
            |number, side, ms, at| {
                let side = if side == "new" && number % 3 == 0 { "New" } else { side };
                format!("{at},{side},m,{ms},ms,lower")
            },
            5,
            "unpaired",
        ),
        (
            "two-directions",
            |_, side, ms, at| {
                let better = if side == "new" { "higher" } else { "lower" };
                format!("{at},{side},m,{ms},ms,{better}")
            },
            2,
            "no trial has the label 'new'",
        ),
        (
            "no-numbers",
            |_, side, ms, at| {
                let value = if side == "new" { "inf".to_owned() } else { ms.to_string() };
                format!("{at},{side},m,{value},ms,lower")
            },
            2,
            "no trial has the label 'new'",
        ),
    ];
    for (name, row_of, code, said) in cases {
        let program = program();
        let rows = (0..20).map(|number| {
            let (side, ms) = row(number);
            row_of(number, side, ms, time(number))
        });
        let text = [header.to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n");
        let table = format!("{name}.csv");
        std::fs::write(program.home().join(&table), text).unwrap();
        program.run(["import", table.as_str()]).ends_with(0);
        let gate = ["report", "--baseline", "old", "--contender", "new", "--gate", "--brief"];
        let answer = program.run(gate).ends_with(code);
        assert!(answer.stderr.contains(said), "{name}: {answer}");
    }
}
