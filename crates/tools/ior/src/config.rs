//! Conversion of settings to the shape of a run, with the original's error messages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use treering_script::{ConfigError, RankPlacement, RunRequest, Settings};

use super::directives::with_options;
use super::memory::MemoryAmount;
use super::options::{ClassicOptions, NativeOptions};
use super::shape::{
    ClassicCompat, IoInterface, NamedFile, RankShift, RunShape, SyncMoments, TransferOrder,
};
use treering_kit::ranks::worker_kind;
use treering_kit::settings::{self, packet_type, refuse, status_number};

/// Bytes of an access.
const WORD_BYTES: u64 = 8;

/// Output format of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OutputFormat {
    #[default]
    Text,
    Csv,
    Json,
}

/// Directives of `-O` that have no option of their own.
#[derive(Clone, Debug, Default)]
pub(super) struct Directives {
    pub(super) wears_out: bool,
    pub(super) transfers: Option<u64>,
    pub(super) status_file: Option<String>,
    pub(super) format: OutputFormat,
    pub(super) summary_file: Option<String>,
    /// File for the performance of each rank.
    pub(super) rank_details: Option<String>,
    /// Begin of the names of files with the time of each operation.
    pub(super) operations: Option<String>,
    /// Seconds for which a test goes on.
    pub(super) least_seconds: u64,
}

/// Classic command line: the shape, and the options beyond it.
#[derive(Clone, Debug)]
pub(super) struct ClassicConfig {
    pub(super) shape: RunShape,
    pub(super) options: ClassicOptions,
    pub(super) directives: Directives,
    /// Directories of the files, each once.
    pub(super) directories: Vec<PathBuf>,
    pub(super) request: RunRequest,
    /// Ranks are processes of a launcher.
    pub(super) is_launched: bool,
}

impl ClassicConfig {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let settings = &with_options(settings)?;
        let mut options = ClassicOptions::read(settings)?;
        let directives = directives(&options.directives)?;
        let tests = &mut options.tests;
        if !(tests.write || tests.read || tests.check_write || tests.check_read) {
            (tests.write, tests.read) = (true, true);
        }
        validate(&options, &directives)?;
        let words: Vec<&str> = options.file.split('@').filter(|word| !word.is_empty()).collect();
        let (files, directories) = named_files(&options.file, &words)?;
        if words.len() > 1 && options.unique_dir {
            return refuse("cannot use multiple file names with unique directories");
        }
        let full: Vec<_> = words.iter().map(|word| settings::absolute(Path::new(word))).collect();
        let shape = shape(settings, &mut options, &directives, files)?;
        let mut parameters = vec![("file".to_owned(), full.join("@"))];
        parameters.extend(options.parameters());
        let is_launched = !settings.machine.nodes.is_empty();
        let request = RunRequest::classic(parameters);
        Ok(Self { shape, options, directives, directories, request, is_launched })
    }

    /// Directories of the files, for messages.
    pub(super) fn directory(&self) -> String {
        let names = self.directories.iter().map(|directory| directory.display().to_string());
        names.collect::<Vec<_>>().join(" and ")
    }
}

/// Files of `-o`, and their directories, each once.
fn named_files(whole: &str, words: &[&str]) -> Result<(Vec<NamedFile>, Vec<PathBuf>), ConfigError> {
    let (mut files, mut directories) = (Vec::new(), Vec::<PathBuf>::new());
    for (word, path) in words.iter().map(|word| (word, Path::new(word))) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return refuse(format!("-o {}: this is not the name of a file", path.display()));
        };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let root = directories.iter().position(|known| known == parent).unwrap_or_else(|| {
            directories.push(parent.to_owned());
            directories.len() - 1
        });
        files.push(NamedFile {
            typed: word.strip_suffix(name).unwrap_or_default().to_owned(),
            root: u16::try_from(root).unwrap_or(u16::MAX),
            name: name.to_owned(),
        });
    }
    if files.is_empty() {
        return refuse(format!("-o {whole}: this is not the name of a file"));
    }
    Ok((files, directories))
}

