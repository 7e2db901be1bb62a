//! Directories of a tree made from its classes, and the directory of each file in the order of
//! birth.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use treering_script::Random;

use super::classes::{AGE_MAX, DEPTH_MAX, TreeClasses};

/// Relative deviation of a factor from 1 that leaves the numbers as they are.
const FACTOR_LEEWAY: f64 = 0.02;

/// Directories of a tree with the directories of its files. Directory 0 is the top, and each
/// directory comes after the one above it.
#[derive(Clone, Debug)]
pub(crate) struct DirectoryTree {
    above: Vec<u32>,
    /// Directory of each file, the oldest file first.
    births: Vec<u32>,
    /// Number of files by age, the youngest first.
    ages: Vec<(u8, u64)>,
}

impl DirectoryTree {
    /// Tree with the directories and files of these classes times a factor.
    pub(crate) fn new(classes: &TreeClasses, factor: f64) -> Self {
        let rows = scaled(classes, factor);
        let (above, of_row) = joined(classes, &rows);
        let (number, above) = depth_first(&above);
        let mut births: Vec<(Reverse<u8>, u32)> = Vec::new();
        for (row, own) in rows.iter().zip(of_row) {
            let dealt = own.map(|directory| number[directory as usize]).collect::<Vec<_>>();
            let ages = row.files.iter().rev();
            let files = ages.flat_map(|(age, count)| (0..*count).map(move |_file| Reverse(*age)));
            births.extend(files.zip(dealt.into_iter().cycle()));
        }
        births.sort_unstable();
        let mut ages: BTreeMap<u8, u64> = BTreeMap::new();
        births.iter().for_each(|(Reverse(age), _)| *ages.entry(*age).or_default() += 1);
        Self {
            above,
            births: births.into_iter().map(|(_, directory)| directory).collect(),
            ages: ages.into_iter().collect(),
        }
    }

    /// Number of directories.
    pub(crate) fn directories(&self) -> u64 {
        self.above.len() as u64
    }

    /// Directory of each file, the oldest first.
    pub(crate) fn births(&self) -> impl ExactSizeIterator<Item = u64> {
        self.births.iter().map(|directory| u64::from(*directory))
    }

    /// Directory above; `None` for the top and for the directories in it.
    pub(crate) fn above(&self, directory: u64) -> Option<u64> {
        let above = usize::try_from(directory).ok().and_then(|place| self.above.get(place));
        above.map(|above| u64::from(*above)).filter(|above| *above > 0)
    }

    /// Draws one of `count` files, which are in the order of birth: the chance of a file is
    /// inverse to its age.
    pub(crate) fn draw_by_age(&self, random: &mut Random, count: usize) -> usize {
        let weight = |(age, files): &(u8, u64)| files << (AGE_MAX - age);
        let mut point = random.below(self.ages.iter().map(weight).sum());
        let mut younger = 0;
        for age in &self.ages {
            if point < weight(age) {
                let offset = younger + random.below(age.1);
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                return count - 1 - offset.min(count - 1);
            }
            point -= weight(age);
            younger += age.1;
        }
        count - 1
    }
}

/// Numbers of a class after the factor.
struct ScaledClass {
    directories: usize,
    files: BTreeMap<u8, u64>,
}

/// Number of a directory; there are at most some ten million.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// Rounds `number` and keeps in `rest` what was rounded off, for the next one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and bounded by the largest number of files"
)]
fn rounded(number: f64, rest: &mut f64) -> u64 {
    let exact = number + *rest;
    let whole = exact.round().max(0.0);
    *rest = exact - whole;
    whole as u64
}

