//! fs_mark: many files from several workers, synced in one of seven ways, as the tool of that name.
//!
//! What is asked for is in the configuration, the operations are in the scripts (`worker`,
//! `tidy_up`), where files are in the locator. Nothing here calls the kernel.

mod collisions;
mod config;
mod headline;
mod job;
mod locator;
mod naming;
mod options;
mod output;
mod session;
mod shape;
mod tidy_up;
mod worker;

use treering_classic::fs_mark::{account, methods, text};

use crate::imitation::imitation;
use job::MarkJob;

imitation!(FsMark, MarkJob, over_ranks: Workers("threads"));