fn directives(texts: &[String]) -> Result<Directives, ConfigError> {
    let mut directives = Directives::default();
    for directive in texts.iter().flat_map(|text| text.split(',')).filter(|word| !word.is_empty()) {
        let Some((name, value)) = directive.split_once('=') else {
            return refuse(format!("Syntax error in configuration options: {directive}"));
        };
        let (name, value) = (name.trim(), value.trim());
        let wrong = || ConfigError::new(format!("-O {name}: '{value}' is not a whole number"));
        match name.to_ascii_lowercase().as_str() {
            "stonewallingwearout" => {
                directives.wears_out = value.parse::<u64>().map_err(|_| wrong())? > 0;
            }
            "stonewallingwearoutiterations" => {
                let number: u64 = value.parse().map_err(|_| wrong())?;
                directives.transfers = Some(number).filter(|&number| number > 0);
            }
            "stonewallingstatusfile" => directives.status_file = Some(value.to_owned()),
            "saverankperformancedetailscsv" => directives.rank_details = Some(value.to_owned()),
            "saveperopdatacsv" => directives.operations = Some(value.to_owned()),
            "mintimeduration" => directives.least_seconds = value.parse().map_err(|_| wrong())?,
            "summaryfile" => directives.summary_file = Some(value.to_owned()),
            "summaryformat" => directives.format = format(value)?,
            // Other names are options, or were refused.
            _ => {}
        }
    }
    Ok(directives)
}

fn format(word: &str) -> Result<OutputFormat, ConfigError> {
    match word.to_ascii_lowercase().as_str() {
        "default" => Ok(OutputFormat::Text),
        "csv" => Ok(OutputFormat::Csv),
        "json" => Ok(OutputFormat::Json),
        _ => refuse(format!("Unknown summaryFormat: {word}")),
    }
}

/// Checks the options that the original refuses, in its order.
fn validate(options: &ClassicOptions, directives: &Directives) -> Result<(), ConfigError> {
    let ClassicOptions { block, transfer, tests, .. } = options;
    IoInterface::from_name(&options.others.api)?;
    let wears = directives.wears_out;
    let status = directives.status_file.is_some();
    let refused = [
        (
            status && !options.keep,
            "a StoneWallingStatusFile is only sensible when splitting write/read into multiple \
             executions of ior, please use -k",
        ),
        (
            status && !wears && tests.write,
            "the StoneWallingStatusFile is only sensible for a write test when using  \
             stoneWallingWearOut",
        ),
        (
            // Lines of earlier versions say so where they split a test by its status file.
            options.deadline == 0 && wears && !status,
            "the stoneWallingWearOut is only sensible when setting a stonewall deadline with -D",
        ),
        (
            options.data_seed.is_none() && !tests.write && tests.check_read,
            "using readCheck only requires to write a timeStampSignature -- use -G",
        ),
        (!block.is_multiple_of(WORD_BYTES), "block size must be a multiple of access size"),
        (!transfer.is_multiple_of(WORD_BYTES), "transfer size must be a multiple of access size"),
        (*transfer == 0, "test will not complete with zero transfer size"),
        (
            *transfer > 0 && !block.is_multiple_of(*transfer),
            "block size must be a multiple of transfer size",
        ),
        (block < transfer, "block size must not be smaller than transfer size"),
        (
            options.random && options.random_blocks && (tests.write || tests.check_write),
            "-z twice draws places from the size of the file that is there, and only reads: give \
             -r without -w",
        ),
        (
            options.random && !options.random_blocks && block == transfer,
            "IOR will randomize access within a block and repeats the same pattern for all \
             segments, therefore choose blocksize > transferSize",
        ),
        (
            options.reorder && options.reorder_random,
            "Both Constant and Random task re-ordering specified. Choose one and resubmit",
        ),
        (
            options.random && options.reorder_random && !options.file_per_process,
            "random offset and random reorder tasks specified with single-shared-file. Choose one \
             and resubmit",
        ),
        (
            options.random && options.reorder && !options.file_per_process,
            "random offset and constant reorder tasks specified with single-shared-file. Choose \
             one and resubmit",
        ),
        (
            options.random && tests.check_read && options.random_offset_seed.is_none(),
            "random offset with read check option requires to set the random seed",
        ),
    ];
    refused.into_iter().find(|(is_refused, _)| *is_refused).map_or(Ok(()), |(_, why)| refuse(why))
}

