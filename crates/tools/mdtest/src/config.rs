//! Conversion of a classic command line to the shape of a run, with the original's error messages.

use std::path::PathBuf;

use treering_script::{ConfigError, RankPlacement, RunRequest, Settings};

use super::native::directories;
use super::options::{ClassicOptions, only_posix};
use super::shape::{ClassicCompat, EnabledTests, FileData, ItemOrder, PhaseSettings, RunShape};
use super::tree::DirectoryTree;
use treering_kit::ranks::worker_kind;
use treering_kit::settings::{self, packet_type, refuse, status_number};

/// Classic command line: the shape, and the options beyond it.
#[derive(Clone, Debug)]
pub(super) struct ClassicConfig {
    pub(super) shape: RunShape,
    pub(super) options: ClassicOptions,
    pub(super) dirs: Vec<PathBuf>,
    pub(super) request: RunRequest,
    pub(super) nodes: RankPlacement,
    /// Per rank: true if it is on the machine of rank 0.
    pub(super) on_first: Vec<bool>,
}

impl ClassicConfig {
    pub(super) fn read(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let words: Vec<&str> =
            options.dir.split(['@', '\n']).filter(|word| !word.is_empty()).collect();
        let dirs: Vec<PathBuf> = words.iter().map(PathBuf::from).collect();
        if dirs.is_empty() {
            return refuse("-d: no directory is named");
        }
        if !options.others.api.eq_ignore_ascii_case("posix") {
            return refuse(format!("-a {}: {}", options.others.api, only_posix()));
        }
        let acts = enabled_tests(&options);
        validate(&options, &acts, dirs.len())?;
        options.ranks = number_of_tasks(&options)?;
        let shape = shape(settings, &mut options, acts, dirs.len())?;
        let mut parameters = settings::directories(&dirs);
        parameters.extend(options.parameters());
        let nodes = settings.machine.nodes(shape.ranks);
        let on = |rank| settings.machine.is_on_first(rank);
        let on_first = (0..shape.ranks).map(on).collect();
        let request = RunRequest::classic(parameters);
        Ok(Self { shape, options, dirs, request, nodes, on_first })
    }
}

impl ClassicConfig {
    /// True if settings and tests are printed, too.
    pub(super) fn is_verbose(&self) -> bool {
        let printing = &self.options.printing;
        printing.verbose || printing.verbosity.is_some_and(|level| level > 0)
    }

    /// Settings as the original prints them, in its order.
    pub(super) fn printed_settings(&self) -> Vec<(&'static str, String)> {
        let Self { shape, options, .. } = self;
        let yes = |is: bool| if is { "True" } else { "False" }.to_owned();
        let mut settings = vec![
            ("api", options.others.api.clone()),
            ("barriers", yes(true)),
            ("collective_creates", yes(shape.collective)),
            ("create_only", yes(shape.acts.create)),
            ("dirpath(s)", String::new()),
        ];
        settings.extend(self.dirs.iter().map(|dir| ("dirpath", dir.display().to_string())));
        settings.extend([
            ("dirs_only", yes(shape.dirs)),
            ("read_bytes", shape.data.read_bytes.to_string()),
            ("read_only", yes(shape.acts.read)),
            ("first", options.others.first.to_string()),
            ("files_only", yes(shape.files)),
            ("iterations", shape.iterations.to_string()),
            ("items_per_dir", options.items_per_dir.to_string()),
            ("last", options.others.last.to_string()),
            ("leaf_only", yes(options.leaf_only)),
            ("items", options.items.to_string()),
            ("nstride", options.shift.to_string()),
            ("pre_delay", options.others.pre_delay.to_string()),
            // The original prints another setting under this name.
            ("remove_only", yes(options.leaf_only)),
            ("random_seed", options.random_seed.to_string()),
            ("stride", options.others.stride.to_string()),
            ("shared_file", yes(shape.shared_file)),
            ("time_unique_dir_overhead", yes(options.others.time_unique)),
            ("stone_wall_timer_seconds", options.stonewall.to_string()),
            ("stat_only", yes(shape.acts.stat)),
            ("unique_dir_per_task", yes(shape.own_trees)),
            ("write_bytes", shape.data.write_bytes.to_string()),
            ("sync_file", yes(shape.data.fsync)),
            ("call_sync", yes(shape.sync_each_test)),
            ("depth", options.depth.to_string()),
            ("make_node", u8::from(options.others.mknod).to_string()),
        ]);
        settings
    }
}

