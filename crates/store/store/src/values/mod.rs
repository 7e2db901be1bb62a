//! Encoding of model values in columns: words, fields, histograms, compressed blocks.

pub(crate) mod fields;
pub(crate) mod histogram;
pub(crate) mod packing;
pub(crate) mod word;
