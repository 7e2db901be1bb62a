//! Aging of the filesystems of a plan: once for each variant and round, with an image at each age.
//!
//! A filesystem is aged from one age to the next. A profile whose run cannot go on is aged anew to
//! each age. Copies are made from the images, each on a fresh filesystem with the settings of its
//! variant.

pub(crate) mod image;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use treering_age::{StepRecord, can_go_on, steps_of};
use treering_lab::{LabError, copy_tree};
use treering_model::filesystems::by_name;
use treering_model::metrics::{age, device};
use treering_model::{
    AgedTree, CellRole, Ending, Fact, Metric, Op, Scope, Trial, Variant, VariantAge,
};
use treering_observe::layout::{SurveyPlan, layout_metrics, survey};
use treering_sys::{StopFlag, open_top, sync_filesystem};

use self::image::AgedImage;
use crate::cells::PlannedCell;
use crate::plan::{JobCommands, Plan, PlannedJob};
use crate::stage::{Devices, IMAGE_FACT, Stage, WORK, fact};

/// Part of an aging run, up to an age.
pub(crate) struct AgingLeg<'a> {
    /// Cell that needs the age, with its round.
    pub(crate) cell: PlannedCell,
    /// Variant of the age.
    pub(crate) variant: &'a Variant,
    /// The run, with all its options.
    pub(crate) job: &'a PlannedJob,
    /// Operations at the end of this part.
    pub(crate) operations: u64,
    /// Steps behind which it goes on; empty for the first part.
    pub(crate) earlier: Vec<StepRecord>,
}

/// Runs and records the parts of aging runs.
pub(crate) trait AgingRunner {
    /// Error that ends a campaign.
    type Failure;

    /// Runs a part on the target; returns the whole trial.
    ///
    /// # Errors
    /// When no further trial can be measured or recorded.
    fn age(&mut self, leg: &AgingLeg<'_>, stage: &Stage) -> Result<Trial, Self::Failure>;

    /// Tells the user what is done meanwhile.
    fn tell(&self, words: &str);
}

/// Reason why a filesystem has no image of an age.
pub(crate) enum AgingError<F> {
    /// The target cannot be made or copied, or a part of the run failed.
    Lab(LabError),
    /// The campaign ends.
    Campaign(F),
}

impl<F> From<LabError> for AgingError<F> {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}

/// Images of the aged filesystems of one round.
#[derive(Default)]
pub(crate) struct AgedImages {
    /// Round of the images; observing rounds are counted separately.
    round: (bool, u32),
    images: HashMap<(Variant, VariantAge), AgedImage>,
    /// Filesystems whose aging failed, with the reason: it is not tried again in the round.
    failed: HashMap<Variant, String>,
}

impl AgedImages {
    /// Image for a cell, after aging its filesystem if this is the first cell of the round that
    /// needs it; `None` for a variant without an age.
    pub(crate) fn of<C: AgingRunner>(
        &mut self,
        cell: PlannedCell,
        (plan, variants): (&Plan, &[Variant]),
        devices: &mut Devices<'_>,
        runner: &mut C,
        stop: &StopFlag,
    ) -> Result<Option<&AgedImage>, AgingError<C::Failure>> {
        let variant = &variants[cell.variant];
        let (Some(age), Some(job)) = (variant.age, &plan.aging) else { return Ok(None) };
        let round = (cell.role == CellRole::Observed, cell.round);
        if self.round != round {
            *self = Self { round, ..Self::default() };
        }
        let key = (unaged(variant), age);
        if !self.images.contains_key(&key) {
            let base = key.0.clone();
            if let Some(why) = self.failed.get(&base) {
                return Err(AgingError::Lab(cannot(why)));
            }
            let mut making = ImageMaking { plan, cell, base, job, devices, runner, stop };
            let mut images = Vec::new();
            let made = making.images(variants, &mut images);
            let of_base = |(age, image)| ((making.base.clone(), age), image);
            self.images.extend(images.into_iter().map(of_base));
            if let Err(error) = made {
                let AgingError::Lab(of_lab) = &error else { return Err(error) };
                self.failed.insert(making.base, of_lab.to_string());
                // An age that was reached before the failure has its image.
                if !self.images.contains_key(&key) {
                    return Err(error);
                }
            }
        }
        Ok(self.images.get(&key))
    }
}

/// Filesystems that are aged in a round: those of cells without a result. As images last no longer
/// than the process, all trials of such a filesystem run, so that they start from one aging.
pub(crate) struct AgingOfRound(HashSet<Variant>);

impl AgingOfRound {
    pub(crate) fn new<'c>(
        without_result: impl Iterator<Item = &'c PlannedCell>,
        variants: &[Variant],
    ) -> Self {
        let variants = without_result.map(|cell| &variants[cell.variant]);
        Self(variants.filter(|variant| variant.age.is_some()).map(unaged).collect())
    }

