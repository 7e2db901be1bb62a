//! Target of a cell: a fresh, mounted filesystem on a quiet machine with empty caches; released
//! after the trial.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::time::Duration;

use treering_lab::{
    CacheDrop, DeviceCaution, EraseList, FilesystemTemplate, FormatRecord, Lab, LabDevice,
    LabError, MountedVolume, SavedImage, SettingsInForce, SettleLimits, Volume, drop_and_verify,
    settle,
};
use treering_model::filesystems::is_in_memory;
use treering_model::{
    Artifact, Caution, CautionCode, DeviceSpec, Fact, Layer, Metric, SecondDevice, Variant,
};
use treering_sys::StopFlag;

use crate::aging::image::AgedImage;
use crate::conduct::MKFS_FACT;
use crate::plan::{Conditions, JobCommands};

/// Fact with the name of the variant.
pub(crate) const VARIANT_FACT: &str = "variant.name";
/// Fact with the fingerprint of the image from which a trial started.
pub(crate) const IMAGE_FACT: &str = "image.fingerprint";
/// Facts with the name and the recipe of the saved image from which a trial started.
const IMAGE_NAME_FACT: &str = "image.name";
const IMAGE_RECIPE_FACT: &str = "image.recipe";
/// Kind of the artifact with the packed template of a filesystem, and the version of its format.
pub const TEMPLATE_ARTIFACT: &str = "filesystem_template";
pub(crate) const TEMPLATE_VERSION: u32 = 1;
/// Work directory of trials, in the root of the filesystem.
pub(crate) const WORK: &str = "treering-work";

/// Key of a device: its specification, whether the filesystem lives in memory, and whether it is an
/// image for a second device. Variants with the same key share a device.
type Key = (DeviceSpec, bool, bool);

/// Recipe of a filesystem: equal recipes give equal filesystems on disk.
type Recipe = (DeviceSpec, Option<SecondDevice>, String, Vec<String>);

/// Devices of a plan, each held until the end of the plan.
pub(crate) struct Devices<'l> {
    lab: &'l Lab,
    erasing: EraseList,
    held: HashMap<Key, LabDevice>,
    /// Templates of the filesystems for guests, one per recipe; `None` if the template cannot be
    /// stored.
    patterns: HashMap<Recipe, Option<FilesystemTemplate>>,
    /// Saved images by name and device, each read once.
    saved: HashMap<(String, DeviceSpec), (SavedImage, FilesystemTemplate)>,
}

impl<'l> Devices<'l> {
    /// Acquires all devices. Checks everything before the first device is made or erased.
    pub(crate) fn acquire(
        variants: &[Variant],
        erasing: &EraseList,
        lab: &'l Lab,
    ) -> Result<Self, LabError> {
        for variant in variants {
            LabDevice::check(variant, lab)?;
            LabDevice::examine_blocks(variant, erasing, lab)?;
            if let Some(name) = &variant.image {
                let image = lab.library().load(name)?;
                image.check_target(&variant.filesystem, &variant.device)?;
                image.check_available(lab)?;
            }
        }
        let (held, patterns, saved) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut devices = Self { lab, erasing: erasing.clone(), held, patterns, saved };
        for variant in variants {
            if let Entry::Vacant(place) = devices.held.entry(key(variant)) {
                place.insert(LabDevice::acquire_first(variant, erasing, lab)?);
            }
            if let Some(second) = &variant.settings.second_device
                && let Entry::Vacant(place) = devices.held.entry(key_of_second(second))
            {
                place.insert(LabDevice::acquire_second(second, erasing, lab)?);
            }
        }
        Ok(devices)
    }

