//! A workload as the tool it imitates: its options, its lines, its exit codes.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, FromArgMatches};
use treering_engine::{EngineOptions, LatencyMode, PayloadKind, Progress};
use treering_model::{Ending, SinkError, TrialEvent, TrialId, TrialSink};
use treering_script::{OptionSpec, Support, TargetFacts, Workload};
use treering_workloads::compilebench::opening_line;

use super::trial::{Asked, outline, run as run_trial, take};
use crate::arguments::{AnyRunArgs, settings};
use crate::classic_voice::{CompilebenchVoice, say};
use crate::failure::{Failure, Kind, output_failed};

/// Runs it.
pub(crate) fn run(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
) -> Result<ExitCode, Failure> {
    let specs = workload.manifest().classic;
    refuse_rejected(specs, matches)?;
    let any = AnyRunArgs::from_arg_matches(matches)
        .map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
    let settings = settings(specs, matches);
    let job = workload.classic(&settings)?;
    if any.dry_run {
        outline(job.as_ref(), &TargetFacts::unknown())?;
        return Ok(ExitCode::SUCCESS);
    }
    let number = |name| settings.number(specs, name, 0..=u64::MAX).map(Option::unwrap_or_default);
    let (initial_dirs, runs) = (number("initial-dirs")?, number("runs")?);
    let dir = settings.text_or_default(specs, "directory").unwrap_or(".").to_owned();
    let place = take(Path::new(&dir))?;
    if place.was_made() {
        say(&format!("creating {dir}"));
    }
    say(&opening_line(&dir, initial_dirs, runs));
    let asked = Asked {
        workload,
        job: job.as_ref(),
        any: &any,
        trial: TrialId::new(),
        cell: None,
        parameters: Vec::new(),
        engine: EngineOptions::new(LatencyMode::Sampled, PayloadKind::Classic, number("seed")?),
        keep: true,
        cautions: Vec::new(),
        facts: Vec::new(),
        remount: None,
    };
    let mut voice = CompilebenchVoice::default();
    let listeners: Vec<Box<dyn TrialSink + '_>> = vec![Box::new(Borrowed(&mut voice))];
    let done = run_trial(asked, place, listeners, &Arc::new(Progress::new()), &mut |_| {})?;
    if let Some(signal) = done.conclusion.signal {
        say(&format!("caught signal {signal}"));
    }
    if let Some(failure) = &done.unmoved {
        // The imitated tool keeps nothing: its exit code does not speak of it.
        say(&format!("treering: {}", failure.message()));
    }
    if let Ending::Failed { why } = &done.conclusion.ending {
        return Err(Failure::new(Kind::Classic, why.clone()));
    }
    voice.finish().or_else(|error| output_failed(&error))?;
    let interrupted = done.conclusion.ending == Ending::Interrupted;
    Ok(ExitCode::from(if interrupted { Kind::Classic.code() } else { 0 }))
}

/// A listener that is needed again afterwards.
struct Borrowed<'a>(&'a mut CompilebenchVoice);

impl TrialSink for Borrowed<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        self.0.accept(event)
    }
}

fn refuse_rejected(specs: &[OptionSpec], matches: &ArgMatches) -> Result<(), Failure> {
    for spec in specs {
        if let Support::Rejected(why) = spec.support
            && matches.contains_id(spec.name)
            && matches.value_source(spec.name) == Some(clap::parser::ValueSource::CommandLine)
        {
            return Err(Failure::new(Kind::Usage, format!("--{}: {why}", spec.name)));
        }
    }
    Ok(())
}
