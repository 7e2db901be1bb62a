//! Kinds of messages between ranks: the first byte of each.

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// For a meeting: from a rank to rank 0, or from rank 0 to one alone.
    Meeting = b'm' as isize,
    /// What rank 0 says to all.
    Told = b't' as isize,
    /// The sender is there, and has made so many calls.
    Beat = b'b' as isize,
    /// The group of this number is to stop, or a signal asks to.
    Halt = b'h' as isize,
    /// What does the clock say?
    Ask = b'a' as isize,
    /// What it says.
    Said = b's' as isize,
    /// The sender has left the run, and why.
    Left = b'l' as isize,
    /// The sender is about to end.
    Farewell = b'f' as isize,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Meeting,
        Self::Told,
        Self::Beat,
        Self::Halt,
        Self::Ask,
        Self::Said,
        Self::Left,
        Self::Farewell,
    ];

    pub(super) fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// The number at the beginning of a message; 0 where there is none.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
