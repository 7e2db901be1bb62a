//! A worker: draws operations and carries them out, one call at a time, until it is to end.
//!
//! The same worker makes the first files, ages a filesystem and runs the benchmark: what differs is
//! its plan and when it ends.

use std::sync::Arc;
use std::time::Duration;

use treering_script::{
    Call, CreateHow, Dir, File, OpenHow, Outcome, Random, Script, Step, SyncScope,
};

use super::fileset::{Crew, Fileset, Name};
use super::operation::Operation;
use super::plan::{Kept, Plan};
use super::population::{Found, Hold, Population};
use super::slots::{Part, Slots};
use super::tally::{CallTimes, Tally, TimedCall};

pub(super) const DATA: &[u8] = b"data";
pub(super) const META: &[u8] = b"meta";
pub(super) const DATAFILE: &[u8] = b"datafile";
pub(super) const FILLFILE: &[u8] = b"fillfile";
pub(super) const DATADIR: &[u8] = b"datadir";
pub(super) const METAFILE: &[u8] = b"metafile";

const FILE: File = File(0);
/// Random offsets are multiples of this when they are aligned.
const ALIGNMENT: u64 = 4096;
/// Nothing ends a wait early: it is made in pieces.
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// How long is waited when all files are in use, and when there is none.
const BUSY: Duration = Duration::from_micros(50);
const NO_FILE: Duration = Duration::from_millis(1);
/// Operations that are drawn in vain before it is said that there are no files.
const VAIN_MAX: u32 = 1000;
/// How often an aging worker looks how full the filesystem is.
const LOOK_EVERY: u64 = 16;
/// Operations of an aging worker without the filesystem getting any fuller.
const STUCK_AFTER: u64 = 2_000_000;

/// When a worker ends, beside when the bell rings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ends {
    /// Only then.
    AtBell,
    /// After so many operations.
    After(u64),
    /// When the filesystem has grown by so many bytes.
    Grown(u64),
    /// When this share of the filesystem is used.
    Filled(f64),
    /// When this share is used; then all that age the filesystem do.
    Aged(f64),
}

/// Where the files of a filesystem are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the place of this number.
    Root(u16),
    /// In a directory of the target, which has this name and the filesystem's number.
    Below(&'static str),
}

/// The files of all filesystems, and where they are.
#[derive(Clone, Debug)]
pub(super) struct Land {
    pub(super) filesets: Arc<[Fileset]>,
    pub(super) places: Arc<[Place]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// An operation is chosen.
    Choose,
    /// What it needs is opened and looked for.
    Prepare,
    /// Its first call, or its only one.
    First,
    /// The attributes are read that the original reads.
    Look,
    Seek,
    Move,
    Fsync,
    Close,
    /// The other three calls of a metaop.
    MakeSecond,
    RemoveOne,
    RenameOne,
    /// It is done.
    Settle,
    /// The delay between two operations.
    Rest,
    /// How full is it.
    Weigh,
}

/// A step, without borrowed names.
#[derive(Clone, Copy, Debug)]
enum Doing {
    OpenRoot(u16, Dir),
    /// The directory whose name is in hand.
    OpenDir(Dir, Dir),
    Plain(Call<'static>),
    Stat(Dir),
    Open(Dir, OpenHow),
    Create(Dir),
    Unlink(Dir),
    MakeDir(Dir),
    RemoveDir(Dir),
    Rename(Dir),
}

/// The operation that is being carried out.
#[derive(Clone, Copy, Debug)]
struct Present {
    operation: Operation,
    filesystem: usize,
    number: u64,
    /// How the file is held, once it is.
    hold: Option<Hold>,
    /// Where the file is, once that is open.
    dir: Dir,
    /// The file's size before.
    size: u64,
    /// Bytes to be moved, and moved.
    wanted: u64,
    moved: u64,
    block_bytes: u32,
    random: bool,
    /// Where the next block begins.
    position: u64,
}

/// The script.
pub(super) struct Worker {
    plan: Arc<Plan>,
    land: Land,
    crew: Crew,
    ends: Ends,
    random: Random,
    slots: Slots,
    tally: Tally,
    stage: Stage,
    present: Present,
    name: Name,
    other_name: Name,
    timing: Option<TimedCall>,
    /// Operations carried out.
    done: u64,
    vain: u32,
    rest: Duration,
    /// The greatest share that was used so far, and after how many operations.
    fullest: (f64, u64),
    /// Whether the latest read came to the file's end.
    ended: bool,
}

impl Worker {
    /// A worker with a generator of its own, one of so many.
    pub(super) fn new(
        plan: Arc<Plan>,
        land: Land,
        crew: Crew,
        ends: Ends,
        random: Random,
        workers: u16,
    ) -> Self {
        let mut tally = Tally::default();
        let ranges = plan.stats.as_ref().map_or(0, |stats| stats.ranges_ms.len());
        for times in &mut tally.calls {
            *times = CallTimes { in_range: vec![0; ranges], ..CallTimes::default() };
        }
        Self {
            slots: Slots::new(land.filesets.len(), workers),
            plan,
            land,
            crew,
            ends,
            random,
            tally,
            stage: if matches!(ends, Ends::Grown(_) | Ends::Filled(_) | Ends::Aged(_)) {
                Stage::Weigh
            } else {
                Stage::Choose
            },
            present: Present::none(),
            name: Name::default(),
            other_name: Name::default(),
            timing: None,
            done: 0,
            vain: 0,
            rest: Duration::ZERO,
            fullest: (0.0, 0),
            ended: false,
        }
    }

