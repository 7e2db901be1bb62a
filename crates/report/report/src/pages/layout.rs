//! Page of `treering layout`: positions of the files of a tree, and the free space around them.

use std::io;

use serde::Serialize;
use treering_model::{
    FileLayout, LAYOUT_VERSION, LayoutCount, LayoutFree, LayoutFreeBin, LayoutIntervals, LayoutMap,
    LayoutMetadata, LayoutStructure, ModelledRead, Unit, UsedBytes, counted,
};

use crate::table::RowField;
use crate::{Cell, Chart, DeviceMapChart, Number, NumberStyle, Report, Table, json};

/// Context of a layout page.
#[derive(Clone, Copy, Debug, Default)]
pub struct LayoutView<'v> {
    /// Path examined.
    pub path: &'v str,
    /// Mount through which the layout was read.
    pub through: &'v str,
}

/// Page with only the map of the device.
pub fn map_page(path: &str, map: LayoutMap) -> Report {
    let mut page = Report::new(format!("Map of {path}"));
    page.chart(Chart::Map(DeviceMapChart {
        title: format!("Disk layout: {path}"),
        map,
        is_small: false,
    }));
    page
}

/// Page of a layout. The map is shown in formats with graphics.
pub fn page(layout: &FileLayout, map: Option<LayoutMap>, view: &LayoutView<'_>) -> Report {
    let mut page = Report::new(format!("Layout of {}", view.path));
    page.paragraph(sentence(layout));
    if let Some(map) = map {
        page.blocks.extend(map_page(view.path, map).blocks);
    }
    page.key_values(about(layout, view));
    notes(layout, &mut page);
    page.heading("Files");
    page.table(measures(layout));
    page.table(extents(layout));
    if let Some(structure) = &layout.structure {
        page.heading("Directories and inodes");
        page.key_values(structure_figures(structure));
        if !structure.metadata.is_empty() {
            page.table(metadata(structure));
        }
    }
    page.heading("Free space");
    match &layout.free_space {
        Some(free) => {
            page.key_values(free_figures(free));
            page.table(histogram(free));
        }
        None => {
            let why = layout.free_space_problem.as_deref();
            page.paragraph(format!("Not known: {}.", why.unwrap_or("it is not reported")));
        }
    }
    page
}

