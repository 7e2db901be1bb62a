//! Disks of a guest: QEMU arguments, required modules, and device names in the guest.

use std::path::Path;

use treering_model::{GuestDisk, GuestSpec};

/// Property of a disk that rotates, 7,200 times a minute.
const ROTATION: &str = ",rotation_rate=7200";

/// QEMU arguments for these disks, on a machine that may have SATA ports of its own. The host
/// caches nothing, so that flushes and reads reach the device.
pub(crate) fn arguments(
    spec: &GuestSpec,
    has_sata: bool,
    nodes: &[impl AsRef<Path>],
) -> Vec<String> {
    let kind = spec.disk;
    let queues = |name: &str| spec.queues.map(|count| format!(",{name}={count}"));
    let queues = match kind {
        GuestDisk::Virtio => queues("num-queues"),
        GuestDisk::Nvme => queues("max_ioqpairs"),
        GuestDisk::Scsi => queues("num_queues"),
        GuestDisk::Ahci => None,
    };
    let queues = queues.unwrap_or_default();
    let thread = if spec.has_iothread { ",iothread=disks" } else { "" };
    let rotation = if spec.is_rotational { ROTATION } else { "" };
    let mut arguments: Vec<String> = Vec::new();
    if spec.has_iothread {
        arguments.extend(["-object".to_owned(), "iothread,id=disks".to_owned()]);
    }
    if kind == GuestDisk::Scsi {
        let controller = format!("virtio-scsi-pci,id=scsi{queues}{thread}");
        arguments.extend(["-device".to_owned(), controller]);
    }
    if kind == GuestDisk::Ahci && !has_sata {
        arguments.extend(["-device".to_owned(), "ich9-ahci,id=ide".to_owned()]);
    }
    for (number, node) in nodes.iter().enumerate() {
        // A comma in a value is escaped by doubling it.
        let node = node.as_ref().display().to_string().replace(',', ",,");
        let drive = format!(
            "if=none,id=disk{number},file={node},format=raw,cache=none,aio=threads,discard=unmap"
        );
        let device = match kind {
            GuestDisk::Virtio => format!("virtio-blk-pci,drive=disk{number}{queues}{thread}"),
            GuestDisk::Nvme => {
                format!("nvme,drive=disk{number},serial=treering{number}{queues}")
            }
            GuestDisk::Scsi => format!("scsi-hd,bus=scsi.0,drive=disk{number}{rotation}"),
            GuestDisk::Ahci => format!("ide-hd,bus=ide.{number},drive=disk{number}{rotation}"),
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
    use treering_model::{GuestDisk, GuestSpec};

    #[test]
    fn each_disk_has_a_drive_and_a_device() {
        for kind in GuestDisk::ALL {
            let spec = GuestSpec { disk: kind, ..GuestSpec::new("".into()) };
            let made = arguments(&spec, true, &["/a,b", "/c"]);
            let count = |word: &str| made.iter().filter(|argument| *argument == word).count();
            assert_eq!(count("-drive"), 2);
            assert!(made.iter().any(|argument| argument.contains("file=/a,,b,")), "{made:?}");
            assert_ne!(disk_name(kind, 0), disk_name(kind, 1));
        }
    }

    #[test]
    fn queues_threads_and_rotation_are_of_the_disks_that_have_them() {
        for kind in GuestDisk::ALL {
            let plain = GuestSpec { disk: kind, ..GuestSpec::new("".into()) };
            let count = |spec: &GuestSpec, word: &str| {
                arguments(spec, true, &["/a", "/b"]).iter().filter(|it| it.contains(word)).count()
            };
            let queues = GuestSpec { queues: Some(3), ..plain.clone() };
            assert_eq!(count(&queues, "=3") > 0, kind.has_queues(), "{}", kind.name());
            let threaded = GuestSpec { has_iothread: kind.has_iothread(), ..plain.clone() };
            assert_eq!(count(&threaded, "iothread,id=disks") == 1, kind.has_iothread());
            let rotating = GuestSpec { is_rotational: kind.has_rotation(), ..plain.clone() };
            assert_eq!(
                count(&rotating, "rotation_rate=7200"),
                2 * usize::from(kind.has_rotation())
            );
        }
    }
}
