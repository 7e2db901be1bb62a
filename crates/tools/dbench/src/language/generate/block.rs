//! Blocks of the load: a random walk over operations, with as many of each as the published load
//! has.
//!
//! The next operation is drawn by how often it follows the current one in the published load, from
//! those that are left and possible. At the end of a block all its files are closed, and the
//! short-lived files that it created are removed.

use treering_script::Random;

use super::files::{DIRS, FileTable, LASTING, TOP};
use super::mix::{self, EFFECTS, KINDS, MixOperation, OpenPurpose, WriteEffect, share};

mod opening;
mod saying;
mod transfer;

/// Maximum number of open files.
const OPEN_MAX: usize = 22;
/// Maximum total size of short-lived files, exceeded only if unavoidable.
const PASSING_MAX: u64 = 2_500_000;
/// Maximum number of short-lived files.
const PASSING_FILES_MAX: usize = 100;

/// An open file.
#[derive(Clone, Debug)]
struct OpenFile {
    handle: u32,
    file: usize,
    /// Outstanding purposes of the open file; it may be closed when none is left.
    wants: OpenPurpose,
    /// All purposes for which the file was opened.
    purpose: OpenPurpose,
    /// Offset of the next sequential read.
    next: u64,
}

/// Budget of operations left in a block.
#[derive(Clone, Debug, Default)]
struct RemainingOps {
    kinds: [u64; KINDS],
    opens: u64,
    opens_plain: u64,
    missing: u64,
    made: u64,
    paths: u64,
    paths_missing: u64,
    finds: u64,
    finds_nothing: u64,
    reads: Vec<(u32, u64)>,
    writes: Vec<(WriteEffect, u32, u64)>,
    /// Writes of each effect.
    effects: [u64; EFFECTS],
    purposes: Vec<(OpenPurpose, u64)>,
    /// Files still to be opened that are to be read, and written.
    to_read: u64,
    to_write: u64,
}

impl RemainingOps {
    fn new(block: u32) -> Self {
        let mut left = Self {
            opens: share(mix::OPENS, block),
            opens_plain: share(mix::OPENS_PLAIN, block),
            missing: share(mix::OPENS_MISSING, block),
            made: share(mix::MADE, block),
            paths: share(mix::PATHS, block),
            paths_missing: share(mix::PATHS_MISSING, block),
            finds: share(mix::FINDS, block),
            finds_nothing: share(mix::FINDS_NOTHING, block),
            ..Self::default()
        };
        left.reads = mix::READS.iter().map(|&(size, sum)| (size, share(sum, block))).collect();
        left.reads.extend((0..share(mix::READS_ODD, block)).map(|at| (mix::odd_read(at), 1)));
        for &(effect, size, sum) in &mix::WRITES {
            left.writes.push((effect, size, share(sum, block)));
        }
        for &(effect, sum, first, more, sizes) in &mix::WRITES_ODD {
            for at in 0..share(sum, block) {
                let at = u32::try_from(at).unwrap_or_default() % sizes;
                left.writes.push((effect, first + more * at, 1));
            }
        }
        left.purposes = mix::PURPOSES.iter().map(|&(p, sum)| (p, share(sum, block))).collect();
        for &(effect, _, count) in &left.writes {
            left.effects[effect as usize] += count;
        }
        for &(purpose, count) in &left.purposes {
            left.to_read += count * u64::from(purpose.reads);
            left.to_write += count * u64::from(purpose.writes);
        }
        let kinds = &mut left.kinds;
        let opened = left.opens + left.opens_plain + left.made;
        kinds[MixOperation::Create as usize] = opened + left.missing;
        kinds[MixOperation::Close as usize] = opened;
        kinds[MixOperation::Unlink as usize] = left.made;
        kinds[MixOperation::QueryPath as usize] = left.paths + left.paths_missing;
        kinds[MixOperation::Find as usize] = left.finds + left.finds_nothing;
        kinds[MixOperation::Read as usize] = left.reads.iter().map(|(_, count)| count).sum();
        kinds[MixOperation::Write as usize] = left.writes.iter().map(|(_, _, count)| count).sum();
        kinds[MixOperation::QueryFs as usize] = share(mix::QUERIES_FS, block);
        kinds[MixOperation::QueryFile as usize] = share(mix::QUERIES_FILE, block);
        kinds[MixOperation::SetFile as usize] = share(mix::SETS_FILE, block);
        kinds[MixOperation::Flush as usize] = share(mix::FLUSHES, block);
        kinds[MixOperation::Rename as usize] = share(mix::RENAMES, block);
        kinds[MixOperation::Lock as usize] = share(mix::LOCKS, block);
        left
    }

