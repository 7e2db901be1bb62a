//! Datasets, from outside: their files, where they are found and kept, and recording them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod format;
mod library;
mod record;
