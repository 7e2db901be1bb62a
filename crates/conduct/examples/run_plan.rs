//! Runs the plan of a file and prints what its trials measure:
//! `cargo run -p treering-conduct --example run_plan -- examples/plans/demo.toml`
#![expect(clippy::disallowed_macros, clippy::disallowed_methods, reason = "it is a program")]

use std::{env, error::Error, fs};

use treering_conduct::plan::document::{Known, read};
use treering_conduct::{Failure, Host, PlanOptions, RecordedTrial, ResultStore, run_plan};
use treering_model::{Caution, SinkError, TrialEvent, TrialSink};

struct Printer;

impl TrialSink for Printer {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::Measured(metric) = event {
            println!("  {}: {}", metric.full_name(), metric.value);
        }
        Ok(())
    }
}

impl ResultStore for Printer {
    fn record(
        &self,
        _: &RecordedTrial<'_>,
        run: &mut dyn FnMut(&mut dyn TrialSink, Option<Caution>),
    ) -> Result<(), Failure> {
        run(&mut Self, None);
        Ok(())
    }
}

impl Host for Printer {
    fn say(&self, words: &str) {
        println!("{words}");
    }
    fn unix_ms(&self) -> i64 {
        0
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name a plan")?;
    let (workloads, filesystems) = (treering_registry::workloads(), &["ext4", "xfs", "btrfs"]);
    let known = Known { workloads, filesystems, ..Known::default() };
    let plan = read(&fs::read_to_string(&path)?, &path, &known)?;
    let lab = treering_lab::Lab::open(&env::temp_dir().join("treering-lab"))?;
    let options = PlanOptions { workloads, ..PlanOptions::default() };
    run_plan(&plan, &options, (&Printer, &Printer), &lab, &treering_sys::StopFlag::new())?;
    Ok(())
}
