//! Classic command line of bonnie++, converted to the shape of a run, with the checks of the
//! original in its order and words.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use treering_kit::settings::absolute;
use treering_script::{
    ConfigError, Credentials, RunRequest, SemaphoreBarrier, Settings, SyncScope,
};

use super::asked::{FileKind, FilesShape, IoShape};
use super::dice::RandomSource;
use super::identity::AccountFiles;
use super::options::{COPIES_MAX, ClassicOptions};
use super::shape::{ExtraFsync, RunShape, possible_tests};
use super::spec::{FilesSpec, SizeSpec};
use super::test::Test;
use super::text::{CsvVersion, RunLabel};

/// Least default size of the file, in MiB.
const LEAST_MIB: u64 = 300;
const RUNS_MAX: u64 = 1 << 20;
/// System V key of the original's semaphores, and the largest value of one.
const MEETING_KEY: i32 = 4711;
const MEETING_MAX: u16 = 32_767;
/// Memory per file as the original computes it: KiB per 1024 files.
const FILE_KIB: u64 = 37;
const FILES_KIB_MAX: u64 = 1 << 20;
/// Largest accepted file of random numbers, in bytes.
const RANDOM_BYTES_MAX: u64 = 64 << 20;

/// Options of the output and of the waits between tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutputOptions {
    pub(super) label: RunLabel,
    /// True if only CSV lines are printed, one per run (`-x`).
    pub(super) lines_only: bool,
    pub(super) quiet: bool,
    /// Wait before each test.
    pub(super) wait: TestWait,
    /// Semaphores at which processes meet, if any.
    pub(super) meeting: Option<SemaphoreBarrier>,
    /// User and group for the "Using uid" banner, if given.
    pub(super) greeting: Option<Credentials>,
}

/// Parsed classic command line.
#[derive(Clone, Debug)]
pub(super) struct ClassicConfig {
    pub(super) shape: RunShape,
    pub(super) output_options: OutputOptions,
    pub(super) dir: PathBuf,
    pub(super) process: u32,
    pub(super) request: RunRequest,
}

/// Error for a wrong command line, in the original's words where it has any.
fn usage<T>(words: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::new(words).hint("`bonnie++ --help` lists the options and their forms"))
}

/// Fsync mode from `-b` and `--fsync-writes`.
const fn fsync(options: &ClassicOptions) -> ExtraFsync {
    match (options.fsync_writes, options.fsync) {
        (true, _) => ExtraFsync::Each,
        (false, true) => ExtraFsync::Updates,
        (false, false) => ExtraFsync::Never,
    }
}

