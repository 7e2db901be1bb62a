//! Storage of datasets: inside the program, and in the directories a caller names.
//!
//! The command line knows the user's data directory. `format` and `classic` read the content of
//! datasets.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_model::nearest::nearest;
use treering_sys::WholeFile;

use crate::classic::{self, ClassicError};
use crate::format::{self, EXTENSION, FormatError, Header, ListCount, WriteError};
use crate::{Dataset, TitleError, TreeState, check_title};

/// Shipped datasets: name and file.
const BUILTIN: [(&str, &[u8]); 2] = [
    (
        "linux-6.1",
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/shipped/linux-6.1.treering-dataset")),
    ),
    (
        "linux-6.1-small",
        include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/shipped/linux-6.1-small.treering-dataset"
        )),
    ),
];

/// Location of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetOrigin {
    /// Shipped inside the program.
    Builtin,
    /// Dataset file of treering.
    File(PathBuf),
    /// Directory with the original's four files.
    ClassicFiles(PathBuf),
}

/// Available dataset.
#[derive(Debug)]
pub struct DatasetInfo {
    /// Name of the dataset.
    pub name: String,
    /// Location of the dataset.
    pub origin: DatasetOrigin,
    /// Counts, or the error that prevents reading it.
    pub header: Result<Header, LibraryError>,
}

/// Treatment of an existing dataset of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwritePolicy {
    /// Keeps the existing dataset, and reports an error.
    Keep,
    /// Replaces the existing dataset.
    Replace,
}

/// Error of finding, reading or saving a dataset.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// The name is not allowed.
    #[error(transparent)]
    Title(#[from] TitleError),
    /// No dataset has this name.
    #[error(
        "there is no dataset '{name}'{}; there are: {}",
        suggestion(.name, .known),
        .known.join(", ")
    )]
    Unknown {
        /// Requested name.
        name: String,
        /// Names of the known datasets.
        known: Vec<String>,
    },
    /// The name is taken by a shipped dataset.
    #[error("'{name}' is one of treering's own datasets; choose another name")]
    BuiltinName {
        /// Name of the dataset.
        name: String,
    },
    /// A dataset of this name exists already.
    #[error("{} exists already", .file.display())]
    Exists {
        /// Path of the file.
        file: PathBuf,
    },
    /// A file or directory cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Disk {
        /// Failed operation.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the system call.
        #[source]
        source: io::Error,
    },
    /// A dataset file is invalid.
    #[error("cannot use {place}")]
    Content {
        /// Path of the file, or name of a shipped dataset.
        place: String,
        /// Error in the file.
        #[source]
        source: Box<FormatError>,
    },
    /// The original's files are invalid.
    #[error(transparent)]
    Classic(#[from] ClassicError),
    /// A dataset cannot be written.
    #[error("cannot write {}", .file.display())]
    Write {
        /// Path of the file.
        file: PathBuf,
        /// Error while writing.
        #[source]
        source: WriteError,
    },
}

impl LibraryError {
    /// Hint how to correct the error, where the message gives none.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Classic(error) => error.hint(),
            _ => None,
        }
    }
}

fn suggestion(name: &str, known: &[String]) -> String {
    let meant = nearest(name, known.iter().map(String::as_str));
    meant.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"))
}

/// Names of the shipped datasets.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

/// Lists all datasets: the shipped ones, then those in the directories, by name. The first of two
/// with the same name hides the other. A missing directory counts as empty.
///
/// # Errors
/// When a directory cannot be read. A dataset that cannot be read is listed with the reason.
pub fn list(directories: &[PathBuf]) -> Result<Vec<DatasetInfo>, LibraryError> {
    let datasets = origins(directories)?.into_iter();
    Ok(datasets.map(|(name, origin)| info(name, origin)).collect())
}

/// Finds the dataset of a name.
///
/// # Errors
/// When there is none; the error lists what there is.
pub fn find(name: &str, directories: &[PathBuf]) -> Result<DatasetOrigin, LibraryError> {
    let datasets = origins(directories)?;
    if let Some((_, origin)) = datasets.iter().find(|(known, _)| known == name) {
        return Ok(origin.clone());
    }
    let known: Vec<String> = datasets.into_iter().map(|(known, _)| known).collect();
    Err(LibraryError::Unknown { name: name.to_owned(), known })
}

/// Reads the dataset of a name.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn load(name: &str, directories: &[PathBuf]) -> Result<Dataset, LibraryError> {
    open(name, &find(name, directories)?)
}

/// Reads a dataset from its location, under this name.
///
/// # Errors
/// When it cannot be read.
pub fn open(name: &str, origin: &DatasetOrigin) -> Result<Dataset, LibraryError> {
    let mut dataset = match origin {
        DatasetOrigin::Builtin => from_builtin(name, format::read)?,
        DatasetOrigin::File(file) => from_file(file, format::read)?,
        DatasetOrigin::ClassicFiles(directory) => classic::read_directory(name, directory)?,
    };
    // The file name takes precedence over the name in the file.
    name.clone_into(&mut dataset.name);
    Ok(dataset)
}

