//! Files of an installed io500: its configuration, and the directory with its result.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use thiserror::Error;
use treering_model::Artifact;

/// The kind of the artifacts that are files of IO500, each one text.
const FILE_ARTIFACT: &str = "io500_file";
const FILE_VERSION: u32 = 1;
/// Maximum number and size of the files stored.
const FILES_MOST: usize = 64;
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Maximum size of a configuration.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Name of the file with the figures.
pub const RESULT: &str = "result.txt";

/// Error of reading a file of IO500.
#[derive(Debug, Error)]
pub enum ResultFileError {
    /// The result file cannot be read.
    #[error("{}: {error}", path.display())]
    Unread {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The result file is too long.
    #[error("{}: more than {most} bytes", path.display())]
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size in bytes.
        most: u64,
    },
}

/// Reads a configuration.
///
/// # Errors
/// When the file cannot be read or is too long.
pub fn read_config(path: &Path) -> Result<String, ResultFileError> {
    text_of(path, CONFIG_BYTES_MAX)
}

/// Reads a file with figures.
///
/// # Errors
/// When the file cannot be read or is too long.
pub fn read_result(path: &Path) -> Result<String, ResultFileError> {
    text_of(path, FILE_BYTES_MAX)
}

/// Reads a text of at most `most` bytes.
///
/// # Errors
/// When the file cannot be read or is longer.
fn text_of(path: &Path, most: u64) -> Result<String, ResultFileError> {
    let wrong = |error| ResultFileError::Unread { path: path.to_owned(), error };
    if fs::metadata(path).map_err(wrong)?.len() > most {
        return Err(ResultFileError::TooLong { path: path.to_owned(), most });
    }
    let bytes = fs::read(path).map_err(wrong)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Value of a key in the section `global`.
pub fn config_value<'c>(config: &'c str, key: &str) -> Option<&'c str> {
    let mut is_global = false;
    let mut found = None;
    for line in config.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            is_global = name.trim_end_matches(']').trim().eq_ignore_ascii_case("global");
        } else if is_global && let Some((name, value)) = line.split_once('=') {
            let value = value.split(['#', ';']).next().unwrap_or_default().trim();
            if name.trim().eq_ignore_ascii_case(key) && !value.is_empty() {
                found = Some(value);
            }
        }
    }
    found
}

/// The newest result in a directory, or in one below it, that is not older than `since`.
pub fn newest_result(results: &Path, since: SystemTime) -> Option<PathBuf> {
    // Times of files may be some milliseconds behind the clock.
    let since = since.checked_sub(Duration::from_secs(1)).unwrap_or(since);
    let below = fs::read_dir(results).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = [results.to_owned()].into_iter().chain(below);
    let files = places.map(|dir| dir.join(RESULT)).filter_map(|path| {
        let changed = fs::metadata(&path).ok()?.modified().ok()?;
        (changed >= since).then_some((changed, path))
    });
    files.max().map(|(_, path)| path)
}

/// The files of a result, in the order of their names. `warn` receives a line about each file that
/// is not stored.
///
/// # Errors
/// When the directory cannot be read.
pub fn result_artifacts(
    dir: &Path,
    warn: &mut dyn FnMut(&str),
) -> Result<Vec<Artifact>, ResultFileError> {
    let entries = fs::read_dir(dir)
        .map_err(|error| ResultFileError::Unread { path: dir.to_owned(), error })?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut kept = Vec::new();
    for path in paths.iter().filter(|path| path.is_file()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if kept.len() == FILES_MOST {
            warn(&format!("{name} and what follows are not kept: there are more files"));
            break;
        }
        match text_of(path, FILE_BYTES_MAX) {
            Ok(text) => kept.push(Artifact {
                kind: FILE_ARTIFACT.to_owned(),
                version: FILE_VERSION,
                phase: None,
                name,
                body: serde_json::to_string(&text).unwrap_or_default(),
            }),
            Err(unread) => warn(&format!("{name} is not kept: {unread}")),
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::config_value;

    #[test]
    fn values_are_those_of_the_section_global() {
        let config = "[debug]\nresultdir = no\n[global]\nresultdir = ./a # here\ndatadir=/m/b\n\
                      [find]\ndatadir = no\n";
        assert_eq!(config_value(config, "resultdir"), Some("./a"));
        assert_eq!(config_value(config, "datadir"), Some("/m/b"));
        assert_eq!(config_value("[global]\ndatadir = \n", "datadir"), None);
    }
}
