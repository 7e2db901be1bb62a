//! Text of a profile, from counts of a tree.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::classes::{AGE_MAX, CLASSES_MAX, DEPTH_MAX, DirectoryClass};

/// Counts of a tree.
#[derive(Clone, Debug)]
pub struct MeasuredTree<'t> {
    /// Name of the tree in the generated profile.
    pub name: &'t str,
    /// Regular files by size, in ascending order.
    pub sizes: &'t [MeasuredSize],
    /// Directories, each after the one above it.
    pub directories: &'t [MeasuredDirectory],
}

/// Files of about one size in a measured tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredSize {
    /// Largest possible size, in bytes.
    pub most: u64,
    /// Number of the files.
    pub files: u64,
    /// Bytes of the files together.
    pub bytes: u64,
}

/// Directory of a measured tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredDirectory {
    /// Index of the directory above; that of the top is its own.
    pub above: usize,
    /// Number of its files by age, youngest first: born less than a minute ago, up to 2 minutes,
    /// up to 4 and so on.
    pub files: Vec<(u8, u32)>,
}

/// Generates a profile: files of these sizes and ages in such directories. The operations cannot
/// be seen in a tree: half of them create, half delete.
pub fn measured_profile(tree: &MeasuredTree<'_>) -> String {
    let name: String =
        tree.name.chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).collect();
    let files: u64 = tree.sizes.iter().map(|size| size.files).sum();
    let groups = groups(tree.sizes, files);
    let numbers = |number: fn(&MeasuredSize) -> u64| {
        groups.iter().map(|group| number(group).to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "about = \"Files as in {name}: {files} of them in {} directories\"\n\
         source = \"Sizes, directories, ages: measured by `treering age profile`; weights: chosen\"\n\
         measure-every = {}\n\n\
         [[files]]\n\
         name = \"file\"\n\
         share = \"100%\"\n\
         # The files up to each of these sizes that are larger than those before, and their bytes.\n\
         size = {{ up-to = [{}], files = [{}], bytes = [{}] }}\n\
         # Equal directories, in those of row `in`, with the number of their files by age: born\n\
         # less than 1, 2, 4, 8 … minutes ago.\n\
         tree = [\n",
        tree.directories.len(),
        (files / 10).clamp(100, 10_000),
        numbers(|group| group.most),
        numbers(|group| group.files),
        numbers(|group| group.bytes),
    );
    for row in classes(tree.directories) {
        let above = row.above.map(|above| format!("in = {above}, ")).unwrap_or_default();
        let files = row.files.iter().map(|(age, count)| format!("{age} = {count}"));
        let files = files.collect::<Vec<_>>().join(", ");
        let directories = row.directories;
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "  {{ {above}directories = {directories}, files = {{ {files} }} }},");
    }
    text.push_str("]\n");
    for (operation, choice) in [("create", ""), ("delete", "choose = \"by-age\"\n")] {
        let _ = write!(text, "\n[[operation]]\nfiles = \"file\"\ndo = \"{operation}\"\n{choice}");
    }
    text
}

/// Number of groups of sizes, each of about as many files; a size of so many files is a group of
/// its own, and groups do not cross a power of two.
const GROUPS: u64 = 128;

/// Joins sizes to groups.
fn groups(sizes: &[MeasuredSize], files: u64) -> Vec<MeasuredSize> {
    let due = files.div_ceil(GROUPS);
    let power = |size: &MeasuredSize| size.most.checked_ilog2();
    let mut groups: Vec<MeasuredSize> = Vec::new();
    for size in sizes {
        match groups.last_mut() {
            Some(last) if last.files.max(size.files) < due && power(last) == power(size) => {
                last.most = size.most;
                last.files += size.files;
                last.bytes = last.bytes.saturating_add(size.bytes);
            }
            _ => groups.push(*size),
        }
    }
    groups
}

/// Properties in which the directories of a class are equal.
#[derive(Clone, Copy)]
struct ClassDetail {
    /// The class of the directories above.
    above: bool,
    /// The number of subdirectories, by powers of two.
    below: bool,
    /// Classes of numbers of files in a power of two; 0 for each number its own class.
    steps: u32,
    /// Ages that count as one.
    ages: u8,
}