/// Layout in a sentence: `8,092 files: adjacent siblings 1.3 %, traversal score 83.3 %, 1.006
/// extents per file; 1738 free extents.`
fn sentence(layout: &FileLayout) -> String {
    let share =
        |name: &str, share: Option<f64>| share.map(|share| format!("{name} {} %", percent(share)));
    let extents = layout.extents_per_file.map(|extents| {
        let number = Number { value: extents, unit: String::new(), style: NumberStyle::Ratio };
        format!("{} extents per file", number.text())
    });
    let parts = [
        share("adjacent siblings", layout.adjacent_siblings),
        share("traversal score", layout.traversal_score),
        extents,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let found = if parts.is_empty() { "no blocks".to_owned() } else { parts.join(", ") };
    let free = layout
        .free_space
        .as_ref()
        .map_or_else(String::new, |free| format!("; {}", counted(free.extents, "free extent")));
    format!("{}: {found}{free}.", counted(layout.files, "file"))
}

fn about(layout: &FileLayout, view: &LayoutView<'_>) -> Vec<(String, Cell)> {
    let mut pairs = vec![
        ("filesystem", Cell::some_text(layout.filesystem.as_deref().unwrap_or_default())),
        ("read through", Cell::some_text(view.through)),
        ("files", Cell::whole(layout.files)),
        ("directories", Cell::whole(layout.directories)),
        ("block", size(layout.block_bytes)),
    ];
    let fullness = &layout.fullness;
    pairs.push(("space in use", used(fullness.data)));
    if let Some(metadata) = fullness.metadata {
        pairs.pop();
        pairs.push(("data in use", used(fullness.data)));
        pairs.push(("metadata in use", used(metadata)));
    }
    if let Some(bytes) = fullness.unallocated_bytes {
        pairs.push(("reserved and unused", size(bytes)));
    }
    if let Some(inodes) = fullness.inodes {
        pairs.push(("inodes in use", of_all(inodes.used as f64, inodes.total as f64)));
    }
    pairs.into_iter().map(|(name, cell)| (name.to_owned(), cell)).collect()
}

/// Cell with the bytes in use out of the total.
fn used(of: UsedBytes) -> Cell {
    let bytes = |bytes: u64| Number::measured(bytes as f64, Unit::Bytes).text();
    match of.share() {
        None => Cell::Missing,
        Some(share) => Cell::text(format!(
            "{} of {} ({} %)",
            bytes(of.used_bytes),
            bytes(of.total_bytes),
            percent(share)
        )),
    }
}

fn of_all(part: f64, total: f64) -> Cell {
    let whole = |value| Number { value, unit: String::new(), style: NumberStyle::Whole }.text();
    Cell::text(format!("{} of {} ({} %)", whole(part), whole(total), percent(part / total)))
}

fn percent(share: f64) -> String {
    Number { value: share * 100.0, unit: String::new(), style: NumberStyle::Percent }.text()
}

fn size(bytes: u64) -> Cell {
    Cell::measured(bytes as f64, Unit::Bytes)
}

/// Adds notes on missing figures.
fn notes(layout: &FileLayout, page: &mut Report) {
    if let Some(sampled) = layout.sampled_files {
        page.note(format!(
            "A sample of {sampled} of the {} files was measured, drawn in runs of neighbours. \
             Intervals are 95 %; the traversal score is the one within the runs.",
            layout.files
        ));
    }
    let passed = &layout.passed;
    for (count, singular, plural) in [
        (passed.unreadable, "entry could not be read", "entries could not be read"),
        (passed.vanished, "file was removed in the meantime", "files were removed in the meantime"),
        (passed.mounts, "mount was not entered", "mounts were not entered"),
        (
            passed.hard_links,
            "additional hard link to a file already counted",
            "additional hard links to files already counted",
        ),
    ] {
        if count > 0 {
            page.note(format!("{count} {}.", if count == 1 { singular } else { plural }));
        }
    }
    if layout.delayed_files > 0 {
        page.note(format!(
            "{} of the files have data not yet allocated on disk: they are still being written.",
            layout.delayed_files
        ));
    }
    if layout.extents.encoded.extents > 0 {
        page.note(
            "The length of compressed extents on the device is unknown: scores treat an extent \
             that begins within the length of the previous one as its neighbour.",
        );
    }
}

fn measures(layout: &FileLayout) -> Table {
    let is_sample = layout.intervals.is_some();
    let intervals = layout.intervals.unwrap_or_default();
    let ratio = |value: Option<f64>| number(value, NumberStyle::Ratio);
    let share = |value: Option<f64>| value.map_or(Cell::Missing, |value| shown_share(value).into());
    let gaps = layout.gap_bytes.map(|gaps| Number::measured(gaps.p90 as f64, Unit::Bytes).into());
    let rows: [MeasureRow; 7] = [
        (
            "extents per file",
            ratio(layout.extents_per_file),
            |of| of.extents_per_file,
            "pieces of a file with blocks; 1 is best",
        ),
        (
            "fragmented files",
            Cell::whole(layout.fragmented_files),
            |_| None,
            "files in more than one piece",
        ),
        (
            "layout score",
            share(layout.layout_score),
            |of| of.layout_score,
            "blocks that directly follow the previous one of their file; 100 % is best",
        ),
        (
            "traversal score",
            share(layout.traversal_score),
            |of| of.traversal_score,
            "blocks that directly follow the previous one when the tree is read file by file; \
             100 % is best",
        ),
        (
            "adjacent siblings",
            share(layout.adjacent_siblings),
            |of| of.adjacent_siblings,
            "files that begin where the previous one in the directory ends; 100 % is best",
        ),
        ("gap p90", gaps.unwrap_or(Cell::Missing), |_| None, "between such files, 90th percentile"),
        (
            "span median",
            number(layout.span_median, NumberStyle::Measured),
            |_| None,
            "span of a directory's files relative to their bytes; 1 is best",
        ),
    ];
    let row = |(name, value, interval, meaning): MeasureRow| {
        let is_share = matches!(&value, Cell::Number(number) if number.unit == "%");
        let form = if is_share { shown_share } else { ratio_number };
        let interval = interval(&intervals)
            .map_or(Cell::Missing, |(low, high)| Cell::between(form(low), form(high)));
        let mut fields = vec![RowField::text("measure", name), RowField::mixed("value", value)];
        fields.extend(is_sample.then(|| RowField::mixed("low–high", interval)));
        fields.push(RowField::long_text("which is", meaning));
        fields
    };
    let read = layout.modelled_read.as_ref().filter(|_| !is_sample);
    let rows = rows.into_iter().map(row).chain(read.into_iter().flat_map(modelled));
    Table::from_rows("layout", "", rows)
}

/// Table rows of a read on a modelled disk.
fn modelled(read: &ModelledRead) -> [Vec<RowField>; 2] {
    let ModelledRead { disk, seconds } = read;
    let row = |name: &str, value: Cell, meaning: &str| {
        vec![
            RowField::text("measure", format!("{name} on {disk}, modelled")),
            RowField::mixed("value", value),
            RowField::long_text("which is", meaning),
        ]
    };
    let time = Cell::measured(seconds.typical, Unit::Seconds);
    let range = Cell::range(seconds.low, seconds.high, Unit::Seconds);
    [
        row("read", time, "of all files in directory order, from their extents alone"),
        row("low–high", range, "the same, from the uncertainty of the model"),
    ]
}

/// Row: name, value, accessor of the interval, and explanation.
type MeasureRow = (&'static str, Cell, fn(&LayoutIntervals) -> Option<(f64, f64)>, &'static str);

/// A share in percent, as in the sentence of the page.
fn shown_share(share: f64) -> Number {
    let unit = Unit::Percent.symbol().to_owned();
    Number { value: share * 100.0, unit, style: NumberStyle::Percent }
}

fn ratio_number(value: f64) -> Number {
    Number { value, unit: String::new(), style: NumberStyle::Ratio }
}

fn number(value: Option<f64>, style: NumberStyle) -> Cell {
    value.map_or(Cell::Missing, |value| Number { value, unit: String::new(), style }.into())
}

fn extents(layout: &FileLayout) -> Table {
    let of = &layout.extents;
    let rows: [(&str, Option<LayoutCount>, Option<u64>); 7] = [
        ("with blocks", Some(of.placed), Some(layout.placed_files)),
        ("of these never written", Some(of.unwritten), None),
        ("of these shared", Some(of.shared), None),
        ("of these compressed or encrypted", Some(of.encoded), None),
        ("within the metadata", Some(of.inline), Some(layout.inline_files)),
        ("not yet allocated", Some(of.delayed), Some(layout.delayed_files)),
        ("files without data", None, Some(layout.empty_files)),
    ];
    let row = |(name, count, files): (&str, Option<LayoutCount>, Option<u64>)| {
        vec![
            RowField::text("extents", name),
            RowField::count("count", count.map(|count| count.extents)),
            RowField::bytes("in files", count.map(|count| count.bytes)),
            RowField::count("files", files),
        ]
    };
    Table::from_rows("extents", "", rows.into_iter().map(row))
}

fn structure_figures(structure: &LayoutStructure) -> Vec<(String, Cell)> {
    let share = |share: Option<f64>| Cell::measured(share.map(|s| s * 100.0), Unit::Percent);
    let count = |value: Option<u64>| value.map_or(Cell::Missing, Cell::whole);
    let distance = structure.inode_distance;
    let mut pairs = vec![
        ("inode distance of siblings, median", count(distance.map(|of| of.p50))),
        ("inode distance of siblings, 90 %", count(distance.map(|of| of.p90))),
        ("siblings with the next inode", share(structure.next_inodes)),
    ];
    if let Some(groups) = structure.groups {
        let used = of_all(groups.used as f64, groups.total.max(1) as f64);
        pairs.push(("groups with files", used));
        pairs.push((
            "groups of a directory's files",
            number(groups.per_directory, NumberStyle::Ratio),
        ));
    }
    pairs.into_iter().map(|(name, cell)| (name.to_owned(), cell)).collect()
}

/// Blocks of directories and trees by kind.
fn metadata(structure: &LayoutStructure) -> Table {
    let row = |kind: &LayoutMetadata| {
        let in_order = kind.in_order.map_or(Cell::Missing, |share| shown_share(share).into());
        vec![
            RowField::text("blocks of", &kind.kind),
            RowField::count("count", kind.blocks),
            RowField::bytes("bytes", kind.bytes),
            RowField::count("stretches", kind.stretches),
            RowField::mixed("in order", in_order),
        ]
    };
    let caption = "Blocks by kind; in order are those that directly follow the one before in \
                   their directory or tree";
    Table::from_rows("metadata", caption, structure.metadata.iter().map(row))
}

fn free_figures(free: &LayoutFree) -> Vec<(String, Cell)> {
    let share = |share: Option<f64>| Cell::measured(share.map(|s| s * 100.0), Unit::Percent);
    let pairs = [
        ("free extents", Cell::whole(free.extents)),
        ("free", size(free.bytes)),
        ("mean size", Cell::measured(free.mean_bytes, Unit::Bytes)),
        ("largest", size(free.largest_bytes)),
        ("in extents of 1 MiB and more", share(free.large_share)),
        ("in extents below 64 KiB", share(free.small_share)),
    ];
    pairs.into_iter().map(|(name, cell)| (name.to_owned(), cell)).collect()
}

fn histogram(free: &LayoutFree) -> Table {
    let row = |bin: &LayoutFreeBin| {
        let share = bin.bytes as f64 / free.bytes as f64 * 100.0;
        vec![
            RowField::bytes("from", bin.from_bytes),
            RowField::count("free extents", bin.extents),
            RowField::bytes("free", bin.bytes),
            RowField::number("of the free bytes", Unit::Percent, share),
        ]
    };
    Table::from_rows("free_space", "Free extents by size", free.histogram.iter().map(row))
}

#[derive(Serialize)]
struct LayoutDocument<'l> {
    treering_layout: json::Version,
    path: &'l str,
    through: &'l str,
    #[serde(flatten)]
    layout: &'l FileLayout,
}

/// Writes the layout as JSON in one line, as docs/json.md documents it.
///
/// # Errors
/// If the writer fails.
pub fn write_json(
    layout: &FileLayout,
    view: &LayoutView<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let document = LayoutDocument {
        treering_layout: json::Version { version: LAYOUT_VERSION },
        path: view.path,
        through: view.through,
        layout,
    };
    json::write_line(&document, out)
}