    /// True if trials of this variant start from an aging of the round.
    pub(crate) fn has(&self, variant: &Variant) -> bool {
        variant.age.is_some() && self.0.contains(&unaged(variant))
    }
}

/// The variant with a fresh filesystem. Variants with the same are aged together.
fn unaged(variant: &Variant) -> Variant {
    let (name, against) = (String::new(), None);
    Variant { name, against, age: None, ..variant.clone() }
}

/// Aging of one filesystem to all ages that the plan has of it.
struct ImageMaking<'a, 'l, C> {
    plan: &'a Plan,
    cell: PlannedCell,
    base: Variant,
    job: &'a PlannedJob,
    devices: &'a mut Devices<'l>,
    runner: &'a mut C,
    stop: &'a StopFlag,
}

impl<C: AgingRunner> ImageMaking<'_, '_, C> {
    /// Adds the image of each age, also if a later one fails.
    fn images(
        &mut self,
        variants: &[Variant],
        images: &mut Vec<(VariantAge, AgedImage)>,
    ) -> Result<(), AgingError<C::Failure>> {
        let same = variants.iter().filter(|variant| unaged(variant) == self.base);
        let wanted: Vec<(&Variant, VariantAge)> =
            same.filter_map(|variant| Some((variant, variant.age?))).collect();
        let ages: BTreeSet<u64> = wanted.iter().map(|(_, age)| age.operations).collect();
        let goes_on = can_go_on(&self.job.settings)
            .map_err(|error| cannot(&format!("{error}")))
            .map_err(AgingError::Lab)?;
        let (mut stage, mut earlier) = (None, Vec::new());
        for operations in ages {
            if !goes_on && let Some(stage) = stage.take() {
                self.devices.clear(stage)?;
                earlier = Vec::new();
            }
            let on = match stage.take() {
                Some(stage) => stage,
                None => self.fresh()?,
            };
            let of_age = wanted.iter().find(|(_, age)| age.operations == operations);
            let variant = of_age.map_or(&self.base, |(variant, _)| variant);
            let (cell, job) = (self.cell, self.job);
            let leg = AgingLeg { cell, variant, job, operations, earlier };
            let made = age_to(&leg, &on, self.runner);
            match made {
                Ok((image, steps)) => {
                    images.push((VariantAge { operations, tree: AgedTree::Aged }, image));
                    (stage, earlier) = (Some(on), steps);
                }
                Err(error) => {
                    self.devices.clear(on)?;
                    return Err(error);
                }
            }
        }
        stage.map_or(Ok(()), |stage| self.devices.clear(stage))?;
        let copied = wanted.iter().filter(|(_, age)| age.tree == AgedTree::Copied);
        let copied: Vec<u64> = copied.map(|(_, age)| age.operations).collect();
        let copies = copied.into_iter().map(|operations| {
            let is_it = |(age, _): &&(VariantAge, AgedImage)| age.operations == operations;
            let aged =
                images.iter().find(is_it).ok_or_else(|| cannot("there is no image of it"))?;
            let age = VariantAge { operations, tree: AgedTree::Copied };
            Ok((age, self.copy(&aged.1, operations)?))
        });
        let copies: Vec<_> = copies.collect::<Result<_, LabError>>()?;
        images.extend(copies);
        Ok(())
    }

    /// Target with a fresh filesystem of the variant.
    fn fresh(&mut self) -> Result<Stage, LabError> {
        let target = (&self.base, &JobCommands::default(), false);
        let stage = self.devices.prepare(target, None, &self.plan.conditions, self.stop)?;
        stage.answer_at_once();
        Ok(stage)
    }

    /// Image of a fresh filesystem with a copy of the files of an aged one.
    fn copy(&mut self, aged: &AgedImage, operations: u64) -> Result<AgedImage, LabError> {
        self.runner.tell(&format!("copying the files of {operations} operations"));
        // The filesystem is made first: until then its device holds one of the same identity, which
        // btrfs on several devices takes for the same.
        let stage = self.fresh()?;
        let copied = self.copy_to(&stage, aged);
        let cleared = self.devices.clear(stage);
        let image = copied?;
        cleared?;
        Ok(image)
    }

