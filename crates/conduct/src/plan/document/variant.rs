//! Variants to compare, each checked against the limits of its filesystem.

pub(super) mod aging;
pub(super) mod layers;
mod second;

use std::ops::Range;
use std::path::PathBuf;

use treering_engine::HANDICAP_PERCENT_MAX;
use treering_lab::filesystems::{MkfsRequest, arguments, find};
use treering_model::filesystems::Filesystem;
use treering_model::nearest::suggestion;
use treering_model::{CellRole, DeviceSpec, GuestSpec, SecondDevice, Variant, VariantSettings};
use treering_sys::{MountOptionError, MountOptions};

use super::device::{PlacedDevice, device, played};
use super::format::{PlanTable, VariantTable};
use super::settings::settings;
use super::tree::{Entry, Optional, Placed};
use super::values::{Name, OneOrMany, VariantName};
use super::{Known, changed_job, guest, words};
use crate::plan::error::{Fault, quoted};
use crate::plan::write::size;

/// Variants of a plan, the baseline first.
pub(super) fn variants(
    top: &PlanTable,
    end: &Range<usize>,
    shared: (&PlacedDevice, Option<&GuestSpec>),
    known: &Known<'_>,
) -> Result<Vec<Variant>, Fault> {
    let sections = top.variant.as_ref().map_or(&[][..], |sections| &sections.0);
    if sections.is_empty() {
        let hint = "for example: [[variant]] followed by filesystem = \"ext4\"";
        let message = "the plan has no [[variant]]";
        return Err(Fault::at(end.clone(), message, "nothing is compared").hint(hint));
    }
    let mut variants: Vec<Variant> = Vec::new();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for section in sections {
        let (variant, span) = variant(section, shared, known)?;
        if let Some(first) = variants.iter().position(|other| other.name == variant.name) {
            let message = format!("two variants are called {}", quoted(&variant.name));
            return Err(Fault::at(span, message, "the second")
                .also(spans[first].clone(), "the first")
                .hint("give each a `name` of its own"));
        }
        variants.push(variant);
        spans.push(span);
    }
    for (place, section) in sections.iter().enumerate() {
        if let Some(name) = &section.against {
            variants[place].against = Some(against(name, place, &variants)?);
        }
    }
    if let Some(name) = &top.baseline {
        let Some(place) = variants.iter().position(|variant| variant.name == name.text()) else {
            let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
            let message = format!("no variant is called {}", quoted(name));
            return Err(name.fault(message, "").hint(suggestion(name, &names, "variants")));
        };
        if variants[place].against.is_some() {
            let message = format!("{} is compared with another variant", quoted(name));
            let hint = "leave its `against` out, or choose another baseline";
            return Err(name.fault(message, "so it is not the baseline").hint(hint));
        }
        variants[..=place].rotate_right(1);
    }
    Ok(variants)
}

/// Name of the variant to compare with. The variant must be defined above, so that no two variants
/// name each other.
fn against(name: &Entry<VariantName>, place: usize, variants: &[Variant]) -> Result<String, Fault> {
    let names: Vec<&str> = variants[..place].iter().map(|variant| variant.name.as_str()).collect();
    if names.contains(&name.text()) {
        return Ok(name.to_string());
    }
    let (message, hint) = match variants.iter().position(|variant| variant.name == name.text()) {
        Some(itself) if itself == place => (
            "a variant cannot be compared with itself".to_owned(),
            "`control = true` runs the baseline twice".to_owned(),
        ),
        Some(_) => (
            format!("the variant {} stands further below", quoted(name)),
            "put it above the variants that are compared with it".to_owned(),
        ),
        None => (
            format!("no variant above is called {}", quoted(name)),
            suggestion(name, &names, "variants"),
        ),
    };
    Err(name.fault(message, "").hint(hint))
}

