//! Counters in a text file that a filesystem has in each of its folders in `/sys` or `/proc`.

use std::path::PathBuf;

use super::super::reading::Reading;
use super::CounterSource;

/// Reads the values of a text; the second argument is the path of its file.
type TextValues = fn(&str, &str) -> Vec<Reading>;

/// Files of this name in the folders of a filesystem.
struct TextFiles {
    files: Vec<PathBuf>,
    values: TextValues,
}

/// Opens the files that exist; `None` without any.
pub(super) fn open(
    folders: &[PathBuf],
    name: &str,
    values: TextValues,
) -> Option<Box<dyn CounterSource>> {
    let files = folders.iter().map(|folder| folder.join(name));
    let files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
    (!files.is_empty()).then(|| Box::new(TextFiles { files, values }) as Box<dyn CounterSource>)
}

impl CounterSource for TextFiles {
    fn read(&mut self) -> Vec<Reading> {
        let readings = self.files.iter().flat_map(|file| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            (self.values)(&text, &file.to_string_lossy())
        });
        readings.collect()
    }

    fn shows_work(&self) -> bool {
        true
    }
}
