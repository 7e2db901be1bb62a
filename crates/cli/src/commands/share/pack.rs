//! `treering store pack`: writes trials into one file, without names of users and machines.

use std::collections::BTreeSet;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::Path;
use std::process::ExitCode;

use treering_pack::{PackError, PackHead, PackRecord, PackSeal};
use treering_report::pages::machine::pack::{LeftOutName, PackedCounts, page};
use treering_results::unreadable;
use treering_store::{
    Filter, PackedTrials, PackingError, Store, StoreError, TrialState, TrialSummary,
};
use treering_sys::{ExistingFile, WholeFile};

use super::{ON_REQUEST, known_names};
use crate::arguments::PackArgs;
use crate::commands::output;
use crate::failure::Failure;
use crate::storage::{failure, open_results};

/// Shows what is packed and what is left out, and writes the pack.
pub(crate) fn run(args: &PackArgs) -> Result<ExitCode, Failure> {
    let store = open_results(&args.store)?;
    let summaries = selected_trials(&store, args)?;
    let left_out_kinds = if args.traces { &[][..] } else { ON_REQUEST };
    let known_names = (!args.with_names).then(known_names);
    let packed = PackedTrials::new(&store, &summaries, left_out_kinds, known_names)
        .map_err(|error| failure(&error))?;
    let (counts, left_out) = count_records(&packed)?;
    let names = (!args.with_names).then_some(left_out.as_slice());
    output::write(&page(&counts, names), &args.page())?;
    if let (Some(path), false) = (&args.output, args.dry_run) {
        let head = PackHead {
            treering_version: env!("CARGO_PKG_VERSION").to_owned(),
            has_names: args.with_names,
            has_traces: args.traces,
        };
        let seal = write(&packed, head, path)?;
        let PackSeal { bytes, sha256 } = seal;
        _ = writeln!(std::io::stdout(), "{}: {bytes} bytes, SHA-256 {sha256}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Selected trials, oldest first.
fn selected_trials(store: &Store, args: &PackArgs) -> Result<Vec<TrialSummary>, Failure> {
    let filter = Filter {
        workload: args.workload.clone(),
        label: args.label.clone(),
        plan: args.plan.clone(),
        ..Filter::default()
    };
    let find = |prefix: &String| store.find(prefix).map_err(|error| failure(&error));
    let named = args.trials.iter().map(find).collect::<Result<BTreeSet<_>, _>>()?;
    let campaign = args.campaign.as_ref().map(find).transpose()?;
    let is_wanted = |one: &TrialSummary| {
        let is_of = |campaign| one.cell.as_ref().is_some_and(|cell| cell.campaign == campaign);
        (named.is_empty() || named.contains(&one.trial)) && campaign.is_none_or(is_of)
    };
    let mut summaries = store.trials(&filter).map_err(|error| failure(&error))?;
    summaries.retain(is_wanted);
    summaries.reverse();
    if let Some(one) = summaries.iter().find(|one| one.state == TrialState::Running) {
        let message = format!("trial {} is still running", one.trial);
        return Err(Failure::usage(message).hint("pack it when it has ended"));
    }
    if summaries.is_empty() {
        return Err(Failure::usage("no trial of the store is selected")
            .hint("`treering list` shows trials with their plans and labels"));
    }
    Ok(summaries)
}

/// Counts the records, and lists the names that are left out.
fn count_records(packed: &PackedTrials<'_>) -> Result<(PackedCounts, Vec<LeftOutName>), Failure> {
    let mut counts = PackedCounts::default();
    let removed = packed.records(&mut |record| {
        match record {
            PackRecord::Pack(_) => {}
            PackRecord::Plan(_) => counts.plans += 1,
            PackRecord::Annotation(_) => counts.annotations += 1,
            PackRecord::Event(event) => counts.count_event(event),
        }
        Ok::<(), StoreError>(())
    });
    let left_out = removed.map_err(|error| failure(&error))?.into_iter().map(|one| LeftOutName {
        kind: one.kind.name(),
        name: one.name,
        instead: one.instead,
        times: one.times,
    });
    Ok((counts, left_out.collect()))
}

/// Writes the pack to a temporary file beside `path`, and renames it when it is complete and on
/// disk.
fn write(packed: &PackedTrials<'_>, head: PackHead, path: &Path) -> Result<PackSeal, Failure> {
    let unwritten = |error: &PackError| match error {
        PackError::Io(error) => {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::environment(message)
        }
        error => unreadable(path, error),
    };
    let whole = WholeFile::create(path, 0o666, ExistingFile::Replace);
    let whole = whole.map_err(|error| unwritten(&error.into()))?;
    let packing = packed.write(head, BufWriter::new(whole.file()));
    let (seal, to) = packing.map_err(|error| match error {
        PackingError::Store(error) => failure(&error),
        PackingError::Pack(error) => unwritten(&error),
    })?;
    let written = to.into_inner().map_err(IntoInnerError::into_error).map(|_file| ());
    let placed = written.and_then(|()| whole.publish());
    placed.map_err(|error| unwritten(&error.into()))?;
    Ok(seal)
}
