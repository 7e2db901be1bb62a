//! Recording of traces and layouts by plans: in additional rounds, or in the measured ones.

use treering_conduct::plan::{ObservedIn, Observing, ObservingChanges, PlanChanges};
use treering_conduct::{observing_rounds, rounds};
use treering_model::CellRole;

use crate::read_plan;

const TWO: &str = "[[variant]]\nfilesystem = \"ext4\"\n[[variant]]\nfilesystem = \"xfs\"\n";

#[test]
fn observing_rounds_have_every_variant_once_and_no_control() {
    let plan =
        read_plan(&format!("{TWO}[observe]\ntrace = true\nlayout = true\nrounds = 4\n")).unwrap();
    let observing = observing_rounds(&plan);
    assert_eq!(observing.len(), 4);
    let mut first = [0, 0];
    for (number, cells) in (1..).zip(&observing) {
        let mut variants: Vec<usize> = cells.iter().map(|cell| cell.variant).collect();
        first[variants[0]] += 1;
        variants.sort_unstable();
        assert_eq!(variants, [0, 1]);
        assert!(cells.iter().all(|cell| (cell.round, cell.role) == (number, CellRole::Observed)));
    }
    assert_eq!(first, [2, 2], "each is the first as often");
    let cell = observing[1].iter().find(|cell| cell.variant == 1).unwrap();
    assert_eq!(cell.words(&plan), "observing round 2: xfs");
    assert_eq!(cell.label(&plan), "xfs (observed)");
    // The measured rounds are the same as without observation.
    assert_eq!(rounds(&plan), rounds(&read_plan(TWO).unwrap()));
    assert_eq!(plan.digest(), read_plan(TWO).unwrap().digest());
    for role in [CellRole::WarmUp, CellRole::Round, CellRole::Control] {
        let (wanted, parameters) = plan.observed(role);
        assert!(!wanted.trace && wanted.layout.is_none() && parameters.is_empty());
    }
    let (wanted, parameters) = plan.observed(CellRole::Observed);
    assert!(wanted.trace && wanted.layout.is_some_and(|layout| layout.map));
    let names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["layout", "trace"]);
}

#[test]
fn measured_rounds_are_observed_on_request() {
    let plan =
        read_plan(&format!("{TWO}[observe]\nlayout-every = 5\nin = \"measured\"\n")).unwrap();
    assert_eq!(plan.observing.place, ObservedIn::Measured);
    assert!(observing_rounds(&plan).is_empty());
    assert!(plan.observed(CellRole::WarmUp).1.is_empty());
    for role in [CellRole::Round, CellRole::Control] {
        let (wanted, parameters) = plan.observed(role);
        assert_eq!(wanted.layout.map(|layout| layout.every_tasks), Some(5));
        assert_eq!(parameters, [("layout-every".to_owned(), "5".to_owned())]);
    }
    assert_eq!(read_plan(TWO).unwrap().observing, Observing::default());
    assert!(observing_rounds(&read_plan(TWO).unwrap()).is_empty());
}

#[test]
fn primary_metrics_of_recordings_that_nobody_asks_for_are_refused_with_the_key() {
    let plan = |metric: &str, observe: &str| {
        let job = "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 10 }\n";
        let report = format!("[report]\nprimary = [\"{metric}\"]\n");
        read_plan(&format!("{TWO}{job}{observe}{report}")).unwrap()
    };
    let none = PlanChanges::default();
    for (metric, key) in [
        ("trace_seeks", "trace = true"),
        ("phase iteration 1/layout_extents_per_file", "layout = true"),
        ("function_vfs_fsync_range_mean_nanoseconds", "functions = [\"vfs_fsync_range\"]"),
    ] {
        let failure = plan(metric, "").change(&none, false).unwrap_err();
        assert!(failure.message().contains(metric), "{failure:?}");
        let hints = failure.hints().join("\n");
        assert!(hints.contains(&format!("write {key} into [observe]")), "{hints}");
        plan(metric, &format!("[observe]\n{key}\n")).change(&none, false).unwrap();
    }
    let played = plan("played_seek_seconds", "").change(&none, false).unwrap_err();
    assert!(played.hints().join("\n").contains("disk = \"hdd-7200\""));
    // An option asks for it as well, and other metrics need no key.
    let observing = ObservingChanges { trace: true, ..ObservingChanges::default() };
    plan("trace_seeks", "").change(&PlanChanges { observing, ..none.clone() }, false).unwrap();
    plan("device_flushes", "").change(&none, false).unwrap();
}
