//! Tree of a fileset: directories with files, or with leaf directories, laid out as by filebench.
//! Names are serial numbers of eight digits within their directory.

use treering_script::Random;

use super::draw::{AttributeAmount, gamma, whole};
use super::plan::{ENTRIES_MAX, FilesetPlan};

/// Largest depth; deeper trees are cut because their paths would be too long.
const DEPTH_MAX: u32 = 60;
/// Number of the fileset's root directory, which holds directories only.
pub(super) const ROOT: u32 = 0;

/// Directory: its parent, its serial number there, and its depth; the root has depth 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) parent: u32,
    pub(super) serial: u32,
    pub(super) depth: u32,
}

/// File or leaf directory: its parent directory, and its serial number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) dir: u32,
    pub(super) serial: u32,
}

/// Sizes of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SizeSource {
    /// Common size of all files.
    All(u64),
    /// Size of each file, by its number.
    Each(Vec<u64>),
}

impl SizeSource {
    /// Size of a file.
    #[inline]
    pub(super) fn bytes(&self, file: u32) -> u64 {
        match self {
            Self::All(bytes) => *bytes,
            Self::Each(sizes) => sizes.get(file as usize).copied().unwrap_or(0),
        }
    }
}

/// Entries of a fileset, existing or not.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FilesetTree {
    /// Directories, parents first; the first is the root.
    pub(super) dirs: Vec<Directory>,
    pub(super) files: Vec<TreeEntry>,
    pub(super) leaves: Vec<TreeEntry>,
    pub(super) sizes: SizeSource,
    /// Total size of the files in bytes.
    pub(super) bytes: u64,
    pub(super) mean_depth: f64,
}

impl FilesetTree {
    /// Draws the tree of a fileset from a seed.
    pub(super) fn new(plan: &FilesetPlan, seed: u64) -> Self {
        let random = Random::for_part(seed, &format!("filebench tree {}", plan.name));
        let mean_width = plan.width.mean();
        let entries = (plan.entries + plan.leafdirs).max(1) as f64;
        // The original divides by the logarithm of 0, and prints a depth of -0.0.
        let mean_depth = if mean_width > 1.0 { entries.ln() / mean_width.ln() } else { -0.0 };
        let depth = plan.depth.as_ref().map(|distribution| distribution.around(mean_depth));
        let mut builder = TreeBuilder { plan, random, mean_depth, depth, tree: Self::empty() };
        builder.tree.mean_depth = mean_depth;
        builder.plant_root();
        let (mut tree, mut random) = (builder.tree, builder.random);
        tree.size(&plan.size, &mut random);
        tree
    }

    fn empty() -> Self {
        let root = Directory { parent: ROOT, serial: 0, depth: 0 };
        Self {
            dirs: vec![root],
            files: Vec::new(),
            leaves: Vec::new(),
            sizes: SizeSource::All(0),
            bytes: 0,
            mean_depth: 0.0,
        }
    }

    fn size(&mut self, size: &AttributeAmount, random: &mut Random) {
        let count = self.files.len();
        if let Some(bytes) = size.fixed() {
            self.sizes = SizeSource::All(bytes);
            self.bytes = bytes.saturating_mul(count as u64);
            return;
        }
        let sizes: Vec<u64> = (0..count).map(|_| size.draw(random)).collect();
        self.bytes = sizes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        self.sizes = SizeSource::Each(sizes);
    }

    /// Appends the serial numbers of the path from the root to a directory.
    pub(super) fn serials(&self, dir: u32, into: &mut Vec<u32>) {
        into.clear();
        let mut at = dir;
        while at != ROOT {
            let directory = self.dirs[at as usize];
            into.push(directory.serial);
            at = directory.parent;
        }
        into.reverse();
    }
}

struct TreeBuilder<'p> {
    plan: &'p FilesetPlan,
    random: Random,
    mean_depth: f64,
    depth: Option<super::draw::ClampedDistribution>,
    tree: FilesetTree,
}

/// Kind of entries in a directory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Files,
    Leaves,
}