    /// Prepares the target of a variant, and runs the prepare commands of the job. The filesystem
    /// is a fresh one, or that of the image of an age. A target for steps below its overlay is
    /// covered later, by [`Stage::rest`].
    pub(crate) fn prepare(
        &mut self,
        (variant, commands, is_below): (&Variant, &JobCommands, bool),
        aged: Option<&AgedImage>,
        conditions: &Conditions,
        stop: &StopFlag,
    ) -> Result<Stage, LabError> {
        let device = self.take(variant)?;
        // The settings of a guest's kernel are written in the guest.
        let mut in_force = match &variant.guest {
            None => {
                let on = (variant.filesystem.as_str(), nodes(&device));
                Some(SettingsInForce::begin(&variant.settings, on, self.lab)?)
            }
            Some(_) => None,
        };
        let layers = &variant.settings.layers;
        if variant.guest.is_some() && !layers.is_empty() {
            return Self::for_layers_of_guest(variant, device);
        }
        let device = device.covered(layers)?;
        let mut cautions: Vec<Caution> =
            device.cautions().iter().map(DeviceCaution::caution).collect();
        if let Some(in_force) = &mut in_force {
            in_force.layered(nodes(&device));
        }
        let mut template = None;
        let (volume, image) = match (aged, &variant.image) {
            (Some(aged), _) => aged.restore(device, &variant.mkfs)?,
            (None, Some(name)) => self.saved_volume(name, &variant.device, device)?,
            (None, None) if variant.guest.is_some() => {
                let (volume, image, made) = self.for_guest(variant, device)?;
                template = made;
                (volume, image)
            }
            (None, None) => (device.format(&variant.filesystem, &variant.mkfs)?, Vec::new()),
        };
        if variant.guest.is_some() {
            let stage = Self::formatted_for_guest(variant, volume, (cautions, image))?;
            return Ok(Stage { template, ..stage });
        }
        let waits = is_below && layers.iter().any(Layer::is_above_filesystem);
        let mut mounted = volume.mount(&variant.mount)?;
        if !waits {
            mounted = mounted.covered(layers)?;
        }
        if let Some(in_force) = &mut in_force {
            in_force.mounted()?;
            if !waits {
                let of_job = (commands.prepare.as_slice(), commands.cleanup.as_slice());
                in_force.prepare(variant, (mounted.root(), &mounted.root().join(WORK)), of_job)?;
            }
        }
        let (dropped, found) = settle_and_drop_caches(&mounted, conditions, stop)?;
        cautions.extend(found);
        let mut facts = facts(variant, mounted.format_record(), mounted.device());
        facts.extend(image.into_iter().chain([dropped]));
        if let Some(in_force) = &mut in_force {
            in_force.limit()?;
        }
        let place = Place::Mounted(Box::new(mounted));
        Ok(Stage {
            settings: RefCell::new(in_force),
            uncovered: waits.then(|| variant.clone()),
            metrics: aged.map(|aged| aged.metrics.clone()).unwrap_or_default(),
            ..Stage::new(variant, place, cautions, facts)
        })
    }

    /// Uses a template of an earlier run of the plan for the guests of a variant.
    pub(crate) fn adopt(&mut self, variant: &Variant, template: FilesystemTemplate) {
        self.patterns.insert(recipe(variant), Some(template));
    }

    /// Takes the devices of a variant, which [`Devices::clear`] puts back. A device that was lost
    /// in an earlier failure is acquired again.
    fn take(&mut self, variant: &Variant) -> Result<LabDevice, LabError> {
        let (erasing, lab) = (&self.erasing, self.lab);
        let first = match self.held.remove(&key(variant)) {
            Some(device) => device,
            None => LabDevice::acquire_first(variant, erasing, lab)?,
        };
        let Some(second) = &variant.settings.second_device else { return Ok(first) };
        let device = match self.held.remove(&key_of_second(second)) {
            Some(device) => device,
            None => LabDevice::acquire_second(second, erasing, lab)?,
        };
        Ok(first.with_second(device, second))
    }

    /// A further device like that of a variant, which the caller releases.
    pub(crate) fn spare(&self, variant: &Variant) -> Result<LabDevice, LabError> {
        LabDevice::acquire(variant, &self.erasing, self.lab)
    }

