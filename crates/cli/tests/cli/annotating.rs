//! Annotations of stored trials: changed labels, trials excluded from comparisons, and the data for
//! programs.

use serde_json::Value;
use treering_testkit::{FourLists, Program};

use crate::program;

/// Program whose store has an imported log of fs_mark for each label and rate (files/s).
fn imported(rates: &[(&str, &str)]) -> Program {
    let program = program();
    for (label, rate) in rates {
        let log = format!(
            "#  ./fs_mark  -d  /mnt/a  -s  0  -n  1000  -L  1\n\
             #\tVersion 3.3, 1 thread(s) starting at Thu Nov 20 19:08:46 2025\n\n\
             FSUse%        Count         Size    Files/sec     App Overhead\n     \
             0         1000            0      {rate}            12345\n"
        );
        let file = program.home().join(format!("{label}-{rate}.log"));
        std::fs::write(&file, log).unwrap();
        program.run(["import", file.to_str().unwrap(), "--label", label]).ends_with(0);
    }
    program
}

fn data(program: &Program, words: &[&str]) -> Value {
    let words = [words, &["--format", "json"]].concat();
    serde_json::from_str(&program.run(words).ends_with(0).stdout).unwrap()
}

/// Identities of the trials, oldest import last.
fn ids(program: &Program) -> Vec<String> {
    let list = data(program, &["list"]);
    let trials = list["trials"].as_array().unwrap().iter();
    trials.map(|trial| trial["id"].as_str().unwrap().to_owned()).collect()
}

/// Identity of the trial with this rate.
fn with_rate(program: &Program, rate: f64) -> String {
    let is_it = |id: &&String| {
        let shown = data(program, &["show", id]);
        let metrics = shown["metrics"].as_array().unwrap();
        metrics.iter().any(|metric| (metric["value"].as_f64().unwrap() - rate).abs() < 0.05)
    };
    ids(program).iter().find(is_it).unwrap().clone()
}

#[test]
fn trials_are_relabelled_and_the_first_label_is_reported() {
    let program = imported(&[("old", "100.0"), ("new", "200.0")]);
    let id = with_rate(&program, 200.0);
    program.run(["label", &id, "v6.12"]).ends_with(0);
    assert_eq!(data(&program, &["list", "--label", "v6.12"])["trials"][0]["id"], id.as_str());
    assert_eq!(data(&program, &["list", "--label", "new"])["trials"], Value::Array(Vec::new()));
    let shown = data(&program, &["show", &id]);
    assert_eq!(shown["label"], "v6.12");
    assert_eq!(shown["annotations"][0]["was"], "new");
    let page = program.run(["show", &id]).ends_with(0).stdout;
    assert!(page.contains("v6.12") && page.contains("label when it was recorded"), "{page}");
    program.run(["report", "--baseline", "old", "--contender", "v6.12"]).ends_with(0);
    program.run(["label", "ffffffff", "x"]).ends_with(2).complains("ffffffff");
}

#[test]
fn an_excluded_trial_is_left_out_and_the_page_says_which_and_why() {
    let rates = [("old", "100.0"), ("old", "101.0"), ("new", "200.0"), ("new", "900.0")];
    let program = imported(&rates);
    let id = with_rate(&program, 900.0);
    let report = ["report", "--baseline", "old", "--contender", "new"];
    let runs = |words: &[&str]| data(&program, words)["comparisons"][0]["contender_runs"].clone();
    assert_eq!(runs(&report), 2);

    program.run(["exclude", &id]).ends_with(2);
    program.run(["exclude", &id, "--reason", " "]).ends_with(2).complains("--reason is empty");
    program.run(["exclude", &id, "--reason", "a backup ran"]).ends_with(0);
    assert_eq!(runs(&report), 1);
    let page = program.run([&report[..], &["--full"]].concat()).ends_with(0).stdout;
    assert!(page.contains("1 trial was excluded") && page.contains("a backup ran"), "{page}");
    let comparison = data(&program, &report);
    let is_reported = |one: &Value| one["code"] == "trials_excluded";
    assert!(comparison["cautions"].as_array().unwrap().iter().any(is_reported), "{comparison}");
    // An excluded trial is compared if all are included, or if it is named.
    assert_eq!(runs(&[&report[..], &["--include-excluded"]].concat()), 2);
    let selector = format!("id:{id}");
    assert_eq!(runs(&["report", "--baseline", "old", "--contender", &selector]), 1);
    let named = ["report", "--full", "--baseline", "old", "--contender", &selector];
    let named = program.run(named).ends_with(0);
    assert!(named.stdout.contains("compared since they were named"), "{named}");
    // If all trials of a side are excluded, the error says so.
    let other = with_rate(&program, 200.0);
    program.run(["exclude", &other, "--reason", "warm caches"]).ends_with(0);
    let nothing = program.run(report).ends_with(2);
    assert!(nothing.stderr.contains("all excluded: 2"), "{nothing}");

    // Nothing is deleted: lists and exports show the trial, and it can be included again.
    let listed = data(&program, &["list"]);
    let of = |id: &str| {
        let mut trials = listed["trials"].as_array().unwrap().iter();
        trials.find(|trial| trial["id"] == id).unwrap().clone()
    };
    assert_eq!(
        (of(&id)["excluded"].clone(), of(&id)["state"].clone()),
        ("a backup ran".into(), "completed".into())
    );
    assert!(program.run(["list"]).ends_with(0).stdout.contains("excluded"));
    assert_eq!(data(&program, &["show", &id])["excluded"], "a backup ran");
    program.run(["include", &id, &other]).ends_with(0);
    assert_eq!(runs(&report), 2);
    assert_eq!(data(&program, &["show", &id])["excluded"], Value::Null);
    assert_eq!(data(&program, &["show", &id])["annotations"].as_array().unwrap().len(), 2);
    program.run(["include", &id]).ends_with(0).complains("was not excluded");
}

