//! Staged files: stores in memory, and directories that exist only while they are used.

mod directory;
mod store;

pub use directory::{HeldDirectory, HeldDirectoryError};
pub use store::{
    STAGED_STORE, StagedFile, StagingError, own_staging_directory, remove_staged_files,
    staged_files, staged_prefix,
};
