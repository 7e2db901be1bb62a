//! Documentation of the command line: the help of every verb as one golden file, and the documents
//! that name its options.

use std::path::Path;

use treering_script::{OptionSpec, ValueKind};
use treering_testkit::Program;

use crate::program;

/// Collects the help of a verb and of its subcommands.
fn help(program: &Program, verb: &[String], pages: &mut String) {
    let words = verb.iter().map(String::as_str);
    let reported = program.run(words.chain(["--help"])).ends_with(0);
    assert_eq!(reported.stderr, "", "help is what was asked for");
    let title = [&["treering".to_owned()], verb].concat().join(" ");
    *pages += &format!("$ {title} --help\n{}\n", reported.stdout);
    let help_lines = reported.stdout.lines();
    let lines: Vec<&str> = if verb.is_empty() {
        // The top level lists the verbs in groups, and the imitated tools in one line.
        help_lines.take_while(|line| *line != "Options:").collect()
    } else {
        let commands = help_lines.skip_while(|line| *line != "Commands:").skip(1);
        commands.take_while(|line| !line.is_empty()).collect()
    };
    // Names begin in the third column; a line with more indentation continues the previous one.
    let names = lines.into_iter().flat_map(|line| {
        let names = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        let names = names.unwrap_or_default();
        match names.split_once(", ") {
            Some((first, _)) if !first.contains(' ') => names.split(", ").collect::<Vec<_>>(),
            _ => names.split(' ').take(1).filter(|name| !name.is_empty()).collect(),
        }
    });
    for name in names.filter(|name| *name != "help") {
        help(program, &[verb, &[name.to_owned()]].concat(), pages);
    }
}

#[test]
fn the_whole_reference_equals_the_golden_file() {
    let mut pages = String::new();
    help(&program(), &[], &mut pages);
    insta::assert_snapshot!("reference", pages);
}

#[test]
fn verbs_have_short_help_and_a_version() {
    let program = program();
    for verb in [&["list"][..], &["show"], &["run", "compilebench"], &["dataset", "record"]] {
        let short = program.run(verb.iter().chain(&["-h"])).ends_with(0);
        assert!(short.stdout.contains("Usage: treering"), "{short}");
        let version = program.run(verb.iter().chain(&["--version"])).ends_with(0);
        assert!(version.stdout.contains(env!("CARGO_PKG_VERSION")), "{version}");
    }
}

#[test]
fn a_missing_verb_shows_help_and_is_a_usage_error() {
    let ran = program().run::<&str>([]).ends_with(2);
    assert!(
        ran.stderr.contains("Usage: treering [OPTIONS] <COMMAND>") && ran.stdout.is_empty(),
        "{ran}"
    );
}

/// Options of `treering run` that are not keys of plans, each with the reason.
const NOT_IN_PLANS: [(&str, &str); 16] = [
    ("dir", "a variant has a device or a directory"),
    ("label", "a trial has the name of its variant"),
    ("store", "the one who runs a plan decides where results go"),
    ("no-store", "the one who runs a plan decides where results go"),
    ("dry-run", "it is asked of the command that runs the plan"),
    ("calls", "it goes with --dry-run"),
    ("keep", "a plan makes filesystems anew, or removes what it made"),
    ("quiet", "it is asked of the command that runs the plan"),
    ("events", "it is asked of the command that runs the plan"),
    ("erase", "plans refuse jobs that name devices"),
    ("check", "it compares two ways to run a job, not two variants"),
    ("turns", "it goes with --check"),
    ("format", "it goes with --check"),
    ("color", "it is about the terminal"),
    ("help", "it is about the command line"),
    ("version", "it is about the program"),
];

#[test]
fn every_run_option_is_a_plan_key_or_a_listed_exception() {
    let program = program();
    let sections = treering_conduct::plan::document::sections();
    let keys: Vec<&str> = sections.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
    let mut seen = std::collections::BTreeSet::new();
    for workload in treering_registry::workloads() {
        let manifest = workload.manifest();
        let help = program.run(["run", manifest.name, "--help"]).ends_with(0).stdout;
        let options = help.lines().filter_map(|line| {
            let line = line.trim_start();
            let long =
                line.strip_prefix("--").or_else(|| line.split_once(", --").map(|it| it.1))?;
            let is_option = line.starts_with('-');
            let end = long.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            is_option.then(|| long[..end.unwrap_or(long.len())].to_owned())
        });
        for option in options {
            let is_of_workload = manifest.native.iter().any(|spec| spec.name == option);
            let is_excused = NOT_IN_PLANS.iter().any(|(name, _)| *name == option);
            assert!(
                is_of_workload || is_excused || keys.contains(&option.as_str()),
                "run {}: plans have no `{option}`, and no reason is given",
                manifest.name
            );
            seen.insert(option);
        }
    }
    for (name, reason) in NOT_IN_PLANS {
        assert!(seen.contains(name) && !reason.is_empty(), "no run has --{name} any more");
        assert!(!keys.contains(&name), "plans have `{name}` by now");
    }
}

