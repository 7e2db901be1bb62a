//! Work of a rank in a test: one operation on each of its items in turn.

use std::ops::Range;
use std::sync::Arc;

use treering_kit::op_times::OpTimes;
use treering_kit::packet::PacketPattern;
use treering_model::Counters;
use treering_model::workloads::mdtest::ItemCounts;
use treering_script::{
    Buffers, CreateHow, Deadline, DirSlot, ExpectedErrors, FileSlot, Io, OpenHow, Script, Stop,
};

use super::names::{ItemNames, test_directory};
use super::order::order;
use super::place::OpenTree;
use super::shape::{ItemOperation, RunShape};
use super::trees::sync_everything;

const FILE: FileSlot = FileSlot(0);

/// Way in which files are created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CreateMode {
    /// Created, and written.
    Whole,
    /// Created and closed again; rank 0 does this for all ranks.
    Empty,
    /// Files created by rank 0 are opened and written.
    Existing,
}

/// Data buffer of a rank whose bytes match the original's.
#[derive(Debug)]
pub(super) struct PatternData {
    pub(super) buffers: Buffers,
    pub(super) pattern: PacketPattern,
}

/// A rank's part of a test.
#[derive(Debug)]
pub(super) struct ItemScript {
    pub(super) shape: Arc<RunShape>,
    pub(super) iteration: u32,
    pub(super) is_directory: bool,
    pub(super) act: ItemOperation,
    pub(super) create_mode: CreateMode,
    /// Number of the rank.
    pub(super) rank: u16,
    /// Ranks on whose behalf this rank works: only itself, or all in turn.
    pub(super) acts_as: Vec<u16>,
    /// Range of items of each acting rank, by their place in the order of creation.
    pub(super) range: Range<u64>,
    /// Time limit that ends creation early.
    pub(super) wall: Option<Deadline>,
    pub(super) data: Option<PatternData>,
    pub(super) counts: ItemCounts,
    pub(super) times: OpTimes,
    /// Buffer with the expected data of a read.
    pub(super) expected: Vec<u8>,
}

/// Control flow of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopControl {
    On,
    ToItsEnd,
}

impl ItemScript {
    /// Names of the items that belong to `acting`, and the rank whose tree holds them.
    fn names(&self, acting: u16) -> (ItemNames, Option<u16>) {
        let owner = self.shape.owner(acting, self.act);
        let named = (!self.shape.shared_file || self.is_directory).then_some(owner);
        (ItemNames::new(self.is_directory, named), self.shape.tree_of(owner))
    }

    /// End of the last call, if the time of each operation is kept.
    fn now_ns(&self, io: &dyn Io) -> Option<u64> {
        let keeps = self.shape.around.keeps_times && !self.is_directory;
        keeps.then(|| io.timed().map_or(io.began_ns(), |(_, ended_ns)| ended_ns))
    }

    /// Keeps the time of an operation that has ended.
    fn timed(&mut self, io: &dyn Io, began_ns: Option<u64>) {
        if let (Some(began_ns), Some((_, ended_ns))) = (began_ns, io.timed()) {
            self.times.add(began_ns, ended_ns);
        }
    }

    fn work_as(&mut self, io: &mut dyn Io, acting: u16) -> Result<(), Stop> {
        let shape = Arc::clone(&self.shape);
        for number in 0..shape.loops {
            let (mut names, tree) = self.names(acting);
            let mut place = OpenTree::new(&shape, test_directory(self.iteration, number), tree);
            let control = match self.act {
                ItemOperation::Create | ItemOperation::Remove => {
                    self.in_tree_order(io, &mut place, &mut names)?
                }
                ItemOperation::Rename => self.rename(io, &mut place, &mut names)?,
                ItemOperation::Stat | ItemOperation::Read => {
                    self.in_drawn_order(io, &mut place, &mut names, acting)?
                }
            };
            if control == LoopControl::ToItsEnd {
                break;
            }
        }
        Ok(())
    }

