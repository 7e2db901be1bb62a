//! Plans of workload files: variables, filesets, programs, and errors.

use super::super::draw::AttributeAmount;
use super::{FileSizes, FlowopKind, OperationClass, Plan, PlanOverrides};
use crate::language::{EndCondition, parse};

fn plan_with(
    text: &str,
    plan_overrides: &PlanOverrides,
) -> Result<Plan, treering_script::ConfigError> {
    let (script, mut messages) = parse("w.f", text.as_bytes(), &[])?;
    Plan::new(&script, plan_overrides, &mut messages)
}

fn plan(text: &str) -> Plan {
    plan_with(text, &PlanOverrides::default()).unwrap()
}

const SET: &str = "define fileset name=a,path=/tmp,entries=$n,dirwidth=20,size=8k,prealloc=80\n";

fn with_flowops(flowops: &str) -> String {
    format!("set $n=100 {SET} define process name=p {{ thread name=t {{ {flowops} }} }} run")
}

#[track_caller]
fn refused(flowops: &str, message: &str) {
    let error = plan_with(&with_flowops(flowops), &PlanOverrides::default()).unwrap_err();
    assert!(error.message.contains(message), "{}", error.message);
    assert!(error.message.starts_with("w.f:") && error.hint.is_some(), "{error:?}");
}

#[test]
fn a_later_set_applies_to_earlier_definitions() {
    let text = format!(
        "set $n=10 {SET} set $n=20 define process name=p,instances=2 {{ thread name=t,instances=3 \
         {{ flowop openfile name=o,filesetname=a,fd=1 flowop closefile name=c,fd=1 }} }}\n\
         set mode quit alldone run 5"
    );
    let plan = plan(&text);
    assert_eq!((plan.filesets[0].entries, plan.workers()), (20, 6));
    assert_eq!((plan.run_length.quit, plan.run_length.seconds), (EndCondition::AllDone, Some(5)));
    assert_eq!(plan.filesets[0].prealloc, Some(80));
    assert!(matches!(plan.filesets[0].size, AttributeAmount::Fixed(8192)));
    let plan_overrides = PlanOverrides { sizes: FileSizes::Gamma, seconds: Some(9), seed: 1 };
    let plan = plan_with(&text, &plan_overrides).unwrap();
    assert_eq!(plan.run_length.seconds, Some(9));
    let AttributeAmount::Drawn(distribution) = &plan.filesets[0].size else { panic!("not drawn") };
    assert!(distribution.mean() == 8192.0);
}

#[test]
fn composite_flowops_are_expanded() {
    let plan = plan(
        "set $n=9 define fileset name=a,path=/tmp,entries=$n,dirwidth=5 \
         define flowop name=inner,$fs { flowop openfile name=o,filesetname=$fs,fd=1 \
         flowop closefile name=c,fd=1 } \
         define flowop name=outer,$set,$times=2 { flowop inner name=i,iters=$times,$fs=$set \
         flowop statfile name=s,filesetname=$set } \
         define process name=p { thread name=t { flowop outer name=w,$set=a,$times=4 } } run 1",
    );
    let kinds: Vec<FlowopKind> = plan.threads[0].steps.iter().map(|step| step.kind).collect();
    use FlowopKind::{CloseFile, Enter, Leave, OpenFile, StatFile};
    assert_eq!(kinds, [Enter, Enter, OpenFile, CloseFile, Leave, StatFile, Leave]);
    let steps = &plan.threads[0].steps;
    assert_eq!(steps[1].iterations.fixed(), Some(4));
    assert_eq!((steps[0].begin, steps[1].begin, steps[4].begin, steps[6].begin), (6, 4, 1, 0));
    let names: Vec<&str> = plan.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["w", "w.i", "w.i.o", "w.i.c", "w.s"]);
    assert_eq!(plan.rows[0].class, OperationClass::Beside);
    assert_eq!(steps[5].fileset, Some(0));
}

#[test]
fn rows_read_by_other_flowops_are_counted_for_all_threads() {
    let plan = plan(&with_flowops(
        "flowop deletefile name=d,filesetname=a flowop createfile name=c,filesetname=a,fd=1 \
         flowop closefile name=x,fd=1 flowop finishoncount name=f,value=10,target=c \
         flowop finishonbytes name=g,value=1m",
    ));
    let watched: Vec<bool> = plan.threads[0].steps.iter().map(|step| step.watched).collect();
    assert_eq!(watched, [false, true, false, false, false]);
    assert!(plan.watches_all && plan.filesets[0].deletes);
    assert_eq!(plan.run_length.seconds, Some(60), "the default of the original");
}

