//! Operation generator: draws operations from a model, keeps the list of existing files, makes no
//! call, and depends on nothing but the model, the seed and the target bytes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use treering_model::Fingerprint;
use treering_script::Random;

use super::likeness::directories::{DirectoryTree, FreePlaces};
use super::operation::{LiveFile, Operation, OperationAction};
use super::profile::{FileChoice, InitialSize, Model, OperationKind, OperationPlan};
use super::source_tree::SourceTree;

/// Tolerated relative deviation of a population's bytes from its target.
const LEEWAY: f64 = 0.05;
/// Tolerated relative deviation of the number of files in a tree like one on disk.
const LIKE_LEEWAY: f64 = 0.01;
/// Tolerated deviation in a run that keeps the filesystem at a level.
const HELD_LEEWAY: f64 = 0.002;
/// Share of the bytes of all files to delete when no space is left.
const ROOM_SHARE: f64 = 0.01;
/// Alignment of overwrites within a file.
const BLOCK_BYTES: u64 = 4096;

/// Existing files of a population.
#[derive(Debug, Default)]
struct Population {
    /// Files, nearly in the order of age: a random deletion moves an end of the queue into the gap.
    live: VecDeque<LiveFile>,
    bytes: u64,
    /// Target bytes of a population with a share; 0 for one with a count.
    target_bytes: u64,
    can_create: bool,
    can_delete: bool,
    next_id: u64,
    turn: usize,
    /// Originals of the copies that exist, by the number of the copy.
    originals: HashMap<u64, u64>,
    /// Places of deleted files, in a tree like one on disk.
    free: Option<FreePlaces>,
}

/// Generator of operations for one model and seed.
#[derive(Debug)]
pub(super) struct OperationGenerator {
    model: Model,
    seed: u64,
    random: Random,
    populations: Vec<Population>,
    weights: u64,
    drawn: u64,
    print: Fingerprint,
}

impl OperationGenerator {
    /// Generator for a model; `live_bytes` are divided among the populations with a share.
    pub(super) fn new(mut model: Model, seed: u64, live_bytes: u64) -> Self {
        for plan in &mut model.files {
            let Some(classes) = &plan.classes else { continue };
            let factor = classes.factor(plan.amount.target_bytes(live_bytes), plan.sizes.mean());
            let layout = DirectoryTree::new(classes, factor);
            plan.directories = layout.directories();
            plan.layout = Some(Arc::new(layout));
        }
        let does = |place: usize, kind: OperationKind| {
            model.operations.iter().any(|plan| plan.files == place && plan.kind == kind)
        };
        let populations = model.files.iter().enumerate().map(|(place, plan)| Population {
            target_bytes: plan.amount.target_bytes(live_bytes),
            can_create: does(place, OperationKind::Create),
            can_delete: does(place, OperationKind::Delete),
            free: plan.layout.is_some().then(FreePlaces::default),
            ..Population::default()
        });
        Self {
            populations: populations.collect(),
            weights: model.operations.iter().map(|plan| plan.weight).sum(),
            random: Random::for_part(seed, "age"),
            model,
            seed,
            drawn: 0,
            print: Fingerprint::new(),
        }
    }

    /// Model of the generator.
    pub(super) const fn model(&self) -> &Model {
        &self.model
    }

    /// Number of operations drawn so far, initial files included.
    pub(super) const fn drawn(&self) -> u64 {
        self.drawn
    }

    /// Fingerprint of all operations drawn so far.
    pub(super) const fn fingerprint(&self) -> Fingerprint {
        self.print
    }

    /// True if the model has operations after the fill.
    pub(super) const fn has_operations(&self) -> bool {
        self.weights > 0
    }

    /// Draws the initial files of a population and returns their number.
    pub(super) fn initial(&mut self, files: usize) -> usize {
        let plan = self.model.files[files].clone();
        let mut made = match (&plan.tree, &plan.layout) {
            (Some(tree), _) => self.listed(files, tree),
            (None, Some(layout)) => self.laid_out(files, layout),
            (None, None) => self.drawn_files(files),
        };
        self.shuffle(&mut made, plan.shuffled);
        made.iter().for_each(|live| self.note(&Operation::birth(files, *live)));
        // The list is moved, not copied: there may be many millions.
        self.populations[files].live = made.into();
        self.populations[files].live.len()
    }