impl ClassicConfig {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let dir = directory(settings, &options.dir)?;
        let Ok(copies) = settings.number(ClassicOptions::SPECS, "copies", 1..=COPIES_MAX) else {
            return usage(format!("-c: from 1 to {COPIES_MAX} copies can run side by side"));
        };
        let machine = &settings.machine;
        let by_default = u64::from(machine.process) ^ (settings.started_unix_ms / 1000);
        let seed = options.seed.unwrap_or(by_default);
        let source = match &options.random_file {
            None => RandomSource::Seed(seed),
            Some(file) => RandomSource::List(random_numbers(file, &settings.file(file))?),
        };
        let greeting = identity(&options, machine.is_root)?;
        let wait = wait(options.wait.as_deref())?;
        let meeting = meeting(options.processes.as_deref(), wait)?;
        let after = BannerState { greeting, quiet: options.quiet };
        let ram_mib = match &options.ram {
            Some(text) => ram_mib(text, &after)?,
            None => machine.memory_bytes >> 20,
        };
        let RequestedFiles { io, files, mib, k, byte_mib } = match meeting {
            Some(SemaphoreBarrier::Make { .. } | SemaphoreBarrier::Remove { .. }) => {
                RequestedFiles::default()
            }
            _ => RequestedFiles::read(&options, ram_mib, copies.unwrap_or(1), &after)?,
        };
        let runs = settings.number(ClassicOptions::SPECS, "runs", 1..=RUNS_MAX);
        let runs = runs.or_else(|error| after.refuse(&error.message))?;
        let shape = RunShape {
            io,
            files,
            tests: possible_tests(io, files),
            runs: u32::try_from(runs.unwrap_or(1)).unwrap_or(1),
            copies: u16::try_from(copies.unwrap_or(1)).unwrap_or(1),
            source,
            fsync: fsync(&options),
            direct: options.direct,
            sync: match options.sync_scope {
                "machine" => SyncScope::Machine,
                _ => SyncScope::Target,
            },
            drop_caches: false,
            // Root stays root; it can work as any user.
            identity: greeting.filter(|ids| !(machine.is_root && ids.user == 0 && ids.group == 0)),
        };
        let csv = CsvVersion::from_number(options.csv_version);
        let output_options = OutputOptions {
            label: RunLabel {
                name: name(options.machine.as_ref().unwrap_or(&machine.name))?,
                seed,
                mib,
                k,
                csv,
                // Only lines of 1.98 have misplaced columns.
                csv_as_original: csv == CsvVersion::Long && options.csv_columns == "original",
            },
            lines_only: runs.is_some(),
            quiet: after.quiet,
            wait,
            meeting,
            greeting,
        };
        (options.ram, options.byte_size) = (Some(ram_mib.to_string()), byte_mib.to_string());
        let process = machine.process;
        let request = RunRequest::classic(Vec::new());
        let mut config = Self { shape, output_options, dir, process, request };
        config.request = config.request(options, settings);
        Ok(config)
    }

    /// Request to record: the options with their resolved values.
    fn request(&self, mut options: ClassicOptions, settings: &Settings) -> RunRequest {
        let Self { shape, output_options, dir, .. } = self;
        options.dir = vec![absolute(dir)];
        options.size = Some(shape.io.map_or_else(
            || "0".to_owned(),
            |io| format!("{}:{}:{}:{}", output_options.label.mib, io.chunk, io.seeks, io.seekers),
        ));
        options.number = shape.files.map_or_else(
            || "0".to_owned(),
            |files| {
                let max = match files.kind {
                    FileKind::HardLinks => "-1".to_owned(),
                    FileKind::SymbolicLinks => "-2".to_owned(),
                    FileKind::Regular => files.max_bytes.to_string(),
                };
                format!(
                    "{}:{max}:{}:{}:{}",
                    output_options.label.k, files.min_bytes, files.dirs, files.chunk
                )
            },
        );
        options.machine = Some(output_options.label.name.clone());
        options.runs = output_options.lines_only.then(|| shape.runs.to_string());
        options.user =
            output_options.greeting.map(|greeting| format!("{}:{}", greeting.user, greeting.group));
        options.fsync = shape.fsync == ExtraFsync::Updates;
        options.seed = Some(output_options.label.seed);
        options.random_file = options.random_file.map(|file| absolute(&settings.file(&file)));
        options.copies = shape.copies.to_string();
        options.csv_columns =
            if output_options.label.csv_as_original { "original" } else { "right" };
        RunRequest::classic(options.parameters())
    }
}

/// Memory size from `-r`, in MiB, from which default sizes follow.
fn ram_mib(text: &str, after: &BannerState) -> Result<u64, ConfigError> {
    match leading_number(text).filter(|mib| *mib <= 1 << 40) {
        Some(mib) => Ok(mib),
        None => after.refuse(&format!("-r: '{text}' is not a number of MiB")),
    }
}

/// Banner that precedes an error once user and group are known.
struct BannerState {
    greeting: Option<Credentials>,
    quiet: bool,
}

impl BannerState {
    fn refuse<T>(&self, words: &str) -> Result<T, ConfigError> {
        match self.greeting.filter(|_| !self.quiet) {
            Some(identity) => usage(format!("{}\n{words}", greeting(identity))),
            None => usage(words),
        }
    }
}

/// First line of output: user and group.
pub(super) fn greeting(Credentials { user, group }: Credentials) -> String {
    format!("Using uid:{user}, gid:{group}.")
}