    const fn of_kind(&self, kind: MixOperation) -> u64 {
        self.kinds[kind as usize]
    }

    /// Operations that need an open file.
    fn on_files(&self) -> u64 {
        let kinds = [
            MixOperation::Read,
            MixOperation::Write,
            MixOperation::QueryFile,
            MixOperation::SetFile,
            MixOperation::Flush,
            MixOperation::Lock,
        ];
        kinds.into_iter().map(|kind| self.of_kind(kind)).sum()
    }

    const fn of_effect(&self, effect: WriteEffect) -> u64 {
        self.effects[effect as usize]
    }

    /// Writes that make a file larger: only those that do not last may grow.
    const fn growing(&self) -> u64 {
        self.of_effect(WriteEffect::Straddle)
            + self.of_effect(WriteEffect::Append)
            + self.of_effect(WriteEffect::Extend)
    }

    /// True if no new file may be started: the last append or extend is reserved for the last file,
    /// whose end the remaining straddling writes need.
    const fn keeps_beginning(&self) -> bool {
        let begins = self.of_effect(WriteEffect::Append) + self.of_effect(WriteEffect::Extend);
        begins == 1 && self.made > 0 && self.of_effect(WriteEffect::Straddle) > 0
    }
}

/// Strictness of the check whether an operation is possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckStrictness {
    /// Only operations that match the purpose of an open file.
    Strict,
    /// Any open file will do; used towards the end of a block.
    Lax,
}

/// Random walk through all blocks.
pub(super) struct BlockWalk {
    random: Random,
    /// Deficit of each transition (row: kind, column: next kind), in thousandths of an operation.
    due: [[i64; KINDS]; KINDS],
    open: Vec<OpenFile>,
    left: RemainingOps,
    present: MixOperation,
}

impl BlockWalk {
    /// Creates a walk that begins after the fill part.
    pub(super) fn new(random: Random) -> Self {
        Self {
            random,
            due: [[0; KINDS]; KINDS],
            open: Vec::new(),
            left: RemainingOps::default(),
            present: MixOperation::Close,
        }
    }

    /// Writes a block.
    pub(super) fn block(&mut self, block: u32, files: &mut FileTable, out: &mut Vec<u8>) {
        self.left = RemainingOps::new(block);
        for (due, row) in self.due.iter_mut().zip(mix::FOLLOWING) {
            for (due, sum) in due.iter_mut().zip(row) {
                *due += i64::from(sum) * 1000 / 129;
            }
        }
        while let Some((kind, strictness)) = self.draw(files) {
            self.due[self.present as usize][kind as usize] -= 1000;
            self.present = self.perform(kind, strictness, files, out);
            self.left.kinds[kind as usize] -= 1;
        }
    }

    /// Draws the next kind of operation.
    fn draw(&mut self, files: &FileTable) -> Option<(MixOperation, CheckStrictness)> {
        for strictness in [CheckStrictness::Strict, CheckStrictness::Lax] {
            let mut weights = [0_u64; KINDS];
            for kind in MixOperation::ALL {
                let left = self.left.of_kind(kind);
                if left > 0 && self.can(kind, strictness, files) {
                    let due = self.due[self.present as usize][kind as usize];
                    // While there still are files to be opened afterwards.
                    let haste = if kind == MixOperation::Rename { 2 } else { 1 };
                    weights[kind as usize] = haste * (u64::try_from(due).unwrap_or(0) * 40 + left);
                }
            }
            let sum: u64 = weights.iter().sum();
            if sum > 0 {
                let drawn = self.random.below(sum);
                return Some((MixOperation::ALL[pick(&weights, drawn)], strictness));
            }
        }
        None
    }

    fn can(&self, kind: MixOperation, strictness: CheckStrictness, files: &FileTable) -> bool {
        match kind {
            MixOperation::QueryPath | MixOperation::Find | MixOperation::QueryFs => true,
            MixOperation::Read => self.reader(strictness, files).is_some(),
            MixOperation::Write => self.can_write(strictness, files),
            MixOperation::Flush => match strictness {
                CheckStrictness::Strict => self.open.iter().any(|open| open.purpose.flushes),
                CheckStrictness::Lax => !self.open.is_empty(),
            },
            // Each lock needs one for itself.
            MixOperation::QueryFile
                if self.left.of_kind(kind) <= self.left.of_kind(MixOperation::Lock) =>
            {
                false
            }
            MixOperation::QueryFile | MixOperation::SetFile | MixOperation::Lock => {
                !self.open.is_empty()
            }
            MixOperation::Create => self.can_open(files),
            MixOperation::Close => self.closable(strictness, files).is_some(),
            MixOperation::Unlink => {
                let idle = files.idle().count();
                // A rename needs one.
                let kept = self.left.of_kind(MixOperation::Rename) > 0 && self.left.made == 0;
                let open = self.open.iter().any(|open| open.file >= LASTING);
                idle > usize::from(kept && !open)
            }
            MixOperation::Rename => files.idle().next().is_some(),
        }
    }

