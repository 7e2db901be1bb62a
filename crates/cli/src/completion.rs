//! Shell completion: the scripts that shells load, and the answers to their requests.
//!
//! For every word, a script runs the program itself, so that it knows the contents of the store.
//! The program then changes nothing, and offers nothing from files that it cannot read.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write, stdout};
use std::process::ExitCode;

use clap_complete::Shell;
use clap_complete::engine::CompletionCandidate;
use clap_complete::env::Shells;
use treering_conduct::plan::ShippedPlan;
use treering_datasets::library;
use treering_filebench as filebench;
use treering_lab::filesystems as lab_filesystems;
use treering_model::CautionCode;
use treering_report::export::ExportForm;
use treering_report::formats;
use treering_report::pages::comparison::DataFormat;
use treering_store::{Access, Filter, LoadDetail, Store, TrialSummary};

use crate::{arguments, places};

/// Environment variable in which the scripts name the shell.
const VARIABLE: &str = "TREERING_COMPLETE";
/// Maximum number of trials offered, newest first.
const TRIALS_MAX: usize = 200;

/// Number of newest trials of a workload whose metrics are offered.
const NEWEST_TRIALS: usize = 8;

/// Function that lists the completion candidates of one argument.
pub(crate) type Candidates = fn() -> Vec<CompletionCandidate>;

/// Answers a completion request of a shell; `None` if this is not such a request.
pub(crate) fn answer(typed: &[OsString]) -> Option<ExitCode> {
    let shell = std::env::var(VARIABLE).ok()?;
    let shells = Shells::builtins();
    let completer = shells.completer(&shell)?;
    let words: Vec<OsString> =
        typed.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let mut command = arguments::to_complete(words.first()?);
    command.build();
    let mut answer = Vec::new();
    let here = std::env::current_dir().ok();
    let made = completer.write_complete(&mut command, words, here.as_deref(), &mut answer);
    let _nobody_listens = made.and_then(|()| stdout().write_all(&answer));
    Some(ExitCode::SUCCESS)
}

/// Writes the script of a shell for treering, or for the imitated tools of these names.
///
/// The script runs the `treering` on the path, even if another program has the name of the tool.
pub(crate) fn write_script(shell: Shell, names: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let shells = Shells::builtins();
    let Some(script) = shells.completer(&shell.to_string()) else {
        return Err(io::Error::other("a shell without completion"));
    };
    for name in names {
        // The name becomes part of the name of a shell function.
        let identifier = name.replace('+', "p");
        script.write_registration(VARIABLE, &identifier, name, "treering", out)?;
    }
    Ok(())
}

fn plain<T: Into<OsString>>(words: impl IntoIterator<Item = T>) -> Vec<CompletionCandidate> {
    words.into_iter().map(|word| CompletionCandidate::new(word.into())).collect()
}

pub(crate) fn workloads() -> Vec<CompletionCandidate> {
    let manifests = treering_registry::workloads().iter().map(|workload| workload.manifest());
    let one = |manifest: &treering_script::WorkloadManifest| {
        CompletionCandidate::new(manifest.name).help(Some(manifest.about.into()))
    };
    manifests.map(one).collect()
}

pub(crate) fn datasets() -> Vec<CompletionCandidate> {
    let all = library::list(&places::dataset_dirs()).unwrap_or_default();
    plain(all.into_iter().map(|dataset| dataset.name))
}

pub(crate) fn personalities() -> Vec<CompletionCandidate> {
    plain(filebench::personality_names())
}

pub(crate) fn filesystems() -> Vec<CompletionCandidate> {
    plain(lab_filesystems::names())
}

pub(crate) fn caution_codes() -> Vec<CompletionCandidate> {
    plain(CautionCode::ALL.map(CautionCode::name))
}

pub(crate) fn page_formats() -> Vec<CompletionCandidate> {
    plain(formats::ALL.iter().map(|format| format.name()))
}

pub(crate) fn comparison_formats() -> Vec<CompletionCandidate> {
    let data = DataFormat::ALL.into_iter().map(DataFormat::name);
    let pages = formats::ALL.iter().map(|format| format.name());
    plain(pages.chain(data).collect::<BTreeSet<_>>())
}

