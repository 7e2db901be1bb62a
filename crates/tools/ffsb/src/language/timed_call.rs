//! Calls whose latency FFSB measures.

/// Calls whose latency FFSB measures, in the order of its table. `create` occurs only in a
/// profile's `ignore`: creates count as opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TimedCall {
    /// `open`, including creation.
    Open,
    /// `read`.
    Read,
    /// `write`.
    Write,
    /// Accepted in a profile; never timed.
    Create,
    /// `lseek`.
    Seek,
    /// `unlink`.
    Unlink,
    /// `close`.
    Close,
    /// `stat`.
    Stat,
}

impl TimedCall {
    /// All timed calls, in numeric order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Open,
        Self::Read,
        Self::Write,
        Self::Create,
        Self::Seek,
        Self::Unlink,
        Self::Close,
        Self::Stat,
    ];

    /// Number of timed calls.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// The name in the table and in a profile.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Seek => "lseek",
            Self::Unlink => "unlink",
            Self::Close => "close",
            Self::Stat => "stat",
        }
    }

    /// Index in tables.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}
