//! `treering age`: ages a filesystem on purpose, and shows the profiles for it.

use std::io::{IsTerminal, stderr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use indicatif::{ProgressBar, ProgressStyle};
use treering_age::{AgeWorkload, ResumedAging, profile_text, profiles, steps_of};
use treering_conduct::trial::TrialOutcome;
use treering_conduct::{PullTerms, extract_history, profile_of_census, watch_signals};
use treering_lab::OwnedDirectory;
use treering_model::nearest::suggestion;
use treering_model::{Ending, KEPT_TREES_FACT, Trial, thousands};
use treering_observe::census::{TreeCensus, census};
use treering_observe::tree::ScanError;
use treering_report::pages::history::spread;
use treering_report::{Cell, Column, Report, Table};
use treering_results::{completed_trials, no_results, runs_ended_early};
use treering_script::{Settings, Workload};
use treering_sys::{filesystem_facts, open_top};

use super::image::planned_save;
use super::{native, output};
use crate::arguments::{
    AgeVerb, AnyRunArgs, MeasureProfileArgs, NativeRunArgs, OutputArgs, SpreadArgs, image_to_save,
    resumes,
};
use crate::classic_output::say;
use crate::clock::trial_unix_ms;
use crate::colour::is_dumb;
use crate::failure::{Failure, Kind};
use crate::storage::{open_results, place_at};
use crate::terminal::Terminal;

/// Runs a subcommand of `treering age`.
pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let usage = |error: clap::Error| Failure::usage(error.to_string());
    match AgeVerb::of(matches).transpose().map_err(usage)? {
        Some(AgeVerb::List { output }) => list(&output),
        Some(AgeVerb::Show(args)) => show(&args.name),
        Some(AgeVerb::Profile(args)) => profile(&args),
        Some(AgeVerb::Extract(args)) => {
            let signals = args.with_git.then(watch_signals).transpose()?;
            let pulls = signals.as_ref().map(|signals| PullTerms {
                gc_auto: args.gc_auto,
                temporary_dir: std::env::temp_dir(),
                stop: signals.flag(),
                say: &say,
            });
            let history = extract_history(&args.repository, &args.revision, pulls.as_ref())?;
            output::with_writer(args.output.as_deref(), |out| out.write_all(&history))?;
            Ok(ExitCode::SUCCESS)
        }
        Some(AgeVerb::Spread(args)) => spread(&args),
        None => {
            let own = NativeRunArgs::from_arg_matches(matches).map_err(usage)?;
            refuse_profile_as_directory(own.dir.as_deref())?;
            let layout_every = own.layout_every.or(Some(1));
            let saving = match (image_to_save(matches), &own.dir) {
                (Some(name), Some(dir)) => Some(planned_save(name, dir)?),
                _ => None,
            };
            let own = NativeRunArgs { keep: true, layout_every, ..own };
            let (code, done) = if resumes(matches) {
                resume(matches, &own)?
            } else {
                native::run_as(&AgeWorkload, matches, &own, None)?
            };
            let completed = done.filter(|done| done.conclusion.ending == Ending::Completed);
            match (saving, completed) {
                (Some(saving), Some(done)) => saving.run(done.trial.as_ref(), &Terminal)?,
                (Some(_), None) => say("no image is saved: the filesystem is not aged"),
                (None, _) => {}
            }
            Ok(code)
        }
    }
}

/// Refuses the name of a profile in the place of the directory.
fn refuse_profile_as_directory(dir: Option<&Path>) -> Result<(), Failure> {
    let Some(name) = dir.filter(|dir| !dir.exists()).and_then(Path::to_str) else { return Ok(()) };
    if profile_text(name).is_none() {
        return Ok(());
    }
    let hint = format!("`{name}` is a profile: treering age DIR --profile {name}");
    Err(Failure::usage(format!("there is no directory {name}")).hint(hint))
}