    /// Index of an open file that may be closed: all purposes it was opened for are fulfilled.
    fn closable(&self, strictness: CheckStrictness, files: &FileTable) -> Option<usize> {
        let opens_left = self.left.opens + self.left.opens_plain;
        let lasting = self.open.iter().filter(|open| open.file < LASTING).count();
        let passing = self.open.len() - lasting;
        let full = |open: &&OpenFile| open.file >= LASTING && files.all[open.file].bytes > Some(0);
        let fulls = self.open.iter().filter(full).count();
        let needed = self.left.on_files() > 0;
        let may = |open: &OpenFile| {
            let lasts = open.file < LASTING;
            let last_of_all = needed && opens_left == 0 && lasts && lasting == 1;
            let only = passing == 1 || (fulls == 1 && full(&open));
            let last_to_grow = self.left.growing() > 0 && self.left.made == 0 && !lasts && only;
            let done = match strictness {
                CheckStrictness::Strict => {
                    let OpenPurpose { reads, writes, flushes } = open.wants;
                    let empty = files.all[open.file].bytes == Some(0);
                    !(writes || flushes || (reads && !empty))
                }
                CheckStrictness::Lax => true,
            };
            done && !last_of_all && !last_to_grow
        };
        // Files that are to be removed come first, then the one opened last.
        let passing = self.open.iter().rposition(|open| open.file >= LASTING && may(open));
        passing.or_else(|| self.open.iter().rposition(may))
    }

    fn perform(
        &mut self,
        kind: MixOperation,
        strictness: CheckStrictness,
        files: &mut FileTable,
        out: &mut Vec<u8>,
    ) -> MixOperation {
        match kind {
            MixOperation::Read => self.read(strictness, files, out),
            MixOperation::Write => self.write(strictness, files, out),
            MixOperation::Create => self.create(files, out),
            MixOperation::Close => self.close(strictness, files, out),
            MixOperation::QueryPath => self.query_path(files, out),
            MixOperation::Find => self.find(files, out),
            MixOperation::Unlink => self.unlink(files, out),
            MixOperation::Rename => self.rename(files, out),
            MixOperation::QueryFs => saying::line(out, "QUERY_FS_INFORMATION 259"),
            MixOperation::QueryFile | MixOperation::SetFile | MixOperation::Flush => {
                self.on_file(kind, out);
            }
            MixOperation::Lock => {
                self.lock(out);
                // The question for the file that always follows.
                if self.left.of_kind(MixOperation::QueryFile) > 0 {
                    self.left.kinds[MixOperation::QueryFile as usize] -= 1;
                    self.due[MixOperation::Lock as usize][MixOperation::QueryFile as usize] -= 1000;
                    self.on_file(MixOperation::QueryFile, out);
                    return MixOperation::QueryFile;
                }
            }
        }
        kind
    }

    /// Draws a directory, weighted by its share of the opens.
    fn draw_dir(&mut self) -> usize {
        let shares: Vec<u64> = DIRS.iter().map(|(_, share)| *share).collect();
        let drawn = self.random.below(100);
        pick(&shares, drawn)
    }

    /// Draws one of `among`, preferring files of a drawn directory.
    fn draw_among(&mut self, files: &FileTable, among: &[usize]) -> usize {
        let dir = self.draw_dir();
        let existing: Vec<usize> =
            among.iter().copied().filter(|at| files.all[*at].dir == dir).collect();
        let among = if existing.is_empty() { among } else { &existing };
        among.get(self.random.index(among.len())).copied().unwrap_or_default()
    }

    /// Name of a file that never exists.
    fn missing(&mut self) -> String {
        let dir = DIRS[self.draw_dir()].0;
        let (number, ending) = (self.random.below(40), ["", ".DAT", ".DOC", ".LCK"]);
        format!(r"{TOP}\{dir}\GONE{number:02}{}", ending[self.random.index(ending.len())])
    }
}

/// Index of the weight that `number`, below the sum of all weights, falls on.
fn pick(weights: &[u64], mut number: u64) -> usize {
    for (at, &weight) in weights.iter().enumerate() {
        if number < weight {
            return at;
        }
        number -= weight;
    }
    weights.len().saturating_sub(1)
}
