//! The JSON of an export, and the lines of JSON of `--events`.

use serde::Deserialize;
use serde_json::{Deserializer, from_str};
use treering_model::{EVENT_VERSION, Trial, TrialBuilder, TrialEvent};

use crate::log::Log;
use crate::trial::Content;
use crate::{Reading, Remark};

/// The newest version of the export that is understood.
const EXPORT_VERSION: u32 = 2;

#[derive(Deserialize)]
struct Export {
    treering_export: Version,
    trials: Vec<Trial>,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// What an export says first, whatever else it holds.
#[derive(Deserialize)]
struct Heading {
    treering_export: Version,
}

/// Whether the JSON of an export begins here, however it is laid out.
pub(super) fn begins_export(log: &Log<'_>, at: usize) -> bool {
    let line = log.line(at).trim_start();
    let mark = "\"treering_export\"";
    line.strip_prefix('{').is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.starts_with(mark) || rest.is_empty() && log.line(at + 1).trim().starts_with(mark)
    })
}

/// Whether lines of events begin here.
pub(super) fn begins_events(log: &Log<'_>, at: usize) -> bool {
    let line = log.line(at);
    line.starts_with('{') && line.contains("\"event\":\"began\"")
}

/// Reads an export.
pub(super) fn export(log: &Log<'_>, at: usize) -> Reading {
    let text: Vec<&str> = (at..log.len()).map(|at| log.line(at)).collect();
    let text = text.join("\n");
    let mut values = Deserializer::from_str(&text).into_iter::<Export>();
    let read = values.next();
    let newest = |version: u32| version <= EXPORT_VERSION;
    let fault = |line: usize, what: String| Reading {
        end: log.len(),
        outputs: Vec::new(),
        remarks: vec![Remark { line, what }],
    };
    match read {
        Some(Ok(export)) if newest(export.treering_export.version) => {
            let lines = text[..values.byte_offset()].matches('\n').count();
            let outputs =
                export.trials.into_iter().map(|trial| Content::Own(Box::new(trial))).collect();
            Reading { end: at + lines + 1, outputs, remarks: Vec::new() }
        }
        Some(Ok(export)) => fault(at + 1, too_new(export.treering_export.version)),
        Some(Err(error)) => {
            // A newer export may hold what cannot be read: say so rather than where.
            let heading = Deserializer::from_str(&text).into_iter::<Heading>().next();
            if let Some(Ok(heading)) = heading
                && !newest(heading.treering_export.version)
            {
                return fault(at + 1, too_new(heading.treering_export.version));
            }
            let what = format!("this export of treering cannot be read: {error}");
            fault(at + error.line().max(1), what)
        }
        None => fault(at + 1, "this export of treering is empty".to_owned()),
    }
}

fn too_new(version: u32) -> String {
    format!(
        "this export has version {version}, and {EXPORT_VERSION} is the newest that is \
         understood: use a newer treering"
    )
}

/// Reads the events of one trial.
pub(super) fn events(log: &Log<'_>, at: usize) -> Reading {
    let mut builder = TrialBuilder::default();
    let mut remarks = Vec::new();
    let mut end = at;
    for line in at..log.len() {
        if line > at && begins_events(log, line) || !log.line(line).starts_with('{') {
            break;
        }
        end = line + 1;
        let told = match from_str::<TrialEvent>(log.line(line)) {
            Ok(TrialEvent::Began(beginning)) if beginning.event_version > EVENT_VERSION => {
                Err(format!(
                    "these events have version {}, and {EVENT_VERSION} is the newest that is \
                     understood: use a newer treering",
                    beginning.event_version
                ))
            }
            Ok(event) => builder.push(&event).map_err(|error| error.to_string()),
            Err(error) => Err(format!("this event cannot be read: {error}")),
        };
        if let Err(what) = told {
            remarks.push(Remark { line: line + 1, what });
        }
    }
    let outputs = builder.finish().map(|trial| Content::Own(Box::new(trial)));
    Reading { end, outputs: outputs.into_iter().collect(), remarks }
}