fn shape(
    settings: &Settings,
    options: &mut ClassicOptions,
    directives: &Directives,
    files: Vec<NamedFile>,
) -> Result<RunShape, ConfigError> {
    let seconds = i32::try_from(settings.started_unix_ms / 1000).unwrap_or(0);
    let now = u64::try_from(seconds).unwrap_or(0);
    let data_seed = match options.data_seed.as_deref().map_or(Ok(0), settings::data_seed)? {
        0 => u32::try_from(now).unwrap_or(0),
        seed => seed.cast_unsigned(),
    };
    options.data_seed = Some(data_seed.cast_signed().to_string());
    let seed = *options.random_offset_seed.get_or_insert(now);
    let packet = packet_type(&options.packet_type)?;
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let ranks = options.tasks.unwrap_or(options.ranks).min(options.ranks);
    // As the original: of all ranks that are there, also where fewer take part.
    let nodes = settings.machine.nodes(options.ranks);
    let roots = files.iter().map(|file| file.root + 1).max().unwrap_or(1);
    Ok(RunShape {
        prefix: String::new(),
        ranks,
        repetitions: options.repetitions,
        block_bytes: options.block,
        transfer_bytes: word(options.transfer),
        segments: options.segments,
        own_files: options.file_per_process,
        files,
        roots,
        interface: IoInterface::from_name(&options.others.api)?,
        has_barriers: options.barriers && settings.machine.nodes.is_empty(),
        least_time: Duration::from_secs(directives.least_seconds),
        keeps_times: directives.operations.is_some(),
        multi_file: options.multi_file,
        writes: options.tests.write,
        checks_write: options.tests.check_write,
        reads: options.tests.read || options.tests.check_read,
        checks_read: options.tests.check_read,
        keeps: options.keep,
        uses_existing: options.use_existing,
        shift: shift(options, nodes),
        // One machine further than the rank that reads.
        check_shift: if options.reorder { (options.task_offset + 1) * to_next(nodes) } else { 0 },
        order: order(options, word(seed)),
        fsync: SyncMoments { after_each: options.fsync_each, at_end: options.fsync },
        own_directories: options.unique_dir,
        delay_seconds: options.delay,
        begins_within: (options.minutes > 0).then(|| Duration::from_secs(60 * options.minutes)),
        wall_seconds: Some(options.deadline).filter(|&seconds| seconds > 0),
        wears_out: directives.wears_out,
        transfers_before: transfers_before(settings, options, directives)?,
        memory: memory(settings, options, nodes)?,
        cold: false,
        direct: options.direct,
        workers: worker_kind(options.worker_kind),
        as_original: Some(ClassicCompat { packet, data_seed }),
    })
}

/// Order of the transfers.
const fn order(options: &ClassicOptions, seed: u32) -> TransferOrder {
    match (options.random, options.random_blocks) {
        (true, false) => TransferOrder::Original(seed),
        (true, true) => TransferOrder::Blocks(seed),
        (false, _) => TransferOrder::Sequential,
    }
}

/// Memory to occupy on each machine.
fn memory(
    settings: &Settings,
    options: &ClassicOptions,
    nodes: RankPlacement,
) -> Result<Option<MemoryAmount>, ConfigError> {
    let Some(text) = &options.memory else { return Ok(None) };
    MemoryAmount::read(text, &settings.machine, nodes.ranks_on_first)
}