    fn copy_to(&self, stage: &Stage, aged: &AgedImage) -> Result<AgedImage, LabError> {
        let (volume, _) = aged.restore(self.devices.spare(&self.base)?, &self.base.mkfs)?;
        // With a UUID from the options of mkfs, both filesystems have the same.
        let of_copies = by_name(&self.base.filesystem).map_or(&[][..], |known| known.of_copies);
        let of_copies = of_copies.iter().map(|&option| option.to_owned());
        let options: Vec<String> = self.base.mount.iter().cloned().chain(of_copies).collect();
        let source = volume.mount(&options)?;
        source.answer_at_once();
        let copied = copy_work(&source.root().join(WORK), stage, self.stop)
            .and_then(|()| image_of(stage, Vec::new()));
        let released = source.release().and_then(treering_lab::LabDevice::release);
        let image = copied?;
        released?;
        Ok(image)
    }
}

/// Runs a part of an aging run, and takes the image at its end; also returns all steps so far.
fn age_to<C: AgingRunner>(
    leg: &AgingLeg<'_>,
    stage: &Stage,
    runner: &mut C,
) -> Result<(AgedImage, Vec<StepRecord>), AgingError<C::Failure>> {
    runner.tell(&format!("aging to {} operations", leg.operations));
    let trial = runner.age(leg, stage).map_err(AgingError::Campaign)?;
    match &trial.ending {
        Ending::Completed => {}
        Ending::Failed { why } => return Err(AgingError::Lab(cannot(why))),
        ending => return Err(AgingError::Lab(cannot(ending.name()))),
    }
    let amplification = write_amplification(&trial)
        .map(|ratio| age::AGING_WRITE_AMPLIFICATION.of(Scope::Trial, ratio));
    let image = image_of(stage, amplification.into_iter().collect())?;
    stage.answer_at_once();
    Ok((image, steps_of(&trial)))
}

/// Image of the filesystem of a stage, with the layout of its files.
fn image_of(stage: &Stage, mut metrics: Vec<Metric>) -> Result<AgedImage, LabError> {
    let template = stage.imaged()?;
    metrics.extend(layout(&stage.work()?));
    let facts = vec![fact(IMAGE_FACT, template.fingerprint().to_owned())];
    Ok(AgedImage::new(template, facts, metrics))
}

/// Layout of the files of an age; none where the filesystem does not report where files are.
fn layout(work: &Path) -> Vec<Metric> {
    let Ok(top) = open_top(work) else { return Vec::new() };
    let go_on = &mut |_: &_, _| std::ops::ControlFlow::Continue(());
    let surveyed = survey(top.as_fd(), &SurveyPlan::default(), go_on);
    surveyed.map_or_else(|_| Vec::new(), |found| layout_metrics(&found.layout, &Scope::Trial))
}

fn copy_work(from: &Path, stage: &Stage, stop: &StopFlag) -> Result<(), LabError> {
    let to = stage.work()?;
    let failed = |source: io::Error| LabError::Io {
        action: "cannot copy the aged files to",
        path: to.clone(),
        source,
    };
    std::fs::create_dir(&to).map_err(failed)?;
    let open = |path: &Path| open_top(path).map_err(|errno| failed(errno.into()));
    let (source, target) = (open(from)?, open(&to)?);
    let copied = copy_tree(source.as_fd(), target.as_fd(), stop);
    let copied = copied.map_err(|error| failed(io::Error::other(error)))?;
    if copied.failed > 0 {
        let why = format!("{} of them could not be read", copied.failed);
        return Err(failed(io::Error::other(why)));
    }
    sync_filesystem(target.as_fd()).map_err(|errno| failed(errno.into()))
}

/// Bytes written to the devices by the bytes that the operations wrote; `None` if either is
/// unknown.
fn write_amplification(trial: &Trial) -> Option<f64> {
    let spec = device::WRITTEN_BYTES;
    let is_it = |metric: &&Metric| metric.name == spec.name && metric.scope == Scope::Trial;
    let device = trial.metrics.iter().find(is_it)?.value;
    let ops = trial.tasks.iter().flat_map(|task| &task.ops);
    let written: u64 = ops.filter(|op| op.op == Op::Write).map(|op| op.bytes).sum();
    (written > 0).then(|| device / written as f64)
}

/// Error of an age that was not reached.
fn cannot(why: &str) -> LabError {
    let source = io::Error::other(why.to_owned());
    LabError::Io { action: "cannot age", path: WORK.into(), source }
}

/// Facts of a trial about the age that it starts from.
pub(crate) fn age_facts(variant: &Variant) -> Vec<Fact> {
    let Some(VariantAge { operations, tree }) = variant.age else { return Vec::new() };
    vec![
        fact("age.start_operations", operations.to_string()),
        fact("age.start_tree", tree.name().to_owned()),
    ]
}
