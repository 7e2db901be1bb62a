//! From settings to the shape of a run, with the refusals of the original in its words.

use std::path::PathBuf;

use treering_script::{ConfigError, OptionSpec, Settings, WorkerKind, parse_size};

use super::options::{CLASSIC, NATIVE};
use super::shape::{Policy, Shape, SyncMethod};

/// The longest name that Linux takes.
const NAME_MAX: usize = 255;
/// The most workers: each has its own memory.
const WORKERS_MAX: u64 = 4096;
const ITERATIONS_MAX: u64 = 100_000;
const FILES_MAX: u64 = 1 << 32;
const SUBDIRS_MAX: u64 = 10_000_000;
/// One call moves no more.
const WRITE_MAX: u64 = 4 << 20;

/// What a classic command line asks for, beyond the shape.
#[derive(Clone, Debug)]
pub(super) struct ClassicConfig {
    pub(super) shape: Shape,
    pub(super) dirs: Vec<PathBuf>,
    pub(super) log: PathBuf,
    pub(super) verbose: bool,
    pub(super) summary: bool,
    pub(super) workers: WorkerKind,
    pub(super) started_unix_ms: u64,
}

/// A refusal without more words than the original has.
fn refuse<T>(message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::new(message))
}

/// A whole number of the classic command line.
fn number(settings: &Settings, name: &str, most: u64) -> Result<u64, ConfigError> {
    Ok(settings.number(CLASSIC, name, 0..=most)?.unwrap_or(0))
}

/// A whole number or a size: `1M` files are as clear as `1M` bytes.
fn size(settings: &Settings, specs: &[OptionSpec], name: &str) -> Result<u64, ConfigError> {
    let text = settings.text_or_default(specs, name).unwrap_or("0");
    let most = i64::MAX.unsigned_abs();
    parse_size(text).filter(|&bytes| bytes <= most).ok_or_else(|| {
        ConfigError::new(format!("--{name}: '{text}' is not a size"))
            .hint("a size is a number with an optional K, M, G or T (powers of 1024), as 256K")
    })
}

fn narrow<N: TryFrom<u64> + Default>(number: u64) -> N {
    N::try_from(number).unwrap_or_default()
}

impl ClassicConfig {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let dirs: Vec<PathBuf> = settings.all("dir").map(PathBuf::from).collect();
        if dirs.is_empty() {
            return refuse("Must specify at least one directory with -d switch");
        }
        let policy = classic_policy(settings)?;
        let workers = classic_workers(settings, dirs.len())?;
        let (name_bytes, random_bytes) = name_lengths(settings, CLASSIC)?;
        let sync = settings.text_or_default(CLASSIC, "sync-method").unwrap_or("1");
        let by_number = sync.parse::<usize>().ok().and_then(|n| SyncMethod::ALL.get(n));
        let Some(&sync) = by_number else {
            return refuse(format!("--sync-method: '{sync}' is not a whole number from 0 to 6"));
        };
        let iterations = number(settings, "iterations", ITERATIONS_MAX)?;
        let until_full = settings.flag("until-full");
        let keep =
            settings.flag("keep-files") || settings.text("iterations").is_some() || until_full;
        let seed = settings.number(CLASSIC, "seed", 0..=u64::MAX)?;
        let shape = Shape {
            files: files(settings, CLASSIC)?,
            bytes: size(settings, CLASSIC, "size")?,
            write_bytes: write_bytes(settings, CLASSIC)?,
            name_bytes,
            random_bytes,
            sync,
            policy,
            iterations: narrow(iterations.max(1)),
            until_full,
            keep,
            workers,
            roots: narrow(dirs.len() as u64),
            seed: seed.unwrap_or(settings.started_unix_ms),
        };
        let threads = settings.choice(CLASSIC, "workers")? == Some("threads");
        Ok(Self {
            shape,
            dirs,
            log: settings.text_or_default(CLASSIC, "log").unwrap_or_default().into(),
            verbose: settings.flag("verbose"),
            summary: settings.flag("summary"),
            workers: if threads { WorkerKind::Thread } else { WorkerKind::Process },
            started_unix_ms: settings.started_unix_ms,
        })
    }
}

fn classic_policy(settings: &Settings) -> Result<Policy, ConfigError> {
    let subdirs = number(settings, "subdirs", SUBDIRS_MAX)?;
    let files = number(settings, "files-per-subdir", u64::MAX)?;
    if settings.text("subdirs").is_some() && subdirs < 2 {
        return refuse("Number of subdirs needs to be greater than 1");
    }
    match (narrow(subdirs), files) {
        (0, 0) => Ok(Policy::Flat),
        (0, _) => refuse(
            "Must specify at more than 1 subdirectory with -D switch for -N num_per_subdir to \
             make sense",
        ),
        (subdirs, 0) if settings.text("files-per-subdir").is_none() => {
            Ok(Policy::TimeHash { subdirs })
        }
        // -N 0 stays in one, whatever the time.
        (subdirs, files) => Ok(Policy::RoundRobin { subdirs, files }),
    }
}

