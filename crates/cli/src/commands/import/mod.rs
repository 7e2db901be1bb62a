//! `treering import`: imports logs of other tools, and exports of treering, into the store.

mod files;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use treering_model::{AnnotationKind, Fact, IMPORT_FACT, RunMode, Trial, TrialHeader, TrialId};
use treering_registry::{ImportReader, ImportedTrial, OutputOutline, PhaseRows, events_of, tools};
use treering_report::pages::imported::{ImportedRow, page};
use treering_store::{Filter, Store, StoreError};

use crate::arguments::ImportArgs;
use crate::clock;
use crate::commands::output;
use crate::failure::{Failure, Kind};
use crate::places;
use crate::storage::{failure, open_to_write};
use files::{File, Files, Stand};

/// Names of the facts about the origin of a trial.
const FILE_FACT: &str = "import.file";
const LINES_FACT: &str = "import.lines";
const DIGEST_FACT: &str = "import.digest";
const TEST_FACT: &str = "import.mmtests_test";
const ITERATION_FACT: &str = "import.mmtests_iteration";

/// Imports the files.
pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let Files { files, failures } = files::read(&args.files);
    let mut failures = failures.into_iter();
    if files.iter().all(|file| file.scan.outlines.is_empty()) {
        if let Some(failure) = failures.next() {
            return Err(failure);
        }
        let remarks: Vec<String> = remarks(&files);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let message = format!("no known output in {}", names.join(", "));
        let known = tools().collect::<Vec<_>>().join(", ");
        let hint = match remarks.first() {
            Some(first) => format!("{first}; supported logs: {known}"),
            None => format!("supported logs: {known}"),
        };
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    }
    let labels = labels(&files, &args.label)?;
    let mut keeper =
        if args.dry_run { None } else { Some(Keeper::open(args.store.store.as_deref())?) };
    let mut rows = Vec::new();
    let mut counters = remarks(&files);
    let first_failure = failures.next();
    counters.extend(failures.map(|failure| format!("{}; skipped", failure.message())));
    let mut labels = labels.into_iter();
    for file in files.iter().filter(|file| !file.scan.outlines.is_empty()) {
        let source = file.reopened()?;
        let wrong = |error| files::unread(&file.path, &error);
        let mut importing = ImportReader::new(source.as_ref()).map_err(wrong)?;
        let mut outlines = file.scan.outlines.iter().peekable();
        while let Some(line) = outlines.peek().map(|outline| outline.lines.0) {
            // One trial at a time is in memory, however many there are.
            let mut take = |content| -> Result<(), Failure> {
                let changed = || files::unread(&file.path, &"it changed while it was read");
                let is_next = |outline: &&OutputOutline| outline.lines.0 == line;
                let outline = outlines.next_if(is_next).ok_or_else(changed)?;
                let label = labels.next().unwrap_or_default();
                let (trial, table) = complete(content, outline, file, &label);
                let is_kept = match &mut keeper {
                    None => false,
                    Some(keeper) => keeper.keep(&trial, &table, args.again, &mut counters)?,
                };
                let (first, last) = outline.lines;
                let place = format!("{}:{first}-{last}", file.name);
                let more = (table.len(), table.metrics_count());
                rows.push(ImportedRow::new(place, outline.tool, is_kept, &trial, more));
                Ok(())
            };
            let mut taken = Ok(());
            let read = importing.read(line, &mut |content| {
                taken = take(content);
                if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            read.map_err(wrong)?;
            taken?;
            if outlines.peek().is_some_and(|outline| outline.lines.0 == line) {
                return Err(files::unread(&file.path, &"it changed while it was read"));
            }
        }
    }
    output::write(&page(&rows, &counters, args.dry_run), &args.output)?;
    // Trials that could be read are stored even if others could not.
    first_failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

fn remarks(files: &[File]) -> Vec<String> {
    let of = |file: &File| -> Vec<String> {
        let name = &file.name;
        if file.stand.is_some() && file.scan.outlines.is_empty() {
            return vec![format!("{name}: no known output; skipped")];
        }
        let said = file.scan.remarks.iter();
        said.map(|remark| format!("{name}:{}: {}", remark.line, remark.what)).collect()
    };
    files.iter().flat_map(of).collect()
}

/// Assigns the labels of the command line: the first output of every tool gets the first label, the
/// second the second, so that the outputs of one side share a label. Of results of MMTests the
/// first run gets the first label, for each of its iterations.
fn labels(files: &[File], wanted: &[String]) -> Result<Vec<String>, Failure> {
    if wanted.is_empty() {
        return Ok(files.iter().flat_map(labels_by_file).collect());
    }
    let all = numbered(files);
    let label =
        |(number, found): &(usize, &OutputOutline)| match (wanted.get(*number), &found.label) {
            (Some(label), _) | (None, Some(label)) => Ok(label.clone()),
            (None, None) => {
                let tool = found.tool;
                let numbers =
                    all.iter().filter(|(_, other)| other.tool == tool).map(|(of, _)| of + 1);
                let outputs = numbers.max().unwrap_or(0);
                let message =
                    format!("--label names {} of {outputs} outputs of {tool}", wanted.len());
                Err(Failure::new(Kind::Usage, message).hint(
                "give one label for each output of a tool (for MMTests, each run), separated by \
                 commas",
            ))
            }
        };
    all.iter().map(label).collect()
}

/// Labels of the trials in a file. Exports of treering keep their labels, and an output may have a
/// name in the log; others get the file name, with a number if the file holds several outputs of a
/// tool. Results of MMTests get the name of their run.
fn labels_by_file(file: &File) -> Vec<String> {
    if let Some(stand) = &file.stand {
        return vec![stand.run.clone(); file.scan.outlines.len()];
    }
    let all = numbered(std::slice::from_ref(file));
    let are_alone = all.iter().all(|(number, _)| *number == 0);
    let label = |(number, found): (usize, &OutputOutline)| match &found.label {
        Some(label) => label.clone(),
        None if !found.name.is_empty() => found.name.clone(),
        None if are_alone => file.name.clone(),
        None => format!("{}#{}", file.name, number + 1),
    };
    all.into_iter().map(label).collect()
}

/// Outputs with their numbers, counted from 0 for each tool; results have the number of their run.
fn numbered(files: &[File]) -> Vec<(usize, &OutputOutline)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut runs: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for file in files {
        for found in &file.scan.outlines {
            let number = if let Some(stand) = &file.stand {
                runs.iter().position(|run| *run == stand.run).unwrap_or_else(|| {
                    runs.push(&stand.run);
                    runs.len() - 1
                })
            } else {
                let count = counts.entry(found.tool).or_default();
                *count += 1;
                *count - 1
            };
            all.push((number, found));
        }
    }
    all
}

/// Completes a trial with the values that the log lacks; also returns the rows of its table.
fn complete(
    content: ImportedTrial,
    found: &OutputOutline,
    file: &File,
    label: &str,
) -> (Trial, PhaseRows) {
    let mut foreign = match content {
        ImportedTrial::Own(mut trial) => {
            label.clone_into(&mut trial.beginning.label);
            return (*trial, PhaseRows::default());
        }
        ImportedTrial::Foreign(foreign) => *foreign,
    };
    let rows = std::mem::take(&mut foreign.rows);
    let now_ms = i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX);
    let began_ms = file.stand.as_ref().and_then(|stand| stand.began_unix_ms);
    let beginning = TrialHeader {
        // Without a date in the log, that of the test, else that of the import.
        started_unix_ms: foreign.started_unix_ms.or(began_ms).unwrap_or(now_ms),
        treering_version: env!("CARGO_PKG_VERSION").to_owned(),
        label: label.to_owned(),
        ..TrialHeader::new(TrialId::new(), foreign.workload, RunMode::Classic)
    };
    let mut trial = foreign.with(beginning);
    let (first, last) = found.lines;
    let lines = match found.nth {
        0 => format!("{first}-{last}"),
        nth => format!("{first}-{last}#{}", nth + 1),
    };
    let mut facts = vec![
        (FILE_FACT, file.name.clone()),
        (LINES_FACT, lines),
        (DIGEST_FACT, file.digest.text()),
    ];
    if let Some(Stand { iteration, test, .. }) = &file.stand {
        facts.push((TEST_FACT, test.clone()));
        facts.push((ITERATION_FACT, iteration.to_string()));
    }
    let facts = facts.into_iter().map(|(name, value)| Fact { name: name.to_owned(), value });
    trial.facts.extend(facts);
    (trial, rows)
}

