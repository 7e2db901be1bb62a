//! Lays out a document in lines of text, for the terminal and for mail.
//!
//! Breaking and arranging live here; what a line looks like (which rules, which colours) is said
//! by the formats.

mod command;
mod grid;
mod look;
mod sheet;
mod wrap;

pub(crate) use look::{Look, Role};
pub(crate) use sheet::render;
