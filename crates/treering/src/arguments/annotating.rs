//! Arguments of the verbs that say something of stored trials: `label`, `exclude`, `include`.

use clap::Args;

use super::StoreArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "What was recorded stays as it is: `treering show` names the first label too.
  treering label 0192a3b4 0192a3b5 v6.12-rc1
  treering label last ''                         # no label any more"
)]
pub(crate) struct LabelArgs {
    /// The trials: unique beginnings of IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    /// The label they get.
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Nothing is deleted: `treering list` and `show` go on showing the trial, \
    pages of comparisons name it with the reason, and `treering include` takes it back.
  treering exclude 0192a3b4 --reason \"a backup ran meanwhile\"")]
pub(crate) struct ExcludeArgs {
    /// The trials: unique beginnings of IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    /// Why, in words that others understand.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IncludeArgs {
    /// The trials: unique beginnings of IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
