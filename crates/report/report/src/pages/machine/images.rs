//! Pages about saved images of aged filesystems: a list, and a single image with its recipe and
//! layout.

use std::path::PathBuf;

use treering_model::ImageRecord;

use crate::pages::layout::{self, LayoutView};
use crate::table::RowField;
use crate::{Report, Table};

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
    let row = |ListedImage { name, record }: &ListedImage| {
        let known = record.as_ref().ok();
        let bytes = |name, of: fn(&ImageRecord) -> u64| RowField::bytes(name, known.map(of));
        vec![
            RowField::text("image", name),
            RowField::text("filesystem", known.map_or("", |record| &record.filesystem)),
            bytes("device", |record| record.device_bytes),
            bytes("data", |record| record.data_bytes),
            bytes("stored", |record| record.stored_bytes),
            RowField::text("profile", known.and_then(|it| it.made_with("profile")).unwrap_or("")),
            RowField::text("recipe", known.map(ImageRecord::recipe_key).unwrap_or_default()),
            RowField::long_text("damage", record.as_ref().err().map_or("", |error| error)),
        ]
    };
    let caption = "`treering image show NAME` says how one was made.";
    let table = Table::from_rows("images", caption, images.iter().map(row));
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
    let row = |name: &str, value: &str| {
        vec![RowField::text("what", name), RowField::long_text("value", value)]
    };
    let saved = jiff::Timestamp::from_millisecond(record.saved_unix_ms);
    let about = [
        row("filesystem", &record.filesystem),
        row("saved", &saved.map(|time| time.to_string()).unwrap_or_default()),
        row("device bytes", &record.device_bytes.to_string()),
        row("data bytes", &record.data_bytes.to_string()),
        row("stored bytes", &record.stored_bytes.to_string()),
        row("fingerprint", &record.fingerprint),
        row("recipe", &record.recipe_key()),
    ];
    page.table(Table::from_rows("image", "", about));
    for (name, caption, pairs) in [
        ("recipe", "What decides the list of operations and the filesystem.", &record.recipe),
        ("outcome", "What came of it.", &record.outcome),
    ] {
        let rows = pairs.iter().map(|(name, value)| row(name, value));
        let table = Table::from_rows(name, caption, rows);
        if !table.rows.is_empty() {
            page.table(table);
        }
    }
    page.heading("Layout");
    let view = LayoutView { path: name, through: "the image, when it was saved" };
    page.blocks.extend(layout::page(&record.layout, None, &view).blocks);
    page
}