/// Variant of a section, with the position of the value that names it.
pub(super) fn variant(
    section: &Placed<VariantTable>,
    (shared, guest): (&PlacedDevice, Option<&GuestSpec>),
    known: &Known<'_>,
) -> Result<(Variant, Range<usize>), Fault> {
    let own = device(section.device.as_ref())?;
    let on = &played(own.unwrap_or_else(|| shared.clone()), section.disk.as_ref())?;
    let (filesystem, default_name, default_span) = match &on.spec {
        DeviceSpec::Directory { path } => {
            refuse_filesystem_keys(section, on)?;
            (String::new(), path.to_string_lossy().into_owned(), &section.span)
        }
        DeviceSpec::Loop { .. } | DeviceSpec::Block { .. } => {
            let (name, span) = filesystem(section, known)?;
            (name.to_owned(), name.to_owned(), span)
        }
    };
    let (name, span) = match &section.name {
        Some(name) => {
            refuse_reserved_name(name)?;
            (name.to_string(), &name.span)
        }
        None => (default_name, default_span),
    };
    let mkfs = section.mkfs.as_ref().map_or(Ok(Vec::new()), words::of_command)?;
    let image = image(section, on)?;
    let mount = section.mount.as_ref().map_or(Ok(Vec::new()), words::mount)?;
    let (kernel, guest) = guest::kernel_and_guest(section, guest, known)?;
    let handicap_percent = handicap(section)?;
    let device = on.spec.clone();
    let options = changed_job::options(section.options.as_ref());
    let second_device = second::second_device(section, &device)?;
    let added = second_device.as_ref().map_or(0, SecondDevice::members);
    let layers = layers::layers(section, (&device, device.count() + added))?;
    let settings = settings(section, &device, guest.as_ref())?;
    let settings = VariantSettings { options, layers, second_device, ..settings };
    let variant = Variant {
        name,
        against: None,
        kernel,
        guest,
        device,
        filesystem,
        mkfs,
        image,
        age: aging::age(section)?,
        mount,
        handicap_percent,
        settings,
    };
    if let (Some(_), DeviceSpec::Directory { .. }) = (&variant.guest, &variant.device) {
        let message = "a kernel in a guest cannot work in a directory of this machine";
        return Err(Fault::at(on.place_or(&section.span), message, "")
            .hint("give the variant a device: device = { loop = \"4GiB\" }"));
    }
    if let Some(filesystem) = find(&variant.filesystem) {
        suits(filesystem, &variant, on, section)?;
    }
    Ok((variant, span.clone()))
}

/// Refuses names that are reserved for control and observing trials.
fn refuse_reserved_name(name: &Placed<Name>) -> Result<(), Fault> {
    let (what, hint) = if name.ends_with(CellRole::Observed.suffix()) {
        ("an observed trial", "this name is reserved for observing rounds: choose another one")
    } else if name.ends_with(CellRole::Control.suffix()) {
        (
            "a control",
            "this name is reserved for the second run of the baseline in each round: choose \
             another one",
        )
    } else {
        return Ok(());
    };
    Err(name.fault(format!("{} is the name of {what}", quoted(name)), "").hint(hint))
}

/// Name of a saved image; the lab checks later that the image exists.
fn image(section: &VariantTable, on: &PlacedDevice) -> Result<Option<String>, Fault> {
    let Some(name) = &section.image else { return Ok(None) };
    if let Some(mkfs) = &section.mkfs {
        let message = "a saved image was made with options of its own";
        let fault = mkfs.key_fault(message, "has no meaning here");
        return Err(fault.also(name.span.clone(), "the image").hint("leave `mkfs` out"));
    }
    let is_one_device = match &on.spec {
        DeviceSpec::Loop { count, .. } => *count == 1,
        DeviceSpec::Block { paths } => paths.len() == 1,
        DeviceSpec::Directory { .. } => false,
    };
    if !is_one_device {
        let message = "a saved image is restored to one device";
        let hint = "give the variant one, as large as the image: device = { loop = \"4GiB\" }";
        return Err(name.fault(message, "").hint(hint));
    }
    Ok(Some(name.to_string()))
}

fn handicap(section: &VariantTable) -> Result<u32, Fault> {
    let Some(value) = &section.handicap else { return Ok(0) };
    let percent = value.0 * 100.0;
    (0..=HANDICAP_PERCENT_MAX).find(|whole| (percent - f64::from(*whole)).abs() < 1e-9).ok_or_else(
        || {
            let message = "a handicap is a whole number of percent";
            value.fault(message, "").hint("write for example handicap = \"5%\"")
        },
    )
}

/// Filesystem of a variant, with the position of its name.
fn filesystem<'s>(
    section: &'s Placed<VariantTable>,
    known: &Known<'_>,
) -> Result<(&'s str, &'s Range<usize>), Fault> {
    let Some(name) = &section.filesystem else {
        let message = "the variant has no filesystem";
        let hint = format!(
            "write filesystem = \"ext4\", or another of: {}; or give it a directory as device",
            known.filesystems.join(", ")
        );
        return Err(section.fault(message, "").hint(hint));
    };
    if known.filesystems.contains(&name.text()) {
        return Ok((name, &name.span));
    }
    let message = format!("unknown filesystem {}", quoted(name));
    Err(name.fault(message, "").hint(suggestion(name, known.filesystems, "filesystems")))
}

