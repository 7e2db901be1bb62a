//! Import of exported JSON, and of the JSON lines of `--events`.

use std::cell::Cell;
use std::fmt;
use std::io::{self, BufReader, Read};

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, from_str};
use treering_model::{EVENT_VERSION, Trial, TrialBuilder, TrialEvent};

use treering_kit::import::log::Log;
use treering_kit::import::trial::ImportedTrial;
use treering_kit::import::{ParsedOutputs, Remark, TrialConsumer};

/// Newest supported version of the export.
const EXPORT_VERSION: u32 = 2;

#[derive(Deserialize)]
struct VersionField {
    version: u32,
}

/// True if the JSON of an export begins here, however it is laid out.
pub(super) fn begins_export(log: &Log<'_>, at: usize) -> bool {
    let line = log.line(at).trim_start();
    let mark = "\"treering_export\"";
    line.strip_prefix('{').is_some_and(|tail| {
        let tail = tail.trim_start();
        tail.starts_with(mark) || tail.is_empty() && log.line(at + 1).trim().starts_with(mark)
    })
}

/// True if lines of events begin here.
pub(super) fn begins_events(log: &Log<'_>, at: usize) -> bool {
    let line = log.line(at);
    line.starts_with('{') && line.contains("\"event\":\"began\"")
}

/// Reads an export with one trial in memory at a time. Trials before an error are passed to the
/// consumer.
pub(super) fn export(
    log: &mut Log<'_>,
    at: usize,
    hand_on: &mut TrialConsumer<'_>,
) -> ParsedOutputs {
    let lines = Cell::new(0);
    let text = BufReader::new(LogText { log: &mut *log, line: at, place: 0 });
    let mut refused = None;
    let export = ExportReader { hand_on, refused: &mut refused };
    let read =
        export.deserialize(&mut Deserializer::from_reader(LineCounter { text, lines: &lines }));
    let fault = |line: usize, message: String| ParsedOutputs {
        end: log.len(),
        outputs: Vec::new(),
        remarks: vec![Remark { line, what: message }],
    };
    match (read, refused) {
        (Ok(()), _) => {
            ParsedOutputs { end: at + lines.get() + 1, outputs: Vec::new(), remarks: Vec::new() }
        }
        (Err(_), Some(version)) => fault(at + 1, too_new(version)),
        (Err(error), None) => {
            // The parser's message counts lines from the start of the export.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or("");
            let message = format!("this export of treering cannot be read: {words}");
            fault(at + error.line().max(1), message)
        }
    }
}

/// Text of a log from a line on, as a stream of bytes.
struct LogText<'l, 't> {
    log: &'l mut Log<'t>,
    line: usize,
    place: usize,
}

impl Read for LogText<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.line >= self.log.len() || into.is_empty() {
            return Ok(0);
        }
        let tail = self.log.line(self.line).as_bytes().get(self.place..).unwrap_or(&[]);
        if tail.is_empty() {
            (self.line, self.place) = (self.line + 1, 0);
            self.log.forget_before(self.line);
            into[0] = b'\n';
            return Ok(usize::from(self.line < self.log.len()));
        }
        let count = tail.len().min(into.len());
        into[..count].copy_from_slice(&tail[..count]);
        self.place += count;
        Ok(count)
    }
}

/// Counts the lines that were read completely.
struct LineCounter<'c, R> {
    text: R,
    lines: &'c Cell<usize>,
}

impl<R: Read> Read for LineCounter<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(into)?;
        let ends = into[..count].iter().filter(|byte| **byte == b'\n').count();
        self.lines.set(self.lines.get() + ends);
        Ok(count)
    }
}

/// Export: its version comes first, then its trials, each passed to the consumer.
struct ExportReader<'e, 'h> {
    hand_on: &'e mut TrialConsumer<'h>,
    /// Version that is too new.
    refused: &'e mut Option<u32>,
}

impl<'de> DeserializeSeed<'de> for ExportReader<'_, '_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ExportReader<'_, '_> {
    type Value = ();

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("an export of treering")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut has_version, mut has_trials) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "treering_export" => {
                    let VersionField { version } = map.next_value()?;
                    if version > EXPORT_VERSION {
                        *self.refused = Some(version);
                        return Err(A::Error::custom("too new"));
                    }
                    has_version = true;
                }
                "trials" if has_version => {
                    map.next_value_seed(TrialListReader { hand_on: &mut *self.hand_on })?;
                    has_trials = true;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if has_trials { Ok(()) } else { Err(A::Error::missing_field("trials")) }
    }
}

/// Deserialiser of the list of trials.
struct TrialListReader<'e, 'h> {
    hand_on: &'e mut TrialConsumer<'h>,
}

impl<'de> DeserializeSeed<'de> for TrialListReader<'_, '_> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TrialListReader<'_, '_> {
    type Value = ();

    fn expecting(&self, words: &mut fmt::Formatter<'_>) -> fmt::Result {
        words.write_str("a list of trials")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(trial) = list.next_element::<Box<Trial>>()? {
            if (self.hand_on)(ImportedTrial::Own(trial)).is_break() {
                return Err(A::Error::custom("no more trials are wanted"));
            }
        }
        Ok(())
    }
}

fn too_new(version: u32) -> String {
    format!(
        "this export has version {version}; the newest supported is {EXPORT_VERSION}: use a newer \
         treering"
    )
}

/// Reads the events of one trial.
pub(super) fn events(log: &mut Log<'_>, at: usize) -> ParsedOutputs {
    let mut builder = TrialBuilder::default();
    let mut remarks = Vec::new();
    let mut end = at;
    for line in at..log.len() {
        if line > at && begins_events(log, line) || !log.line(line).starts_with('{') {
            break;
        }
        end = line + 1;
        log.forget_before(line);
        let reported = match from_str::<TrialEvent>(log.line(line)) {
            Ok(TrialEvent::Began(beginning)) if beginning.event_version > EVENT_VERSION => {
                Err(format!(
                    "these events have version {}; the newest supported is {EVENT_VERSION}: use a \
                     newer treering",
                    beginning.event_version
                ))
            }
            Ok(event) => builder.push(&event).map_err(|error| error.to_string()),
            Err(error) => Err(format!("this event cannot be read: {error}")),
        };
        if let Err(message) = reported {
            remarks.push(Remark { line: line + 1, what: message });
        }
    }
    let outputs = builder.finish().map(|trial| ImportedTrial::Own(Box::new(trial)));
    ParsedOutputs { end, outputs: outputs.into_iter().collect(), remarks }
}
