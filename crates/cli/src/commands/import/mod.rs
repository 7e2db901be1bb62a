//! `treering import`: imports logs of other tools, and exports of treering, into the store.

mod strict;

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use strict::StrictCheck;
use treering_registry::{
    ImportFile, ImportFileError, ImportFiles, ImportReader, ImportedTrial, OutputOutline,
    StoredNumbers, completed_trial, labels, read_files, remarks, tools,
};
use treering_report::pages::imported::{ImportView, ImportedRow, page};
use treering_results::{TrialImport, TrialImporter};

use crate::arguments::ImportArgs;
use crate::clock;
use crate::commands::output;
use crate::commands::typed::origin_of_files;
use crate::failure::Failure;
use crate::storage::place_of;

/// Imports the files.
pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let ImportFiles { files, errors, mut notes } = read_files(&args.files, &std::env::temp_dir());
    let mut failures = errors.into_iter().map(unreadable_file);
    if files.iter().all(|file| file.scan.outlines.is_empty()) {
        if let Some(failure) = failures.next() {
            return Err(failure);
        }
        return Err(nothing_found(&files));
    }
    let labels = labels(&files, &args.label)?;
    let mut keeper =
        if args.dry_run { None } else { Some(TrialImporter::open(place_of(&args.store))?) };
    notes.extend(remarks(&files, args.full));
    let first_failure = failures.next();
    notes.extend(failures.map(|failure| format!("{}; skipped", failure.message())));
    let mut labels = labels.into_iter();
    let mut check = args.strict.then(StrictCheck::default);
    let mut importing = ImportRun {
        args,
        labels: &mut labels,
        keeper: keeper.as_mut(),
        check: check.as_mut(),
        began_unix_ms: clock::trial_unix_ms(),
        rows: Vec::new(),
    };
    let read = files.iter().try_for_each(|file| importing.read(file));
    let rows = importing.rows;
    // Trials before an unreadable place are kept.
    let committed = keeper.as_mut().map_or(Ok(()), TrialImporter::commit);
    read.and(committed)?;
    notes.extend(keeper.map_or_else(Vec::new, TrialImporter::notes));
    show(&rows, &notes, args)?;
    // Trials that could be read are stored even if others could not.
    let code = check.map_or(ExitCode::SUCCESS, |check| check.conclude(args.full));
    first_failure.map_or(Ok(code), Err)
}

/// Import of files, one after another.
struct ImportRun<'i> {
    args: &'i ImportArgs,
    /// Labels of the outputs to come.
    labels: &'i mut dyn Iterator<Item = String>,
    keeper: Option<&'i mut TrialImporter>,
    check: Option<&'i mut StrictCheck>,
    began_unix_ms: i64,
    /// A row for each output so far.
    rows: Vec<ImportedRow>,
}

impl ImportRun<'_> {
    /// Reads and keeps the outputs of a file.
    fn read(&mut self, file: &ImportFile) -> Result<(), Failure> {
        if file.scan.outlines.is_empty() && self.check.is_none() {
            return Ok(());
        }
        let source = file.reopened().map_err(unreadable_file)?;
        let wrong = |error| ImportFileError::unread(&file.path, error);
        let mut reader =
            ImportReader::new(source.as_ref()).map_err(wrong).map_err(unreadable_file)?;
        if let Some(check) = &mut self.check {
            check.add_empty(file, &mut reader);
        }
        let mut outlines = file.scan.outlines.iter().peekable();
        while let Some(output) = outlines.peek().copied() {
            let changed = || {
                let why = "it changed while it was read";
                unreadable_file(ImportFileError::unread(&file.path, why))
            };
            let mut stored = StoredNumbers::default();
            let mut taken = Ok(());
            // Only one trial at a time is in memory.
            let read = reader.read(output, &mut |content| {
                let is_next = |outline: &&OutputOutline| outline.lines.0 == output.lines.0;
                taken = match outlines.next_if(is_next) {
                    Some(outline) => self.keep(content, outline, file, &mut stored),
                    None => Err(changed()),
                };
                if taken.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            read.map_err(wrong).map_err(unreadable_file)?;
            taken?;
            if outlines.peek().is_some_and(|outline| outline.lines.0 == output.lines.0) {
                return Err(changed());
            }
            if let Some(check) = &mut self.check {
                check.add(&file.name, reader.lost_numbers(output, &mut stored));
            }
        }
        Ok(())
    }

    /// Keeps the trial of an output.
    fn keep(
        &mut self,
        content: ImportedTrial,
        outline: &OutputOutline,
        file: &ImportFile,
        stored: &mut StoredNumbers,
    ) -> Result<(), Failure> {
        let label = self.labels.next().unwrap_or_default();
        let import = TrialImport {
            file: &file.name,
            is_exported: matches!(content, ImportedTrial::Own(_)),
            again: self.args.again,
        };
        // Trials without a date have the order of their outputs.
        let place = i64::try_from(self.rows.len()).unwrap_or(i64::MAX);
        let undated_unix_ms = self.began_unix_ms.saturating_add(place);
        let (trial, table) = completed_trial(content, outline, file, &label, undated_unix_ms);
        if self.check.is_some() {
            stored.add(&trial, &table);
        }
        let is_kept = match &mut self.keeper {
            None => false,
            Some(keeper) => keeper.keep(&trial, &table, import)?,
        };
        let (first, last) = outline.lines;
        let place = format!("{}:{first}-{last}", file.name);
        let more = (table.len(), table.metrics_count());
        self.rows.push(ImportedRow::new(place, outline.tool, is_kept, &trial, more));
        Ok(())
    }
}

/// Prints what was imported.
fn show(rows: &[ImportedRow], notes: &[String], args: &ImportArgs) -> Result<(), Failure> {
    let store = args.store.store.as_deref().map(Path::to_string_lossy);
    let view = ImportView {
        notes,
        is_dry: args.dry_run,
        is_whole: args.full || args.output.format.is_some(),
        store: store.as_deref(),
    };
    let mut shown = page(rows, &view);
    shown.origin(origin_of_files());
    output::write(&shown, &args.output)
}

/// Failure for files without an output. The first remark explains why text that begins like an
/// output is none.
fn nothing_found(files: &[ImportFile]) -> Failure {
    let known = format!("supported logs: {}", tools().collect::<Vec<_>>().join(", "));
    // Texts inside a program can begin like an output.
    let are_programs = files.iter().all(|file| is_program(&file.path));
    let mut remarks = remarks(files, false).into_iter().filter(|_| !are_programs);
    match remarks.next() {
        Some(first) => Failure::usage(first).hint(remarks.next().unwrap_or(known)),
        None => {
            let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            let message = format!("no known output in {}", names.join(", "));
            Failure::usage(message).hint(known)
        }
    }
}

/// True if a file is a program in the format of Linux.
fn is_program(path: &Path) -> bool {
    let mut first = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"\x7fELF"
}

/// Failure for a file that cannot be imported.
fn unreadable_file(error: ImportFileError) -> Failure {
    Failure::usage(error.to_string()).hint(error.hint())
}
