//! Counters that a client reports when its script ends; the session and the output read them.

use crate::language::OperationKind;
use serde::{Deserialize, Serialize};
use treering_model::Counters;
use treering_script::OperationSpans;

/// Maximum number of passes of a client that are reported individually.
const PASSES_MAX: usize = 65_536;
/// Maximum number of messages of a worker that are reported individually.
pub(crate) const MESSAGES_MAX: usize = 100;
/// Maximum length of a message in bytes.
const MESSAGE_BYTES_MAX: usize = 4096;

/// A pass of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadPass {
    /// Duration of the pass, in nanoseconds.
    pub took_ns: u64,
    /// End of the pass, in nanoseconds since the client began.
    pub at_ns: u64,
}

/// Work of one client since the end of the warm-up, or since its start without a warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClientAccount {
    /// Client number.
    pub client: u64,
    /// Lines since the beginning.
    pub lines: u64,
    /// Bytes since the beginning.
    pub all_bytes: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes written.
    pub written: u64,
    /// Number of operations whose outcome differs from the load's.
    pub surprises: u64,
    /// End of the warm-up, in nanoseconds of the trial.
    pub from_ns: u64,
    /// End of the last operation, in nanoseconds of the trial.
    pub to_ns: u64,
    /// Completed passes, at most `PASSES_MAX`.
    pub passes: Vec<LoadPass>,
    /// The operations, by [`OperationKind`].
    pub spans: OperationSpans,
}

impl ClientAccount {
    /// Account of a client that has not begun.
    pub(crate) fn new(client: u64) -> Self {
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
            spans: OperationSpans::new(OperationKind::COUNT),
        }
    }

    /// Resets the counters at the end of the warm-up.
    pub(crate) fn reset(&mut self, now_ns: u64) {
        (self.read, self.written, self.surprises) = (0, 0, 0);
        self.from_ns = now_ns;
        self.to_ns = now_ns;
        self.spans.reset();
    }

    /// Adds a finished pass.
    pub(crate) fn passed(&mut self, pass: LoadPass) {
        if self.passes.len() < PASSES_MAX {
            self.passes.push(pass);
        }
    }
}

/// Report of one worker about its clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerReport {
    /// Account of each client of the worker.
    pub clients: Vec<ClientAccount>,
    /// Messages about operations whose outcome differs from the load's.
    pub messages: Vec<String>,
    /// Number of messages beyond the maximum, which were dropped.
    pub unreported: u64,
    /// Reason why the worker stopped early.
    pub failure: Option<String>,
}

impl WorkerReport {
    /// Stores a message; beyond `MESSAGES_MAX`, only counts it.
    pub(crate) fn report(&mut self, message: String) {
        if self.messages.len() < MESSAGES_MAX {
            self.messages.push(message);
        } else {
            self.unreported += 1;
        }
    }

    /// Converts the account to counters; messages beyond the length limit are cut.
    pub(crate) fn counters(&mut self) -> Counters {
        for text in self.messages.iter_mut().chain(&mut self.failure) {
            let is_whole = |at: &usize| text.is_char_boundary(*at);
            let end = (0..=MESSAGE_BYTES_MAX.min(text.len())).rev().find(is_whole);
            text.truncate(end.unwrap_or(0));
        }
        Counters::from_value(self)
    }

    /// Parses counters; `None` if they are missing or belong to another set of operations.
    pub(crate) fn read(counters: &Counters) -> Option<Self> {
        let account: Self = counters.read()?;
        let is_whole = |client: &ClientAccount| client.spans.rows().len() == OperationKind::COUNT;
        account.clients.iter().all(is_whole).then_some(account)
    }
}

#[cfg(test)]
mod tests {
    use treering_model::Counters;
    use treering_script::OperationSpans;

    use super::{ClientAccount, LoadPass, MESSAGE_BYTES_MAX, MESSAGES_MAX, WorkerReport};

    #[test]
    fn accounts_round_trip() {
        let mut account = WorkerReport::default();
        for client in 0..2 {
            let mut client_account = ClientAccount::new(client);
            client_account.spans.record(3, true, Some(5), Some(5005));
            client_account.passed(LoadPass { took_ns: 7, at_ns: 9 });
            (client_account.read, client_account.to_ns) = (100, u64::MAX);
            account.clients.push(client_account);
        }
        for number in 0..=MESSAGES_MAX {
            account.report(format!("[{number}] größer"));
        }
        account.failure = Some(String::new());
        assert_eq!((account.messages.len(), account.unreported), (MESSAGES_MAX, 1));
        let counters = account.counters();
        assert_eq!(WorkerReport::read(&counters), Some(account.clone()));
        account.failure = None;
        assert_eq!(WorkerReport::read(&account.counters()).unwrap().failure, None);
        account.messages = vec!["\u{fc}".repeat(MESSAGE_BYTES_MAX)];
        let cut = WorkerReport::read(&account.counters()).unwrap();
        assert_eq!(cut.messages[0].len(), MESSAGE_BYTES_MAX);
    }

    #[test]
    fn odd_counters_are_refused() {
        assert_eq!(WorkerReport::read(&Counters::default()), None);
        assert_eq!(WorkerReport::read(&Counters::from_json("[0,0,1]".to_owned())), None);
        let mut client = ClientAccount::new(0);
        client.spans = OperationSpans::new(1);
        let mut account = WorkerReport { clients: vec![client], ..WorkerReport::default() };
        assert_eq!(WorkerReport::read(&account.counters()), None);
    }
}
