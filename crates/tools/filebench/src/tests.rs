//! Parsing and formatting of workload files; errors with their positions.

use super::show_workload;
use crate::language::{SetupAction, parse, text};

/// Adds the statements that make these lines a complete workload file.
fn around(lines: &str) -> String {
    format!(
        "define fileset name=a,path=/tmp,entries=10,dirwidth=20,size=4k,prealloc\n{lines}\n\
         define process name=p {{ thread name=t {{ flowop openfile name=o,filesetname=a,fd=1\n\
         flowop closefile name=c,fd=1 }} }}\nrun 1\n"
    )
}

#[track_caller]
fn error(lines: &str, message: &str, hint: &str) {
    let error = show_workload("w.f", around(lines).as_bytes()).unwrap_err();
    assert!(error.message.contains(message), "{}", error.message);
    let text = error.hint.unwrap();
    assert!(text.contains(hint), "{text}");
}

#[test]
fn formatted_workloads_parse_to_the_same_script() {
    let lines = "set $x=16k # a comment\nset $w=$x\nset $x=16k\nset $y = true set $z=/mnt/a_b-c.d set $q=\"two words\"\n\
         set $r=randvar(type=uniform,min=1,mean=10,round=2)\n\
         set $t=randvar(type=tabular, randtable={{40,1k,2k},{60,$x,1m}})\n\
         set $g=cvar(type=cvar-gamma,parameters=mean:1000;gamma:2.5,min=10)\n\
         define flowop name=mix,$fs,$n=3 { flowop openfile name=oo,filesetname=$fs,fd=2,iters=$n \
         flowop closefile name=cc,fd=2,iters=$n }\n\
         set mode quit firstdone eventgen rate=100\n\
         echo \"size $x of $q.\\n\" sleep 1 version list flowop create files enable lathist\n\
         define process name=q,instances=2 { thread name=u,memsize=1m,instances=$x \
         { flowop mix name=m,$fs=a } }";
    let whole = around(lines).replace("instances=$x", "instances=3");
    let (script, _) = parse("w.f", whole.as_bytes(), &[]).unwrap();
    let shown = text(&script);
    let (again, _) = parse("w.f", shown.as_bytes(), &[]).unwrap();
    assert_eq!(text(&again), shown);
    for line in [
        "set $x=16384",
        "set $w=16384",
        "set $q=\"two words\"",
        "set $t=randvar(type=tabular,randtable={{40,1024,2048},{60,$x,1048576}})",
        "define flowop name=mix,$fs,$n=3",
        "    flowop mix name=m,$fs=a",
        "echo \"size 16384 of two words.\\n\"",
        "set mode quit firstdone",
        "run 1",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "no {line:?} in:\n{shown}");
    }
}

#[test]
fn errors_are_reported_with_their_position() {
    error("sett $x=1", "w.f:2:1: 'sett' is no statement", "perhaps set is meant");
    error("set $x=10K", "w.f:2:8: '10K' is not a number", "k, m or g");
    error("set $x=$y", "w.f:2:8: $y has no value yet", "a line before");
    error("set $x=2*3", "there is no arithmetic", "write the result");
    error("set $x=2\nset $z=4 /2", "w.f:3:10: there is no arithmetic", "write the result");
    error("eventgen rate=$x,/2", "'/2' is no attribute", "rate");
    error("define randvar name=$x, type=gamma", "define randvar", "set $name=randvar");
    error("define file name=f,path=/tmp,cached=true", "cached: filebench 1.5", "leave it out");
    error("define fileset name=b,path=/tmp,entrys=5", "'entrys' is no attribute", "entries");
    error("system \"rm x\"", "treering does not run 'rm x'", "before");
    error("enable multi master=a,client=b", "several machines", "each machine");
    error("echo \"$nothing\"", "$nothing is not set before", "set it first");
    error("echo \"open", "no closing quotation mark", "close it");
    error("set $g=cvar(type=cvar-gama)", "none of a custom variable", "cvar-gamma");
    error("set $g=cvar(type=cvar-gamma,parameters=men:1)", "'men' is no parameter", "mean");
    error("set $g=randvar(type=tabular)", "no randtable", "add randtable");
    error("define process name=x { }", "the process has no thread", "thread name");
    error("define process name=x { thread name=y { flowop reed name=z } }", "'reed'", "read");
    error("set $a.mean=5", "cannot be set alone", "randvar");
    error("\u{1b}[2J", "w.f:2:1: '\\u{1b}' begins no word", "quotation marks");
}

#[test]
fn command_line_variables_override_the_file_and_must_exist_in_it() {
    let overrides = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
    let whole = around("set $n=5 set $other=6 set $n=7");
    let (script, _) = parse("w.f", whole.as_bytes(), &overrides("n", "2k")).unwrap();
    assert!(text(&script).contains("set $n=2048\nset $other=6\n"));
    let error = parse("w.f", whole.as_bytes(), &overrides("othr", "1")).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("perhaps other is meant"));
    assert!(parse("w.f", whole.as_bytes(), &overrides("n", "2x")).is_err());
}

#[test]
fn statements_after_run_are_ignored_with_a_warning() {
    let (_, warnings) = show_workload("w.f", (around("") + "nonsense").as_bytes()).unwrap();
    assert_eq!(warnings, ["w.f:6:1: what stands after the run is never reached"]);
}

#[test]
fn the_commands_of_a_cold_cache_are_known_and_no_others() {
    let cold = [
        "system \"sync\"\nsystem \"echo 3 > /proc/sys/vm/drop_caches\"",
        "system \"sync; echo 3 >/proc/sys/vm/drop_caches\"",
        "system \"sync && sysctl -w vm.drop_caches=3\"",
    ];
    for commands in cold {
        let text = around(&format!("create files\n{commands}"));
        let (script, _) = parse("w.f", text.as_bytes(), &[]).unwrap();
        let actions = &script.actions;
        assert!(actions.contains(&SetupAction::Sync), "{commands}");
        assert!(actions.contains(&SetupAction::DropCaches), "{commands}");
    }
}
