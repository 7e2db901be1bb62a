//! Variants to compare, each checked against the limits of its filesystem.

use std::ops::Range;
use std::path::PathBuf;

use treering_engine::HANDICAP_PERCENT_MAX;
use treering_lab::filesystems::{MkfsRequest, arguments, find};
use treering_model::filesystems::Filesystem;
use treering_model::{CellRole, DeviceSpec, Variant, VariantSettings};
use treering_sys::{MountOptionError, MountOptions};

use super::device::{PlacedDevice, device, played};
use super::guest::{self, Guest};
pub(super) use super::nearest::suggestion;
use super::quantity::share;
use super::section::{DEVICE, Section, VARIANT, Value};
use super::{Known, words};
use crate::plan::error::{Fault, quoted};

const VARIANTS_MAX: usize = 128;

/// Reads the variants, the baseline first.
pub(super) fn variants(
    top: &Section<'_>,
    shared: (&PlacedDevice, Option<&Guest>),
    known: &Known<'_>,
) -> Result<Vec<Variant>, Fault> {
    let sections = match top.get("variant") {
        Some(value) => value.sections(&VARIANT, VARIANTS_MAX)?,
        None => Vec::new(),
    };
    if sections.is_empty() {
        let hint = "for example: [[variant]] followed by filesystem = \"ext4\"";
        let message = "the plan has no [[variant]]";
        return Err(Fault::at(top.span.clone(), message, "nothing is compared").hint(hint));
    }
    let mut variants: Vec<Variant> = Vec::new();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for section in &sections {
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
        if let Some(value) = section.get("against") {
            variants[place].against = Some(against(&value, place, &variants)?);
        }
    }
    if let Some(value) = top.get("baseline") {
        let name = value.word("the name of a variant")?;
        let Some(place) = variants.iter().position(|variant| variant.name == name) else {
            let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
            let message = format!("no variant is called {}", quoted(name));
            return Err(value.fault(message, "").hint(suggestion(name, &names, "variants")));
        };
        if variants[place].against.is_some() {
            let message = format!("{} is compared with another variant", quoted(name));
            let hint = "leave its `against` out, or choose another baseline";
            return Err(value.fault(message, "so it is not the baseline").hint(hint));
        }
        variants[..=place].rotate_right(1);
    }
    Ok(variants)
}

