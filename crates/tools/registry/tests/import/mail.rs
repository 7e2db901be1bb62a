//! Published report of 2012, which is not part of the project: two kernels and four tools in one
//! mail.

use treering_model::{CautionCode, Metric, Scope};
use treering_registry::{ForeignTrial, ImportedTrial, import};
use treering_testkit::{shared, skip};

#[test]
fn the_published_mail_holds_eight_outputs() {
    let Some(path) = shared("seeds/001_26b0cef4a741bd4e.txt") else {
        skip("the published mail is not here");
        return;
    };
    let imported = import(&std::fs::read(path).unwrap());
    let tools: Vec<&str> = imported.found.iter().map(|output| output.tool).collect();
    let expected = ["fs_mark", "ffsb", "fio", "compilebench"];
    assert_eq!(tools, expected.map(|tool| [tool, tool]).concat());
    let trial = |place: usize| -> &ForeignTrial {
        match &imported.found[place].content {
            ImportedTrial::Foreign(trial) => trial,
            ImportedTrial::Own(_) => panic!("an own trial"),
        }
    };
    for place in [0, 1] {
        assert_eq!(trial(place).phases.len(), 30);
        assert_eq!(trial(place).target.split(' ').count(), 8);
    }
    // What the shares of operations come to: published nowhere, and few.
    let operations = |place: usize| {
        let named = |metric: &&Metric| metric.name == "operations";
        trial(place).metrics.iter().find(named).unwrap().value
    };
    assert_eq!((operations(2), operations(3)), (38.0, 73.0));
    for place in [2, 3] {
        assert_eq!(trial(place).cautions[0].code, CautionCode::TooFewOperations);
    }
    for place in [4, 5] {
        fio(trial(place), place);
    }
    for place in [6, 7] {
        assert_eq!(trial(place).tasks.len(), 133);
        assert!(!trial(place).is_interrupted);
    }
    // The summary agrees with the lines; only blktrace spoke between them. Of fio it is reported
    // that it is taken for a run of a given time.
    let remarks: Vec<usize> = imported.remarks.iter().map(|remark| remark.line).collect();
    assert_eq!(remarks, [463, 574, 722, 877], "{:?}", imported.remarks);
}

/// Checks the figures of the four groups: 8 KiB times the number of operations, over the time.
fn fio(trial: &ForeignTrial, place: usize) {
    let counted = [
        [(362_940.0, 120.021), (220_282.0, 120.277), (8_141.0, 120.381), (25_536.0, 120.331)],
        [(390_029.0, 120.003), (224_253.0, 120.003), (10_651.0, 120.252), (31_616.0, 125.287)],
    ];
    let kinds = ["seq-read", "seq-write", "rnd-read", "rnd-write"];
    let figure = |kind: &str, metric_name: &str| {
        let scope = Scope::Kind(kind.to_owned());
        let name = format!("{}_{metric_name}", kind.rsplit('-').next().unwrap());
        let same = |metric: &&Metric| metric.scope == scope && metric.name == name;
        trial.metrics.iter().find(same).unwrap().value
    };
    for (kind, (ios, seconds)) in kinds.into_iter().zip(counted[place - 4]) {
        let ops = ios / seconds;
        assert!((figure(kind, "operations_per_second") / ops - 1.0).abs() < 1e-9, "{kind}");
        assert!((figure(kind, "mib_per_second") / (ops / 128.0) - 1.0).abs() < 1e-9, "{kind}");
        assert!((figure(kind, "runtime_seconds") - seconds).abs() < 1e-9, "{kind}");
        for name in
            ["slat_mean_nanoseconds", "clat_max_nanoseconds", "sample_mib_per_second_stddev"]
        {
            assert!(figure(kind, name) > 0.0, "{kind} {name}");
        }
    }
    assert_eq!(trial.phases.len(), 4);
    assert!(trial.phases.iter().all(|phase| phase.tasks == 4));
    let primary = trial.metrics.iter().filter(|metric| metric.primary);
    assert_eq!(primary.count(), 4);
    let mail = [
        "50ms=0.02%, 100ms=0.04%, 250ms=1.61%, 500ms=92.60%",
        "100ms=0.04%, 250ms=0.09%, 500ms=81.72%",
    ];
    let shares = trial.facts.iter().find(|fact| fact.name == "import.rnd-read.latency_shares");
    assert!(shares.unwrap().value.contains(mail[5 - place]), "{shares:?}");
}
