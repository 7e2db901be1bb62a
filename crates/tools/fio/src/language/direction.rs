//! The directions of requests.

/// Direction of a request. The discriminants index arrays of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Data moves from the file.
    Read = 0,
    /// Data moves to the file.
    Write = 1,
    /// Space of the file is deallocated.
    Trim = 2,
}

impl Direction {
    /// Directions in the order of their indices.
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];
    /// Names in reports, in the same order.
    pub(crate) const NAMES: [&'static str; 3] = ["read", "write", "trim"];

    /// Index in arrays by direction.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}
