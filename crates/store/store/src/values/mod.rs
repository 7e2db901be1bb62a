//! How values of the model are written in columns: words, fields, histograms, packed blocks.

pub(crate) mod fields;
pub(crate) mod histogram;
pub(crate) mod packing;
pub(crate) mod word;
