//! Conversion of settings to the shape of a run, with the original's error messages.

use std::path::PathBuf;

use treering_model::nearest::nearest;
use treering_script::{ConfigError, RunRequest, Settings, WorkerKind};

use super::methods::{SubdirPolicy, SyncMethod};
use super::options::{ClassicOptions, FileOptions, NamingOptions, NativeOptions, WORKERS_MAX};
use super::shape::RunShape;
use treering_kit::ranks::worker_kind;
use treering_kit::settings::{directories, refuse};

/// The longest name that Linux takes.
const NAME_MAX: usize = 255;
/// Maximum bytes of a write call.
const WRITE_MAX: u32 = 4 << 20;

/// Classic command line: the shape, and the options beyond it.
#[derive(Clone, Debug)]
pub(super) struct ClassicConfig {
    pub(super) shape: RunShape,
    pub(super) dirs: Vec<PathBuf>,
    pub(super) log: PathBuf,
    pub(super) verbose: bool,
    pub(super) summary: bool,
    pub(super) workers: WorkerKind,
    pub(super) started_unix_ms: u64,
    pub(super) request: RunRequest,
}

impl ClassicConfig {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let dirs: Vec<PathBuf> = options.dir.iter().map(PathBuf::from).collect();
        if dirs.is_empty() {
            return refuse("Must specify at least one directory with -d switch");
        }
        let policy = classic_policy(settings, &options)?;
        let workers = classic_workers(options.threads, dirs.len())?;
        let is_repeated = settings.text("iterations").is_some();
        let shape = RunShape {
            files: options.files.files,
            bytes: options.files.size,
            write_bytes: write_bytes(&options.files)?,
            name_bytes: options.naming.name_length,
            random_bytes: random_bytes(settings, &options.naming)?,
            sync: SyncMethod::ALL[options.sync_method],
            policy,
            iterations: options.iterations.max(1),
            until_full: options.until_full,
            keep: options.keep_files || is_repeated || options.until_full,
            workers,
            roots: u16::try_from(dirs.len()).unwrap_or(workers),
            seed: options.seed.unwrap_or(settings.started_unix_ms),
        };
        options.threads = workers.into();
        options.subdirs = (policy != SubdirPolicy::Flat).then(|| policy.subdirs());
        // Also 0 says something, where it was given.
        options.files_per_subdir = policy.files();
        options.naming.random_length = shape.random_bytes;
        options.iterations = if is_repeated { shape.iterations } else { 0 };
        options.seed = Some(shape.seed);
        let mut parameters = directories(&dirs);
        parameters.extend(options.parameters());
        Ok(Self {
            shape,
            dirs,
            log: options.log.into(),
            verbose: options.verbose,
            summary: options.summary,
            workers: worker_kind(options.workers),
            started_unix_ms: settings.started_unix_ms,
            request: RunRequest::classic(parameters),
        })
    }
}

fn classic_policy(
    settings: &Settings,
    options: &ClassicOptions,
) -> Result<SubdirPolicy, ConfigError> {
    let subdirs = options.subdirs.unwrap_or_default();
    if settings.text("subdirs").is_some() && subdirs < 2 {
        return refuse("Number of subdirs needs to be greater than 1");
    }
    match (subdirs, options.files_per_subdir) {
        (0, None | Some(0)) => Ok(SubdirPolicy::Flat),
        (0, _) => refuse(
            "Must specify at more than 1 subdirectory with -D switch for -N num_per_subdir to \
             make sense",
        ),
        (subdirs, None) => Ok(SubdirPolicy::TimeHash { subdirs }),
        // -N 0 stays in one, whatever the time.
        (subdirs, Some(files)) => Ok(SubdirPolicy::RoundRobin { subdirs, files }),
    }
}

/// Number of workers: at least one for each root, and a multiple of the roots.
fn classic_workers(requested: u64, roots: usize) -> Result<u16, ConfigError> {
    let roots = roots as u64;
    let workers = requested.max(roots);
    if workers > WORKERS_MAX {
        return refuse(format!("Max threads is {WORKERS_MAX}"));
    }
    if !workers.is_multiple_of(roots) {
        return refuse(format!(
            "Threads ({requested}) must be an even multiple the number of directories ({roots})"
        ));
    }
    Ok(u16::try_from(workers).unwrap_or(u16::MAX))
}

fn write_bytes(files: &FileOptions) -> Result<u32, ConfigError> {
    match u32::try_from(files.write_size) {
        Ok(0) => refuse("--write-size: a write has at least one byte"),
        Ok(bytes) if bytes <= WRITE_MAX => Ok(bytes),
        _ => refuse(format!("MAX IO buffer size is {WRITE_MAX}")),
    }
}

