//! `treering image`: saved filesystems, listed, shown, saved, verified, removed and restored.

use std::path::Path;
use std::process::ExitCode;

use treering_conduct::ImageSave;
use treering_lab::ImageLibrary;
use treering_report::Report;
use treering_report::pages::machine::images::{self, ListedImage};

use super::{lab, output};
use crate::arguments::ImageVerb;
use crate::classic_output::say;
use crate::failure::Failure;
use crate::places;
use crate::terminal::Terminal;

/// Runs a subcommand of `treering image`.
pub(crate) fn run(verb: &ImageVerb) -> Result<ExitCode, Failure> {
    let library = ImageLibrary::new(&places::images_dir()?);
    match verb {
        ImageVerb::List { output } => output::write(&list(&library), output),
        ImageVerb::Show { name, output } => {
            output::write(&images::show(name, &library.load(name)?.record), output)
        }
        ImageVerb::Save { name, target } => planned_save(name, target)?.run(None, &Terminal),
        ImageVerb::Verify { names } => return Ok(verify(&library, names)),
        ImageVerb::Remove { names } => names.iter().try_for_each(|name| Ok(library.remove(name)?)),
        ImageVerb::Restore { name, to } => Ok(library.load(name)?.restore_to(to)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list(library: &ImageLibrary) -> Report {
    let load = |name: String| ListedImage {
        record: library.load(&name).map(|image| image.record).map_err(|error| error.to_string()),
        name,
    };
    images::list(library.names().into_iter().map(load).collect(), &library.left_unfinished())
}

/// Verifies each image, continuing after a damaged one.
fn verify(library: &ImageLibrary, names: &[String]) -> ExitCode {
    let names = if names.is_empty() { library.names() } else { names.to_vec() };
    let mut worst = ExitCode::SUCCESS;
    for name in &names {
        match library.load(name).and_then(|image| image.verify()) {
            Ok(()) => say(&format!("{name}: as it was saved")),
            Err(error) => worst = crate::failure::show(&error.into()),
        }
    }
    worst
}

/// Checks that the filesystem of a directory can be saved under this name.
pub(super) fn planned_save(name: &str, target: &Path) -> Result<ImageSave, Failure> {
    let lab = lab::open();
    places::images_dir()?;
    ImageSave::prepare(name, target, lab)
}
