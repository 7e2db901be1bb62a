//! What a run is asked to be: from the settings of either command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_model::Fingerprint;
use treering_script::{ConfigError, OptionSpec, Settings, WorkerKind};

use super::generate;
use super::load_text::read;
use super::loadfile::{Lines, Load, parse};
use super::options::{CLASSIC, LOADFILE, NATIVE, PROCESSES};
use super::player::{CLIENTS_MAX, Manner};

/// Processes, at most.
const PROCESSES_MAX: u64 = 4096;
/// The longest run in seconds.
const SECONDS_MAX: u64 = 1_000_000_000;
/// Native runs work below this directory.
pub(super) const BASE: &str = "dbench-0";

/// A load and where it is from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// As it is named in messages.
    pub(super) name: String,
    /// Its full path; `None` for one that was made.
    pub(super) path: Option<PathBuf>,
    pub(super) fingerprint: String,
    pub(super) load: Arc<Load>,
}

/// When it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// After so many seconds of warm-up and so many that count.
    Time { warmup: u64, seconds: u64 },
    /// After so many passes of each client.
    Passes(u64),
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) classic: bool,
    /// One for each process, in turn.
    pub(super) sources: Vec<Source>,
    /// What is played once before.
    pub(super) fill: Option<Arc<Load>>,
    pub(super) processes: u32,
    pub(super) per_process: u32,
    pub(super) ends: Ends,
    pub(super) workers: WorkerKind,
    pub(super) synchronous: bool,
    pub(super) manner: Manner,
    pub(super) parameters: Vec<(String, String)>,
}

fn lines(settings: &Settings, name: &str) -> Result<Option<Lines>, ConfigError> {
    let Some(text) = settings.text(name) else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let range = text.split_once('-').and_then(|(from, to)| Some(number(from)?..=number(to)?));
    range.filter(|range| !range.is_empty()).map(Some).ok_or_else(|| {
        ConfigError::new(format!("--{name}: '{text}' is no range of lines"))
            .hint("a range is its first and its last line, as 601-4173")
    })
}

/// Reads a load file.
fn source(path: &Path, name: &str, lines: Option<&Lines>) -> Result<Source, ConfigError> {
    let text = read(path).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        ConfigError::new(format!("dbench: error opening '{name}': {why}")).hint(
            "give the path of a load file; `treering dbench generate -o FILE` makes one with the \
             mix of the original's",
        )
    })?;
    let load = parse(name, &text, lines)?;
    Ok(Source {
        name: name.to_owned(),
        path: Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
        fingerprint: Fingerprint::of(&text).text(),
        load: Arc::new(load),
    })
}

/// Megabytes per second, as bytes.
fn rate(settings: &Settings) -> Result<Option<f64>, ConfigError> {
    let Some(text) = settings.text("target-rate") else { return Ok(None) };
    let number = text.parse::<f64>().ok().filter(|rate| (0.0..=1e6).contains(rate));
    let number = number.ok_or_else(|| {
        ConfigError::new(format!("--target-rate: '{text}' is not a number of megabytes"))
            .hint("give megabytes per second, as 5 or 0.5; 0 sets no rate")
    })?;
    Ok((number > 0.0).then_some(number * 1e6))
}

fn workers(
    settings: &Settings,
    specs: &[OptionSpec],
) -> Result<(WorkerKind, &'static str), ConfigError> {
    let word = settings.choice(specs, "clients-as")?.unwrap_or_default();
    let kind = if word == "processes" { WorkerKind::Process } else { WorkerKind::Thread };
    Ok((kind, word))
}

fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// The flags that both command lines have.
fn flags(settings: &Settings, names: &[&str]) -> Vec<(String, String)> {
    names.iter().map(|name| parameter(name, settings.flag(name))).collect()
}

/// The processes that a classic command line asks for.
fn processes(settings: &Settings) -> Result<u32, ConfigError> {
    let Some(text) = settings.text(PROCESSES) else {
        return Err(ConfigError::new("You need to specify NPROCS")
            .hint("dbench [OPTIONS] NPROCS, as `dbench -D /mnt/test -t 60 4`"));
    };
    let number = text.parse::<u64>().ok().filter(|number| (1..=PROCESSES_MAX).contains(number));
    let number = number.ok_or_else(|| {
        ConfigError::new(format!("create {text} procs?  you must be kidding."))
            .hint("NPROCS is a whole number from 1 to 4096")
    })?;
    Ok(u32::try_from(number).unwrap_or(1))
}

