//! Arguments of `treering sweep`.

use clap::Args;

use super::{OutputArgs, StoreArgs};

#[derive(Debug, Args)]
#[command(after_help = "\
A job or a variant of a plan with `sweep = { threads = [1, 4, 16, 64] }` stands for one of each value.
After `treering compare PLAN`, this shows its curves:
  treering sweep
  treering sweep --plan threads --format html -o threads.html")]
pub(crate) struct SweepArgs {
    /// The newest campaign of this plan [default: the newest campaign with a sweep].
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,
    /// This metric only, by its full name as in JSON [default: those that decide comparisons].
    #[arg(long)]
    pub(crate) metric: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
