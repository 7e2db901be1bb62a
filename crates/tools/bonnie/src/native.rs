//! Native settings, converted to the shape of a run.

use treering_script::{ConfigError, SyncScope};

use super::asked::{FileKind, FilesShape, IoShape};
use super::dice::RandomSource;
use super::options::NativeOptions;
use super::shape::{ExtraFsync, RunShape, possible_tests};
use super::test::Test;

/// Maximum number of threads over all copies.
const TASKS_MAX: u64 = 8192;
/// Largest size of one call, in bytes.
const CHUNK_MAX: u64 = 4 << 20;
const SIZE_MAX: u64 = 1 << 62;

/// Shape of a run from native options; the options are replaced by their resolved values for the
/// record.
pub(super) fn shape(options: &mut NativeOptions) -> Result<RunShape, ConfigError> {
    let io = native_io(options)?;
    let files = native_files(options)?;
    let copies = options.copies;
    if io.is_some_and(|io| u64::from(io.seekers) * u64::from(copies) > TASKS_MAX) {
        let message = format!("--seekers: more than {TASKS_MAX} threads of all copies");
        return Err(ConfigError::new(message).hint("give fewer seekers, or fewer copies"));
    }
    if options.direct && io.is_some_and(|io| io.char_bytes > 0) {
        let message = "--direct: single bytes cannot be moved past the cache";
        return Err(ConfigError::new(message).hint("leave --byte-size out"));
    }
    let tests = native_tests(options, io, files)?;
    Ok(RunShape {
        io,
        files,
        tests,
        runs: 1,
        copies,
        source: RandomSource::Seed(options.seed),
        fsync: match options.fsync {
            "updates" => ExtraFsync::Updates,
            "each" => ExtraFsync::Each,
            _ => ExtraFsync::Never,
        },
        direct: options.direct,
        sync: SyncScope::Target,
        drop_caches: options.drop_caches == "each",
        identity: None,
    })
}

/// Checks a size in bytes against a maximum.
fn size(name: &str, bytes: u64, most: u64) -> Result<u64, ConfigError> {
    if bytes > most {
        return Err(ConfigError::new(format!("--{name}: more than {most} bytes cannot be")));
    }
    Ok(bytes)
}

fn chunk(name: &str, bytes: Option<u64>) -> Result<u32, ConfigError> {
    match u32::try_from(size(name, bytes.unwrap_or_default(), CHUNK_MAX)?) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(ConfigError::new(format!("--{name}: a call moves at least one byte"))),
    }
}

fn native_io(options: &mut NativeOptions) -> Result<Option<IoShape>, ConfigError> {
    let chunk = chunk("chunk", options.chunk)?;
    let requested = size("size", options.size, SIZE_MAX)?;
    // The size is a multiple of the chunk, as always in the original.
    let bytes = requested / u64::from(chunk) * u64::from(chunk);
    if requested > 0 && bytes == 0 {
        let message = format!("--size: a file of {requested} bytes has not one chunk of {chunk}");
        return Err(ConfigError::new(message).hint("give a larger file, or a smaller --chunk"));
    }
    let char_bytes = size("byte-size", options.byte_size.unwrap_or(0), SIZE_MAX)?.min(bytes);
    let (seeks, seekers) = (options.seeks.unwrap_or(0), options.seekers.unwrap_or(1));
    options.size = bytes;
    if bytes == 0 {
        (options.chunk, options.byte_size, options.seeks, options.seekers) = Default::default();
        return Ok(None);
    }
    options.byte_size = Some(char_bytes);
    Ok(Some(IoShape { bytes, char_bytes, chunk, seeks, seekers }))
}

