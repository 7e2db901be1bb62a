//! The files of an import: named ones, and those in directories of results of MMTests; unpacked
//! where `gzip` packed them.

use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use treering_import::{Imported, ResultFile, beginnings, import, results};
use treering_model::Fingerprint;

use crate::failure::{Failure, Kind};

/// Larger files are no logs.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Nor are larger ones with the times of tests.
const TIMESTAMPS_BYTES_MAX: u64 = 16 << 20;
/// How files begin that `gzip` packed, and those of `xz`.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Results stand no deeper than this below the directory that is named, among no more files.
const DEPTH_MOST: usize = 8;
const FILES_MOST: usize = 100_000;

/// A file and what was found in it.
pub(super) struct File {
    pub(super) name: String,
    pub(super) digest: Fingerprint,
    pub(super) imported: Imported,
    /// Where it stands among the results of MMTests, when it does.
    pub(super) stand: Option<Stand>,
}

/// Where an output stands among results.
pub(super) struct Stand {
    pub(super) run: String,
    pub(super) iteration: u64,
    pub(super) test: String,
    /// When its test began, later for each of its files so that they keep their order.
    pub(super) began_unix_ms: Option<i64>,
}

/// Reads them, directories in the order of their runs and iterations.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            of_directory(path, &mut files)?;
        } else {
            files.push(of_file(path)?);
        }
    }
    Ok(files)
}

fn unread(path: &Path, error: &dyn std::fmt::Display) -> Failure {
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
    let mut bytes = Vec::new();
    let mut take = |from: &mut dyn Read| from.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    if path == Path::new("-") {
        take(&mut std::io::stdin().lock()).map_err(|error| unread(path, &error))?;
    } else {
        let mut file = fs::File::open(path).map_err(|error| unread(path, &error))?;
        take(&mut file).map_err(|error| unread(path, &error))?;
    }
    let too_long = |what: &str| {
        let message = format!("{}: more than {} MiB{what}", path.display(), FILE_BYTES_MAX >> 20);
        Failure::new(Kind::Usage, message).hint("cut it into its outputs")
    };
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(too_long(""));
    }
    let digest = Fingerprint::of(&bytes);
    if bytes.starts_with(&XZ) {
        let message = format!("{} is packed with xz, which is not unpacked here", path.display());
        let hint = format!("`unxz -k {}`, and import what comes out", path.display());
        return Err(Failure::new(Kind::Usage, message).hint(hint));
    }
    if bytes.starts_with(&GZIP) {
        let mut plain = Vec::new();
        let mut unpacking = MultiGzDecoder::new(Cursor::new(bytes)).take(FILE_BYTES_MAX + 1);
        unpacking.read_to_end(&mut plain).map_err(|error| unread(path, &error))?;
        bytes = plain;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(too_long(" when it is unpacked"));
        }
    }
    Ok(File { name, digest, imported: import(&bytes), stand: None })
}

/// Reads the outputs in a directory of results.
fn of_directory(path: &Path, files: &mut Vec<File>) -> Result<(), Failure> {
    // The names above it may be those of the run and the iteration.
    let whole = path.canonicalize().map_err(|error| unread(path, &error))?;
    let mut paths = Vec::new();
    walk(&whole, DEPTH_MOST, &mut paths).map_err(|error| unread(path, &error))?;
    let found = results(&paths);
    if found.is_empty() {
        let message = format!("{}: no results of MMTests are in this directory", path.display());
        return Err(Failure::new(Kind::Usage, message).hint(
            "results stand where run-mmtests.sh leaves them, in RUN/iter-0/TEST/logs; name other \
             files one by one",
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
        let file = of_file(own)?;
        files.push(File {
            name: own.strip_prefix(&above).unwrap_or(own).to_string_lossy().into_owned(),
            stand: Some(Stand {
                run: result.run.clone(),
                iteration: result.iteration,
                test: result.test.clone(),
                began_unix_ms: began,
            }),
            ..file
        });
    }
    Ok(())
}

/// Whether two outputs are of the same test in the same iteration of a run.
fn is_of_test(left: &ResultFile, right: &ResultFile) -> bool {
    let key = |of: &ResultFile| (of.timestamps.clone(), of.run.clone(), of.test.clone());
    key(left) == key(right)
}

/// When the test of an output began, where MMTests wrote it down.
fn began(result: &ResultFile) -> Option<i64> {
    let file = fs::File::open(&result.timestamps).ok()?;
    let mut text = Vec::new();
    file.take(TIMESTAMPS_BYTES_MAX).read_to_end(&mut text).ok()?;
    let all = beginnings(&String::from_utf8_lossy(&text));
    all.into_iter().find(|(test, _)| *test == result.test).map(|(_, ms)| ms)
}

/// The files below a directory whose names are text; links are not followed.
fn walk(directory: &Path, depth: usize, found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() && depth > 0 {
            walk(&path, depth - 1, found)?;
        } else if kind.is_file() && found.len() < FILES_MOST {
            found.extend(path.to_str().map(str::to_owned));
        }
    }
    Ok(())
}
