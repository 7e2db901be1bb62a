//! Memory that is occupied during a test, to leave less of it for the page cache. The process of
//! each rank holds its share until the test is over.

use thiserror::Error;
use treering_script::{ConfigError, MachineFacts, available_memory_bytes, parse_size};

/// Bytes allocated at a time, between checks of the available memory.
const PIECE_BYTES: u64 = 16 << 20;
/// Memory left free, in bytes, to keep the kernel from killing processes.
const LEFT_BYTES: u64 = 128 << 20;

/// Amount of memory to occupy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryAmount {
    /// Bytes on each machine.
    pub(super) node_bytes: u64,
    /// Bytes in each of the run's processes on a machine; a run without a launcher has one process.
    pub(super) process_bytes: u64,
}

/// Insufficient memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "{} MiB are to be taken away, and {} MiB are available, of which {} MiB have to be left",
    .asked_bytes >> 20, .available_bytes >> 20, LEFT_BYTES >> 20
)]
pub(super) struct InsufficientMemory {
    asked_bytes: u64,
    available_bytes: u64,
}

impl MemoryAmount {
    /// Parses the value of `-M`: bytes, or a percentage of the memory.
    pub(super) fn read(
        text: &str,
        machine: &MachineFacts,
        ranks_on_first: u64,
    ) -> Result<Option<Self>, ConfigError> {
        let share = text.strip_suffix('%').map(str::trim_end);
        let percent = share.map(|share| share.parse::<u64>().ok().filter(|share| *share <= 100));
        let bytes = match percent {
            Some(percent) => percent.map(|percent| machine.memory_bytes / 100 * percent),
            None => parse_size(text),
        };
        let Some(node_bytes) = bytes else {
            let message = format!("-M {text}: this is neither a size nor a share");
            return Err(ConfigError::new(message).hint("give bytes, as 2g, or a share, as 75%"));
        };
        // A launcher starts a process for each rank.
        let processes = if machine.nodes.is_empty() { 1 } else { ranks_on_first.max(1) };
        let process_bytes = node_bytes / processes;
        Ok((node_bytes > 0).then_some(Self { node_bytes, process_bytes }))
    }

    /// Checks that this machine has enough memory available.
    pub(super) fn fits(self) -> Result<(), InsufficientMemory> {
        check_available(self.node_bytes, available_memory_bytes())
    }
}

fn check_available(asked_bytes: u64, available_bytes: u64) -> Result<(), InsufficientMemory> {
    let has_all = asked_bytes.saturating_add(LEFT_BYTES) <= available_bytes;
    if has_all { Ok(()) } else { Err(InsufficientMemory { asked_bytes, available_bytes }) }
}

/// Memory occupied by this process.
#[derive(Debug, Default)]
pub(super) struct MemoryHog {
    pieces: Vec<Vec<u8>>,
}

impl MemoryHog {
    /// Allocates the share of this process, as long as enough memory stays available.
    pub(super) fn take(memory: MemoryAmount) -> Result<Self, InsufficientMemory> {
        Self::take_if_available(memory.process_bytes, available_memory_bytes)
    }

    fn take_if_available(
        bytes: u64,
        mut available: impl FnMut() -> u64,
    ) -> Result<Self, InsufficientMemory> {
        let mut taken = Self::default();
        let mut remaining = bytes;
        while remaining > 0 {
            check_available(remaining, available())?;
            let piece = remaining.min(PIECE_BYTES);
            // Not zeros: those need no memory until they are written.
            taken.pieces.push(vec![1; usize::try_from(piece).unwrap_or(usize::MAX)]);
            remaining -= piece;
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::{InsufficientMemory, LEFT_BYTES, MemoryAmount, MemoryHog, PIECE_BYTES};
    use treering_script::MachineFacts;

    #[test]
    fn memory_amount_is_bytes_or_a_share_of_the_machine() {
        let mut machine = MachineFacts { memory_bytes: 1000, ..MachineFacts::default() };
        let read = |text: &str, machine: &MachineFacts| MemoryAmount::read(text, machine, 4);
        let told = |node_bytes, process_bytes| Some(MemoryAmount { node_bytes, process_bytes });
        assert_eq!(read("25%", &machine).unwrap(), told(250, 250));
        assert_eq!(read("2k", &machine).unwrap(), told(2048, 2048));
        assert_eq!(read("0", &machine).unwrap(), None);
        machine.nodes = vec![0; 4];
        assert_eq!(read("2k", &machine).unwrap(), told(2048, 512));
        for wrong in ["101%", "-1%", "%", "much", ""] {
            assert!(read(wrong, &machine).unwrap_err().message.ends_with("a share"), "{wrong}");
        }
    }

    #[test]
    fn memory_allocation_stops_before_the_reserve() {
        let bytes = 3 * PIECE_BYTES - 5;
        let taken = MemoryHog::take_if_available(bytes, || LEFT_BYTES + bytes).unwrap();
        assert_eq!(taken.pieces.iter().map(Vec::len).sum::<usize>() as u64, bytes);
        // Somebody else takes at the same time.
        let mut left = LEFT_BYTES + bytes;
        let shrinking = || {
            left -= PIECE_BYTES + 1;
            left
        };
        let shortage = MemoryHog::take_if_available(bytes, shrinking).unwrap_err();
        let available_bytes = LEFT_BYTES + bytes - PIECE_BYTES - 1;
        assert_eq!(shortage, InsufficientMemory { asked_bytes: bytes, available_bytes });
    }
}
