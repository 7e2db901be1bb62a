//! `treering import`: logs of other tools, and what treering exported, into the store.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use treering_import::{Content, Found, Imported, events_of, import, tools};
use treering_model::{Beginning, Fact, Fingerprint, IMPORT_FACT, Mode, Trial, TrialId};
use treering_report::pages::imported::{ImportedRow, page};
use treering_store::{Filter, Store, StoreError};

use super::output;
use crate::arguments::ImportArgs;
use crate::failure::{Failure, Kind};
use crate::places;
use crate::storage::{failure, open_to_write};

/// Larger files are no logs.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The facts that say where a trial comes from.
const FILE_FACT: &str = "import.file";
const LINES_FACT: &str = "import.lines";
const DIGEST_FACT: &str = "import.digest";

/// A file and what was found in it.
struct File {
    name: String,
    digest: Fingerprint,
    imported: Imported,
}

/// Imports them.
pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let files = args.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    if files.iter().all(|file| file.imported.found.is_empty()) {
        let remarks: Vec<String> = remarks(&files);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let message = format!("no output that is known is in {}", names.join(", "));
        let known = tools().collect::<Vec<_>>().join(", ");
        let hint = match remarks.first() {
            Some(first) => format!("{first}; logs of these tools are read: {known}"),
            None => format!("logs of these tools are read: {known}"),
        };
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    }
    let labels = labels(&files, &args.label)?;
    let mut store = if args.dry_run { None } else { Some(open(args.store.store.as_deref())?) };
    let mut rows = Vec::new();
    let mut notes = remarks(&files);
    let mut labels = labels.into_iter();
    for file in &files {
        for found in &file.imported.found {
            let label = labels.next().unwrap_or_default();
            let trial = complete(found, file, &label);
            let is_kept = match &mut store {
                None => false,
                Some(store) => keep(store, &trial, args.again, &mut notes)?,
            };
            let (first, last) = found.lines;
            rows.push(ImportedRow {
                place: format!("{}:{first}-{last}", file.name),
                tool: found.tool.to_owned(),
                is_kept,
                trial,
            });
        }
    }
    output::write(&page(&rows, &notes, args.dry_run), &args.output)?;
    Ok(ExitCode::SUCCESS)
}

fn open(named: Option<&Path>) -> Result<Store, Failure> {
    let place = match named {
        Some(place) => place.to_owned(),
        None => places::default_store()?,
    };
    open_to_write(&place)
}

/// Reads a file, or standard input for `-`.
fn read(path: &Path) -> Result<File, Failure> {
    let name = match path.file_name() {
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    };
    let unread = |error: std::io::Error| {
        Failure::new(Kind::Usage, format!("{}: {error}", path.display()))
            .hint("name files with the output of tools")
    };
    let mut bytes = Vec::new();
    let mut take = |from: &mut dyn Read| from.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if path == Path::new("-") {
        take(&mut std::io::stdin().lock()).map_err(unread)?;
    } else {
        take(&mut fs::File::open(path).map_err(unread)?).map_err(unread)?;
    }
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("{}: more than {} MiB", path.display(), FILE_BYTES_MAX >> 20);
        return Err(Failure::new(Kind::Usage, message).hint("cut it into its outputs"));
    }
    Ok(File { name, digest: Fingerprint::of(&bytes), imported: import(&bytes) })
}

fn remarks(files: &[File]) -> Vec<String> {
    let of = |file: &File| -> Vec<String> {
        let said = file.imported.remarks.iter();
        said.map(|remark| format!("{}:{}: {}", file.name, remark.line, remark.what)).collect()
    };
    files.iter().flat_map(of).collect()
}

