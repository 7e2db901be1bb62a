//! Recording of a dataset from trees on disk: one to four directories, and optionally a build
//! command between two scans. Only names, kinds and sizes are recorded, no location of the trees.

use std::path::Path;

use treering_script::{NameId, NamesBuilder};

use crate::order::{ranks, sorted_list, walk_order};
pub use crate::record_error::RecordError;
use crate::scan::{ScannedTree, scan};
use crate::{Dataset, FileList, OmittedEntries, PathSelection, StateSet, TreeState, build_command};

/// Input of a recording.
///
/// Only the clean tree is required. Without a patched tree, patched equals clean; without a
/// compiled one, compiled equals clean. If only the patched compiled tree is missing, it is derived
/// from the patched tree without the files that the build removed and with those it added.
#[derive(Clone, Debug)]
pub struct RecordingInput<'a> {
    /// Name of the dataset.
    pub name: &'a str,
    /// Description of the origin.
    pub about: &'a str,
    /// Directory of the clean tree.
    pub clean: &'a Path,
    /// Directory of the clean tree of the later version.
    pub patched: Option<&'a Path>,
    /// Directory of a built copy of the clean tree.
    pub compiled: Option<&'a Path>,
    /// Directory of a built copy of the patched tree.
    pub patched_compiled: Option<&'a Path>,
    /// Shell command that builds in the clean and in the patched tree, each scanned before and
    /// after.
    pub build: Option<&'a str>,
    /// Part of the trees to record.
    pub only: PathSelection,
}

/// Result of recording.
#[derive(Debug)]
pub struct RecordingResult {
    /// Recorded dataset.
    pub dataset: Dataset,
    /// Entries left out.
    pub counters: Vec<OmittedEntries>,
}

/// Records a dataset. The output of a build command goes to `output`.
///
/// # Errors
/// When a tree cannot be scanned or kept, or the build command fails.
pub fn record(
    recording: &RecordingInput<'_>,
    output: &mut dyn FnMut(&[u8]),
) -> Result<RecordingResult, RecordError> {
    let built = recording.compiled.is_some() || recording.patched_compiled.is_some();
    if recording.build.is_some() && built {
        return Err(RecordError::BuildAndCompiled);
    }
    let mut names = NamesBuilder::default();
    let mut scan = |root: &Path| scan(root, &recording.only, &mut names);
    let mut build = |directory: &Path, scan: &mut dyn FnMut(&Path) -> Result<_, _>| {
        let Some(command) = recording.build else { return Ok(None) };
        run_build(command, directory, output)?;
        scan(directory).map(Some)
    };
    let clean = scan(recording.clean)?;
    if clean.files.is_empty() {
        return Err(RecordError::NoFiles { root: recording.clean.to_owned() });
    }
    let patched = recording.patched.map(&mut scan).transpose()?;
    let compiled = match recording.compiled {
        Some(root) => Some(scan(root)?),
        None => build(recording.clean, &mut scan)?,
    };
    let patched_compiled = match (recording.patched_compiled, recording.patched) {
        (Some(root), _) => Some(scan(root)?),
        (None, Some(root)) => build(root, &mut scan)?,
        (None, None) => None,
    };
    let mut scans = [Some(clean), patched, compiled, patched_compiled];
    let counters = scans.iter_mut().flatten().flat_map(|scan| std::mem::take(&mut scan.counters));
    let counters = counters.collect();
    let states = StateLists::new(scans, names.len());
    let dataset = states.dataset(recording, names);
    check_prefixes(&recording.only, &dataset)?;
    Ok(RecordingResult { dataset, counters })
}

fn run_build(
    command: &str,
    directory: &Path,
    output: &mut dyn FnMut(&[u8]),
) -> Result<(), RecordError> {
    let status = build_command::run(command, directory, output)
        .map_err(|source| RecordError::Build { directory: directory.to_owned(), source })?;
    if !status.success() {
        return Err(RecordError::BuildFailed { directory: directory.to_owned(), status });
    }
    Ok(())
}

