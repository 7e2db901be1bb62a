//! Where datasets are found and kept: inside the program, and in the directories a caller names.
//!
//! The user's data directory is the command line's to know. Nothing here reads a dataset's content;
//! that is `format` and `classic`.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_sys::WholeFile;

use crate::classic::{self, ClassicError};
use crate::format::{self, EXTENSION, FormatError, Header, ListCount, WriteError};
use crate::{Dataset, State, TitleError, check_title};

/// The shipped datasets: name and file.
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

/// Where a dataset is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the program.
    Builtin,
    /// A file of treering's own.
    File(PathBuf),
    /// A directory with the original's four files.
    ClassicFiles(PathBuf),
}

/// A dataset that can be had.
#[derive(Debug)]
pub struct DatasetInfo {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub origin: Origin,
    /// Its counts, or why it cannot be read.
    pub header: Result<Header, LibraryError>,
}

/// What to do when there is a dataset of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it and say so.
    Keep,
    /// Put the new one in its place.
    Replace,
}

/// A dataset that cannot be had or kept.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// Not a dataset's name.
    #[error(transparent)]
    Title(#[from] TitleError),
    /// No dataset of this name.
    #[error(
        "there is no dataset '{name}'{}; there are: {}",
        suggestion(.closest.as_deref()),
        .known.join(", ")
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// The name that was perhaps meant.
        closest: Option<String>,
        /// All there are.
        known: Vec<String>,
    },
    /// A name that is taken by a shipped dataset.
    #[error("'{name}' is one of treering's own datasets; choose another name")]
    BuiltinName {
        /// The name.
        name: String,
    },
    /// There is one already.
    #[error("{} exists already", .file.display())]
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// A file or directory that cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Disk {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A file that makes no sense.
    #[error("cannot use {place}")]
    Content {
        /// The file, or the name of a shipped dataset.
        place: String,
        /// What is wrong.
        #[source]
        source: Box<FormatError>,
    },
    /// The original's files make no sense.
    #[error(transparent)]
    Classic(#[from] ClassicError),
    /// A dataset that cannot be written.
    #[error("cannot write {}", .file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        #[source]
        source: WriteError,
    },
}

impl LibraryError {
    /// What would be right, where the message does not say so.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Classic(error) => error.hint(),
            _ => None,
        }
    }
}

fn suggestion(closest: Option<&str>) -> String {
    closest.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"))
}

/// The names of the shipped datasets.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

/// All datasets: the shipped ones, then those in the directories, by name. Of two with one name
/// only the first is there. A directory that does not exist has none.
///
/// # Errors
/// When a directory cannot be read. A dataset that cannot be read is listed with the reason.
pub fn list(directories: &[PathBuf]) -> Result<Vec<DatasetInfo>, LibraryError> {
    let all = origins(directories)?.into_iter();
    Ok(all.map(|(name, origin)| info(name, origin)).collect())
}

/// Where the dataset of a name is.
///
/// # Errors
/// When there is none; the error lists what there is.
pub fn find(name: &str, directories: &[PathBuf]) -> Result<Origin, LibraryError> {
    let all = origins(directories)?;
    if let Some((_, origin)) = all.iter().find(|(known, _)| known == name) {
        return Ok(origin.clone());
    }
    let known: Vec<String> = all.into_iter().map(|(known, _)| known).collect();
    Err(LibraryError::Unknown { name: name.to_owned(), closest: closest(name, &known), known })
}

/// Reads the dataset of a name.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn load(name: &str, directories: &[PathBuf]) -> Result<Dataset, LibraryError> {
    open(name, &find(name, directories)?)
}

/// Reads a dataset from where it is, under this name.
///
/// # Errors
/// When it cannot be read.
pub fn open(name: &str, origin: &Origin) -> Result<Dataset, LibraryError> {
    let mut dataset = match origin {
        Origin::Builtin => from_builtin(name, format::read)?,
        Origin::File(file) => from_file(file, format::read)?,
        Origin::ClassicFiles(directory) => classic::read_directory(name, directory)?,
    };
    // A renamed file is a renamed dataset.
    name.clone_into(&mut dataset.name);
    Ok(dataset)
}

