//! Run configuration, built from either command line.

use std::path::PathBuf;
use std::sync::Arc;

use treering_model::Fingerprint;
use treering_script::{ConfigError, RunRequest, Settings, WorkerKind};

use super::load_text::read;
use super::options::{ClassicOptions, FileOptions, NativeOptions};
use super::player::PlaybackOptions;
use crate::language::generate;
use crate::language::{LineRange, Load, parse};

/// Native runs work below this directory.
pub(super) const BASE: &str = "dbench-0";

/// Load and its origin.
#[derive(Clone, Debug)]
pub(super) struct LoadSource {
    /// Name of the load in messages.
    pub(super) name: String,
    /// Absolute path; `None` for a generated load.
    pub(super) path: Option<PathBuf>,
    pub(super) fingerprint: String,
    pub(super) load: Arc<Load>,
}

/// End condition of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndCondition {
    /// Ends after `warmup` and then `seconds` of measured time.
    Time { warmup: u64, seconds: u64 },
    /// Ends after this many passes of each client.
    Passes(u64),
}

/// Configuration of a run.
#[derive(Clone, Debug)]
pub(super) struct RunConfig {
    pub(super) request: RunRequest,
    /// Loads, one for each process; reused in turn if there are fewer.
    pub(super) sources: Vec<LoadSource>,
    /// Load played once before the run, to create files.
    pub(super) fill: Option<Arc<Load>>,
    pub(super) processes: u32,
    pub(super) per_process: u32,
    pub(super) ends: EndCondition,
    pub(super) workers: WorkerKind,
    pub(super) synchronous: bool,
    pub(super) playback: PlaybackOptions,
}

/// Line range that an option names.
fn lines(name: &str, text: Option<&String>) -> Result<Option<LineRange>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let range = text.split_once('-').and_then(|(from, to)| Some(number(from)?..=number(to)?));
    range.filter(|range| !range.is_empty()).map(Some).ok_or_else(|| {
        ConfigError::new(format!("--{name}: '{text}' is not a range of lines"))
            .hint("a range is its first and its last line, as 601-4173")
    })
}

/// Reads a load file.
fn source(
    settings: &Settings,
    name: &str,
    lines: Option<&LineRange>,
) -> Result<LoadSource, ConfigError> {
    let path = settings.file(name);
    let text = read(&path).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        ConfigError::new(format!("dbench: error opening '{name}': {why}")).hint(
            "give the path of a load file; `treering dbench generate -o FILE` makes one with the \
             mix of the original's",
        )
    })?;
    settings.files.note(&path, &text);
    let load = parse(name, &text, lines)?;
    Ok(LoadSource {
        name: name.to_owned(),
        path: Some(std::path::absolute(&path).unwrap_or(path)),
        fingerprint: Fingerprint::from_bytes(&text).text(),
        load: Arc::new(load),
    })
}

fn workers(word: &str) -> WorkerKind {
    if word == "processes" { WorkerKind::Process } else { WorkerKind::Thread }
}

/// Playback options common to both command lines; all other options are off.
fn playback(style: &FileOptions, clients: u32, seed: u64) -> Result<PlaybackOptions, ConfigError> {
    Ok(PlaybackOptions {
        base: Vec::new(),
        resolve: !style.no_resolve,
        sync_dir: style.sync_dir,
        fsync: style.fsync,
        xattr: style.xattr,
        stat_check: false,
        fake_io: false,
        one_byte_write_fix: false,
        cleans_up: false,
        rate: style.rate()?,
        passes: None,
        clients,
        seed,
    })
}