/// Refuses prefixes without any file, which are probably misspelt.
fn check_prefixes(only: &PathSelection, dataset: &Dataset) -> Result<(), RecordError> {
    let mut path = Vec::new();
    let lost = only.without_match(|path_prefix| {
        let files = TreeState::ALL.into_iter().flat_map(|state| dataset.list(state).iter());
        let marks = dataset.links.iter().chain(&dataset.empty_directories);
        files.map(|file| file.0).chain(marks.map(|mark| mark.0)).any(|id| {
            path.clear();
            dataset.names.write_path(id, &mut path);
            path_prefix.covers(&path)
        })
    });
    match lost.into_iter().next() {
        Some(prefix) => Err(RecordError::NothingBelow { prefix }),
        None => Ok(()),
    }
}

/// Lists of the four states; those that were not scanned are derived.
struct StateLists {
    files: [FileList; 4],
    links: Vec<StateSet>,
    empty_directories: Vec<StateSet>,
}

impl StateLists {
    fn new(scans: [Option<ScannedTree>; 4], names: usize) -> Self {
        let [clean, patched, compiled, patched_compiled] = scans;
        let is_derived = patched_compiled.is_none();
        let clean = clean.unwrap_or_default();
        let copy = |scan: Option<ScannedTree>, of: &ScannedTree| match scan {
            Some(scan) => scan,
            None => ScannedTree {
                files: of.files.clone(),
                links: of.links.clone(),
                empty_directories: of.empty_directories.clone(),
                counters: Vec::new(),
            },
        };
        let patched = copy(patched, &clean);
        let compiled = copy(compiled, &clean);
        let mut trees = [clean, patched, compiled, patched_compiled.unwrap_or_default()];
        let mut links = marks(trees.each_ref().map(|tree| tree.links.as_slice()), names);
        let mut empty =
            marks(trees.each_ref().map(|tree| tree.empty_directories.as_slice()), names);
        if is_derived {
            trees[TreeState::PatchedCompiled.index()].files = derived_files(&trees, names);
            for states in links.iter_mut().chain(&mut empty) {
                if is_in_patched_compiled(*states) {
                    *states = states.with(TreeState::PatchedCompiled);
                }
            }
        }
        Self { files: trees.map(|tree| tree.files), links, empty_directories: empty }
    }

    fn dataset(self, recording: &RecordingInput<'_>, names: NamesBuilder) -> Dataset {
        let names = names.build();
        let order = walk_order(&names);
        let ranks = ranks(&order);
        let marked = |marks: &[StateSet]| {
            let marks = order.iter().map(|id| (*id, marks[id.index()]));
            marks.filter(|mark| !mark.1.is_empty()).collect()
        };
        let (links, empty_directories) = (marked(&self.links), marked(&self.empty_directories));
        let lists = self.files.map(|list| sorted_list(list, &ranks));
        Dataset {
            about: recording.about.to_owned(),
            links,
            empty_directories,
            ..Dataset::from_lists(recording.name, names, lists)
        }
    }
}

/// States in which each name is listed.
fn marks(lists: [&[NameId]; 4], names: usize) -> Vec<StateSet> {
    let mut marks = vec![StateSet::default(); names];
    for (state, list) in TreeState::ALL.into_iter().zip(lists) {
        for id in list {
            marks[id.index()] = marks[id.index()].with(state);
        }
    }
    marks
}

/// Derives membership in the patched compiled tree: patched files, without those the build removed,
/// and with those it added.
fn is_in_patched_compiled(states: StateSet) -> bool {
    let clean = states.contains(TreeState::Unpatched);
    let compiled = states.contains(TreeState::UnpatchedCompiled);
    let patched = states.contains(TreeState::Patched);
    (patched && (compiled || !clean)) || (compiled && !clean)
}

/// Derives the patched compiled list if it was not scanned. Sizes are the patched tree's where it
/// has the file.
fn derived_files(trees: &[ScannedTree; 4], names: usize) -> FileList {
    let mut files = vec![StateSet::default(); names];
    for state in TreeState::ALL {
        for (id, _) in trees[state.index()].files.iter() {
            files[id.index()] = files[id.index()].with(state);
        }
    }
    let is_in = |file: &(NameId, u64)| is_in_patched_compiled(files[file.0.index()]);
    let is_new = |file: &(NameId, u64)| !files[file.0.index()].contains(TreeState::Patched);
    let patched = trees[TreeState::Patched.index()].files.iter();
    let compiled = trees[TreeState::UnpatchedCompiled.index()].files.iter();
    let mut derived = FileList::default();
    for (id, size) in patched.filter(is_in).chain(compiled.filter(is_new).filter(is_in)) {
        derived.push(id, size);
    }
    derived
}
