//! Models of played disks: built in, or read from a TOML file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use treering_model::nearest::suggestion;
use treering_model::{Fact, PlayedStatus};
use treering_trace::{DiskError, ModelledDisk};

use crate::LabError;
use crate::error::unfit;

/// Maximum size of a disk model's file, in bytes.
const TEXT_BYTES_MAX: u64 = 1 << 16;

/// Model of a disk to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedModel {
    /// Name of a built-in model, or path of a file, as the user wrote it.
    pub name: String,
    /// The parsed model.
    pub disk: ModelledDisk,
    /// TOML text of the model.
    pub(crate) text: String,
}

impl PlayedModel {
    /// Finds a model by name, or reads it from the file at this path.
    ///
    /// # Errors
    /// When there is no such model or file, or the file does not describe a disk.
    pub fn find(name: &str) -> Result<Self, LabError> {
        let text = match ModelledDisk::text_of(name) {
            Some(text) => text.to_owned(),
            None if name.contains('/') => read(Path::new(name))?,
            None => {
                let known: Vec<&str> = ModelledDisk::names().collect();
                let words = suggestion(name, &known, "give the path of a TOML file, or one of");
                return Err(LabError::NoDisk { name: name.to_owned(), words });
            }
        };
        Self::read(name, &text).map_err(|error| unfit(format!("disk {name:?}: {error}")))
    }

    pub(super) fn read(name: &str, text: &str) -> Result<Self, DiskError> {
        let disk = ModelledDisk::read(text)?;
        Ok(Self { name: name.to_owned(), disk, text: text.to_owned() })
    }

    /// Status before the first request, with zero counters.
    pub(super) fn status(&self) -> PlayedStatus {
        PlayedStatus {
            disk: self.name.clone(),
            about: self.disk.about.clone(),
            fingerprint: self.disk.fingerprint(),
            ..PlayedStatus::default()
        }
    }

    /// Facts of the model that are recorded in a trial.
    pub fn facts(&self) -> Vec<Fact> {
        self.status().facts()
    }
}

fn read(path: &Path) -> Result<String, LabError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| {
        file.take(TEXT_BYTES_MAX).read_to_string(&mut text)?;
        Ok(())
    });
    read.map_err(LabError::io("cannot read the disk", path))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::PlayedModel;

    #[test]
    fn a_disk_model_is_found_by_name_or_file() {
        let model = PlayedModel::find("hdd-7200").unwrap();
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("own.toml");
        std::fs::write(&path, &model.text).unwrap();
        let own = PlayedModel::find(path.to_str().unwrap()).unwrap();
        assert_eq!(own.disk.fingerprint(), model.disk.fingerprint());
        let other = PlayedModel::find("hdd-5400").unwrap();
        assert_ne!(other.disk.fingerprint(), model.disk.fingerprint());
        std::fs::write(&path, "queue = 1").unwrap();
        for (name, word) in
            [(path.to_str().unwrap(), "missing field"), ("tape", "hdd-7200"), ("/no/d.toml", "/no")]
        {
            let error = PlayedModel::find(name).unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