/// Joins the directories; each is relative to the one before.
fn directory(settings: &Settings, directories: &[String]) -> Result<PathBuf, ConfigError> {
    let mut dir = PathBuf::from(".");
    for typed in directories {
        dir = if dir == Path::new(".") { typed.into() } else { dir.join(typed) };
        if !dir.is_dir() && !settings.files.are_recorded() {
            return usage(format!("Can't change to directory \"{typed}\"."));
        }
    }
    Ok(dir)
}

fn random_numbers(typed: &str, path: &Path) -> Result<Arc<[u32]>, ConfigError> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(RANDOM_BYTES_MAX).read_to_end(&mut bytes));
    let numbers = bytes.as_chunks::<4>().0.iter().map(|four| u32::from_be_bytes(*four));
    let numbers: Arc<[u32]> = numbers.collect();
    if read.is_err() || numbers.is_empty() {
        let message = format!("Can't open random file \"{typed}\".");
        let right = "give a file of numbers of 32 bits, big-endian, as generate_randfile writes";
        return Err(ConfigError::new(message).hint(right));
    }
    Ok(numbers)
}

/// User and group to work as, if given.
fn identity(options: &ClassicOptions, is_root: bool) -> Result<Option<Credentials>, ConfigError> {
    match (&options.user, options.group.as_deref()) {
        (Some(user), group) => AccountFiles::of_machine().find(user, group).map(Some),
        (None, _) if is_root => usage("You must use the \"-u\" switch when running as root."),
        // The group is only checked here: another than the process's own is refused when the work
        // begins.
        (None, Some(group)) => AccountFiles::of_machine().find_group(group).map(|_| None),
        (None, None) => Ok(None),
    }
}

/// Wait before each test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TestWait {
    #[default]
    Nothing,
    /// Prompts, and waits for a line on standard input.
    Line,
    /// Waits for all other processes at a semaphore.
    Others,
}

fn wait(option: Option<&str>) -> Result<TestWait, ConfigError> {
    match option {
        None => Ok(TestWait::Nothing),
        Some("p") => Ok(TestWait::Line),
        Some("s") => Ok(TestWait::Others),
        Some(other) => usage(format!("-y: '{other}' is neither p nor s")),
    }
}

/// Number at the start of a text, as C's `atoi` reads it; the rest is ignored. A text without
/// digits, which the original takes for 0, gives `None`.
fn leading_number(text: &str) -> Option<u64> {
    let text = text.trim_ascii_start();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().ok()
}

/// Meeting at the original's semaphores: join, make, or remove them.
fn meeting(option: Option<&str>, wait: TestWait) -> Result<Option<SemaphoreBarrier>, ConfigError> {
    let (key, meetings) = (MEETING_KEY, u16::try_from(Test::COUNT).unwrap_or(0));
    match (option, wait) {
        (None, TestWait::Others) => Ok(Some(SemaphoreBarrier::Join { key, meetings })),
        (None, _) => Ok(None),
        // The original takes `-p 0` for no -p at all, whether it waits or not.
        (Some(text), wait) if leading_number(text) == Some(0) => match wait {
            TestWait::Others => Ok(Some(SemaphoreBarrier::Join { key, meetings })),
            TestWait::Nothing | TestWait::Line => Ok(None),
        },
        (Some(_), TestWait::Others) => {
            usage("-p makes semaphores and -y s waits for them: not both")
        }
        (Some("-1"), _) => Ok(Some(SemaphoreBarrier::Remove { key, meetings })),
        (Some(text), _) => match leading_number(text).map(u16::try_from) {
            Some(Ok(processes)) if (1..=MEETING_MAX).contains(&processes) => {
                Ok(Some(SemaphoreBarrier::Make { key, meetings, processes }))
            }
            _ => usage(format!("-p: '{text}' is neither a number from 1 to {MEETING_MAX} nor -1")),
        },
    }
}

/// Checks the name in the output, which must not break lines and fields.
fn name(name: &str) -> Result<String, ConfigError> {
    if name.chars().any(|letter| letter == ',' || letter.is_control()) || name.len() > 255 {
        return usage("-m: a name has at most 255 bytes, none of them a comma or a line's end");
    }
    Ok(name.to_owned())
}