    /// Makes the stage of a formatted filesystem that a guest mounts.
    fn formatted_for_guest(
        variant: &Variant,
        volume: Volume,
        (cautions, image): (Vec<Caution>, Vec<Fact>),
    ) -> Result<Stage, LabError> {
        // A guest bypasses the host's page cache, which must not hold dirty pages of the device.
        volume.device().forget()?;
        volume.device().play(true)?;
        let mut facts = facts(variant, Some(volume.record()), Some(volume.device()));
        // Observers in the guest do not see the host's layers below its disk.
        facts.extend(volume.device().model().iter().flat_map(|model| model.facts()));
        facts.extend(image);
        Ok(Stage::new(variant, Place::Formatted(Box::new(volume)), cautions, facts))
    }

    /// Makes the stage of an empty device, on which a guest builds the layers and the filesystem.
    fn for_layers_of_guest(variant: &Variant, device: LabDevice) -> Result<Stage, LabError> {
        let device = device.emptied()?;
        device.play(true)?;
        let cautions = device.cautions().iter().map(DeviceCaution::caution).collect();
        let mut facts = facts(variant, None, None);
        facts.extend(device.model().iter().flat_map(|model| model.facts()));
        Ok(Stage::new(variant, Place::Empty(Box::new(device)), cautions, facts))
    }

    /// Makes the filesystem for a guest, with the fact about its fingerprint: by mkfs once per
    /// recipe, then by copying, so that all kernels start from the same bytes. The first one comes
    /// with its template, from which a resumed plan makes the same filesystem.
    fn for_guest(
        &mut self,
        variant: &Variant,
        device: LabDevice,
    ) -> Result<(Volume, Vec<Fact>, Option<Artifact>), LabError> {
        let recipe = recipe(variant);
        let of =
            |pattern: &FilesystemTemplate| vec![fact(IMAGE_FACT, pattern.fingerprint().to_owned())];
        match self.patterns.get(&recipe) {
            Some(Some(pattern)) => {
                let (volume, is_copy) = device.restore(pattern, &variant.mkfs)?;
                Ok((volume, if is_copy { of(pattern) } else { Vec::new() }, None))
            }
            Some(None) => {
                Ok((device.format(&variant.filesystem, &variant.mkfs)?, Vec::new(), None))
            }
            None => {
                let volume = device.format(&variant.filesystem, &variant.mkfs)?;
                // Without `O_TMPFILE` no template can be stored: mkfs runs for each trial.
                let pattern = volume.template().ok().flatten();
                let image = pattern.as_ref().map(of).unwrap_or_default();
                let template = pattern.as_ref().and_then(template_artifact);
                self.patterns.insert(recipe, pattern);
                Ok((volume, image, template))
            }
        }
    }

    /// Restores a saved image to the device of a variant; returns facts about the image.
    fn saved_volume(
        &mut self,
        name: &str,
        spec: &DeviceSpec,
        device: LabDevice,
    ) -> Result<(Volume, Vec<Fact>), LabError> {
        let (image, pattern) = match self.saved.entry((name.to_owned(), spec.clone())) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let image = self.lab.library().load(name)?;
                let pattern = FilesystemTemplate::from_saved(&image, spec, self.lab)?;
                place.insert((image, pattern))
            }
        };
        let facts = vec![
            fact(IMAGE_NAME_FACT, name.to_owned()),
            fact(IMAGE_FACT, pattern.fingerprint().to_owned()),
            fact(IMAGE_RECIPE_FACT, image.record.recipe_key()),
        ];
        Ok((device.restore_saved(image, pattern)?, facts))
    }

    /// Unmounts the target and returns its device.
    pub(crate) fn clear(&mut self, stage: Stage) -> Result<(), LabError> {
        let undone = stage.settings.take().map_or(Ok(()), SettingsInForce::end);
        if !stage.is_fresh() {
            // The work directory must not be left in the user's directory.
            let _not_empty_or_never_made = stage.work().map(std::fs::remove_dir);
        }
        let device = match stage.place.into_inner() {
            Place::Mounted(mounted) => mounted.release()?.uncovered()?,
            Place::Formatted(volume) => {
                let device = volume.into_device();
                device.play(false)?;
                device
            }
            Place::Empty(device) => {
                device.play(false)?;
                *device
            }
            Place::Gone => return undone,
        };
        let (first, second) = device.parted();
        self.held.insert(stage.key, first);
        self.held.extend(stage.second_key.zip(second));
        undone
    }

    /// Releases all devices.
    pub(crate) fn release(self) -> Result<(), LabError> {
        let freed: Vec<_> = self.held.into_values().map(LabDevice::release).collect();
        freed.into_iter().collect()
    }
}

