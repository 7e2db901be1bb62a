//! Layers of the device mapper: the tables of dm-crypt, dm-linear, dm-thin and dm-snapshot, the
//! same as those of cryptsetup and LVM.

use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::FileExt;

use treering_model::{CryptLayer, Layer, SnapshotLayer, ThinLayer};
use treering_sys::{DeviceMapper, MapperTarget};

use super::mapping::{MappingStack, SECTOR, message};
use crate::device::{AcquiredStorage, LabDevice, MemberDevice};
use crate::error::unfit;
use crate::tools::ToolPath;
use crate::{DeviceError, Lab, LabError};

/// Divisor of the devices' size for the metadata of a thin pool, and its minimum in sectors.
const METADATA_SHARE: u64 = 64;
const METADATA_SECTORS_MIN: u64 = 4 << 11;
/// Size in bytes of the first metadata block; the kernel takes metadata as empty if it is zero.
const EMPTY_BYTES: usize = 4096;

/// Target, module and kernel option of a layer of the device mapper; `None` for another layer.
pub(super) const fn driver(layer: &Layer) -> Option<(&'static str, &'static str, &'static str)> {
    match layer {
        Layer::Crypt(_) => Some(("crypt", "dm_crypt", "CONFIG_DM_CRYPT")),
        Layer::Linear => Some(("linear", "dm_mod", "CONFIG_BLK_DEV_DM")),
        Layer::Thin(_) => Some(("thin-pool", "dm_thin_pool", "CONFIG_DM_THIN_PROVISIONING")),
        Layer::Snapshot(_) => Some(("snapshot", "dm_snapshot", "CONFIG_DM_SNAPSHOT")),
        Layer::Loop(_) | Layer::Md(_) | Layer::Bcache(_) | Layer::Overlay(_) => None,
    }
}

/// Checks that the kernel has the target of a layer; loads its module if there is one.
pub(super) fn check(layer: &Layer, tools: &ToolPath) -> Result<(), LabError> {
    let Some((target, module, option)) = driver(layer) else { return Ok(()) };
    let has_it = || DeviceMapper::open().and_then(|mapper| mapper.has_target(target)) == Ok(true);
    if !has_it() {
        crate::filesystems::load_module(module, tools);
    }
    if has_it() {
        return Ok(());
    }
    let why = format!("the running kernel has no target `{target}` of the device mapper");
    let how = format!(
        "boot a kernel built with {option}, or install the module {module}; or name the package of \
         such a kernel as `kernel` of the variant, which is then booted in a guest"
    );
    Err(DeviceError::Missing { filesystem: layer.name(), why, how }.into())
}

/// Builds a layer of the device mapper on a device.
pub(super) fn mapped(mut device: LabDevice, layer: &Layer) -> Result<LabDevice, LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(DeviceError::NotRoot { what: "making a mapped device" }.into());
    }
    device.prepare()?;
    let lab = device.lab.clone();
    let members = device.members();
    let mut stack = MappingStack::default();
    match layer {
        Layer::Crypt(layer) => {
            for member in &members {
                stack.push(&lab, &[crypt(layer, member)])?;
            }
        }
        Layer::Linear => {
            stack.push(&lab, &linear(&members, 0, sectors(&members)))?;
        }
        Layer::Thin(layer) => thin(&lab, &members, layer, &mut stack)?,
        Layer::Snapshot(layer) => snapshot(&lab, &members, layer, &mut stack)?,
        Layer::Loop(_) | Layer::Md(_) | Layer::Bcache(_) | Layer::Overlay(_) => {
            return Ok(device);
        }
    }
    // dm-crypt has a top device for each member; all other layers have one, which is made last.
    stack.tops = if matches!(layer, Layer::Crypt(_)) { members.len() } else { 1 };
    let storage = AcquiredStorage::Mapped(Box::new(stack));
    Ok(device.below(storage))
}

fn target(kind: &'static str, length_sectors: u64, parameters: String) -> MapperTarget {
    MapperTarget { start_sectors: 0, length_sectors, kind, parameters }
}

fn sectors(members: &[MemberDevice]) -> u64 {
    members.iter().map(|member| member.bytes / SECTOR).sum()
}

/// Table of dm-crypt. The key is not secret: it only causes the work of encryption.
fn crypt(layer: &CryptLayer, member: &MemberDevice) -> MapperTarget {
    let CryptLayer { cipher, key_bits, sector_bytes, flags } = layer;
    let mut key = String::new();
    for byte in 0..key_bits / 8 {
        // Writing to a string does not fail.
        let _never = write!(key, "{:02x}", (byte * 7 + 1) & 0xff);
    }
    let mut options = flags.clone();
    if *sector_bytes != 512 {
        options.push(format!("sector_size:{sector_bytes}"));
    }
    let mut parameters = format!("{cipher} {key} 0 {} 0", member.number);
    if !options.is_empty() {
        let _never = write!(parameters, " {} {}", options.len(), options.join(" "));
    }
    let unit = u64::from(*sector_bytes) / SECTOR;
    target("crypt", member.bytes / SECTOR / unit * unit, parameters)
}

