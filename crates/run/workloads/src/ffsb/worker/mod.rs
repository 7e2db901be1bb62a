//! A worker: draws operations and carries them out, one call at a time, until it is to end.
//!
//! The same worker makes the first files, ages a filesystem and runs the benchmark: what differs is
//! its plan and when it ends.

mod doing;
mod ends;
mod meta;
mod transfer;

use std::sync::Arc;
use std::time::Duration;

use treering_script::{Dir, File, OpenHow, Outcome, Random, Step, Steps};

use super::fileset::{Crew, Fileset};
use super::land::{Land, Place, directory};
use super::names::{DATA, DATADIR, DATAFILE, FILLFILE, META, Name};
use super::operation::Operation;
use super::plan::{Kept, Plan};
use super::population::{Crowd, Found, Hold};
use super::slots::{Part, Slots};
use super::tally::{CallTimes, Tally, TimedCall};
use doing::{Doing, pause};
pub(super) use ends::Ends;

const FILE: File = File(0);
/// Nothing ends a wait early: it is made in pieces.
const PAUSE_MAX: Duration = Duration::from_millis(20);
/// How long is waited when all files are in use, and when there is none.
const BUSY: Duration = Duration::from_micros(50);
const NO_FILE: Duration = Duration::from_millis(1);
/// Operations that are drawn in vain before it is said that there are no files.
const VAIN_MAX: u32 = 1000;
/// After so many operations an aging worker looks how full the filesystem is, and sooner when it
/// has written this share of it.
const LOOK_EVERY: u64 = 16;
const LOOK_SHARE: u64 = 500;

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