#[test]
fn exclusions_travel_with_exports() {
    let program = imported(&[("old", "100.0")]);
    let id = ids(&program).remove(0);
    program.run(["exclude", &id, "--reason", "a backup ran"]).ends_with(0);
    program.run(["export", "-o", "all.json"]).ends_with(0);
    program.run(["import", "all.json", "--store", "other.db"]).ends_with(0);
    let there = data(&program, &["show", &id, "--store", "other.db"]);
    assert_eq!(there["excluded"], "a backup ran");
}

#[test]
fn json_is_complete_and_omits_unknown_values() {
    let program = imported(&[("old", "100.0")]);
    let list = data(&program, &["list"]);
    assert_eq!(
        (list["format"].clone(), list["version"].clone()),
        ("treering list".into(), 1.into())
    );
    let trial = &list["trials"][0];
    assert_eq!(trial["id"].as_str().unwrap().len(), 36);
    assert_eq!(trial["started"], "2025-11-20T19:08:46Z");
    assert!(trial["metrics"][0]["value"].is_f64() && trial["metrics"][0]["unit"].is_string());
    let show = data(&program, &["show"]);
    assert_eq!(
        (show["format"].clone(), show["version"].clone()),
        ("treering show".into(), 1.into())
    );
    assert_eq!(show["imported_from"], "fs_mark 3.3");
    let phase = show["phases"][0].as_object().unwrap();
    for unknown in ["user_seconds", "system_seconds", "cpu_percent", "tasks", "bytes"] {
        assert!(!phase.contains_key(unknown), "{unknown}: {phase:?}");
    }
    assert_eq!(phase["files"], 1000);
    let export: Value = serde_json::from_str(&program.run(["export"]).ends_with(0).stdout).unwrap();
    assert_eq!(export["treering_export"]["version"], 2);
    let phase = export["trials"][0]["phases"][0].as_object().unwrap();
    assert!(!phase.contains_key("cpu") && !phase.contains_key("tasks"), "{phase:?}");
    let page = program.run(["show"]).ends_with(0).stdout;
    let (figures, environment) = (page.find("Figures"), page.find("Environment"));
    assert!(
        figures.is_some() && figures < environment && figures < page.find("Parameters"),
        "{page}"
    );

    let doctor = data(&program, &["doctor", "."]);
    assert_eq!(doctor["format"], "treering doctor");
    let facts = doctor["environment"].as_array().unwrap();
    assert!(facts.iter().all(|fact| fact["name"].is_string() && fact["value"].is_string()));
    assert!(doctor["cautions"].is_array() && doctor["obstacles"].is_array());
}

#[test]
fn an_unknown_plan_is_reported_with_the_known_ones() {
    let program = program();
    let plan = ["compare", "--directories", "a,b", "--rounds", "1", "--no-warm-up", "-q"];
    let more = ["--no-control", "--name", "filesystems", "--", "--dataset", "./lists"];
    FourLists::tiny().write_to(&program.home().join("lists"));
    std::fs::create_dir(program.home().join("a")).unwrap();
    std::fs::create_dir(program.home().join("b")).unwrap();
    program.run(plan.iter().chain(&more).chain(&["-i", "1", "-r", "1"])).ends_with(0);
    let ran = program.run(["report", "--plan", "filesystem"]).ends_with(2);
    assert!(ran.stderr.contains("no trial is of a plan named 'filesystem'"), "{ran}");
    assert!(ran.stderr.contains("there is one: filesystems"), "{ran}");
}

