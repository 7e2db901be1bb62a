//! Why a trial could not begin, or could not be recorded.

use thiserror::Error;
use treering_engine::TargetError;
use treering_lab::LabError;
use treering_model::SinkError;
use treering_script::ConfigError;

/// Why a trial did not take place. A trial that failed on its way is no error: it has an ending.
#[derive(Debug, Error)]
pub enum CampaignError {
    /// The job cannot run in this place.
    #[error("{0}")]
    Job(ConfigError),
    /// The run does not fit into the filesystem.
    #[error("{needs}, but {has}")]
    TooLittleRoom {
        /// What the run needs.
        needs: String,
        /// What there is.
        has: String,
    },
    /// The place cannot be had.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The place cannot be examined.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The results cannot be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl CampaignError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
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
