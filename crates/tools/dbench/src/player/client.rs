//! Client state: position in the load, files and directories, and reported counters.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use treering_script::{Errno, Random};

use super::handles::HandleTable;
use super::places::NameTable;
use crate::account::{ClientAccount, LoadPass};
use crate::counters::{ClientCounters, CounterIndex};
use crate::language::{
    CreateDisposition, DrawnOperation, ExpectedOutcome, HandleId, Load, LoadLine, Operation,
    OperationKind,
};

/// Maximum number of numbers in an operation.
const NUMBERS: usize = 4;

/// Position of a client in its load.
#[derive(Debug, Default)]
pub(super) struct LoadCursor {
    at: usize,
    /// Open loops: index of the first operation, and repetitions left.
    loops: Vec<(u32, u64)>,
    pub(super) passes: u64,
    pub(super) pass_began_ns: u64,
}

impl LoadCursor {
    /// The next line; `None` at the end of the pass.
    pub(super) fn take(&mut self, load: &Load) -> Option<LoadLine> {
        let op = *load.ops.get(self.at)?;
        self.at += 1;
        match op.operation {
            Operation::Loop { times: 0, end } => self.at = end as usize + 1,
            Operation::Loop { times, .. } => self.loops.push((op_number(self.at), times)),
            Operation::EndLoop { .. } => {
                if let Some((start, left)) = self.loops.last_mut() {
                    *left -= 1;
                    if *left == 0 {
                        self.loops.pop();
                    } else {
                        self.at = *start as usize;
                    }
                }
            }
            _ => {}
        }
        Some(op)
    }

    /// Begins the next pass.
    pub(super) fn rewind(&mut self, now_ns: u64) {
        self.at = 0;
        self.loops.clear();
        self.passes += 1;
        self.pass_began_ns = now_ns;
    }
}

fn op_number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// State of one client.
pub(super) struct ClientState {
    pub(super) number: u32,
    pub(super) load: Arc<Load>,
    pub(super) places: NameTable,
    pub(super) handles: HandleTable,
    pub(super) cursor: LoadCursor,
    pub(super) counters: ClientCounters,
    pub(super) account: ClientAccount,
    /// True once the client has left its warm-up.
    pub(super) measured: bool,
    pub(super) finished: bool,
    /// Start of the current operation, in nanoseconds of the trial.
    pub(super) op_began_ns: u64,
    /// Bytes and time of the last check of the rate.
    pub(super) rate: Option<(u64, u64)>,
    random: Random,
    texts: [Vec<u8>; 10],
    numbers: [u64; NUMBERS],
}

impl ClientState {
    /// Creates a client that has not begun.
    pub(super) fn new(
        number: u32,
        load: Arc<Load>,
        base: &[u8],
        dirs: Range<u16>,
        files: Range<u16>,
        seed: u64,
    ) -> Self {
        Self {
            places: NameTable::new(&load, number, base, dirs),
            handles: HandleTable::new(load.handles.len(), files),
            cursor: LoadCursor::default(),
            counters: ClientCounters::default(),
            account: ClientAccount::new(number.into()),
            measured: false,
            finished: false,
            op_began_ns: 0,
            rate: None,
            random: Random::for_part(seed, &format!("client {number}")),
            texts: Default::default(),
            numbers: [0; NUMBERS],
            number,
            load,
        }
    }

    /// Sets the shared counters that show the client's progress.
    #[must_use]
    pub(super) fn showing(mut self, counters: ClientCounters) -> Self {
        self.counters = counters;
        self
    }

