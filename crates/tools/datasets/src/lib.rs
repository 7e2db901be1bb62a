//! Datasets of source trees: storage and recording, and the language of their files.
//!
//! `record` makes a dataset from trees on disk, `library` finds and saves datasets and has the
//! shipped ones, `report` computes their statistics. The compilebench workload uses them.

mod build_command;
mod fingerprint;
mod language;
pub mod library;
pub mod record;
mod record_error;
pub mod report;
mod scan;
mod selection;

use crate::language::order;
pub use crate::language::{
    Dataset, FileList, StateSet, TitleError, TooManyBytes, TreeState, check_title, classic, format,
};

pub use fingerprint::fingerprint;
pub use scan::OmittedEntries;
pub use selection::{PathSelection, SelectionError};
