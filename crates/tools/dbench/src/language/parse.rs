//! Parser of load files.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use treering_script::ConfigError;

use super::numbers::{self, LoadNumber, number, plain};
use super::text::{PathTemplate, random_text, template};
use super::verbs::{self, Verb, verb};
use super::words::{Word, words};
use super::{
    DrawnOperation, ExpectedOutcome, HandleId, Load, LoadLine, NameId, Operation, OperationKind,
    StatusCode,
};
use treering_kit::cursor;
use treering_kit::faults::{Fault, Faults, Place, shown};

/// The deepest loops within loops.
const LOOPS_MAX: usize = 16;
/// The longest wait that a line may ask for, an hour.
const WAIT_MAX_US: u64 = 3_600_000_000;
/// Maximum number of distinct statuses, and of random strings.
const STATUSES_MAX: usize = 4096;
const TEXTS_MAX: usize = 1 << 16;
/// Maximum number of operations, and of distinct names.
const OPS_MAX: usize = 1 << 23;
const NAMES_MAX: usize = 1 << 20;
/// Maximum time at which a line may be played, in seconds.
const UNTIL_MAX_S: f64 = 1e7;

/// Range of lines to play, counted from 1.
pub(crate) type LineRange = RangeInclusive<u32>;

/// Parses a load; `file` is its name in messages.
pub(crate) fn parse(
    file: &str,
    text: &[u8],
    lines: Option<&LineRange>,
) -> Result<Load, ConfigError> {
    let mut parser = LoadParser {
        faults: Faults::new(file, text),
        load: Load::default(),
        names: HashMap::new(),
        statuses: HashMap::new(),
        loops: Vec::new(),
        repeat: None,
        opened: Vec::new(),
        missed: None,
    };
    let mut words_of_line = Vec::new();
    for (place, line) in cursor::lines(text, 0) {
        if lines.is_some_and(|lines| !lines.contains(&place.line)) {
            continue;
        }
        if let Err(fault) = parser.words_and_line(line, place, &mut words_of_line) {
            parser.faults.keep(fault);
            parser.go_on(&words_of_line);
            if parser.faults.is_full() || parser.bounded(place).is_err() {
                break;
            }
        }
    }
    parser.faults.check()?;
    parser.finish()
}

struct LoadParser<'t> {
    faults: Faults<'t>,
    load: Load,
    names: HashMap<PathTemplate, NameId>,
    statuses: HashMap<Vec<u8>, u16>,
    /// Open loops: index of the operation, and position.
    loops: Vec<(u32, Place)>,
    /// Repetition count that applies to the next line.
    repeat: Option<u64>,
    /// Handles that a previous line opens.
    opened: Vec<bool>,
    /// First use of a handle that no previous line opens.
    missed: Option<(Place, u64)>,
}