/// A label for each output: the first of every tool gets the first one, the second the second, so
/// that all that was measured of one side has one label.
fn labels(files: &[File], wanted: &[String]) -> Result<Vec<String>, Failure> {
    let mut labels = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        if wanted.is_empty() {
            counts.clear();
        }
        let first = labels.len();
        for found in &file.imported.found {
            let count = counts.entry(found.tool).or_default();
            *count += 1;
            labels.push(match (wanted.get(*count - 1), &found.content) {
                (Some(label), _) => label.clone(),
                // What treering exported has its label.
                (None, Content::Own(trial)) => trial.beginning.label.clone(),
                (None, Content::Foreign(_)) if !wanted.is_empty() => String::new(),
                (None, Content::Foreign(_)) => format!("{}#{count}", file.name),
            });
        }
        let foreign = file.imported.found.iter().map(|found| found.tool);
        if wanted.is_empty() && foreign.clone().all(|tool| counts.get(tool) == Some(&1)) {
            let alone = format!("{}#1", file.name);
            labels[first..].iter_mut().filter(|label| **label == alone).for_each(|label| {
                label.clone_from(&file.name);
            });
        }
    }
    if let Some((tool, most)) = counts.iter().max_by_key(|(_, count)| **count)
        && !wanted.is_empty()
        && *most > wanted.len()
        && labels.iter().any(String::is_empty)
    {
        let message = format!("--label names {} of {most} outputs of {tool}", wanted.len());
        return Err(Failure::new(Kind::Usage, message)
            .hint("give one label for each output of a tool, with commas between"));
    }
    Ok(labels)
}

/// The trial with what the log does not hold.
fn complete(found: &Found, file: &File, label: &str) -> Trial {
    let foreign = match &found.content {
        Content::Own(trial) => {
            let mut trial = trial.as_ref().clone();
            label.clone_into(&mut trial.beginning.label);
            return trial;
        }
        Content::Foreign(foreign) => foreign.as_ref().clone(),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let beginning = Beginning {
        // Without a date in the log, that of the import.
        started_unix_ms: foreign.started_unix_ms.unwrap_or(now_ms),
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: label.to_owned(),
        ..Beginning::new(TrialId::new(), foreign.workload, Mode::Classic)
    };
    let mut trial = foreign.with(beginning);
    let (first, last) = found.lines;
    for (name, value) in [
        (FILE_FACT, file.name.clone()),
        (LINES_FACT, format!("{first}-{last}")),
        (DIGEST_FACT, file.digest.text()),
    ] {
        trial.facts.push(Fact { name: name.to_owned(), value });
    }
    trial
}

/// Puts a trial into the store, unless it is there: twice the same run would look like two.
fn keep(
    store: &mut Store,
    trial: &Trial,
    again: bool,
    notes: &mut Vec<String>,
) -> Result<bool, Failure> {
    let about = &trial.beginning;
    if let Some(there) = stands(store, trial).map_err(|error| failure(&error))?
        && (there == about.trial || !again)
    {
        let hint = if there == about.trial { "" } else { " (--again keeps it once more)" };
        notes.push(format!(
            "'{}' of {} is in the store already as {there}: not kept again{hint}",
            about.label, about.workload
        ));
        return Ok(false);
    }
    let mut recorder = store.recorder();
    for event in events_of(trial) {
        recorder.record(&event).map_err(|error| failure(&error))?;
    }
    Ok(true)
}

/// The trial in the store that is this one: of the same identity, or from the same place of the
/// same file.
fn stands(store: &Store, trial: &Trial) -> Result<Option<TrialId>, StoreError> {
    let workload = Some(trial.beginning.workload.clone());
    let all = store.trials(&Filter { workload, ..Filter::default() })?;
    if let Some(same) = all.iter().find(|known| known.trial == trial.beginning.trial) {
        return Ok(Some(same.trial));
    }
    let origin = |trial: &Trial| -> Option<(String, String)> {
        let fact = |name: &str| trial.facts.iter().find(|fact| fact.name == name);
        fact(IMPORT_FACT)?;
        Some((fact(DIGEST_FACT)?.value.clone(), fact(LINES_FACT)?.value.clone()))
    };
    let Some(wanted) = origin(trial) else { return Ok(None) };
    let ids: Vec<TrialId> = all.iter().map(|known| known.trial).collect();
    let known = store.load_with_facts(&ids, &[IMPORT_FACT, DIGEST_FACT, LINES_FACT])?;
    let same = known.iter().find(|known| origin(known).as_ref() == Some(&wanted));
    Ok(same.map(|same| same.beginning.trial))
}
