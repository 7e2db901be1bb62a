//! Files of an import: those named on the command line, and those in result directories of MMTests.
//! Input that cannot be read twice as it is (standard input, files packed with `gzip` or `xz`) is
//! unpacked into memory, or into an unnamed file if it is long.

mod origins;
mod trials;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufReader, Chain, Cursor, Read, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use thiserror::Error;
use treering_model::{Fingerprint, TrialId};

pub use self::origins::{ImportState, KnownOrigins, ORIGIN_FACTS, correction_reason, take_place};
pub use self::trials::{completed_trial, labels, remarks};
use crate::general::fsperf::database::{is_database, write_lines};
use crate::{FileScan, ImportReader, ResultFile, TextSource, beginnings, results, tests};

/// Maximum size of a log.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Maximum unpacked bytes held in memory.
const MEMORY_BYTES_MAX: usize = 8 << 20;
/// Maximum size of a timestamps file of MMTests.
const TIMESTAMPS_BYTES_MAX: u64 = 16 << 20;
/// Magic numbers of files packed with `gzip` and with `xz`.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Magic numbers of other packed files, with the program and the advice how to read them.
const PACKED: [(&[u8], &str, &str); 5] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "pipe it: zstd -dc FILE | treering import -"),
    (b"BZh", "bzip2", "pipe it: bzip2 -dc FILE | treering import -"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "pipe it: lz4 -dc FILE | treering import -"),
    (b"PK\x03\x04", "zip", "unpack it with `unzip`, and name the files in it"),
    (b"7z\xbc\xaf", "7z", "unpack it with `7z x`, and name the files in it"),
];
/// Memory limit of the `xz` decoder: files of `xz -9` need 65 MiB; files that need more than the
/// limit are refused.
const XZ_MEMORY_BYTES_MAX: u64 = 128 << 20;
/// Limits of the search for results below the named directory: depth, and number of files.
const DEPTH_MOST: usize = 8;
const FILES_MOST: usize = 100_000;

/// Error of a file that cannot be imported.
#[derive(Debug, Error)]
pub enum ImportFileError {
    /// A file or directory cannot be read.
    #[error("{}: {why}", path.display())]
    Unread {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// A file is packed in a format that is not read.
    #[error("{}: packed with {packer}", path.display())]
    Packed {
        /// Path of the file.
        path: PathBuf,
        /// Program that packs so.
        packer: &'static str,
        /// Command that unpacks it.
        unpack: &'static str,
    },
    /// A file is too long.
    #[error("{}: more than {} MiB{}", path.display(), FILE_BYTES_MAX >> 20, unpacked(*is_packed))]
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// True if it is too long when it is unpacked.
        is_packed: bool,
    },
    /// A database is open, or its program was killed.
    #[error("{}: {why}", path.display())]
    OpenDatabase {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// A database is not read.
    #[error("{}: {why}", path.display())]
    Database {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        why: String,
    },
    /// A directory has no results.
    #[error("{}: no MMTests results in this directory{}", path.display(), of_others(tests))]
    NoResults {
        /// Path of the directory.
        path: PathBuf,
        /// Names of the tests in it that no importer reads.
        tests: Vec<String>,
    },
}

fn of_others(tests: &[String]) -> String {
    match tests {
        [] => String::new(),
        tests => format!(" that can be read, only those of {}", tests.join(", ")),
    }
}

fn unpacked(is_packed: bool) -> &'static str {
    if is_packed { " when it is unpacked" } else { "" }
}

impl ImportFileError {
    /// Error of a file that cannot be read.
    pub fn unread(path: &Path, why: impl Display) -> Self {
        Self::Unread { path: path.to_owned(), why: why.to_string() }
    }

    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unread { .. } => "name files with the output of tools",
            Self::TooLong { .. } => "split it into single outputs",
            Self::Packed { unpack, .. } => unpack,
            Self::OpenDatabase { .. } => {
                "let its program end, or run `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`"
            }
            Self::Database { .. } => "of databases, fsperf-results.db of fsperf is read",
            Self::NoResults { tests, .. } if !tests.is_empty() => {
                "results of fsmark, fio, dbench, filebench, blogbench and bonnie are read"
            }
            Self::NoResults { .. } => {
                "results are expected where run-mmtests.sh leaves them, in RUN/iter-0/TEST/logs; \
                 name other files individually"
            }
        }
    }
}

