//! The directions of requests.

/// Which way data goes. The numbers are the places in arrays of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the file.
    Read = 0,
    /// To the file.
    Write = 1,
    /// Nowhere: room of the file is given back.
    Trim = 2,
}

impl Direction {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];
    /// Their names in reports, in the same order.
    pub(crate) const NAMES: [&'static str; 3] = ["read", "write", "trim"];

    /// Its place in arrays.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}
