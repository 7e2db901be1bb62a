//! Saves a mounted filesystem as an image: unmounts and checks it, measures the layout, copies the
//! blocks in use, and mounts it again with the same options, even after an error.

use std::fs::File;
use std::io::{BufWriter, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_model::ImageRecord;
use treering_model::filesystems::{Filesystem, by_name};
use treering_sys::{
    DeviceOpenMode, Errno, Mount, MountTable, SpaceRecord, StopFlag, device_bytes, open_device,
    open_top, space_map,
};

use super::check;
use super::content::ContentPacker;
use super::library::{ImageLibrary, NewImage};
use crate::error::unfit;
use crate::machine::block_number;
use crate::master::PIECE_BYTES;
use crate::remounting::{refuse_parts, refuse_used};
use crate::unmounted::{TemporaryUnmount, options_in_force};
use crate::view::ReadOnlyView;
use crate::{DeviceError, Lab, LabError};

/// Longest wait for programs that open a device right after its unmount.
const OPENERS_WAIT_MAX: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(50);

/// A mounted filesystem that can be saved: it is on one device, and mounted once and as a whole.
#[derive(Debug)]
pub struct AgedTarget {
    lab: Lab,
    filesystem: &'static Filesystem,
    mount: Mount,
    node: PathBuf,
    bytes: u64,
}

impl AgedTarget {
    /// Examines the filesystem of a directory, without any change.
    ///
    /// # Errors
    /// When the filesystem cannot be unmounted, checked or mounted again, or holds the library of
    /// images.
    pub fn examine(directory: &Path, lab: &Lab) -> Result<Self, LabError> {
        if !rustix::process::geteuid().is_root() {
            return Err(DeviceError::NotRoot { what: "saving an image" }.into());
        }
        let opened = open_top(directory);
        let opened = opened.map_err(|e| LabError::io("cannot open", directory)(e.into()))?;
        let table = MountTable::read();
        let table = table.map_err(LabError::io("cannot read", "/proc/self/mountinfo"))?;
        let none = || unfit(format!("{} is on no known mount", directory.display()));
        let mount = table.mount_of(&opened).cloned().ok_or_else(none)?;
        let point = mount.point.display();
        let filesystem = by_name(&mount.fs_type).filter(|known| known.mkfs().is_some());
        let filesystem = filesystem.ok_or_else(|| {
            unfit(format!("{} at {point} cannot be saved as an image", mount.fs_type))
        })?;
        check::require_checker(filesystem, lab)?;
        let node = PathBuf::from(&mount.source);
        let number = block_number(&node);
        let number = number.ok_or_else(|| unfit(format!("{point} is not on a block device")))?;
        let is_same = |other: &Mount| {
            other.device == mount.device || block_number(Path::new(&other.source)) == Some(number)
        };
        let others = table.mounts.iter().filter(|other| other.id != mount.id && is_same(other));
        if let Some(other) = others.map(|other| other.point.display()).next() {
            return Err(unfit(format!("{} is mounted at {point} and at {other}", node.display())));
        }
        refuse_parts(&mount, number)?;
        refuse_places(&mount, lab.library(), &table)?;
        let device = open_device(&node, DeviceOpenMode::Look);
        let bytes = device.and_then(device_bytes);
        let bytes = bytes.map_err(|errno| LabError::io("cannot open", &node)(errno.into()))?;
        Ok(Self { lab: lab.clone(), filesystem, mount, node, bytes })
    }

    /// Mount point of the filesystem.
    pub fn point(&self) -> &Path {
        &self.mount.point
    }

    /// Unmounts the filesystem, checks and copies it, and mounts it again. `record` has the name,
    /// the recipe and the time.
    ///
    /// # Errors
    /// When the filesystem is in use, has errors, or cannot be copied; nothing is then saved. When
    /// it cannot be mounted again; it then stays in the register, even if the image was saved.
    pub fn save(
        &self,
        image: NewImage,
        record: ImageRecord,
        stop: &StopFlag,
    ) -> Result<(), LabError> {
        let advice = format!(
            " for saving: leave it in every shell, then `treering image save {} {}`",
            record.name,
            self.mount.point.display()
        );
        let lab = (&*self.lab.register, &self.lab.machine);
        let unmounted = TemporaryUnmount::begin(&self.mount, lab, &advice)?;
        let saved = self.copy(image, record, stop);
        let mounted = unmounted.end();
        saved?;
        mounted
    }

    /// Effective mount and filesystem options.
    pub fn options(&self) -> String {
        options_in_force(&self.mount.options, &self.mount.super_options)
    }

    fn copy(&self, image: NewImage, record: ImageRecord, stop: &StopFlag) -> Result<(), LabError> {
        // The checker and the private mounts run first, since the exclusive open below would block
        // them.
        check::run_checker(&self.node, self.filesystem, &self.lab)?;
        let layout = check::layout(&self.node)?;
        let free = free_ranges(&self.node)?;
        let mut device = open_when_free(&self.node)?;
        let file = image.content()?;
        let failed = || LabError::io("cannot write the image of", &self.node);
        let packer =
            ContentPacker::begin(BufWriter::with_capacity(1 << 20, &file)).map_err(failed())?;
        let packed = self.pack(packer, &mut device, &free, stop)?;
        let (out, digest) = packed.finish().map_err(failed())?;
        out.into_inner().map_err(|error| failed()(error.into_error()))?;
        let record = ImageRecord {
            filesystem: self.filesystem.name.to_owned(),
            device_bytes: self.bytes,
            data_bytes: digest.data_bytes,
            fingerprint: digest.fingerprint,
            layout,
            ..record
        };
        image.finish(record, &file)
    }

    /// Reads the whole device once, and packs the blocks outside of the ranges in `free`.
    fn pack<'f>(
        &self,
        mut packer: ContentPacker<BufWriter<&'f File>>,
        device: &mut File,
        free: &[(u64, u64)],
        stop: &StopFlag,
    ) -> Result<ContentPacker<BufWriter<&'f File>>, LabError> {
        let (mut piece, mut place, mut next) = (vec![0; PIECE_BYTES], 0, 0);
        while place < self.bytes {
            if stop.is_raised() {
                return Err(unfit("interrupted: nothing is saved".to_owned()));
            }
            let left = usize::try_from(self.bytes - place).unwrap_or(PIECE_BYTES);
            let piece = &mut piece[..left.min(PIECE_BYTES)];
            device.read_exact(piece).map_err(LabError::io("cannot read", &self.node))?;
            let behind = place + piece.len() as u64;
            while let Some(&(begin, end)) = free.get(next).filter(|(begin, _)| *begin < behind) {
                let within =
                    |at: u64| usize::try_from(at.clamp(place, behind) - place).unwrap_or(0);
                piece[within(begin)..within(end).max(within(begin))].fill(0);
                if end > behind {
                    break;
                }
                next += 1;
            }
            packer.add(place, piece).map_err(LabError::io("cannot save", &self.node))?;
            place = behind;
        }
        Ok(packer)
    }
}