/// Reads the name of the variant to compare with. It must be defined above, so that no two variants
/// name each other.
fn against(value: &Value<'_>, place: usize, variants: &[Variant]) -> Result<String, Fault> {
    let name = value.word("the name of a variant")?;
    let names: Vec<&str> = variants[..place].iter().map(|variant| variant.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    let (message, hint) = match variants.iter().position(|variant| variant.name == name) {
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
    Err(value.fault(message, "").hint(hint))
}

/// Reads a variant, with the position of the value that names it.
fn variant(
    section: &Section<'_>,
    (shared, guest): (&PlacedDevice, Option<&Guest>),
    known: &Known<'_>,
) -> Result<(Variant, Range<usize>), Fault> {
    let own = section.get("device").map(|value| device(&value.section(&DEVICE)?)).transpose()?;
    let on = own.unwrap_or_else(|| shared.clone());
    let on = &played(on, section.get("disk").as_ref())?;
    let (filesystem, default_name, default_span) = match &on.spec {
        DeviceSpec::Directory { path } => {
            is_left_alone(section, on)?;
            (String::new(), path.to_string_lossy().into_owned(), section.span.clone())
        }
        DeviceSpec::Loop { .. } | DeviceSpec::Block { .. } => {
            let Some(value) = section.get("filesystem") else {
                let message = "the variant has no filesystem";
                let hint = format!(
                    "write filesystem = \"ext4\", or another of: {}; or give it a directory as \
                     device",
                    known.filesystems.join(", ")
                );
                return Err(Fault::at(section.span.clone(), message, "").hint(hint));
            };
            let name = filesystem(&value, known)?;
            (name.to_owned(), name.to_owned(), value.span)
        }
    };
    let (name, span) = match section.get("name") {
        Some(value) => (name(&value)?, value.span),
        None => (default_name, default_span),
    };
    let mkfs = section.get("mkfs").map_or(Ok(Vec::new()), |value| words::of_command(&value))?;
    let image = section.get("image").map(|value| image(&value, section, on)).transpose()?;
    let mount = section.get("mount").map_or(Ok(Vec::new()), |value| words::mount(&value))?;
    let (kernel, guest) = guest::kernel_and_guest(section, guest, known)?;
    let handicap_percent = section.get("handicap").map_or(Ok(0), |value| handicap(&value))?;
    let device = on.spec.clone();
    let variant = Variant {
        name,
        against: None,
        kernel,
        guest,
        device,
        filesystem,
        mkfs,
        image,
        mount,
        handicap_percent,
        settings: VariantSettings::default(),
    };
    if let (Some(_), DeviceSpec::Directory { .. }) = (&variant.guest, &variant.device) {
        let message = "a kernel in a guest cannot work in a directory of this machine";
        return Err(Fault::at(on.span.clone().unwrap_or(section.span.clone()), message, "")
            .hint("give the variant a device: device = { loop = \"4GiB\" }"));
    }
    if let Some(filesystem) = find(&variant.filesystem) {
        suits(filesystem, &variant, on, section)?;
    }
    Ok((variant, span))
}

fn name(value: &Value<'_>) -> Result<String, Fault> {
    let name = value.word("a name")?;
    if name.ends_with(CellRole::Observed.suffix()) {
        let message = format!("{} is the name of an observed trial", quoted(name));
        let hint = "this name is reserved for observing rounds: choose another one";
        return Err(value.fault(message, "").hint(hint));
    }
    if name.ends_with(CellRole::Control.suffix()) {
        let message = format!("{} is the name of a control", quoted(name));
        let hint = "this name is reserved for the second run of the baseline in each round: \
                    choose another one";
        return Err(value.fault(message, "").hint(hint));
    }
    Ok(name.to_owned())
}

/// Reads the name of a saved image; the lab checks later that the image exists.
fn image(value: &Value<'_>, section: &Section<'_>, on: &PlacedDevice) -> Result<String, Fault> {
    let name = value.word("the name of a saved image")?;
    if let Some(mkfs) = section.get("mkfs") {
        let message = "a saved image was made with options of its own";
        let fault = Fault::at(mkfs.key_span, message, "has no meaning here");
        return Err(fault.also(value.span.clone(), "the image").hint("leave `mkfs` out"));
    }
    let is_one_device = match &on.spec {
        DeviceSpec::Loop { count, .. } => *count == 1,
        DeviceSpec::Block { paths } => paths.len() == 1,
        DeviceSpec::Directory { .. } => false,
    };
    if !is_one_device {
        let message = "a saved image is restored to one device";
        let hint = "give the variant one, as large as the image: device = { loop = \"4GiB\" }";
        return Err(value.fault(message, "").hint(hint));
    }
    Ok(name.to_owned())
}

fn handicap(value: &Value<'_>) -> Result<u32, Fault> {
    let percent = share(value, 0.0, f64::from(HANDICAP_PERCENT_MAX) / 100.0)? * 100.0;
    (0..=HANDICAP_PERCENT_MAX).find(|whole| (percent - f64::from(*whole)).abs() < 1e-9).ok_or_else(
        || {
            let message = "a handicap is a whole number of percent";
            value.fault(message, "").hint("write for example handicap = \"5%\"")
        },
    )
}

fn filesystem<'d>(value: &Value<'d>, known: &Known<'_>) -> Result<&'d str, Fault> {
    let name = value.word("the name of a filesystem")?;
    if known.filesystems.contains(&name) {
        return Ok(name);
    }
    let message = format!("unknown filesystem {}", quoted(name));
    Err(value.fault(message, "").hint(suggestion(name, known.filesystems, "filesystems")))
}

/// Refuses mkfs, mount and image options for a directory, which is used as it is.
fn is_left_alone(section: &Section<'_>, on: &PlacedDevice) -> Result<(), Fault> {
    let Some(stray) = section.any_of(&["filesystem", "mkfs", "image", "mount"]) else {
        return Ok(());
    };
    let message = format!("`{}` is not possible on a directory", stray.key);
    let mut fault = Fault::at(stray.key_span, message, "has no meaning here");
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
    section: &Section<'_>,
) -> Result<(), Fault> {
    let name = filesystem.name;
    let place = || on.span.clone().unwrap_or(section.span.clone());
    let (devices, bytes) = match &variant.device {
        DeviceSpec::Loop { count, bytes, .. } => (usize::from(*count), *bytes),
        DeviceSpec::Block { paths } => (paths.len(), u64::MAX),
        DeviceSpec::Directory { .. } => return Ok(()),
    };
    if filesystem.mkfs().is_none() && matches!(variant.device, DeviceSpec::Block { .. }) {
        let message = format!("{name} is in memory and needs no block device");
        return Err(Fault::at(place(), message, "").hint("leave the device out"));
    }
    if filesystem.mkfs().is_none()
        && matches!(variant.device, DeviceSpec::Loop { disk: Some(_), .. })
    {
        let message = format!("{name} is in memory: no disk is played for it");
        let hint = "give this variant a device of its own: device = { loop = \"4GiB\" }";
        return Err(Fault::at(place(), message, "").hint(hint));
    }
    if devices > filesystem.devices_max() {
        let message = format!("{name} is made on a single device, not on {devices}");
        let hint = "give this variant a device of its own: device = { loop = \"4GiB\" }";
        return Err(Fault::at(place(), message, "").hint(hint));
    }
    if bytes < filesystem.bytes_min {
        let message = format!("{name} cannot be made on {bytes} bytes");
        let least = filesystem.bytes_min.div_ceil(1 << 20);
        return Err(
            Fault::at(place(), message, "too small").hint(format!("write {least}MiB or more"))
        );
    }
    let nodes: Vec<PathBuf> = vec![PathBuf::from("/dev/null"); devices];
    let request = MkfsRequest { devices: &nodes, label: "treering", options: &variant.mkfs };
    if let (Some(value), Err(refusal)) = (section.get("mkfs"), arguments(filesystem, &request)) {
        let message = format!("{name} cannot be made with {}", quoted(&refusal.option));
        return Err(value.element_with(&refusal.option).fault(message, "").hint(refusal.why));
    }
    if let Some(value) = section.get("mount") {
        match MountOptions::parse(&variant.mount) {
            Err(error) => return Err(refused_by_the_kernel(&value, &error)),
            Ok(options) if options.is_read_only() => {
                let message = "a filesystem that is mounted read-only cannot be measured";
                return Err(value.fault(message, "").hint("leave `ro` out"));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

fn refused_by_the_kernel(value: &Value<'_>, error: &MountOptionError) -> Fault {
    let place = match error {
        MountOptionError::Control(option) | MountOptionError::NotForTheKernel(option) => {
            value.element_with(option)
        }
        MountOptionError::TooLong => value.clone(),
    };
    place.fault(format!("`mount`: {error}"), "")
}