/// Numbers of all classes. Those that have no directory left give their files to the next class of
/// their depth; each depth keeps a directory.
fn scaled(classes: &TreeClasses, factor: f64) -> Vec<ScaledClass> {
    let factor = if (factor - 1.0).abs() < FACTOR_LEEWAY { 1.0 } else { factor };
    let mut rests = vec![(0.0, [0.0; AGE_MAX as usize + 1]); DEPTH_MAX + 1];
    let mut is_begun = [false; DEPTH_MAX + 1];
    let mut rows = Vec::with_capacity(classes.rows.len());
    for (row, depth) in classes.rows.iter().zip(&classes.depths) {
        let (rest, age_rests) = &mut rests[*depth];
        let scaled = rounded(row.directories as f64 * factor, rest);
        let mut directories = usize::try_from(scaled).unwrap_or(usize::MAX);
        if *depth == 0 || !is_begun[*depth] && directories == 0 {
            *rest += directories as f64 - 1.0;
            directories = 1;
        }
        is_begun[*depth] = true;
        let mut files = BTreeMap::new();
        for (age, count) in &row.files {
            let rest = &mut age_rests[usize::from(*age)];
            let due = *count as f64 * factor;
            if directories > 0 {
                files.insert(*age, rounded(due, rest));
            } else {
                *rest += due;
            }
        }
        rows.push(ScaledClass { directories, files });
    }
    // Classes behind the last one with directories have left files.
    for (place, depth) in classes.depths.iter().enumerate().rev() {
        if rows[place].directories == 0 {
            continue;
        }
        for (age, rest) in (0..=AGE_MAX).zip(&mut rests[*depth].1) {
            let left = rounded(0.0, rest);
            if left > 0 {
                *rows[place].files.entry(age).or_default() += left;
            }
        }
    }
    keep_one_file(classes, &mut rows);
    rows
}

/// Keeps one file of a tree of which less than half a file is left: an aging begins with one.
fn keep_one_file(classes: &TreeClasses, rows: &mut [ScaledClass]) {
    if rows.iter().any(|row| row.files.values().any(|count| *count > 0)) {
        return;
    }
    let first = classes.rows.iter().zip(&classes.depths).find(|(row, _)| !row.files.is_empty());
    let Some((row, depth)) = first else { return };
    let of_depth =
        classes.depths.iter().zip(rows).find(|(other, row)| *other == depth && row.directories > 0);
    if let (Some((_, kept)), Some((age, _))) = (of_depth, row.files.last_key_value()) {
        kept.files.insert(*age, 1);
    }
}

/// Directory above each directory, and the directories of each class: those of a class are dealt
/// in turn to the directories of the class above.
fn joined(classes: &TreeClasses, rows: &[ScaledClass]) -> (Vec<u32>, Vec<std::ops::Range<u32>>) {
    let mut above: Vec<u32> = Vec::new();
    let mut of_row: Vec<std::ops::Range<u32>> = Vec::new();
    let mut dealt = vec![0u32; rows.len()];
    for (class, row) in classes.rows.iter().zip(rows) {
        let first = above.len();
        let own = narrow(first)..narrow(first.saturating_add(row.directories));
        if let Some(named) = class.above {
            let depth = classes.depths[named];
            // A class whose directories were all rounded off is stood for by one of its depth.
            let mut others = (0..of_row.len()).filter(|place| classes.depths[*place] == depth);
            let is_there = |place: &usize| !of_row[*place].is_empty();
            let place = if is_there(&named) { Some(named) } else { others.find(is_there) };
            let place = place.unwrap_or(0);
            for _directory in own.clone() {
                let turn = dealt[place] % narrow(of_row[place].len()).max(1);
                above.push(of_row[place].start + turn);
                dealt[place] += 1;
            }
        } else {
            above.push(0);
        }
        of_row.push(own);
    }
    (above, of_row)
}

/// Numbers of the directories in depth-first order, as a tree is unpacked, and the directories
/// above in these numbers.
fn depth_first(above: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); above.len()];
    for (directory, above) in above.iter().enumerate().skip(1).rev() {
        below[*above as usize].push(directory);
    }
    let mut number = vec![0; above.len()];
    let mut new_above = Vec::with_capacity(above.len());
    let mut next = vec![0];
    while let Some(directory) = next.pop() {
        number[directory] = narrow(new_above.len());
        new_above.push(number[above[directory] as usize]);
        next.append(&mut below[directory]);
    }
    (number, new_above)
}

/// Places of deleted files that new files take, so that each directory keeps its number of files.
#[derive(Debug, Default)]
pub(crate) struct FreePlaces {
    /// Directories with the bytes of the files that were there.
    places: Vec<(u64, u64)>,
}

impl FreePlaces {
    /// Adds the place of a deleted file.
    pub(crate) fn give(&mut self, directory: u64, bytes: u64) {
        self.places.push((directory, bytes));
    }

    /// Takes a place, with the bytes of the file that was there. Without one, a new file comes to
    /// another file of the tree.
    pub(crate) fn take(&mut self, random: &mut Random, tree: &DirectoryTree) -> (u64, Option<u64>) {
        if self.places.is_empty() {
            return (u64::from(tree.births[random.index(tree.births.len())]), None);
        }
        let (directory, bytes) = self.places.swap_remove(random.index(self.places.len()));
        (directory, Some(bytes))
    }
}