/// A file and the outputs found in it.
pub struct ImportFile {
    /// Name of the file in messages and labels.
    pub name: String,
    /// Path of the file.
    pub path: PathBuf,
    /// Fingerprint of its bytes.
    pub(crate) digest: Fingerprint,
    /// Outputs found in it.
    pub scan: FileScan,
    /// Directory for long unpacked contents.
    temporary: PathBuf,
    /// Contents read from standard input, which cannot be opened again.
    kept: Option<Rc<dyn TextSource>>,
    /// Position of the file in a results directory of MMTests, if any.
    pub(crate) position: Option<ResultPosition>,
}

/// Position of an output file in a results directory of MMTests.
pub(crate) struct ResultPosition {
    /// Name of what is compared: the run, or the directory that it is in.
    pub(crate) run: String,
    /// Name of the run, if the directory that it is in is compared.
    pub(crate) configuration: Option<String>,
    pub(crate) iteration: u64,
    pub(crate) test: String,
    /// Start time of the test, increased for each further file of the test so that their order is
    /// preserved.
    pub(crate) began_unix_ms: Option<i64>,
}

/// Files that could be read, and the errors of the others.
#[derive(Default)]
pub struct ImportFiles {
    /// Files that could be read.
    pub files: Vec<ImportFile>,
    /// Errors of the other files.
    pub errors: Vec<ImportFileError>,
    /// Notes about what was passed over in directories of results.
    pub notes: Vec<String>,
}

/// Reads the files; those of a directory in the order of their runs and iterations. Long contents
/// are unpacked into `/var/tmp`, or into the directory `temporary`.
pub fn read_files(paths: &[PathBuf], temporary: &Path) -> ImportFiles {
    let mut all = ImportFiles::default();
    let mut directories = Vec::new();
    for path in paths {
        if path.is_dir() {
            let first = all.files.len();
            if let Err(error) = of_directory(path, temporary, &mut all) {
                all.errors.push(error);
            }
            directories.push((path.as_path(), first..all.files.len()));
        } else {
            all.add(of_file(path, temporary));
        }
    }
    compare_directories(&directories, &mut all.files);
    all
}

/// Compares directories in place of their runs where two of them have a run of the same name: such
/// runs are configurations of MMTests, measured in each directory.
fn compare_directories(directories: &[(&Path, Range<usize>)], files: &mut [ImportFile]) {
    let runs = |range: &Range<usize>| -> BTreeSet<String> {
        let positions = files[range.clone()].iter().filter_map(|file| file.position.as_ref());
        positions.map(|position| position.run.clone()).collect()
    };
    let mut known = BTreeSet::new();
    let mut all = directories.iter().flat_map(|(_, range)| runs(range));
    let is_repeated = all.any(|run| !known.insert(run));
    let name = |path: &Path| Some(path.canonicalize().ok()?.file_name()?.to_str()?.to_owned());
    let names: Option<Vec<String>> = directories.iter().map(|(path, _)| name(path)).collect();
    let Some(names) = names.filter(|_| is_repeated) else { return };
    if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
        return;
    }
    for ((_, range), name) in directories.iter().zip(names) {
        for file in &mut files[range.clone()] {
            if let Some(position) = &mut file.position {
                position.configuration = Some(std::mem::replace(&mut position.run, name.clone()));
            }
        }
    }
}

impl ImportFiles {
    fn add(&mut self, read: Result<ImportFile, ImportFileError>) {
        match read {
            Ok(file) => self.files.push(file),
            Err(error) => self.errors.push(error),
        }
    }
}

impl ImportFile {
    /// Contents kept from the scan, or the reopened file.
    ///
    /// # Errors
    /// When the file cannot be read again.
    pub fn reopened(&self) -> Result<Rc<dyn TextSource>, ImportFileError> {
        match &self.kept {
            Some(kept) => Ok(Rc::clone(kept)),
            None => opened(&self.path, &self.temporary).map(|(source, _)| source),
        }
    }
}

/// Reads a file, or standard input for `-`.
fn of_file(path: &Path, temporary: &Path) -> Result<ImportFile, ImportFileError> {
    let name = match path.file_name() {
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    };
    let (source, digest) = opened(path, temporary)?;
    let wrong = |error| ImportFileError::unread(path, error);
    let scan = ImportReader::new(source.as_ref()).and_then(|mut all| all.scan()).map_err(wrong)?;
    let kept = (path == Path::new("-")).then_some(source);
    let (path, temporary) = (path.to_owned(), temporary.to_owned());
    Ok(ImportFile { name, path, digest, scan, temporary, kept, position: None })
}

