//! Record of reads and writes, by file and by range of a file.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use treering_model::{HeatCounts, HeatReport, HotData};
use treering_stats::{Access, HeatStatistics, concentration};

/// Size of a range in bytes, as in the kernel's patches of 2012.
const RANGE_BYTES: u64 = HeatReport::RANGE_BYTES;
/// Maximum number of files, and of ranges of all files together; accesses beyond it count in the
/// total only.
const FILES_MAX: usize = 1 << 20;
const RANGES_MAX: usize = 1 << 22;
/// Maximum number of files, and of ranges, in a report.
const SHOWN: usize = 100;
/// Number of points of the concentration curve.
const POINTS: usize = 100;

/// Accesses to a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FileHeat {
    all: HeatStatistics,
    /// Accesses by range; empty as long as all of them were in the first range.
    ranges: BTreeMap<u64, HeatStatistics>,
    /// Known end of the file, in bytes.
    end: u64,
    removed: bool,
}

/// Temperature of a range of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotRange {
    /// Offset of the range in bytes.
    pub offset: u64,
    /// Length in bytes; the file may end earlier.
    pub bytes: u64,
    /// Temperature of the range: its recent accesses, discounted with the half-life.
    pub temperature: f64,
}

/// Number of a file in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileNumber(usize);

/// Reads and writes of one worker, or of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeatBook {
    half_life_ns: u64,
    files: Vec<(String, FileHeat)>,
    /// Files by their current names.
    #[serde(skip)]
    names: HashMap<String, usize>,
    ranges: usize,
    total: HeatStatistics,
    left_out: u64,
}

impl HeatBook {
    /// An empty book.
    pub(super) fn new(half_life_ns: u64) -> Self {
        Self { half_life_ns, ..Self::default() }
    }

