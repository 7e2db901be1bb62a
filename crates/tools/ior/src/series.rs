//! The tests of a script, one after the other: each is a run of its own.

use std::path::Path;

use treering_model::{Caution, Metric, WorkLimit};
use treering_script::{
    Conductor, ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, SessionResult,
    Settings, TargetFacts,
};

use super::job::IorJob;
use super::script;
use treering_kit::imitation::JobResult;
use treering_kit::settings::absolute;

/// The job of a classic command line.
pub(super) fn classic(settings: &Settings) -> JobResult {
    let mut tests: Vec<IorJob> = script::tests(settings)?.into_iter().map(IorJob::new).collect();
    Ok(match script::path(settings) {
        Some(script) => Box::new(TestSeries { request: request(&script, &tests), tests }),
        None => Box::new(tests.swap_remove(0)),
    })
}

/// Series of tests, run one after the other.
#[derive(Debug)]
struct TestSeries {
    request: RunRequest,
    tests: Vec<IorJob>,
}

/// Request for the tests of a script.
fn request(script: &Path, tests: &[IorJob]) -> RunRequest {
    let mut parameters = vec![("script".to_owned(), absolute(script))];
    for (id, test) in tests.iter().enumerate() {
        let of_test = |(name, value)| (format!("test{id}.{name}"), value);
        parameters.extend(test.parameters().into_iter().map(of_test));
    }
    RunRequest::classic(parameters)
}

impl Job for TestSeries {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        let mut cautions: Vec<Caution> = Vec::new();
        for test in &self.tests {
            for caution in test.check(facts)? {
                if !cautions.iter().any(|known| known.code == caution.code) {
                    cautions.push(caution);
                }
            }
        }
        Ok(cautions)
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        // Files that a test keeps may be those of the next one, or others.
        self.tests
            .iter()
            .map(|test| test.footprint(facts))
            .fold(Footprint::default(), combined_footprint)
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        self.tests.iter().flat_map(|test| test.outline(facts)).collect()
    }

    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric> {
        self.tests.iter().flat_map(|test| test.foreseen_metrics(facts)).collect()
    }

    fn work(&self) -> WorkLimit {
        let timed = self.tests.iter().any(|test| test.work() == WorkLimit::Timed);
        if timed { WorkLimit::Timed } else { WorkLimit::Fixed }
    }

    fn times_every_call(&self) -> bool {
        true
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(SeriesSession { tests: &self.tests, facts: facts.clone(), metrics: Vec::new() })
    }
}

fn combined_footprint(sum: Footprint, footprint: Footprint) -> Footprint {
    Footprint {
        peak_files: sum.peak_files.saturating_add(footprint.peak_files),
        peak_dirs: sum.peak_dirs.saturating_add(footprint.peak_dirs),
        peak_bytes: sum.peak_bytes.max(footprint.peak_bytes),
        peak_block_bytes: sum.peak_block_bytes.max(footprint.peak_block_bytes),
        written_files: sum.written_files.saturating_add(footprint.written_files),
        written_bytes: sum.written_bytes.saturating_add(footprint.written_bytes),
    }
}

/// Session of a series.
struct SeriesSession<'j> {
    tests: &'j [IorJob],
    facts: TargetFacts,
    /// Metrics of the tests that have run.
    metrics: Vec<Metric>,
}

impl Session for SeriesSession<'_> {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        for test in self.tests {
            let mut session = test.begin(&self.facts);
            let ran = session.run(conductor);
            self.metrics.extend(session.metrics());
            ran?;
        }
        Ok(())
    }

    fn metrics(&self) -> Vec<Metric> {
        self.metrics.clone()
    }

    fn remains(&self) -> Vec<String> {
        Vec::new()
    }
}
