//! Document model: the contents of a page, independent of the output format.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use treering_model::{Caution, counted};

use crate::{Cell, Chart, Table};

/// Version of the document's JSON.
pub(crate) const REPORT_VERSION: u32 = 1;

/// A page: title and blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Title of the page.
    pub title: String,
    /// Blocks from top to bottom.
    pub blocks: Vec<Block>,
    /// True for the end of a command on a terminal: text begins with the answer, without the title.
    #[serde(skip)]
    pub begins_with_answer: bool,
}

/// Block of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// Heading of the blocks that follow.
    Heading {
        /// Text of the heading.
        text: String,
    },
    /// A paragraph of running text.
    Paragraph {
        /// Text of the paragraph.
        text: String,
    },
    /// A table.
    Table(Table),
    /// Key-value pairs: parameters, environment.
    KeyValues {
        /// Pairs in display order.
        pairs: Vec<KeyValue>,
    },
    /// Cautions, each with advice.
    Cautions {
        /// Cautions in display order.
        cautions: Vec<Warning>,
    },
    /// A command line to copy.
    Command {
        /// Purpose of the command, shown before it.
        purpose: String,
        /// Command line, quoted for a shell.
        line: String,
    },
    /// A side note.
    Note {
        /// Text of the note.
        text: String,
    },
    /// A chart; omitted by formats without graphics.
    Chart(Chart),
    /// Long table that few readers need, collapsed in formats that support it.
    Folded {
        /// Title of the collapsed table.
        title: String,
        /// Table that is collapsed.
        table: Table,
    },
    /// Raw measured values to copy, in formats that support it.
    RawNumbers {
        /// Lists of values, one for each metric and variant.
        lists: Vec<RawList>,
    },
    /// Foot of the page, in formats that have one.
    Origin(PageOrigin),
}

impl Block {
    /// Reports whether the block is shown only in graphical formats, since its contents also appear
    /// in tables or are too long to read.
    pub(crate) fn is_beside_text(&self) -> bool {
        matches!(
            self,
            Self::Chart(_) | Self::Folded { .. } | Self::RawNumbers { .. } | Self::Origin(_)
        )
    }
}

/// Origin of a page's figures: when and where they were measured, and the command that repeats the
/// measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageOrigin {
    /// Facts in display order, each with its name: `kernel` and `6.18.44`.
    pub facts: Vec<(String, String)>,
    /// Command lines with their purposes, quoted for a shell.
    pub commands: Vec<(String, String)>,
}

/// Values of a metric on one variant, in round order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawList {
    /// Workload and job of the values.
    pub job: String,
    /// Full name of the metric, as in the JSON of a comparison.
    pub metric: String,
    /// Unit of the values.
    pub unit: String,
    /// Name of the variant. Contenders follow the baseline with which they are paired.
    pub variant: String,
    /// Measured values.
    pub values: Vec<f64>,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyValue {
    /// Name shown before the value.
    pub key: String,
    /// Value, as a table cell.
    pub value: Cell,
}

/// A caution as shown to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Code of the caution.
    pub code: String,
    /// Findings with their figures.
    pub message: String,
    /// Advice on how to resolve the caution.
    pub advice: String,
}

impl Warning {
    /// Shortens the warning for the end of a command: without advice, and with the number and the
    /// codes of the other ones.
    #[must_use]
    pub(crate) fn before_others<'c>(mut self, codes: impl IntoIterator<Item = &'c str>) -> Self {
        let codes: Vec<&str> = codes.into_iter().collect();
        self.advice.clear();
        if !codes.is_empty() {
            let more = counted(codes.len(), "more caution");
            let codes: BTreeSet<&str> = codes.into_iter().collect();
            let codes: Vec<&str> = codes.into_iter().collect();
            self.message.push_str(&format!("; and {more}: {}", codes.join(", ")));
        }
        self
    }
}

impl From<&Caution> for Warning {
    fn from(caution: &Caution) -> Self {
        Self {
            code: caution.code.name().to_owned(),
            message: caution.message.clone(),
            advice: caution.code.advice().to_owned(),
        }
    }
}

impl Report {
    /// Creates a page with a title and no blocks.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new(), begins_with_answer: false }
    }

    /// Creates a page for the end of a command: text formats begin with its first block and omit
    /// the title.
    pub fn answer(title: impl Into<String>) -> Self {
        Self { begins_with_answer: true, ..Self::new(title) }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) {
        self.blocks.push(Block::Heading { text: text.to_owned() });
    }

    /// Adds a paragraph of running text.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph { text: text.into() });
    }

    /// Adds a side note.
    pub fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note { text: text.into() });
    }

    /// Adds a table.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// Adds a chart.
    pub fn chart(&mut self, chart: Chart) {
        self.blocks.push(Block::Chart(chart));
    }

    /// Adds key-value pairs.
    pub(crate) fn key_values(&mut self, pairs: impl IntoIterator<Item = (String, Cell)>) {
        let pairs = pairs.into_iter().map(|(key, value)| KeyValue { key, value }).collect();
        self.blocks.push(Block::KeyValues { pairs });
    }

    /// Adds a block of cautions, unless there are none.
    pub fn cautions(&mut self, cautions: &[Caution]) {
        if !cautions.is_empty() {
            let cautions = cautions.iter().map(Warning::from).collect();
            self.blocks.push(Block::Cautions { cautions });
        }
    }

    /// Adds a command line with its purpose.
    pub fn command(&mut self, purpose: &str, line: &str) {
        let (purpose, line) = (purpose.to_owned(), line.to_owned());
        self.blocks.push(Block::Command { purpose, line });
    }

    /// Adds the origin of the figures, the foot of the page.
    pub fn origin(&mut self, origin: PageOrigin) {
        self.blocks.push(Block::Origin(origin));
    }

    /// Tables of the page in order, without collapsed ones.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            Block::Heading { .. }
            | Block::Paragraph { .. }
            | Block::KeyValues { .. }
            | Block::Cautions { .. }
            | Block::Command { .. }
            | Block::Note { .. }
            | Block::Chart(_)
            | Block::Folded { .. }
            | Block::RawNumbers { .. }
            | Block::Origin(_) => None,
        })
    }
}
