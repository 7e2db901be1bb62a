//! Kinds of messages between ranks: the first byte of each.

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MessageKind {
    /// Part of a meeting: from a rank to rank 0, or from rank 0 to a single rank.
    Meeting = b'm' as isize,
    /// Broadcast of rank 0.
    Broadcast = b't' as isize,
    /// Heartbeat, with the number of calls made by the sender.
    Beat = b'b' as isize,
    /// Request to stop the group of this number, with the signal that caused it, if any.
    Halt = b'h' as isize,
    /// Request for a reading of the clock.
    ClockRequest = b'a' as isize,
    /// Reading of the clock.
    ClockReading = b's' as isize,
    /// Notice that the sender has left the run, with the reason.
    Left = b'l' as isize,
    /// The sender is about to end.
    Farewell = b'f' as isize,
}

impl MessageKind {
    const ALL: [Self; 8] = [
        Self::Meeting,
        Self::Broadcast,
        Self::Beat,
        Self::Halt,
        Self::ClockRequest,
        Self::ClockReading,
        Self::Left,
        Self::Farewell,
    ];

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// Number at the start of a message; 0 if it is too short.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
