//! Files that wait for their place: stores in memory, and directories that are held while they are
//! used.

mod directory;
mod store;

pub use directory::{HeldDirectory, HeldDirectoryError};
pub use store::{
    STAGED_STORE, StagedFile, StagingError, own_staging_directory, remove_staged_files,
    staged_files, staged_prefix,
};