/// State of the target of a cell.
enum Place {
    /// Filesystem mounted on this machine.
    Mounted(Box<MountedVolume>),
    /// Formatted filesystem that a guest mounts.
    Formatted(Box<Volume>),
    /// Device on which a guest builds layers.
    Empty(Box<LabDevice>),
    /// The filesystem was lost in a failed remount.
    Gone,
}

/// Target of a cell.
pub(crate) struct Stage {
    /// Settings of the variant; `None` for a guest, and once the settings are restored. Dropped
    /// before the filesystem is unmounted.
    settings: RefCell<Option<SettingsInForce>>,
    place: RefCell<Place>,
    /// Variant whose overlay is not mounted yet; `None` if the target is complete.
    uncovered: Option<Variant>,
    key: Key,
    second_key: Option<Key>,
    /// Cautions about measurements on this target.
    pub(crate) cautions: Vec<Caution>,
    /// Facts about the preparation of the target.
    pub(crate) facts: Vec<Fact>,
    /// Metrics of the aged filesystem from which the trial starts.
    pub(crate) metrics: Vec<Metric>,
    /// Template made for this cell, from which a resumed plan makes the same filesystem.
    pub(crate) template: Option<Artifact>,
}

impl Stage {
    /// Creates the stage of a variant that needs no settings of this machine.
    fn new(variant: &Variant, place: Place, cautions: Vec<Caution>, facts: Vec<Fact>) -> Self {
        Self {
            settings: RefCell::new(None),
            place: RefCell::new(place),
            uncovered: None,
            key: key(variant),
            second_key: second_key(variant),
            cautions,
            facts,
            metrics: Vec::new(),
            template: None,
        }
    }

    /// Work directory, which may not exist yet.
    ///
    /// # Errors
    /// After a failed remount, and if a guest mounts the filesystem.
    pub(crate) fn work(&self) -> Result<PathBuf, LabError> {
        match &*self.place.borrow() {
            Place::Mounted(mounted) if self.uncovered.is_some() => {
                Ok(mounted.lower_directory()?.join(WORK))
            }
            Place::Mounted(mounted) => Ok(mounted.root().join(WORK)),
            Place::Formatted(_) | Place::Empty(_) | Place::Gone => Err(lost_target()),
        }
    }

    /// Devices that a guest mounts as its disks; empty for filesystems mounted on this machine.
    pub(crate) fn disks(&self) -> Vec<PathBuf> {
        match &*self.place.borrow() {
            Place::Formatted(volume) => nodes(volume.device()),
            Place::Empty(device) => nodes(device),
            Place::Mounted(_) | Place::Gone => Vec::new(),
        }
    }

    /// Writes everything back and drops the caches before the next step on this filesystem; mounts
    /// the overlay first, unless that step is below it (`is_below`).
    ///
    /// # Errors
    /// When the filesystem is lost, or cannot be written back or covered.
    pub(crate) fn rest(
        &mut self,
        is_below: bool,
        conditions: &Conditions,
        stop: &StopFlag,
    ) -> Result<(), LabError> {
        if !is_below && let Some(variant) = self.uncovered.take() {
            self.cover(&variant)?;
        }
        let (dropped, found) = match &*self.place.borrow() {
            Place::Mounted(mounted) => settle_and_drop_caches(mounted, conditions, stop)?,
            Place::Formatted(_) | Place::Empty(_) | Place::Gone => return Err(lost_target()),
        };
        let is_of_rest = [CautionCode::NotQuiet, CautionCode::CachesNotDropped];
        self.cautions.retain(|caution| !is_of_rest.contains(&caution.code));
        self.cautions.extend(found);
        self.facts.retain(|fact| fact.name != dropped.name);
        self.facts.push(dropped);
        Ok(())
    }

