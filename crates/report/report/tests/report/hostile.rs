//! Hostile text in every page and every format.

use serde_json::Value;
use treering_report::formats::{ALL, by_name};
use treering_report::pages::{run, trials};
use treering_report::{Block, Report};

use crate::fixture::{self, HOSTILE};
use crate::goldens::{row, show};
use crate::rendered;

/// All pages with hostile text in all fields.
fn pages() -> Vec<Report> {
    let trial = fixture::hostile();
    let mut row = row(&trial, Some(trial.ending.clone()));
    HOSTILE[0].clone_into(&mut row.short_id);
    let stored = run::StoreLocation { short_id: HOSTILE[0], place: HOSTILE[1] };
    let mut every_block = Report::new(HOSTILE.concat());
    every_block.heading(HOSTILE[0]);
    every_block.paragraph(HOSTILE[1]);
    every_block.note(HOSTILE[0]);
    every_block.command(HOSTILE[0], HOSTILE[0]);
    vec![show(&trial, true), trials::page(&[row]), run::page(&trial, Some(&stored)), every_block]
}

fn acts_on_the_screen(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{200b}' | '\u{e0041}')
}

#[test]
fn control_characters_are_escaped_in_every_format() {
    for page in pages() {
        for format in ALL {
            let text = rendered(&page, *format).replace("\r\n", "\n");
            let unescaped = text.chars().find(|&c| acts_on_the_screen(c));
            assert_eq!(unescaped, None, "{}: {text}", format.name());
        }
    }
}

#[test]
fn escaped_text_stays_recognisable() {
    for name in ["terminal", "plain", "markdown"] {
        let text = rendered(&pages()[3], by_name(name).unwrap());
        assert!(text.contains("\\x1b"), "{name}: {text}");
        assert!(text.contains("\\u{9b}") || text.contains("\\u{9b"), "{name}: {text}");
    }
}

#[test]
fn a_name_cannot_add_a_cell_to_markdown() {
    let text = rendered(&pages()[0], by_name("markdown").unwrap());
    let mut tables = 0;
    let mut columns = 0;
    for line in text.lines() {
        if !line.starts_with('|') {
            columns = 0;
            continue;
        }
        let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
        if columns == 0 {
            columns = bars;
            tables += 1;
        }
        assert_eq!(bars, columns, "{line}");
    }
    assert!(tables >= 6, "{tables} tables");
    assert!(!text.contains("<script>"));
}

#[test]
fn a_fence_is_longer_than_the_backticks_in_it() {
    let mut page = Report::new("page");
    page.command("Run", "echo '```' '````'");
    let text = rendered(&page, by_name("markdown").unwrap());
    assert!(text.contains("\n`````sh\necho '```' '````'\n`````\n"), "{text}");
}

#[test]
fn csv_cells_hold_no_control_characters_or_formulas() {
    for page in pages() {
        is_harmless_csv(&rendered(&page, by_name("csv").unwrap()));
    }
    // The visible part of a text is still recognisable.
    let text = rendered(&pages()[0], by_name("csv").unwrap());
    assert!(text.contains("\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""), "{text}");
    assert!(text.contains("\\x1b]0;owned\\x07"), "{text}");
}

/// Asserts that no cell of a comma-separated table contains control characters or a formula.
pub(crate) fn is_harmless_csv(text: &str) {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text.as_bytes());
    let mut cells = 0;
    for record in reader.records().map(Result::unwrap) {
        for cell in &record {
            assert_eq!(
                cell.chars().find(|&c| c == '\n' || acts_on_the_screen(c)),
                None,
                "{cell:?}"
            );
            let computes = cell.trim_start().starts_with(['=', '+', '-', '@']);
            assert!(!computes || cell.parse::<f64>().is_ok(), "{cell:?}");
            cells += 1;
        }
    }
    assert!(cells > 0 || text.is_empty());
}

#[test]
fn csv_tables_have_rows_as_long_as_their_header() {
    for page in [show(&fixture::aging(), true), show(&fixture::extreme(), true)] {
        let text = rendered(&page, by_name("csv").unwrap());
        let mut tables = 0;
        for table in text.split("\r\n\r\n") {
            let mut reader = csv::Reader::from_reader(table.as_bytes());
            assert_eq!(reader.headers().unwrap().get(0), Some("table"));
            tables += 1;
            let rows = reader.records().map(Result::unwrap).count();
            assert!(rows > 0);
        }
        assert_eq!(tables, page.tables().count());
    }
}

#[test]
fn json_round_trips_a_document() {
    for page in pages().into_iter().chain([show(&fixture::aging(), true)]) {
        let text = rendered(&page, by_name("json").unwrap());
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["treering_report"]["version"], 1);
        let blocks = serde_json::from_value::<Vec<Block>>(value["blocks"].clone()).unwrap();
        assert_eq!((value["title"].as_str().unwrap(), blocks), (page.title.as_str(), page.blocks));
    }
}