/// Distance in ranks from a rank to one on the next machine.
const fn to_next(nodes: RankPlacement) -> u64 {
    if nodes.in_blocks { nodes.ranks_on_first } else { 1 }
}

/// Shift of the ranks for reading.
fn shift(options: &ClassicOptions, nodes: RankPlacement) -> RankShift {
    if options.reorder_random && options.reorder_shuffled {
        RankShift::Shuffled { seed: u32::try_from(options.reorder_seed).unwrap_or(u32::MAX) }
    } else if options.reorder_random {
        let machines = options.task_offset.min(nodes.count - 1);
        let seed = u32::try_from(options.reorder_seed).unwrap_or(u32::MAX);
        RankShift::Drawn { seed, least: machines * nodes.ranks_on_first }
    } else if options.reorder {
        // As many machines further as are asked for: on one machine that is itself again.
        RankShift::Constant(options.task_offset * to_next(nodes))
    } else {
        RankShift::Constant(0)
    }
}

/// Transfers of each rank in an earlier write, given by the user or a status file; only if nothing
/// is written.
fn transfers_before(
    settings: &Settings,
    options: &ClassicOptions,
    directives: &Directives,
) -> Result<Option<u64>, ConfigError> {
    let Some(name) = directives.status_file.as_ref().filter(|_| !options.tests.write) else {
        return Ok(directives.transfers);
    };
    let before = status_number(settings, name, |path, text| {
        format!("stoneWallingStatusFile {path}: '{text}' is not a number")
    })?;
    Ok(before.or(directives.transfers))
}

/// Shape and request of native settings.
pub(super) fn native(settings: &Settings) -> Result<(RunShape, RunRequest), ConfigError> {
    let mut options = NativeOptions::read(settings)?;
    if !options.block.is_multiple_of(options.transfer) {
        let NativeOptions { block, transfer, .. } = options;
        let message = format!("--block: {block} bytes are no multiple of --transfer, {transfer}");
        return Err(ConfigError::new(message).hint("give a multiple"));
    }
    if options.only == "read" {
        return Err(ConfigError::new("--only read: nothing is written that could be read")
            .hint("give --only both; writing and reading have rates of their own"));
    }
    let shift = options.shift.unwrap_or(u64::from(options.workers > 1));
    let shape = RunShape {
        ranks: options.workers,
        repetitions: options.repetitions,
        block_bytes: options.block,
        transfer_bytes: u32::try_from(options.transfer).unwrap_or(u32::MAX),
        segments: options.segments,
        own_files: options.files == "own",
        files: vec![NamedFile { name: "data".to_owned(), ..NamedFile::default() }],
        writes: true,
        reads: options.only == "both",
        shift: RankShift::Constant(shift),
        order: match options.order {
            "random" => TransferOrder::Random(options.seed),
            _ => TransferOrder::Sequential,
        },
        fsync: SyncMoments { after_each: options.fsync == "each", at_end: options.fsync == "end" },
        wall_seconds: options.stonewall,
        wears_out: options.stonewall.is_some(),
        cold: options.drop_caches == "each",
        direct: options.direct,
        workers: worker_kind(options.worker_kind),
        ..RunShape::default()
    };
    options.shift = Some(shift);
    Ok((shape, RunRequest::native(options.parameters())))
}

#[cfg(test)]
mod tests {
    use super::{ClassicConfig, native};
    use crate::shape::RankShift;
    use treering_script::Settings;

    fn settings(words: &str) -> Settings {
        let pairs = words.split_whitespace().map(|word| {
            let (name, value) = word.split_once(':').unwrap_or((word, "true"));
            (name.to_owned(), value.to_owned())
        });
        Settings::new(pairs.collect())
    }

    fn refused(words: &str) -> String {
        ClassicConfig::read(&settings(words)).unwrap_err().message
    }