/// One worker a root at least, else a multiple.
fn classic_workers(settings: &Settings, roots: usize) -> Result<u16, ConfigError> {
    let asked = number(settings, "threads", u64::MAX)?;
    let roots = roots as u64;
    let workers = asked.max(roots);
    if workers > WORKERS_MAX {
        return refuse(format!("Max threads is {WORKERS_MAX}"));
    }
    if workers % roots != 0 {
        return refuse(format!(
            "Threads ({asked}) must be an even multiple the number of directories ({roots})"
        ));
    }
    Ok(narrow(workers))
}

fn files(settings: &Settings, specs: &[OptionSpec]) -> Result<u64, ConfigError> {
    let right = settings.number(specs, "files", 1..=FILES_MAX)?;
    Ok(right.unwrap_or(1000))
}

fn write_bytes(settings: &Settings, specs: &[OptionSpec]) -> Result<u32, ConfigError> {
    match size(settings, specs, "write-size")? {
        0 => refuse("--write-size: a write has at least one byte"),
        bytes if bytes > WRITE_MAX => refuse(format!("MAX IO buffer size is {WRITE_MAX}")),
        bytes => Ok(narrow(bytes)),
    }
}

fn name_lengths(settings: &Settings, specs: &[OptionSpec]) -> Result<(usize, usize), ConfigError> {
    let length = |name| settings.number(specs, name, 0..=u64::MAX).map(Option::unwrap_or_default);
    let (name, random) = (length("name-length")?, length("random-length")?);
    if name > NAME_MAX as u64 {
        return refuse(format!("Max filename size is {NAME_MAX}"));
    }
    if name == 0 {
        return refuse("--name-length: a name has at least one byte");
    }
    // Short names with the default of 24 random characters are all random.
    let random = if settings.text("random-length").is_none() { random.min(name) } else { random };
    if random > name {
        let message = format!(
            "--random-length: {random} random characters do not fit into names of {name} bytes"
        );
        return Err(ConfigError::new(message).hint("give a longer -p, or a smaller -r"));
    }
    Ok((narrow_length(name), narrow_length(random)))
}

fn narrow_length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(NAME_MAX).min(NAME_MAX)
}

/// What native settings ask for.
pub(super) fn native(settings: &Settings) -> Result<(Shape, WorkerKind), ConfigError> {
    let number = |name, range| settings.number(NATIVE, name, range).map(Option::unwrap_or_default);
    let (name_bytes, random_bytes) = name_lengths(settings, NATIVE)?;
    let files = files(settings, NATIVE)?;
    let word = settings.text_or_default(NATIVE, "sync-method").unwrap_or_default();
    let Some(sync) = SyncMethod::from_text(word) else {
        let words: Vec<&str> = SyncMethod::ALL.iter().map(|method| method.word()).collect();
        return refuse(format!("--sync-method: '{word}' is not one of: {}", words.join(", ")));
    };
    let workers = number("threads", 1..=WORKERS_MAX)?;
    let roots = number("dirs", 1..=WORKERS_MAX)?;
    if workers < roots {
        let message = format!("--dirs: {roots} roots need as many workers, not {workers}");
        return Err(ConfigError::new(message).hint(format!("give --threads {roots}")));
    }
    let until_full = settings.flag("until-full");
    let keep = settings.choice(NATIVE, "unlink")? == Some("end") || until_full;
    if until_full && settings.text("iterations").is_some() {
        return Err(ConfigError::new("--until-full and --iterations exclude each other")
            .hint("give the number of iterations, or fill the filesystem"));
    }
    let shape = Shape {
        files,
        bytes: size(settings, NATIVE, "size")?,
        write_bytes: write_bytes(settings, NATIVE)?,
        name_bytes,
        random_bytes,
        sync,
        policy: native_policy(settings, files)?,
        iterations: narrow(number("iterations", 1..=ITERATIONS_MAX)?),
        until_full,
        keep,
        workers: narrow(workers),
        roots: narrow(roots),
        seed: number("seed", 0..=u64::MAX)?,
    };
    let processes = settings.choice(NATIVE, "workers")? == Some("processes");
    Ok((shape, if processes { WorkerKind::Process } else { WorkerKind::Thread }))
}

