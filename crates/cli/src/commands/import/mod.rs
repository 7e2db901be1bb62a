//! `treering import`: imports logs of other tools, and exports of treering, into the store.

mod keeper;

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use keeper::{TrialImport, TrialImporter};
use treering_registry::{
    ImportFile, ImportFileError, ImportFiles, ImportReader, ImportedTrial, OutputOutline,
    completed_trial, labels, read_files, remarks, tools,
};
use treering_report::pages::imported::{ImportView, ImportedRow, page};

use crate::arguments::ImportArgs;
use crate::clock;
use crate::commands::output;
use crate::failure::Failure;

/// Imports the files.
pub(crate) fn run(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let ImportFiles { files, errors } = read_files(&args.files, &std::env::temp_dir());
    let mut failures = errors.into_iter().map(unreadable_file);
    if files.iter().all(|file| file.scan.outlines.is_empty()) {
        if let Some(failure) = failures.next() {
            return Err(failure);
        }
        return Err(nothing_found(&files));
    }
    let labels = labels(&files, &args.label)?;
    let mut keeper =
        if args.dry_run { None } else { Some(TrialImporter::open(args.store.store.as_deref())?) };
    let mut rows = Vec::new();
    let mut counters = remarks(&files);
    let first_failure = failures.next();
    counters.extend(failures.map(|failure| format!("{}; skipped", failure.message())));
    let mut labels = labels.into_iter();
    for file in files.iter().filter(|file| !file.scan.outlines.is_empty()) {
        let source = file.reopened().map_err(unreadable_file)?;
        let wrong = |error| ImportFileError::unread(&file.path, error);
        let mut importing =
            ImportReader::new(source.as_ref()).map_err(wrong).map_err(unreadable_file)?;
        let mut outlines = file.scan.outlines.iter().peekable();
        while let Some(line) = outlines.peek().map(|outline| outline.lines.0) {
            // Only one trial at a time is in memory.
            let mut take = |content| -> Result<(), Failure> {
                let changed =
                    || ImportFileError::unread(&file.path, "it changed while it was read");
                let is_next = |outline: &&OutputOutline| outline.lines.0 == line;
                let outline =
                    outlines.next_if(is_next).ok_or_else(changed).map_err(unreadable_file)?;
                let label = labels.next().unwrap_or_default();
                let now_unix_ms = clock::trial_unix_ms();
                let import = TrialImport {
                    file: &file.name,
                    is_exported: matches!(content, ImportedTrial::Own(_)),
                    again: args.again,
                };
                let (trial, table) = completed_trial(content, outline, file, &label, now_unix_ms);
                let is_kept = match &mut keeper {
                    None => false,
                    Some(keeper) => keeper.keep(&trial, &table, import)?,
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
            read.map_err(wrong).map_err(unreadable_file)?;
            taken?;
            if outlines.peek().is_some_and(|outline| outline.lines.0 == line) {
                let why = "it changed while it was read";
                return Err(unreadable_file(ImportFileError::unread(&file.path, why)));
            }
        }
    }
    counters.extend(keeper.map_or_else(Vec::new, TrialImporter::notes));
    show(&rows, &counters, args)?;
    // Trials that could be read are stored even if others could not.
    first_failure.map_or(Ok(ExitCode::SUCCESS), Err)
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
    output::write(&page(rows, &view), &args.output)
}

/// Failure for files without an output. The first remark explains why text that begins like an
/// output is none.
fn nothing_found(files: &[ImportFile]) -> Failure {
    let known = format!("supported logs: {}", tools().collect::<Vec<_>>().join(", "));
    // Texts inside a program can begin like an output.
    let are_programs = files.iter().all(|file| is_program(&file.path));
    let mut remarks = remarks(files).into_iter().filter(|_| !are_programs);
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