    /// Mounts the overlay above the filled lower directory, and runs the variant's prepare command.
    fn cover(&mut self, variant: &Variant) -> Result<(), LabError> {
        let Place::Mounted(mounted) = self.place.replace(Place::Gone) else {
            return Err(lost_target());
        };
        let mounted = mounted.covered(&variant.settings.layers)?;
        if let Some(settings) = &mut *self.settings.borrow_mut() {
            let (root, work) = (mounted.root(), mounted.root().join(WORK));
            settings.prepare(variant, (root, &work), (&[], &[]))?;
        }
        self.place.replace(Place::Mounted(Box::new(mounted)));
        Ok(())
    }

    /// Unmounts the filesystem and mounts it again; returns the work directory.
    ///
    /// # Errors
    /// When the filesystem is in use or cannot be mounted again.
    pub(crate) fn remount(&self) -> Result<PathBuf, LabError> {
        let Place::Mounted(mounted) = self.place.replace(Place::Gone) else {
            return Err(lost_target());
        };
        let mounted = mounted.remount_cold()?;
        if let Some(settings) = &mut *self.settings.borrow_mut() {
            settings.mounted()?;
        }
        self.place.replace(Place::Mounted(Box::new(mounted)));
        self.work()
    }

    /// Lets a played disk answer at once, for work that is not measured.
    pub(crate) fn answer_at_once(&self) {
        if let Place::Mounted(mounted) = &*self.place.borrow() {
            mounted.answer_at_once();
        }
    }

    /// Copies the filesystem as it is on its images; it is mounted again.
    ///
    /// # Errors
    /// When the filesystem is in use, or cannot be copied.
    pub(crate) fn imaged(&self) -> Result<FilesystemTemplate, LabError> {
        let Place::Mounted(mounted) = self.place.replace(Place::Gone) else {
            return Err(lost_target());
        };
        let (mounted, template) = mounted.imaged()?;
        if let Some(settings) = &mut *self.settings.borrow_mut() {
            settings.mounted()?;
        }
        self.place.replace(Place::Mounted(Box::new(mounted)));
        Ok(template)
    }

    /// True if the filesystem was made for this cell, so that nothing in it needs to be removed.
    pub(crate) fn is_fresh(&self) -> bool {
        !matches!(self.key.0, DeviceSpec::Directory { .. })
    }
}

/// Waits until a filesystem is quiet and drops the caches; returns the fact about the cache drop,
/// and cautions.
fn settle_and_drop_caches(
    mounted: &MountedVolume,
    conditions: &Conditions,
    stop: &StopFlag,
) -> Result<(Fact, Vec<Caution>), LabError> {
    let limits = SettleLimits {
        pause: Duration::try_from_secs_f64(conditions.settle_seconds).unwrap_or_default(),
        ..SettleLimits::default()
    };
    let mut cautions = Vec::new();
    let settled = settle(mounted.root(), &limits, stop)?;
    if !settled.is_quiet {
        let mebibytes = settled.dirty_bytes as f64 / f64::from(1 << 20);
        let message = format!("{mebibytes:.1} MiB were not yet written back");
        cautions.push(Caution { code: CautionCode::NotQuiet, message });
    }
    let (dropped, caution) = cache_drop_fact(&drop_and_verify(mounted.root())?);
    cautions.extend(caution);
    Ok((dropped, cautions))
}

/// Error of a target that was lost in a failed remount.
fn lost_target() -> LabError {
    let (action, path) = ("cannot find the filesystem of", PathBuf::from(WORK));
    LabError::Io { action, path, source: std::io::ErrorKind::NotFound.into() }
}

