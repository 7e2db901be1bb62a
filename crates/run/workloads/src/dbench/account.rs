//! What clients did, in the words of a script's counters: their session and their output read them.

use treering_script::Spans;

use super::loadfile::Kind;

/// Passes of a client that are told one by one.
const PASSES_MAX: usize = 65_536;
/// Messages of a worker that are told one by one.
pub(super) const MESSAGES_MAX: usize = 100;
/// The longest message.
const MESSAGE_BYTES_MAX: usize = 4096;

/// A pass of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) took_ns: u64,
    /// When it ended, from the client's beginning.
    pub(super) at_ns: u64,
}

/// What one client did since the warm-up; without one, since its beginning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClientAccount {
    pub(super) client: u64,
    /// Lines since the beginning.
    pub(super) lines: u64,
    /// Bytes since the beginning.
    pub(super) all_bytes: u64,
    pub(super) read: u64,
    pub(super) written: u64,
    /// Operations that came out otherwise than the load says.
    pub(super) surprises: u64,
    /// When the warm-up was over and when the last operation ended, nanoseconds of the trial.
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) passes: Vec<Pass>,
    /// The operations, by [`Kind`].
    pub(super) spans: Spans,
}

impl ClientAccount {
    /// That of a client that has not begun.
    pub(super) fn new(client: u64) -> Self {
        Self {
            client,
            lines: 0,
            all_bytes: 0,
            read: 0,
            written: 0,
            surprises: 0,
            from_ns: 0,
            to_ns: 0,
            passes: Vec::new(),
            spans: Spans::new(Kind::COUNT),
        }
    }

    /// The warm-up is over: all that is measured begins now.
    pub(super) fn reset(&mut self, now_ns: u64) {
        (self.read, self.written, self.surprises) = (0, 0, 0);
        self.from_ns = now_ns;
        self.to_ns = now_ns;
        self.spans.reset();
    }

    pub(super) fn passed(&mut self, pass: Pass) {
        if self.passes.len() < PASSES_MAX {
            self.passes.push(pass);
        }
    }

    fn words(&self) -> Vec<u64> {
        let mut words = vec![
            self.client,
            self.lines,
            self.all_bytes,
            self.read,
            self.written,
            self.surprises,
            self.from_ns,
            self.to_ns,
            self.passes.len() as u64,
        ];
        words.extend(self.passes.iter().flat_map(|pass| [pass.took_ns, pass.at_ns]));
        words.extend(self.spans.counters());
        words
    }

    fn read_words(words: &[u64]) -> Option<(Self, &[u64])> {
        let (&[client, lines, all_bytes, read, written, surprises, from_ns, to_ns, passes], rest) =
            words.split_first_chunk()?;
        let count = usize::try_from(passes).ok()?.checked_mul(2)?;
        let (passes, rest) = rest.split_at_checked(count)?;
        let pass = |pair: &[u64]| Pass { took_ns: pair[0], at_ns: pair[1] };
        let passes = passes.chunks_exact(2).map(pass).collect();
        let (spans, rest) = Spans::from_counters(rest)?;
        let (from_ns, to_ns) = (from_ns, to_ns);
        let account = Self {
            client,
            lines,
            all_bytes,
            read,
            written,
            surprises,
            from_ns,
            to_ns,
            passes,
            spans,
        };
        (account.spans.rows().len() == Kind::COUNT).then_some((account, rest))
    }
}

/// What a worker tells of its clients.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Account {
    pub(super) clients: Vec<ClientAccount>,
    pub(super) messages: Vec<String>,
    /// Messages that were too many.
    pub(super) untold: u64,
    /// Why it could not go on.
    pub(super) failure: Option<String>,
}

impl Account {
    /// Keeps a message, or counts it.
    pub(super) fn say(&mut self, message: String) {
        if self.messages.len() < MESSAGES_MAX {
            self.messages.push(message);
        } else {
            self.untold += 1;
        }
    }

    /// As counters.
    pub(super) fn to_words(&self) -> Vec<u64> {
        let mut words = vec![self.clients.len() as u64];
        for client in &self.clients {
            words.extend(client.words());
        }
        words.push(self.untold);
        words.push(self.messages.len() as u64);
        words.push(u64::from(self.failure.is_some()));
        for text in self.messages.iter().chain(&self.failure) {
            let bytes = &text.as_bytes()[..text.len().min(MESSAGE_BYTES_MAX)];
            words.push(bytes.len() as u64);
            words.extend(bytes.chunks(8).map(|chunk| {
                let mut padded = [0; 8];
                padded[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(padded)
            }));
        }
        words
    }

    /// From counters.
    pub(super) fn from_words(words: &[u64]) -> Option<Self> {
        let (&count, mut rest) = words.split_first()?;
        let mut clients = Vec::new();
        for _client in 0..count {
            let (client, after) = ClientAccount::read_words(rest)?;
            clients.push(client);
            rest = after;
        }
        let (&[untold, messages, failed], mut rest) = rest.split_first_chunk()?;
        let mut texts = Vec::new();
        for _text in 0..messages.checked_add(failed)? {
            let (&length, after) = rest.split_first()?;
            let length = usize::try_from(length).ok()?;
            let (body, after) = after.split_at_checked(length.div_ceil(8))?;
            let mut bytes: Vec<u8> = body.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.truncate(length);
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
            rest = after;
        }
        let failure = if failed == 0 { None } else { texts.pop() };
        Some(Self { clients, messages: texts, untold, failure })
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, ClientAccount, MESSAGES_MAX, Pass};

    #[test]
    fn accounts_are_read_as_they_were_written() {
        let mut account = Account::default();
        for client in 0..2 {
            let mut one = ClientAccount::new(client);
            one.spans.record(3, true, Some(5), Some(5005));
            one.passed(Pass { took_ns: 7, at_ns: 9 });
            (one.read, one.to_ns) = (100, u64::MAX);
            account.clients.push(one);
        }
        for number in 0..=MESSAGES_MAX {
            account.say(format!("[{number}] größer"));
        }
        account.failure = Some(String::new());
        assert_eq!((account.messages.len(), account.untold), (MESSAGES_MAX, 1));
        let words = account.to_words();
        let read = Account::from_words(&words).unwrap();
        assert_eq!((&read.messages, &read.failure), (&account.messages, &account.failure));
        assert_eq!(read.clients[1].passes, account.clients[1].passes);
        assert_eq!(read.to_words(), words);
        for length in 0..words.len() {
            assert_eq!(Account::from_words(&words[..length]), None, "{length}");
        }
        account.failure = None;
        assert_eq!(Account::from_words(&account.to_words()).unwrap().failure, None);
    }

    #[test]
    fn odd_counters_are_refused() {
        assert_eq!(Account::from_words(&[]), None);
        assert_eq!(Account::from_words(&[u64::MAX, 1, 2, 3]), None);
        assert_eq!(Account::from_words(&[0, 0, u64::MAX, 1]), None);
        assert_eq!(Account::from_words(&[0, 0, 1, 0, u64::MAX]), None);
    }
}
