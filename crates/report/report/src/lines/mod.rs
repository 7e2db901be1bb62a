//! Lays out a document in lines of text, for the terminal and for mail.
//!
//! Wrapping and arranging are done here; the formats define rules and colours.

mod command;
mod grid;
mod look;
mod sheet;
mod wrap;

pub(crate) use look::{TextLook, TextRole};
pub(crate) use sheet::render;
