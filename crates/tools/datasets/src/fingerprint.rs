//! Fingerprints of the user's own data sets.

use std::fs;
use std::path::{Path, PathBuf};

use treering_model::Fingerprint;

use crate::library::{DatasetOrigin, find};

/// Fingerprint of the files of a user's own data set; `None` for a shipped one, which is identified
/// by its name. `dirs` are the directories of the user's data sets.
pub fn fingerprint(name: &str, dirs: &[PathBuf]) -> Option<String> {
    let place = if name.contains('/') {
        PathBuf::from(name)
    } else {
        match find(name, dirs).ok()? {
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