/// Keeps a dataset in a directory, which is made when it is not there, and gives the file's path.
/// The file is there as a whole and on disk, or not at all.
///
/// # Errors
/// When the name is none or taken, or the disk refuses.
pub fn save(
    dataset: &Dataset,
    directory: &Path,
    existing: Existing,
) -> Result<PathBuf, LibraryError> {
    check_title(&dataset.name)?;
    if builtin_names().any(|name| name == dataset.name) {
        return Err(LibraryError::BuiltinName { name: dataset.name.clone() });
    }
    fs::create_dir_all(directory).map_err(|error| disk("create", directory, error))?;
    let file = directory.join(format!("{}.{EXTENSION}", dataset.name));
    if existing == Existing::Keep && file.symlink_metadata().is_ok() {
        return Err(LibraryError::Exists { file });
    }
    let on_existing = match existing {
        Existing::Keep => treering_sys::Existing::Keep,
        Existing::Replace => treering_sys::Existing::Replace,
    };
    let whole = WholeFile::create(&file, 0o666, on_existing);
    let whole = whole.map_err(|error| disk("create", &file, error))?;
    let written = format::write(dataset, BufWriter::new(whole.file()));
    let out = written.map_err(|source| LibraryError::Write { file: file.clone(), source })?;
    drop(out);
    whole.publish().map_err(|error| match error.kind() {
        // Somebody else has put it there meanwhile.
        io::ErrorKind::AlreadyExists => LibraryError::Exists { file: file.clone() },
        _ => disk("create", &file, error),
    })?;
    Ok(file)
}

fn disk(action: &'static str, path: &Path, source: io::Error) -> LibraryError {
    LibraryError::Disk { action, path: path.to_owned(), source }
}

/// Every name with its place, the first of each name.
fn origins(directories: &[PathBuf]) -> Result<Vec<(String, Origin)>, LibraryError> {
    let mut all: Vec<(String, Origin)> =
        builtin_names().map(|name| (name.to_owned(), Origin::Builtin)).collect();
    for directory in directories {
        let mut here = Vec::new();
        let entries = match directory.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(disk("read", directory, error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| disk("read", directory, error))?.path();
            here.extend(origin(path));
        }
        // A file before a directory of the same name.
        here.sort_by_key(|(name, origin)| (name.clone(), !matches!(origin, Origin::File(_))));
        for (name, origin) in here {
            if all.iter().all(|(known, _)| *known != name) {
                all.push((name, origin));
            }
        }
    }
    Ok(all)
}

/// The dataset that an entry of a data directory is, if it is one.
fn origin(path: PathBuf) -> Option<(String, Origin)> {
    let file_name = path.file_name()?.to_str()?;
    let is_dataset = path.extension().is_some_and(|extension| extension == EXTENSION);
    let (name, origin) = if is_dataset && path.is_file() {
        let name = file_name.strip_suffix(EXTENSION)?.strip_suffix('.')?.to_owned();
        (name, Origin::File(path))
    } else if path.join(State::Unpatched.classic_file()).is_file() {
        (file_name.to_owned(), Origin::ClassicFiles(path))
    } else {
        return None;
    };
    check_title(&name).is_ok().then_some((name, origin))
}

fn info(name: String, origin: Origin) -> DatasetInfo {
    let header = match &origin {
        Origin::Builtin => from_builtin(&name, format::read_header),
        Origin::File(file) => from_file(file, format::read_header),
        Origin::ClassicFiles(directory) => classic_header(&name, directory),
    };
    let header = header.map(|header| Header { name: name.clone(), ..header });
    DatasetInfo { name, origin, header }
}

fn from_builtin<T>(
    name: &str,
    read: impl FnOnce(&'static [u8]) -> Result<T, FormatError>,
) -> Result<T, LibraryError> {
    let found = BUILTIN.iter().find(|(known, _)| *known == name);
    let Some((_, bytes)) = found else {
        let known: Vec<String> = builtin_names().map(str::to_owned).collect();
        let closest = closest(name, &known);
        return Err(LibraryError::Unknown { name: name.to_owned(), closest, known });
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

/// The original's files have no header: they are read as a whole.
fn classic_header(name: &str, directory: &Path) -> Result<Header, LibraryError> {
    let dataset = classic::read_directory(name, directory)?;
    let mut header = Header { name: name.to_owned(), ..Header::default() };
    for (state, count) in State::ALL.into_iter().zip(&mut header.lists) {
        let list = dataset.list(state);
        *count = ListCount { files: list.len() as u64, bytes: list.bytes() };
    }
    Ok(header)
}

/// The known name that needs the fewest changes to become the wanted one, if those are few.
fn closest(name: &str, known: &[String]) -> Option<String> {
    let distances = known.iter().map(|known| (strsim::levenshtein(name, known), known));
    let (changes, closest) = distances.min_by_key(|(changes, _)| *changes)?;
    let is_near = changes <= name.len().max(closest.len()) / 2;
    is_near.then(|| closest.clone())
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn typing_errors_are_near_and_other_words_are_not() {
        let known = ["linux-6.1".to_owned(), "linux-6.1-small".to_owned()];
        assert_eq!(closest("linux6.1", &known).as_deref(), Some("linux-6.1"));
        assert_eq!(closest("linux-6.1-smal", &known).as_deref(), Some("linux-6.1-small"));
        assert_eq!(closest("mail", &known), None);
    }
}