/// Text of the document of a workload.
fn document(name: &str) -> String {
    let name = name.trim_end_matches('+');
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join("workloads").join(format!("{name}.md"))).unwrap()
}

#[test]
fn the_classic_table_has_every_option_in_short_and_long_form() {
    for workload in treering_registry::workloads() {
        let manifest = workload.manifest();
        // Rows of native options are left out.
        let document = treering_script::with_option_table(&document(manifest.name), &[]);
        for spec in manifest.classic {
            let long = format!("`--{}`", spec.name);
            let cell = match spec.short {
                Some(short) => format!("| `-{short}`, {long} |"),
                None if matches!(spec.value, ValueKind::Operand | ValueKind::Operands) => {
                    format!("| `{}` |", spec.name)
                }
                None => format!("| {long} |"),
            };
            let row = document.lines().find(|line| line.starts_with(&cell));
            let row = row.unwrap_or_else(|| panic!("{}.md has no row {cell}", manifest.name));
            assert!(names_the_default(row, spec), "the default of {long} is not in: {row}");
        }
    }
}

/// True if the row contains the option's default as a word, or the option has no default.
fn names_the_default(row: &str, spec: &OptionSpec) -> bool {
    let separates = |c: char| c.is_whitespace() || "|`,;:()[]".contains(c);
    spec.default.is_none_or(|default| row.split(separates).any(|word| word == default))
}

#[test]
fn the_tables_of_native_options_are_made_from_the_declarations() {
    for workload in treering_registry::workloads() {
        let manifest = workload.manifest();
        let document = document(manifest.name);
        let made = treering_script::with_option_table(&document, manifest.native);
        let how = "run `cargo run -p treering-registry --example option_tables`";
        assert!(document == made, "{}.md: {how}", manifest.name);
    }
}

#[test]
fn the_help_names_every_option_with_its_default() {
    let program = program();
    for workload in treering_registry::workloads() {
        let manifest = workload.manifest();
        for (verb, specs) in [(&[][..], manifest.classic), (&["run"], manifest.native)] {
            if verb.is_empty() && !manifest.has_classic() {
                continue;
            }
            let words = verb.iter().chain([&manifest.name, &"--help"]);
            // Lines are wrapped between words only.
            let help = program.run(words).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            for spec in specs {
                let name = match spec.value {
                    ValueKind::Operand | ValueKind::Operands => format!("[{}]", spec.name),
                    ValueKind::Words => format!("[{}]...", spec.name),
                    _ => format!("--{}", spec.name),
                };
                assert!(help.contains(&name), "{}", spec.name);
                if let Some(short) = spec.short {
                    assert!(help.contains(&format!("-{short}, --{}", spec.name)), "{}", spec.name);
                }
                if let Some(default) = spec.default {
                    let reported = format!("[default: {default}]");
                    assert!(help.contains(&reported), "{}: {reported}", spec.name);
                }
            }
        }
    }
}

#[test]
fn every_caution_has_its_row_in_the_documents() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let (fair, json) = (read("fair.md"), read("json.md"));
    for code in treering_model::CautionCode::ALL {
        assert!(fair.contains(&format!("\n| `{}` | ", code.name())), "{}", code.name());
    }
    let gate = read("gate.md");
    let (_, list) = gate.split_once("whatever the numbers say:\n").unwrap();
    let (list, _) = list.trim_start().split_once("\n\n").unwrap();
    for code in treering_analysis::compare::ComparisonCautionCode::ALL {
        let is_listed = list.contains(&format!("`{}`", code.name()));
        assert_eq!(is_listed, code.stops_gate(), "{} in gate.md", code.name());
        assert!(json.contains(&format!("\n| `{}` | ", code.name())), "{}", code.name());
    }
}
