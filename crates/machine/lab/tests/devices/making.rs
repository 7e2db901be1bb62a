//! Runs every mkfs as the lab calls it, on a loop device, even if the kernel cannot mount the
//! result.

use treering_lab::filesystems::{MkfsRequest, arguments, makeable};
use treering_lab::inspect;
use treering_lab::{FormatObstacle, ReadOnlyView};

use crate::workbench::{ForeignDisk, MIB, can_make_devices, program, run};

/// Minimum device size. btrfs needs more than its own minimum, since it duplicates metadata.
const BYTES_MIN: u64 = 128 * MIB;

#[test]
fn every_mkfs_overwrites_its_filesystem_and_leaves_its_signature() {
    if !can_make_devices() {
        return;
    }
    for filesystem in makeable() {
        let (Some(mkfs), name) = (filesystem.mkfs(), filesystem.name) else { continue };
        let Some(tool) = program(mkfs.program) else {
            println!("skipped: {name}: {} is absent (package {})", mkfs.program, mkfs.package);
            continue;
        };
        let disk = ForeignDisk::new(filesystem.bytes_min.max(BYTES_MIN));
        let devices = [disk.node.clone()];
        let request = MkfsRequest { devices: &devices, label: "treering", options: &[] };
        let arguments_given = arguments(filesystem, &request).unwrap();
        let arguments_given: Vec<String> =
            arguments_given.into_iter().map(|word| word.into_string().unwrap()).collect();
        for _ in 0..2 {
            run(&tool, &arguments_given, "").unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let obstacles = inspect(&disk.node).unwrap().obstacles;
        let signatures = obstacles.iter().filter_map(|obstacle| match obstacle {
            FormatObstacle::Carries(signature) => Some(signature.name),
            _ => None,
        });
        let mut own = signatures.filter(|signature| filesystem.leaves.contains(signature));
        assert!(own.next().is_some(), "{name}: {obstacles:?}");
        // Recognising the signature does not need kernel support, unlike a mount.
        assert!(treering_lab::is_image(&disk.image).unwrap(), "{name}");
        if let Err(error) = ReadOnlyView::open(&disk.image) {
            assert!(error.to_string().contains(name), "{name}: {error}");
            println!("skipped: {name}: made and recognised, not mounted: {error}");
        }
    }
}