impl Config {
    /// From the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let processes = processes(settings)?;
        let per_process =
            settings.number(CLASSIC, "clients-per-process", 1..=CLIENTS_MAX.into())?.unwrap_or(1);
        let per_process = u32::try_from(per_process).unwrap_or(1);
        let seconds = settings.number(CLASSIC, "timelimit", 0..=SECONDS_MAX)?.unwrap_or(600);
        let warmup = settings.number(CLASSIC, "warmup", 0..=SECONDS_MAX)?.unwrap_or(seconds / 5);
        let seed = settings.number(CLASSIC, "seed", 0..=u64::MAX)?;
        let seed = seed.unwrap_or(settings.started_unix_ms);
        settings.choice(CLASSIC, "backend")?;
        let (kind, word) = workers(settings, CLASSIC)?;
        let lines = lines(settings, "lines")?;
        let named = settings.text_or_default(CLASSIC, LOADFILE).unwrap_or_default();
        let sources = sources(settings, named, lines.as_ref())?;
        let once = settings.flag("run-once");
        let paths: Vec<String> = sources.iter().filter_map(Source::shown_path).collect();
        let mut parameters = vec![
            parameter(PROCESSES, processes),
            parameter("timelimit", seconds),
            parameter("warmup", warmup),
            parameter(LOADFILE, paths.join(",")),
            parameter("clients-per-process", per_process),
            parameter("clients-as", word),
            parameter("seed", seed),
        ];
        parameters.extend(
            ["target-rate", "lines"]
                .iter()
                .filter_map(|name| settings.text(name).map(|value| parameter(name, value))),
        );
        parameters.extend(flags(settings, &FLAGS));
        let manner = Manner {
            base: Vec::new(),
            resolve: !settings.flag("no-resolve"),
            sync_dir: settings.flag("sync-dir"),
            fsync: settings.flag("fsync"),
            xattr: settings.flag("xattr"),
            stat_check: settings.flag("stat-check"),
            fake_io: settings.flag("fake-io"),
            one_byte_write_fix: settings.flag("one-byte-write-fix"),
            cleans_up: !settings.flag("skip-cleanup"),
            rate: rate(settings)?,
            passes: once.then_some(1),
            clients: processes.saturating_mul(per_process),
            seed,
        };
        Ok(Self {
            classic: true,
            sources,
            fill: None,
            processes,
            per_process,
            ends: Ends::Time { warmup, seconds },
            workers: kind,
            synchronous: settings.flag("sync"),
            manner,
            parameters,
        })
    }

    /// From native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let clients = settings.number(NATIVE, "clients", 1..=PROCESSES_MAX)?.unwrap_or(1);
        let clients = u32::try_from(clients).unwrap_or(1);
        let seed = settings.number(NATIVE, "seed", 0..=u64::MAX)?.unwrap_or(1);
        let (kind, word) = workers(settings, NATIVE)?;
        let mut parameters = Vec::new();
        let (source, fill) = Self::native_loads(settings, &mut parameters)?;
        parameters.push(parameter("clients", clients));
        let ends = native_ends(settings, &mut parameters)?;
        parameters.push(parameter("clients-as", word));
        parameters
            .extend(settings.text("target-rate").map(|value| parameter("target-rate", value)));
        let names = ["sync", "sync-dir", "fsync", "xattr", "no-resolve"];
        parameters.extend(flags(settings, &names));
        parameters.push(parameter("seed", seed));
        let manner = Manner {
            base: BASE.as_bytes().to_vec(),
            resolve: !settings.flag("no-resolve"),
            sync_dir: settings.flag("sync-dir"),
            fsync: settings.flag("fsync"),
            xattr: settings.flag("xattr"),
            stat_check: false,
            fake_io: false,
            one_byte_write_fix: false,
            cleans_up: false,
            rate: rate(settings)?,
            passes: match ends {
                Ends::Passes(passes) => Some(passes),
                Ends::Time { .. } => None,
            },
            clients,
            seed,
        };
        Ok(Self {
            classic: false,
            sources: vec![source],
            fill,
            processes: clients,
            per_process: 1,
            ends,
            workers: kind,
            synchronous: settings.flag("sync"),
            manner,
            parameters,
        })
    }

    /// What is played, and what is played once before.
    fn native_loads(
        settings: &Settings,
        parameters: &mut Vec<(String, String)>,
    ) -> Result<(Source, Option<Arc<Load>>), ConfigError> {
        let mut played = lines(settings, "lines")?;
        let mut filled = lines(settings, "fill-lines")?;
        let (name, text, path) = match settings.text(LOADFILE) {
            Some(named) => {
                let path = settings.file(named);
                let source = source(&path, named, played.as_ref())?;
                parameters.push(parameter(LOADFILE, source.shown_path().unwrap_or_default()));
                parameters.push(parameter("loadfile.fingerprint", &source.fingerprint));
                let Some(lines) = filled else {
                    parameters.extend(line_parameters(settings));
                    return Ok((source, None));
                };
                let text = read(&path).map_err(|error| ConfigError::new(error.to_string()))?;
                parameters.extend(line_parameters(settings));
                return Ok((source, Some(Arc::new(parse(named, &text, Some(&lines))?))));
            }
            None => {
                let seed = settings.number(NATIVE, "load-seed", 0..=u64::MAX)?.unwrap_or(1);
                let blocks = settings.number(NATIVE, "blocks", 1..=generate::BLOCKS_MAX.into())?;
                let blocks = u32::try_from(blocks.unwrap_or(1)).unwrap_or(1);
                parameters.push(parameter("load-seed", seed));
                parameters.push(parameter("blocks", blocks));
                let text = generate::text(seed, blocks);
                let all = u32::try_from(text.iter().filter(|&&byte| byte == b'\n').count());
                // The last line removes it all.
                let last = all.unwrap_or(u32::MAX).saturating_sub(1);
                filled = filled.or(Some(1..=generate::FILL_LINES));
                played = played.or(Some(generate::FILL_LINES + 1..=last));
                ("the load that was made".to_owned(), text, None)
            }
        };
        parameters.extend(line_parameters(settings));
        let load = Arc::new(parse(&name, &text, played.as_ref())?);
        let fill = filled.map(|lines| parse(&name, &text, Some(&lines))).transpose()?;
        let fingerprint = Fingerprint::of(&text).text();
        Ok((Source { name, path, fingerprint, load }, fill.map(Arc::new)))
    }

    /// All clients.
    pub(super) fn clients(&self) -> u32 {
        self.processes.saturating_mul(self.per_process)
    }

    /// The load of a process.
    pub(super) fn load_of(&self, process: u32) -> &Arc<Load> {
        &self.sources[process as usize % self.sources.len()].load
    }
}

