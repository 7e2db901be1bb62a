//! The tests of the store from outside, one binary.
#![expect(clippy::unwrap_used, reason = "tests")]

/// Other processes: killed, living, many at once.
mod processes;

/// Files that are no store, or none any more.
mod refusal;

/// Stores whose schema or pages were crafted.
mod crafted;

/// Reading without the files that SQLite puts beside a store.
mod side_files;

/// What is said of trials afterwards.
mod annotating;

/// Taking over another store.
mod absorbing;

/// Stores of every version that was ever released.
mod golden;

/// Listing and finding.
mod listing;

/// What is on disk when, and that it stays.
mod readings;
mod recording;

/// What goes in comes out.
mod round_trip;

/// Sample events.
mod sample;

/// The file as a whole.
mod upkeep;
