//! Stores as the arguments name them.

use std::path::Path;

use treering_results::{PlanStore, StorePlace, no_results};
use treering_store::Store;

use crate::arguments::{AnyRunArgs, StoreArgs};
use crate::failure::Failure;
use crate::terminal::Terminal;
pub(crate) use treering_results::failure;

/// Location of the store with this path, or of the default one.
pub(crate) fn place_at(named: Option<&Path>) -> StorePlace<'_> {
    StorePlace::new(named, &Terminal)
}

/// Location of the store of a command.
pub(crate) fn place_of(args: &StoreArgs) -> StorePlace<'_> {
    place_at(args.store.as_deref())
}

/// Opens a store to read, after moving waiting results into it; `None` if there are no results yet.
pub(crate) fn open_to_read(args: &StoreArgs) -> Result<Option<Store>, Failure> {
    place_of(args).open_to_read()
}

/// Opens a store that must have results.
pub(crate) fn open_results(args: &StoreArgs) -> Result<Store, Failure> {
    open_to_read(args)?.ok_or_else(no_results)
}

/// Store of the trials of a plan.
pub(crate) fn plan_store(args: &StoreArgs) -> PlanStore<'_> {
    PlanStore::new(place_of(args))
}

/// Store of a run outside of plans.
pub(crate) fn run_store(args: &AnyRunArgs) -> PlanStore<'_> {
    PlanStore::of_run(place_at(args.store.as_deref()), !args.no_store)
}