fn native_files(options: &mut NativeOptions) -> Result<Option<FilesShape>, ConfigError> {
    let max_bytes = size("max-size", options.max_size.unwrap_or(0), SIZE_MAX)?;
    let min_bytes = size("min-size", options.min_size.unwrap_or(max_bytes), SIZE_MAX)?;
    if min_bytes > max_bytes {
        let message = format!("--min-size: {min_bytes} bytes are more than --max-size {max_bytes}");
        return Err(ConfigError::new(message).hint("give --max-size as well"));
    }
    let kind = match options.links {
        Some("hard") => FileKind::HardLinks,
        Some("symbolic") => FileKind::SymbolicLinks,
        _ => FileKind::Regular,
    };
    if kind != FileKind::Regular && max_bytes > 0 {
        return Err(ConfigError::new("--links: links have no content of their own")
            .hint("leave --max-size out"));
    }
    let (count, dirs) = (options.files, options.dirs.unwrap_or(1));
    let chunk = chunk("file-chunk", options.file_chunk)?;
    options.min_size = Some(min_bytes);
    if count == 0 {
        (options.max_size, options.min_size, options.dirs) = Default::default();
        (options.file_chunk, options.links) = Default::default();
        return Ok(None);
    }
    Ok(Some(FilesShape { count, max_bytes, min_bytes, kind, dirs, chunk }))
}

/// Name of a test in an option, with hyphens.
fn option_name(test: Test) -> String {
    test.name().replace(' ', "-")
}

fn native_tests(
    options: &mut NativeOptions,
    io: Option<IoShape>,
    files: Option<FilesShape>,
) -> Result<Vec<Test>, ConfigError> {
    let mut chosen = Vec::new();
    for word in options.tests.split(',').map(str::trim).filter(|word| *word != "all") {
        let Some(test) = Test::from_name(word) else {
            let names = Test::ALL.map(option_name);
            let message = format!("--tests: '{word}' is not one of: {}", names.join(", "));
            return Err(ConfigError::new(message));
        };
        chosen.push(test);
    }
    let possible = possible_tests(io, files);
    if let Some(lost) = chosen.iter().find(|test| !possible.contains(test)) {
        let message = format!("--tests: there is nothing for {} to work on", lost.name());
        return Err(ConfigError::new(message)
            .hint("give --size, --byte-size, --seeks or --files, whichever it needs"));
    }
    if possible.is_empty() {
        return Err(ConfigError::new("with neither --size nor --files there is no test"));
    }
    let is_chosen = |test: &Test| chosen.is_empty() || chosen.contains(test);
    let tests: Vec<Test> = possible.iter().copied().filter(is_chosen).collect();
    if tests == possible {
        "all".clone_into(&mut options.tests);
    } else {
        let names: Vec<String> = tests.iter().copied().map(option_name).collect();
        options.tests = names.join(",");
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use crate::options::NativeOptions;
    use crate::shape::RunShape;
    use crate::test::Test;
    use treering_script::{ConfigError, Settings};

    fn shape(options: &[(&str, &str)]) -> Result<RunShape, ConfigError> {
        let options = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        super::shape(&mut NativeOptions::read(&Settings::new(options.collect()))?)
    }

    #[test]
    fn native_settings_have_defaults_and_are_refused_where_they_contradict() {
        let defaults = shape(&[]).unwrap();
        assert_eq!(defaults.tests.len(), 10, "all but those byte by byte");
        assert_eq!(defaults.io.unwrap().bytes, 256 << 20);
        let defaults = shape(&[("tests", "block-read,random-stat")]).unwrap();
        assert_eq!(defaults.tests, [Test::BlockRead, Test::RandomStat]);
        let defaults = shape(&[("size", "10000"), ("files", "0")]).unwrap();
        assert_eq!(defaults.io.unwrap().bytes, 8192, "whole chunks");
        let defaults = shape(&[("max-size", "4K"), ("min-size", "0")]).unwrap();
        assert_eq!(defaults.files.unwrap().min_bytes, 0);
        for options in [
            &[("size", "0"), ("files", "0")][..],
            &[("size", "100")],
            &[("size", "9000000T")],
            &[("chunk", "0")],
            &[("chunk", "5M")],
            &[("min-size", "10")],
            &[("links", "hard"), ("max-size", "10")],
            &[("tests", "write")],
            &[("tests", "per-char-write")],
            &[("tests", "seeks"), ("seeks", "0")],
            &[("direct", "true"), ("byte-size", "1M")],
            &[("seekers", "4096"), ("copies", "10")],
            &[("dirs", "100000")],
        ] {
            assert!(shape(options).is_err(), "{options:?}");
        }
    }
}
