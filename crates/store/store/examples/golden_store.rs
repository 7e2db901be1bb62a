//! Creates a golden store of the current version: `golden_store FILE`. It holds a completed, a
//! failed and an interrupted trial, always identical; the test `golden` documents their contents.
//! The completed trial uses every name in the model's closed lists, so that none can be removed
//! later.

use std::error::Error;

use treering_model::{
    Acknowledgement, AnnotationKind, BetterDirection, Caution, CautionCode, Ending, Latency,
    Metric, Op, OpTotals, Scope, TaskTotals, TrialEvent, TrialSink, Unit,
};
use treering_store::{Access, Store};

#[path = "../tests/store/sample.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the tests use more of it")]
mod sample;

fn main() -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "a program of its own")]
    let path = std::env::args().nth(1).ok_or("name a file")?;
    let staging = tempfile::tempdir()?;
    let staged = staging.path().join("staging.db");
    let mut store = Store::open(&staged, Access::ReadWrite)?;
    let mut events = Vec::new();
    let ids = [
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a8058",
        "01890a5e-0000-7000-8000-000000000000",
    ];
    for (second, id) in (0..).zip(ids) {
        let mut beginning = sample::beginning(id.parse()?);
        beginning.started_unix_ms = 1_688_126_041_238 + second * 1_000;
        events.push(sample::trial_events(beginning));
    }
    let end = events[0].pop();
    events[0].extend(every_word());
    events[0].extend(end);
    events[1].truncate(5);
    let ending = Ending::Failed { why: "disk full".into() };
    events[1].push(TrialEvent::Ended { ending, at_ns: 5 });
    events[2].truncate(9);
    for events in events {
        let mut recorder = store.recorder();
        for event in events {
            recorder.accept(&event)?;
        }
    }
    // Copied, since a copy has no row about the writing process.
    let mut store = Store::open(&path, Access::ReadWrite)?;
    store.absorb(&staged)?;
    let (completed, failed) = (ids[0].parse()?, ids[1].parse()?);
    let label = AnnotationKind::Relabelled { label: "another label".into(), was: String::new() };
    store.annotate(&[failed], 1_688_126_050_000, &label)?;
    let excluded = AnnotationKind::Excluded { reason: "the disk was full".into() };
    store.annotate(&[completed, failed], 1_688_126_051_000, &excluded)?;
    store.annotate(&[completed], 1_688_126_052_000, &AnnotationKind::Included)?;
    let known = |metric: &str| Acknowledgement {
        metric: metric.into(),
        anchor: "ext4".into(),
        log_ratio_millionths: -51_293,
        trend_points: None,
        reason: "compiler 14".into(),
    };
    for metric in ["create/files_per_second", "read/mib_per_second"] {
        let change = AnnotationKind::Acknowledged(known(metric));
        store.annotate(&[completed], 1_688_126_053_000, &change)?;
    }
    let withdrawn = AnnotationKind::Withdrawn(known("read/mib_per_second"));
    store.annotate(&[completed], 1_688_126_054_000, &withdrawn)?;
    Ok(())
}

/// Events that use every operation, unit, direction, scope and caution.
fn every_word() -> Vec<TrialEvent> {
    let ops =
        Op::ALL.map(|op| OpTotals { op, calls: 1, errors: 0, bytes: 0, latency: Latency::new() });
    let ops = ops.to_vec();
    let mut events = vec![TrialEvent::TaskEnded(TaskTotals { ops, ..TaskTotals::default() })];
    for unit in Unit::ALL {
        let metric = Metric::new(unit.symbol(), Scope::Trial, 1.0, unit, BetterDirection::Lower);
        events.push(TrialEvent::Measured(metric.of_tasks(0)));
    }
    for code in CautionCode::ALL {
        events.push(TrialEvent::Cautioned(Caution { code, message: String::new() }));
    }
    events
}
