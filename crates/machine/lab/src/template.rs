//! Templates of fresh filesystems, from which later trials start: copies of their images, and their
//! packed form.

use serde::{Deserialize, Serialize};
use treering_model::filesystems::Filesystem;
use treering_model::{DeviceSpec, Fingerprint};

use crate::aged::{ContentPacker, SavedImage, unpack};
use crate::device::find_filesystem;
use crate::error::unfit;
use crate::master::MasterImage;
use crate::{Lab, LabError};

/// Limit of a packed template. A fresh filesystem takes some kilobytes.
const PACKED_BYTES_MAX: usize = 4 << 20;
/// Limit of the data of an image that is packed.
const UNPACKED_BYTES_MAX: usize = 256 << 20;
/// Name of a copy in errors.
const COPY: &str = "an image";

/// Record of a run of mkfs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatRecord {
    /// Command line of mkfs, one element per argument; empty when nothing was run.
    pub command: Vec<String>,
    /// Standard output and standard error.
    pub output: String,
    /// Version of mkfs, if it prints one.
    pub tool_version: Option<String>,
}

/// Master copy of a fresh filesystem, from which later trials start.
#[derive(Debug)]
pub struct FilesystemTemplate {
    pub(crate) filesystem: &'static Filesystem,
    pub(crate) record: FormatRecord,
    pub(crate) masters: Vec<MasterImage>,
    fingerprint: String,
}

/// Template in a few kilobytes, from which a later process makes the same filesystem.
#[derive(Debug, Serialize, Deserialize)]
pub struct PackedTemplate {
    fingerprint: String,
    mkfs: FormatRecord,
    /// Content of each image.
    images: Vec<Vec<u8>>,
}

impl PackedTemplate {
    /// Fingerprint of all bytes of the template.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

impl FilesystemTemplate {
    /// Prepares a saved image for the devices of a variant. For loop devices the image is read once
    /// and kept as a nameless file among the lab's images; for block devices it is read each time.
    ///
    /// # Errors
    /// When the image is damaged, the checker of its filesystem is missing, or the space does not
    /// suffice.
    pub fn from_saved(
        image: &SavedImage,
        device: &DeviceSpec,
        lab: &Lab,
    ) -> Result<Self, LabError> {
        let masters = match device {
            DeviceSpec::Loop { directory, .. } => {
                vec![image.master(&lab.images(directory.as_deref())?)?]
            }
            DeviceSpec::Block { .. } => Vec::new(),
            DeviceSpec::Directory { .. } => {
                return Err(unfit("a saved image is restored to a device".to_owned()));
            }
        };
        let (filesystem, record) = (image.filesystem(), FormatRecord::default());
        let fingerprint = image.record.fingerprint.clone();
        Ok(Self { filesystem, record, masters, fingerprint })
    }

    /// Template of these images.
    ///
    /// # Errors
    /// When an image cannot be read.
    pub(crate) fn new(
        filesystem: &'static Filesystem,
        record: FormatRecord,
        masters: Vec<MasterImage>,
    ) -> Result<Self, LabError> {
        let mut print = Fingerprint::new();
        for master in &masters {
            master.print(&mut print).map_err(LabError::io("cannot read a copy of", COPY))?;
        }
        Ok(Self { filesystem, record, masters, fingerprint: print.text() })
    }

    /// Packs the template; `None` if that takes more than 4 MiB.
    ///
    /// # Errors
    /// When an image cannot be read.
    pub fn packed(&self) -> Result<Option<PackedTemplate>, LabError> {
        let failed = || LabError::io("cannot read a copy of", COPY);
        let mut images = Vec::new();
        let mut left = PACKED_BYTES_MAX;
        for master in &self.masters {
            let mut packer = ContentPacker::begin(Vec::new()).map_err(failed())?;
            let mut bytes_read = 0;
            master
                .each_piece(&mut |place, piece| {
                    bytes_read += piece.len();
                    if bytes_read > UNPACKED_BYTES_MAX {
                        return Ok(());
                    }
                    packer.add(place, piece)
                })
                .map_err(failed())?;
            let (image, _) = packer.finish().map_err(failed())?;
            if bytes_read > UNPACKED_BYTES_MAX || image.len() > left {
                return Ok(None);
            }
            left -= image.len();
            images.push(image);
        }
        let (fingerprint, mkfs) = (self.fingerprint.clone(), self.record.clone());
        Ok(Some(PackedTemplate { fingerprint, mkfs, images }))
    }

