//! Files of a data set as a population: paths and sizes, in the order of a walk.

use std::collections::HashSet;
use std::path::Path;

use treering_datasets::{Dataset, library};
use treering_script::{ConfigError, NodeKind as NameKind, Settings, with_causes};

/// Files of a data set, with their paths and sizes.
#[derive(Debug)]
pub(super) struct SourceTree {
    files: Vec<(String, u64)>,
    directories: u64,
}

impl SourceTree {
    /// Loads a data set by name and takes at most `count` of its files, evenly spaced.
    pub(super) fn load(name: &str, count: u64, settings: &Settings) -> Result<Self, ConfigError> {
        let dataset = library::load(name, &settings.data_dirs)
            .map_err(|error| ConfigError { message: with_causes(&error), hint: error.hint() })?;
        Self::from_dataset(&dataset, count).ok_or_else(|| {
            ConfigError::new(format!("data set '{name}': it has a path that is not UTF-8"))
        })
    }

    fn from_dataset(dataset: &Dataset, count: u64) -> Option<Self> {
        let names = &dataset.names;
        let is_file = |id| names.kind(id) == NameKind::File;
        let listed: Vec<_> = dataset.unpatched.iter().filter(|(id, _)| is_file(*id)).collect();
        let (every, count) = (listed.len() as u64, count.min(listed.len() as u64));
        // Files are taken at equal distances, rounded.
        let taken = |place: u64| place * count / every.max(1);
        let taken = (0u64..).zip(listed).filter(|(place, _)| taken(*place) != taken(*place + 1));
        let path = |id| {
            let mut path = Vec::new();
            names.write_path(id, &mut path);
            String::from_utf8(path).ok()
        };
        let files = taken.map(|(_, (id, bytes))| Some((path(id)?, bytes)));
        let files: Vec<(String, u64)> = files.collect::<Option<_>>()?;
        let directories: HashSet<&Path> =
            files.iter().flat_map(|(path, _)| Path::new(path).ancestors().skip(1)).collect();
        let directories = directories.len() as u64;
        Some(Self { files, directories })
    }

    /// Number of files.
    pub(super) const fn len(&self) -> usize {
        self.files.len()
    }

    /// Total size of the files.
    pub(super) fn bytes(&self) -> u64 {
        self.sizes().sum()
    }

    /// Number of directories, the top included.
    pub(super) const fn directories(&self) -> u64 {
        self.directories
    }

    /// Size of each file, by its number.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.files.iter().map(|(_, bytes)| *bytes)
    }

    /// Path of a file relative to the top.
    pub(super) fn path(&self, number: u64) -> &str {
        let file = usize::try_from(number).ok().and_then(|number| self.files.get(number));
        file.map_or("", |(path, _)| path)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use treering_script::Settings;

    use super::SourceTree;

    #[test]
    fn requested_number_of_files_is_sampled_from_the_whole_tree() {
        let whole_tree =
            SourceTree::load("linux-6.1-small", u64::MAX, &Settings::default()).unwrap();
        let some = SourceTree::load("linux-6.1-small", 1000, &Settings::default()).unwrap();
        assert_eq!(some.len(), 1000);
        assert!(whole_tree.len() > 6000 && whole_tree.bytes() > some.bytes());
        let paths: HashSet<&str> = (0..1000).map(|number| some.path(number)).collect();
        assert_eq!(paths.len(), 1000, "each once");
        let top = |path: &str| path.split('/').next().unwrap_or("").to_owned();
        let tops: HashSet<String> = paths.into_iter().map(top).collect();
        assert!(tops.len() > 8, "{tops:?}");
        assert!(some.directories() > 100 && some.directories() <= whole_tree.directories());
    }
}
