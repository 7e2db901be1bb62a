//! From native settings to the shape of a run.

use treering_script::{ConfigError, Settings, SyncScope};

use super::config::COPIES_MAX;
use super::dice::Source;
use super::options::NATIVE;
use super::shape::{FileKind, FilesShape, Fsync, IoShape, Shape, possible_tests};
use super::test::Test;

/// Files are numbered in 32 bits, and orders of them kept in memory.
const FILES_MAX: u64 = 1 << 28;
const SEEKERS_MAX: u64 = 4096;
/// Threads of all copies.
const TASKS_MAX: u64 = 8192;
/// One call moves no more.
const CHUNK_MAX: u64 = 4 << 20;
const SIZE_MAX: u64 = 1 << 62;

/// What native settings ask for.
pub(super) fn shape(settings: &Settings) -> Result<Shape, ConfigError> {
    let number = |name, range| settings.number(NATIVE, name, range).map(Option::unwrap_or_default);
    let io = native_io(settings)?;
    let files = native_files(settings)?;
    let copies = number("copies", 1..=COPIES_MAX)?;
    if io.is_some_and(|io| u64::from(io.seekers) * copies > TASKS_MAX) {
        let message = format!("--seekers: more than {TASKS_MAX} threads of all copies");
        return Err(ConfigError::new(message).hint("give fewer seekers, or fewer copies"));
    }
    let direct = settings.flag("direct");
    if direct && io.is_some_and(|io| io.char_bytes > 0) {
        let message = "--direct: single bytes cannot be moved past the cache";
        return Err(ConfigError::new(message).hint("leave --byte-size out"));
    }
    let tests = native_tests(settings, io, files)?;
    Ok(Shape {
        io,
        files,
        tests,
        runs: 1,
        copies: u16::try_from(copies).unwrap_or(1),
        source: Source::Seed(number("seed", 0..=u64::MAX)?),
        fsync: match settings.choice(NATIVE, "fsync")? {
            Some("updates") => Fsync::Updates,
            Some("each") => Fsync::Each,
            _ => Fsync::Never,
        },
        direct,
        sync: SyncScope::Target,
        drop_caches: settings.choice(NATIVE, "drop-caches")? == Some("each"),
        identity: None,
    })
}

/// A size in bytes, within what can be.
fn size(settings: &Settings, name: &str, most: u64) -> Result<Option<u64>, ConfigError> {
    match settings.size(NATIVE, name)? {
        Some(bytes) if bytes > most => {
            Err(ConfigError::new(format!("--{name}: more than {most} bytes cannot be")))
        }
        bytes => Ok(bytes),
    }
}

fn chunk(settings: &Settings, name: &str) -> Result<u32, ConfigError> {
    match size(settings, name, CHUNK_MAX)?.map(u32::try_from) {
        Some(Ok(bytes)) if bytes > 0 => Ok(bytes),
        _ => Err(ConfigError::new(format!("--{name}: a call moves at least one byte"))),
    }
}

fn native_io(settings: &Settings) -> Result<Option<IoShape>, ConfigError> {
    let number = |name, range| settings.number(NATIVE, name, range).map(Option::unwrap_or_default);
    let chunk = chunk(settings, "chunk")?;
    let asked = size(settings, "size", SIZE_MAX)?.unwrap_or(0);
    // Whole chunks, as the original's always are.
    let bytes = asked / u64::from(chunk) * u64::from(chunk);
    if asked > 0 && bytes == 0 {
        let message = format!("--size: a file of {asked} bytes has not one chunk of {chunk}");
        return Err(ConfigError::new(message).hint("give a larger file, or a smaller --chunk"));
    }
    let char_bytes = size(settings, "byte-size", SIZE_MAX)?.unwrap_or(0).min(bytes);
    let seeks = number("seeks", 0..=1 << 40)?;
    let seekers = u16::try_from(number("seekers", 1..=SEEKERS_MAX)?).unwrap_or(1);
    Ok((bytes > 0).then_some(IoShape { bytes, char_bytes, chunk, seeks, seekers }))
}

fn native_files(settings: &Settings) -> Result<Option<FilesShape>, ConfigError> {
    let number = |name, range| settings.number(NATIVE, name, range).map(Option::unwrap_or_default);
    let count = number("files", 0..=FILES_MAX)?;
    let max_bytes = size(settings, "max-size", SIZE_MAX)?.unwrap_or(0);
    let min_bytes = size(settings, "min-size", SIZE_MAX)?.unwrap_or(max_bytes);
    if min_bytes > max_bytes {
        let message = format!("--min-size: {min_bytes} bytes are more than --max-size {max_bytes}");
        return Err(ConfigError::new(message).hint("give --max-size as well"));
    }
    let kind = match settings.choice(NATIVE, "links")? {
        Some("hard") => FileKind::HardLinks,
        Some("symbolic") => FileKind::SymbolicLinks,
        _ => FileKind::Regular,
    };
    if kind != FileKind::Regular && max_bytes > 0 {
        return Err(ConfigError::new("--links: links have no content of their own")
            .hint("leave --max-size out"));
    }
    let dirs = u32::try_from(number("dirs", 1..=99_999)?).unwrap_or(1);
    let chunk = chunk(settings, "file-chunk")?;
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    Ok((count > 0).then_some(FilesShape { count, max_bytes, min_bytes, kind, dirs, chunk }))
}

fn native_tests(
    settings: &Settings,
    io: Option<IoShape>,
    files: Option<FilesShape>,
) -> Result<Vec<Test>, ConfigError> {
    let text = settings.text_or_default(NATIVE, "tests").unwrap_or("all");
    let mut chosen = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| *word != "all") {
        let Some(test) = Test::from_name(word) else {
            let names = Test::ALL.map(|test| test.name().replace(' ', "-"));
            let message = format!("--tests: '{word}' is not one of: {}", names.join(", "));
            return Err(ConfigError::new(message));
        };
        chosen.push(test);
    }
    let all = chosen.is_empty();
    let tests = possible_tests(io, files, |test| all || chosen.contains(&test));
    if let Some(lost) = chosen.iter().find(|test| !tests.contains(test)) {
        let message = format!("--tests: there is nothing for {} to work on", lost.name());
        return Err(ConfigError::new(message)
            .hint("give --size, --byte-size, --seeks or --files, whichever it needs"));
    }
    if tests.is_empty() {
        return Err(ConfigError::new("with neither --size nor --files there is no test"));
    }
    Ok(tests)
}

#[cfg(test)]
mod tests {
    use super::shape;
    use crate::bonnie::test::Test;
    use treering_script::Settings;

    fn settings(given: &[(&str, &str)]) -> Settings {
        let given = given.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Settings::new(given.collect())
    }

    #[test]
    fn native_settings_have_defaults_and_are_refused_where_they_contradict() {
        let asked = shape(&settings(&[])).unwrap();
        assert_eq!(asked.tests.len(), 10, "all but those byte by byte");
        assert_eq!(asked.io.unwrap().bytes, 256 << 20);
        let asked = shape(&settings(&[("tests", "block-read,random-stat")])).unwrap();
        assert_eq!(asked.tests, [Test::BlockRead, Test::RandomStat]);
        let asked = shape(&settings(&[("size", "10000"), ("files", "0")])).unwrap();
        assert_eq!(asked.io.unwrap().bytes, 8192, "whole chunks");
        let asked = shape(&settings(&[("max-size", "4K"), ("min-size", "0")])).unwrap();
        assert_eq!(asked.files.unwrap().min_bytes, 0);
        for given in [
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
            assert!(shape(&settings(given)).is_err(), "{given:?}");
        }
    }
}
