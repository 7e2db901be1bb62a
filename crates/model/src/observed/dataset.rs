//! Statistics of a data set of source trees.

/// Number of files and bytes of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCount {
    /// Number of files.
    pub files: u64,
    /// Sum of the file sizes in bytes.
    pub bytes: u64,
}

impl ListCount {
    /// Adds a file of this size.
    pub fn add(&mut self, size: u64) {
        self.files += 1;
        self.bytes += size;
    }
}

/// Statistics of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetReport {
    /// Name of the dataset.
    pub name: String,
    /// Description of the origin; can be empty.
    pub about: String,
    /// Statistics of the four lists: clean, patched, compiled, patched and compiled.
    pub states: [TreeStateReport; 4],
    /// Changes from clean to patched.
    pub patch: ListDifference,
    /// Changes from compiled to patched compiled, of build products alone.
    pub recompile: ListDifference,
    /// Files that a build adds to the clean tree.
    pub products: ListCount,
    /// Files that a build adds to the patched tree.
    pub patched_products: ListCount,
}

/// Statistics of one list.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeStateReport {
    /// Name of the state that the list describes.
    pub state: &'static str,
    /// Number of files and their bytes.
    pub count: ListCount,
    /// Number of directories below the root, empty ones included.
    pub directories: u64,
    /// Empty directories, included in the directories.
    pub empty_directories: u64,
    /// Number of symbolic links.
    pub links: u64,
    /// Number of empty files.
    pub empty_files: u64,
    /// Number of files directly in the root.
    pub top_files: u64,
    /// Maximum number of components of a file's path; 1 for a file in the root.
    pub depth: usize,
    /// Length in bytes of the longest path of a file.
    pub longest_path_bytes: usize,
    /// Quantiles of the file sizes; `None` without files.
    pub sizes: Option<SizeQuantiles>,
    /// Histogram of file sizes by powers of two, the first bucket for empty files; up to the
    /// largest file.
    pub histogram: Vec<SizeBucket>,
    /// Ten largest files, in descending order.
    pub largest: Vec<LargeFile>,
}

/// Quantiles of file sizes in bytes: for each, the smallest size that this percentage of the files
/// does not exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeQuantiles {
    /// Minimum.
    pub min_bytes: u64,
    /// 10th percentile.
    pub p10_bytes: u64,
    /// 25th percentile.
    pub p25_bytes: u64,
    /// Median.
    pub p50_bytes: u64,
    /// 75th percentile.
    pub p75_bytes: u64,
    /// 90th percentile.
    pub p90_bytes: u64,
    /// 99th percentile.
    pub p99_bytes: u64,
    /// Maximum.
    pub max_bytes: u64,
    /// Arithmetic mean.
    pub mean_bytes: f64,
}

/// Bucket of files with sizes from one power of two to below the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeBucket {
    /// Smallest size of the bucket: 0, 1, 2, 4, 8 …
    pub from_bytes: u64,
    /// Number of files and their bytes.
    pub count: ListCount,
}

/// Path and size of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeFile {
    /// Path with unprintable bytes escaped.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Comparison of two lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListDifference {
    /// Files in both lists with the same size.
    pub same: ListCount,
    /// Files in both lists with different sizes; bytes are those of the second.
    pub changed: ListCount,
    /// Files only in the second list.
    pub new: ListCount,
    /// Files only in the first list.
    pub removed: ListCount,
}
