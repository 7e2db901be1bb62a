//! Fill part of the load, its first 600 lines: directories and the lasting files.

use std::io::Write;

use super::files::{DIRS, FileTable, LASTING, TOP};

const BLOCK: u64 = 65_536;
/// Size of most files, and of the large ones.
const USUAL: u64 = 260_096;
const LARGE: u64 = 1_048_576;
const MEDIUM: u64 = 327_680;
const LARGEST: u64 = 1_867_776;
/// Number of blocks at the start of a large file that are preceded by a write of their last byte
/// but one.
const MARKED: u64 = 3;

/// File sizes in bytes; large files are spread among the others.
fn size(number: usize) -> u64 {
    match number {
        5 | 13 | 21 | 29 | 37 | 45 => LARGE,
        49 => MEDIUM,
        53 => LARGEST,
        _ => USUAL,
    }
}

/// Writes the load that creates the lasting files.
pub(super) fn write(files: &mut FileTable, out: &mut Vec<u8>) {
    let mut say = |line: String| {
        // A buffer takes all.
        let _written = writeln!(out, "{line} NT_STATUS_OK");
    };
    say(r#"Deltree "\clients\client1""#.to_owned());
    say(r#"Mkdir "\clients""#.to_owned());
    let mut make = |path: &str, files: &mut FileTable| {
        let handle = files.handle();
        say(format!(r#"NTCreateX "{path}" 0x1 0x2 {handle}"#));
        say(format!("Close {handle}"));
    };
    make(r"\clients\client1", files);
    make(TOP, files);
    for (name, _) in DIRS {
        make(&format!(r"{TOP}\{name}"), files);
    }
    let missing = "NT_STATUS_OBJECT_NAME_NOT_FOUND";
    let handle = files.handle();
    let path = format!(r"{TOP}\START");
    let _written = writeln!(out, r#"NTCreateX "{path}.CFG" 0x40 0x1 {handle} {missing}"#);
    let _written = writeln!(out, r#"QUERY_PATH_INFORMATION "{path}" 1004 {missing}"#);
    let _written = writeln!(out, r#"FIND_FIRST "{path}.*" 260 1366 0 NT_STATUS_NO_SUCH_FILE"#);
    let _written = writeln!(out, "QUERY_FS_INFORMATION 1 NT_STATUS_OK");
    for number in 0..LASTING {
        file(number, files, out);
    }
}

/// Creates a file of `size(number)` bytes.
fn file(number: usize, files: &mut FileTable, out: &mut Vec<u8>) {
    let mut say = |line: String| {
        let _written = writeln!(out, "{line} NT_STATUS_OK");
    };
    let handle = files.handle();
    let bytes = size(number);
    say(format!(r#"NTCreateX "{}" 0x40 0x2 {handle}"#, files.all[number].path));
    let mark = |at: u64| {
        [format!("WriteX {handle} {at} 1 1"), format!("QUERY_FILE_INFORMATION {handle} 258")]
    };
    let marked = match bytes {
        LARGE => MARKED,
        MEDIUM => 2,
        LARGEST => 0,
        _ => 1,
    };
    if bytes == LARGEST {
        // The whole file is a hole at first.
        mark(bytes - 2).into_iter().for_each(&mut say);
    }
    for block in 0..bytes.div_ceil(BLOCK) {
        let offset = block * BLOCK;
        let length = BLOCK.min(bytes - offset);
        if block < marked {
            mark(offset + length - 2).into_iter().for_each(&mut say);
        }
        say(format!("WriteX {handle} {offset} {length} {length}"));
    }
    say(format!("Close {handle}"));
    files.all[number].bytes = Some(bytes);
}