impl RunConfig {
    /// Builds the configuration from the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::resolved(settings)?;
        let processes = options.processes()?;
        let seconds = options.timelimit;
        let (warmup, seed) = (options.warmup.unwrap_or_default(), options.seed.unwrap_or_default());
        let lines = lines("lines", options.lines.as_ref())?;
        let sources = sources(settings, &options.loadfile, lines.as_ref())?;
        let clients = processes.saturating_mul(options.clients_per_process);
        let playback = PlaybackOptions {
            stat_check: options.stat_check,
            fake_io: options.fake_io,
            one_byte_write_fix: options.one_byte_write_fix,
            cleans_up: !options.skip_cleanup,
            passes: options.run_once.then_some(1),
            ..playback(&options.style, clients, seed)?
        };
        let paths: Vec<String> = sources.iter().filter_map(LoadSource::shown_path).collect();
        (options.nprocs, options.loadfile) = (Some(processes.to_string()), paths.join(","));
        Ok(Self {
            request: RunRequest::classic(options.parameters()),
            sources,
            fill: None,
            processes,
            per_process: options.clients_per_process,
            ends: EndCondition::Time { warmup, seconds },
            workers: workers(options.clients_as),
            synchronous: options.style.sync,
            playback,
        })
    }

    /// Builds the configuration from native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        let (source, fill) = native_loads(settings, &mut options)?;
        let ends = native_ends(settings, &mut options)?;
        let playback = PlaybackOptions {
            base: BASE.as_bytes().to_vec(),
            passes: options.passes,
            ..playback(&options.style, options.clients, options.seed)?
        };
        let mut parameters = options.parameters();
        if source.path.is_some() {
            parameters.push(("loadfile.fingerprint".to_owned(), source.fingerprint.clone()));
        }
        Ok(Self {
            request: RunRequest::native(parameters),
            sources: vec![source],
            fill,
            processes: options.clients,
            per_process: 1,
            ends,
            workers: workers(options.clients_as),
            synchronous: options.style.sync,
            playback,
        })
    }

    /// Number of clients, over all processes.
    pub(super) fn clients(&self) -> u32 {
        self.processes.saturating_mul(self.per_process)
    }

    /// The load of a process.
    pub(super) fn load_of(&self, process: u32) -> &Arc<Load> {
        &self.sources[process as usize % self.sources.len()].load
    }
}

/// Loads of a native run, and the load that is played once before.
fn native_loads(
    settings: &Settings,
    options: &mut NativeOptions,
) -> Result<(LoadSource, Option<Arc<Load>>), ConfigError> {
    let mut played = lines("lines", options.lines.as_ref())?;
    let mut filled = lines("fill-lines", options.fill_lines.as_ref())?;
    if let Some(named) = options.loadfile.take() {
        let path = settings.file(&named);
        let source = source(settings, &named, played.as_ref())?;
        options.loadfile = source.shown_path();
        (options.load_seed, options.blocks) = (None, None);
        let Some(lines) = filled else { return Ok((source, None)) };
        let text = read(&path).map_err(|error| ConfigError::new(error.to_string()))?;
        return Ok((source, Some(Arc::new(parse(&named, &text, Some(&lines))?))));
    }
    let text =
        generate::text(options.load_seed.unwrap_or_default(), options.blocks.unwrap_or_default());
    let line_count = u32::try_from(text.iter().filter(|&&byte| byte == b'\n').count());
    // The last line removes it all.
    let last = line_count.unwrap_or(u32::MAX).saturating_sub(1);
    filled = filled.or(Some(1..=generate::FILL_LINES));
    played = played.or(Some(generate::FILL_LINES + 1..=last));
    let name = "the load that was made".to_owned();
    let load = Arc::new(parse(&name, &text, played.as_ref())?);
    let fill = filled.map(|lines| parse(&name, &text, Some(&lines))).transpose()?;
    let fingerprint = Fingerprint::from_bytes(&text).text();
    Ok((LoadSource { name, path: None, fingerprint, load }, fill.map(Arc::new)))
}

impl LoadSource {
    fn shown_path(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.to_string_lossy().into_owned())
    }
}

/// Load files of a comma-separated list; a file name may contain a comma itself.
fn sources(
    settings: &Settings,
    named: &str,
    lines: Option<&LineRange>,
) -> Result<Vec<LoadSource>, ConfigError> {
    if settings.file(named).exists() || !named.contains(',') {
        return Ok(vec![source(settings, named, lines)?]);
    }
    let names = named.split(',').filter(|name| !name.is_empty());
    names.map(|name| source(settings, name, lines)).collect()
}

fn native_ends(
    settings: &Settings,
    options: &mut NativeOptions,
) -> Result<EndCondition, ConfigError> {
    if let Some(passes) = options.passes {
        let excluded = ["time", "warmup"].into_iter().find(|name| settings.text(name).is_some());
        if let Some(name) = excluded {
            return Err(ConfigError::new(format!("--passes and --{name} exclude each other"))
                .hint("give the number of passes, or the seconds"));
        }
        options.time = None;
        return Ok(EndCondition::Passes(passes));
    }
    let seconds = options.time.unwrap_or_default();
    let warmup = *options.warmup.get_or_insert(seconds / 5);
    Ok(EndCondition::Time { warmup, seconds })
}