/// Selected tests; all if none is selected.
fn enabled_tests(options: &ClassicOptions) -> EnabledTests {
    let tests = &options.tests;
    let none_selected = !(tests.only_create
        || tests.only_stat
        || tests.only_read
        || tests.only_remove
        || tests.rename_dirs);
    EnabledTests {
        create: none_selected || tests.only_create,
        stat: none_selected || tests.only_stat,
        rename: none_selected || tests.rename_dirs,
        read: none_selected || tests.only_read,
        remove: none_selected || tests.only_remove,
    }
}

/// Checks the options that the original refuses, in its order, and the limits of this
/// implementation.
fn validate(options: &ClassicOptions, acts: &EnabledTests, dirs: usize) -> Result<(), ConfigError> {
    let ClassicOptions { branch, collective, shared_file, unique_dir, data, .. } = options;
    let walls = options.stonewall > 0;
    let several = dirs > 1;
    let refused = [
        (
            (walls && *branch > 1) || options.others.no_barriers > 0,
            format!(
                "Error, stone wall timer does only work with a branch factor <= 1 (current is \
                 {branch}) and with barriers\n"
            ),
        ),
        (*shared_file && *collective, "-c not compatible with -S".to_owned()),
        (several && *collective, "-c not compatible with multiple test directories".to_owned()),
        (*unique_dir && *shared_file, "-u not compatible with -S".to_owned()),
        (
            several && options.shift > 0,
            "cannot have multiple directory paths with -N strides between neighbor tasks"
                .to_owned(),
        ),
        (
            several && !*unique_dir,
            "shared directory mode is not compatible with multiple directory paths".to_owned(),
        ),
        (
            dirs > usize::from(options.ranks),
            "cannot have more directory paths than MPI tasks".to_owned(),
        ),
        (
            *branch < 1 && options.depth > 0,
            "branch factor must be greater than or equal to zero".to_owned(),
        ),
        (
            options.items > 0 && options.items_per_dir > 0 && *unique_dir,
            "only specify the number of items or the number of items per directory".to_owned(),
        ),
        (
            options.items > 0
                && options.items_per_dir > 0
                && !options.items.is_multiple_of(options.items_per_dir),
            "items must be a multiple of items per directory".to_owned(),
        ),
        (options.others.mknod && data.write_bytes > 0, "-k not compatible with -w".to_owned()),
        (
            data.verify_read && !acts.read,
            "Verify read requires that the read test is used".to_owned(),
        ),
        (
            data.verify_read && data.read_bytes == 0,
            "Verify read requires that read bytes is > 0".to_owned(),
        ),
        (
            acts.create && acts.read && data.read_bytes > data.write_bytes,
            "When writing and reading files, read bytes must be smaller than write bytes"
                .to_owned(),
        ),
    ];
    if let Some((_, message)) = refused.into_iter().find(|(is_refused, _)| *is_refused) {
        return refuse(message);
    }
    let spreads =
        options.items > 0 && options.items_per_dir > 0 && options.items != options.items_per_dir;
    if walls && (options.depth > 0 || spreads || *collective) {
        return Err(ConfigError::new(
            "-W goes with one directory only: not with -z, nor with both -n and -I, nor with -c",
        ));
    }
    Ok(())
}

