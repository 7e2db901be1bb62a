//! Records a dataset to a file, as `treering dataset record` does, but under any name: this is how
//! the shipped datasets were made. docs/evidence/datasets.md has the commands.

use std::error::Error;
use std::io::{BufWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use treering_datasets::format::write;
use treering_datasets::record::{RecordingInput, record};
use treering_datasets::{PathSelection, TreeState};

const USAGE: &str = "record_dataset NAME --clean DIR [--patched DIR] [--compiled DIR] \
                     [--patched-compiled DIR] [--only PREFIX]... [--about TEXT] > FILE";

fn main() -> Result<(), Box<dyn Error>> {
    let mut trees: [Option<PathBuf>; 4] = [const { None }; 4];
    let (mut name, mut about, mut only) = (None, String::new(), Vec::new());
    let mut arguments = std::env::args_os().skip(1);
    while let Some(argument) = arguments.next() {
        let word = argument.to_str().ok_or(USAGE)?;
        let Some(option) = word.strip_prefix("--") else {
            name = Some(word.to_owned());
            continue;
        };
        let value = arguments.next().ok_or(USAGE)?;
        match option {
            "only" => only.push(value.as_bytes().to_owned()),
            "about" => value.to_str().ok_or(USAGE)?.clone_into(&mut about),
            tree => {
                let state = TreeState::ALL.into_iter().find(|state| state.label() == tree);
                trees[state.ok_or(USAGE)?.index()] = Some(value.into());
            }
        }
    }
    let [clean, patched, compiled, patched_compiled] = trees.each_ref().map(Option::as_deref);
    let recording = RecordingInput {
        name: name.as_deref().ok_or(USAGE)?,
        about: &about,
        clean: clean.ok_or(USAGE)?,
        patched,
        compiled,
        patched_compiled,
        build: None,
        only: PathSelection::from_prefixes(only)?,
    };
    let recorded = record(&recording, &mut |_| {})?;
    for note in recorded.counters {
        writeln!(std::io::stderr(), "left out: {note:?}")?;
    }
    write(&recorded.dataset, BufWriter::new(std::io::stdout().lock()))?;
    Ok(())
}