    #[inline]
    fn fileset(&self) -> &Fileset {
        &self.land.filesets[self.present.filesystem]
    }

    #[inline]
    fn population(&self) -> &Population {
        match (self.present.operation, self.plan.files) {
            (Operation::MetaOp, _) => &self.fileset().meta,
            (_, Kept::Data) => &self.fileset().data,
            (_, Kept::Fill) => &self.fileset().fill,
        }
    }

    /// What came of the last step.
    fn hear(&mut self, last: &Outcome<'_>) {
        match (self.stage, last) {
            (Stage::Move, &Outcome::Bytes(bytes)) => self.moved(bytes),
            (Stage::Weigh, &Outcome::Room(room)) => {
                let (share, grown) = self.fileset().fullness(room);
                self.weigh(share, grown);
            }
            _ => {}
        }
    }

    /// A block was moved, or less.
    fn moved(&mut self, bytes: u64) {
        let present = &mut self.present;
        present.moved += bytes;
        present.position += bytes;
        self.ended = bytes == 0;
        if let Some(skip) = self.plan.skip_bytes
            && present.operation == Operation::Read
        {
            present.position += skip;
        }
        self.stage = self.after_move();
    }

    /// What comes after a block.
    fn after_move(&self) -> Stage {
        let present = &self.present;
        let skips = self.plan.skip_bytes.is_some() && present.operation == Operation::Read;
        let beyond =
            skips && present.position.saturating_add(present.block_bytes.into()) > present.size;
        if present.moved >= present.wanted || self.ended || beyond {
            if present.operation.syncs() { Stage::Fsync } else { Stage::Close }
        } else if present.random || skips {
            Stage::Seek
        } else {
            Stage::Move
        }
    }

    /// How full the filesystem is.
    fn weigh(&mut self, share: f64, grown: u64) {
        let over = match self.ends {
            Ends::Grown(bytes) => grown >= bytes,
            Ends::Filled(until) | Ends::Aged(until) => share >= until,
            Ends::AtBell | Ends::After(_) => false,
        };
        if share > self.fullest.0 {
            self.fullest = (share, self.done);
        }
        if over {
            self.ends = Ends::After(self.done);
            if matches!(self.plan.files, Kept::Fill) {
                self.crew.bell.ring();
            }
        } else if self.done - self.fullest.1 > STUCK_AFTER {
            self.crew.fail(format!(
                "aging does not fill the filesystem: after {STUCK_AFTER} more operations it is \
                 still at {:.2} %; give creates and appends more weight than deletes",
                self.fullest.0 * 100.0
            ));
        }
        self.stage = Stage::Rest;
    }

    fn is_over(&self) -> bool {
        self.crew.bell.has_rung() || matches!(self.ends, Ends::After(most) if self.done >= most)
    }

