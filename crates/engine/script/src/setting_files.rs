//! Files that settings name.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum size of a file that is kept, in bytes; longer files are read from disk again.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The files that settings name: inside the program, read from disk, or as they were when a run
/// was recorded.
#[derive(Clone, Debug, Default)]
pub struct SettingFiles {
    recorded: bool,
    /// Files inside the program by their paths.
    inside: BTreeMap<PathBuf, &'static str>,
    texts: Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

impl SettingFiles {
    /// True for the files of a recorded run, whose directories need not exist any more.
    pub const fn are_recorded(&self) -> bool {
        self.recorded
    }

    /// Files of a recorded run.
    pub(crate) fn from_record(texts: BTreeMap<PathBuf, String>) -> Self {
        Self { recorded: true, texts: Arc::new(Mutex::new(texts)), ..Self::default() }
    }

    /// Files inside the program by their paths; all others are read from disk.
    pub fn inside_program(inside: BTreeMap<PathBuf, &'static str>) -> Self {
        Self { inside, ..Self::default() }
    }

    /// Texts of the files read so far; binary and long files are left out.
    pub(crate) fn texts(&self) -> BTreeMap<PathBuf, String> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Content of a file, up to `bytes_max` bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = texts.get(path).filter(|_| self.recorded) {
            return Ok(text.clone().into_bytes());
        }
        if let Some(text) = self.inside.get(path) {
            keep(&mut texts, path, text.as_bytes());
            return Ok(text.as_bytes().to_vec());
        }
        let mut content = Vec::new();
        std::fs::File::open(path)?.take(bytes_max).read_to_end(&mut content)?;
        keep(&mut texts, path, &content);
        Ok(content)
    }

    /// Records the content of a file that was read elsewhere, if it is UTF-8 and at most 1 MiB
    /// long.
    pub fn note(&self, path: &Path, content: &[u8]) {
        keep(&mut self.texts.lock().unwrap_or_else(PoisonError::into_inner), path, content);
    }
}

fn keep(texts: &mut BTreeMap<PathBuf, String>, path: &Path, content: &[u8]) {
    if let Ok(text) = str::from_utf8(content)
        && text.len() <= TEXT_BYTES_MAX
    {
        texts.insert(path.to_owned(), text.to_owned());
    }
}