/// Saves a dataset to a directory, which is created if missing, and returns the file's path. The
/// file is complete and on disk, or does not exist.
///
/// # Errors
/// When the name is none or taken, or the disk refuses.
pub fn save(
    dataset: &Dataset,
    directory: &Path,
    existing: OverwritePolicy,
) -> Result<PathBuf, LibraryError> {
    check_title(&dataset.name)?;
    if builtin_names().any(|name| name == dataset.name) {
        return Err(LibraryError::BuiltinName { name: dataset.name.clone() });
    }
    fs::create_dir_all(directory).map_err(|error| disk("create", directory, error))?;
    let file = directory.join(format!("{}.{EXTENSION}", dataset.name));
    if existing == OverwritePolicy::Keep && file.symlink_metadata().is_ok() {
        return Err(LibraryError::Exists { file });
    }
    let on_existing = match existing {
        OverwritePolicy::Keep => treering_sys::ExistingFile::Keep,
        OverwritePolicy::Replace => treering_sys::ExistingFile::Replace,
    };
    let whole = WholeFile::create(&file, 0o666, on_existing);
    let whole = whole.map_err(|error| disk("create", &file, error))?;
    let written = format::write(dataset, BufWriter::new(whole.file()));
    let out = written.map_err(|source| LibraryError::Write { file: file.clone(), source })?;
    drop(out);
    whole.publish().map_err(|error| match error.kind() {
        // The file was created by another process meanwhile.
        io::ErrorKind::AlreadyExists => LibraryError::Exists { file: file.clone() },
        _ => disk("create", &file, error),
    })?;
    Ok(file)
}

fn disk(action: &'static str, path: &Path, source: io::Error) -> LibraryError {
    LibraryError::Disk { action, path: path.to_owned(), source }
}

/// Locations of all datasets by name, the first of each name.
fn origins(directories: &[PathBuf]) -> Result<Vec<(String, DatasetOrigin)>, LibraryError> {
    let mut origins: Vec<(String, DatasetOrigin)> =
        builtin_names().map(|name| (name.to_owned(), DatasetOrigin::Builtin)).collect();
    for directory in directories {
        let mut in_directory = Vec::new();
        let entries = match directory.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(disk("read", directory, error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| disk("read", directory, error))?.path();
            in_directory.extend(origin(path));
        }
        // A file precedes a directory of the same name.
        in_directory.sort_by_key(|(name, origin)| {
            (name.clone(), !matches!(origin, DatasetOrigin::File(_)))
        });
        for (name, origin) in in_directory {
            if origins.iter().all(|(known, _)| *known != name) {
                origins.push((name, origin));
            }
        }
    }
    Ok(origins)
}

/// Dataset of an entry of a data directory, if it is one.
fn origin(path: PathBuf) -> Option<(String, DatasetOrigin)> {
    let file_name = path.file_name()?.to_str()?;
    let is_dataset = path.extension().is_some_and(|extension| extension == EXTENSION);
    let (name, origin) = if is_dataset && path.is_file() {
        let name = file_name.strip_suffix(EXTENSION)?.strip_suffix('.')?.to_owned();
        (name, DatasetOrigin::File(path))
    } else if path.join(TreeState::Unpatched.classic_file()).is_file() {
        (file_name.to_owned(), DatasetOrigin::ClassicFiles(path))
    } else {
        return None;
    };
    check_title(&name).is_ok().then_some((name, origin))
}

fn info(name: String, origin: DatasetOrigin) -> DatasetInfo {
    let header = match &origin {
        DatasetOrigin::Builtin => from_builtin(&name, format::read_header),
        DatasetOrigin::File(file) => from_file(file, format::read_header),
        DatasetOrigin::ClassicFiles(directory) => classic_header(&name, directory),
    };
    let header = header.map(|header| Header { name: name.clone(), ..header });
    DatasetInfo { name, origin, header }
}

fn from_builtin<T>(
    name: &str,
    read: impl FnOnce(&'static [u8]) -> Result<T, FormatError>,
) -> Result<T, LibraryError> {
    let shipped = BUILTIN.iter().find(|(known, _)| *known == name);
    let Some((_, bytes)) = shipped else {
        let known: Vec<String> = builtin_names().map(str::to_owned).collect();
        return Err(LibraryError::Unknown { name: name.to_owned(), known });
    };
    let place = || format!("treering's own dataset {name}");
    read(bytes).map_err(|source| LibraryError::Content { place: place(), source: source.into() })
}

fn from_file<T>(
    file: &Path,
    read: impl FnOnce(BufReader<File>) -> Result<T, FormatError>,
) -> Result<T, LibraryError> {
    let opened = File::open(file).map_err(|error| disk("open", file, error))?;
    let place = || file.display().to_string();
    read(BufReader::new(opened))
        .map_err(|source| LibraryError::Content { place: place(), source: source.into() })
}

/// Header of the original's files, computed by reading them as a whole.
fn classic_header(name: &str, directory: &Path) -> Result<Header, LibraryError> {
    let dataset = classic::read_directory(name, directory)?;
    let mut header = Header { name: name.to_owned(), ..Header::default() };
    for (state, count) in TreeState::ALL.into_iter().zip(&mut header.lists) {
        let list = dataset.list(state);
        *count = ListCount { files: list.len() as u64, bytes: list.bytes() };
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn misspelt_names_get_a_suggestion_and_other_words_do_not() {
        let known = ["linux-6.1".to_owned(), "linux-6.1-small".to_owned()];
        assert_eq!(suggestion("linux6.1", &known), " (did you mean 'linux-6.1'?)");
        assert_eq!(suggestion("linux-6.1-smal", &known), " (did you mean 'linux-6.1-small'?)");
        assert_eq!(suggestion("mail", &known), "");
    }
}