/// Number of random bytes in a name, checked against the name length.
fn random_bytes(settings: &Settings, naming: &NamingOptions) -> Result<usize, ConfigError> {
    let (name, random) = (naming.name_length, naming.random_length);
    if name > NAME_MAX {
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
    Ok(random)
}

/// Shape, workers and request of native settings.
pub(super) fn native(
    settings: &Settings,
) -> Result<(RunShape, WorkerKind, RunRequest), ConfigError> {
    let mut options = NativeOptions::read(settings)?;
    let random_bytes = random_bytes(settings, &options.naming)?;
    let word = &options.sync_method;
    let Some(sync) = SyncMethod::from_text(word) else {
        let words: Vec<&str> = SyncMethod::ALL.iter().map(|method| method.word()).collect();
        let message = format!("--sync-method: '{word}' is not one of: {}", words.join(", "));
        let meant = nearest(word, words).map(|meant| format!("did you mean `{meant}`?"));
        return Err(match meant {
            Some(hint) => ConfigError::new(message).hint(hint),
            None => ConfigError::new(message),
        });
    };
    let (workers, roots) = (options.threads, options.dirs);
    if workers < roots {
        let message = format!("--dirs: {roots} roots need as many workers, not {workers}");
        return Err(ConfigError::new(message).hint(format!("give --threads {roots}")));
    }
    let until_full = options.until_full == Some(true);
    if until_full && settings.text("iterations").is_some() {
        return Err(ConfigError::new("--until-full and --iterations exclude each other")
            .hint("give the number of iterations, or fill the filesystem"));
    }
    let shape = RunShape {
        files: options.files.files,
        bytes: options.files.size,
        write_bytes: write_bytes(&options.files)?,
        name_bytes: options.naming.name_length,
        random_bytes,
        sync,
        policy: native_policy(&options)?,
        iterations: options.iterations.unwrap_or(1),
        until_full,
        keep: options.unlink == Some("end") || until_full,
        workers,
        roots,
        seed: options.seed,
    };
    options.files_per_subdir = shape.policy.files();
    options.spread = options.spread.filter(|_| matches!(shape.policy, SubdirPolicy::Random { .. }));
    options.naming.random_length = random_bytes;
    sync.word().clone_into(&mut options.sync_method);
    if until_full {
        (options.iterations, options.unlink) = (None, None);
    }
    Ok((shape, worker_kind(options.workers), RunRequest::native(options.parameters())))
}

fn native_policy(options: &NativeOptions) -> Result<SubdirPolicy, ConfigError> {
    match (options.subdirs, options.files_per_subdir, options.spread == Some("random")) {
        (0, Some(_), _) => Err(ConfigError::new("--files-per-subdir: there are no subdirectories")
            .hint("give their number with --subdirs")),
        (0, None, true) => Err(ConfigError::new("--spread: there are no subdirectories")
            .hint("give their number with --subdirs")),
        (0, None, false) => Ok(SubdirPolicy::Flat),
        (_, Some(_), true) => {
            Err(ConfigError::new("--files-per-subdir goes with --spread in-turn only"))
        }
        (subdirs, None, true) => Ok(SubdirPolicy::Random { subdirs }),
        (subdirs, a_subdir, false) => {
            let share = options.files.files.div_ceil(u64::from(subdirs)).max(1);
            Ok(SubdirPolicy::RoundRobin { subdirs, files: a_subdir.unwrap_or(share) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassicConfig, native};
    use crate::methods::{SubdirPolicy, SyncMethod};
    use treering_script::{Settings, WorkerKind};

    fn settings(options: &[(&str, &str)]) -> Settings {
        let options = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Settings::new(options.collect())
    }

    fn refused(options: &[(&str, &str)]) -> String {
        ClassicConfig::read(&settings(options)).unwrap_err().message
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
            ("files", "4x"),
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
    fn limits_of_the_original_are_lifted() {
        let many: Vec<(&str, &str)> = vec![("dir", "/m"); 70];
        let config = ClassicConfig::read(&settings(&many)).unwrap();
        assert_eq!((config.shape.workers, config.shape.roots), (70, 70));
        let options =
            [("dir", "/m"), ("name-length", "128"), ("size", "5G"), ("files", "10000000")];
        let shape = ClassicConfig::read(&settings(&options)).unwrap().shape;
        assert_eq!((shape.name_bytes, shape.bytes), (128, 5 << 30));
    }

    #[test]
    fn defaults_are_the_originals() {
        let config = ClassicConfig::read(&settings(&[("dir", "/m")])).unwrap();
        let shape = &config.shape;
        assert_eq!((shape.files, shape.bytes, shape.write_bytes), (1000, 51_200, 16_384));
        assert_eq!((shape.name_bytes, shape.random_bytes), (40, 24));
        assert_eq!((shape.sync, shape.policy), (SyncMethod::Inband, SubdirPolicy::Flat));
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
        for options in [
            &[("files-per-subdir", "3")][..],
            &[("spread", "random")],
            &[("spread", "random"), ("subdirs", "3"), ("files-per-subdir", "3")],
            &[("dirs", "2")],
            &[("until-full", "true"), ("iterations", "2")],
            &[("sync-method", "7")],
            &[("random-length", "41")],
            &[("threads", "0")],
        ] {
            assert!(native(&settings(options)).is_err(), "{options:?}");
        }
        let (shape, workers, _) = native(&settings(&[("subdirs", "7"), ("files", "100")])).unwrap();
        assert_eq!(shape.policy, SubdirPolicy::RoundRobin { subdirs: 7, files: 15 });
        assert_eq!((workers, shape.keep), (WorkerKind::Thread, false));
        let (shape, ..) = native(&settings(&[("name-length", "12")])).unwrap();
        assert_eq!(shape.random_bytes, 12);
    }
}
