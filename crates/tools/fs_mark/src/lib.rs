//! fs_mark: many files from several workers, synced in one of seven ways, as the tool of that name.
//!
//! `shape` and `config` hold the settings, `worker` and `tidy_up` the scripts, `locator` the
//! location of each file. Nothing here calls the kernel.

mod classic;
mod collisions;
mod config;
mod headline;
mod import;
mod job;
mod locator;
mod naming;
mod options;
mod output;
mod session;
mod shape;
mod tidy_up;
mod worker;

use crate::classic::{account, methods, text};

use job::MarkJob;
use treering_kit::imitation;

/// The line of fs_mark in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&FsMark), importer: Some(&import::FsMarkImporter) };

imitation!(FsMark, MarkJob, over_ranks: Workers("threads"));
