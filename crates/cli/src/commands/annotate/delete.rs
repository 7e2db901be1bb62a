//! `treering delete`: removes stored trials for good, after a confirmation.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write, stderr, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use treering_model::counted;
use treering_store::{Filter, TrialSummary};

use super::NamedTrials;
use crate::arguments::DeleteArgs;
use crate::classic_output::say;
use crate::clock;
use crate::failure::Failure;
use crate::storage::failure;

/// Suffix of the name of the file with the reasons.
const REASONS: &str = ".deleted";

/// Deletes trials.
pub(crate) fn run(args: &DeleteArgs) -> Result<ExitCode, Failure> {
    let reason = args.reason.trim();
    if reason.is_empty() {
        let hint = "give a reason; it is kept beside the store";
        return Err(Failure::usage("--reason is empty").hint(hint));
    }
    let mut named = NamedTrials::find(&args.trials, &args.store)?;
    let summaries = named.store.trials(&Filter::default()).map_err(|error| failure(&error))?;
    let chosen: Vec<&TrialSummary> =
        summaries.iter().filter(|summary| named.ids.contains(&summary.trial)).collect();
    for summary in &chosen {
        let label = match summary.label.as_str() {
            "" => String::new(),
            label => format!(", labelled '{label}'"),
        };
        let verb = if args.dry_run { "would be deleted" } else { "is to be deleted" };
        let (id, workload, state) = (summary.trial, &summary.workload, summary.state.name());
        say(&format!("{id} {verb}: {workload}, {state}{label}"));
    }
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !is_confirmed(chosen.len())? {
        say("nothing was deleted");
        return Ok(ExitCode::SUCCESS);
    }
    // A reason without a deletion does less harm than a deletion without its reason.
    let path = keep_reason(named.store.path(), &chosen, reason)?;
    named.store.delete(&named.ids).map_err(|error| failure(&error))?;
    let count = counted(chosen.len(), "trial");
    say(&format!("{count} deleted; the reason is in {}", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// Asks for a confirmation on the terminal.
fn is_confirmed(count: usize) -> Result<bool, Failure> {
    if !stdin().is_terminal() || !stderr().is_terminal() {
        let message = "there is no terminal to ask on";
        return Err(Failure::usage(message)
            .hint("--yes deletes without asking, --dry-run shows what would be deleted"));
    }
    let what = if count == 1 { "it".to_owned() } else { format!("these {count}") };
    // If the terminal was closed meanwhile, the answer stays empty, which means no.
    _ = write!(stderr(), "Delete {what} for good? [y/N] ");
    let mut answer = String::new();
    _ = stdin().read_line(&mut answer);
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Adds a line of JSON for each trial to the file beside the store; returns its path.
fn keep_reason(store: &Path, trials: &[&TrialSummary], reason: &str) -> Result<PathBuf, Failure> {
    let mut name = store.as_os_str().to_owned();
    name.push(REASONS);
    let path = PathBuf::from(name);
    let line = |summary: &&TrialSummary| {
        let line = json!({
            "at_unix_ms": clock::unix_ms(),
            "trial": summary.trial.text(),
            "workload": summary.workload,
            "label": summary.label,
            "started_unix_ms": summary.started_unix_ms,
            "reason": reason,
        });
        [line.to_string(), "\n".to_owned()].concat()
    };
    let lines: String = trials.iter().map(line).collect();
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = file.and_then(|mut file| {
        file.write_all(lines.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| Failure::of_path(&path, &error))?;
    Ok(path)
}