    /// The next thing to do; `None` at the end.
    fn advance(&mut self) -> Option<Doing> {
        loop {
            match self.stage {
                Stage::Choose => {
                    if self.is_over() {
                        return None;
                    }
                    self.present = Present {
                        operation: self.plan.draw(&mut self.random),
                        filesystem: self.draw_filesystem(),
                        ..Present::none()
                    };
                    self.stage = Stage::Prepare;
                }
                Stage::Prepare => {
                    if self.crew.bell.has_rung() && self.present.hold.is_none() {
                        return None;
                    }
                    if let Some(doing) = self.prepare() {
                        return Some(doing);
                    }
                }
                Stage::First => return Some(self.first()),
                Stage::Look => {
                    self.stage = self.begin_transfer();
                    return Some(Doing::Stat(self.present.dir));
                }
                Stage::Seek => return Some(self.seek()),
                Stage::Move => return Some(self.transfer()),
                Stage::Fsync => {
                    self.stage = Stage::Close;
                    return Some(Doing::Plain(Call::Fsync { file: FILE }));
                }
                Stage::Close => {
                    self.timing = Some(TimedCall::Close);
                    self.stage = Stage::Settle;
                    return Some(Doing::Plain(Call::Close { file: FILE }));
                }
                Stage::MakeSecond | Stage::RemoveOne | Stage::RenameOne => {
                    if let Some(doing) = self.meta() {
                        return Some(doing);
                    }
                }
                Stage::Settle => self.settle(),
                Stage::Rest => {
                    if self.rest.is_zero() || self.is_over() {
                        self.stage = Stage::Choose;
                    } else {
                        let piece = self.rest.min(PAUSE_MAX);
                        self.rest -= piece;
                        return Some(pause(piece));
                    }
                }
                Stage::Weigh => {
                    self.present.filesystem = self.plan.bound.unwrap_or(0);
                    match self.open_part(Part::Root) {
                        Some(doing) => return Some(doing),
                        None => {
                            let dir = Slots::part(self.present.filesystem, Part::Root);
                            return Some(Doing::Plain(Call::Statfs { dir }));
                        }
                    }
                }
            }
        }
    }

    #[inline]
    fn draw_filesystem(&mut self) -> usize {
        match self.plan.bound {
            Some(filesystem) => filesystem,
            None if self.land.filesets.len() == 1 => 0,
            None => self.random.index(self.land.filesets.len()),
        }
    }

    /// Opens a part of the present filesystem, unless it is open.
    #[inline]
    fn open_part(&mut self, part: Part) -> Option<Doing> {
        let filesystem = self.present.filesystem;
        if part != Part::Root && self.slots.opens_part(filesystem, Part::Root) {
            // First the root, then this again.
            return Some(self.open_root(filesystem));
        }
        if !self.slots.opens_part(filesystem, part) {
            return None;
        }
        let into = Slots::part(filesystem, part);
        let word = match part {
            Part::Root => return Some(self.open_root(filesystem)),
            Part::Data => DATA,
            Part::Meta => META,
        };
        self.name.set_word(word);
        Some(Doing::OpenDir(Slots::part(filesystem, Part::Root), into))
    }

    fn open_root(&mut self, filesystem: usize) -> Doing {
        let into = Slots::part(filesystem, Part::Root);
        match self.land.places[filesystem] {
            Place::Root(root) => Doing::OpenRoot(root, into),
            Place::Below(word) => {
                self.name.set(word.as_bytes(), filesystem as u64);
                Doing::OpenDir(Dir::TARGET, into)
            }
        }
    }

    /// Opens what the operation needs and finds its file. Sets the stage when all is there.
    #[inline]
    fn prepare(&mut self) -> Option<Doing> {
        let operation = self.present.operation;
        let part = if operation == Operation::MetaOp { Part::Meta } else { Part::Data };
        if let Some(doing) = self.open_part(part) {
            return Some(doing);
        }
        let in_part = Slots::part(self.present.filesystem, part);
        match operation {
            Operation::MetaOp | Operation::CreateDir => {
                self.present.dir = in_part;
                self.present.hold = Some(Hold::Alone);
                self.stage = Stage::First;
                return None;
            }
            _ if self.present.hold.is_none() => match self.find_or_conceive() {
                Found::File(_) => {}
                Found::Busy => return Some(pause(BUSY)),
                Found::Nothing => return self.nothing(),
            },
            _ => {}
        }
        let dir = match self.plan.files {
            Kept::Data => self.population().dir(self.present.number),
            Kept::Fill => 0,
        };
        self.stage = Stage::First;
        if dir == 0 {
            self.present.dir = in_part;
        } else {
            let filesystem = self.present.filesystem;
            self.present.dir = self.slots.dir(filesystem, dir);
            if self.slots.opens_dir(filesystem, dir) {
                self.name.set(DATADIR, u64::from(dir - 1));
                return Some(Doing::OpenDir(in_part, self.present.dir));
            }
        }
        None
    }

