//! A database of fsperf from somebody else: trials that hold together, or a remark.
//!
//! The input is either the file itself or, to come past the header of SQLite, changes of bytes of a
//! good database: three bytes each, the place and the new value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_registry::import;

const GOOD: &[u8] = include_bytes!("../seeds/fsperf_database/good");
const MAGIC: &[u8] = b"SQLite format 3\0";

fn changed(changes: &[u8]) -> Vec<u8> {
    let mut database = GOOD.to_vec();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % database.len();
        // What begins otherwise is no database, and read as text.
        if place >= MAGIC.len() {
            database[place] = change[2];
        }
    }
    database
}

fuzz_target!(|data: &[u8]| {
    let database = if data.starts_with(MAGIC) { data.to_vec() } else { changed(data) };
    let imported = import(&database);
    treering_fuzz::check_import(&imported);
});