    #[test]
    fn invalid_options_get_the_originals_messages() {
        for (words, message) in [
            ("block:4M transfer:3M", "block size must be a multiple of transfer size"),
            ("block:9", "block size must be a multiple of access size"),
            ("check-read", "using readCheck only requires to write a timeStampSignature -- use -G"),
            (
                "directives:stoneWallingWearOut=1",
                "the stoneWallingWearOut is only sensible when setting a stonewall deadline with \
                 -D",
            ),
            ("directives:nonsense", "Syntax error in configuration options: nonsense"),
            ("directives:numNodes=3", "-O numNodes: the ranks that are there decide it"),
            ("file:a@..", "-o ..: this is not the name of a file"),
            ("file:a@b unique-dir", "cannot use multiple file names with unique directories"),
            ("api:DFS", "-a DFS: there is no such interface here"),
            ("data-seed:3000000000", "-G: '3000000000' is not a whole number of 32 bits"),
        ] {
            assert_eq!(refused(words), message, "{words}");
        }
    }

    #[test]
    fn default_tests_are_write_and_read() {
        let config = ClassicConfig::read(&settings("file:/m/d/f ranks:4")).unwrap();
        assert!(config.shape.writes && config.shape.reads);
        assert_eq!(config.directories, [std::path::Path::new("/m/d")]);
        assert_eq!((config.shape.transfers(), config.shape.bytes()), (4, 4 << 20));
        let config = ClassicConfig::read(&settings("write file-per-process")).unwrap();
        assert!(!config.shape.reads);
        assert_eq!(config.shape.file_of(3, None), "testFile.00000003");
    }

    #[test]
    fn ranks_take_turns_at_the_files_that_are_named() {
        let words = "file:/m/d/a@/m/e/b@/m/d/c ranks:4 file-per-process";
        let config = ClassicConfig::read(&settings(words)).unwrap();
        assert_eq!(config.directory(), "/m/d and /m/e");
        let files = (0..4).map(|rank| config.shape.file_of(rank, None));
        let wanted = ["a.00000000", "b.00000001", "c.00000002", "a.00000003"];
        assert_eq!(files.collect::<Vec<_>>(), wanted);
        assert_eq!((0..4).map(|rank| config.shape.named_file(rank).root).sum::<u16>(), 1);
        let shared = ClassicConfig::read(&settings("file:/m/d/a@/m/e/b ranks:4")).unwrap();
        assert_eq!(shared.shape.file_of(3, None), "a");
    }

    #[test]
    fn seeds_of_the_data_may_be_negative() {
        let seed = |words: &str| {
            let config = ClassicConfig::read(&settings(words)).unwrap();
            config.shape.as_original.unwrap().data_seed
        };
        assert_eq!(seed("data-seed:-1385486970"), 2_909_480_326);
        assert_eq!(seed("data-seed:27"), 27);
    }

    #[test]
    fn ranks_read_data_written_on_the_next_machine() {
        let mut settings = settings("reorder ranks:6");
        settings.machine.nodes = vec![0, 0, 1, 1, 2, 2];
        let shape = |settings: &Settings| ClassicConfig::read(settings).unwrap().shape;
        let (shift, check_shift) = (shape(&settings).shift, shape(&settings).check_shift);
        assert_eq!((shift, check_shift), (RankShift::Constant(2), 4));
        // By turns: the next rank is on the next machine.
        settings.machine.nodes = vec![0, 1, 2, 0, 1, 2];
        assert_eq!(shape(&settings).shift, RankShift::Constant(1));
        settings.machine.nodes.clear();
        assert_eq!(shape(&settings).shift, RankShift::Constant(6));
    }

    #[test]
    fn recorded_native_settings_are_valid_options() {
        let (_, request) = native(&settings("workers:2 block:8M files:own")).unwrap();
        let (_, again) = native(&Settings::new(request.parameters.clone())).unwrap();
        assert_eq!(request, again);
        assert!(native(&settings("block:9 transfer:8")).is_err());
    }
}
