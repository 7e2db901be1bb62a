//! Second devices: a journal on a device of its own, and members of two kinds, made, mounted,
//! remounted, copied and given back.

use std::fs::{self, File};
use std::path::Path;

use treering_lab::{EraseList, LabDevice, find_signatures};
use treering_model::{DeviceSpec, SecondDevice, Variant};

use crate::workbench::{
    ForeignDisk, MIB, Workbench, can_make_devices, erasing, on_blocks, on_images, program,
    reported, run, words,
};

/// Variant on one image of 400 MiB, with a second device of 64 MiB.
fn with_second(filesystem: &str, role: fn(DeviceSpec) -> SecondDevice) -> Variant {
    let mut variant = on_images(filesystem, 1, 400 * MIB);
    let second = on_images(filesystem, 1, 64 * MIB).device;
    variant.settings.second_device = Some(role(second));
    variant
}

fn acquired(variant: &Variant, bench: &Workbench) -> LabDevice {
    LabDevice::acquire(variant, &EraseList::default(), &bench.lab).unwrap()
}

#[test]
fn a_journal_on_another_device_is_made_with_the_filesystem_and_mounted_again() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    for filesystem in ["ext4", "xfs"] {
        let variant = with_second(filesystem, SecondDevice::Journal);
        let mut device = acquired(&variant, &bench);
        let members = device.members();
        assert_eq!(members.iter().map(|one| one.bytes / MIB).collect::<Vec<_>>(), [400, 64]);
        for _round in 0..2 {
            let volume = device.format(filesystem, &[]).unwrap();
            let journal = members[1].node.display().to_string();
            assert!(volume.record().command.iter().any(|word| word.ends_with(&journal)));
            let mounted = volume.mount(&words(&["noatime"])).unwrap();
            fs::write(mounted.root().join("file"), "content").unwrap();
            let mounted = mounted.remount_cold().unwrap();
            assert_eq!(fs::read_to_string(mounted.root().join("file")).unwrap(), "content");
            device = mounted.release().unwrap();
            assert_eq!(device.members(), members);
        }
        let (first, second) = device.parted();
        assert_eq!((first.members().len(), second.as_ref().unwrap().members().len()), (1, 1));
        first.release().unwrap();
        second.unwrap().release().unwrap();
        assert!(bench.is_empty());
    }
}

#[test]
fn a_copy_of_a_filesystem_has_its_journal_too() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let device = acquired(&with_second("ext4", SecondDevice::Journal), &bench);
    let volume = device.format("ext4", &[]).unwrap();
    let Ok(Some(template)) = volume.template() else {
        println!("skipped: no nameless file can be made here");
        return;
    };
    let mounted = volume.mount(&[]).unwrap();
    fs::write(mounted.root().join("file"), "content").unwrap();
    let device = mounted.release().unwrap();
    let (volume, is_copy) = device.restore(&template, &[]).unwrap();
    let mounted = volume.mount(&[]).unwrap();
    assert!(!mounted.root().join("file").exists() && is_copy);
    mounted.release().unwrap().release().unwrap();
    assert!(bench.is_empty());
}

#[test]
fn members_of_two_sizes_are_one_device_of_btrfs_and_below_a_layer() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let mut variant = with_second("btrfs", SecondDevice::Member);
    variant.settings.second_device =
        Some(SecondDevice::Member(on_images("btrfs", 1, 256 * MIB).device));
    let device = acquired(&variant, &bench);
    let volume = device.format("btrfs", &[]).unwrap();
    let mounted = volume.mount(&[]).unwrap();
    let statistics = rustix::fs::statvfs(mounted.root()).unwrap();
    assert!(statistics.f_blocks * statistics.f_frsize >= 600 * MIB);
    // What is not released by its owner is released when it is dropped.
    drop(mounted);
    assert!(bench.is_empty());
}

#[test]
fn a_journal_is_refused_where_there_is_none_or_where_it_has_several_devices() {
    let bench = Workbench::new();
    let refused = |variant: &Variant| {
        reported(LabDevice::acquire(variant, &EraseList::default(), &bench.lab))
    };
    let variant = with_second("ext2", SecondDevice::Journal);
    assert!(refused(&variant).contains("no journal on another device"), "{}", refused(&variant));
    let mut variant = with_second("ext4", SecondDevice::Journal);
    let several = on_images("ext4", 2, 64 * MIB).device;
    variant.settings.second_device = Some(SecondDevice::Journal(several));
    assert!(refused(&variant).contains("on one device, not on 2"), "{}", refused(&variant));
    assert!(bench.is_empty());
}

#[test]
fn no_device_is_erased_where_the_other_is_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let (first, second) = (ForeignDisk::new(64 * MIB), ForeignDisk::new(64 * MIB));
    for disk in [&first, &second] {
        let arguments = words(&["-q", "-F", disk.node.to_str().unwrap()]);
        run(&program("mkfs.ext4").unwrap(), &arguments, "").unwrap();
    }
    let mut variant = on_blocks("ext4", &[&first.node]);
    let journal = |path: &Path| DeviceSpec::Block { paths: vec![path.to_owned()] };
    for other in [&second.node, &first.node] {
        variant.settings.second_device = Some(SecondDevice::Journal(journal(other)));
        let acquired = LabDevice::acquire(&variant, &erasing(&first.node), &bench.lab);
        let said = reported(acquired);
        assert!(said.contains("refusing to format") || said.contains("same device"), "{said}");
        let content = find_signatures(&File::open(&first.node).unwrap(), 64 * MIB).unwrap();
        assert!(!content.is_empty(), "it still carries its filesystem: {said}");
    }
    assert!(bench.is_empty());
}