/// The operation that is being carried out.
#[derive(Clone, Copy, Debug)]
struct Present {
    operation: Operation,
    filesystem: usize,
    number: u64,
    /// How the file is held, once it is.
    hold: Hold,
    /// Where the file is, once that is open.
    dir: Dir,
    /// The file's size before.
    size: u64,
    /// Bytes to be moved, and moved.
    wanted: u64,
    moved: u64,
    /// Blocks that were moved, as transactions count them.
    blocks: u64,
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
    /// Draws operations and sizes: what is done does not depend on what others do meanwhile.
    deeds: Random,
    /// Draws files, directories and offsets.
    random: Random,
    crowd: Crowd,
    slots: Slots,
    tally: Tally,
    stage: Stage,
    present: Present,
    name: Name,
    other_name: Name,
    timing: Option<TimedCall>,
    /// The directory of `meta` that is being removed, and the one that is being renamed.
    removed: Option<u64>,
    renamed: Option<u64>,
    /// Operations carried out.
    done: u64,
    vain: u32,
    rest: Duration,
    /// Bytes that were written since the last look, and how many make another one.
    unweighed: (u64, u64),
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
        crew.join(&plan);
        let mut tally = Tally::default();
        let ranges = plan.stats.as_ref().map_or(0, |stats| stats.ranges_ms.len());
        for times in &mut tally.calls {
            *times = CallTimes { in_range: vec![0; ranges], ..CallTimes::default() };
        }
        Self {
            slots: Slots::new(land.filesets.len(), workers),
            crowd: if workers == 1 { Crowd::One } else { Crowd::Many },
            plan,
            land,
            crew,
            ends,
            deeds: random.clone(),
            random: random.apart(),
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
            removed: None,
            renamed: None,
            done: 0,
            vain: 0,
            rest: Duration::ZERO,
            unweighed: (0, 0),
            fullest: (0.0, 0),
            ended: false,
        }
    }

    #[inline]
    fn fileset(&self) -> &Fileset {
        &self.land.filesets[self.present.filesystem]
    }

    /// What came of the last step.
    fn hear(&mut self, last: &Outcome<'_>) {
        match (self.stage, last) {
            (Stage::Move, &Outcome::Bytes(bytes)) => self.moved(bytes),
            (Stage::Weigh, &Outcome::Room(room)) => {
                let (share, grown) = self.fileset().fullness(room);
                self.unweighed = (0, room.capacity_bytes / LOOK_SHARE);
                self.weigh(share, grown);
            }
            _ => {}
        }
    }

    /// The next thing to do; `None` at the end.
    fn advance(&mut self) -> Option<Doing> {
        loop {
            match self.stage {
                Stage::Settle => {
                    self.settle();
                    if self.stage != Stage::Rest || !self.rest.is_zero() {
                        continue;
                    }
                    self.stage = Stage::Choose;
                }
                Stage::Choose | Stage::Prepare | Stage::First => {}
                Stage::Look => {
                    self.stage = self.begin_transfer();
                    return Some(Doing::Stat(self.present.dir));
                }
                Stage::Seek => return Some(self.seek()),
                Stage::Move => return Some(self.transfer()),
                Stage::Fsync => {
                    self.stage = Stage::Close;
                    return Some(Doing::Fsync);
                }
                Stage::Close => {
                    self.timing = Some(TimedCall::Close);
                    self.stage = Stage::Settle;
                    return Some(Doing::Close);
                }
                Stage::MakeSecond | Stage::RemoveOne | Stage::RenameOne => {
                    if let Some(doing) = self.meta() {
                        return Some(doing);
                    }
                }
                Stage::Rest => {
                    if !self.rest.is_zero() && !self.is_over() {
                        let piece = self.rest.min(PAUSE_MAX);
                        self.rest -= piece;
                        return Some(pause(piece));
                    }
                    self.stage = Stage::Choose;
                }
                Stage::Weigh => return Some(self.look()),
            }
            // What most operations come through, one after the other.
            if self.stage == Stage::Choose {
                if self.is_over() {
                    self.crew.leave(&self.plan);
                    return None;
                }
                self.choose();
            }
            if self.stage == Stage::Prepare {
                if self.crew.bell.has_rung() {
                    return None;
                }
                if let Some(doing) = self.prepare() {
                    return Some(doing);
                }
            }
            if self.stage == Stage::First {
                return Some(self.first());
            }
        }
    }

    /// Asks how full the filesystem is; opens it before.
    fn look(&mut self) -> Doing {
        self.present.filesystem = self.plan.bound.unwrap_or(0);
        let dir = Slots::part(self.present.filesystem, Part::Root);
        self.open_part(Part::Root).unwrap_or(Doing::Statfs(dir))
    }

    /// Draws an operation, and where it is done.
    #[inline]
    fn choose(&mut self) {
        // Field by field: all of it at once would have to be copied.
        self.present.operation = self.plan.draw(&mut self.deeds);
        self.present.filesystem = self.draw_filesystem();
        self.present.moved = 0;
        self.present.blocks = 0;
        self.present.position = 0;
        self.stage = Stage::Prepare;
    }

    #[inline]
    fn draw_filesystem(&mut self) -> usize {
        match self.plan.bound {
            Some(filesystem) => filesystem,
            None if self.land.filesets.len() == 1 => 0,
            None => self.deeds.index(self.land.filesets.len()),
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
            Place::Below => {
                self.name.set_word(directory(filesystem).as_bytes());
                Doing::OpenDir(Dir::TARGET, into)
            }
        }
    }

    /// Opens what the operation needs and finds its file. Sets the stage when all is there.
    #[inline]
    fn prepare(&mut self) -> Option<Doing> {
        let operation = self.present.operation;
        let part = if operation == Operation::MetaOp { Part::Meta } else { Part::Data };
        let filesystem = self.present.filesystem;
        if !self.slots.has_part(filesystem, part)
            && let Some(doing) = self.open_part(part)
        {
            return Some(doing);
        }
        let in_part = Slots::part(filesystem, part);
        self.present.dir = in_part;
        if matches!(operation, Operation::MetaOp | Operation::CreateDir) {
            self.present.hold = Hold::Alone;
            self.stage = Stage::First;
            return None;
        }
        let held = match self.find_or_conceive() {
            Found::File(held) => held,
            Found::Busy => return Some(pause(BUSY)),
            Found::Nothing => return self.nothing(),
        };
        self.present.number = held.number;
        self.present.size = held.bytes;
        self.stage = Stage::First;
        if held.dir == 0 {
            return None;
        }
        self.present.dir = self.slots.dir(filesystem, held.dir);
        if !self.slots.opens_dir(filesystem, held.dir) {
            return None;
        }
        self.name.set(DATADIR, u64::from(held.dir - 1));
        Some(Doing::OpenDir(in_part, self.present.dir))
    }

    #[inline]
    fn find_or_conceive(&mut self) -> Found {
        let Self { plan, land, random, present, crowd, .. } = self;
        let fileset = &land.filesets[present.filesystem];
        let (population, in_data) = match plan.files {
            Kept::Data => (&fileset.data, false),
            Kept::Fill => (&fileset.fill, true),
        };
        let makes = present.operation.makes();
        let alone = makes || present.operation == Operation::Delete;
        present.hold = if alone { Hold::Alone } else { Hold::Shared };
        if makes {
            let dir = || if in_data { 0 } else { fileset.draw_dir(random) };
            return Found::File(population.conceive(dir));
        }
        population.find(random, present.hold, *crowd)
    }

    /// There is no file that the operation could be done to: another operation is drawn.
    fn nothing(&mut self) -> Option<Doing> {
        self.stage = Stage::Choose;
        self.vain += 1;
        if self.vain < VAIN_MAX {
            return None;
        }
        self.vain = 0;
        if self.plan.makes_files || self.crew.has_makers(&self.plan) {
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

    /// The operation is done: it is counted, and its file is let go.
    #[inline]
    fn settle(&mut self) {
        let Present { operation, number, hold, size, moved, blocks, .. } = self.present;
        let fileset = &self.land.filesets[self.present.filesystem];
        let files = match self.plan.files {
            Kept::Data => &fileset.data,
            Kept::Fill => &fileset.fill,
        };
        match operation {
            Operation::CreateDir => fileset.dirs.done(u32::try_from(number).unwrap_or(u32::MAX)),
            Operation::MetaOp => {
                if let Some(number) = self.renamed.take() {
                    let meta = &fileset.meta;
                    meta.set_dir(number, 1 - meta.dir(number).min(1));
                    meta.let_go(number, Hold::Alone, self.crowd);
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
                files.let_go(number, hold, self.crowd);
            }
        }
        let done = &mut self.tally.done[operation.place()];
        done.operations += 1;
        done.bytes += moved;
        done.transactions += if operation.reads() || operation.writes() { blocks } else { 1 };
        self.done += 1;
        self.vain = 0;
        self.rest = self.plan.delay;
        self.stage = match self.ends {
            Ends::Grown(_) | Ends::Filled(_) => Stage::Weigh,
            Ends::Aged(_) => {
                self.unweighed.0 += moved;
                let looks = self.unweighed.0 >= self.unweighed.1;
                if looks || self.done.is_multiple_of(LOOK_EVERY) {
                    Stage::Weigh
                } else {
                    Stage::Rest
                }
            }
            _ => Stage::Rest,
        };
    }
}

impl Present {
    const fn none() -> Self {
        Self {
            operation: Operation::Stat,
            filesystem: 0,
            number: 0,
            hold: Hold::Shared,
            dir: Dir::TARGET,
            size: 0,
            wanted: 0,
            moved: 0,
            blocks: 0,
            block_bytes: 1,
            random: false,
            position: 0,
        }
    }
}

impl Steps for Worker {
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
