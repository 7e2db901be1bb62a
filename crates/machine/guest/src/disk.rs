//! The disks that a guest has: how QEMU is told of them, which modules they need, and what the
//! kernel in the guest calls them.

use std::path::Path;

use treering_model::GuestDisk;

/// The arguments of QEMU for these disks. Nothing of them is cached by the host, so that a flush
/// is a flush and a read is a read.
pub(crate) fn arguments(kind: GuestDisk, nodes: &[impl AsRef<Path>]) -> Vec<String> {
    let mut arguments: Vec<String> = match kind {
        GuestDisk::Scsi => vec!["-device".to_owned(), "virtio-scsi-pci,id=scsi".to_owned()],
        _ => Vec::new(),
    };
    for (number, node) in nodes.iter().enumerate() {
        // A comma ends a value unless it is doubled.
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

/// The modules that these disks need.
pub(crate) const fn modules(kind: GuestDisk) -> &'static [&'static str] {
    match kind {
        GuestDisk::Virtio => &["virtio_pci", "virtio_blk"],
        GuestDisk::Nvme => &["nvme"],
        GuestDisk::Scsi => &["virtio_pci", "virtio_scsi", "sd_mod"],
        GuestDisk::Ahci => &["ahci", "sd_mod"],
    }
}

/// What the kernel in the guest calls the disk with this number.
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
            let count = |word: &str| made.iter().filter(|one| *one == word).count();
            assert_eq!(count("-drive"), 2);
            assert!(made.iter().any(|one| one.contains("file=/a,,b,")), "{made:?}");
            assert_ne!(disk_name(kind, 0), disk_name(kind, 1));
        }
    }
}
