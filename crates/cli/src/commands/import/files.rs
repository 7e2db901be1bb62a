//! Files of an import: named ones, and those in directories of results of MMTests. Input that
//! cannot be read twice as it is (standard input, files packed with `gzip` or `xz`) is unpacked
//! into memory, or into an unnamed file if it is long.

use std::fs;
use std::io::{self, BufReader, Chain, Cursor, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use treering_model::{Fingerprint, TrialId};
use treering_registry::{FileScan, ImportReader, ResultFile, TextSource, beginnings, results};

use crate::failure::{Failure, Kind};

/// Maximum size of a log.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Maximum unpacked bytes held in memory.
const MEMORY_BYTES_MAX: usize = 8 << 20;
/// Maximum size of a file with the time stamps of tests.
const TIMESTAMPS_BYTES_MAX: u64 = 16 << 20;
/// Magic numbers of files packed with `gzip` and with `xz`.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Memory limit of the `xz` decoder: files of `xz -9` need 65 MiB; files that need more than the
/// limit are refused.
const XZ_MEMORY_BYTES_MAX: u64 = 128 << 20;
/// Limits of the search for results below the named directory: depth, and number of files.
const DEPTH_MOST: usize = 8;
const FILES_MOST: usize = 100_000;

/// A file and the outputs found in it.
pub(super) struct File {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) digest: Fingerprint,
    pub(super) scan: FileScan,
    /// Contents read from standard input, which cannot be opened again.
    kept: Option<Rc<dyn TextSource>>,
    /// Position of the file in a results directory of MMTests, if any.
    pub(super) stand: Option<Stand>,
}

/// Position of an output file in a results directory of MMTests.
pub(super) struct Stand {
    pub(super) run: String,
    pub(super) iteration: u64,
    pub(super) test: String,
    /// Start time of the test, increased for each further file of the test so that their order is
    /// preserved.
    pub(super) began_unix_ms: Option<i64>,
}

/// Files that could be read, and the errors of the others.
#[derive(Default)]
pub(super) struct Files {
    pub(super) files: Vec<File>,
    pub(super) failures: Vec<Failure>,
}

/// Reads the files; those of a directory in the order of their runs and iterations.
pub(super) fn read(paths: &[PathBuf]) -> Files {
    let mut all = Files::default();
    for path in paths {
        if path.is_dir() {
            if let Err(failure) = of_directory(path, &mut all) {
                all.failures.push(failure);
            }
        } else {
            all.add(of_file(path));
        }
    }
    all
}

impl Files {
    fn add(&mut self, read: Result<File, Failure>) {
        match read {
            Ok(file) => self.files.push(file),
            Err(failure) => self.failures.push(failure),
        }
    }
}

impl File {
    /// Contents kept from the scan, or the reopened file.
    pub(super) fn reopened(&self) -> Result<Rc<dyn TextSource>, Failure> {
        match &self.kept {
            Some(kept) => Ok(Rc::clone(kept)),
            None => opened(&self.path).map(|(source, _)| source),
        }
    }
}

pub(super) fn unread(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Kind::Usage, format!("{}: {error}", path.display()))
        .hint("name files with the output of tools")
}

/// Reads a file, or standard input for `-`.
fn of_file(path: &Path) -> Result<File, Failure> {
    let name = match path.file_name() {
        _ if path == Path::new("-") => "standard input".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    };
    let (source, digest) = opened(path)?;
    let wrong = |error| unread(path, &error);
    let scan = ImportReader::new(source.as_ref()).and_then(|mut all| all.scan()).map_err(wrong)?;
    let kept = (path == Path::new("-")).then_some(source);
    Ok(File { name, path: path.to_owned(), digest, scan, kept, stand: None })
}

/// Contents of a file, unpacked if packed, and the fingerprint of its bytes.
fn opened(path: &Path) -> Result<(Rc<dyn TextSource>, Fingerprint), Failure> {
    if path == Path::new("-") {
        return unpacked(path, io::stdin().lock());
    }
    let wrong = |error: io::Error| unread(path, &error);
    let file = fs::File::open(path).map_err(wrong)?;
    let mut head = [0; XZ.len()];
    let is_file = file.metadata().map_err(wrong)?.is_file();
    if is_file {
        file.read_at(&mut head, 0).map_err(wrong)?;
    }
    if !is_file || head.starts_with(&GZIP) || head == XZ {
        return unpacked(path, file);
    }
    let mut read = Reported::of(&file);
    let bytes = io::copy(&mut read.by_ref().take(FILE_BYTES_MAX + 1), &mut io::sink());
    if bytes.map_err(wrong)? > FILE_BYTES_MAX {
        return Err(too_long(path, ""));
    }
    let digest = read.digest;
    Ok((Rc::new(Plain(file)), digest))
}

