//! Statistics of a dataset, which `dataset show` presents.

use treering_model::{
    DatasetReport, LargeFile, ListCount, ListDifference, SizeBucket, SizeQuantiles, TreeStateReport,
};
use treering_script::{NameId, NameTree, NodeKind};

use crate::{Dataset, FileList, TreeState};

/// Number of a list's largest files that are named.
const LARGEST: usize = 10;

/// Statistics of a dataset.
pub fn dataset_report(dataset: &Dataset) -> DatasetReport {
    let names = dataset.names.len();
    let sizes = TreeState::ALL.map(|state| sizes_by_name(dataset.list(state), names));
    let [clean, patched, compiled, patched_compiled] = &sizes;
    let products = without(compiled, clean);
    let patched_products = without(patched_compiled, patched);
    let paths = PathLengths::new(&dataset.names);
    DatasetReport {
        name: dataset.name.clone(),
        about: dataset.about.clone(),
        states: TreeState::ALL.map(|state| state_report(dataset, &paths, state)),
        patch: difference(clean, patched),
        recompile: difference(&products, &patched_products),
        products: count(products.iter().copied().flatten()),
        patched_products: count(patched_products.iter().copied().flatten()),
    }
}

/// Sizes of the files of a list, by the name's id.
fn sizes_by_name(list: &FileList, names: usize) -> Vec<Option<u64>> {
    let mut sizes = vec![None; names];
    for (id, size) in list.iter() {
        sizes[id.index()] = Some(size);
    }
    sizes
}

fn without(sizes: &[Option<u64>], others: &[Option<u64>]) -> Vec<Option<u64>> {
    let pairs = sizes.iter().zip(others);
    pairs.map(|(size, other)| size.filter(|_| other.is_none())).collect()
}

fn count(sizes: impl Iterator<Item = u64>) -> ListCount {
    let mut count = ListCount::default();
    sizes.for_each(|size| count.add(size));
    count
}

fn difference(first: &[Option<u64>], second: &[Option<u64>]) -> ListDifference {
    let mut difference = ListDifference::default();
    for pair in first.iter().zip(second) {
        match pair {
            (Some(a), Some(b)) if a == b => difference.same.add(*b),
            (Some(_), Some(b)) => difference.changed.add(*b),
            (None, Some(b)) => difference.new.add(*b),
            (Some(a), None) => difference.removed.add(*a),
            (None, None) => {}
        }
    }
    difference
}

fn state_report(dataset: &Dataset, paths: &PathLengths, state: TreeState) -> TreeStateReport {
    let (names, list) = (&*dataset.names, dataset.list(state));
    let here = |marks: &[(NameId, crate::StateSet)]| {
        marks.iter().filter(|mark| mark.1.contains(state)).map(|mark| mark.0).collect()
    };
    let empty: Vec<NameId> = here(&dataset.empty_directories);
    let links: Vec<NameId> = here(&dataset.links);
    let mut sizes: Vec<u64> = list.iter().map(|file| file.1).collect();
    sizes.sort_unstable();
    let listed = || list.iter().map(|file| file.0);
    let kept = || listed().chain(links.iter().copied()).chain(empty.iter().copied());
    TreeStateReport {
        state: state.label(),
        count: ListCount { files: list.len() as u64, bytes: list.bytes() },
        directories: directories_above(names, kept()) + empty.len() as u64,
        empty_directories: empty.len() as u64,
        links: links.len() as u64,
        empty_files: sizes.partition_point(|size| *size == 0) as u64,
        top_files: listed().filter(|id| names.parent(*id) == NameId::ROOT).count() as u64,
        depth: listed().map(|id| paths.depth(names, id)).max().unwrap_or(0),
        longest_path_bytes: listed().map(|id| paths.bytes(names, id)).max().unwrap_or(0),
        sizes: quantiles(&sizes, list.bytes()),
        histogram: histogram(&sizes),
        largest: largest(names, list),
    }
}

/// Number of directories below the root that contain any of these names, at any depth.
fn directories_above(names: &NameTree, listed: impl Iterator<Item = NameId>) -> u64 {
    let mut seen = vec![false; names.len()];
    seen[NameId::ROOT.index()] = true;
    let mut count = 0;
    for id in listed {
        let mut directory = names.parent(id);
        while !seen[directory.index()] {
            seen[directory.index()] = true;
            count += 1;
            directory = names.parent(directory);
        }
    }
    count
}

/// Depths and lengths of the paths of all directories, from which those of files follow in one
/// step.
struct PathLengths {
    /// Depth and length in bytes, by id; a path has at most 250 components and 4000 bytes.
    directories: Vec<(u16, u16)>,
}

impl PathLengths {
    fn new(names: &NameTree) -> Self {
        let mut directories = vec![(0, 0); names.len()];
        let mut pending = vec![NameId::ROOT];
        while let Some(directory) = pending.pop() {
            let (depth, bytes) = directories[directory.index()];
            for id in names.children(directory).filter(|id| names.kind(*id) == NodeKind::Directory)
            {
                let length = u16::try_from(names.name(id).count_bytes()).unwrap_or(u16::MAX);
                directories[id.index()] = (depth + 1, bytes + length + 1);
                pending.push(id);
            }
        }
        Self { directories }
    }

    fn depth(&self, names: &NameTree, id: NameId) -> usize {
        usize::from(self.directories[names.parent(id).index()].0) + 1
    }

    fn bytes(&self, names: &NameTree, id: NameId) -> usize {
        usize::from(self.directories[names.parent(id).index()].1) + names.name(id).count_bytes()
    }
}

fn quantiles(sorted: &[u64], sum: u64) -> Option<SizeQuantiles> {
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let at = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
    Some(SizeQuantiles {
        min_bytes: min,
        p10_bytes: at(10),
        p25_bytes: at(25),
        p50_bytes: at(50),
        p75_bytes: at(75),
        p90_bytes: at(90),
        p99_bytes: at(99),
        max_bytes: max,
        mean_bytes: sum as f64 / sorted.len() as f64,
    })
}

fn histogram(sorted: &[u64]) -> Vec<SizeBucket> {
    let bucket = |size: u64| (u64::BITS - size.leading_zeros()) as usize;
    let buckets = sorted.last().map_or(0, |largest| bucket(*largest) + 1);
    let start = |index: usize| if index == 0 { 0 } else { 1 << (index - 1) };
    let empty = |index| SizeBucket { from_bytes: start(index), count: ListCount::default() };
    let mut histogram: Vec<SizeBucket> = (0..buckets).map(empty).collect();
    for size in sorted {
        histogram[bucket(*size)].count.add(*size);
    }
    histogram
}

/// Largest files in descending order, equal ones in the order of the list.
fn largest(names: &NameTree, list: &FileList) -> Vec<LargeFile> {
    let mut largest: Vec<(NameId, u64)> = Vec::with_capacity(LARGEST + 1);
    for (id, size) in list.iter() {
        if largest.len() == LARGEST && largest[LARGEST - 1].1 >= size {
            continue;
        }
        let place = largest.partition_point(|file| file.1 >= size);
        largest.insert(place, (id, size));
        largest.truncate(LARGEST);
    }
    let named = |(id, bytes)| LargeFile { path: names.display_path(id), bytes };
    largest.into_iter().map(named).collect()
}
