//! Tests of whole packs: round trips, and rejected files.

use std::io::Cursor;

use treering_model::{Ending, RunMode, TrialEvent, TrialHeader, TrialId};

use crate::{PackError, PackHead, PackReader, PackRecord, PackWriter, sealed};

fn head() -> PackHead {
    PackHead { treering_version: "1".to_owned(), has_names: true, has_traces: true }
}

fn packed() -> Vec<u8> {
    let beginning = TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Native);
    let end = TrialEvent::Ended { ending: Ending::Completed, at_ns: 5 };
    let mut packing = PackWriter::begin(Cursor::new(Vec::new()), head()).unwrap();
    for event in [TrialEvent::Began(beginning), end] {
        packing.add(&PackRecord::Event(event)).unwrap();
    }
    packing.finish().unwrap().1.into_inner()
}

fn refusal(content: &[u8]) -> String {
    let mut pack = match PackReader::open(Cursor::new(sealed(content).unwrap())) {
        Err(error) => return error.to_string(),
        Ok(pack) => pack,
    };
    loop {
        match pack.next_trial() {
            Err(error) => return error.to_string(),
            Ok(None) => return "read to its end".to_owned(),
            Ok(Some(_)) => {}
        }
    }
}

#[test]
fn packs_round_trip() {
    let mut pack = PackReader::open(Cursor::new(packed())).unwrap();
    assert_eq!(*pack.head(), head());
    assert_eq!(pack.next_trial().unwrap().unwrap().workload, "fs_mark");
    assert!(matches!(pack.next_event().unwrap(), Some(TrialEvent::Ended { at_ns: 5, .. })));
    assert!(pack.next_event().unwrap().is_none());
    assert!(pack.next_trial().unwrap().is_none());
}

#[test]
fn a_byte_changed_anywhere_is_refused() {
    let good = packed();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            assert!(PackReader::open(Cursor::new(bad)).is_err(), "byte {at}, bit {bit}");
        }
    }
    for len in 0..good.len() {
        assert!(PackReader::open(Cursor::new(good[..len].to_vec())).is_err(), "{len} bytes");
    }
    let longer = [good.as_slice(), b"x"].concat();
    assert!(matches!(PackReader::open(Cursor::new(longer)), Err(PackError::Length { .. })));
}

#[test]
fn a_content_made_to_fill_memory_is_refused() {
    let zeros = vec![b' '; 70 << 20];
    assert!(refusal(&zeros).contains("line 1"));
    let head = serde_json::to_string(&PackRecord::Pack(head())).unwrap() + "\n";
    let lines = format!("{}\n", " ".repeat(8 << 20)).repeat(9);
    assert!(refusal(&[head.as_bytes(), lines.as_bytes()].concat()).contains("line 2"));
}

#[test]
fn records_out_of_place_are_refused() {
    let head = serde_json::to_string(&PackRecord::Pack(head())).unwrap();
    let end = PackRecord::Event(TrialEvent::Ended { ending: Ending::Completed, at_ns: 5 });
    let end = serde_json::to_string(&end).unwrap();
    assert!(refusal(b"").contains("out of place"));
    assert!(refusal(end.as_bytes()).contains("out of place"));
    assert!(refusal(b"{}").contains("line 1"));
    assert!(refusal(format!("{head}\n{head}\n").as_bytes()).contains("out of place"));
    assert_eq!(refusal(format!("{head}\n").as_bytes()), "read to its end");
}
