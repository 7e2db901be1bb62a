//! Charts of a page: what they show, as data, here; how they are drawn as SVG in the files beside.
//!
//! A chart repeats numbers that stand in a table too, so formats without pictures leave it out.

mod axis;
mod forest;
mod mark;
mod rounds;

use maud::Markup;
use serde::{Deserialize, Serialize};
use treering_analysis::compare::Verdict;
use treering_model::{Better, Unit};

pub(crate) use rounds::MOST_SIDES;

/// A chart. A new kind is a new variant with a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "chart", rename_all = "snake_case")]
pub enum Chart {
    /// Ratios with their intervals, one below the other.
    Forest(Forest),
    /// What every trial measured, round by round.
    Rounds(Rounds),
}

/// Ratios with their intervals on a logarithmic axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest {
    /// Over what the ratios are.
    pub baseline: String,
    /// One for each metric and contender.
    pub rows: Vec<ForestRow>,
}

/// A ratio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForestRow {
    /// The metric.
    pub metric: String,
    /// Who is compared with the baseline.
    pub contender: String,
    /// Contender over baseline, above zero; `None` where values forbid a ratio.
    pub ratio: Option<f64>,
    /// The ends of its interval, above zero.
    pub interval: Option<(f64, f64)>,
    /// What is known of it.
    pub verdict: Verdict,
    /// The smallest relative difference that matters: .03 is 3 %.
    pub threshold: f64,
    /// Which way is better.
    pub better: Better,
}

/// The values of one metric, round by round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// The metric, with its unit at the end.
    pub metric: String,
    /// The unit of the values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Whether values at the same place are of the same round.
    pub paired: bool,
    /// The sides, the baseline first.
    pub sides: Vec<RoundsSide>,
    /// Charts of this job that were left out behind this one, lest there be too many.
    pub left_out: usize,
}

/// The values of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsSide {
    /// Its name.
    pub name: String,
    /// A value for each round, finite; `None` where the round does not count.
    pub values: Vec<Option<f64>>,
}

impl Chart {
    /// The chart as SVG, with its title and its legend.
    pub(crate) fn figure(&self) -> Markup {
        match self {
            Self::Forest(forest) => forest::figure(forest),
            Self::Rounds(rounds) => rounds::figure(rounds),
        }
    }
}