pub(crate) fn export_forms() -> Vec<CompletionCandidate> {
    plain(ExportForm::ALL.into_iter().map(ExportForm::name))
}

/// Opens the default store without first moving waiting results into it.
fn store() -> Option<Store> {
    Store::open(places::default_store().ok()?, Access::ReadOnly).ok()
}

fn stored(filter: &Filter) -> Vec<TrialSummary> {
    store().and_then(|store| store.trials(filter).ok()).unwrap_or_default()
}

/// Shortest unique prefixes of the trial identities, described by their command; and `last`.
pub(crate) fn trials() -> Vec<CompletionCandidate> {
    let short = |store: &Store| {
        let filter = Filter { limit: Some(TRIALS_MAX), ..Filter::default() };
        let summaries = store.trials(&filter).ok()?;
        let ids: Vec<_> = summaries.iter().map(|summary| summary.trial).collect();
        Some((store.short_ids(&ids).ok()?, summaries))
    };
    let Some((ids, summaries)) = store().as_ref().and_then(short) else { return Vec::new() };
    let about = |summary: &TrialSummary| {
        format!("{} {} {}", summary.workload, summary.mode.name(), summary.label).trim().to_owned()
    };
    let trials_by_id = ids.into_iter().zip(&summaries);
    let trials_by_id =
        trials_by_id.map(|(id, one)| CompletionCandidate::new(id).help(Some(about(one).into())));
    let last = CompletionCandidate::new("last").help(Some("the newest trial".into()));
    std::iter::once(last).chain(trials_by_id).collect()
}

pub(crate) fn labels() -> Vec<CompletionCandidate> {
    let all = stored(&Filter::default()).into_iter().map(|summary| summary.label);
    plain(all.filter(|label| !label.is_empty()).collect::<BTreeSet<_>>())
}

/// Names of the metrics in the default store.
pub(crate) fn metrics() -> Vec<CompletionCandidate> {
    plain(store().and_then(|store| store.metric_names().ok()).unwrap_or_default())
}

/// Names of the metrics of the stored trials of the workload that is typed before; of all trials if
/// none is.
pub(crate) fn metrics_of_workload() -> Vec<CompletionCandidate> {
    let mut words = std::env::args().skip_while(|word| word != "--workload").skip(1);
    let Some(workload) = words.next() else { return metrics() };
    let newest =
        Filter { workload: Some(workload), limit: Some(NEWEST_TRIALS), ..Filter::default() };
    let ids: Vec<_> = stored(&newest).iter().map(|summary| summary.trial).collect();
    let trials = store().and_then(|store| store.load_many(&ids, LoadDetail::Headlines).ok());
    let metrics = trials.iter().flatten().flat_map(|trial| &trial.metrics);
    let names = metrics.map(|metric| metric.scope.metric_name(&metric.name));
    plain(names.collect::<BTreeSet<_>>())
}

pub(crate) fn profiles() -> Vec<CompletionCandidate> {
    plain(treering_age::profiles().map(|(name, _)| name))
}

/// Names of the plans that are inside the program.
pub(crate) fn shipped_plans() -> Vec<CompletionCandidate> {
    plain(ShippedPlan::all().iter().map(|plan| plan.name))
}

pub(crate) fn plans() -> Vec<CompletionCandidate> {
    let cells = stored(&Filter::default()).into_iter().filter_map(|summary| summary.cell);
    plain(cells.map(|cell| cell.plan).collect::<BTreeSet<_>>())
}

/// Shortest unique prefixes of the campaign identities.
pub(crate) fn campaigns() -> Vec<CompletionCandidate> {
    let cells = stored(&Filter::default()).into_iter().filter_map(|summary| summary.cell);
    let all: Vec<_> =
        cells.map(|cell| cell.campaign).collect::<BTreeSet<_>>().into_iter().collect();
    plain(store().and_then(|store| store.short_ids(&all).ok()).unwrap_or_default())
}