    fn find_or_conceive(&mut self) -> Found {
        let Self { plan, land, random, present, vain, .. } = self;
        let fileset = &land.filesets[present.filesystem];
        let population = match plan.files {
            Kept::Data => &fileset.data,
            Kept::Fill => &fileset.fill,
        };
        if present.operation.makes() {
            present.number = population.conceive(|| fileset.draw_dir(random));
            present.hold = Some(Hold::Alone);
            *vain = 0;
            return Found::File(present.number);
        }
        let alone = present.operation == Operation::Delete;
        let hold = if alone { Hold::Alone } else { Hold::Shared };
        let found = population.find(random, hold);
        if let Found::File(number) = found {
            present.number = number;
            present.hold = Some(hold);
            present.size = population.bytes(number);
            *vain = 0;
        }
        found
    }

    /// There is no file that the operation could be done to: another operation is drawn.
    fn nothing(&mut self) -> Option<Doing> {
        self.stage = Stage::Choose;
        self.vain += 1;
        if self.vain < VAIN_MAX {
            return None;
        }
        self.vain = 0;
        if self.crew.makes_files {
            return Some(pause(NO_FILE));
        }
        self.crew.fail(
            "no files are left, and nothing in the profile makes new ones: give more files, less \
             time, or a create_weight"
                .to_owned(),
        );
        None
    }

    fn name_file(&mut self) {
        let word = match self.plan.files {
            Kept::Data => DATAFILE,
            Kept::Fill => FILLFILE,
        };
        self.name.set(word, self.present.number);
    }

    /// The operation's first call.
    fn first(&mut self) -> Doing {
        let dir = self.present.dir;
        let operation = self.present.operation;
        if !matches!(operation, Operation::MetaOp | Operation::CreateDir) {
            self.name_file();
        }
        let opens = |how| Doing::Open(dir, how);
        let looks = self.plan.manner.classic;
        match operation {
            Operation::Stat => {
                self.timing = Some(TimedCall::Stat);
                self.stage = Stage::Settle;
                Doing::Stat(dir)
            }
            Operation::Delete => {
                self.timing = Some(TimedCall::Unlink);
                self.stage = Stage::Settle;
                Doing::Unlink(dir)
            }
            Operation::CreateDir => {
                self.present.number = u64::from(self.fileset().dirs.give());
                self.name.set(DATADIR, self.present.number);
                self.stage = Stage::Settle;
                Doing::MakeDir(dir)
            }
            Operation::MetaOp => {
                self.stage = Stage::MakeSecond;
                self.make_meta()
            }
            Operation::OpenClose => {
                self.timing = Some(TimedCall::Open);
                self.stage = Stage::Close;
                opens(OpenHow::Read)
            }
            Operation::Read | Operation::ReadAll => {
                self.timing = Some(TimedCall::Open);
                self.stage = if looks { Stage::Look } else { self.begin_transfer() };
                opens(OpenHow::Read)
            }
            Operation::Write
            | Operation::WriteFsync
            | Operation::WriteAll
            | Operation::WriteAllFsync => {
                self.timing = Some(TimedCall::Open);
                self.stage = if looks { Stage::Look } else { self.begin_transfer() };
                opens(OpenHow::Write)
            }
            Operation::Append | Operation::AppendFsync => {
                self.timing = Some(TimedCall::Open);
                self.stage = self.begin_transfer();
                opens(OpenHow::Append)
            }
            Operation::Create | Operation::CreateFsync => {
                self.timing = Some(TimedCall::Open);
                self.stage = self.begin_transfer();
                Doing::Create(dir)
            }
        }
    }

    /// Decides how much is moved, and from where on.
    fn begin_transfer(&mut self) -> Stage {
        let operation = self.present.operation;
        let size = self.present.size;
        let with = if operation.reads() { self.plan.read } else { self.plan.write };
        let wanted = match operation {
            Operation::ReadAll | Operation::WriteAll | Operation::WriteAllFsync => size,
            Operation::Create | Operation::CreateFsync if self.plan.empty_files => 0,
            Operation::Create | Operation::CreateFsync => {
                let Self { land, random, present, .. } = self;
                land.filesets[present.filesystem].draw_size(random)
            }
            Operation::Append | Operation::AppendFsync => with.bytes,
            // A file that is smaller is read or written whole.
            _ => with.bytes.min(size),
        };
        let partial =
            matches!(operation, Operation::Read | Operation::Write | Operation::WriteFsync);
        self.ended = false;
        self.present.wanted = wanted;
        self.present.block_bytes = with.block_bytes.max(1);
        self.present.random = partial && with.random;
        let skips = operation == Operation::Read && self.plan.skip_bytes.is_some();
        if partial && !skips && !self.present.random {
            self.present.position = self.draw_offset(size - wanted);
        }
        if wanted == 0 {
            return if operation.syncs() { Stage::Fsync } else { Stage::Close };
        }
        if partial && (self.present.random || self.present.position > 0) {
            return Stage::Seek;
        }
        Stage::Move
    }