impl LoadParser<'_> {
    fn words_and_line<'l>(
        &mut self,
        line: &'l [u8],
        place: Place,
        buffer: &mut Vec<Word<'l>>,
    ) -> Result<(), Fault> {
        words(line, place, &self.faults, buffer)?;
        let Some(first) = buffer.first() else { return Ok(()) };
        self.load.lines = self.load.lines.saturating_add(1);
        self.line(buffer)?;
        self.bounded(first.place)
    }

    /// Continues after a faulty line; a faulty loop is still opened, since its end follows.
    fn go_on(&mut self, words: &[Word<'_>]) {
        self.repeat = None;
        if let Some(word) = words.first().filter(|word| verb(word.text) == Some(Verb::Loop)) {
            let start = u32::try_from(self.load.ops.len()).unwrap_or(u32::MAX);
            self.loops.push((start, word.place));
        }
    }

    fn error(&self, word: &Word<'_>, message: &str, right: &str) -> Fault {
        let text = shown(word.text);
        self.faults.error(word.place, format!("'{text}' {message}")).hint(right)
    }

    /// Checks the size limits: the load is kept in memory, and its names once for each client.
    fn bounded(&self, place: Place) -> Result<(), Fault> {
        if self.load.ops.len() <= OPS_MAX && self.load.names.len() <= NAMES_MAX {
            return Ok(());
        }
        let right = "a load has at most 8388608 operations and 1048576 names; --lines takes a part";
        Err(self.faults.error(place, "the load is too long").hint(right))
    }

    fn line(&mut self, words: &[Word<'_>]) -> Result<(), Fault> {
        let (first, mut tail) = (&words[0], &words[1..]);
        let mut head = first;
        let timed = !first.quoted && first.text[..1].iter().all(u8::is_ascii_digit);
        if timed {
            let us = self.time(first)?;
            let Some((next, after)) = tail.split_first() else {
                return Err(self.error(first, "is a time without an operation", verbs::RIGHT));
            };
            (head, tail) = (next, after);
            if us > 0 {
                self.push(Operation::Until { us }, head.place, 0);
            }
        }
        if head.text.starts_with(b"SMB") {
            let right = "load files of dbench 1 are not read by any later version";
            return Err(self.error(head, "is an operation of dbench 1", right));
        }
        let Some(verb) = verb(head.text) else {
            return Err(match verbs::other_backend(head.text) {
                Some(backend) => {
                    let what = format!("is an operation of dbench's backend {backend}");
                    self.error(head, &what, "load files of its backend fileio are played here")
                }
                None => self.error(head, "is no operation", verbs::RIGHT),
            });
        };
        match verb {
            Verb::Operation(kind) => self.operation(kind, head, tail),
            other if timed => {
                let _ = other;
                Err(self.error(head, "cannot have a time", "only operations have times"))
            }
            other => self.directive(other, head, tail),
        }
    }

    /// Parses seconds from the start of the pass, in microseconds.
    fn time(&self, word: &Word<'_>) -> Result<u64, Fault> {
        let text = std::str::from_utf8(word.text).ok();
        let seconds = text.and_then(|text| text.parse::<f64>().ok());
        let seconds = seconds.filter(|seconds| (0.0..=UNTIL_MAX_S).contains(seconds));
        let right =
            "a line begins with an operation, or with seconds from the pass's start, as 1.5";
        let seconds = seconds.ok_or_else(|| self.error(word, "is no time", right))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let us = (seconds * 1e6) as u64;
        Ok(us)
    }

    fn push(&mut self, operation: Operation, place: Place, status: u16) {
        self.load.ops.push(LoadLine { operation, line: place.line, status });
    }

    fn operation(
        &mut self,
        kind: OperationKind,
        head: &Word<'_>,
        tail: &[Word<'_>],
    ) -> Result<(), Fault> {
        let (names, least, most) = kind.words();
        let form = format!("write {}", kind.form());
        let Some((last, tail)) = tail.split_last() else {
            return Err(self.error(head, "has nothing behind it", &form));
        };
        let status = self.status(last)?;
        if tail.len() < names + least {
            return Err(self.error(last, "comes too early: something is missing", &form));
        }
        if let Some(surplus) = tail.get(names + most) {
            return Err(self.error(surplus, "is too much", &form));
        }
        let (name_words, number_words) = tail.split_at(names);
        let mut templates = Vec::with_capacity(names);
        for word in name_words {
            templates.push(template(word.text, word.place, &self.faults)?);
        }
        if kind == OperationKind::Deltree && templates.iter().any(PathTemplate::is_top) {
            let right = "name a directory below, as \"\\clients\\client1\"";
            return Err(self.error(&name_words[0], "would remove everything", right));
        }
        let mut values = Vec::with_capacity(number_words.len());
        for word in number_words {
            let value = number(word.text)
                .ok_or_else(|| self.error(word, "is no number from 0 on", numbers::RIGHT))?;
            values.push(value);
        }
        let repeated = self.repeat.take();
        if let Some(times) = repeated {
            self.open_loop(times, head.place)?;
        }
        self.add_operation(kind, &templates, values, number_words, status, head)?;
        if repeated.is_some() {
            self.close_loop(head.place);
        }
        Ok(())
    }

    fn add_operation(
        &mut self,
        kind: OperationKind,
        templates: &[PathTemplate],
        values: Vec<LoadNumber>,
        number_words: &[Word<'_>],
        status: u16,
        head: &Word<'_>,
    ) -> Result<(), Fault> {
        let fixed: Option<Vec<u64>> = values.iter().map(LoadNumber::fixed).collect();
        let Some(numbers) = fixed.filter(|_| !templates.iter().any(PathTemplate::has_random))
        else {
            let drawn = DrawnOperation { kind, names: templates.to_vec(), numbers: values };
            let number = u32::try_from(self.load.drawn.len()).unwrap_or(u32::MAX);
            self.load.drawn.push(drawn);
            self.push(Operation::Drawn(number), head.place, status);
            return Ok(());
        };
        let names: Vec<NameId> = templates.iter().map(|name| self.name(name)).collect();
        let handle = match kind.handle_at() {
            Some(at) => self.handle(kind, numbers[at], number_words[at].place),
            None => 0,
        };
        let Some(operation) = kind.to_operation(&names, &numbers, handle) else {
            let right = "offsets are below 2^63, sizes up to 1 GiB, offsets and sizes of locks \
                         below 2^32";
            let place = number_words.get(1).map_or(head.place, |word| word.place);
            return Err(self.faults.error(place, "a number is too large").hint(right));
        };
        self.push(operation, head.place, status);
        Ok(())
    }

    fn name(&mut self, template: &PathTemplate) -> NameId {
        if let Some(&name) = self.names.get(template) {
            return name;
        }
        let name = NameId::try_from(self.load.names.len()).unwrap_or(NameId::MAX);
        self.load.names.push(template.clone());
        self.names.insert(template.clone(), name);
        name
    }

    fn handle(&mut self, kind: OperationKind, number: u64, place: Place) -> HandleId {
        let next = HandleId::try_from(self.load.handles.len()).unwrap_or(HandleId::MAX);
        let handle = *self.load.handle_ids.entry(number).or_insert(next);
        if handle == next {
            self.load.handles.push(number);
            self.opened.push(false);
        }
        let opened = &mut self.opened[handle as usize];
        if kind == OperationKind::NtCreateX {
            *opened = true;
        } else if !*opened && self.missed.is_none() {
            self.missed = Some((place, number));
        }
        handle
    }

    /// Parses the status at the end of a line.
    fn status(&mut self, word: &Word<'_>) -> Result<u16, Fault> {
        if let Some(&status) = self.statuses.get(word.text) {
            return Ok(status);
        }
        let text = word.text;
        let expected = if text == b"*" {
            ExpectedOutcome::Either
        } else if text.eq_ignore_ascii_case(b"SUCCESS") || text == b"NT_STATUS_OK" {
            ExpectedOutcome::Success
        } else if text.starts_with(b"NT_STATUS_") || starts_with_error(text) {
            ExpectedOutcome::Failure
        } else if let Some(number) = plain(text).filter(|_| text.starts_with(b"0x")) {
            if number == 0 { ExpectedOutcome::Success } else { ExpectedOutcome::Failure }
        } else {
            let right = "a line ends with NT_STATUS_OK, another NT_STATUS_ word, 0x and a number, \
                         SUCCESS, ERROR, or * where either will do";
            return Err(self.error(word, "is no status", right));
        };
        let status = u16::try_from(self.load.statuses.len()).unwrap_or(u16::MAX);
        if usize::from(status) >= STATUSES_MAX {
            return Err(self.error(word, "is one status too many", "use up to 4096 of them"));
        }
        self.load.statuses.push(StatusCode { text: shown(text), expected });
        self.statuses.insert(text.to_vec(), status);
        Ok(status)
    }

    fn directive(&mut self, verb: Verb, head: &Word<'_>, tail: &[Word<'_>]) -> Result<(), Fault> {
        if self.repeat.is_some() {
            let right = "behind REPEAT comes an operation";
            return Err(self.error(head, "cannot be repeated", right));
        }
        match verb {
            Verb::Sleep => {
                // The older form has a status behind it.
                let us =
                    self.count(head, tail.split_at(tail.len().min(1)).0, "SLEEP MICROSECONDS")?;
                if us > WAIT_MAX_US {
                    return Err(self.error(&tail[0], "is more than an hour", "sleep less"));
                }
                if let Some(status) = tail.get(1) {
                    self.status(status)?;
                }
                self.push(
                    Operation::Sleep { us: u32::try_from(us).unwrap_or(u32::MAX) },
                    head.place,
                    0,
                );
            }
            Verb::Loop => {
                let times = self.count(head, tail, "LOOP TIMES")?;
                self.open_loop(times, head.place)?;
            }
            Verb::EndLoop => {
                if self.loops.is_empty() {
                    return Err(self.error(head, "ends no loop", "a loop begins with LOOP TIMES"));
                }
                self.close_loop(head.place);
            }
            Verb::Repeat => self.repeat = Some(self.count(head, tail, "REPEAT TIMES")?),
            Verb::SetPoint => {
                let point = self.count(head, tail, "SETSP POINT")?;
                self.push(Operation::SetPoint { point }, head.place, 0);
            }
            Verb::WaitPoint => self.wait_point(head, tail)?,
            // Data comes from the engine: written values have no meaning for a filesystem.
            Verb::WritePattern => {}
            Verb::RandomString => self.random_string(head, tail)?,
            Verb::Operation(_) => {}
        }
        Ok(())
    }

    /// The number behind a directive.
    fn count(&self, head: &Word<'_>, tail: &[Word<'_>], form: &str) -> Result<u64, Fault> {
        let right = format!("write {form}");
        match tail {
            [word] => {
                plain(word.text).ok_or_else(|| self.error(word, "is no number from 0 on", &right))
            }
            [] => Err(self.error(head, "needs a number", &right)),
            [_, surplus, ..] => Err(self.error(surplus, "is too much", &right)),
        }
    }

    fn wait_point(&mut self, head: &Word<'_>, tail: &[Word<'_>]) -> Result<(), Fault> {
        let right = "write WAITSP CLIENT POINT";
        let [client, point] = tail else {
            return Err(self.error(head, "needs a client and a point", right));
        };
        let wrong = |word| self.error(word, "is no number from 0 on", right);
        let number = plain(client.text).and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or_else(|| wrong(client))?;
        let reached = plain(point.text).ok_or_else(|| wrong(point))?;
        self.push(Operation::WaitPoint { client: number, point: reached }, head.place, 0);
        Ok(())
    }

    fn random_string(&mut self, head: &Word<'_>, tail: &[Word<'_>]) -> Result<(), Fault> {
        let right = "write RANDOMSTRING INDEX \"ab[cd]\", the index from 0 to 9";
        let [index, text] = tail else {
            return Err(self.error(head, "needs an index and a text", right));
        };
        let into = plain(index.text).and_then(|into| u8::try_from(into).ok());
        let into = into.filter(|into| *into < 10);
        let into = into.ok_or_else(|| self.error(index, "is no index", right))?;
        let drawn = random_text(text.text, text.place, &self.faults)?;
        let number = u32::try_from(self.load.texts.len()).unwrap_or(u32::MAX);
        if number as usize >= TEXTS_MAX {
            return Err(self.error(text, "is one random string too many", "use up to 65536"));
        }
        self.load.texts.push(drawn);
        self.push(Operation::DrawText { into, text: number }, head.place, 0);
        Ok(())
    }

    fn open_loop(&mut self, times: u64, place: Place) -> Result<(), Fault> {
        if self.loops.len() >= LOOPS_MAX {
            let right = "at most 16 loops stand in each other";
            return Err(self.faults.error(place, "the loops are too deep").hint(right));
        }
        let start = u32::try_from(self.load.ops.len()).unwrap_or(u32::MAX);
        self.loops.push((start, place));
        self.push(Operation::Loop { times, end: start }, place, 0);
        Ok(())
    }

    fn close_loop(&mut self, place: Place) {
        let Some((start, _)) = self.loops.pop() else { return };
        let last = u32::try_from(self.load.ops.len()).unwrap_or(u32::MAX);
        if let Some(LoadLine { operation: Operation::Loop { end, .. }, .. }) =
            self.load.ops.get_mut(start as usize)
        {
            *end = last;
        }
        self.push(Operation::EndLoop { start }, place, 0);
    }

    fn finish(mut self) -> Result<Load, ConfigError> {
        if let Some(&(_, place)) = self.loops.last() {
            let fault = self.faults.error(place, "the loop has no end").hint("add a line ENDLOOP");
            return Err(self.faults.refuse(fault));
        }
        let counted: u64 = self.load.counts().iter().sum();
        if counted == 0 {
            let right = "each line is an operation; `treering dbench generate` writes a load file";
            let fault = self.faults.error(Place::START, "there is no operation").hint(right);
            return Err(self.faults.refuse(fault));
        }
        if let Some((place, number)) = self.missed.filter(|_| self.load.drawn.is_empty()) {
            let message = format!("the handle {number} is opened by no line before");
            self.faults.warn(place, message);
        }
        self.load.warnings = self.faults.into_warnings();
        Ok(self.load)
    }
}

fn starts_with_error(text: &[u8]) -> bool {
    text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"ERROR"))
}
