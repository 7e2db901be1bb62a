//! Classic runs: a workload with the options, the output and the exit codes of the imitated tool.

mod ranks;
mod traces;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use treering_conduct::say_left_behind;
use treering_conduct::trial::ClassicRun;
use treering_script::{
    ClassicMode, ClassicTraces, ConfigError, Job, OptionSpec, OptionSupport, Settings, TargetFacts,
    Workload,
};

use crate::arguments::{AnyRunArgs, FIO, classic_words, settings};
use crate::classic_output::{StandardStreams, say};
use crate::commands::many::Ranks;
use crate::commands::original_fio;
use crate::commands::trial::outline;
use crate::failure::{Failure, Kind, output_failed, show};
use crate::storage::run_store;
use crate::terminal::Terminal;
use traces::PhaseTraces;

/// Runs the tool; on every rank if a launcher started several and the tool supports ranks.
pub(crate) fn run(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
) -> Result<ExitCode, Failure> {
    match ranks::run(workload, matches)? {
        Some(code) => Ok(code),
        None => run_on(workload, matches, None),
    }
}

/// Runs the tool on the rank that prints the output.
fn run_on(
    workload: &'static dyn Workload,
    matches: &ArgMatches,
    ranks: Option<&Ranks<'_>>,
) -> Result<ExitCode, Failure> {
    let manifest = workload.manifest();
    let is_fio = manifest.name == FIO;
    match refuse_rejected(manifest.classic, matches) {
        Err(refusal) if is_fio => return original_fio::run(refusal, None),
        checked => checked?,
    }
    let any =
        AnyRunArgs::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let mut settings = settings(manifest.classic, matches);
    let reads_input = is_fio && settings.options().iter().any(|(_, value)| value == "-");
    if reads_input {
        settings.input = standard_input()?;
    }
    if let Some(ranks) = ranks {
        settings = ranks.classic_settings(workload, &settings)?;
    }
    let configured = configure(workload, &settings);
    // Ranks must also agree on the contents of the files that were read.
    ranks.map_or(Ok(()), |ranks| ranks.shared(&settings).map(|_same| ()))?;
    match configured {
        Ok((job, _)) if any.dry_run => {
            outline(job.as_ref(), &TargetFacts::unknown(), any.calls)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok((job, tool)) => match tool.output.only_says() {
            Some(words) => done(&words),
            None => perform(workload, &settings, &any, ranks, (job.as_ref(), tool)),
        },
        Err(error) if is_fio => {
            let refusal = Failure::new(Kind::Classic, error.message);
            let input = reads_input.then_some(settings.input);
            original_fio::run(refusal.maybe_hint(error.hint), input)
        }
        // The error has the tool's own text and exit code.
        Err(error) if manifest.classic_usage_exit == Kind::Classic.code() => {
            say(&error.message);
            error.hint.iter().for_each(|hint| say(hint));
            Ok(ExitCode::from(manifest.classic_usage_exit))
        }
        Err(error) => Err(error.into()),
    }
}

/// Checks a command line without running it; returns the error message, if any. Standard input is
/// not read.
pub(crate) fn fault(workload: &'static dyn Workload, matches: &ArgMatches) -> Option<String> {
    let settings = settings(workload.manifest().classic, matches);
    let reads_input = settings.options().iter().any(|(_, value)| value == "-");
    configure(workload, &settings).err().filter(|_| !reads_input).map(|error| error.message)
}

/// Maximum number of bytes read from standard input; valid files are shorter.
const INPUT_BYTES_MAX: u64 = 2 << 20;

fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let read = io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut input);
    let failed = |error| Failure::environment(format!("standard input: {error}"));
    read.map(|_| input).map_err(failed)
}

fn configure(
    workload: &'static dyn Workload,
    settings: &Settings,
) -> Result<(Box<dyn Job>, ClassicMode), ConfigError> {
    Ok((workload.classic(settings)?, workload.classic_mode(settings)?))
}

/// Runs the job, and prints its output; returns the exit code of the imitated tool.
fn perform(
    workload: &'static dyn Workload,
    settings: &Settings,
    any: &AnyRunArgs,
    ranks: Option<&Ranks<'_>>,
    (job, tool): (&dyn Job, ClassicMode),
) -> Result<ExitCode, Failure> {
    let traces = |wanted: ClassicTraces| Ok(Box::new(PhaseTraces::begin(wanted)?) as _);
    let run = ClassicRun {
        workload,
        settings,
        label: any.label.clone(),
        words: classic_words(),
        ranks,
        traces: &traces,
    };
    let around = (&run_store(any) as _, &Terminal as _);
    let end = run.run(job, tool, Box::new(StandardStreams::new()), around)?;
    end.failure.iter().for_each(|failure| _ = show(failure));
    if let Some(outcome) = end.outcome {
        // Exit codes do not depend on stored results, since the imitated tool stores none.
        outcome.unkept.iter().for_each(|failure| say(&format!("treering: {}", failure.message())));
        say_left_behind(&outcome.conclusion.left_behind, &say);
    }
    Ok(ExitCode::from(end.code))
}

/// Prints the text and returns success.
fn done(words: &str) -> Result<ExitCode, Failure> {
    let written = io::stdout().lock().write_all(words.as_bytes());
    written.or_else(|error| output_failed(&error))?;
    Ok(ExitCode::SUCCESS)
}

fn refuse_rejected(specs: &[OptionSpec], matches: &ArgMatches) -> Result<(), Failure> {
    for spec in specs {
        if let OptionSupport::Rejected(why) = spec.support
            && matches.contains_id(spec.name)
            && matches.value_source(spec.name) == Some(clap::parser::ValueSource::CommandLine)
        {
            return Err(Failure::usage(format!("--{}: {why}", spec.name)));
        }
    }
    Ok(())
}
