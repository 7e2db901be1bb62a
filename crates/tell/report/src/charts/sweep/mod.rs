//! Charts of sweeps: curves over the values of a key, a picture of two keys, and how throughput
//! grows with the number of those who work at once.

pub(super) mod curves;
pub(super) mod map;
pub(super) mod scaling;