/// Origin of an imported trial: the digest of the file and the lines of the output in the file.
type Origin = (String, String);

fn origin<'f>(facts: impl Iterator<Item = &'f Fact> + Clone) -> Option<Origin> {
    let fact = |name: &str| facts.clone().find(|fact| fact.name == name);
    fact(IMPORT_FACT)?;
    Some((fact(DIGEST_FACT)?.value.clone(), fact(LINES_FACT)?.value.clone()))
}

/// The store, and the origins of the trials in it.
struct Keeper {
    store: Store,
    trials: HashSet<TrialId>,
    origins: HashMap<Origin, TrialId>,
}

impl Keeper {
    fn open(named: Option<&Path>) -> Result<Self, Failure> {
        let place = match named {
            Some(place) => place.to_owned(),
            None => places::default_store()?,
        };
        let store = open_to_write(&place)?;
        Self::of(store).map_err(|error| failure(&error))
    }

    fn of(store: Store) -> Result<Self, StoreError> {
        let known = store.trials(&Filter::default())?;
        let trials = known.iter().map(|known| known.trial).collect();
        let facts = store.facts(&[IMPORT_FACT, DIGEST_FACT, LINES_FACT])?;
        let mut origins = HashMap::new();
        for of_trial in facts.chunk_by(|(one, _), (other, _)| one == other) {
            if let Some(origin) = origin(of_trial.iter().map(|(_, fact)| fact)) {
                origins.entry(origin).or_insert(of_trial[0].0);
            }
        }
        Ok(Self { store, trials, origins })
    }

