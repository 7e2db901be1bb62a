//! Integration tests of datasets: file formats, storage, and recording.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod format;
mod library;
mod record;
