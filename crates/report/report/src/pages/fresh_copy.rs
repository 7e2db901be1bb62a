//! Page of `treering layout --fresh-copy`, which compares a tree with a fresh copy of it.

use std::io;

use serde::Serialize;
use treering_analysis::{
    CopyMeasure, LAYOUT_MEASURES, LayoutMeasure, MeasureSummary, copy_measures,
};
use treering_model::{FreshCopy, Unit};

use super::layout::LayoutView;
use crate::table::RowField;
use crate::{Block, Cell, Number, NumberStyle, Report, Table, json};

/// Version of the JSON document.
const VERSION: u32 = 1;

/// Page of the comparison with the copy.
pub fn page(copy: &FreshCopy, view: &LayoutView<'_>) -> Report {
    let mut page = Report::new(format!("Fresh copy of {}", view.path));
    page.blocks.extend(sentence(copy).map(|text| Block::Paragraph { text }));
    page.key_values(about(copy, view));
    page.heading("Reading everything");
    page.table(reads(copy));
    page.heading("Layout");
    page.table(layouts(copy));
    notes(copy, &mut page);
    page
}

/// Cost of reading the tree in a sentence: `Reading everything takes 1.340 times as long as from
/// the fresh copy.` `None` where the reads have no ratio.
fn sentence(copy: &FreshCopy) -> Option<String> {
    let measures = copy_measures(copy);
    // The last time is that of the modelled disk, if there is one.
    let time = measures.iter().rfind(|measure| measure.unit == Unit::Seconds)?;
    let text = |value: f64| Number { value, unit: String::new(), style: NumberStyle::Ratio }.text();
    let interval = time.interval.map_or_else(String::new, |(low, high)| {
        format!(" (95 % interval {} to {})", text(low), text(high))
    });
    let ratio = text(time.ratio?);
    if time.interval.is_some_and(|(low, high)| low <= 1.0 && high >= 1.0) {
        return Some(format!(
            "No difference from the fresh copy in the time of reading everything is shown: {ratio} \
             times as long{interval}."
        ));
    }
    Some(format!(
        "Reading everything takes {ratio} times as long as from the fresh copy{interval}."
    ))
}

fn about(copy: &FreshCopy, view: &LayoutView<'_>) -> Vec<(String, Cell)> {
    let copied = &copy.copied;
    let pairs = [
        ("filesystem", Cell::some_text(copy.aged.filesystem.as_deref().unwrap_or_default())),
        ("read through", Cell::some_text(view.through)),
        ("copied to", Cell::some_text(&copy.on)),
        ("made by", Cell::some_text(&copy.mkfs.join(" "))),
        ("files", Cell::whole(copied.files)),
        ("directories", Cell::whole(copied.directories)),
        ("content", Cell::measured(copied.bytes as f64, Unit::Bytes)),
    ];
    // Values that do not apply to a plain directory are missing.
    let reported = pairs.into_iter().filter(|(_, cell)| *cell != Cell::Missing);
    reported.map(|(name, cell)| (name.to_owned(), cell)).collect()
}

/// Table of the read cost of both trees.
fn reads(copy: &FreshCopy) -> Table {
    let turns = copy.reads.iter().filter(|read| read.is_fresh).count();
    let times = if turns == 1 { "once".to_owned() } else { format!("{turns} times, in turns") };
    let caption = format!(
        "All directories and files of each are read {times}, in directory order, with cold \
         caches: medians, and the geometric mean of the ratios of the turns."
    );
    Table::from_rows("fresh_copy", &caption, copy_measures(copy).iter().map(row))
}

fn row(measure: &CopyMeasure) -> Vec<RowField> {
    let number = |value: f64| match measure.unit {
        Unit::Count if measure.name == "dynamic layout score" => {
            Number { value, unit: String::new(), style: NumberStyle::Ratio }
        }
        unit => Number::measured(value, unit),
    };
    let ratio = |value: f64| Number { value, unit: String::new(), style: NumberStyle::Ratio };
    let range = |of: &MeasureSummary| Cell::between(number(of.low), number(of.high));
    let interval = |(low, high)| Cell::between(ratio(low), ratio(high));
    vec![
        RowField::text("figure", measure.name),
        RowField::mixed("as it is", number(measure.aged.median)),
        RowField::mixed("low–high", range(&measure.aged)),
        RowField::mixed("fresh copy", number(measure.fresh.median)),
        RowField::mixed("its low–high", range(&measure.fresh)),
        RowField::mixed("ratio", measure.ratio.map_or(Cell::Missing, |it| ratio(it).into())),
        RowField::mixed("95 %", measure.interval.map_or(Cell::Missing, interval)),
    ]
}

/// Table of the layout of both trees.
fn layouts(copy: &FreshCopy) -> Table {
    let row = |measure: &LayoutMeasure| {
        let cell = |layout| match measure.unit {
            Unit::Count => (measure.of)(layout).map_or(Cell::Missing, |value| {
                let style =
                    if value.fract() == 0.0 { NumberStyle::Whole } else { NumberStyle::Measured };
                Number { value, unit: String::new(), style }.into()
            }),
            unit => Cell::measured((measure.of)(layout), unit),
        };
        vec![
            RowField::text("measure", measure.name),
            RowField::mixed("as it is", cell(&copy.aged)),
            RowField::mixed("fresh copy", cell(&copy.fresh)),
        ]
    };
    Table::from_rows("fresh_copy_layout", "", LAYOUT_MEASURES.iter().map(row))
}

/// Adds notes on missing figures and cautions.
fn notes(copy: &FreshCopy, page: &mut Report) {
    let copied = &copy.copied;
    for (count, singular, plural) in [
        (
            copied.hard_links,
            "additional hard link was created",
            "additional hard links were \
                             created",
        ),
        (copied.symlinks, "symbolic link was created", "symbolic links were created"),
        (copied.others, "special file was left out", "special files were left out"),
        (copied.failed, "entry could not be read", "entries could not be read"),
    ] {
        if count > 0 {
            page.note(format!("{count} {}.", if count == 1 { singular } else { plural }));
        }
    }
    if !copy.same_order {
        page.note(
            "The copy returns its entries in a different order from the tree, so files were not \
             copied in the order in which they are read, and the copy is not optimal.",
        );
    }
    copy.cautions.iter().for_each(|caution| page.note(format!("{caution}.")));
}

#[derive(Serialize)]
struct FreshCopyDocument<'c> {
    treering_fresh_copy: json::Version,
    path: &'c str,
    through: &'c str,
    #[serde(flatten)]
    copy: &'c FreshCopy,
    measures: Vec<CopyMeasure>,
}

/// Writes the comparison as JSON in one line, as docs/json.md documents it.
///
/// # Errors
/// If the writer fails.
pub fn write_json(
    copy: &FreshCopy,
    view: &LayoutView<'_>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let document = FreshCopyDocument {
        treering_fresh_copy: json::Version { version: VERSION },
        path: view.path,
        through: view.through,
        copy,
        measures: copy_measures(copy),
    };
    json::write_line(&document, out)
}