/// Table of a sector range of the concatenated devices.
pub(super) fn linear(members: &[MemberDevice], mut from: u64, length: u64) -> Vec<MapperTarget> {
    let mut table = Vec::new();
    let mut done = 0;
    for member in members {
        let member_sectors = member.bytes / SECTOR;
        if from >= member_sectors {
            from -= member_sectors;
            continue;
        }
        let length_sectors = (member_sectors - from).min(length - done);
        if length_sectors > 0 {
            let parameters = format!("{} {from}", member.number);
            let start_sectors = done;
            table.push(MapperTarget { start_sectors, length_sectors, kind: "linear", parameters });
        }
        done += length_sectors;
        from = 0;
    }
    table
}

/// Makes a pool, with metadata at the beginning of the devices, and a thin volume as large as its
/// data.
fn thin(
    lab: &Lab,
    members: &[MemberDevice],
    layer: &ThinLayer,
    stack: &mut MappingStack,
) -> Result<(), LabError> {
    let block = layer.block_bytes / SECTOR;
    let total = sectors(members);
    let metadata = (total / METADATA_SHARE).max(METADATA_SECTORS_MIN).next_multiple_of(8);
    let data = total.saturating_sub(metadata) / block * block;
    if data == 0 {
        return Err(unfit("the devices are too small for a thin pool".to_owned()));
    }
    let first = stack.push(lab, &linear(members, 0, metadata))?.member.clone();
    empty(&first)?;
    let second = stack.push(lab, &linear(members, metadata, data))?.member.number;
    let pool = format!("{} {second} {block} 0", first.number);
    let pool = stack.push(lab, &[target("thin-pool", data, pool)])?;
    message(pool, "create_thin 0")?;
    let volume = format!("{} 0", pool.member.number);
    stack.push(lab, &[target("thin", data, volume)]).map(drop)
}

/// Makes a volume on the first half of the devices, with a snapshot on the second half.
fn snapshot(
    lab: &Lab,
    members: &[MemberDevice],
    layer: &SnapshotLayer,
    stack: &mut MappingStack,
) -> Result<(), LabError> {
    let chunk = layer.chunk_bytes / SECTOR;
    let half = sectors(members) / 2 / chunk * chunk;
    if half == 0 {
        return Err(unfit("the devices are too small for a volume and its snapshot".to_owned()));
    }
    let origin = stack.push(lab, &linear(members, 0, half))?.member.number;
    let store = stack.push(lab, &linear(members, half, half))?.member.clone();
    empty(&store)?;
    let store = store.number;
    stack.push(lab, &[target("snapshot", half, format!("{origin} {store} P {chunk}"))])?;
    stack.push(lab, &[target("snapshot-origin", half, origin.to_string())]).map(drop)
}

/// Overwrites the beginning of a device with zeros, so that the kernel takes its metadata as empty.
fn empty(member: &MemberDevice) -> Result<(), LabError> {
    let opened = File::options().write(true).open(&member.node);
    let emptied = opened.and_then(|node| {
        node.write_all_at(&[0; EMPTY_BYTES], 0)?;
        node.sync_all()
    });
    emptied.map_err(LabError::io("cannot empty", &member.node))
}

#[cfg(test)]
mod tests {
    use super::{crypt, linear};
    use crate::device::MemberDevice;
    use crate::machine::DeviceNumber;
    use std::path::PathBuf;
    use treering_model::CryptLayer;

    fn member(minor: u32, sectors: u64) -> MemberDevice {
        let node = PathBuf::from(format!("/dev/x{minor}"));
        let number = DeviceNumber { major: 7, minor };
        MemberDevice { asked_path: node.clone(), node, number, bytes: sectors * 512 }
    }

    #[test]
    fn parts_of_several_devices_cover_a_volume_without_gaps() {
        let members = [member(0, 100), member(1, 50), member(2, 50)];
        let table = linear(&members, 80, 100);
        let parts: Vec<_> = table
            .iter()
            .map(|it| (it.start_sectors, it.length_sectors, it.parameters.as_str()))
            .collect();
        assert_eq!(parts, [(0, 20, "7:0 80"), (20, 50, "7:1 0"), (70, 30, "7:2 0")]);
    }

    #[test]
    fn a_table_of_dm_crypt_has_its_key_and_options() {
        let plain = CryptLayer { key_bits: 16, ..CryptLayer::default() };
        assert_eq!(crypt(&plain, &member(3, 9)).parameters, "aes-xts-plain64 0108 0 7:3 0");
        let flags = vec!["no_read_workqueue".to_owned()];
        let large = CryptLayer { sector_bytes: 4096, flags, ..plain };
        let table = crypt(&large, &member(3, 9));
        assert_eq!(table.length_sectors, 8);
        let options = " 2 no_read_workqueue sector_size:4096";
        assert!(table.parameters.ends_with(options), "{}", table.parameters);
    }
}
