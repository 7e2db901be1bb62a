//! Verification: written data that a later read can check, in the original's format, so that each
//! program can verify what the other wrote.
//!
//! `block` fills and verifies the data of one request, `history` records the writes, `in_flight`
//! the requests that have not ended, `sums` and `hashes` are the checksums.

mod block;
mod hashes;
mod history;
mod in_flight;
mod state;
mod sums;

pub(crate) use block::{BlockLayout, ExpectedBlock, random};
pub(crate) use history::{History, ReadBackOrder, WrittenPiece};
pub(crate) use in_flight::{FileRange, RangesInFlight};
pub(crate) use state::{state, state_name};
