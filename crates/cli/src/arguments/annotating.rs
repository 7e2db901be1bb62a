//! Arguments of the verbs that say something of stored trials: `label`, `exclude`, `include`.

use clap::Args;

use super::StoreArgs;

#[derive(Debug, Args)]
#[command(after_help = "The recorded label is kept: `treering show` shows it as well.
  treering label 0192a3b4 0192a3b5 v6.12-rc1
  treering label last ''                         # remove the label")]
pub(crate) struct LabelArgs {
    /// The trials: unique prefixes of their IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    /// The new label.
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Nothing is deleted: `treering list` and `show` still show the trial, \
    reports name it with the reason, and `treering include` includes it again.
  treering exclude 0192a3b4 --reason \"a backup ran meanwhile\"")]
pub(crate) struct ExcludeArgs {
    /// The trials: unique prefixes of their IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    /// The reason, as it is to appear in reports.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IncludeArgs {
    /// The trials: unique prefixes of their IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