/// The flags of the classic command line that a repeat needs.
const FLAGS: [&str; 13] = [
    "sync",
    "sync-dir",
    "fsync",
    "xattr",
    "no-resolve",
    "one-byte-write-fix",
    "stat-check",
    "fake-io",
    "skip-cleanup",
    "per-client-results",
    "run-once",
    "machine-readable",
    "show-execute-time",
];

impl Source {
    fn shown_path(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.to_string_lossy().into_owned())
    }
}

fn line_parameters(settings: &Settings) -> Vec<(String, String)> {
    let named = |name: &&str| settings.text(name).map(|value| parameter(name, value));
    ["lines", "fill-lines"].iter().filter_map(named).collect()
}

/// The load files with commas between; a comma may also stand in the name of one.
fn sources(
    settings: &Settings,
    named: &str,
    lines: Option<&Lines>,
) -> Result<Vec<Source>, ConfigError> {
    if settings.file(named).exists() || !named.contains(',') {
        return Ok(vec![source(&settings.file(named), named, lines)?]);
    }
    let names = named.split(',').filter(|name| !name.is_empty());
    names.map(|name| source(&settings.file(name), name, lines)).collect()
}

fn native_ends(
    settings: &Settings,
    parameters: &mut Vec<(String, String)>,
) -> Result<Ends, ConfigError> {
    if let Some(passes) = settings.number(NATIVE, "passes", 1..=1_000_000_000)? {
        let excluded = ["time", "warmup"].into_iter().find(|name| settings.text(name).is_some());
        if let Some(name) = excluded {
            return Err(ConfigError::new(format!("--passes and --{name} exclude each other"))
                .hint("give the number of passes, or the seconds"));
        }
        parameters.push(parameter("passes", passes));
        return Ok(Ends::Passes(passes));
    }
    let seconds = settings.number(NATIVE, "time", 1..=SECONDS_MAX)?.unwrap_or(60);
    let warmup = settings.number(NATIVE, "warmup", 0..=SECONDS_MAX)?.unwrap_or(seconds / 5);
    parameters.push(parameter("time", seconds));
    parameters.push(parameter("warmup", warmup));
    Ok(Ends::Time { warmup, seconds })
}
