//! Opening and closing files.

use super::saying::{line, say};
use super::{
    BlockWalk, CheckStrictness, FileTable, LASTING, OPEN_MAX, OpenFile, PASSING_FILES_MAX, pick,
};
use crate::language::generate::mix::OpenPurpose;

/// Purpose of a `NTCreateX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenKind {
    Open,
    OpenPlain,
    Missing,
    Make,
}

const OPENINGS: [OpenKind; 4] =
    [OpenKind::Open, OpenKind::OpenPlain, OpenKind::Missing, OpenKind::Make];

/// Number of closed short-lived files below which new ones are created more readily.
const STOCK: usize = 30;

impl BlockWalk {
    fn openings(&self, files: &FileTable) -> [u64; 4] {
        let left = &self.left;
        let more = self.open.len() < OPEN_MAX;
        let passing = files.all[LASTING..].iter().filter(|named| named.bytes.is_some()).count();
        // Files must be created before they can be removed: without a stock of them unlinks would
        // wait for the end of the block.
        let eagerness = if files.idle().count() < STOCK { 30 } else { 1 };
        let allowed = |count: u64, may: bool| if may { count } else { 0 };
        [
            allowed(left.opens, more),
            allowed(left.opens_plain, more),
            left.missing,
            allowed(left.made * eagerness, more && passing < PASSING_FILES_MAX),
        ]
    }

    pub(super) fn can_open(&self, files: &FileTable) -> bool {
        self.openings(files).iter().any(|&count| count > 0)
    }

    pub(super) fn create(&mut self, files: &mut FileTable, out: &mut Vec<u8>) {
        let openings = self.openings(files);
        let drawn = self.random.below(openings.iter().sum());
        let opening = OPENINGS[pick(&openings, drawn)];
        let handle = files.handle();
        match opening {
            OpenKind::Missing => {
                self.left.missing -= 1;
                let path = self.missing();
                let words = format!(r#"NTCreateX "{path}" 0x40 0x1 {handle}"#);
                return say(out, &words, "NT_STATUS_OBJECT_NAME_NOT_FOUND");
            }
            OpenKind::Open => self.left.opens -= 1,
            OpenKind::OpenPlain => self.left.opens_plain -= 1,
            OpenKind::Make => self.left.made -= 1,
        }
        let made = opening == OpenKind::Make;
        let file = self.choose(made, files);
        let named = &mut files.all[file];
        if made {
            named.bytes = Some(0);
        }
        named.open += 1;
        let (options, disposition) = match opening {
            OpenKind::OpenPlain => ("0x0", "0x1"),
            OpenKind::Make => ("0x40", "0x2"),
            _ => ("0x40", "0x1"),
        };
        line(out, &format!(r#"NTCreateX "{}" {options} {disposition} {handle}"#, named.path));
        let purpose = self.purpose(made);
        self.open.push(OpenFile { handle, file, wants: purpose, purpose, next: 0 });
    }

    /// Chooses the file to open: mostly a lasting one, and always so for the last open.
    fn choose(&mut self, made: bool, files: &FileTable) -> usize {
        if made {
            let free: Vec<usize> = files.free().collect();
            return self.draw_among(files, &free);
        }
        let lasting: Vec<usize> = (0..LASTING).collect();
        let idle: Vec<usize> = files.idle().collect();
        let last = self.left.opens + self.left.opens_plain < 8;
        if last || idle.is_empty() || self.random.below(100) < 85 {
            return self.draw_among(files, &lasting);
        }
        self.draw_among(files, &idle)
    }

    /// Draws the purpose of an open from those left: newly created files are mostly written.
    fn purpose(&mut self, made: bool) -> OpenPurpose {
        let favoured = |purpose: &OpenPurpose| match (made, purpose.reads, purpose.writes) {
            (true, _, true) => 6,
            (true, true, false) => 0,
            _ => 2,
        };
        let purposes = &self.left.purposes;
        let weights: Vec<u64> =
            purposes.iter().map(|(purpose, left)| left * favoured(purpose)).collect();
        let sum: u64 = weights.iter().sum();
        if sum == 0 {
            return OpenPurpose { reads: false, writes: false, flushes: false };
        }
        let drawn = self.random.below(sum);
        let at = pick(&weights, drawn);
        let (purpose, count) = &mut self.left.purposes[at];
        *count -= 1;
        self.left.to_read -= u64::from(purpose.reads);
        self.left.to_write -= u64::from(purpose.writes);
        *purpose
    }

    pub(super) fn close(
        &mut self,
        strictness: CheckStrictness,
        files: &mut FileTable,
        out: &mut Vec<u8>,
    ) {
        let Some(at) = self.closable(strictness, files) else { return };
        let open = self.open.remove(at);
        files.all[open.file].open -= 1;
        line(out, &format!("Close {}", open.handle));
    }
}
