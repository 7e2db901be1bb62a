//! Calls whose latency FFSB measures.

treering_model::named_enum! {
    /// Calls whose latency FFSB measures, in the order of its table. `create` occurs only in a
    /// profile's `ignore`: creates count as opens.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub(crate) enum TimedCall {
        /// `open`, including creation.
        Open = "open",
        /// `read`.
        Read = "read",
        /// `write`.
        Write = "write",
        /// Accepted in a profile; never timed.
        Create = "create",
        /// `lseek`.
        Seek = "lseek",
        /// `unlink`.
        Unlink = "unlink",
        /// `close`.
        Close = "close",
        /// `stat`.
        Stat = "stat",
    }
}

impl TimedCall {
    /// Number of timed calls.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// Index in tables.
    pub(crate) const fn place(self) -> usize {
        self as usize
    }
}