/// Refuses mkfs, mount and image options for a directory, which is used as it is.
fn refuse_filesystem_keys(section: &VariantTable, on: &PlacedDevice) -> Result<(), Fault> {
    let keys =
        [section.filesystem.key(), section.mkfs.key(), section.image.key(), section.mount.key()];
    let Some(stray) = keys.into_iter().flatten().next() else { return Ok(()) };
    let message = format!("`{}` is not possible on a directory", *stray);
    let mut fault = stray.fault(message, "has no meaning here");
    if let Some(span) = &on.span {
        fault = fault.also(span.clone(), "the device is a directory, which is used as it is");
    }
    let hint = "leave it out, or give the variant a device: device = { loop = \"4GiB\" }";
    Err(fault.hint(hint))
}

/// Checks in advance everything that the lab would refuse hours later.
fn suits(
    filesystem: &Filesystem,
    variant: &Variant,
    on: &PlacedDevice,
    section: &Placed<VariantTable>,
) -> Result<(), Fault> {
    let name = filesystem.name;
    let place = || on.place_or(&section.span);
    let bytes = match &variant.device {
        DeviceSpec::Loop { bytes, .. } => *bytes,
        DeviceSpec::Block { .. } => u64::MAX,
        DeviceSpec::Directory { .. } => return Ok(()),
    };
    let layers = &variant.settings.layers;
    let devices = layers.iter().fold(variant.member_count(), |n, layer| layer.devices_above(n));
    if filesystem.mkfs().is_none() && matches!(variant.device, DeviceSpec::Block { .. }) {
        let message = format!("{name} is in memory and needs no block device");
        return Err(Fault::at(place(), message, "").hint("leave the device out"));
    }
    if filesystem.mkfs().is_none() && variant.device.is_played() {
        let message = format!("{name} is in memory: no disk is played for it");
        let hint = "give this variant a device of its own: device = { loop = \"4GiB\" }";
        return Err(Fault::at(place(), message, "").hint(hint));
    }
    second::suits(filesystem, section)?;
    if devices > filesystem.devices_max() {
        let message = format!("{name} is made on a single device, not on {devices}");
        if let Some(second) = &section.second_device {
            let hint = "leave it out, or write `journal` for the device of a journal";
            return Err(second.key_fault(message, "").hint(hint));
        }
        let hint = "give this variant a device of its own: device = { loop = \"4GiB\" }";
        return Err(Fault::at(place(), message, "").hint(hint));
    }
    if bytes < filesystem.bytes_min {
        let message = format!("{name} cannot be made on {}", size(bytes));
        let least = filesystem.bytes_min.div_ceil(1 << 20);
        return Err(
            Fault::at(place(), message, "too small").hint(format!("write {least}MiB or more"))
        );
    }
    let nodes: Vec<PathBuf> = vec![PathBuf::from("/dev/null"); devices];
    let request = MkfsRequest { devices: &nodes, label: "treering", options: &variant.mkfs };
    if let (Some(mkfs), Err(refusal)) = (&section.mkfs, arguments(filesystem, &request)) {
        let message = format!("{name} cannot be made with {}", quoted(&refusal.option));
        let place = element_span(mkfs, &refusal.option);
        return Err(Fault::at(place, message, "").hint(refusal.why));
    }
    if let Some(mount) = &section.mount {
        match MountOptions::parse(&variant.mount) {
            Err(error) => return Err(refused_by_the_kernel(mount, &error)),
            Ok(options) if options.is_read_only() => {
                let message = "a filesystem that is mounted read-only cannot be measured";
                return Err(mount.fault(message, "").hint("leave `ro` out"));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn refused_by_the_kernel(mount: &Placed<OneOrMany<String>>, error: &MountOptionError) -> Fault {
    let place = match error {
        MountOptionError::Control(option) | MountOptionError::NotForTheKernel(option) => {
            element_span(mount, option)
        }
        MountOptionError::TooLong => mount.span.clone(),
    };
    Fault::at(place, format!("`mount`: {error}"), "")
}

/// Position of the element that contains this text; of the whole value if there is none.
fn element_span(options: &Placed<OneOrMany<String>>, text: &str) -> Range<usize> {
    let elements = options.elements(&options.span);
    let element = elements.into_iter().find(|(_, element)| element.contains(text));
    element.map_or(&options.span, |(span, _)| span).clone()
}
