//! `treering image`: saved filesystems, listed, shown, saved, verified, removed and restored.

use std::path::Path;
use std::process::ExitCode;

use treering_lab::{AgedTarget, FilesystemProfile, ImageLibrary, Lab, ReadOnlyView};
use treering_model::{ImageRecord, Trial};
use treering_report::Report;
use treering_report::pages::machine::images::{self, ListedImage};

use super::{lab, output};
use crate::arguments::ImageVerb;
use crate::classic_output::say;
use crate::clock::trial_unix_ms;
use crate::failure::{Failure, Kind};
use crate::places;
use treering_conduct::trial::OBSERVING_PARAMETERS;
use treering_conduct::watch_signals;

/// Option of mkfs with which the superblock tells the seed of the order of names.
const HASH_SEED: &str = "hash_seed=";

/// Runs a subcommand of `treering image`.
pub(crate) fn run(verb: &ImageVerb) -> Result<ExitCode, Failure> {
    let library = ImageLibrary::new(&places::images_dir()?);
    match verb {
        ImageVerb::List { output } => output::write(&list(&library), output),
        ImageVerb::Show { name, output } => {
            output::write(&images::show(name, &library.load(name)?.record), output)
        }
        ImageVerb::Save { name, target } => PlannedSave::prepare(name, target)?.save(None),
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

/// A planned save of a filesystem that is still to be aged; every check that can refuse the save
/// has passed.
pub(super) struct PlannedSave {
    name: String,
    lab: Lab,
    target: AgedTarget,
    mkfs: Vec<String>,
}

impl PlannedSave {
    /// Checks that the filesystem can be saved under this name.
    pub(super) fn prepare(name: &str, target: &Path) -> Result<Self, Failure> {
        let lab = lab::open();
        places::images_dir()?;
        lab.library().refuse_taken(name)?;
        let directory = target.canonicalize().map_err(|error| Failure::of_path(target, &error))?;
        let found = AgedTarget::examine(&directory, &lab)?;
        let mkfs = FilesystemProfile::read(&ReadOnlyView::open(&directory)?, &directory)?.mkfs;
        Ok(Self { name: name.to_owned(), lab, target: found, mkfs })
    }

    /// Saves the filesystem, with the trial that aged it.
    pub(super) fn save(self, trial: Option<&Trial>) -> Result<(), Failure> {
        let signals = watch_signals()?;
        say(&format!(
            "saving {} as image {}: it is unmounted meanwhile",
            self.target.point().display(),
            self.name
        ));
        let image = self.lab.library().begin(&self.name)?;
        let record = self.record(trial);
        let saved = self.target.save(image, record, signals.flag());
        if signals.flag().is_raised() && saved.is_err() {
            return Err(Failure::new(Kind::Interrupted, "interrupted: no image is saved"));
        }
        Ok(saved?)
    }

    fn record(&self, trial: Option<&Trial>) -> ImageRecord {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        // A random number that another mkfs of the same words draws anew.
        let is_drawn = |word: &str| word.starts_with(HASH_SEED);
        let drawn = self.mkfs.iter().position(|word| is_drawn(word));
        let mut words = self.mkfs.clone();
        if let Some(place) = drawn {
            words.drain(place.saturating_sub(1)..=place);
        }
        let recipe = vec![
            pair("mkfs", &words.join(" ")),
            pair("mount", &self.target.options()),
            pair("treering", env!("CARGO_PKG_VERSION")),
        ];
        let (name, now_ms) = (&self.name, trial_unix_ms());
        let mut record =
            ImageRecord::describing(name, now_ms, recipe, trial, &OBSERVING_PARAMETERS);
        record.outcome.extend(drawn.map(|place| pair("mkfs -E", &self.mkfs[place])));
        record
    }
}
