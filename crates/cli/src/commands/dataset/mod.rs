//! `treering dataset`: list, show, record, import.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use treering_datasets::library::{self, DatasetInfo, DatasetOrigin, LibraryError, OverwritePolicy};
use treering_datasets::record::{RecordError, RecordingInput, record};
use treering_datasets::report::dataset_report;
use treering_datasets::{Dataset, OmittedEntries, PathSelection, TreeState, check_title, classic};
use treering_report::pages::tools::dataset::{self as pages, ListedDataset};
use treering_script::with_causes;

use crate::arguments::{DatasetVerb, RecordArgs};
use crate::classic_output::say;
use crate::commands::output;
use crate::failure::{Failure, Kind, is_missing};
use crate::places;

/// Runs a subcommand of `treering dataset`.
pub(crate) fn run(verb: DatasetVerb) -> Result<ExitCode, Failure> {
    let dirs = places::dataset_dirs();
    match verb {
        DatasetVerb::List { output } => {
            let datasets = library::list(&dirs).map_err(|error| library_failure(&error))?;
            let listed: Vec<ListedDataset> = datasets.into_iter().map(listed).collect();
            output::write(&pages::list(&listed), &output)?;
        }
        DatasetVerb::Show { name, output } => {
            let dataset = library::load(&name, &dirs).map_err(|error| library_failure(&error))?;
            output::write(&pages::show(&dataset_report(&dataset)), &output)?;
        }
        DatasetVerb::Record(args) => record_one(&args)?,
        DatasetVerb::Import { dir, name, replace } => import(&dir, name, replace)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(info: DatasetInfo) -> ListedDataset {
    let place = match &info.origin {
        DatasetOrigin::Builtin => "shipped".to_owned(),
        DatasetOrigin::File(path) | DatasetOrigin::ClassicFiles(path) => path.display().to_string(),
    };
    let states = match &info.header {
        Ok(header) => Ok(TreeState::ALL.map(|state| header.list(state))),
        Err(error) => Err(with_causes(error).lines().next().unwrap_or_default().to_owned()),
    };
    ListedDataset { name: info.name, place, states }
}

fn record_one(args: &RecordArgs) -> Result<(), Failure> {
    check_name(&args.name)?;
    let only = PathSelection::from_prefixes(&args.only)
        .map_err(|error| Failure::of(Kind::Usage, &error))?;
    let recording = RecordingInput {
        name: &args.name,
        about: "",
        clean: &args.clean,
        patched: args.patched.as_deref(),
        compiled: args.compiled.as_deref(),
        patched_compiled: args.patched_compiled.as_deref(),
        build: args.build.as_deref(),
        only,
    };
    let mut to_stderr = |bytes: &[u8]| {
        let _nobody_listens = std::io::stderr().write_all(bytes);
    };
    let recorded = record(&recording, &mut to_stderr).map_err(|error| {
        let kind = match &error {
            RecordError::Scan { source, .. } if is_missing(source) => Kind::Usage,
            _ => Kind::Environment,
        };
        Failure::of(kind, &error)
    })?;
    for note in &recorded.counters {
        match note {
            OmittedEntries::OtherFilesystem(path) => {
                say(&format!("note: {} is on another filesystem and is left out", path.display()));
            }
            OmittedEntries::SpecialFiles { root, count } => {
                say(&format!("note: {count} special files in {} are left out", root.display()));
            }
        }
    }
    save(&recorded.dataset, args.replace)
}

/// Checks the name of a new data set, before any file is scanned.
fn check_name(name: &str) -> Result<(), Failure> {
    check_title(name).map_err(|error| Failure::of(Kind::Usage, &error))?;
    if library::builtin_names().any(|builtin| builtin == name) {
        let message = format!("'{name}' is the name of a built-in data set");
        return Err(Failure::usage(message).hint("choose another name"));
    }
    Ok(())
}

fn import(dir: &Path, name: Option<String>, replace: bool) -> Result<(), Failure> {
    let own_name = || {
        let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let name = name.unwrap_or_else(own_name);
    check_name(&name).map_err(|failure| failure.hint("give it a name with --name NAME"))?;
    let dataset =
        classic::read_directory(&name, dir).map_err(|error| library_failure(&error.into()))?;
    save(&dataset, replace)
}

fn save(dataset: &Dataset, replace: bool) -> Result<(), Failure> {
    let dir: PathBuf = places::data_dir()?.join("datasets");
    let existing = if replace { OverwritePolicy::Replace } else { OverwritePolicy::Keep };
    let path = library::save(dataset, &dir, existing).map_err(|error| {
        let failure = library_failure(&error);
        if replace { failure } else { failure.hint("--replace overwrites an existing one") }
    })?;
    say(&format!(
        "{}: {} files, {} MiB clean; kept in {}",
        dataset.name,
        dataset.unpatched.len(),
        dataset.unpatched.bytes() >> 20,
        path.display()
    ));
    say(&format!("`treering dataset show {}` shows it", dataset.name));
    Ok(())
}

fn library_failure(error: &LibraryError) -> Failure {
    Failure::of(Kind::Usage, error).maybe_hint(error.hint())
}
