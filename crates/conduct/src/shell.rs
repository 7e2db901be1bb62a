//! Words of command lines.

pub use treering_model::quoted;
