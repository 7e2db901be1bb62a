//! Arbitrary bytes: the import ends, does not panic, and invents nothing.

use proptest::prelude::*;
use treering_model::{RunMode, TrialBuilder, TrialHeader, TrialId};
use treering_registry::{ImportedTrial, PhaseRows, events_of, import};

use crate::blogbench::BLOGBENCH;
use crate::bonnie::BONNIE;
use crate::dbench::DBENCH;
use crate::filebench::FILEBENCH;
use crate::fio::{FIO_JSON, FIO_NEW, FIO_OLD};
use crate::general::{GOOGLE_BENCHMARK, HYPERFINE, TABLE};
use crate::io500::{RESULT, SUMMARY};
use crate::ior::IOR;
use crate::logs::{COMPILEBENCH, FS_MARK};
use crate::mdtest::MDTEST;

/// Generates pieces of logs, complete and truncated lines, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let texts = [
        COMPILEBENCH,
        FS_MARK,
        BONNIE,
        DBENCH,
        BLOGBENCH,
        MDTEST,
        IOR,
        SUMMARY,
        RESULT,
        FIO_OLD,
        FIO_NEW,
        FIO_JSON,
        FILEBENCH,
        GOOGLE_BENCHMARK,
        HYPERFINE,
        TABLE,
    ];
    let lines: Vec<String> = texts.into_iter().flat_map(str::lines).map(str::to_owned).collect();
    let own = [
        "FFSB version 6.0-RC2 started",
        "Results:",
        "Benchmark took 11.44 sec",
        "create : 20\t 1.75\t 0.189%\t\t 5.263%\t 6.99KB/sec",
        "10.0% CPU Utilization",
        "@R@2@90760@95.00@9@355.893@",
        ";95;2;2;3.1;",
        "@E@0@812",
        "   0 completed in 800 ms at time 800 ms",
        "blogbench 1.2",
        "3;fio-3.33;a;0;0;1;1",
        "11.770: Per-Operation Breakdown",
        "{\"treering_export\":{\"version\":1},\"trials\":[",
        "{\"event\":\"began\"}",
        "trial,workload,mode,label,metric,scope,scope_name,value,unit,better,primary,tasks",
        "a,b,native,c,d,trial,,1,s,lower,true,1",
        "time;metric;value;unit;direction",
        "2026-04-03;\"a;1;s;lower",
        "2026-04-03,a,1e400,s,lower",
        "{\"results\":[{\"command\":\"a\",\"times\":[1,-0.0,1e308]}]}",
        "{\"context\":{\"date\":\"\"},\"benchmarks\":[{\"name\":\"a\",\"real_time\":1e308}]}",
    ];
    let lines: Vec<String> = lines.into_iter().chain(own.map(str::to_owned)).collect();
    let line = prop::sample::select(lines);
    let torn = (line.clone(), 0..80_usize).prop_map(|(line, at)| line.chars().take(at).collect());
    let digits = line.clone().prop_map(|line| line.replace(['0', '1', '2'], "99999999"));
    prop::collection::vec(prop_oneof![line, torn, digits, ".{0,40}"], 0..60)
        .prop_map(|lines| lines.join("\n"))
}

/// Generates documents of programs with some numbers replaced.
fn documents() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("18446744073709551615".to_owned()),
        Just("-1".to_owned()),
        Just("1e300".to_owned()),
        Just("\"\"".to_owned()),
        Just("{}".to_owned()),
        any::<u64>().prop_map(|number| number.to_string()),
    ];
    let document = prop::sample::select(vec![
        FIO_JSON.to_owned(),
        HYPERFINE.replace("        ", " : "),
        GOOGLE_BENCHMARK.replace(": ", " : "),
    ]);
    let numbers = prop::collection::vec((0..200_usize, number), 1..8);
    (document, numbers).prop_map(|(document, others)| {
        let mut parts: Vec<String> = document.split(" : ").map(str::to_owned).collect();
        for (place, number) in others {
            let Some(part) = parts.get_mut(place) else { continue };
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                part.replace_range(..digits, &number);
            }
        }
        parts.join(if document.contains("fio") { " : " } else { ": " })
    })
}

proptest! {
    #[test]
    fn import_of_arbitrary_bytes_terminates(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let imported = import(&bytes);
        prop_assert!(imported.skipped_lines <= imported.lines);
    }

    #[test]
    fn corrupted_logs_give_consistent_trials(text in prop_oneof![pieces(), documents()]) {
        let imported = import(text.as_bytes());
        let mut last = 0;
        for output in &imported.found {
            prop_assert!(output.lines.0 >= 1 && output.lines.1 <= imported.lines);
            prop_assert!(output.lines.0 > last || output.nth > 0);
            last = output.lines.1;
            let ImportedTrial::Foreign(trial) = &output.content else { continue };
            let beginning = TrialHeader::new(TrialId::new(), "", RunMode::Classic);
            let trial = trial.as_ref().clone().with(beginning);
            prop_assert!(trial.metrics.iter().all(|metric| metric.value.is_finite()));
            let mut builder = TrialBuilder::default();
            for event in events_of(&trial, &PhaseRows::default()) {
                prop_assert!(builder.push(&event).is_ok());
            }
            prop_assert_eq!(builder.finish(), Some(trial));
        }
        for remark in &imported.remarks {
            prop_assert!(remark.line >= 1 && remark.line <= imported.lines.max(1));
            prop_assert!(!remark.what.chars().any(char::is_control), "{:?}", remark.what);
        }
    }
}
