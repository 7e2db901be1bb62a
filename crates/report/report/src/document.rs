//! The document: what a page says, before any format lays it out.

use serde::{Deserialize, Serialize};
use treering_model::Caution;

use crate::{Cell, Chart, Table};

/// The version of the document's JSON.
pub(crate) const REPORT_VERSION: u32 = 1;

/// A page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Its title.
    pub title: String,
    /// What follows, from top to bottom.
    pub blocks: Vec<Block>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// The title of what follows.
    Heading {
        /// Its words.
        text: String,
    },
    /// A piece of running text.
    Paragraph {
        /// Its words.
        text: String,
    },
    /// A table.
    Table(Table),
    /// Names and values: parameters, environment.
    KeyValues {
        /// The pairs in their order.
        pairs: Vec<Pair>,
    },
    /// Warnings, each with advice.
    Cautions {
        /// The warnings.
        cautions: Vec<Warning>,
    },
    /// A command line that can be copied.
    Command {
        /// What it is good for.
        purpose: String,
        /// The line, quoted for a shell.
        line: String,
    },
    /// A remark beside the matter.
    Note {
        /// Its words.
        text: String,
    },
    /// A chart, for formats that can draw.
    Chart(Chart),
    /// A long table that few people want, folded away, for formats that can fold.
    Folded {
        /// What stands on the fold.
        title: String,
        /// The table.
        table: Table,
    },
    /// What was measured, number by number, for formats from which it can be copied.
    RawNumbers {
        /// The lists.
        lists: Vec<RawList>,
    },
}

impl Block {
    /// Whether only pages with pictures show it: what it says stands in tables too, or is too long
    /// to be read.
    pub(crate) fn is_beside_text(&self) -> bool {
        matches!(self, Self::Chart(_) | Self::Folded { .. } | Self::RawNumbers { .. })
    }
}

/// The values of a metric on one variant, in the order of the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawList {
    /// Workload and job.
    pub job: String,
    /// The metric's name, as in the JSON of a comparison.
    pub metric: String,
    /// The unit of the values.
    pub unit: String,
    /// The variant. Contenders follow the baseline whose rounds theirs are.
    pub variant: String,
    /// The values.
    pub values: Vec<f64>,
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The name.
    pub key: String,
    /// The value.
    pub value: Cell,
}

/// A caution as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// The word for its kind.
    pub code: String,
    /// Findings.
    pub message: String,
    /// What to do about it.
    pub advice: String,
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
    /// A page with nothing below its title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) {
        self.blocks.push(Block::Heading { text: text.to_owned() });
    }

    /// Adds running text.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph { text: text.into() });
    }

    /// Adds a remark.
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

    /// Adds names and values.
    pub(crate) fn key_values(&mut self, pairs: impl IntoIterator<Item = (String, Cell)>) {
        let pairs = pairs.into_iter().map(|(key, value)| Pair { key, value }).collect();
        self.blocks.push(Block::KeyValues { pairs });
    }

    /// Adds warnings, when there are any.
    pub fn cautions(&mut self, cautions: &[Caution]) {
        if !cautions.is_empty() {
            let cautions = cautions.iter().map(Warning::from).collect();
            self.blocks.push(Block::Cautions { cautions });
        }
    }

    /// Adds a command line.
    pub fn command(&mut self, purpose: &str, line: &str) {
        let (purpose, line) = (purpose.to_owned(), line.to_owned());
        self.blocks.push(Block::Command { purpose, line });
    }

    /// The tables of the page in their order.
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
            | Block::RawNumbers { .. } => None,
        })
    }
}