    /// Operation of a line, with numbers and names drawn if the line asks for it.
    pub(super) fn drawn(&mut self, op: LoadLine, clients: u32) -> Option<Operation> {
        let Operation::Drawn(number) = op.operation else {
            if !self.load.drawn.is_empty() {
                self.remember(op.operation);
            }
            return Some(op.operation);
        };
        let load = Arc::clone(&self.load);
        let DrawnOperation { kind, names, numbers } = load.drawn.get(number as usize)?;
        let mut spots = [0; 2];
        for (which, name) in names.iter().enumerate().take(2) {
            let filled = name.filled(&self.texts);
            spots[which] = self.places.draw(which, &filled, self.number);
        }
        let mut values = [0; NUMBERS];
        for (at, number) in numbers.iter().enumerate().take(NUMBERS) {
            let Self { random, numbers: before, number: client, .. } = &mut *self;
            let (client, clients) = (u64::from(*client), u64::from(clients));
            values[at] = number.now(|| random.bits(), before[at], client, clients);
        }
        self.numbers = values;
        let handle = match kind.handle_at() {
            None => 0,
            Some(at) => match load.handle_ids.get(&values[at]) {
                Some(&handle) => handle,
                None => self.handles.of_number(values[at])?,
            },
        };
        kind.to_operation(
            &spots[..names.len().min(2)],
            &values[..numbers.len().min(NUMBERS)],
            handle,
        )
    }

    /// Remembers the numbers of a line for later increments.
    fn remember(&mut self, operation: Operation) {
        let number = |handle: HandleId| self.load.handles[handle as usize];
        let numbers = match operation {
            Operation::Create { handle, how, directory, .. } => {
                let disposition = match how {
                    CreateDisposition::Open => 1,
                    CreateDisposition::Create => 2,
                    CreateDisposition::Overwrite => 5,
                };
                [u64::from(directory), disposition, number(handle), 0]
            }
            Operation::Close { handle } | Operation::Flush { handle } => [number(handle), 0, 0, 0],
            Operation::QueryFile { handle } | Operation::SetFile { handle } => {
                [number(handle), 0, 0, 0]
            }
            Operation::Write { handle, offset, bytes, moved }
            | Operation::Read { handle, offset, bytes, moved } => {
                [number(handle), offset, bytes.into(), moved.into()]
            }
            Operation::Lock { handle, start, bytes, .. } => {
                [number(handle), start.into(), bytes.into(), 0]
            }
            _ => return,
        };
        self.numbers = numbers;
    }

    /// Draws a random string.
    pub(super) fn draw_text(&mut self, into: u8, text: u32) {
        let load = Arc::clone(&self.load);
        let Self { random, texts, .. } = self;
        if let (Some(text), Some(into)) =
            (load.texts.get(text as usize), texts.get_mut(usize::from(into)))
        {
            *into = text.draw(|length| random.index(length));
        }
    }

    /// The number that a handle has in the load.
    pub(super) fn handle_number(&self, handle: HandleId) -> u64 {
        let fixed = self.load.handles.get(handle as usize).copied();
        fixed.or_else(|| self.handles.number_of(handle)).unwrap_or_default()
    }

    /// Name for messages.
    pub(super) fn shown(&self, spot: u32) -> String {
        let path = self.places.path(self.places.spot(spot));
        String::from_utf8_lossy(&path).escape_debug().to_string()
    }

    pub(super) fn expected(&self, op: &LoadLine) -> ExpectedOutcome {
        self.load.status(op).expected
    }

    /// Counts bytes that were read or written, or would have been.
    pub(super) fn moved(&mut self, read: u64, written: u64) {
        self.account.read += read;
        self.account.written += written;
        self.account.all_bytes += read + written;
        self.counters.set(CounterIndex::Bytes, self.account.all_bytes);
    }

    /// Records the end of an operation.
    #[inline]
    pub(super) fn done(
        &mut self,
        kind: OperationKind,
        surprise: bool,
        began_ns: Option<u64>,
        now_ns: u64,
    ) {
        self.account.spans.record(kind as usize, surprise, began_ns, Some(now_ns));
        self.account.surprises += u64::from(surprise);
        self.account.to_ns = now_ns;
    }

    /// Records the end of a pass.
    pub(super) fn passed(&mut self, now_ns: u64, began_ns: u64) {
        let pass = LoadPass {
            took_ns: now_ns.saturating_sub(self.cursor.pass_began_ns),
            at_ns: now_ns.saturating_sub(began_ns),
        };
        self.account.passed(pass);
        self.cursor.rewind(now_ns);
    }

    /// Directory whose files the original removes when a client ends.
    pub(super) fn own_directory(&mut self) -> u32 {
        let path = format!("clients/client{}", self.number);
        self.places.take(0, path.as_bytes())
    }
}

/// System message of an errno, without its number.
pub(super) fn words(errno: Errno) -> String {
    let text = io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