fn native_policy(settings: &Settings, files: u64) -> Result<Policy, ConfigError> {
    let subdirs: u32 =
        narrow(settings.number(NATIVE, "subdirs", 0..=SUBDIRS_MAX)?.unwrap_or_default());
    let a_subdir = settings.number(NATIVE, "files-per-subdir", 1..=u64::MAX)?;
    let random = settings.choice(NATIVE, "spread")? == Some("random");
    match (subdirs, a_subdir, random) {
        (0, Some(_), _) => Err(ConfigError::new("--files-per-subdir: there are no subdirectories")
            .hint("give their number with --subdirs")),
        (0, None, true) => Err(ConfigError::new("--spread: there are no subdirectories")
            .hint("give their number with --subdirs")),
        (0, None, false) => Ok(Policy::Flat),
        (_, Some(_), true) => {
            Err(ConfigError::new("--files-per-subdir goes with --spread in-turn only"))
        }
        (subdirs, None, true) => Ok(Policy::Random { subdirs }),
        (subdirs, a_subdir, false) => {
            let share = files.div_ceil(u64::from(subdirs)).max(1);
            Ok(Policy::RoundRobin { subdirs, files: a_subdir.unwrap_or(share) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassicConfig, native};
    use crate::fs_mark::shape::{Policy, SyncMethod};
    use treering_script::{Settings, WorkerKind};

    fn settings(given: &[(&str, &str)]) -> Settings {
        let given = given.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Settings::new(given.collect())
    }

    fn refused(given: &[(&str, &str)]) -> String {
        ClassicConfig::read(&settings(given)).unwrap_err().message
    }

    #[test]
    fn wrong_command_lines_are_refused_in_the_originals_words() {
        let d = ("dir", "/m");
        assert_eq!(refused(&[]), "Must specify at least one directory with -d switch");
        assert_eq!(refused(&[d, ("subdirs", "1")]), "Number of subdirs needs to be greater than 1");
        assert_eq!(
            refused(&[d, ("dir", "/n"), ("threads", "3")]),
            "Threads (3) must be an even multiple the number of directories (2)"
        );
        assert_eq!(
            refused(&[d, ("files-per-subdir", "4")]),
            "Must specify at more than 1 subdirectory with -D switch for -N num_per_subdir to \
             make sense"
        );
        assert_eq!(refused(&[d, ("name-length", "256")]), "Max filename size is 255");
        assert_eq!(refused(&[d, ("write-size", "5M")]), "MAX IO buffer size is 4194304");
        assert!(refused(&[d, ("sync-method", "9")]).ends_with("from 0 to 6"));
        for (name, value) in [
            ("files", "0"),
            ("files", "4k"),
            ("write-size", "0"),
            ("size", "-1"),
            ("size", "4x"),
            ("random-length", "41"),
            ("name-length", "0"),
            ("threads", "5000"),
            ("subdirs", "x"),
        ] {
            assert!(!refused(&[d, (name, value)]).is_empty(), "{name} {value}");
        }
    }

    #[test]
    fn what_the_original_cannot_do_is_done() {
        let many: Vec<(&str, &str)> = vec![("dir", "/m"); 70];
        let config = ClassicConfig::read(&settings(&many)).unwrap();
        assert_eq!((config.shape.workers, config.shape.roots), (70, 70));
        let given = [("dir", "/m"), ("name-length", "128"), ("size", "5G"), ("files", "10000000")];
        let shape = ClassicConfig::read(&settings(&given)).unwrap().shape;
        assert_eq!((shape.name_bytes, shape.bytes), (128, 5 << 30));
    }

    #[test]
    fn defaults_are_the_originals() {
        let config = ClassicConfig::read(&settings(&[("dir", "/m")])).unwrap();
        let shape = &config.shape;
        assert_eq!((shape.files, shape.bytes, shape.write_bytes), (1000, 51_200, 16_384));
        assert_eq!((shape.name_bytes, shape.random_bytes), (40, 24));
        assert_eq!((shape.sync, shape.policy), (SyncMethod::Inband, Policy::Flat));
        assert!(!shape.keep && !shape.until_full);
        assert_eq!((shape.iterations, config.workers), (1, WorkerKind::Process));
        assert_eq!(config.log.to_str(), Some("fs_log.txt"));
        let keeps = |name, value| {
            ClassicConfig::read(&settings(&[("dir", "/m"), (name, value)])).unwrap().shape.keep
        };
        assert!(keeps("iterations", "1") && keeps("until-full", "true"));
        assert!(keeps("keep-files", "true") && keeps("iterations", "0"));
    }

    #[test]
    fn native_settings_are_refused_where_they_contradict() {
        for given in [
            &[("files-per-subdir", "3")][..],
            &[("spread", "random")],
            &[("spread", "random"), ("subdirs", "3"), ("files-per-subdir", "3")],
            &[("dirs", "2")],
            &[("until-full", "true"), ("iterations", "2")],
            &[("sync-method", "7")],
            &[("random-length", "41")],
            &[("threads", "0")],
        ] {
            assert!(native(&settings(given)).is_err(), "{given:?}");
        }
        let (shape, workers) = native(&settings(&[("subdirs", "7"), ("files", "100")])).unwrap();
        assert_eq!(shape.policy, Policy::RoundRobin { subdirs: 7, files: 15 });
        assert_eq!((workers, shape.keep), (WorkerKind::Thread, false));
        let (shape, _) = native(&settings(&[("name-length", "12")])).unwrap();
        assert_eq!(shape.random_bytes, 12);
    }
}
