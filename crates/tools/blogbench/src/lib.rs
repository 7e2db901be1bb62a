//! blogbench: writers, rewriters, commenters and readers of blogs, which are directories of
//! articles, pictures and comments, as blogbench 1.1 has them.
//!
//! `draws` has the random draws, `names` the file names, `thread` the code of each kind of thread,
//! `counts` their counters, and `session` runs them concurrently and takes a row per interval.
//! Nothing here calls the kernel.

mod classic;
mod config;
mod draws;
mod headline;
mod import;
mod job;
mod names;
mod once;
mod options;
mod output;
mod room;
mod session;
mod thread;

use crate::classic::{counts, text};

use job::BlogJob;
use treering_kit::imitation;

/// Entry of the tool in the registry.
pub const TOOL: treering_kit::Tool =
    treering_kit::Tool { workload: Some(&Blogbench), importer: Some(&import::BlogbenchImporter) };

imitation!(Blogbench, BlogJob, over_ranks: Apart);