    /// Works directory by directory.
    fn in_tree_order(
        &mut self,
        io: &mut dyn Io,
        place: &mut OpenTree<'_>,
        names: &mut ItemNames,
    ) -> Result<LoopControl, Stop> {
        let shape = Arc::clone(&self.shape);
        let (first_holder, each) = (shape.tree.first_holder(), shape.per_directory);
        let (mut before, mut control) = (0_u64, LoopControl::On);
        shape.tree.visit_parents_first(&mut |directory| {
            if directory < first_holder || control == LoopControl::ToItsEnd {
                return Ok(());
            }
            let from = self.range.start.max(before);
            let to = self.range.end.min(before + each);
            if from < to {
                let dir = place.directory(io, directory)?;
                let first = directory * each;
                for item in first + (from - before)..first + (to - before) {
                    let began_ns = self.now_ns(io);
                    if self.act == ItemOperation::Create {
                        self.create(io, dir, names, item)?;
                    } else {
                        self.remove(io, dir, names, item)?;
                    }
                    self.timed(io, began_ns);
                    self.counts.done += 1;
                    if self.wall.as_ref().is_some_and(Deadline::is_reached) {
                        control = LoopControl::ToItsEnd;
                        return Ok(());
                    }
                }
            }
            before += each;
            Ok(())
        })?;
        self.counts.ended_by_time |= control == LoopControl::ToItsEnd;
        Ok(control)
    }

    /// Stats or reads the items in the order of their numbers, or in a drawn order.
    fn in_drawn_order(
        &mut self,
        io: &mut dyn Io,
        place: &mut OpenTree<'_>,
        names: &mut ItemNames,
        acting: u16,
    ) -> Result<LoopControl, Stop> {
        let items = self.range.end - self.range.start;
        let drawn = order(self.shape.order, acting, items);
        let (each, first) = (self.shape.per_directory, self.shape.tree.first_holder());
        for position in 0..items {
            let place_in_order = usize::try_from(position).unwrap_or(usize::MAX);
            let position = drawn.as_ref().map_or(position, |drawn| drawn[place_in_order]);
            let item = position + first * each;
            let dir = place.directory(io, item / each)?;
            let began_ns = self.now_ns(io);
            if self.act == ItemOperation::Stat {
                let status = io.stat(dir, names.item(item)).unless_missing()?;
                self.counts.missed += u64::from(status.is_none());
            } else {
                self.read(io, dir, names, item)?;
            }
            self.timed(io, began_ns);
            self.counts.done += 1;
        }
        Ok(LoopControl::On)
    }

    /// Renames items in a circle: the first is moved aside, each other one gets the name of the one
    /// before it, and the first gets the name of the last.
    fn rename(
        &mut self,
        io: &mut dyn Io,
        place: &mut OpenTree<'_>,
        names: &mut ItemNames,
    ) -> Result<LoopControl, Stop> {
        let (each, first) =
            (self.shape.per_directory, self.shape.tree.first_holder() * self.shape.per_directory);
        let items = self.range.end - self.range.start;
        let mut before = first;
        for position in 0..items {
            let item = first + position;
            let is_last = position + 1 == items;
            // The last one to go is the first, which waits aside.
            let from = if is_last && position > 0 { first } else { item };
            let to = if position == 0 { first } else { before };
            let to_at = place.directory(io, to / each)?;
            let at = place.beside(io, from / each, to / each)?;
            let old =
                if from == first && position > 0 { names.aside(from) } else { names.item(from) };
            let old = old.to_owned();
            let new = if position == 0 { names.aside(to) } else { names.item(to) };
            let done = io.rename(at, &old, to_at, new).unless_missing()?;
            self.counts.missed += u64::from(done.is_none());
            self.counts.done += 1;
            before = item;
        }
        Ok(LoopControl::On)
    }

    fn create(
        &mut self,
        io: &mut dyn Io,
        dir: DirSlot,
        names: &mut ItemNames,
        item: u64,
    ) -> Result<(), Stop> {
        let name = names.item(item);
        if self.is_directory {
            let made = io.make_dir(dir, name).unless_existing()?;
            self.counts.missed += u64::from(made.is_none());
            return Ok(());
        }
        if self.shape.around.makes_nodes {
            let made = io.make_node(dir, name).unless_existing()?;
            self.counts.missed += u64::from(made.is_none());
            return Ok(());
        }
        match self.create_mode {
            CreateMode::Existing => io.open(dir, name, OpenHow::Write, FILE)?,
            CreateMode::Whole | CreateMode::Empty => {
                io.create(dir, name, CreateHow::OrOpen, FILE)?;
            }
        }
        if self.create_mode != CreateMode::Empty && self.shape.data.write_bytes > 0 {
            self.write(io, item)?;
        }
        io.close(FILE)
    }