/// Goes on with the newest run of a directory, if it was interrupted.
fn resume(
    matches: &ArgMatches,
    own: &NativeRunArgs,
) -> Result<(ExitCode, Option<TrialOutcome>), Failure> {
    let any =
        AnyRunArgs::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let dir = own.dir.as_deref().unwrap_or(Path::new(""));
    let dir = dir.canonicalize().map_err(|error| Failure::of_path(dir, &error))?;
    let store = place_at(any.store.as_deref()).open_to_read()?.ok_or_else(no_results)?;
    let trials = runs_ended_early(&store, AgeWorkload.manifest().name, &dir)?;
    drop(store);
    let trial = trials.first().ok_or_else(no_results)?;
    // A run that was to go on, and was interrupted before its first step, has no record of the
    // steps before it.
    let same = |other: &&Trial| other.beginning.parameters == trial.beginning.parameters;
    let records = trials.iter().take_while(same).map(steps_of);
    let steps = records.into_iter().find(|steps| !steps.is_empty()).unwrap_or_default();
    let operations: u64 = steps.iter().map(|step| step.operations).sum();
    say(&format!("going on behind {operations} operations, those that filled the tree included"));
    let known = AgeWorkload.manifest().native;
    let is_known = |name: &str| known.iter().any(|spec| spec.name == name);
    let parameters = trial.beginning.parameters.iter().filter(|(name, _)| is_known(name));
    let settings = Settings::new(parameters.cloned().collect());
    let recorded = trial.fact(KEPT_TREES_FACT).unwrap_or_default();
    let kept = OwnedDirectory::take(&dir)?.trees_of(&trial.beginning.trial.text(), recorded)?;
    let recorded_or = |name: &str, typed: &str| {
        let mut own = trial.beginning.parameters.iter().filter(|(own, _)| own == name);
        own.next().map_or_else(|| typed.to_owned(), |(_, value)| value.clone())
    };
    let own = &NativeRunArgs {
        payload: recorded_or("payload", &own.payload),
        compressibility: recorded_or("compressibility", &own.compressibility),
        ..own.clone()
    };
    // A workload lives as long as the program.
    let workload: &'static ResumedAging = Box::leak(Box::new(ResumedAging { steps }));
    native::run_with((workload, settings), matches, own, (None, &kept))
}

fn list(args: &OutputArgs) -> Result<ExitCode, Failure> {
    let columns = vec![Column::text("profile"), Column::long_text("what happens")];
    let caption = "Profiles that are built in; `treering age show NAME` prints one as TOML.";
    let mut table = Table::new("profiles", caption, columns);
    table.rows =
        profiles().map(|(name, about)| vec![Cell::text(name), Cell::text(about)]).collect();
    let mut page = Report::new("Profiles for aging");
    page.table(table);
    output::write(&page, args)?;
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str) -> Result<ExitCode, Failure> {
    let text = profile_text(name).ok_or_else(|| {
        let known: Vec<&str> = profiles().map(|(name, _)| name).collect();
        Failure::usage(format!("there is no profile '{name}'"))
            .hint(suggestion(name, &known, "profiles"))
    })?;
    output::with_writer(None, |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

fn profile(args: &MeasureProfileArgs) -> Result<ExitCode, Failure> {
    let top = open_top(&args.dir).map_err(|errno| Failure::of_path(&args.dir, &errno.into()))?;
    let tree = census_with_progress(&args.dir, top.as_fd())?;
    if tree.bytes == 0 {
        let message = format!("{}: there is no file with data in it", args.dir.display());
        return Err(Failure::usage(message));
    }
    if tree.failed > 0 {
        say(&format!("{} files and directories could not be looked at", tree.failed));
    }
    if tree.unborn > 0 {
        let files = tree.unborn;
        say(&format!("{files} files have no birth time here and count as the youngest"));
    }
    let text = profile_of_census(&args.dir, tree);
    output::with_writer(args.output.as_deref(), |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Counts a tree, and shows the progress on a terminal.
fn census_with_progress(dir: &Path, top: BorrowedFd<'_>) -> Result<TreeCensus, Failure> {
    let signals = watch_signals()?;
    // The filesystem knows its number of inodes, if not those of the tree.
    let inodes = filesystem_facts(top).ok().and_then(|facts| facts.used_inodes);
    let most = inodes.map(|(used, _)| format!(" of at most {}", thousands(&used.to_string())));
    let template = "{spinner} {human_pos} files{msg}  {elapsed}";
    let style = ProgressStyle::with_template(template).ok();
    let bar = style.filter(|_| stderr().is_terminal() && !is_dumb()).map(|style| {
        ProgressBar::new_spinner().with_style(style).with_message(most.unwrap_or_default())
    });
    let counted = census(top, Some(trial_unix_ms() / 1000), &mut |files| {
        bar.iter().for_each(|bar| bar.set_position(files));
        if signals.flag().is_raised() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.iter().for_each(ProgressBar::finish_and_clear);
    counted.map_err(|error| match error {
        ScanError::Stopped => {
            let message = format!("interrupted: no profile of {} was written", dir.display());
            Failure::new(Kind::Interrupted, message)
        }
        ScanError::Failed(..) => Failure::environment(error.to_string()),
    })
}

/// Shows the spread of the layouts of equal runs.
fn spread(args: &SpreadArgs) -> Result<ExitCode, Failure> {
    let store = open_results(&args.store)?;
    let trials = completed_trials(&store, args.plan.as_deref(), args.label.as_deref())?;
    drop(store);
    output::write(&spread::page(&trials), &args.output)?;
    Ok(ExitCode::SUCCESS)
}