/// Large file and small files of a classic command line.
#[derive(Default)]
struct RequestedFiles {
    io: Option<IoShape>,
    files: Option<FilesShape>,
    mib: u64,
    k: u64,
    byte_mib: u64,
}

impl RequestedFiles {
    fn read(
        options: &ClassicOptions,
        ram_mib: u64,
        copies: u64,
        after: &BannerState,
    ) -> Result<Self, ConfigError> {
        let text = options.size.as_deref().unwrap_or("");
        // The original passes over colons at the front, as scripts have them: -s:8192:64k.
        let Some(size) = SizeSpec::read(text.trim_start_matches(':')) else {
            return after.refuse(&format!(
                "-s: '{text}' is not SIZE[:CHUNK[:SEEKS[:SEEKERS]]]; a chunk is a power of 2 from \
                 256 bytes to 1 MiB"
            ));
        };
        let text = &options.number;
        let Some(number) = FilesSpec::read(text) else {
            return after.refuse(&format!(
                "-n: '{text}' is not NUMBER[:MAX[:MIN[:DIRS[:CHUNK]]]], with less than 100000 \
                 directories and a chunk as that of -s"
            ));
        };
        let text = &options.byte_size;
        let Some(byte_mib) = text.parse::<u64>().ok().filter(|mib| *mib < 1 << 40) else {
            return after.refuse(&format!("-f: '{text}' is not a number of MiB"));
        };
        let mib = size.mib.unwrap_or_else(|| default_mib(ram_mib));
        if mib == 0 && number.k == 0 {
            return after.refuse("with neither a size nor a number of files there is no test");
        }
        // The original counts chunks in an int.
        if mib.saturating_mul(1 << 20) / u64::from(size.chunk) > u64::from(u32::MAX >> 1) {
            return after.refuse(&format!("File size {mib} too big for chunk size {}", size.chunk));
        }
        if mib > 0 && mib.saturating_mul(copies) < ram_mib.saturating_mul(2) {
            return after.refuse(&format!(
                "File size should be double RAM for good results, RAM is {ram_mib}M."
            ));
        }
        check_files(number.k, ram_mib, after)?;
        let io = (mib > 0).then(|| IoShape {
            bytes: mib << 20,
            char_bytes: byte_mib.min(mib) << 20,
            chunk: size.chunk,
            seeks: size.seeks,
            seekers: size.seekers,
        });
        if options.direct && io.is_some_and(|io| io.char_bytes > 0) {
            return after
                .refuse("-D: single bytes cannot be moved past the cache; give -f as well");
        }
        let files = (number.k > 0).then(|| FilesShape {
            count: u32::try_from(number.k.saturating_mul(1024)).unwrap_or(u32::MAX),
            max_bytes: number.max,
            // Without a least size files have any size up to the largest.
            min_bytes: number.min,
            kind: number.kind,
            dirs: number.dirs,
            chunk: number.chunk,
        });
        Ok(Self { io, files, mib, k: number.k, byte_mib })
    }
}

/// Default file size: twice the memory, rounded up to whole GiB where nearly one.
fn default_mib(ram_mib: u64) -> u64 {
    let mib = ram_mib.saturating_mul(2).max(LEAST_MIB);
    let remainder = mib % 1024;
    if remainder > 512 { mib + (1024 - remainder) } else { mib }
}

