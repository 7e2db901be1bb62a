//! Saves an aged filesystem as an image, with the trial that aged it.

use std::path::Path;

use treering_lab::{AgedTarget, FilesystemProfile, Lab, ReadOnlyView};
use treering_model::{ImageRecord, Trial};

use crate::failure::{Failure, FailureKind, watch_signals};
use crate::host::Host;
use crate::trial::OBSERVING_PARAMETERS;

/// Option of mkfs with which the superblock tells the seed of the order of names.
const HASH_SEED: &str = "hash_seed=";

/// Save of a filesystem that may still have to be aged; every check that can refuse the save has
/// passed.
pub struct ImageSave {
    name: String,
    lab: Lab,
    target: AgedTarget,
    mkfs: Vec<String>,
}

impl ImageSave {
    /// Checks that the filesystem of a directory can be saved under this name.
    ///
    /// # Errors
    /// When the name is used or invalid, or the filesystem cannot be saved.
    pub fn prepare(name: &str, target: &Path, lab: Lab) -> Result<Self, Failure> {
        lab.library().refuse_taken(name)?;
        let directory = target.canonicalize().map_err(|error| Failure::of_path(target, &error))?;
        let found = AgedTarget::examine(&directory, &lab)?;
        let mkfs = FilesystemProfile::read(&ReadOnlyView::open(&directory)?, &directory)?.mkfs;
        Ok(Self { name: name.to_owned(), lab, target: found, mkfs })
    }

    /// Saves the filesystem, with the trial that aged it.
    ///
    /// # Errors
    /// When it cannot be unmounted or saved, or a signal interrupts it; no image remains then.
    pub fn run(self, trial: Option<&Trial>, host: &dyn Host) -> Result<(), Failure> {
        let signals = watch_signals()?;
        host.say(&format!(
            "saving {} as image {}: it is unmounted meanwhile",
            self.target.point().display(),
            self.name
        ));
        let image = self.lab.library().begin(&self.name)?;
        let record = self.record(trial, host.unix_ms());
        let saved = self.target.save(image, record, signals.flag());
        if signals.flag().is_raised() && saved.is_err() {
            return Err(Failure::new(FailureKind::Interrupted, "interrupted: no image is saved"));
        }
        Ok(saved?)
    }

    fn record(&self, trial: Option<&Trial>, now_ms: i64) -> ImageRecord {
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
        let mut record =
            ImageRecord::describing(&self.name, now_ms, recipe, trial, &OBSERVING_PARAMETERS);
        record.outcome.extend(drawn.map(|place| pair("mkfs -E", &self.mkfs[place])));
        record
    }
}