impl TreeBuilder<'_> {
    /// Fills the root with directories until there are enough entries.
    fn plant_root(&mut self) {
        for fill in [EntryKind::Files, EntryKind::Leaves] {
            let mut serial = 0;
            while self.wants(fill) {
                serial += 1;
                self.plant(ROOT, self.free_serial(fill, serial), 1);
            }
        }
    }

    fn wants(&self, fill: EntryKind) -> bool {
        if self.tree.dirs.len() as u64 > 2 * ENTRIES_MAX {
            // The fileset needs an excessive number of directories.
            return false;
        }
        match fill {
            EntryKind::Files => (self.tree.files.len() as u64) < self.plan.entries,
            EntryKind::Leaves => (self.tree.leaves.len() as u64) < self.plan.leafdirs,
        }
    }

    fn draw_depth(&mut self) -> f64 {
        if let Some(distribution) = &self.depth {
            return distribution.draw(&mut self.random).trunc();
        }
        let shape = self.plan.shape;
        if shape > 0.0 {
            (gamma(shape, &mut self.random) * self.mean_depth / shape).trunc()
        } else {
            self.mean_depth.trunc()
        }
    }

    fn draw_width(&mut self) -> f64 {
        let shape = self.plan.shape;
        match &self.plan.width {
            AttributeAmount::Drawn(_) => self.plan.width.draw_real(&mut self.random),
            AttributeAmount::Fixed(width) if shape > 0.0 => {
                gamma(shape, &mut self.random) * *width as f64 / shape
            }
            AttributeAmount::Fixed(width) => *width as f64,
        }
    }

    /// Creates a directory with its content.
    fn plant(&mut self, parent: u32, serial: u32, depth: u32) {
        let dir = u32::try_from(self.tree.dirs.len()).unwrap_or(u32::MAX);
        self.tree.dirs.push(Directory { parent, serial, depth });
        let deep = self.draw_depth().max(1.0);
        let width = whole(self.draw_width().max(0.0).ceil()).max(1);
        // The original counts the root as the first level.
        let is_leaf = f64::from(depth) + 1.0 >= deep || depth >= DEPTH_MAX;
        // One pass for each kind: a directory may get files, and then leaf directories.
        for fill in [EntryKind::Files, EntryKind::Leaves] {
            let mut serial = 0;
            while u64::from(serial) < width && self.wants(fill) {
                serial += 1;
                if !is_leaf {
                    self.plant(dir, self.free_serial(fill, serial), depth + 1);
                } else if fill == EntryKind::Files {
                    self.tree.files.push(TreeEntry { dir, serial });
                } else {
                    let serial = self.free_serial(fill, serial);
                    self.tree.leaves.push(TreeEntry { dir, serial });
                }
            }
        }
    }

    /// Next free serial number for leaf directories, and for the directories that hold them.
    fn free_serial(&self, fill: EntryKind, serial: u32) -> u32 {
        const APART: u32 = 50_000_000;
        if fill == EntryKind::Leaves && self.plan.entries > 0 { serial + APART } else { serial }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::draw::AttributeAmount;
    use super::{FilesetPlan, FilesetTree, ROOT, SizeSource};

    fn plan(entries: u64, leafdirs: u64, width: u64) -> FilesetPlan {
        FilesetPlan {
            name: "a".to_owned(),
            path: "/tmp".to_owned(),
            entries,
            leafdirs,
            size: AttributeAmount::Fixed(4096),
            width: AttributeAmount::Fixed(width),
            depth: None,
            shape: 1.5,
            prealloc: Some(100),
            paralloc: false,
            reuse: false,
            trust: false,
            readonly: false,
            writeonly: false,
            deletes: false,
            is_file: false,
            has_width: true,
        }
    }

    #[test]
    fn a_wide_fileset_has_one_directory_of_files() {
        let tree = FilesetTree::new(&plan(10_000, 0, 1_000_000), 1);
        assert_eq!((tree.files.len(), tree.dirs.len()), (10_000, 2));
        assert!((tree.mean_depth - 0.666).abs() < 0.01);
        let mut serials = Vec::new();
        tree.serials(tree.files[9_999].dir, &mut serials);
        assert_eq!(serials, [1]);
        assert_eq!((tree.files[9_999].serial, tree.bytes), (10_000, 40_960_000));
    }

    #[test]
    fn without_a_width_each_file_has_a_directory_of_its_own() {
        let tree = FilesetTree::new(&plan(100, 0, 0), 3);
        assert_eq!((tree.files.len(), tree.dirs.len()), (100, 101));
        assert_eq!(format!("{:.1}", tree.mean_depth), "-0.0", "as the original prints it");
    }

    #[test]
    fn a_narrow_fileset_is_a_tree_with_unique_names() {
        for (entries, leafdirs) in [(10_000, 0), (0, 3_000), (2_000, 2_000)] {
            let tree = FilesetTree::new(&plan(entries, leafdirs, 20), 7);
            assert_eq!(tree.files.len() as u64, entries);
            assert_eq!(tree.leaves.len() as u64, leafdirs);
            let mean = (entries + leafdirs) as f64 / tree.dirs.len() as f64;
            assert!((5.0..40.0).contains(&mean), "{mean}");
            let dirs = tree.dirs.iter().skip(1).map(|dir| (dir.parent, dir.serial));
            let entries = tree.files.iter().chain(&tree.leaves);
            let names: Vec<_> =
                dirs.chain(entries.map(|entry| (entry.dir, entry.serial))).collect();
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
            assert!(tree.files.iter().all(|file| file.dir != ROOT));
            for (number, dir) in tree.dirs.iter().enumerate().skip(1) {
                assert!((dir.parent as usize) < number, "parents come first");
                assert_eq!(dir.depth, tree.dirs[dir.parent as usize].depth + 1);
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_trees() {
        let plan = plan(500, 0, 5);
        assert_eq!(FilesetTree::new(&plan, 3), FilesetTree::new(&plan, 3));
        assert_ne!(FilesetTree::new(&plan, 3), FilesetTree::new(&plan, 4));
        assert_eq!(FilesetTree::new(&plan, 3).sizes, SizeSource::All(4096));
    }
}