/// Refuses more files than the memory check of the original allows, which keeps a list of all
/// names.
fn check_files(k: u64, ram_mib: u64, after: &BannerState) -> Result<(), ConfigError> {
    let kib = k.saturating_mul(FILE_KIB);
    if kib > FILES_KIB_MAX {
        return after.refuse(&format!("Not enough ram to test with {k}K files."));
    }
    if ram_mib > 0 && kib.saturating_mul(2) > ram_mib << 10 {
        return after.refuse(&format!(
            "When testing {k}K of files in {ram_mib} MiB of RAM the system is likely to\nstart \
             paging Bonnie++ data and the test will give suspect\nresults, use less files or \
             install more RAM for this test."
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ClassicConfig, CsvVersion, TestWait, default_mib};
    use crate::asked::FileKind;
    use crate::shape::ExtraFsync;
    use crate::test::Test;
    use treering_script::{Credentials, MachineFacts, SemaphoreBarrier, Settings, SyncScope};

    fn settings(options: &[(&str, &str)]) -> Settings {
        let options = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let machine = MachineFacts {
            name: "oak".into(),
            memory_bytes: 1 << 30,
            is_root: true,
            process: 4242,
            ..MachineFacts::default()
        };
        let mut settings = Settings::new(options.collect());
        settings.machine = machine;
        settings.started_unix_ms = 1_700_000_000_000;
        settings
    }

    fn read(options: &[(&str, &str)]) -> ClassicConfig {
        ClassicConfig::read(&settings(options)).unwrap()
    }

    fn refused(options: &[(&str, &str)]) -> String {
        ClassicConfig::read(&settings(options)).unwrap_err().message
    }

    const ROOT: (&str, &str) = ("user", "root");

    #[test]
    fn defaults_are_the_originals() {
        let config = read(&[ROOT]);
        let (shape, output_options) = (&config.shape, &config.output_options);
        let io = shape.io.unwrap();
        assert_eq!((output_options.label.mib, io.bytes, io.char_bytes), (2048, 2 << 30, 3 << 20));
        assert_eq!((io.chunk, io.seeks, io.seekers), (8192, 8192, 5));
        let files = shape.files.unwrap();
        assert_eq!((files.count, files.max_bytes, files.dirs), (16_384, 0, 1));
        assert_eq!(shape.tests, Test::ALL);
        assert_eq!((shape.runs, shape.copies, shape.fsync), (1, 1, ExtraFsync::Never));
        assert_eq!(
            (output_options.label.seed, output_options.label.csv),
            (0x6553_e192, CsvVersion::Long)
        );
        assert_eq!((&*output_options.label.name, output_options.lines_only), ("oak", false));
        assert_eq!(config.dir.to_str(), Some("."));
        assert_eq!(output_options.greeting, Some(Credentials { user: 0, group: 0 }));
        assert_eq!((shape.identity, shape.sync), (None, SyncScope::Target));
        assert_eq!(read(&[ROOT, ("ram", "0")]).output_options.label.mib, 300);
    }

    #[test]
    fn default_sizes_round_to_whole_gib() {
        assert_eq!(default_mib(0), 300);
        assert_eq!(default_mib(760), 1520);
        assert_eq!(default_mib(800), 2048);
        assert_eq!(default_mib(7900), 15_800);
        assert_eq!(default_mib(8000), 16_384);
    }

    #[test]
    fn checks_have_the_order_and_wording_of_the_original() {
        assert_eq!(refused(&[]), "You must use the \"-u\" switch when running as root.");
        let nope = [("dir", "/"), ("dir", "no such directory")];
        assert_eq!(refused(&nope), "Can't change to directory \"no such directory\".");
        assert_eq!(refused(&[("user", "no such user")]), "Can't find user no such user");
        let double = "Using uid:0, gid:0.\nFile size should be double RAM for good results, RAM is \
                      1024M.";
        assert_eq!(refused(&[ROOT, ("size", "100")]), double);
        let without = &double["Using uid:0, gid:0.\n".len()..];
        assert_eq!(refused(&[ROOT, ("size", "100"), ("quiet", "true")]), without);
        let large = [ROOT, ("size", "524288:256"), ("ram", "0")];
        let too_large = "Using uid:0, gid:0.\nFile size 524288 too big for chunk size 256";
        assert_eq!(refused(&large), too_large);
        assert_eq!(
            read(&[ROOT, ("size", "524287:256"), ("ram", "0")]).shape.io.unwrap().chunk,
            256
        );
        let few = [ROOT, ("size", "1000"), ("copies", "2"), ("ram", "1001")];
        assert!(refused(&few).ends_with("RAM is 1001M."));
        assert_eq!(
            read(&[ROOT, ("size", "1000"), ("copies", "2"), ("ram", "1000")])
                .output_options
                .label
                .mib,
            1000
        );
        assert_eq!(read(&[ROOT, ("size", "100"), ("ram", "0")]).output_options.label.mib, 100);
        assert_eq!(read(&[ROOT, ("size", ":100:4k"), ("ram", "0")]).output_options.label.mib, 100);
        let many = refused(&[ROOT, ("size", "0"), ("number", "28340"), ("ram", "0")]);
        assert!(many.ends_with("Not enough ram to test with 28340K files."));
        read(&[ROOT, ("size", "0"), ("number", "28339"), ("ram", "0")]);
        let paging = refused(&[ROOT, ("size", "0"), ("number", "16"), ("ram", "1")]);
        assert!(paging.contains("When testing 16K of files in 1 MiB of RAM"), "{paging}");
        let random = refused(&[ROOT, ("random-file", "/no such file")]);
        assert_eq!(random, "Can't open random file \"/no such file\".");
    }

    #[test]
    fn wrong_values_are_refused() {
        for wrong in [
            ("copies", "0"),
            ("copies", "201"),
            ("size", "x"),
            ("size", "4096:3k"),
            ("number", "1:1000:2000"),
            ("byte-size", "20x"),
            ("runs", "0"),
            ("wait", "x"),
            ("processes", "-2"),
            ("processes", "40000"),
            ("machine", "a,b"),
            ("machine", "a\nb"),
            ("group", "no such group"),
            ("seed", "-1"),
            ("ram", "x"),
            ("direct", "true"),
            ("csv-version", "1.03"),
        ] {
            assert!(!refused(&[ROOT, wrong]).is_empty(), "{wrong:?}");
        }
        assert!(!refused(&[ROOT, ("size", "0"), ("number", "0")]).is_empty());
        assert_eq!(read(&[ROOT, ("processes", "0")]).output_options.meeting, None, "as without -p");
    }

    #[test]
    fn published_command_lines_are_parsed() {
        let config =
            read(&[ROOT, ("size", "0"), ("number", "15"), ("fsync", "true"), ("ram", "0")]);
        assert_eq!(config.shape.tests, Test::ALL[6..]);
        assert_eq!(config.shape.fsync, ExtraFsync::Updates);
        let config = read(&[ROOT, ("size", "4096"), ("number", "0"), ("byte-size", "0")]);
        let tests = [Test::BlockWrite, Test::Rewrite, Test::BlockRead, Test::Seeks];
        assert_eq!(config.shape.tests, tests);
        assert!(read(&[ROOT, ("runs", "5")]).output_options.lines_only);
        assert_eq!(read(&[ROOT, ("wait", "p")]).output_options.wait, TestWait::Line);
        let of = |options: &[(&str, &str)]| read(options).output_options.meeting.unwrap();
        let (key, meetings) = (4711, 12);
        let made = SemaphoreBarrier::Make { key, meetings, processes: 3 };
        assert_eq!(of(&[ROOT, ("processes", "3"), ("size", "1")]), made);
        assert_eq!(of(&[ROOT, ("processes", "-1")]), SemaphoreBarrier::Remove { key, meetings });
        assert_eq!(of(&[ROOT, ("wait", "s")]), SemaphoreBarrier::Join { key, meetings });
        assert!(!refused(&[ROOT, ("wait", "s"), ("processes", "3")]).is_empty());
        assert!(read(&[ROOT, ("direct", "true"), ("byte-size", "0")]).shape.direct);
        let config = read(&[("user", "12345:678"), ("byte-size", "20")]);
        assert_eq!(config.shape.identity, Some(Credentials { user: 12_345, group: 678 }));
        assert_eq!(config.shape.io.unwrap().char_bytes, 20 << 20);
        let config = read(&[ROOT, ("number", "1:-1"), ("csv-version", "1.96")]);
        assert_eq!(config.shape.files.unwrap().kind, FileKind::HardLinks);
        assert_eq!(config.output_options.label.csv, CsvVersion::Short("1.96"));
    }
}