    /// Unpacks a template for the loop images of a variant.
    ///
    /// # Errors
    /// When it is damaged, is of other images than these, or cannot be stored.
    pub fn from_packed(
        packed: PackedTemplate,
        (filesystem, device): (&str, &DeviceSpec),
        lab: &Lab,
    ) -> Result<Self, LabError> {
        let DeviceSpec::Loop { bytes, directory, .. } = device else {
            return Err(unfit("only loop images are filled from a template".to_owned()));
        };
        let filesystem = find_filesystem(filesystem)?;
        let directory = lab.images(directory.as_deref())?;
        let failed = || LabError::io("cannot unpack an image in", &directory);
        let mut masters = Vec::new();
        for image in &packed.images {
            let master = MasterImage::empty(&directory, *bytes).map_err(failed())?;
            unpack(image.as_slice(), *bytes, &mut |place, piece| master.write_at(piece, place))
                .map_err(failed())?;
            masters.push(master);
        }
        let template = Self::new(filesystem, packed.mkfs, masters)?;
        if template.fingerprint != packed.fingerprint {
            return Err(unfit("the stored image has not the fingerprint it should".to_owned()));
        }
        Ok(template)
    }

    /// Fingerprint of all bytes: 16 hexadecimal digits, or the 32 of a saved image.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

#[cfg(test)]
mod tests {
    use treering_model::DeviceSpec;
    use treering_model::filesystems::by_name;

    use super::{FilesystemTemplate, FormatRecord, PackedTemplate};
    use crate::Lab;
    use crate::master::MasterImage;

    #[test]
    fn a_packed_template_gives_the_same_bytes_or_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let lab = Lab::open(&top.path().join("register")).unwrap().with_images_in(top.path());
        let bytes = 8 << 20;
        let [device, smaller] = [bytes, bytes / 2].map(DeviceSpec::loop_image);
        let master = MasterImage::empty(top.path(), bytes).unwrap();
        for (piece, place) in [("superblock", 1024), ("journal", (1 << 20) - 3), ("end", bytes - 3)]
        {
            master.write_at(piece.as_bytes(), place).unwrap();
        }
        let record = FormatRecord { output: "made".to_owned(), ..FormatRecord::default() };
        let ext4 = by_name("ext4").unwrap();
        let template = FilesystemTemplate::new(ext4, record.clone(), vec![master]).unwrap();
        let text = serde_json::to_string(&template.packed().unwrap().unwrap()).unwrap();
        let packed = || -> PackedTemplate { serde_json::from_str(&text).unwrap() };
        let again = FilesystemTemplate::from_packed(packed(), ("ext4", &device), &lab).unwrap();
        assert_eq!(again.fingerprint(), template.fingerprint());
        assert_eq!(again.record, record);
        // Other bytes than those of the fingerprint, and images larger than the device.
        let other = PackedTemplate { fingerprint: "0".repeat(16), ..packed() };
        assert!(FilesystemTemplate::from_packed(other, ("ext4", &device), &lab).is_err());
        let cut = PackedTemplate { images: vec![vec![0; 9]], ..packed() };
        assert!(FilesystemTemplate::from_packed(cut, ("ext4", &device), &lab).is_err());
        assert!(FilesystemTemplate::from_packed(packed(), ("ext4", &smaller), &lab).is_err());
    }
}
