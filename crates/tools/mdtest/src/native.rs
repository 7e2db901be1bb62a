//! Conversion of native settings to the shape of a run.

use treering_script::{ConfigError, RunRequest, Settings};

use super::options::NativeOptions;
use super::shape::{EnabledTests, FileData, ItemOrder, RunShape};
use super::tree::DirectoryTree;
use treering_kit::ranks::worker_kind;

/// Largest accepted number of directories in a tree; more must be a mistake.
const DIRECTORIES_MAX: u64 = 100_000_000;

/// Number of directories of a tree, within the limit.
pub(super) fn directories(tree: &DirectoryTree) -> Result<u64, ConfigError> {
    tree.directories().filter(|&count| count <= DIRECTORIES_MAX).ok_or_else(|| {
        let DirectoryTree { branch, depth, .. } = tree;
        ConfigError::new(format!(
            "--depth {depth} and --branch {branch} give more than {DIRECTORIES_MAX} directories"
        ))
        .hint("give fewer levels, or fewer directories in each")
    })
}

/// Shape and request of native settings.
pub(super) fn native(settings: &Settings) -> Result<(RunShape, RunRequest), ConfigError> {
    let mut options = NativeOptions::read(settings)?;
    let tree = DirectoryTree {
        branch: options.branch,
        depth: options.depth,
        leaves_only: options.leaf_only,
    };
    directories(&tree)?;
    let per_directory = per_directory(settings, &options, &tree)?;
    let shift = options.shift.unwrap_or(u64::from(options.workers > 1));
    let read_bytes = options.read_size.unwrap_or(options.write_size);
    refuse_contradictions(&options, read_bytes)?;
    let (dirs, files) = (options.only != "files", options.only != "dirs");
    let shape = RunShape {
        ranks: options.workers,
        iterations: options.iterations,
        tree,
        per_directory,
        stride: shift,
        own_trees: options.own_trees,
        dirs,
        files,
        acts: EnabledTests { create: true, stat: true, rename: true, read: true, remove: true },
        data: FileData {
            write_bytes: options.write_size,
            read_bytes,
            fsync: options.sync_file,
            ..FileData::default()
        },
        sync_each_test: options.sync_each_test,
        wall_seconds: options.stonewall,
        order: if options.order == "random" {
            ItemOrder::Random(options.seed)
        } else {
            ItemOrder::Sequential
        },
        cold: options.drop_caches == "each",
        workers: worker_kind(options.worker_kind),
        ..RunShape::default()
    };
    options.shift = Some(shift);
    options.read_size = Some(read_bytes);
    options.items = Some(shape.items_per_tree());
    options.items_per_dir = Some(per_directory);
    Ok((shape, RunRequest::native(options.parameters())))
}

/// Items of a worker in each directory that holds any.
fn per_directory(
    settings: &Settings,
    options: &NativeOptions,
    tree: &DirectoryTree,
) -> Result<u64, ConfigError> {
    if let Some(each) = options.items_per_dir {
        // Recorded parameters name both options, which then agree.
        let item_count = each.saturating_mul(tree.holders());
        if settings.text("items").is_some() && options.items != Some(item_count) {
            return Err(ConfigError::new("--items and --items-per-dir exclude each other")
                .hint(format!("--items-per-dir {each} makes {item_count} items in this tree")));
        }
        return Ok(each);
    }
    let (items, holders) = (options.items.unwrap_or(0), tree.holders());
    if items < holders {
        let message = format!("--items: {items} items for {holders} directories that hold items");
        return Err(ConfigError::new(message).hint(format!("give at least {holders}")));
    }
    Ok(items / holders)
}

fn refuse_contradictions(options: &NativeOptions, read_bytes: u32) -> Result<(), ConfigError> {
    if read_bytes > options.write_size {
        let message =
            format!("--read-size: {read_bytes} bytes of files of {} bytes", options.write_size);
        return Err(ConfigError::new(message).hint("give as many to --write-size"));
    }
    if options.sync_file && options.write_size == 0 {
        return Err(
            ConfigError::new("--sync-file: nothing is written").hint("give --write-size as well")
        );
    }
    if options.stonewall.is_some() && options.depth > 0 {
        return Err(ConfigError::new("--stonewall goes with one directory only, not with a tree")
            .hint("leave --depth out"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::native;
    use treering_script::Settings;

    fn parsed(words: &str) -> Result<super::RunShape, String> {
        let pairs = words.split_whitespace().map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, "true"));
            (name.to_owned(), value.to_owned())
        });
        let result = native(&Settings::new(pairs.collect()));
        result.map(|(shape, _)| shape).map_err(|error| error.message)
    }

    #[test]
    fn shift_defaults_to_1_with_several_workers() {
        assert_eq!(parsed("").unwrap().stride, 0);
        assert_eq!(parsed("workers=4").unwrap().stride, 1);
        assert_eq!(parsed("workers=4 shift=0").unwrap().stride, 0);
    }

    #[test]
    fn recorded_parameters_are_valid_settings() {
        for words in [
            "",
            "workers=2 depth=2 branch=3 items=1000",
            "items-per-dir=20 depth=1 branch=4 leaf-only",
        ] {
            let pairs = words.split_whitespace().map(|word| {
                let (name, value) = word.split_once('=').unwrap_or((word, "true"));
                (name.to_owned(), value.to_owned())
            });
            let (_, request) = native(&Settings::new(pairs.collect())).unwrap();
            let (_, again) = native(&Settings::new(request.parameters.clone())).unwrap();
            assert_eq!(request, again);
        }
    }

    #[test]
    fn contradictory_settings_are_refused() {
        for (words, message) in [
            ("depth=2 branch=10 items=5", "--items: 5 items for 111 directories that hold items"),
            ("items=5 items-per-dir=6", "--items and --items-per-dir exclude each other"),
            ("read-size=1", "--read-size: 1 bytes of files of 0 bytes"),
            ("stonewall=1 depth=1", "--stonewall goes with one directory only, not with a tree"),
            ("sync-file", "--sync-file: nothing is written"),
        ] {
            assert_eq!(parsed(words).unwrap_err(), message);
        }
        assert!(parsed("depth=200 branch=1000").unwrap_err().contains("more than 100000000"));
    }
}