fn too_long(path: &Path, what: &str) -> Failure {
    let message = format!("{}: more than {} MiB{what}", path.display(), FILE_BYTES_MAX >> 20);
    Failure::new(Kind::Usage, message).hint("split it into single outputs")
}

/// Reads a pipe or a packed file to its end.
fn unpacked(path: &Path, from: impl Read) -> Result<(Rc<dyn TextSource>, Fingerprint), Failure> {
    let wrong = |error: io::Error| unread(path, &error);
    let mut reported = Reported::of(BufReader::new(from));
    let mut head = Vec::new();
    reported.by_ref().take(XZ.len() as u64).read_to_end(&mut head).map_err(wrong)?;
    let (is_gzip, is_xz) = (head.starts_with(&GZIP), head == XZ);
    let mut whole: Chain<_, &mut Reported<_>> = Cursor::new(head).chain(&mut reported);
    let mut packed = whole.by_ref().take(FILE_BYTES_MAX + 1);
    let mut spool = Spool::default();
    let mut spooled = |plain: &mut dyn Read| {
        io::copy(&mut plain.take(FILE_BYTES_MAX + 1), &mut spool).map_err(wrong)
    };
    let mut what = " when it is unpacked";
    if is_gzip {
        spooled(&mut MultiGzDecoder::new(packed.by_ref()))?;
    } else if is_xz {
        let decoder = Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, CONCATENATED);
        let decoder = decoder.map_err(|error| wrong(error.into()))?;
        spooled(&mut XzDecoder::new_stream(packed.by_ref(), decoder))?;
    } else {
        spooled(&mut packed)?;
        what = "";
    }
    if packed.limit() == 0 || spool.bytes > FILE_BYTES_MAX {
        return Err(too_long(path, what));
    }
    Ok((Rc::new(spool), reported.digest))
}

/// Reader that computes the fingerprint of the bytes read.
struct Reported<R> {
    from: R,
    digest: Fingerprint,
}

impl<R: Read> Reported<R> {
    fn of(from: R) -> Self {
        Self { from, digest: Fingerprint::new() }
    }
}

impl<R: Read> Read for Reported<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.from.read(into)?;
        self.digest.add(&into[..got]);
        Ok(got)
    }
}

/// File on disk that is not packed.
struct Plain(fs::File);

impl TextSource for Plain {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(into, offset)
    }
}

/// Buffer that holds few bytes in memory, and more in an unnamed file.
#[derive(Default)]
struct Spool {
    memory: Vec<u8>,
    file: Option<fs::File>,
    bytes: u64,
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() > MEMORY_BYTES_MAX {
            let mut file = nameless()?;
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
fn nameless() -> io::Result<fs::File> {
    let make = |dir: &Path| {
        let path = dir.join(format!(".treering-import-{}", TrialId::new().text()));
        let file =
            fs::File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        Ok(file)
    };
    make(Path::new("/var/tmp")).or_else(|_: io::Error| make(&std::env::temp_dir()))
}

/// Reads the outputs in a directory of results.
fn of_directory(path: &Path, all: &mut Files) -> Result<(), Failure> {
    // The names above it may be those of the run and the iteration.
    let whole = path.canonicalize().map_err(|error| unread(path, &error))?;
    let mut paths = Vec::new();
    walk(&whole, DEPTH_MOST, &mut paths, &mut all.failures);
    let found = results(&paths);
    if found.is_empty() {
        let message = format!("{}: no MMTests results in this directory", path.display());
        return Err(Failure::new(Kind::Usage, message).hint(
            "results are expected where run-mmtests.sh leaves them, in RUN/iter-0/TEST/logs; name \
             other files individually",
        ));
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
        all.add(of_file(own).map(|file| File {
            name: own.strip_prefix(&above).unwrap_or(own).to_string_lossy().into_owned(),
            stand: Some(Stand {
                run: result.run.clone(),
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
fn walk(directory: &Path, depth: usize, found: &mut Vec<String>, failures: &mut Vec<Failure>) {
    let mut visit = |entry: io::Result<fs::DirEntry>| -> io::Result<()> {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            walk(&path, depth - 1, found, failures);
        } else if kind.is_file() && found.len() < FILES_MOST {
            found.extend(path.to_str().map(str::to_owned));
        }
        Ok(())
    };
    let visited = fs::read_dir(directory).and_then(|mut entries| entries.try_for_each(&mut visit));
    if let Err(error) = visited {
        failures.push(unread(directory, &error));
    }
}