/// From the finest to one that any tree meets with fewer than [`CLASSES_MAX`] classes.
const DETAILS: [ClassDetail; 6] = [
    ClassDetail { above: true, below: true, steps: 0, ages: 1 },
    ClassDetail { above: true, below: false, steps: 4, ages: 1 },
    ClassDetail { above: false, below: false, steps: 4, ages: 1 },
    ClassDetail { above: false, below: false, steps: 1, ages: 1 },
    ClassDetail { above: false, below: false, steps: 1, ages: 4 },
    ClassDetail { above: false, below: false, steps: 1, ages: AGE_MAX + 1 },
];

impl ClassDetail {
    /// Class of a number of files.
    fn class_of(self, files: u64) -> u64 {
        let Some(power) = files.checked_ilog2().filter(|_| self.steps > 0) else { return files };
        let steps = u64::from(self.steps);
        // Numbers below twice the steps have a class each.
        if files < 2 * steps {
            return files;
        }
        u64::from(power) * steps + (((files - (1 << power)) * steps) >> power) + 2 * steps
    }
}

/// Key of a class: row or depth above, subdirectories, files, youngest and oldest age.
type ClassKey = (usize, u64, u64, u8, u8);

/// Classes of directories, as detailed as the bound allows.
fn classes(directories: &[MeasuredDirectory]) -> Vec<DirectoryClass> {
    let mut above = Vec::with_capacity(directories.len());
    let mut depths: Vec<usize> = Vec::with_capacity(directories.len());
    let mut below = vec![0u64; directories.len()];
    for (place, directory) in directories.iter().enumerate() {
        let mut parent = directory.above;
        if place > 0 && depths[parent] == DEPTH_MAX {
            parent = above[parent];
        }
        above.push(parent);
        depths.push(if place > 0 { depths[parent] + 1 } else { 0 });
        below[parent] += u64::from(place > 0);
    }
    let mut order: Vec<usize> = (0..directories.len()).collect();
    order.sort_by_key(|place| depths[*place]);
    let nested = NestedDirectories { directories, above, depths, below, order };
    let mut rows = Vec::new();
    for detail in DETAILS {
        rows = nested.grouped(detail);
        if rows.len() <= CLASSES_MAX {
            break;
        }
    }
    rows
}

/// Directories with their place in the tree.
struct NestedDirectories<'d> {
    directories: &'d [MeasuredDirectory],
    above: Vec<usize>,
    depths: Vec<usize>,
    /// Number of subdirectories.
    below: Vec<u64>,
    /// Places of the directories, those of less depth first.
    order: Vec<usize>,
}

impl NestedDirectories<'_> {
    fn grouped(&self, detail: ClassDetail) -> Vec<DirectoryClass> {
        let mut rows: Vec<DirectoryClass> = Vec::new();
        let mut known: HashMap<ClassKey, usize> = HashMap::new();
        let mut row_of = vec![0; self.directories.len()];
        let mut above_of: Vec<BTreeMap<usize, u64>> = Vec::new();
        for &place in &self.order {
            let files = &self.directories[place].files;
            let all = files.iter().map(|(_, count)| u64::from(*count)).sum();
            let age = |end: Option<&(u8, u32)>| end.map_or(0, |(age, _)| age / detail.ages);
            let parent = row_of[self.above[place]];
            let is_top = self.depths[place] == 0;
            let key = (
                if detail.above && !is_top { parent + DEPTH_MAX + 1 } else { self.depths[place] },
                self.below[place].checked_ilog2().map_or(0, |power| u64::from(power) + 1)
                    * u64::from(detail.below),
                detail.class_of(all),
                age(files.first()),
                age(files.last()),
            );
            let row = *known.entry(key).or_insert(rows.len());
            if row == rows.len() {
                let (above, files) = (None, BTreeMap::new());
                rows.push(DirectoryClass { above, directories: 0, files });
                above_of.push(BTreeMap::new());
            }
            row_of[place] = row;
            rows[row].directories += 1;
            for (age, count) in files {
                *rows[row].files.entry(*age).or_default() += u64::from(*count);
            }
            if !is_top {
                *above_of[row].entry(parent).or_default() += 1;
            }
        }
        for (row, above) in rows.iter_mut().zip(above_of) {
            // Where directories above differ, most are of this class.
            row.above = above.into_iter().max_by_key(|(_, count)| *count).map(|(above, _)| above);
        }
        rows
    }
}
