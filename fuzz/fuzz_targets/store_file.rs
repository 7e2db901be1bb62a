//! A store that anybody may have written: its trials, or an error; what can be loaded can be shown.
//!
//! The input is either the file itself or, to come past SQLite, lines `table.column=value` that
//! change every row of a good store.
#![no_main]

use std::fs;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use rusqlite::Connection;
use rusqlite::types::Value;
use treering_fuzz::folder;
use treering_store::{Access, Filter, Store};

const GOOD: &[u8] = include_bytes!("../seeds/store_file/good");

fn value(text: &str) -> Value {
    if let Ok(number) = text.parse::<i64>() {
        Value::Integer(number)
    } else if let Ok(number) = text.parse::<f64>() {
        Value::Real(number)
    } else if let Some(bytes) = text.strip_prefix('#') {
        Value::Blob(bytes.as_bytes().to_vec())
    } else if text == "null" {
        Value::Null
    } else {
        Value::Text(text.to_owned())
    }
}

/// Does what the lines say, as far as SQLite lets it.
fn change(path: &Path, lines: &str) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "synchronous", "off")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let mut triggers =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")?;
    let triggers: Vec<(String, String)> =
        triggers.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (trigger, _) in &triggers {
        connection.execute(&format!("DROP TRIGGER \"{trigger}\""), [])?;
    }
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    for line in lines.lines().take(16) {
        let Some((place, new)) = line.split_once('=') else { continue };
        let Some((table, column)) = place.split_once('.') else { continue };
        if plain(table) && plain(column) {
            let update = format!("UPDATE \"{table}\" SET \"{column}\" = ?1");
            let _done_or_not = connection.execute(&update, [value(new)]);
        }
    }
    // A store that lacks one of its triggers is refused.
    for (_, statement) in &triggers {
        connection.execute_batch(statement)?;
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let folder = folder();
    let path = folder.path().join("store");
    match std::str::from_utf8(data) {
        Ok(lines) if !data.starts_with(b"SQLite format 3") => {
            fs::write(&path, GOOD).expect("a file for the fuzz target");
            change(&path, lines).expect("a good store can be changed");
        }
        _ => fs::write(&path, data).expect("a file for the fuzz target"),
    }
    let Ok(store) = Store::open(&path, Access::ReadOnly) else { return };
    let _sound_or_not = store.check();
    let Ok(trials) = store.trials(&Filter { limit: Some(20), ..Filter::default() }) else { return };
    let ids: Vec<_> = trials.iter().map(|trial| trial.trial).collect();
    let _ids_or_not = store.short_ids(&ids);
    for trial in ids {
        if let Ok(trial) = store.load(trial) {
            treering_fuzz::show(&trial);
        }
    }
});