    /// An offset from 0 to `last`, each equally likely; whole blocks of 4 KiB when aligned.
    fn draw_offset(&mut self, last: u64) -> u64 {
        if self.plan.manner.align {
            self.random.below(last / ALIGNMENT + 1) * ALIGNMENT
        } else {
            self.random.below(last.saturating_add(1))
        }
    }

    fn seek(&mut self) -> Doing {
        if self.present.random {
            let block = u64::from(self.present.block_bytes);
            self.present.position = self.draw_offset(self.present.size.saturating_sub(block));
        }
        self.timing = Some(TimedCall::Seek);
        self.stage = Stage::Move;
        Doing::Plain(Call::Seek { file: FILE, position: self.present.position })
    }

    /// Moves the next block.
    fn transfer(&mut self) -> Doing {
        let Present { operation, wanted, moved, block_bytes, position, .. } = self.present;
        let left = u32::try_from(wanted - moved).unwrap_or(u32::MAX);
        let bytes = left.min(block_bytes);
        if operation.reads() {
            self.timing = Some(TimedCall::Read);
            Doing::Plain(Call::Read { file: FILE, bytes })
        } else {
            self.timing = Some(TimedCall::Write);
            Doing::Plain(Call::Write { file: FILE, bytes, position })
        }
    }

    /// Makes one more directory in `meta`.
    fn make_meta(&mut self) -> Doing {
        self.present.number = self.fileset().meta.conceive(|| 0);
        self.name_meta(self.present.number);
        Doing::MakeDir(self.present.dir)
    }

    fn name_meta(&mut self, number: u64) {
        if self.fileset().meta.dir(number) == 0 {
            self.name.set(METAFILE, number);
        } else {
            self.name.set_renamed(METAFILE, number);
        }
    }

    /// The second, third and fourth call of a metaop. Where none is free, a call is left out.
    fn meta(&mut self) -> Option<Doing> {
        let dir = self.present.dir;
        let number = self.present.number;
        match self.stage {
            Stage::MakeSecond => {
                self.fileset().meta.born(number, 0);
                self.stage = Stage::RemoveOne;
                Some(self.make_meta())
            }
            Stage::RemoveOne => {
                self.fileset().meta.born(number, 0);
                self.stage = Stage::RenameOne;
                self.present.number = self.hold_meta()?;
                self.present.hold = None;
                self.name_meta(self.present.number);
                Some(Doing::RemoveDir(dir))
            }
            _ => {
                self.stage = Stage::Settle;
                if self.present.hold.is_none() {
                    let meta = &self.fileset().meta;
                    meta.set_dir(number, 0);
                    meta.bury(number);
                }
                self.present.hold = None;
                self.present.number = self.hold_meta()?;
                self.present.hold = Some(Hold::Alone);
                let number = self.present.number;
                let plain = self.fileset().meta.dir(number) == 0;
                self.name_meta(number);
                if plain {
                    self.other_name.set_renamed(METAFILE, number);
                } else {
                    self.other_name.set(METAFILE, number);
                }
                Some(Doing::Rename(dir))
            }
        }
    }

    fn hold_meta(&mut self) -> Option<u64> {
        let Self { land, random, present, .. } = self;
        match land.filesets[present.filesystem].meta.find(random, Hold::Alone) {
            Found::File(number) => Some(number),
            Found::Busy | Found::Nothing => None,
        }
    }

