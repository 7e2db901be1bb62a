//! Pages about saved images of aged filesystems: a list, and a single image with its recipe and
//! layout.

use std::path::PathBuf;

use treering_model::{ImageRecord, Unit};

use crate::pages::layout::{self, LayoutView};
use crate::{Cell, Column, Report, Table};

/// Saved image, or the reason why its record cannot be read.
pub struct ListedImage {
    /// Name of the image.
    pub name: String,
    /// Record of the image, or a description of its damage.
    pub record: Result<ImageRecord, String>,
}

/// Page with the saved images; `unfinished` holds the folders of images left by killed runs.
pub fn list(images: Vec<ListedImage>, unfinished: &[PathBuf]) -> Report {
    let mut page = Report::new("Saved images");
    let columns = vec![
        Column::text("image"),
        Column::text("filesystem"),
        Column::number("device", Unit::Bytes),
        Column::number("data", Unit::Bytes),
        Column::number("stored", Unit::Bytes),
        Column::text("profile"),
        Column::text("recipe"),
        Column::long_text("damage"),
    ];
    let caption = "`treering image show NAME` says how one was made.";
    let mut table = Table::new("images", caption, columns);
    let bytes = |bytes: u64| Cell::measured(bytes as f64, Unit::Bytes);
    for ListedImage { name, record } in images {
        table.rows.push(match record {
            Ok(record) => {
                vec![
                    Cell::text(name),
                    Cell::text(&record.filesystem),
                    bytes(record.device_bytes),
                    bytes(record.data_bytes),
                    bytes(record.stored_bytes),
                    Cell::text(record.made_with("profile").unwrap_or("")),
                    Cell::text(record.recipe_key()),
                    Cell::text(""),
                ]
            }
            Err(error) => {
                let mut row = vec![Cell::text(""); 8];
                (row[0], row[7]) = (Cell::text(name), Cell::text(error));
                row
            }
        });
    }
    if table.rows.is_empty() {
        page.paragraph("No image is saved. `treering age TARGET … --save NAME` saves one.");
    } else {
        page.table(table);
    }
    for folder in unfinished {
        page.note(format!(
            "A run that was killed left {} unfinished; `treering lab release` removes it.",
            folder.display()
        ));
    }
    page
}

/// Page about a saved image.
pub fn show(name: &str, record: &ImageRecord) -> Report {
    let mut page = Report::new(format!("Saved image {name}"));
    let columns = || vec![Column::text("what"), Column::long_text("value")];
    let row = |name: &str, value: &str| vec![Cell::text(name), Cell::text(value)];
    let mut about = Table::new("image", "", columns());
    let saved = jiff::Timestamp::from_millisecond(record.saved_unix_ms);
    about.rows = vec![
        row("filesystem", &record.filesystem),
        row("saved", &saved.map(|time| time.to_string()).unwrap_or_default()),
        row("device bytes", &record.device_bytes.to_string()),
        row("data bytes", &record.data_bytes.to_string()),
        row("stored bytes", &record.stored_bytes.to_string()),
        row("fingerprint", &record.fingerprint),
        row("recipe", &record.recipe_key()),
    ];
    page.table(about);
    for (name, caption, pairs) in [
        ("recipe", "What decides the list of operations and the filesystem.", &record.recipe),
        ("outcome", "What came of it.", &record.outcome),
    ] {
        let mut table = Table::new(name, caption, columns());
        table.rows = pairs.iter().map(|(name, value)| row(name, value)).collect();
        if !table.rows.is_empty() {
            page.table(table);
        }
    }
    page.heading("Layout");
    let view = LayoutView { path: name, through: "the image, when it was saved" };
    page.blocks.extend(layout::page(&record.layout, None, &view).blocks);
    page
}