#[test]
fn impossible_plans_are_refused() {
    let open = "flowop openfile name=o,filesetname=a,fd=1";
    refused("flowop closefile name=c,fd=1", "c: nothing opens fd 1");
    refused("flowop read name=r,fd=1,iosize=4k", "r: nothing opens fd 1");
    refused("flowop openfile name=o,filesetname=b", "there is no fileset b");
    refused("flowop openfile name=o", "openfile has no filename");
    refused("flowop openfile filesetname=a", "the flowop has no name");
    refused("flowop read name=r,filesetname=a", "read has no iosize");
    refused("flowop aiowrite name=r,filesetname=a,iosize=1k", "aiowrite has no random");
    refused("flowop sempost name=s,value=1,target=nobody", "there is no flowop nobody");
    refused(&format!("{open} flowop sempost name=s,value=1,target=o"), "o is no semblock");
    refused(&format!("{open} flowop bwlimit name=s,target=o"), "o moves no bytes");
    refused("flowop openfile name=o,filesetname=a,fd=128", "more than treering does");
    refused("flowop openfile name=o,filesetname=a,opennext", "keeps all files of the fileset open");
    refused(&format!("{open} flowop read name=r,filesetname=a,iosize=4k,directio"), "several ways");
    refused("flowop read name=r,filesetname=a,iosize=$x", "$x is not set");
    refused("flowop print name=r", "treering does not do this");
    for (fileset, message) in [
        ("name=a,path=/tmp,entries=1,dirwidth=1", "endlessly deep"),
        ("name=a,path=/tmp,entries=99999999,dirwidth=9", "more than treering does"),
        ("name=a/b,path=/tmp,entries=1,dirwidth=9", "no name of a directory"),
        ("name=a,entries=1,dirwidth=9", "has no path"),
        ("name=a,path=/tmp,entries=1,dirwidth=9,prealloc=101", "no percentage"),
    ] {
        let text = format!("define fileset {fileset} run 1");
        let error = plan_with(&text, &PlanOverrides::default()).unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
    }
    let error = plan_with(
        "define fileset name=a,path=/tmp,entries=1,dirwidth=9 run 1",
        &PlanOverrides::default(),
    );
    assert!(error.unwrap_err().message.contains("there is no thread"));
}

#[test]
fn recursive_composites_are_refused() {
    let text = "define flowop name=a { flowop b name=x } define flowop name=b { flowop a name=y } \
                define process name=p { thread name=t { flowop a name=z } } run 1";
    let error = plan_with(text, &PlanOverrides::default()).unwrap_err();
    assert!(error.message.contains("grow without end"), "{}", error.message);
    // Wide ones as well.
    let mut wide = String::new();
    for n in 0..20 {
        let next = n + 1;
        let uses = format!("flowop f{next} name=x{n} ").repeat(8);
        wide += &format!("define flowop name=f{n} {{ {uses} }} ");
    }
    let text = format!(
        "{wide} define flowop name=f20 {{ flowop hog name=h,value=1 }} \
         define process name=p {{ thread name=t {{ flowop f0 name=z }} }} run 1"
    );
    let error = plan_with(&text, &PlanOverrides::default()).unwrap_err();
    assert!(error.message.contains("grow without end"), "{}", error.message);
}

#[test]
fn tables_and_bounds_follow_the_original() {
    let text = |randvar: &str| {
        format!(
            "set $s=randvar({randvar}) define fileset name=a,path=/tmp,entries=1,dirwidth=9,size=$s \
             define process name=p {{ thread name=t {{ flowop hog name=h,value=1 }} }} run 1"
        )
    };
    let plan = plan(&text("type=tabular,min=1k,round=1k,randtable={{50,1k,1k},{50,2k,4k}}"));
    let AttributeAmount::Drawn(distribution) = &plan.filesets[0].size else { panic!("drawn") };
    assert!((distribution.mean() - 2048.0).abs() < 1.0, "{}", distribution.mean());
    for (randvar, message) in [
        ("type=tabular,randtable={{50,1k,1k}}", "do not sum to 100"),
        ("type=tabular,randtable={{50,1k,1k},{51,1,2}}", "more than 100"),
        ("type=tabular,randtable={{100,2k,1k}}", "above the greatest"),
        ("type=gamma,gamma=0", "gamma is 0"),
    ] {
        let error = plan_with(&text(randvar), &PlanOverrides::default()).unwrap_err();
        assert!(error.message.contains(message), "{}", error.message);
    }
}