    /// The operation is done: it is counted, and its file is let go.
    #[inline]
    fn settle(&mut self) {
        let Present { operation, number, hold, size, moved, block_bytes, .. } = self.present;
        let fileset = &self.land.filesets[self.present.filesystem];
        let files = match self.plan.files {
            Kept::Data => &fileset.data,
            Kept::Fill => &fileset.fill,
        };
        match operation {
            Operation::CreateDir => fileset.dirs.done(u32::try_from(number).unwrap_or(u32::MAX)),
            Operation::MetaOp => {
                if hold.is_some() {
                    let meta = &fileset.meta;
                    meta.set_dir(number, 1 - meta.dir(number).min(1));
                    meta.let_go(number, Hold::Alone);
                }
            }
            Operation::Create | Operation::CreateFsync => {
                fileset.resized(0, moved);
                files.born(number, moved);
            }
            Operation::Delete => {
                fileset.resized(size, 0);
                files.bury(number);
            }
            _ => {
                if matches!(operation, Operation::Append | Operation::AppendFsync) {
                    fileset.resized(size, size + moved);
                    files.grow(number, moved);
                }
                files.let_go(number, hold.unwrap_or(Hold::Shared));
            }
        }
        let block = u64::from(block_bytes.max(1));
        let done = &mut self.tally.done[operation.place()];
        done.operations += 1;
        done.bytes += moved;
        done.transactions += if operation.reads() {
            moved / block
        } else if operation.writes() {
            moved.div_ceil(block)
        } else {
            1
        };
        self.done += 1;
        self.rest = self.plan.delay;
        self.stage = match self.ends {
            Ends::Grown(_) | Ends::Filled(_) => Stage::Weigh,
            Ends::Aged(_) if self.done.is_multiple_of(LOOK_EVERY) => Stage::Weigh,
            _ => Stage::Rest,
        };
    }

    fn step(&self, doing: Doing) -> Step<'_> {
        let name = self.name.as_c_str();
        match doing {
            Doing::OpenRoot(root, into) => Call::OpenRoot { root, into },
            Doing::OpenDir(at, into) => Call::OpenDir { at, path: name, into },
            Doing::Plain(call) => call,
            Doing::Stat(at) => Call::Stat { at, name },
            Doing::Open(at, how) => Call::Open { at, path: name, how, into: FILE },
            Doing::Create(at) => {
                Call::Create { at, path: name, how: CreateHow::TruncateToRead, into: FILE }
            }
            Doing::Unlink(at) => Call::Unlink { at, path: name },
            Doing::MakeDir(at) => Call::MakeDir { at, name },
            Doing::RemoveDir(at) => Call::RemoveDir { at, name },
            Doing::Rename(at) => Call::Rename { at, from: name, to: self.other_name.as_c_str() },
        }
        .into()
    }
}

fn pause(time: Duration) -> Doing {
    Doing::Plain(Call::Pause { ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) })
}

impl Present {
    const fn none() -> Self {
        Self {
            operation: Operation::Stat,
            filesystem: 0,
            number: 0,
            hold: None,
            dir: Dir::TARGET,
            size: 0,
            wanted: 0,
            moved: 0,
            block_bytes: 1,
            random: false,
            position: 0,
        }
    }
}

impl Script for Worker {
    #[inline]
    fn next<'s>(&'s mut self, last: Outcome<'_>) -> Option<Step<'s>> {
        self.hear(&last);
        self.timing = None;
        let doing = self.advance()?;
        Some(self.step(doing))
    }

    fn timed(&mut self, began_ns: u64, ended_ns: u64) {
        let Some(call) = self.timing.filter(|_| self.plan.manner.classic) else { return };
        let Some(stats) = &self.plan.stats else { return };
        if stats.ignored[call.place()] {
            return;
        }
        let us = ended_ns.saturating_sub(began_ns) / 1000;
        let times = &mut self.tally.calls[call.place()];
        times.record(us);
        let ms = us as f64 / 1000.0;
        let range = stats.ranges_ms.iter().position(|&(from, to)| from <= ms && ms <= to);
        if let Some(count) = range.and_then(|range| times.in_range.get_mut(range)) {
            *count += 1;
        }
    }

    fn notes(&mut self) -> Vec<u64> {
        self.tally.to_words()
    }
}

/// Waits until everything is on disk.
pub(super) struct SyncAll {
    scope: SyncScope,
    done: bool,
}

impl SyncAll {
    /// A sync that covers so much.
    pub(super) const fn new(scope: SyncScope) -> Self {
        Self { scope, done: false }
    }
}

impl Script for SyncAll {
    fn next<'s>(&'s mut self, _last: Outcome<'_>) -> Option<Step<'s>> {
        let first = !std::mem::replace(&mut self.done, true);
        first.then(|| Call::Sync { scope: self.scope }.into())
    }
}
