//! Second device of a variant, of another kind than the first: that of a journal, or a further one
//! of the filesystem or of its lowest layer.

use treering_model::filesystems::Filesystem;
use treering_model::{DeviceSpec, SecondDevice};

use crate::plan::document::device::device;
use crate::plan::document::format::VariantTable;
use crate::plan::document::tree::Optional;
use crate::plan::error::Fault;

/// Second device of a variant whose first one is `first`.
pub(in crate::plan::document) fn second_device(
    section: &VariantTable,
    first: &DeviceSpec,
) -> Result<Option<SecondDevice>, Fault> {
    let (key, second) = match (&section.journal, &section.second_device) {
        (Some(_), Some(key)) => {
            let message = "a variant has one second device: that of its journal, or another";
            return Err(key.key_fault(message, "").hint("leave `journal` or this out"));
        }
        (Some(key), None) => (key, SecondDevice::Journal as fn(DeviceSpec) -> SecondDevice),
        (None, Some(key)) => (key, SecondDevice::Member as fn(DeviceSpec) -> SecondDevice),
        (None, None) => return Ok(None),
    };
    let name = &key.key;
    if let DeviceSpec::Directory { .. } = first {
        let message = format!("`{name}` stands beside a device, and the variant is a directory");
        return Err(key.key_fault(message, "").hint("give the variant a device"));
    }
    let starts = [section.image.key(), section.age.key()];
    if let Some(start) = starts.into_iter().flatten().next() {
        let message = format!("`{}` is of one device, and `{name}` is a second", *start);
        return Err(key.key_fault(message, "").also(start.span, "the other"));
    }
    let Some(on) = device(Some(key))? else { return Ok(None) };
    let hint = "write for example { loop = \"1GiB\" }, or { block = \"/dev/sdc1\" }";
    if let DeviceSpec::Directory { .. } = &on.spec {
        let message = format!("`{name}` is a directory");
        return Err(Fault::at(on.place_or(&key.span), message, "").hint(hint));
    }
    if section.journal.is_some() && on.spec.count() != 1 {
        let message = format!("a journal is on one device, not on {}", on.spec.count());
        return Err(Fault::at(on.place_or(&key.span), message, "").hint(hint));
    }
    if let (DeviceSpec::Block { paths: first }, DeviceSpec::Block { paths }) = (first, &on.spec)
        && let Some(same) = paths.iter().find(|path| first.contains(path))
    {
        let message = format!("{} is the variant's first device, too", same.display());
        return Err(Fault::at(on.place_or(&key.span), message, ""));
    }
    Ok(Some(second(on.spec)))
}

/// Refuses the device of a journal for a filesystem that keeps none on another device.
pub(in crate::plan::document) fn suits(
    filesystem: &Filesystem,
    section: &VariantTable,
) -> Result<(), Fault> {
    let Some(journal) = section.journal.as_ref().filter(|_| filesystem.outer_journal.is_none())
    else {
        return Ok(());
    };
    let message = format!("{} has no journal on another device", filesystem.name);
    let hint = "ext3, ext4 and xfs have; `second-device` adds a device to btrfs or below bcache";
    Err(journal.key_fault(message, "").hint(hint))
}
