//! Disks of a guest: QEMU arguments, required modules, and device names in the guest.

use std::path::Path;

use treering_model::GuestDisk;

/// QEMU arguments for these disks. The host caches nothing, so that flushes and reads reach the
/// device.
pub(crate) fn arguments(kind: GuestDisk, nodes: &[impl AsRef<Path>]) -> Vec<String> {
    let mut arguments: Vec<String> = match kind {
        GuestDisk::Scsi => vec!["-device".to_owned(), "virtio-scsi-pci,id=scsi".to_owned()],
        _ => Vec::new(),
    };
    for (number, node) in nodes.iter().enumerate() {
        // A comma in a value is escaped by doubling it.
        let node = node.as_ref().display().to_string().replace(',', ",,");
        let drive = format!(
            "if=none,id=disk{number},file={node},format=raw,cache=none,aio=threads,discard=unmap"
        );
        let device = match kind {
            GuestDisk::Virtio => format!("virtio-blk-pci,drive=disk{number}"),
            GuestDisk::Nvme => format!("nvme,drive=disk{number},serial=treering{number}"),
            GuestDisk::Scsi => format!("scsi-hd,bus=scsi.0,drive=disk{number}"),
            GuestDisk::Ahci => format!("ide-hd,bus=ide.{number},drive=disk{number}"),
        };
        arguments.extend(["-drive".to_owned(), drive, "-device".to_owned(), device]);
    }
    arguments
}

/// Modules required by these disks.
pub(crate) const fn modules(kind: GuestDisk) -> &'static [&'static str] {
    match kind {
        GuestDisk::Virtio => &["virtio_pci", "virtio_blk"],
        GuestDisk::Nvme => &["nvme"],
        GuestDisk::Scsi => &["virtio_pci", "virtio_scsi", "sd_mod"],
        GuestDisk::Ahci => &["ahci", "sd_mod"],
    }
}

/// Device path in the guest of the disk with this number.
pub fn disk_name(kind: GuestDisk, number: usize) -> String {
    let letter = char::from(b'a' + u8::try_from(number.min(25)).unwrap_or(0));
    match kind {
        GuestDisk::Virtio => format!("/dev/vd{letter}"),
        GuestDisk::Nvme => format!("/dev/nvme{number}n1"),
        GuestDisk::Scsi | GuestDisk::Ahci => format!("/dev/sd{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{arguments, disk_name};
    use treering_model::GuestDisk;

    #[test]
    fn each_disk_has_a_drive_and_a_device() {
        for kind in GuestDisk::ALL {
            let made = arguments(kind, &["/a,b", "/c"]);
            let count = |word: &str| made.iter().filter(|argument| *argument == word).count();
            assert_eq!(count("-drive"), 2);
            assert!(made.iter().any(|argument| argument.contains("file=/a,,b,")), "{made:?}");
            assert_ne!(disk_name(kind, 0), disk_name(kind, 1));
        }
    }
}
