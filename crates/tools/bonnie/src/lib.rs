//! bonnie++: twelve tests, six on one large file and six on many small ones, as bonnie++ 2.00a.
//!
//! `config`, `spec` and `native` read the options into a `shape`; the code of the tests is in `io`,
//! `seeks`, `files` and `prepare`; `meter` has their measurements, and `headline` the metrics
//! computed from them. Nothing here calls the kernel.

mod classic;
mod config;
mod dice;
mod files;
mod headline;
mod identity;
mod import;
mod io;
mod job;
mod meter;
mod names;
mod native;
mod options;
mod output;
mod prepare;
mod seeks;
mod session;
mod shape;
mod spec;

use crate::classic::{asked, test, text};

use job::BonnieJob;
use treering_kit::imitation;

/// Entry of the tool in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Bonnie), importer: Some(&import::BonnieImporter) };

imitation!(Bonnie, BonnieJob, over_ranks: Apart);