fn shape(
    settings: &Settings,
    options: &mut ClassicOptions,
    acts: EnabledTests,
    dirs: usize,
) -> Result<RunShape, ConfigError> {
    let tree = DirectoryTree {
        branch: options.branch,
        depth: options.depth,
        leaves_only: options.leaf_only,
    };
    directories(&tree)?;
    let both = options.items > 0 && options.items_per_dir > 0;
    let seconds = i32::try_from(settings.started_unix_ms / 1000).unwrap_or(0);
    let now = u64::try_from(seconds).unwrap_or(0);
    let data_seed = data_seed(options)?.unwrap_or(seconds);
    options.data.data_offset = Some(data_seed.to_string());
    if options.random && options.random_seed == 0 {
        options.random_seed = now;
    }
    let packet = packet_type(&options.data.data_packet_type)?;
    let word = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    // Without a selection, both directories and files are tested.
    let neither = !options.tests.only_dirs && !options.tests.only_files;
    Ok(RunShape {
        ranks: options.ranks,
        roots: u16::try_from(dirs).unwrap_or(u16::MAX),
        iterations: options.iterations,
        per_directory: if options.items_per_dir > 0 {
            options.items_per_dir
        } else {
            options.items / tree.holders()
        },
        loops: if both { options.items / options.items_per_dir } else { 1 },
        tree,
        stride: options.shift,
        own_trees: options.unique_dir,
        shared_file: options.shared_file,
        collective: options.collective,
        dirs: (neither || options.tests.only_dirs) && !options.shared_file,
        files: neither || options.tests.only_files,
        acts,
        data: FileData {
            write_bytes: options.data.write_bytes,
            read_bytes: options.data.read_bytes,
            fsync: options.data.sync_file,
            verify_write: options.data.verify_write,
            verify_read: options.data.verify_read,
        },
        sync_each_test: options.data.call_sync,
        wall_seconds: Some(options.stonewall).filter(|&seconds| seconds > 0),
        made_before: made_before(settings, options, &acts)?,
        // A seed without -R is enough for the original too.
        order: match options.random_seed {
            0 => ItemOrder::Sequential,
            seed => ItemOrder::Original(word(seed)),
        },
        cold: false,
        workers: worker_kind(options.worker_kind),
        around: around(options),
        as_original: Some(ClassicCompat { packet, data_seed: data_seed.cast_unsigned() }),
    })
}

/// Settings around the tests.
fn around(options: &ClassicOptions) -> PhaseSettings {
    PhaseSettings {
        direct: options.data.direct,
        makes_nodes: options.others.mknod,
        delay_seconds: options.others.pre_delay,
        before: options.others.run_cmd_before_phase.clone(),
        after: options.others.run_cmd_after_phase.clone(),
        keeps_times: options.printing.save_per_op_data_csv.is_some(),
    }
}

/// Seed of the data; `None` for that of the time, which -1 stands for.
fn data_seed(options: &ClassicOptions) -> Result<Option<i32>, ConfigError> {
    let Some(text) = &options.data.data_offset else { return Ok(None) };
    Ok(Some(settings::data_seed(text)?).filter(|seed| *seed != -1))
}

/// Number of tasks of the run, of which -f, -l and -s must give one.
fn number_of_tasks(options: &ClassicOptions) -> Result<u16, ConfigError> {
    let (first, last) = (options.others.first, options.others.last);
    let ranks = u64::from(options.ranks);
    if last == 0 {
        return Ok(options.ranks);
    }
    if first > last {
        return refuse("process number: first > last doesn't make sense");
    }
    if last > ranks {
        return refuse("process number: last > number of processes doesn't make sense");
    }
    if first + options.others.stride <= last {
        let message = format!("-f {first} -l {last}: these are several numbers of tasks");
        return Err(ConfigError::new(message)
            .hint("one number is measured in a run: give the same number to both, and repeat it"));
    }
    Ok(u16::try_from(first).unwrap_or(options.ranks))
}