    /// Initial file of a population by its index, before any operation is drawn.
    pub(super) fn initial_file(&self, files: usize, turn: usize) -> Option<LiveFile> {
        self.populations[files].live.get(turn).copied()
    }

    /// Initial files from a data set.
    fn listed(&mut self, files: usize, tree: &SourceTree) -> Vec<LiveFile> {
        let made: Vec<LiveFile> = (0..)
            .zip(tree.sizes())
            .map(|(id, bytes)| LiveFile { id, directory: 0, bytes, files: None })
            .collect();
        self.populations[files].next_id = made.len() as u64;
        self.populations[files].bytes = tree.bytes();
        made
    }

    /// Initial files of a tree like one on disk, in the order of birth.
    fn laid_out(&mut self, files: usize, layout: &DirectoryTree) -> Vec<LiveFile> {
        let births = layout.births();
        let sizes = self.model.files[files].sizes.deal(births.len(), &mut self.random);
        let numbered = (0..).zip(births.zip(sizes));
        let made: Vec<LiveFile> = numbered
            .map(|(id, (directory, bytes))| LiveFile { id, directory, bytes, files: None })
            .collect();
        let population = &mut self.populations[files];
        population.next_id = made.len() as u64;
        population.bytes = made.iter().map(|live| live.bytes).sum();
        made
    }

    /// Initial files or units of drawn sizes, directory by directory.
    fn drawn_files(&mut self, files: usize) -> Vec<LiveFile> {
        let plan = self.model.files[files].clone();
        let target = self.populations[files].target_bytes;
        let mut made = Vec::new();
        loop {
            let is_enough = match plan.amount {
                InitialSize::Count(count) => made.len() as u64 >= count,
                InitialSize::Share(_) => self.populations[files].bytes >= target,
            };
            if is_enough {
                break;
            }
            made.push(self.birth(files, 0, None));
        }
        // Files are made directory by directory, as when a tree is unpacked.
        let count = (made.len() as u64).max(1);
        for (place, live) in (0..).zip(&mut made) {
            live.directory = spread(place, count, plan.directories);
        }
        made
    }

