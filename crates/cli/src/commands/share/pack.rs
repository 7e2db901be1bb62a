//! `treering pack`: writes trials into one file, without names of users and machines.

use std::collections::BTreeSet;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::Path;
use std::process::ExitCode;

use treering_model::{PLAN_FACT, TrialEvent, TrialId, Unit};
use treering_pack::{
    NameRemover, PackError, PackHead, PackRecord, PackSeal, PackWriter, PackedPlan, RemovedName,
};
use treering_report::{Cell, Column, Report, Table};
use treering_store::{Filter, LoadDetail, Store, TrialState, TrialSummary};
use treering_sys::{ExistingFile, WholeFile};

use super::{TRACES, failure as unpackable, known_names};
use crate::arguments::PackArgs;
use crate::commands::output;
use crate::failure::{Failure, Kind};
use crate::storage::{failure, no_results, open_to_read};

/// Maximum number of names shown of each kind.
const NAMES_SHOWN: usize = 20;

/// Shows what is packed and what is left out, and writes the pack.
pub(crate) fn run(args: &PackArgs) -> Result<ExitCode, Failure> {
    let store = open_to_read(args.store.store.as_deref())?.ok_or_else(no_results)?;
    let summaries = selected(&store, args)?;
    let chosen = Chosen { plans: plans(&store, &summaries)?, store, summaries, args };
    let mut looked = Sum::default();
    let left_out = chosen.records(&mut |record| {
        looked.count(record);
        Ok(())
    })?;
    output::write(&page(&looked, &left_out, args), &args.page())?;
    if let (Some(path), false) = (&args.output, args.dry_run) {
        let seal = chosen.write(path)?;
        let PackSeal { bytes, sha256 } = seal;
        _ = writeln!(std::io::stdout(), "{}: {bytes} bytes, SHA-256 {sha256}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// The trials that are asked for, oldest first.
fn selected(store: &Store, args: &PackArgs) -> Result<Vec<TrialSummary>, Failure> {
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
    let mut all = store.trials(&filter).map_err(|error| failure(&error))?;
    all.retain(is_wanted);
    all.reverse();
    if let Some(one) = all.iter().find(|one| one.state == TrialState::Running) {
        let message = format!("trial {} is still running", one.trial);
        return Err(Failure::new(Kind::Usage, message).hint("pack it when it has ended"));
    }
    if all.is_empty() {
        return Err(Failure::new(Kind::Usage, "no trial of the store is selected")
            .hint("`treering list` shows trials with their plans and labels"));
    }
    Ok(all)
}

/// Plans of the trials, from the first trial of each campaign.
fn plans(store: &Store, summaries: &[TrialSummary]) -> Result<Vec<PackedPlan>, Failure> {
    let cells = summaries.iter().filter_map(|one| one.cell.as_ref());
    let campaigns: BTreeSet<TrialId> = cells.map(|cell| cell.campaign).collect();
    let known = store.facts(&[PLAN_FACT]).map_err(|error| failure(&error))?;
    let known = known.into_iter().filter(|(trial, _)| campaigns.contains(trial));
    let plan = |(campaign, fact): (TrialId, treering_model::Fact)| PackedPlan {
        campaign,
        document: fact.value,
        files: Vec::new(),
    };
    Ok(known.map(plan).collect())
}

/// Trials and plans to pack.
struct Chosen<'a> {
    store: Store,
    summaries: Vec<TrialSummary>,
    plans: Vec<PackedPlan>,
    args: &'a PackArgs,
}

impl Chosen<'_> {
    /// Passes on every record but the first, with names removed; returns the removed names.
    fn records(
        &self,
        take: &mut dyn FnMut(&PackRecord) -> Result<(), Failure>,
    ) -> Result<Vec<RemovedName>, Failure> {
        let mut names = (!self.args.with_names).then(|| NameRemover::new(known_names()));
        for plan in &self.plans {
            let mut plan = plan.clone();
            if let Some(names) = &mut names {
                names.text(&mut plan.document);
            }
            take(&PackRecord::Plan(plan))?;
        }
        for summary in &self.summaries {
            let events = self.store.events(summary.trial).map_err(|error| failure(&error))?;
            for mut event in events {
                if self.is_left_out(&event) {
                    continue;
                }
                if let Some(names) = &mut names {
                    names.leave_out(&mut event);
                }
                take(&PackRecord::Event(event))?;
            }
            let headlines = self.store.load_many(&[summary.trial], LoadDetail::Headlines);
            let headlines = headlines.map_err(|error| failure(&error))?;
            for mut annotation in headlines.into_iter().flat_map(|trial| trial.annotations) {
                if let Some(names) = &mut names {
                    names.leave_out_of_annotation(&mut annotation);
                }
                take(&PackRecord::Annotation(annotation))?;
            }
        }
        Ok(names.map(|names| names.left_out()).unwrap_or_default())
    }

    fn is_left_out(&self, event: &TrialEvent) -> bool {
        match event {
            TrialEvent::Produced(artifact) => {
                !self.args.traces && TRACES.contains(&&*artifact.kind)
            }
            _ => false,
        }
    }

    /// Writes the pack to a temporary file beside `path`, and renames it when it is complete and on
    /// disk.
    fn write(&self, path: &Path) -> Result<PackSeal, Failure> {
        let unwritten = |error: &PackError| match error {
            PackError::Io(error) => {
                let message = format!("cannot write {}: {error}", path.display());
                Failure::new(Kind::Environment, message)
            }
            error => unpackable(path, error),
        };
        let head = PackHead {
            treering_version: env!("CARGO_PKG_VERSION").to_owned(),
            has_names: self.args.with_names,
            has_traces: self.args.traces,
        };
        let whole = WholeFile::create(path, 0o666, ExistingFile::Replace);
        let whole = whole.map_err(|error| unwritten(&error.into()))?;
        let mut packing = PackWriter::begin(BufWriter::new(whole.file()), head)
            .map_err(|error| unwritten(&error))?;
        self.records(&mut |record| packing.add(record).map_err(|error| unwritten(&error)))?;
        let (seal, to) = packing.finish().map_err(|error| unwritten(&error))?;
        let written = to.into_inner().map_err(IntoInnerError::into_error).map(|_file| ());
        let placed = written.and_then(|()| whole.publish());
        placed.map_err(|error| unwritten(&error.into()))?;
        Ok(seal)
    }
}

/// Totals of the packed records.
#[derive(Default)]
struct Sum {
    plans: u64,
    trials: u64,
    facts: u64,
    tasks: u64,
    metrics: u64,
    artifacts: u64,
    annotations: u64,
    bytes: u64,
}

impl Sum {
    fn count(&mut self, record: &PackRecord) {
        match record {
            PackRecord::Pack(_) => {}
            PackRecord::Plan(_) => self.plans += 1,
            PackRecord::Annotation(_) => self.annotations += 1,
            PackRecord::Event(TrialEvent::Began(_)) => self.trials += 1,
            PackRecord::Event(TrialEvent::Environment { facts }) => {
                self.facts += facts.len() as u64
            }
            PackRecord::Event(TrialEvent::TaskEnded(_)) => self.tasks += 1,
            PackRecord::Event(TrialEvent::Measured(_)) => self.metrics += 1,
            PackRecord::Event(TrialEvent::Produced(artifact)) => {
                self.artifacts += 1;
                self.bytes += artifact.body.len() as u64;
            }
            PackRecord::Event(_) => {}
        }
    }
}

/// Page about what is packed and what is left out.
fn page(sum: &Sum, left_out: &[RemovedName], args: &PackArgs) -> Report {
    let mut page = Report::new("A pack of trials");
    let columns = vec![Column::text("what"), Column::mixed("amount")];
    let mut table = Table::new("written", "What is written", columns);
    let rows = [
        ("plans", sum.plans),
        ("trials", sum.trials),
        ("facts of the environment", sum.facts),
        ("tasks", sum.tasks),
        ("metrics", sum.metrics),
        ("labels given and exclusions", sum.annotations),
        ("what observers made", sum.artifacts),
    ];
    table.rows.extend(rows.map(|(what, count)| vec![Cell::text(what), Cell::whole(count)]));
    let size = Cell::measured(sum.bytes as f64, Unit::Bytes);
    table.rows.push(vec![Cell::text("size of it, not compressed"), size]);
    page.table(table);
    if args.with_names {
        page.paragraph("Names, paths and serial numbers are written as they are.");
        return page;
    }
    let columns = ["what", "left out", "written instead"].map(Column::text);
    let columns = columns.into_iter().chain([Column::mixed("times")]).collect();
    let mut table = Table::new("left_out", "What is left out", columns);
    let mut hidden = 0;
    for of_kind in left_out.chunk_by(|one, other| one.kind == other.kind) {
        hidden += of_kind.len().saturating_sub(NAMES_SHOWN);
        table.rows.extend(of_kind.iter().take(NAMES_SHOWN).map(|one| {
            let texts = [one.kind.name(), &one.name, &one.instead].map(Cell::text);
            texts.into_iter().chain([Cell::whole(one.times)]).collect()
        }));
    }
    page.table(table);
    if hidden > 0 {
        page.paragraph(format!("Left out likewise: {hidden} more names."));
    }
    page
}
