//! Tests of the store's public interface, in one binary.
#![expect(clippy::unwrap_used, reason = "tests")]

/// Other processes: killed, alive, and concurrent.
mod processes;

/// Files that are no store, or damaged stores.
mod refusal;

/// Stores with a crafted schema or crafted pages.
mod crafted;

/// Reading without SQLite's side files.
mod side_files;

/// Annotations to recorded trials.
mod annotating;

/// Copying of trials from another store.
mod absorbing;

/// Golden stores of every released version.
mod golden;

/// Listing and finding of trials.
mod listing;

/// Bulk reading for histories.
mod readings;
mod recording;

/// Round trip of arbitrary events.
mod round_trip;

/// Sample events.
mod sample;

/// Maintenance of the file.
mod upkeep;