    /// True if neither accesses nor files were recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.has_accesses()
    }

    /// True if any read or write was recorded.
    pub(super) const fn has_accesses(&self) -> bool {
        self.total.accesses() > 0
    }

    /// Resets the accesses, and keeps the existing files.
    pub(super) fn reset_accesses(&mut self) {
        self.total = HeatStatistics::default();
        (self.left_out, self.ranges) = (0, 0);
        let here = std::mem::take(&mut self.files).into_iter().filter(|(_, file)| !file.removed);
        self.files = here
            .map(|(path, FileHeat { end, .. })| (path, FileHeat { end, ..FileHeat::default() }))
            .collect();
        let names = self.files.iter().enumerate().map(|(number, (path, _))| (path.clone(), number));
        self.names = names.collect();
    }

    /// The file of this name; none when the book is full.
    pub(super) fn file(&mut self, path: &str) -> Option<FileNumber> {
        if let Some(number) = self.names.get(path) {
            self.files[*number].1.removed = false;
            return Some(FileNumber(*number));
        }
        if self.files.len() >= FILES_MAX {
            return None;
        }
        let number = self.files.len();
        self.files.push((path.to_owned(), FileHeat::default()));
        self.names.insert(path.to_owned(), number);
        Some(FileNumber(number))
    }

    /// Known end of a file, in bytes.
    pub(super) fn end(&self, file: FileNumber) -> u64 {
        self.files[file.0].1.end
    }

    /// Sets the known end of a file.
    pub(super) fn set_end(&mut self, file: FileNumber, end: u64) {
        self.files[file.0].1.end = end;
    }

    /// Marks a file as removed.
    pub(super) fn remove(&mut self, path: &str) {
        if let Some(number) = self.names.get(path) {
            self.files[*number].1.removed = true;
        }
    }

    /// Renames a file; a previous file of the new name counts as removed.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        let Some(number) = self.names.remove(from) else { return };
        to.clone_into(&mut self.files[number].0);
        if let Some(before) = self.names.insert(to.to_owned(), number)
            && before != number
        {
            self.files[before].1.removed = true;
        }
    }

    /// Counts an access that begins at `position` of a file.
    pub(super) fn access(&mut self, file: Option<FileNumber>, position: u64, access: Access) {
        let half_life_ns = self.half_life_ns;
        self.total.access(access, half_life_ns);
        let Some(FileNumber(number)) = file else {
            self.left_out += access.count;
            return;
        };
        let file = &mut self.files[number].1;
        let end = position.saturating_add(access.bytes);
        file.end = file.end.max(end);
        let (first, last) = (position / RANGE_BYTES, end.saturating_sub(1) / RANGE_BYTES);
        if file.ranges.is_empty() && file.all.accesses() > 0 && last > 0 {
            file.ranges.insert(0, file.all);
            self.ranges += 1;
        }
        file.all.access(access, half_life_ns);
        if file.ranges.is_empty() && last == 0 {
            return;
        }
        for range in first..=last.max(first) {
            let known = file.ranges.contains_key(&range);
            if !known && self.ranges >= RANGES_MAX {
                return;
            }
            self.ranges += usize::from(!known);
            let from = position.max(range * RANGE_BYTES);
            let to = end.min((range + 1).saturating_mul(RANGE_BYTES));
            let share = Access { bytes: to.saturating_sub(from), ..access };
            file.ranges.entry(range).or_default().access(share, half_life_ns);
        }
    }

    /// Adds another book, such as that of a finished task.
    pub(super) fn merge(&mut self, other: Self) {
        let half_life_ns = self.half_life_ns;
        self.total.merge(&other.total, half_life_ns);
        self.left_out += other.left_out;
        for (path, theirs) in other.files {
            let Some(FileNumber(number)) = self.file(&path) else {
                self.left_out += theirs.all.accesses();
                continue;
            };
            let ours = &mut self.files[number].1;
            let had = ours.all;
            if !(ours.ranges.is_empty() && theirs.ranges.is_empty()) {
                let first = |file: &FileHeat, heat: HeatStatistics| {
                    let alone = file.ranges.is_empty() && heat.accesses() > 0;
                    alone.then_some((0, heat))
                };
                let before = ours.ranges.len();
                ours.ranges.extend(first(ours, had));
                for (range, heat) in theirs
                    .ranges
                    .iter()
                    .map(|(&range, &heat)| (range, heat))
                    .chain(first(&theirs, theirs.all))
                {
                    ours.ranges.entry(range).or_default().merge(&heat, half_life_ns);
                }
                self.ranges += ours.ranges.len() - before;
            }
            ours.all.merge(&theirs.all, half_life_ns);
            ours.end = ours.end.max(theirs.end);
            ours.removed = theirs.removed;
        }
    }

    /// Temperatures of a file's ranges at the time of the last recorded access.
    pub(super) fn ranges_of(&self, path: &str) -> Vec<HotRange> {
        let Some((path, file)) = self.names.get(path).map(|number| &self.files[*number]) else {
            return Vec::new();
        };
        let hot = file_ranges(path, file).filter(|part| part.heat.accesses() > 0);
        hot.map(|part| HotRange {
            offset: part.offset,
            bytes: RANGE_BYTES,
            temperature: part.heat.temperature(self.total.last_ns, self.half_life_ns),
        })
        .collect()
    }

    /// Report of the recorded accesses.
    pub(super) fn report(&self) -> HeatReport {
        let touched = || self.files.iter().filter(|(_, file)| file.all.accesses() > 0);
        let ranges = || touched().flat_map(|(path, file)| file_ranges(path, file));
        let parts: Vec<(u64, u64)> = ranges()
            .map(|part| {
                let bytes = part.file.end.saturating_sub(part.offset).min(RANGE_BYTES);
                (part.heat.accesses(), bytes.max(1))
            })
            .collect();
        let whole = |(path, file): &'_ (String, FileHeat)| -> HotData {
            self.reported(&FileRange { path, file, offset: 0, heat: &file.all })
        };
        let mut hottest_files: Vec<HotData> = Vec::new();
        for file in touched() {
            keep_hottest(&mut hottest_files, whole(file));
        }
        let mut hottest_ranges: Vec<HotData> = Vec::new();
        for part in ranges() {
            keep_hottest(&mut hottest_ranges, self.reported(&part));
        }
        for list in [&mut hottest_files, &mut hottest_ranges] {
            sort(list);
            list.truncate(SHOWN);
        }
        HeatReport {
            half_life_seconds: self.half_life_ns as f64 / 1e9,
            range_bytes: RANGE_BYTES,
            files: touched().count() as u64,
            ranges: parts.len() as u64,
            total: counts(&self.total),
            left_out: self.left_out,
            hottest_files,
            hottest_ranges,
            concentration: concentration(&parts, POINTS),
            device: None,
        }
    }

    fn reported(&self, part: &FileRange<'_>) -> HotData {
        HotData {
            path: part.path.to_owned(),
            offset: part.offset,
            counts: counts(part.heat),
            mean_interval_ns: part.heat.mean_interval_ns(),
            since_last_ns: self.total.last_ns.saturating_sub(part.heat.last_ns),
            temperature: part.heat.temperature(self.total.last_ns, self.half_life_ns),
            removed: part.file.removed,
        }
    }
}