#[test]
fn summaries_begin_with_the_primary_figures() {
    let program = program();
    let job = "[mixed]\nrw=randrw\nbs=4k\nsize=1m\nioengine=psync\nrandrepeat=1\n";
    std::fs::write(program.home().join("j.fio"), job).unwrap();
    let ran = program.run(["run", "fio", "j.fio", "--dir", "d"]).ends_with(0);
    let words =
        ["mixed read", "mixed write", "ops/s", "MiB/s", "mean", "p50", "p99.9", "max", "timed"];
    for word in words {
        assert!(ran.stdout.contains(word), "{word}: {ran}");
    }
    assert!(ran.stdout.contains("fewer than 10 requests exceed it"), "{ran}");
    let show = data(&program, &["show"]);
    let requests = show["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 2, "{requests:?}");
    let number =
        |row: &Value, name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
    let timed: f64 = requests.iter().map(|row| number(row, "timed")).sum();
    assert!((timed - 256.0).abs() < 0.5, "every request of 4 KiB was timed: {requests:?}");
    for row in requests {
        assert!(
            row["of"] == "mixed" && (row["direction"] == "read" || row["direction"] == "write")
        );
        let (p50, p99, p999) =
            (number(row, "p50_ns"), number(row, "p99_ns"), number(row, "p999_ns"));
        assert!(p50 <= p99 && p99 <= p999 && number(row, "mean_ns") > 0.0, "{row}");
        assert!(number(row, "max_ns") * 1.02 >= p999, "{row}");
        assert!(number(row, "operations_per_second") > 0.0 && number(row, "mib_per_second") > 0.0);
        assert_eq!(row["beyond_p999"], 0, "{row}");
    }
    let page = program.run(["show"]).ends_with(0).stdout;
    assert!(page.find("mixed read") < page.find("Parameters"), "{page}");

    program
        .run([
            "run",
            "filebench",
            "webserver",
            "--files",
            "20",
            "--threads",
            "2",
            "--seconds",
            "1",
            "--dir",
            "d",
            "-q",
        ])
        .ends_with(0);
    let rows = data(&program, &["show"])["requests"].clone();
    let labels: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["of"].as_str().unwrap()).collect();
    assert!(labels.contains(&"") && labels.contains(&"readfile1"), "{labels:?}");
    let words = ["run", "dbench", "--dir", "e", "--clients", "1", "--passes", "1", "--blocks", "1"];
    program.run(words).ends_with(0);
    // The run itself ends with its first rows.
    let page = program.run(["show"]).ends_with(0).stdout;
    assert!(page.contains("Flush") && page.contains("p99.9"), "{page}");
}

#[test]
fn trials_are_deleted_after_a_confirmation_and_the_reason_is_kept() {
    let program = imported(&[("old", "100.0"), ("new", "200.0")]);
    let (gone, kept) = (with_rate(&program, 100.0), with_rate(&program, 200.0));
    let reason = ["--reason", "the wrong kernel"];
    program.run(["delete", &gone]).ends_with(2).complains("--reason");
    let options = [&["delete", &gone], &reason[..]].concat();
    program.run(&options).ends_with(2).complains("--yes deletes without asking");
    program.run([&options[..], &["--dry-run"]].concat()).ends_with(0).complains("would be deleted");
    program
        .run(["delete", "zzzz", "--yes", "--reason", "x"])
        .ends_with(2)
        .complains("`treering list`");
    assert_eq!(ids(&program).len(), 2);

    let done = program.run([&options[..], &["--yes"]].concat()).ends_with(0);
    assert!(done.stderr.contains("1 trial deleted"), "{done}");
    assert_eq!(ids(&program), [kept]);
    program.run(["show", &gone]).ends_with(2);
    let info = program.run(["store", "check"]).ends_with(0);
    assert!(
        info.stdout.contains("1 trials read, no fault found") || info.stdout.contains("1 trial "),
        "{info}"
    );
    let file = done.stderr.rsplit("the reason is in ").next().unwrap().trim();
    let line: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((&line["trial"], &line["reason"]), (&gone.into(), &"the wrong kernel".into()));
}
