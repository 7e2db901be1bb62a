//! Record of a job's sources, stored beside its trial.

use std::fs;
use std::path::{Path, PathBuf};

use treering_datasets::library::{DatasetOrigin, find};
use treering_model::{Artifact, Fingerprint};
use treering_script::JobRecord;

use crate::places;

/// The option that names a data set.
const DATASET: &str = "dataset";

/// Artifact with the record; `None` if the options hold every source of the job.
pub(crate) fn record_of(mut record: JobRecord) -> Option<Artifact> {
    let named = record.options.iter().rev().find(|(name, _)| name == DATASET);
    record.dataset = named.and_then(|(_, name)| Some((name.clone(), fingerprint(name)?)));
    if record.is_defined_by_options() {
        return None;
    }
    Artifact::new(JobRecord::KIND, JobRecord::VERSION, &record).ok()
}

/// Fingerprint of the files of a user's own data set; `None` for a shipped one, which is identified
/// by its name.
pub(super) fn fingerprint(name: &str) -> Option<String> {
    let place = if name.contains('/') {
        PathBuf::from(name)
    } else {
        match find(name, &places::dataset_dirs()).ok()? {
            DatasetOrigin::Builtin => return None,
            DatasetOrigin::File(path) | DatasetOrigin::ClassicFiles(path) => path,
        }
    };
    let mut print = Fingerprint::new();
    for file in files(&place)? {
        print.add(&fs::read(file).ok()?);
    }
    Some(print.text())
}

fn files(place: &Path) -> Option<Vec<PathBuf>> {
    if place.is_file() {
        return Some(vec![place.to_owned()]);
    }
    let entries = fs::read_dir(place).ok()?.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    Some(files)
}
