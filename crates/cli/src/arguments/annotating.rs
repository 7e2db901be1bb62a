//! Arguments of the verbs about stored trials: `label`, `exclude`, `include` and `delete`.

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

#[derive(Debug, Args)]
#[command(
    after_help = "The trials are gone for good: export or pack them first if they may be wanted. \
    Reports cannot name what is deleted; to leave a trial out of comparisons and say why, `treering \
    exclude` it instead. The reason is kept with the date in a file beside the store.
  treering delete 0192a3b4 --reason \"a run of the wrong kernel\" --dry-run
  treering delete 0192a3b4 --reason \"a run of the wrong kernel\"
  treering store vacuum                          # gives back the space"
)]
pub(crate) struct DeleteArgs {
    /// The trials: unique prefixes of their IDs, or `last`.
    #[arg(required = true, value_name = "TRIAL")]
    pub(crate) trials: Vec<String>,
    /// The reason, which is kept beside the store.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Delete without asking; needed where there is no terminal.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Only show what would be deleted.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
