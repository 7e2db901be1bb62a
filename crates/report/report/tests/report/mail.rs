//! Plain text stays within 72 columns and omits nothing, for any document; a terminal page
//! stays within the terminal's width.

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use treering_model::{BetterDirection, Unit, is_unsafe};
use treering_report::formats::{by_name, terminal};
use treering_report::{
    Align, Block, Cell, Column, ColumnKind, KeyValue, Report, Table, Tone, Warning,
};

use unicode_width::UnicodeWidthStr;

use crate::fixture;
use crate::goldens::{list, show};
use crate::rendered;

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{0,30}", "[a-z/]{60,160}", "[a-z ,.]{60,300}", any::<String>()]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), -1e6..1e6, Just(0.0), Just(u64::MAX as f64)]
}

fn cell() -> impl Strategy<Value = Cell> {
    let unit = || (0..Unit::ALL.len()).prop_map(|place| Unit::ALL[place]);
    prop_oneof![
        Just(Cell::Missing),
        text().prop_map(|text| Cell::toned(text, Tone::Bad)),
        (number(), unit()).prop_map(|(value, unit)| Cell::measured(value, unit)),
        (number(), number(), unit()).prop_map(|(low, high, unit)| Cell::range(low, high, unit)),
    ]
}

fn column() -> impl Strategy<Value = Column> {
    (text(), text(), any::<bool>(), any::<bool>()).prop_map(|(name, unit, left, wraps)| Column {
        name,
        unit,
        kind: ColumnKind::Mixed,
        align: if left { Align::Left } else { Align::Right },
        better: left.then_some(BetterDirection::Lower),
        wraps,
    })
}

fn table() -> impl Strategy<Value = Table> {
    let shape = (0usize..9, 0usize..5, 0usize..4);
    shape.prop_flat_map(|(columns, rows, keys)| {
        (text(), vec(column(), columns), vec(vec(cell(), columns), rows)).prop_map(
            move |(caption, columns, rows)| Table {
                name: String::new(),
                caption,
                keys,
                columns,
                rows,
                folded: None,
            },
        )
    })
}

pub(crate) fn block() -> impl Strategy<Value = Block> {
    let pair = (text(), cell()).prop_map(|(key, value)| KeyValue { key, value });
    let warning = (text(), text(), text()).prop_map(|(code, message, advice)| Warning {
        code,
        message,
        advice,
    });
    prop_oneof![
        text().prop_map(|text| Block::Heading { text }),
        text().prop_map(|text| Block::Paragraph { text }),
        text().prop_map(|text| Block::Note { text }),
        table().prop_map(Block::Table),
        vec(pair, 0..6).prop_map(|pairs| Block::KeyValues { pairs }),
        vec(warning, 0..3).prop_map(|cautions| Block::Cautions { cautions }),
        (text(), text()).prop_map(|(purpose, line)| Block::Command { purpose, line }),
    ]
}

fn assert_mailable(text: &str) {
    for line in text.lines() {
        assert!(line.width() <= 72, "{} columns: {line}", line.width());
        assert!(!line.chars().any(is_unsafe), "{line:?}");
        assert!(!line.ends_with(' '), "{line:?}");
    }
    assert!(text.ends_with('\n'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_document_fits(title in text(), blocks in vec(block(), 0..5)) {
        let page = Report { blocks, ..Report::new(title) };
        assert_mailable(&rendered(&page, by_name("plain").unwrap()));
    }

    /// Command lines are excluded from the property, since a terminal wraps them itself so that
    /// they can be copied.
    #[test]
    fn any_document_fits_a_terminal(
        title in text(),
        blocks in vec(block(), 0..5),
        width in 40usize..160,
    ) {
        let is_command = |block: &Block| matches!(block, Block::Command { .. });
        let blocks = blocks.into_iter().filter(|block| !is_command(block)).collect();
        let terminal = terminal::Terminal { width, colour: false };
        let page = rendered(&Report { blocks, ..Report::new(title) }, &terminal);
        for line in page.lines() {
            assert!(line.width() <= width, "{} of {width} columns: {line}", line.width());
        }
    }

    /// Each cell holds a unique word, so that a lost cell is noticed.
    #[test]
    fn no_cell_is_lost(columns in 1usize..14, rows in 1usize..6, length in 4usize..90) {
        let word = |row: usize, column: usize| {
            let seed = format!("r{row}c{column}x");
            seed.chars().cycle().take(seed.len().max(length)).collect::<String>()
        };
        let names = (0..columns).map(|_| Column::text("name")).collect();
        let mut table = Table::new("words", "", names);
        for row in 0..rows {
            table.rows.push((0..columns).map(|column| Cell::text(word(row, column))).collect());
        }
        let mut report = Report::new("page");
        report.table(table);
        let text = rendered(&report, by_name("plain").unwrap());
        assert_mailable(&text);
        let solid: String = text.split_whitespace().collect();
        for row in 0..rows {
            for column in 0..columns {
                assert!(solid.contains(&word(row, column)), "row {row}, column {column}: {text}");
            }
        }
    }
}

#[test]
fn our_own_pages_fit() {
    let trials = [
        fixture::aging(),
        fixture::failed_at_once(),
        fixture::interrupted(),
        fixture::extreme(),
        fixture::hostile(),
    ];
    for trial in &trials {
        assert_mailable(&rendered(&show(trial, true), by_name("plain").unwrap()));
    }
    assert_mailable(&rendered(&list(), by_name("plain").unwrap()));
}

#[test]
fn a_wide_table_is_split_with_its_names_repeated() {
    let text = rendered(&list(), by_name("plain").unwrap());
    let panels = text.lines().filter(|line| line.starts_with("trial ")).count();
    assert!(panels >= 2, "{text}");
    let named = text.lines().filter(|line| line.starts_with(fixture::SHORT_ID)).count();
    assert_eq!(named, panels * 4, "{text}");
}
