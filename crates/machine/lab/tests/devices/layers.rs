//! Layers on real devices: built below a filesystem and above it, kept over a remount, and taken
//! down in the reverse order.

use std::fs;

use treering_lab::{DeviceError, EraseList, LabDevice, LabError};
use treering_model::{Layer, LoopLayer, OverlayLayer, Variant};

use crate::workbench::{MIB, Workbench, can_make_devices, on_images, reported, words};

/// Loop layer with its file on this filesystem.
pub(crate) fn on_file_of(filesystem: &str) -> Layer {
    Layer::Loop(LoopLayer {
        on: filesystem.to_owned(),
        mkfs: Vec::new(),
        mount: words(&["noatime"]),
        bytes: None,
        sparse: false,
        direct_io: true,
    })
}

/// Overlay layer above the filesystem.
pub(crate) fn overlay() -> OverlayLayer {
    OverlayLayer { mount: words(&["index=off"]) }
}

/// Variant of ext4 with these layers; `None` if the kernel lacks one of them.
pub(crate) fn layered(bench: &Workbench, layers: Vec<Layer>) -> Option<(Variant, LabDevice)> {
    let mut variant = on_images("ext4", 1, 500 * MIB);
    variant.settings.layers = layers;
    match LabDevice::acquire(&variant, &EraseList::default(), &bench.lab) {
        Ok(device) => Some((variant, device)),
        Err(LabError::Device(DeviceError::Missing { why, how, .. })) => {
            println!("skipped: {why}; {how}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_filesystem_on_a_file_of_another_is_made_remounted_and_taken_down() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let layers = vec![on_file_of("xfs")];
    let Some((variant, mut device)) = layered(&bench, layers.clone()) else { return };
    let below = device.members();
    for round in 0..2 {
        let covered = device.covered(&variant.settings.layers).unwrap();
        let member = covered.members().remove(0);
        assert_ne!(member.number, below[0].number);
        assert!(member.bytes < below[0].bytes && member.bytes > below[0].bytes / 2, "{member:?}");
        let mounted = covered.format("ext4", &[]).unwrap().mount(&[]).unwrap();
        fs::write(mounted.root().join("file"), "content").unwrap();
        let lower = member.asked_path.parent().unwrap().to_owned();
        assert!(
            fs::read_to_string("/proc/self/mountinfo")
                .unwrap()
                .contains(&format!(" {} ", lower.display()))
        );
        let mounted = mounted.remount_cold().unwrap();
        assert_eq!(fs::read_to_string(mounted.root().join("file")).unwrap(), "content");
        let inner = mounted.record().unwrap();
        assert_eq!(inner.fs_type, "ext4");
        device = mounted.release().unwrap().uncovered().unwrap();
        assert_eq!(device.members(), below, "round {round}");
        assert!(!member.asked_path.exists() && !lower.exists());
    }
    device.release().unwrap();
    assert!(bench.is_empty());
}

#[test]
fn layers_are_released_with_the_last_of_their_owners() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let layers = vec![on_file_of("ext4"), on_file_of("xfs"), Layer::Overlay(overlay())];
    let Some((variant, device)) = layered(&bench, layers) else { return };
    let covered = device.covered(&variant.settings.layers).unwrap();
    let mounted = covered.format("ext4", &[]).unwrap().mount(&[]).unwrap();
    let mounted = mounted.covered(&variant.settings.layers).unwrap();
    fs::write(mounted.root().join("file"), "content").unwrap();
    assert!(bench.lab.list().unwrap().len() >= 7, "three images, three mounts, an overlay");
    drop(mounted);
    assert!(bench.is_empty());
}

#[test]
fn an_overlay_keeps_its_files_over_a_remount_also_if_it_is_volatile() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    for options in [&[][..], &["volatile"]] {
        let layer = OverlayLayer { mount: words(options) };
        let Some((variant, device)) = layered(&bench, vec![Layer::Overlay(layer)]) else {
            return;
        };
        let mounted = device.format("ext4", &[]).unwrap().mount(&[]).unwrap();
        let below = mounted.root().to_owned();
        fs::create_dir(below.join("lower")).unwrap();
        fs::write(below.join("lower/old"), "old").unwrap();
        let mounted = mounted.covered(&variant.settings.layers).unwrap();
        assert_ne!(mounted.root(), below);
        assert_eq!(fs::read_to_string(mounted.root().join("old")).unwrap(), "old");
        fs::write(mounted.root().join("new"), "new").unwrap();
        assert!(below.join("upper/new").exists() && !below.join("lower/new").exists());
        let mounted = mounted.remount_cold().unwrap();
        assert_eq!(fs::read_to_string(mounted.root().join("new")).unwrap(), "new");
        mounted.release().unwrap().release().unwrap();
        assert!(bench.is_empty());
    }
}

#[test]
fn options_and_files_that_do_not_fit_are_refused_and_nothing_stays() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let outside = OverlayLayer { mount: words(&["upperdir=/etc"]) };
    let mut variant = on_images("ext4", 1, 300 * MIB);
    variant.settings.layers = vec![Layer::Overlay(outside)];
    let refused = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab);
    let said = reported(refused);
    assert!(
        said.contains("`upperdir=/etc` is refused") || said.contains("has no overlay"),
        "{said}"
    );
    let mut file = on_file_of("ext4");
    if let Layer::Loop(file) = &mut file {
        file.bytes = Some(400 * MIB);
    }
    variant.settings.layers = vec![file];
    let device = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap();
    let said = reported(device.covered(&variant.settings.layers));
    assert!(said.contains("the images need 419430400"), "{said}");
    assert!(bench.is_empty());
}