/// A range of a file.
struct FileRange<'b> {
    path: &'b str,
    file: &'b FileHeat,
    offset: u64,
    heat: &'b HeatStatistics,
}

/// The ranges of a file, at least the first.
fn file_ranges<'b>(path: &'b str, file: &'b FileHeat) -> impl Iterator<Item = FileRange<'b>> {
    let only = file.ranges.is_empty().then_some((0, &file.all));
    let ranges = file.ranges.iter().map(|(range, heat)| (range * RANGE_BYTES, heat));
    only.into_iter().chain(ranges).map(move |(offset, heat)| FileRange { path, file, offset, heat })
}

/// Adds an entry; drops the coolest entries from time to time.
fn keep_hottest(list: &mut Vec<HotData>, entry: HotData) {
    list.push(entry);
    if list.len() >= 16 * SHOWN {
        sort(list);
        list.truncate(SHOWN);
    }
}

/// Sorts by temperature in descending order, then by name.
fn sort(list: &mut [HotData]) {
    list.sort_by(|left, right| {
        let hotter = right.temperature.total_cmp(&left.temperature);
        hotter.then_with(|| (&left.path, left.offset).cmp(&(&right.path, right.offset)))
    });
}

const fn counts(heat: &HeatStatistics) -> HeatCounts {
    let HeatStatistics { reads, writes, read_bytes, written_bytes, .. } = *heat;
    HeatCounts { reads, writes, read_bytes, written_bytes }
}

#[cfg(test)]
mod tests {
    use super::{HeatBook, RANGE_BYTES};
    use treering_stats::Access;

    const SECOND: u64 = 1_000_000_000;

    fn read(at: u64, bytes: u64) -> Access {
        Access { at_ns: at * SECOND, writes: false, count: 1, bytes }
    }

    #[test]
    fn heat_ranges_are_kept_from_the_second_range_on() {
        let mut book = HeatBook::new(10 * SECOND);
        let file = book.file("a");
        book.access(file, 0, read(1, 4096));
        book.access(file, RANGE_BYTES - 10, read(2, 20));
        book.access(file, 5 * RANGE_BYTES, read(3, 100));
        let report = book.report();
        assert_eq!((report.files, report.ranges), (1, 3));
        assert_eq!((report.total.reads, report.total.read_bytes), (3, 4216));
        let mut ranges: Vec<_> = report.hottest_ranges.iter().collect();
        ranges.sort_by_key(|range| range.offset);
        let reported: Vec<_> =
            ranges.iter().map(|range| (range.offset, range.counts.read_bytes)).collect();
        assert_eq!(reported, [(0, 4106), (RANGE_BYTES, 10), (5 * RANGE_BYTES, 100)]);
        assert_eq!(report.hottest_ranges[0].offset, 0, "two accesses are hotter than one");
    }

    #[test]
    fn heat_books_of_two_workers_are_merged() {
        let (mut first, mut second) = (HeatBook::new(SECOND), HeatBook::new(SECOND));
        let (small, large) = (first.file("small"), second.file("large"));
        first.access(small, 0, read(1, 10));
        second.access(large, 3 * RANGE_BYTES, read(2, 10));
        let again = second.file("small");
        second.access(again, 2 * RANGE_BYTES, read(3, 10));
        second.remove("large");
        first.merge(second);
        let report = first.report();
        assert_eq!((report.files, report.ranges, report.total.reads), (2, 3, 3));
        let large = report.hottest_files.iter().find(|file| file.path == "large").unwrap();
        assert!(large.removed);
        assert_eq!(large.since_last_ns, SECOND);
        assert!((large.temperature - 0.5).abs() < 1e-12);
        let ranges = report.hottest_ranges.iter().filter(|range| range.path == "small");
        assert_eq!(ranges.map(|range| range.counts.reads).sum::<u64>(), 2);
    }

    #[test]
    fn a_reused_name_leaves_the_first_file_removed() {
        let mut book = HeatBook::new(SECOND);
        for name in ["old", "new"] {
            let file = book.file(name);
            book.access(file, 0, read(1, 1));
        }
        book.rename("new", "old");
        let report = book.report();
        let removed: Vec<_> = report.hottest_files.iter().map(|file| file.removed).collect();
        assert_eq!(removed.iter().filter(|removed| **removed).count(), 1, "{report:?}");
        assert!(report.hottest_files.iter().all(|file| file.path == "old"));
    }
}