fn nodes(device: &LabDevice) -> Vec<PathBuf> {
    device.members().into_iter().map(|member| member.node).collect()
}

pub(crate) fn recipe(variant: &Variant) -> Recipe {
    let second = variant.settings.second_device.clone();
    (variant.device.clone(), second, variant.filesystem.clone(), variant.mkfs.clone())
}

/// Artifact with a packed template; `None` for one that is too large.
fn template_artifact(template: &FilesystemTemplate) -> Option<Artifact> {
    let packed = template.packed().ok().flatten()?;
    Artifact::new(TEMPLATE_ARTIFACT, TEMPLATE_VERSION, &packed).ok()
}

fn key(variant: &Variant) -> Key {
    (variant.device.clone(), is_in_memory(&variant.filesystem), false)
}

/// Key of a second device. A block device is the same as the first or as the second one.
fn key_of_second(second: &SecondDevice) -> Key {
    (second.spec().clone(), false, matches!(second.spec(), DeviceSpec::Loop { .. }))
}

fn second_key(variant: &Variant) -> Option<Key> {
    variant.settings.second_device.as_ref().map(key_of_second)
}

/// Facts about the preparation of the target: variant, mkfs, device size and mount options.
fn facts(
    variant: &Variant,
    record: Option<&FormatRecord>,
    device: Option<&LabDevice>,
) -> Vec<Fact> {
    let mut facts = vec![fact(VARIANT_FACT, variant.name.clone())];
    let settings = variant.settings.facts().into_iter();
    facts.extend(settings.map(|(name, value)| Fact { name, value }));
    facts.extend(facts_of_making(record, device));
    if !variant.mount.is_empty() {
        facts.push(fact("mount.asked", variant.mount.join(",")));
    }
    facts
}

/// Facts about a filesystem made for the trial: the mkfs command, and the size of the devices.
pub(crate) fn facts_of_making(
    record: Option<&FormatRecord>,
    device: Option<&LabDevice>,
) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(record) = record.filter(|record| !record.command.is_empty()) {
        facts.push(fact(MKFS_FACT, record.command.join(" ")));
        facts.push(fact("mkfs.version", record.tool_version.clone().unwrap_or_default()));
        facts.push(fact("mkfs.output", record.output.trim().to_owned()));
    }
    let bytes = device.map(LabDevice::members_of_data).unwrap_or_default();
    let bytes: u64 = bytes.iter().map(|member| member.bytes).sum();
    if bytes > 0 {
        facts.push(fact("variant.device_bytes", bytes.to_string()));
    }
    facts
}

/// Fact of this name.
pub(crate) fn fact(name: &str, value: String) -> Fact {
    Fact { name: name.to_owned(), value }
}

/// Fact about the cache drop before a trial, with a caution if the caches were not dropped.
pub(crate) fn cache_drop_fact(dropped: &CacheDrop) -> (Fact, Option<Caution>) {
    let word = match dropped {
        CacheDrop::Verified(_) => "verified",
        CacheDrop::StillCached(_) => "still cached",
        CacheDrop::Unverified => "unverified",
        CacheDrop::InMemory => "in memory",
        CacheDrop::Refused(_) => "refused",
    };
    (fact("caches.dropped", word.to_owned()), caution_about(dropped))
}

fn caution_about(dropped: &CacheDrop) -> Option<Caution> {
    let message = match dropped {
        CacheDrop::Verified(_) | CacheDrop::Unverified | CacheDrop::InMemory => return None,
        CacheDrop::StillCached(evidence) => format!(
            "of {} pages of a file, {} were still in memory after caches were dropped",
            evidence.before.resident_pages, evidence.after.resident_pages
        ),
        CacheDrop::Refused(error) => {
            format!("caches could not be dropped: {}", std::io::Error::from(error.errno()))
        }
    };
    Some(Caution { code: CautionCode::CachesNotDropped, message })
}
