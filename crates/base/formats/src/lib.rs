//! What other tools write, where more than one room reads it: pure, values in, figures out.
//!
//! A log with text around it is the importer's business; here a document is a document already.

pub mod fio;
pub mod number;
