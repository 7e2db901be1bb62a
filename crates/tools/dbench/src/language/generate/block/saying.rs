//! Writing of lines, and operations that only query.

use std::io::Write;

use super::{BlockWalk, FileTable, LASTING, MixOperation, TOP};
use crate::language::generate::files::DIRS;

/// Writes a line whose operation must succeed.
pub(super) fn line(out: &mut Vec<u8>, words: &str) {
    say(out, words, "NT_STATUS_OK");
}

/// Writes a line with its expected status.
pub(super) fn say(out: &mut Vec<u8>, words: &str, status: &str) {
    // A buffer takes all.
    let _written = writeln!(out, "{words} {status}");
}

impl BlockWalk {
    pub(super) fn query_path(&mut self, files: &FileTable, out: &mut Vec<u8>) {
        let (existing, missing) = (self.left.paths, self.left.paths_missing);
        let level = if self.random.below(100) < 73 { 1004 } else { 1035 };
        if self.random.below(existing + missing) < existing {
            self.left.paths -= 1;
            let existing_files: Vec<usize> =
                (0..files.all.len()).filter(|at| files.all[*at].bytes.is_some()).collect();
            let file = self.draw_among(files, &existing_files);
            let path = &files.all[file].path;
            return line(out, &format!(r#"QUERY_PATH_INFORMATION "{path}" {level}"#));
        }
        self.left.paths_missing -= 1;
        let (path, status) = if self.left.paths_missing == 0 {
            (format!(r"{TOP}\GONE\GONE.DAT"), "NT_STATUS_OBJECT_PATH_NOT_FOUND")
        } else {
            (self.missing(), "NT_STATUS_OBJECT_NAME_NOT_FOUND")
        };
        say(out, &format!(r#"QUERY_PATH_INFORMATION "{path}" {level}"#), status);
    }

    pub(super) fn find(&mut self, files: &FileTable, out: &mut Vec<u8>) {
        let (existing, nothing) = (self.left.finds, self.left.finds_nothing);
        let dir = self.draw_dir();
        let name = DIRS[dir].0;
        if self.random.below(existing + nothing) < existing {
            self.left.finds -= 1;
            let count = files.count_in(dir);
            return line(out, &format!(r#"FIND_FIRST "{TOP}\{name}\*" 260 1366 {count}"#));
        }
        self.left.finds_nothing -= 1;
        let words = format!(r#"FIND_FIRST "{TOP}\{name}\<.NIX" 260 1366 0"#);
        say(out, &words, "NT_STATUS_NO_SUCH_FILE");
    }

    /// Writes a query, an attribute change or a flush of an open file.
    pub(super) fn on_file(&mut self, kind: MixOperation, out: &mut Vec<u8>) {
        let flushes = kind == MixOperation::Flush;
        // The file used last, mostly; to be flushed, one that was written for that.
        let suits = |at: &usize| !flushes || self.open[*at].purpose.flushes;
        let suiting: Vec<usize> = (0..self.open.len()).filter(suits).collect();
        let candidates: Vec<usize> = (0..self.open.len()).collect();
        let among = if suiting.is_empty() { &candidates } else { &suiting };
        let latest = self.random.below(10) < 8;
        let at = match among.last() {
            Some(&last) if latest => last,
            _ => among.get(self.random.index(among.len())).copied().unwrap_or_default(),
        };
        let Some(open) = self.open.get_mut(at) else { return };
        let handle = open.handle;
        let words = match kind {
            MixOperation::Flush => {
                open.wants.flushes = false;
                format!("Flush {handle}")
            }
            MixOperation::SetFile => format!("SET_FILE_INFORMATION {handle} 1004"),
            _ => {
                let level = [258, 1004, 1005][self.random.index(3)];
                format!("QUERY_FILE_INFORMATION {handle} {level}")
            }
        };
        line(out, &words);
    }

    pub(super) fn lock(&mut self, out: &mut Vec<u8>) {
        let Some(handle) = self.open.last().map(|open| open.handle) else { return };
        let start = self.random.below(1 << 20);
        line(out, &format!("LockX {handle} {start} 1"));
        line(out, &format!("UnlockX {handle} {start} 1"));
    }

    pub(super) fn unlink(&mut self, files: &mut FileTable, out: &mut Vec<u8>) {
        let idle: Vec<usize> = files.idle().collect();
        // The largest often goes first, so that little stands at the same time.
        let largest = idle.iter().copied().max_by_key(|at| files.all[*at].bytes);
        let file = match largest {
            Some(file) if self.random.below(2) == 0 => file,
            _ => self.draw_among(files, &idle),
        };
        debug_assert!(file >= LASTING, "lasting files are not unlinked");
        files.all[file].bytes = None;
        line(out, &format!(r#"Unlink "{}" 22"#, files.all[file].path));
    }

    pub(super) fn rename(&mut self, files: &mut FileTable, out: &mut Vec<u8>) {
        let idle: Vec<usize> = files.idle().collect();
        let from = self.draw_among(files, &idle);
        let dir = files.all[from].dir;
        let free: Vec<usize> = files.free().collect();
        let beside = free.iter().copied().find(|at| files.all[*at].dir == dir);
        let Some(to) = beside.or_else(|| free.first().copied()) else { return };
        files.all[to].bytes = files.all[from].bytes.take();
        let words = format!(r#"Rename "{}" "{}""#, files.all[from].path, files.all[to].path);
        line(out, &words);
    }
}
