//! Errors of trials that could not begin or could not be recorded.

use thiserror::Error;
use treering_engine::TargetError;
use treering_lab::LabError;
use treering_model::SinkError;
use treering_script::ConfigError;

/// Error of a trial that did not take place or could not be recorded. A trial that fails while it
/// runs is not an error: it has an ending.
#[derive(Debug, Error)]
pub(crate) enum CampaignError {
    /// The job cannot run on this target.
    #[error("{0}")]
    Job(ConfigError),
    /// The run does not fit into the filesystem.
    #[error("{needs}, but {has}")]
    TooLittleRoom {
        /// Space or inodes needed by the run, in words.
        needs: String,
        /// Space or inodes available, in words.
        has: String,
    },
    /// The target directory or device is not available.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The target cannot be examined.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The results cannot be recorded.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl CampaignError {
    /// Suggested remedy, if known.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Job(error) => error.hint.clone(),
            Self::TooLittleRoom { .. } => Some(
                "reduce the work (fewer trees or files, smaller files, a smaller data set), or \
                 use a larger filesystem"
                    .to_owned(),
            ),
            Self::Lab(error) => error.hint(),
            Self::Target(_) | Self::Sink(_) => None,
        }
    }
}
