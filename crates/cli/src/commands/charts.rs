//! `--charts DIR`: every chart of a page as a separate file, for slides and papers.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use treering_report::{BEGINNING_BYTES, Drawing, DrawingPreset, Report, drawings, is_drawing};
use treering_sys::write_whole_file;

use crate::classic_output::say;
use crate::failure::Failure;

/// Makes the directory if it does not exist.
pub(crate) fn prepare(dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|error| {
        let message = format!("cannot make the directory {}: {error}", dir.display());
        Failure::environment(message)
    })
}

/// Writes the charts of a page, for screens or for a paper. If one of the files exists and is not a
/// chart that treering wrote, no file is written.
pub(crate) fn write(page: &Report, dir: &Path, is_for_paper: bool) -> Result<(), Failure> {
    prepare(dir)?;
    let preset = if is_for_paper { DrawingPreset::Paper } else { DrawingPreset::Screen };
    let drawings = drawings(page, preset);
    for Drawing { name, .. } in &drawings {
        let path = dir.join(name);
        if !may_be_written(&path) {
            let message = format!("{} exists and is not a chart made by treering", path.display());
            return Err(Failure::environment(message)
                .hint("no chart was written; choose another directory or move the file"));
        }
    }
    for drawing in &drawings {
        replace(dir, drawing).map_err(|error| {
            let path = dir.join(&drawing.name);
            Failure::environment(format!("cannot write {}: {error}", path.display()))
        })?;
    }
    let word = if drawings.len() == 1 { "chart" } else { "charts" };
    say(&format!("{} {word} written to {}", drawings.len(), dir.display()));
    Ok(())
}

/// True if the path does not exist, or is a chart that treering wrote.
pub(super) fn may_be_written(path: &Path) -> bool {
    match path.symlink_metadata() {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(known) => known.is_file() && is_ours(path).unwrap_or(false),
    }
}

fn is_ours(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(path)?.take(BEGINNING_BYTES as u64).read_to_end(&mut beginning)?;
    Ok(is_drawing(&beginning))
}

/// Replaces a chart atomically: readers see the old file or the new one.
fn replace(dir: &Path, drawing: &Drawing) -> io::Result<()> {
    write_whole_file(&dir.join(&drawing.name), |mut file| file.write_all(drawing.svg.as_bytes()))
}