/// Contents of a file, unpacked if packed and as lines if it is a database, and the fingerprint of
/// its bytes.
fn opened(
    path: &Path,
    temporary: &Path,
) -> Result<(Rc<dyn TextSource>, Fingerprint), ImportFileError> {
    let (source, digest) = unpacked_source(path, temporary)?;
    let wrong = |error: io::Error| ImportFileError::unread(path, error);
    if !is_database(source.as_ref()).map_err(wrong)? {
        return Ok((source, digest));
    }
    // Rows that only these files have would be missing.
    for ending in ["-wal", "-journal"] {
        let beside = PathBuf::from([path.as_os_str(), OsStr::new(ending)].join(OsStr::new("")));
        if fs::metadata(&beside).is_ok_and(|found| found.len() > 0) {
            let why = format!("{} beside it has rows that the database lacks", beside.display());
            return Err(ImportFileError::OpenDatabase { path: path.to_owned(), why });
        }
    }
    let mut spool = Spool::new(temporary);
    write_lines(source.as_ref(), &mut spool).map_err(|error| ImportFileError::Database {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    Ok((Rc::new(spool), digest))
}

/// Contents of a file, unpacked if packed, and the fingerprint of its bytes.
fn unpacked_source(
    path: &Path,
    temporary: &Path,
) -> Result<(Rc<dyn TextSource>, Fingerprint), ImportFileError> {
    if path == Path::new("-") {
        return unpack(path, io::stdin().lock(), temporary);
    }
    let wrong = |error: io::Error| ImportFileError::unread(path, error);
    let file = fs::File::open(path).map_err(wrong)?;
    let mut head = [0; XZ.len()];
    let is_file = file.metadata().map_err(wrong)?.is_file();
    if is_file {
        file.read_at(&mut head, 0).map_err(wrong)?;
    }
    refuse_packed(path, &head)?;
    if !is_file || head.starts_with(&GZIP) || head == XZ {
        return unpack(path, file, temporary);
    }
    let mut read = DigestReader::of(&file);
    let bytes = io::copy(&mut read.by_ref().take(FILE_BYTES_MAX + 1), &mut io::sink());
    if bytes.map_err(wrong)? > FILE_BYTES_MAX {
        return Err(too_long(path, false));
    }
    let digest = read.digest;
    Ok((Rc::new(PlainFile(file)), digest))
}

/// Refuses a file whose first bytes are of a format that is not unpacked.
fn refuse_packed(path: &Path, head: &[u8]) -> Result<(), ImportFileError> {
    match PACKED.into_iter().find(|(magic, ..)| head.starts_with(magic)) {
        Some((_, packer, unpack)) => {
            Err(ImportFileError::Packed { path: path.to_owned(), packer, unpack })
        }
        None => Ok(()),
    }
}

fn too_long(path: &Path, is_packed: bool) -> ImportFileError {
    ImportFileError::TooLong { path: path.to_owned(), is_packed }
}

/// Reads a pipe or a packed file to its end.
fn unpack(
    path: &Path,
    from: impl Read,
    temporary: &Path,
) -> Result<(Rc<dyn TextSource>, Fingerprint), ImportFileError> {
    let wrong = |error: io::Error| ImportFileError::unread(path, error);
    let mut reported = DigestReader::of(BufReader::new(from));
    let mut head = Vec::new();
    reported.by_ref().take(XZ.len() as u64).read_to_end(&mut head).map_err(wrong)?;
    refuse_packed(path, &head)?;
    let (is_gzip, is_xz) = (head.starts_with(&GZIP), head == XZ);
    let mut whole: Chain<_, &mut DigestReader<_>> = Cursor::new(head).chain(&mut reported);
    let mut packed = whole.by_ref().take(FILE_BYTES_MAX + 1);
    let mut spool = Spool::new(temporary);
    let mut spooled = |plain: &mut dyn Read| {
        io::copy(&mut plain.take(FILE_BYTES_MAX + 1), &mut spool).map_err(wrong)
    };
    if is_gzip {
        spooled(&mut MultiGzDecoder::new(packed.by_ref()))?;
    } else if is_xz {
        let decoder = Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, CONCATENATED);
        let decoder = decoder.map_err(|error| wrong(error.into()))?;
        spooled(&mut XzDecoder::new_stream(packed.by_ref(), decoder))?;
    } else {
        spooled(&mut packed)?;
    }
    if packed.limit() == 0 || spool.bytes > FILE_BYTES_MAX {
        return Err(too_long(path, is_gzip || is_xz));
    }
    Ok((Rc::new(spool), reported.digest))
}

/// Reader that computes the fingerprint of the bytes read.
struct DigestReader<R> {
    from: R,
    digest: Fingerprint,
}

impl<R: Read> DigestReader<R> {
    fn of(from: R) -> Self {
        Self { from, digest: Fingerprint::new() }
    }
}

impl<R: Read> Read for DigestReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.from.read(into)?;
        self.digest.add(&into[..got]);
        Ok(got)
    }
}

