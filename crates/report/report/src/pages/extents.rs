//! Extents of single files: a table for each, and all of them as JSON.

use serde::Serialize;
use serde_json::json;

use crate::table::RowField;
use crate::{Cell, Column, Report, Table};

/// A file with its extents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileExtents {
    /// Path as given.
    pub path: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Block size of its filesystem in bytes.
    pub block_bytes: u64,
    /// Extents in file order, as the kernel reports them.
    pub extents: Vec<ListedExtent>,
}

/// An extent of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedExtent {
    /// Logical offset in the file, in bytes.
    pub logical_bytes: u64,
    /// Physical offset on the device, in bytes; `None` if the extent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_bytes: Option<u64>,
    /// Length in bytes.
    pub length_bytes: u64,
    /// Flags, with filefrag's names.
    pub flags: Vec<&'static str>,
}

impl FileExtents {
    /// Number of physically discontiguous pieces, as filefrag counts them. An extent after a hole
    /// continues the piece if its physical distance equals the logical one.
    pub fn pieces(&self) -> u64 {
        let continues = |pair: &[ListedExtent]| {
            let apart = pair[1].logical_bytes.checked_sub(pair[0].logical_bytes);
            let placed = pair[1].physical_bytes.zip(pair[0].physical_bytes);
            apart.is_some() && apart == placed.and_then(|(to, from)| to.checked_sub(from))
        };
        let joined = self.extents.windows(2).filter(|pair| continues(pair)).count();
        (self.extents.len() - joined) as u64
    }
}

/// Page of the extents: offsets and lengths in blocks, as filefrag shows them.
pub fn page(files: &[FileExtents]) -> Report {
    let mut page = Report::new("Extents");
    for file in files {
        let pieces = file.pieces();
        let caption = format!(
            "{}: {} bytes in {pieces} {}, blocks of {} bytes.",
            file.path,
            file.bytes,
            if pieces == 1 { "piece" } else { "pieces" },
            file.block_bytes,
        );
        if file.extents.is_empty() {
            page.paragraph(caption);
            continue;
        }
        let unit = file.block_bytes.max(1);
        let rows = (0u64..).zip(&file.extents).map(|(number, extent)| {
            vec![
                exact("extent", Some(number)),
                exact("logical block", Some(extent.logical_bytes / unit)),
                exact("physical block", extent.physical_bytes.map(|bytes| bytes / unit)),
                exact("blocks", Some(extent.length_bytes.div_ceil(unit))),
                RowField::text("flags", extent.flags.join(",")),
            ]
        });
        page.table(Table::from_rows("extents", &caption, rows));
    }
    page
}

/// Offset or length, which is never rounded; missing for `None`.
fn exact(name: &str, number: Option<u64>) -> RowField {
    let cell = number.map_or(Cell::Missing, |number| Cell::text(number.to_string()));
    RowField::new(Column::text(name).aligned_right(), cell)
}

/// Formats the extents of all files as JSON, in bytes.
pub fn json(files: &[FileExtents]) -> String {
    let of = |file: &FileExtents| {
        let mut value = json!(file);
        value["pieces"] = json!(file.pieces());
        value
    };
    let files: Vec<_> = files.iter().map(of).collect();
    let document = json!({ "format": "treering extents", "version": 1, "files": files });
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _cannot_fail = crate::json::write(&document, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{FileExtents, ListedExtent, json};

    #[test]
    fn adjacent_extents_are_merged() {
        let extent = |logical_bytes, physical_bytes| ListedExtent {
            logical_bytes,
            physical_bytes,
            length_bytes: 4096,
            flags: vec!["last"],
        };
        let file = FileExtents {
            path: "f".to_owned(),
            bytes: 1,
            block_bytes: 4096,
            extents: vec![
                extent(0, Some(8192)),
                extent(4096, Some(12_288)),
                extent(16_384, Some(24_576)),
                extent(20_480, Some(4096)),
                extent(24_576, None),
            ],
        };
        assert_eq!(file.pieces(), 3);
        assert_eq!(FileExtents { extents: Vec::new(), ..file.clone() }.pieces(), 0);
        let reported: serde_json::Value = serde_json::from_str(&json(&[file])).unwrap();
        assert_eq!(reported["files"][0]["extents"][1]["physical_bytes"], 12_288);
        assert!(reported["files"][0]["extents"][4].get("physical_bytes").is_none());
    }
}