    fn write(&mut self, io: &mut dyn Io, item: u64) -> Result<(), Stop> {
        let data = self.shape.data;
        let bytes = data.write_bytes;
        if let Some(PatternData { buffers, pattern }) = &self.data {
            pattern.update(item, buffers.open().get(0, bytes as usize));
            // As the original, which seeks before each transfer.
            io.seek(FILE, 0)?;
        }
        io.write(FILE, bytes, 0)?;
        if data.fsync {
            io.fsync(FILE)?;
        }
        if data.verify_write {
            io.seek(FILE, 0)?;
            let read = io.read(FILE, bytes)?;
            self.compare(item, read, bytes, self.rank);
        }
        Ok(())
    }

    fn read(
        &mut self,
        io: &mut dyn Io,
        dir: DirSlot,
        names: &mut ItemNames,
        item: u64,
    ) -> Result<(), Stop> {
        let data = self.shape.data;
        // The original opens for reading and writing.
        let how = if self.data.is_some() { OpenHow::ReadWrite } else { OpenHow::Read };
        // As in the original, a missing file ends the run: there would be nothing to read.
        io.open(dir, names.item(item), how, FILE)?;
        if data.read_bytes > 0 {
            if self.data.is_some() {
                io.seek(FILE, 0)?;
            }
            let read = io.read(FILE, data.read_bytes);
            let read = if self.shape.around.direct {
                // The original counts a read that the device does not take, and goes on.
                let Some(read) = read.unless_refused()? else {
                    self.counts.wrong += 1;
                    return io.close(FILE);
                };
                read
            } else {
                read?
            };
            if data.verify_read {
                let owner = self.shape.owner(self.rank, ItemOperation::Read);
                self.compare(item, read, data.read_bytes, owner);
            } else {
                self.counts.wrong += u64::from(read < u64::from(data.read_bytes));
            }
        }
        io.close(FILE)
    }

    fn remove(
        &mut self,
        io: &mut dyn Io,
        dir: DirSlot,
        names: &mut ItemNames,
        item: u64,
    ) -> Result<(), Stop> {
        let name = names.item(item);
        let removed = if self.is_directory {
            io.remove_dir(dir, name).unless_missing()?
        } else {
            io.unlink(dir, name).unless_missing()?
        };
        self.counts.missed += u64::from(removed.is_none());
        Ok(())
    }

    /// Compares the buffer with the data that `owner` wrote to an item; counts a mismatch.
    fn compare(&mut self, item: u64, read: u64, bytes: u32, owner: u16) {
        let Some(PatternData { buffers, pattern }) = &self.data else { return };
        let pattern = PacketPattern { rank: owner.into(), ..*pattern };
        self.expected.resize(self.shape.data.written_bytes(), 0);
        pattern.fill(&mut self.expected);
        pattern.update(item, &mut self.expected);
        let is_same =
            self.expected.get(..bytes as usize) == Some(&*buffers.open().get(0, bytes as usize));
        self.counts.wrong += u64::from(!is_same || read < u64::from(bytes));
    }
}

impl Script for ItemScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        if let Some(PatternData { buffers, pattern }) = &self.data {
            pattern.fill(buffers.open().get(0, self.shape.data.written_bytes()));
        }
        for acting in self.acts_as.clone() {
            self.work_as(io, acting)?;
        }
        sync_everything(&self.shape, io)
    }

    fn counters(&mut self) -> Counters {
        let times = std::mem::take(&mut self.times);
        Counters::from_value(&self.counts).with_bulk(times.into_numbers())
    }
}

/// Script that waits between tests.
#[derive(Debug)]
pub(super) struct PauseScript {
    pub(super) seconds: u64,
}

impl Script for PauseScript {
    fn run(&mut self, io: &mut dyn Io) -> Result<(), Stop> {
        // Each on its own, so that it can be stopped, and is seen to go on.
        (0..self.seconds).try_for_each(|_second| io.pause(1_000_000_000))
    }
}
