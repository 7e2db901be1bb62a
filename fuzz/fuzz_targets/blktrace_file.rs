//! Files of blktrace, one for each CPU, and our own: entries to the end or an error with its place;
//! what is read is summed up, drawn, and written in both forms, from which it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_report::formats;
use treering_report::pages::trace::{TracedRun, json, page};
use treering_trace::{
    BlktraceReader, BlktraceWriter, TraceEntry, TraceReader, TraceWindow, TraceWriter, summarise,
};

/// Entries that are looked at; a file of bytes cannot have more that differ.
const ENTRIES: usize = 20_000;

fuzz_target!(|data: &[u8]| {
    // The first byte says where the file of the second CPU begins.
    let Some((cut, bytes)) = data.split_first() else { return };
    let (first, second) = bytes.split_at(bytes.len() * usize::from(*cut) / 256);
    let mut entries: Vec<TraceEntry> = Vec::new();
    if let Ok(mut reader) = BlktraceReader::new(vec![first, second]) {
        while let Ok(Some(entry)) = reader.next_entry() {
            entries.push(entry);
        }
    } else if let Ok(mut reader) = TraceReader::new(bytes) {
        while let Ok(Some(entry)) = reader.next_entry() {
            entries.push(entry);
        }
    } else {
        return;
    }
    entries.truncate(ENTRIES);
    let mut next = entries.iter().cloned();
    let summary = summarise(TraceWindow::default(), || Ok(next.next())).expect("nothing is read");
    let runs = [TracedRun { name: "trace".to_owned(), summary, on_disk: Vec::new() }];
    assert!(serde_json::from_str::<serde_json::Value>(&json(&runs)).is_ok());
    for format in formats::ALL {
        format.render(&page(&runs, true), &mut Vec::new()).expect("memory takes it");
    }
    let mut own = Vec::new();
    let mut writer = TraceWriter::new(&mut own).expect("memory takes it");
    let mut blktrace = BlktraceWriter::new(Some(0), |_, _| Ok(Vec::new()));
    for entry in &entries {
        writer.entry(entry).expect("memory takes it");
        blktrace.entry(entry).expect("memory takes it");
    }
    writer.finish().expect("memory takes it");
    let mut reader = TraceReader::new(own.as_slice()).expect("it is ours");
    let mut again = 0;
    while let Some(entry) = reader.next_entry().expect("what we wrote is whole") {
        again += usize::from(matches!(entry, TraceEntry::Event(_)));
    }
    let events = entries.iter().filter(|entry| matches!(entry, TraceEntry::Event(_))).count();
    assert_eq!(again, events);
    let files: Vec<Vec<u8>> = blktrace.into_files().map(|(_, file)| file).collect();
    let files = files.iter().map(Vec::as_slice).collect();
    let mut reader = BlktraceReader::new(files).expect("it is blktrace's");
    while let Some(entry) = reader.next_entry().expect("what we wrote is whole") {
        again -= usize::from(matches!(entry, TraceEntry::Event(_)));
    }
    assert_eq!(again, 0);
});