    /// Shuffles a share of the elements among themselves; their positions are drawn at random.
    fn shuffle(&mut self, made: &mut [LiveFile], share: f64) {
        let mut places: Vec<usize> = (0..made.len()).collect();
        self.random.shuffle(&mut places);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of a length is below it"
        )]
        places.truncate((made.len() as f64 * share).round() as usize);
        let mut moved: Vec<LiveFile> = places.iter().map(|place| made[*place]).collect();
        // The drawn elements are in random order; they go to the drawn indices in ascending order.
        places.sort_unstable();
        for (place, live) in places.into_iter().zip(moved.drain(..)) {
            made[place] = live;
        }
    }

    /// Adjusts the target bytes of the populations to the reported use, to keep the filesystem at
    /// its level.
    pub(super) fn hold(&mut self, used_bytes: u64, capacity_bytes: u64) {
        let Some(level) = self.model.hold_full else { return };
        let missing = capacity_bytes as f64 * level - used_bytes as f64;
        for (plan, population) in self.model.files.iter().zip(&mut self.populations) {
            if let InitialSize::Share(share) = plan.amount {
                let target = (population.bytes as f64 + missing * share).max(0.0);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "not negative, and below the size of a filesystem"
                )]
                let target = target as u64;
                population.target_bytes = target;
            }
        }
    }

    /// Removes the initial files from this one on from the list: they were not made, for lack of
    /// space.
    pub(super) fn forget_from(&mut self, files: usize, turn: usize) {
        let population = &mut self.populations[files];
        for gone in population.live.drain(turn.min(population.live.len())..) {
            population.bytes -= gone.bytes;
            if let Some(free) = &mut population.free {
                free.give(gone.directory, gone.bytes);
            }
        }
    }

    /// Draws the files to delete after an operation found no space: its own file, which may be
    /// incomplete, and others of populations that delete. Empty if nothing can be deleted.
    pub(super) fn make_room(&mut self, failed: &Operation) -> Vec<(usize, LiveFile)> {
        let mut gone = Vec::new();
        let incomplete = match &failed.action {
            OperationAction::Create(live)
            | OperationAction::Append(live, _)
            | OperationAction::Overwrite(live, ..)
            | OperationAction::Rewrite(live, _)
            | OperationAction::Replace(live, _)
            | OperationAction::Rename(live, _)
            | OperationAction::Delete(live)
            | OperationAction::Punch(live, ..)
            | OperationAction::Copy(_, live)
            | OperationAction::Reflink(_, live)
            | OperationAction::Compact(_, live) => live.id,
        };
        let live = &self.populations[failed.files].live;
        if let Some(place) = live.iter().position(|live| live.id == incomplete) {
            gone.push((failed.files, live[place]));
            Self::remove(&mut self.populations[failed.files], place);
        }
        match &failed.action {
            OperationAction::Compact(inputs, _) => {
                gone.extend(inputs.iter().map(|live| (failed.files, *live)));
            }
            // The file may still be where it was, under its old name.
            OperationAction::Rename(live, _) | OperationAction::Delete(live) => {
                gone.push((failed.files, *live));
            }
            _ => {}
        }
        let deleting: Vec<usize> = (0..self.populations.len())
            .filter(|files| self.populations[*files].can_delete)
            .collect();
        let standing =
            |all: &[Population]| deleting.iter().map(|files| all[*files].bytes).sum::<u64>();
        let before = standing(&self.populations);
        let wanted = before as f64 * ROOM_SHARE;
        while ((before - standing(&self.populations)) as f64) < wanted.max(1.0) {
            let files: Vec<usize> = deleting
                .iter()
                .copied()
                .filter(|files| !self.populations[*files].live.is_empty())
                .collect();
            if files.is_empty() {
                break;
            }
            let files = files[self.random.index(files.len())];
            let place = self.random.index(self.populations[files].live.len());
            gone.push((files, self.populations[files].live[place]));
            Self::remove(&mut self.populations[files], place);
        }
        for (files, live) in &gone {
            let action = OperationAction::Delete(*live);
            self.note(&Operation { files: *files, action, fsync: false });
        }
        gone
    }

    /// Existing files of a population.
    pub(super) fn standing(&self, files: usize) -> Vec<LiveFile> {
        self.populations[files].live.iter().copied().collect()
    }

    /// Number of the file that this one was copied from, if any.
    pub(super) fn original(&self, files: usize, id: u64) -> Option<u64> {
        self.populations[files].originals.get(&id).copied()
    }

    /// Adds maintenance to the fingerprint: its index in the model, and the files that it takes.
    pub(super) fn note_maintenance(&mut self, index: usize, taken: &[(usize, LiveFile)]) {
        let mut add = |number: u64| self.print.add(&number.to_le_bytes());
        [12, index as u64, taken.len() as u64].into_iter().for_each(&mut add);
        taken
            .iter()
            .for_each(|(files, live)| [*files as u64, live.id].into_iter().for_each(&mut add));
    }

    /// Seed of the run.
    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    /// Draws the next operation; `None` for a model without operations.
    pub(super) fn next(&mut self) -> Option<Operation> {
        let mut point = self.random.below(self.weights);
        let plan = self.model.operations.iter().find(|plan| {
            let is_here = point < plan.weight;
            point = point.wrapping_sub(if is_here { 0 } else { plan.weight });
            is_here
        })?;
        let plan = plan.clone();
        let files = plan.files;
        let kind = self.balanced(&plan);
        let action = if kind == OperationKind::Create {
            let (directory, like) = self.directory(files);
            let live = self.birth(files, directory, like);
            self.populations[files].live.push_back(live);
            OperationAction::Create(live)
        } else {
            self.change(&plan, kind)
        };
        let operation = Operation { files, action, fsync: plan.fsync };
        self.note(&operation);
        Some(operation)
    }

    /// Kind of operation: the drawn one, or the opposite one if the population is off its target
    /// size.
    fn balanced(&self, plan: &OperationPlan) -> OperationKind {
        let population = &self.populations[plan.files];
        let is_held = self.model.hold_full.is_some() && population.target_bytes > 0;
        let off_target = |standing: f64, wanted: f64, leeway: f64| {
            (standing > wanted * (1.0 + leeway), standing < wanted * (1.0 - leeway))
        };
        let (bytes, target_bytes) = (population.bytes as f64, population.target_bytes as f64);
        let (much, little) = match self.model.files[plan.files].amount {
            InitialSize::Share(_) if population.free.is_some() && !is_held => {
                let wanted = self.model.files[plan.files].tree_files() as f64;
                let (many, few) = off_target(population.live.len() as f64, wanted, LIKE_LEEWAY);
                let is_large = off_target(bytes, target_bytes, LEEWAY).0;
                (many || is_large && plan.kind == OperationKind::Append, few)
            }
            InitialSize::Count(count) => {
                let standing = population.live.len() as u64;
                (standing >= count.saturating_mul(2).max(2), standing <= count / 2)
            }
            InitialSize::Share(_) => {
                let leeway = if self.model.hold_full.is_some() { HELD_LEEWAY } else { LEEWAY };
                off_target(bytes, target_bytes, leeway)
            }
        };
        if population.live.is_empty() {
            return OperationKind::Create;
        }
        // Beyond the leeway every operation is replaced, so that the level is reached and kept.
        if is_held && population.can_delete && population.can_create && (much || little) {
            return if much { OperationKind::Delete } else { OperationKind::Create };
        }
        match plan.kind {
            OperationKind::Copy | OperationKind::Reflink if much && population.can_delete => {
                OperationKind::Delete
            }
            OperationKind::Create | OperationKind::Append if much && population.can_delete => {
                let is_counted = plan.kind == OperationKind::Append && population.target_bytes == 0;
                if is_counted { plan.kind } else { OperationKind::Delete }
            }
            OperationKind::Delete if little && population.can_create => OperationKind::Create,
            kind => kind,
        }
    }

    /// Draws the directory of a new file; in a tree like one on disk it is that of a deleted file,
    /// whose bytes are given too.
    fn directory(&mut self, files: usize) -> (u64, Option<u64>) {
        let plan = &self.model.files[files];
        match (&mut self.populations[files].free, &plan.layout) {
            (Some(free), Some(layout)) => free.take(&mut self.random, layout),
            _ => (self.random.below(plan.directories), None),
        }
    }

    /// Draws a new file or unit, which is not in the population's list yet; its size is like that
    /// of another file, if one is given.
    fn birth(&mut self, files: usize, directory: u64, like: Option<u64>) -> LiveFile {
        let population = &mut self.populations[files];
        let id = population.next_id;
        population.next_id += 1;
        let plan = &self.model.files[files];
        let live = match plan.unit {
            None => {
                let bytes = match like {
                    Some(bytes) => plan.sizes.draw_like(bytes, &mut self.random),
                    None => plan.sizes.draw(&mut self.random),
                };
                LiveFile { id, directory, bytes, files: None }
            }
            Some((least, most)) => {
                let count = least + self.random.below(most - least + 1);
                let unit = LiveFile { id, directory, bytes: 0, files: Some(count) };
                let bytes = self.unit_sizes(files, &unit).sum();
                LiveFile { bytes, ..unit }
            }
        };
        self.populations[files].bytes += live.bytes;
        live
    }

    /// Sizes of the files of a unit, the same for each call.
    pub(super) fn unit_sizes(
        &self,
        files: usize,
        unit: &LiveFile,
    ) -> impl Iterator<Item = u64> + use<> {
        let mut random = Random::for_part(self.seed, &format!("unit {files} {}", unit.id));
        let sizes = self.model.files[files].sizes.clone();
        (0..unit.files.unwrap_or(0)).map(move |_file| sizes.draw(&mut random))
    }

    /// Draws and applies any action but a creation; the population must have a file.
    fn change(&mut self, plan: &OperationPlan, kind: OperationKind) -> OperationAction {
        let files = plan.files;
        match kind {
            OperationKind::Compact => return self.compact(plan),
            OperationKind::Copy | OperationKind::Reflink => return self.copied(plan, kind),
            _ => {}
        }
        let place = self.place(files, plan.choose);
        let bytes = match kind {
            OperationKind::Append
            | OperationKind::Overwrite
            | OperationKind::Punch
            | OperationKind::Rewrite
            | OperationKind::Replace => plan.bytes.draw(&mut self.random),
            OperationKind::Create
            | OperationKind::Rename
            | OperationKind::Delete
            | OperationKind::Copy
            | OperationKind::Reflink
            | OperationKind::Compact => 0,
        };
        let to = if kind == OperationKind::Rename { self.directory(files).0 } else { 0 };
        let population = &mut self.populations[files];
        let live = population.live[place];
        match kind {
            OperationKind::Overwrite | OperationKind::Punch => {
                let bytes = bytes.min(live.bytes);
                let blocks = (live.bytes - bytes) / BLOCK_BYTES + 1;
                let position = self.random.below(blocks) * BLOCK_BYTES;
                match kind {
                    OperationKind::Punch => OperationAction::Punch(live, position, bytes),
                    _ => OperationAction::Overwrite(live, position, bytes),
                }
            }
            OperationKind::Rename => {
                population.live[place].directory = to;
                if let Some(free) = &mut population.free {
                    free.give(live.directory, live.bytes);
                }
                OperationAction::Rename(live, to)
            }
            OperationKind::Delete => {
                Self::remove(population, place);
                OperationAction::Delete(live)
            }
            OperationKind::Append => {
                population.live[place].bytes += bytes;
                population.bytes += bytes;
                OperationAction::Append(live, bytes)
            }
            OperationKind::Rewrite
            | OperationKind::Replace
            | OperationKind::Create
            | OperationKind::Copy
            | OperationKind::Reflink
            | OperationKind::Compact => {
                population.live[place].bytes = bytes;
                population.bytes = population.bytes - live.bytes + bytes;
                match kind {
                    OperationKind::Rewrite => OperationAction::Rewrite(live, bytes),
                    _ => OperationAction::Replace(live, bytes),
                }
            }
        }
    }

    /// Draws the original of a copy, and the directory of the copy.
    fn copied(&mut self, plan: &OperationPlan, kind: OperationKind) -> OperationAction {
        let place = self.place(plan.files, plan.choose);
        let (directory, _) = self.directory(plan.files);
        let population = &mut self.populations[plan.files];
        let original = population.live[place];
        let copy = LiveFile { id: population.next_id, directory, ..original };
        population.next_id += 1;
        population.bytes += copy.bytes;
        population.live.push_back(copy);
        if kind == OperationKind::Reflink {
            return OperationAction::Reflink(original, copy);
        }
        population.originals.insert(copy.id, original.id);
        OperationAction::Copy(original, copy)
    }

    fn compact(&mut self, plan: &OperationPlan) -> OperationAction {
        let files = plan.files;
        let inputs = plan.inputs.min(self.populations[files].live.len() as u64);
        let mut gone = Vec::new();
        for _input in 0..inputs {
            let place = self.place(files, plan.choose);
            gone.push(self.populations[files].live[place]);
            Self::remove(&mut self.populations[files], place);
        }
        let (directory, _) = self.directory(files);
        let population = &mut self.populations[files];
        let bytes = gone.iter().map(|live| live.bytes).sum();
        let output = LiveFile { id: population.next_id, directory, bytes, files: None };
        population.next_id += 1;
        population.bytes += bytes;
        population.live.push_back(output);
        OperationAction::Compact(gone, output)
    }

    fn place(&mut self, files: usize, choose: FileChoice) -> usize {
        let population = &mut self.populations[files];
        let count = population.live.len();
        match choose {
            FileChoice::Random => self.random.index(count),
            FileChoice::Oldest => 0,
            FileChoice::Newest => count - 1,
            FileChoice::ByAge => match &self.model.files[files].layout {
                Some(layout) => layout.draw_by_age(&mut self.random, count),
                None => self.random.index(count),
            },
            FileChoice::Turn => {
                let place = population.turn % count;
                population.turn = place + 1;
                place
            }
        }
    }

    fn remove(population: &mut Population, place: usize) {
        // The nearer end of the queue fills the gap: ages stay nearly in order, in a tree exactly.
        let gone = if population.free.is_some() {
            population.live.remove(place)
        } else if place < population.live.len() / 2 {
            population.live.swap_remove_front(place)
        } else {
            population.live.swap_remove_back(place)
        };
        if let Some(gone) = gone {
            population.bytes -= gone.bytes;
            population.originals.remove(&gone.id);
            if let Some(free) = &mut population.free {
                free.give(gone.directory, gone.bytes);
            }
        }
    }

    /// Counts an operation and adds it to the fingerprint.
    fn note(&mut self, operation: &Operation) {
        self.drawn += 1;
        let mut add = |numbers: &[u64]| {
            numbers.iter().for_each(|number| self.print.add(&number.to_le_bytes()));
        };
        let of = |live: &LiveFile| [live.id, live.directory, live.bytes, live.files.unwrap_or(0)];
        add(&[operation.files as u64, u64::from(operation.fsync)]);
        match &operation.action {
            OperationAction::Create(live) => add(&[&[1][..], &of(live)].concat()),
            OperationAction::Append(live, bytes) => add(&[&[2, *bytes][..], &of(live)].concat()),
            OperationAction::Overwrite(live, position, bytes) => {
                add(&[&[3, *position, *bytes][..], &of(live)].concat());
            }
            OperationAction::Rewrite(live, bytes) => add(&[&[4, *bytes][..], &of(live)].concat()),
            OperationAction::Replace(live, bytes) => add(&[&[5, *bytes][..], &of(live)].concat()),
            OperationAction::Rename(live, to) => add(&[&[6, *to][..], &of(live)].concat()),
            OperationAction::Delete(live) => add(&[&[7][..], &of(live)].concat()),
            OperationAction::Compact(gone, output) => {
                add(&[8, gone.len() as u64]);
                gone.iter().chain([output]).for_each(|live| add(&of(live)));
            }
            OperationAction::Copy(from, copy) => add(&[&[9, from.id][..], &of(copy)].concat()),
            OperationAction::Reflink(from, copy) => add(&[&[10, from.id][..], &of(copy)].concat()),
            OperationAction::Punch(live, position, bytes) => {
                add(&[&[11, *position, *bytes][..], &of(live)].concat());
            }
        }
    }
}