/// Refuses a mount that this process needs: the library of images or the current directory is on
/// it.
fn refuse_places(
    mount: &Mount,
    library: &ImageLibrary,
    table: &MountTable,
) -> Result<(), LabError> {
    let point = &mount.point;
    let shown = point.display();
    refuse_used(mount, table)?;
    let images = library.directory();
    let above = images.ancestors().find_map(|above| open_top(above).ok());
    if above.is_some_and(|above| table.mount_of(&above).is_some_and(|other| other.id == mount.id)) {
        let images = images.display();
        return Err(unfit(format!("images are saved in {images}, which is on {shown} itself")));
    }
    Ok(())
}

/// Free byte ranges of a device in order, as reported by the filesystem (`FS_IOC_GETFSMAP`); empty
/// if it does not report them.
fn free_ranges(node: &Path) -> Result<Vec<(u64, u64)>, LabError> {
    let view = ReadOnlyView::open(node)?;
    let mut ranges = Vec::new();
    let mut devices: Vec<u32> = Vec::new();
    let mapped = space_map(view.root().as_fd(), |record: &SpaceRecord| {
        if !devices.contains(&record.device) {
            devices.push(record.device);
        }
        if record.is_free {
            ranges.push((record.physical, record.physical.saturating_add(record.length)));
        }
    });
    // Addresses on a separate log device do not refer to the data device.
    if mapped.is_err() || devices.len() > 1 {
        return Ok(Vec::new());
    }
    ranges.sort_unstable();
    Ok(ranges)
}

/// Opens a device exclusively, waiting up to [`OPENERS_WAIT_MAX`] for other programs to close it.
fn open_when_free(node: &Path) -> Result<File, LabError> {
    let began = Instant::now();
    loop {
        match open_device(node, DeviceOpenMode::LookAlone) {
            Err(Errno::BUSY) if began.elapsed() < OPENERS_WAIT_MAX => sleep(STEP),
            opened => {
                return opened.map_err(|errno| LabError::io("cannot open", node)(errno.into()));
            }
        }
    }
}