/// File on disk that is not packed.
struct PlainFile(fs::File);

impl TextSource for PlainFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(into, offset)
    }
}

/// Buffer that holds few bytes in memory, and more in an unnamed file.
struct Spool {
    /// Directory for the file, if it cannot be created in `/var/tmp`.
    temporary: PathBuf,
    memory: Vec<u8>,
    file: Option<fs::File>,
    bytes: u64,
}

impl Spool {
    fn new(temporary: &Path) -> Self {
        Self { temporary: temporary.to_owned(), memory: Vec::new(), file: None, bytes: 0 }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_BYTES_MAX {
            let mut file = unnamed_file(&self.temporary)?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
        }
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TextSource for Spool {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        match &self.file {
            Some(file) => file.read_at(into, offset),
            None => {
                let rest = usize::try_from(offset).ok().and_then(|at| self.memory.get(at..));
                rest.unwrap_or(&[]).read(into)
            }
        }
    }
}

/// Makes an unnamed file, freed when its descriptor is closed; preferably on a disk.
fn unnamed_file(temporary: &Path) -> io::Result<fs::File> {
    let make = |dir: &Path| {
        let path = dir.join(format!(".treering-import-{}", TrialId::new().text()));
        let file =
            fs::File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    };
    make(Path::new("/var/tmp")).or_else(|_: io::Error| make(temporary))
}

/// Reads the outputs in a directory of results.
fn of_directory(
    path: &Path,
    temporary: &Path,
    all: &mut ImportFiles,
) -> Result<(), ImportFileError> {
    // The names above it may be those of the run and the iteration.
    let whole = path.canonicalize().map_err(|error| ImportFileError::unread(path, error))?;
    let mut paths = Vec::new();
    walk(&whole, DEPTH_MOST, &mut paths, &mut all.errors);
    let found = results(&paths);
    let tests = tests(&paths);
    if found.is_empty() {
        return Err(ImportFileError::NoResults { path: path.to_owned(), tests });
    }
    if !tests.is_empty() {
        let (place, tests) = (path.display(), tests.join(", "));
        all.notes.push(format!("{place}: results of {tests} are not read; skipped"));
    }
    let above = whole.parent().map(Path::to_path_buf).unwrap_or_default();
    // The files of a test follow one another.
    let mut last: Option<(&ResultFile, Option<i64>)> = None;
    for result in &found {
        let own = Path::new(&result.path);
        let began = match last {
            Some((other, ms)) if is_of_test(other, result) => ms.and_then(|ms| ms.checked_add(1)),
            _ => began(result),
        };
        last = Some((result, began));
        all.add(of_file(own, temporary).map(|file| ImportFile {
            name: own.strip_prefix(&above).unwrap_or(own).to_string_lossy().into_owned(),
            position: Some(ResultPosition {
                run: result.run.clone(),
                configuration: None,
                iteration: result.iteration,
                test: result.test.clone(),
                began_unix_ms: began,
            }),
            ..file
        }));
    }
    Ok(())
}

/// True if two outputs belong to the same test in the same iteration of a run.
fn is_of_test(left: &ResultFile, right: &ResultFile) -> bool {
    let key = |of: &ResultFile| (of.timestamps.clone(), of.run.clone(), of.test.clone());
    key(left) == key(right)
}

/// Start time of the test of an output, from the time stamps of MMTests, if recorded.
fn began(result: &ResultFile) -> Option<i64> {
    let file = fs::File::open(&result.timestamps).ok()?;
    let mut text = Vec::new();
    file.take(TIMESTAMPS_BYTES_MAX).read_to_end(&mut text).ok()?;
    let all = beginnings(&String::from_utf8_lossy(&text));
    all.into_iter().find(|(test, _)| *test == result.test).map(|(_, ms)| ms)
}

/// The files below a directory whose names are text; links are not followed.
fn walk(
    directory: &Path,
    depth: usize,
    found: &mut Vec<String>,
    errors: &mut Vec<ImportFileError>,
) {
    let mut visit = |entry: io::Result<fs::DirEntry>| -> io::Result<()> {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            walk(&path, depth - 1, found, errors);
        } else if kind.is_file() && found.len() < FILES_MOST {
            found.extend(path.to_str().map(str::to_owned));
        }
        Ok(())
    };
    let visited = fs::read_dir(directory).and_then(|mut entries| entries.try_for_each(&mut visit));
    if let Err(error) = visited {
        errors.push(ImportFileError::unread(directory, error));
    }
}