/// Directory of the file at `place` when `count` files are spread evenly.
fn spread(place: u64, count: u64, directories: u64) -> u64 {
    let wide = u128::from(place) * u128::from(directories) / u128::from(count);
    u64::try_from(wide).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use treering_script::Settings;

    use super::{LiveFile, Operation, OperationAction, OperationGenerator, SourceTree};
    use crate::profile::{Profile, profile_text, profiles, read};

    fn generator(name: &str, seed: u64, live_bytes: u64) -> Option<OperationGenerator> {
        match read(name, profile_text(name).unwrap()).unwrap() {
            Profile::Model(mut model) => {
                for plan in model.files.iter_mut().filter(|plan| plan.dataset.is_some()) {
                    let tree = SourceTree::load("linux-6.1-small", 500, &Settings::default());
                    plan.tree = Some(tree.unwrap().into());
                }
                Some(OperationGenerator::new(model, seed, live_bytes))
            }
            Profile::Workload { .. } => None,
        }
    }

    /// Draws all operations and returns the existing files, by population and number, with their
    /// sizes.
    fn play(generator: &mut OperationGenerator, operations: u64) -> HashMap<(usize, u64), u64> {
        let mut queue = Vec::new();
        for files in 0..generator.model().files.len() {
            let made = 0..generator.initial(files);
            let made = made.filter_map(|turn| generator.initial_file(files, turn));
            queue.extend(made.map(|live| Operation::birth(files, live)));
        }
        let mut standing = HashMap::new();
        let more = (0..operations).map_while(|_| generator.next()).collect::<Vec<_>>();
        for operation in queue.into_iter().chain(more) {
            let key = |live: &LiveFile| (operation.files, live.id);
            match &operation.action {
                OperationAction::Create(live) => {
                    assert_eq!(standing.insert(key(live), live.bytes), None);
                }
                OperationAction::Append(live, bytes) => {
                    let before = standing.insert(key(live), live.bytes + bytes);
                    assert_eq!(before, Some(live.bytes));
                }
                OperationAction::Overwrite(live, position, bytes) => {
                    assert!(position + bytes <= live.bytes.max(4096));
                    assert_eq!(standing[&key(live)], live.bytes);
                }
                OperationAction::Rewrite(live, bytes) | OperationAction::Replace(live, bytes) => {
                    assert_eq!(standing.insert(key(live), *bytes), Some(live.bytes));
                }
                OperationAction::Rename(live, _) => assert_eq!(standing[&key(live)], live.bytes),
                OperationAction::Copy(from, live) | OperationAction::Reflink(from, live) => {
                    assert_eq!(standing[&key(from)], live.bytes);
                    assert_eq!(standing.insert(key(live), live.bytes), None);
                }
                OperationAction::Punch(live, position, bytes) => {
                    assert!(position + bytes <= live.bytes.max(4096));
                }
                OperationAction::Delete(live) => {
                    assert_eq!(standing.remove(&key(live)), Some(live.bytes));
                }
                OperationAction::Compact(gone, output) => {
                    for live in gone {
                        assert_eq!(standing.remove(&key(live)), Some(live.bytes));
                    }
                    assert_eq!(standing.insert(key(output), output.bytes), None);
                }
            }
        }
        standing
    }

    #[test]
    fn operations_only_affect_existing_files() {
        for (name, _) in profiles() {
            let Some(mut drawn) = generator(name, 7, 200 << 20) else { continue };
            let standing = play(&mut drawn, 20_000);
            assert!(!standing.is_empty(), "{name}");
            let kept: usize =
                drawn.populations.iter().map(|population| population.live.len()).sum();
            assert_eq!(kept, standing.len(), "{name}");
            let bytes: u64 = drawn.populations.iter().map(|population| population.bytes).sum();
            assert_eq!(bytes, standing.values().sum::<u64>(), "{name}");
            let shared: u64 =
                drawn.populations.iter().map(|population| population.target_bytes).sum();
            let shares = drawn.populations.iter().filter(|population| population.target_bytes > 0);
            let shared_bytes: u64 = shares.map(|population| population.bytes).sum();
            assert!(shared_bytes as f64 <= shared as f64 * 1.35, "{name}: {shared_bytes}");
        }
    }

    /// True for a profile without random draws: files in sequence, or those of a data set in its
    /// order.
    fn is_given(name: &str) -> bool {
        ["round-robin", "shuffled-clone"].contains(&name)
    }

    #[test]
    fn operations_depend_only_on_the_seed() {
        for (name, _) in profiles().filter(|(name, _)| !is_given(name)) {
            let Some(mut first) = generator(name, 1, 50 << 20) else { continue };
            let mut again = generator(name, 1, 50 << 20).unwrap();
            let mut other = generator(name, 2, 50 << 20).unwrap();
            for generator in [&mut first, &mut again, &mut other] {
                play(generator, 2000);
            }
            assert_eq!(first.fingerprint(), again.fingerprint(), "{name}");
            assert_ne!(first.fingerprint(), other.fingerprint(), "{name}");
        }
    }

    #[test]
    fn operations_of_shipped_profiles_are_those_of_earlier_versions() {
        for (name, print) in [
            ("mail", 0x62cc_57f8_749a_9759),
            ("database", 0xfa37_1df3_cdbf_8ab7),
            ("container", 0xaa04_e1c3_c864_eecf),
            ("round-robin", 0x452d_9994_b5e9_12c4),
            ("shuffled", 0xec2e_276c_0d2b_2fc3),
            ("shuffled-clone", 0xfa7e_747d_d342_f7b7),
            ("size-age-depth", 0x1dc9_10b6_93e7_9ab7),
        ] {
            let mut drawn = generator(name, 7, 50 << 20).unwrap();
            play(&mut drawn, 3000);
            assert_eq!(drawn.fingerprint().number(), print, "{name}");
        }
    }

    #[test]
    fn partial_shuffle_keeps_the_order_of_unshuffled_files() {
        for (share, least, most) in [(0.0, 0, 0), (0.5, 9_000, 11_500), (1.0, 20_500, 21_280)] {
            let mut drawn = generator("shuffled", 1, 0).unwrap();
            drawn.model.files[0].shuffled = share;
            let made = 0..drawn.initial(0);
            let made = made.filter_map(|turn| drawn.initial_file(0, turn));
            let moved = (0..).zip(made).filter(|(place, live)| live.id != *place);
            let moved = moved.count();
            assert!((least..=most).contains(&moved), "{share}: {moved}");
        }
    }
}