    fn know(&mut self, trial: &Trial) {
        let id = trial.beginning.trial;
        self.trials.insert(id);
        if let Some(origin) = origin(trial.facts.iter()) {
            self.origins.entry(origin).or_insert(id);
        }
    }

    /// Trial in the store that equals this one: same identity, or same lines of the same file.
    fn stands(&self, trial: &Trial) -> Option<TrialId> {
        let id = trial.beginning.trial;
        if self.trials.contains(&id) {
            Some(id)
        } else {
            self.origins.get(&origin(trial.facts.iter())?).copied()
        }
    }

    /// Stores a trial unless it is stored already, since a duplicate would look like another run.
    fn keep(
        &mut self,
        trial: &Trial,
        rows: &PhaseRows,
        again: bool,
        counters: &mut Vec<String>,
    ) -> Result<bool, Failure> {
        let about = &trial.beginning;
        if let Some(there) = self.stands(trial)
            && (there == about.trial || !again)
        {
            let hint = if there == about.trial { "" } else { " (--again stores it once more)" };
            counters.push(format!(
                "'{}' of {} is already in the store as {there}: skipped{hint}",
                about.label, about.workload
            ));
            return Ok(false);
        }
        let mut recorder = self.store.recorder().copying();
        for event in events_of(trial, rows) {
            recorder.record(&event).map_err(|error| failure(&error))?;
        }
        drop(recorder);
        if let Some(reason) = trial.exclusion() {
            let now_ms = i64::try_from(clock::unix_ms()).unwrap_or(i64::MAX);
            let change = AnnotationKind::Excluded { reason: reason.to_owned() };
            let annotated = self.store.annotate(&[about.trial], now_ms, &change);
            annotated.map_err(|error| failure(&error))?;
        }
        self.know(trial);
        Ok(true)
    }
}
