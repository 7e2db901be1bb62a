//! Replay of a request log: `read_iolog`, in fio's formats 2 and 3. The log determines all
//! requests; nothing is drawn.

use thiserror::Error;

use super::direction::Direction;

/// Longest log in bytes, and the most lines.
pub(crate) const BYTES_MAX: u64 = 256 << 20;

/// Action of a log line; files are given by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplayAction {
    /// Opens a file.
    Open(usize),
    /// Closes a file.
    Close(usize),
    /// Issues a request.
    Move {
        /// Number of the file.
        file: usize,
        /// Direction of the request.
        direction: Direction,
        /// Offset in the file.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// Syncs a file.
    Sync {
        /// Number of the file.
        file: usize,
        /// True for `fdatasync`, false for `fsync`.
        data_only: bool,
    },
    /// Waits until this many milliseconds have passed since the start.
    Wait(u64),
}

/// Line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayLine {
    /// Delay after the previous line, in microseconds.
    pub delay_us: u64,
    /// Action to replay.
    pub action: ReplayAction,
}

/// Error of a replay log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum ReplayError {
    /// The header is not that of an iolog of version 2 or 3.
    #[error("is no log of fio's, of version 2 or 3")]
    NoLog,
    /// The log has no action.
    #[error("asks for nothing")]
    Empty,
}

/// Parsed log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replay {
    /// Files as the log names them.
    pub files: Vec<String>,
    /// Log lines in their order.
    pub entries: Vec<ReplayLine>,
}

impl Replay {
    /// Parses a log. Unknown lines are ignored, as in fio.
    ///
    /// # Errors
    /// When it is no log, or asks for nothing.
    pub(crate) fn read(text: &str) -> Result<Self, ReplayError> {
        let mut lines = text.lines();
        let is_timed = match lines.next() {
            Some(first) if first.starts_with("fio version 3 iolog") => true,
            Some(first) if first.starts_with("fio version 2 iolog") => false,
            _ => return Err(ReplayError::NoLog),
        };
        let mut replay = Self::default();
        let mut before_us = 0;
        for line in lines {
            let mut words = line.split_whitespace();
            let time_us =
                if is_timed { words.next().and_then(|word| word.parse().ok()) } else { None };
            if is_timed && time_us.is_none() {
                continue;
            }
            let words: Vec<&str> = words.collect();
            let Some(action) = replay.action(&words, is_timed) else { continue };
            let time_us: u64 = time_us.unwrap_or(0);
            let delay_us = if before_us == 0 { 0 } else { time_us.saturating_sub(before_us) };
            before_us = time_us;
            replay.entries.push(ReplayLine { delay_us, action });
        }
        if replay.entries.is_empty() { Err(ReplayError::Empty) } else { Ok(replay) }
    }

    fn action(&mut self, words: &[&str], is_timed: bool) -> Option<ReplayAction> {
        let number = |word: &str| word.parse::<u64>().ok();
        let known = |name: &str| self.files.iter().position(|file| file == name);
        match *words {
            [name, "add"] => {
                if known(name).is_none() {
                    self.files.push(name.to_owned());
                }
                None
            }
            [name, "open"] => known(name).map(ReplayAction::Open),
            [name, "close"] => known(name).map(ReplayAction::Close),
            [_, "wait", ms, _] if !is_timed => number(ms).map(ReplayAction::Wait),
            [name, what, offset, bytes] => {
                let (file, offset, bytes) = (known(name)?, number(offset)?, number(bytes)?);
                let direction = match what {
                    "read" => Direction::Read,
                    "write" => Direction::Write,
                    "trim" => Direction::Trim,
                    "sync" => return Some(ReplayAction::Sync { file, data_only: false }),
                    "datasync" => return Some(ReplayAction::Sync { file, data_only: true }),
                    _ => return None,
                };
                let fits = (1..=1 << 30).contains(&bytes) && offset <= i64::MAX.unsigned_abs();
                fits.then_some(ReplayAction::Move { file, direction, offset, bytes })
            }
            _ => None,
        }
    }

    /// True if the log has requests of this direction.
    pub(super) fn goes(&self, wanted: Direction) -> bool {
        self.entries.iter().any(|entry| match entry.action {
            ReplayAction::Move { direction, .. } => direction == wanted,
            _ => false,
        })
    }

    /// Bytes of all requests.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |entry: &ReplayLine| {
            if let ReplayAction::Move { bytes, .. } = entry.action { bytes } else { 0 }
        };
        self.entries.iter().fold(0, |sum, one| sum.saturating_add(of(one)))
    }

    /// Length of the largest request.
    pub(crate) fn most(&self) -> u64 {
        let of = |entry: &ReplayLine| {
            if let ReplayAction::Move { bytes, .. } = entry.action { bytes } else { 0 }
        };
        self.entries.iter().map(of).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction, Replay, ReplayAction, ReplayLine};

    #[test]
    fn log_versions_2_and_3_are_read() {
        let version_2 =
            "fio version 2 iolog\na add\na open\na read 0 4096\na wait 10 0\nrubbish\na close\n";
        let action: Vec<ReplayAction> =
            Replay::read(version_2).unwrap().entries.iter().map(|e| e.action).collect();
        let read =
            ReplayAction::Move { file: 0, direction: Direction::Read, offset: 0, bytes: 4096 };
        assert_eq!(
            action,
            [ReplayAction::Open(0), read, ReplayAction::Wait(10), ReplayAction::Close(0)]
        );
        let three = "fio version 3 iolog\n0 a add\n5 a open\n9 a write 8 16\n";
        let replay = Replay::read(three).unwrap();
        let write =
            ReplayAction::Move { file: 0, direction: Direction::Write, offset: 8, bytes: 16 };
        assert_eq!(replay.entries[1], ReplayLine { delay_us: 4, action: write });
        assert_eq!((replay.bytes(), replay.most()), (16, 16));
        assert!(replay.goes(Direction::Write) && !replay.goes(Direction::Read));
        assert!(Replay::read("rubbish").is_err() && Replay::read("").is_err());
    }
}