/// Number of items from a status file; only if nothing is created.
fn made_before(
    settings: &Settings,
    options: &ClassicOptions,
    acts: &EnabledTests,
) -> Result<Option<u64>, ConfigError> {
    let Some(name) = options.stonewall_file.as_ref().filter(|_| !acts.create) else {
        return Ok(None);
    };
    status_number(settings, name, |path, text| {
        format!("-x {path}: '{text}' is not a number of items")
    })
}

#[cfg(test)]
mod tests {
    use super::ClassicConfig;
    use crate::shape::IterationStep;
    use treering_script::Settings;

    fn parsed(words: &str) -> Result<ClassicConfig, String> {
        let pairs = words.split_whitespace().map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, "true"));
            (name.to_owned(), value.to_owned())
        });
        ClassicConfig::read(&Settings::new(pairs.collect())).map_err(|error| error.message)
    }

    #[test]
    fn invalid_options_get_the_originals_messages() {
        for (words, message) in [
            (
                "no-barriers=1",
                "Error, stone wall timer does only work with a branch factor <= 1 (current is 1) \
                 and with barriers\n",
            ),
            ("shared-file collective", "-c not compatible with -S"),
            ("shared-file unique-dir", "-u not compatible with -S"),
            (
                "dir=a@b ranks=2",
                "shared directory mode is not compatible with multiple directory paths",
            ),
            ("dir=a@b unique-dir", "cannot have more directory paths than MPI tasks"),
            ("items=10 items-per-dir=3", "items must be a multiple of items per directory"),
            ("verify-read", "Verify read requires that read bytes is > 0"),
            (
                "read-bytes=1",
                "When writing and reading files, read bytes must be smaller than write bytes",
            ),
            ("branch=0 depth=1", "branch factor must be greater than or equal to zero"),
            ("mknod write-bytes=1", "-k not compatible with -w"),
            ("first=3 last=2", "process number: first > last doesn't make sense"),
            ("last=2", "process number: last > number of processes doesn't make sense"),
            ("last=4 ranks=4", "-f 1 -l 4: these are several numbers of tasks"),
            ("data-offset=x", "-G: 'x' is not a whole number of 32 bits"),
        ] {
            assert_eq!(parsed(words).unwrap_err(), message, "{words}");
        }
        assert!(parsed("api=DFS").unwrap_err().starts_with("-a DFS: only POSIX"));
    }

    #[test]
    fn one_number_of_tasks_may_be_less_than_there_are() {
        assert_eq!(parsed("first=2 last=3 stride=2 ranks=4").unwrap().shape.ranks, 2);
        assert_eq!(parsed("first=3 ranks=4").unwrap().shape.ranks, 4);
    }

    #[test]
    fn seeds_of_the_data_may_be_negative() {
        let seed = |words| parsed(words).unwrap().shape.as_original.unwrap().data_seed;
        assert_eq!(seed("data-offset=-499298488"), 3_795_668_808);
        assert_eq!(seed("data-offset=-1"), 0, "the time of the test is 0");
    }

    #[test]
    fn items_are_divided_among_directories_and_tests_among_trees() {
        let shape = parsed("items=20 items-per-dir=5 ranks=4").unwrap().shape;
        assert_eq!((shape.loops, shape.items_per_tree(), shape.items()), (4, 5, 20));
        let shape = parsed("items=100 depth=2 branch=3 leaf-only").unwrap().shape;
        assert_eq!((shape.per_directory, shape.items()), (11, 99));
        let shape = parsed("items=9 only-create only-remove only-files").unwrap().shape;
        assert_eq!(shape.parts().len(), 4);
        assert!(matches!(shape.parts()[0], IterationStep::MakeTrees));
        let shape = parsed("items=9 ranks=4 shift=1 unique-dir").unwrap().shape;
        assert_eq!(shape.owner(3, crate::shape::ItemOperation::Remove), 2);
        assert_eq!(shape.tree_of(2), Some(3));
    }
}
