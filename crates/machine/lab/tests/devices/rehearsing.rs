//! Rehearsals find refused options of mkfs and mount and missing settings, and leave nothing
//! behind.

use treering_lab::{RefusedPart, rehearse};
use treering_model::{ArrayLayer, GuestSpec, Layer, Variant};

use crate::workbench::{MIB, Workbench, can_make_devices, on_images, program, words};

fn refused_part(variant: &Variant, bench: &Workbench) -> Option<RefusedPart> {
    let refused = rehearse(variant, false, &bench.lab).err().and_then(|error| error.part);
    assert!(bench.is_empty(), "{variant:?}");
    refused
}

fn pair(name: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), "1".to_owned())]
}

#[test]
fn refused_parts_of_a_variant_are_named_and_nothing_stays() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let good = on_images("ext4", 1, 64 * MIB);
    assert_eq!(refused_part(&good, &bench), None);
    let mut variant = good.clone();
    variant.mkfs = words(&["-O", "nonsense"]);
    assert_eq!(refused_part(&variant, &bench), Some(RefusedPart::Mkfs));
    variant = good.clone();
    variant.mount = words(&["noatime", "nonsense"]);
    assert_eq!(refused_part(&variant, &bench), Some(RefusedPart::Mount));
    variant = good.clone();
    variant.settings.sysctl = pair("vm.nonsense");
    let sysctl = RefusedPart::Sysctl("vm.nonsense".to_owned());
    assert_eq!(refused_part(&variant, &bench), Some(sysctl));
    for name in ["queue/nonsense", "fs/nonsense", "bdi/nonsense"] {
        variant = good.clone();
        variant.settings.sysfs = pair(name);
        let sysfs = RefusedPart::Sysfs(name.to_owned());
        assert_eq!(refused_part(&variant, &bench), Some(sysfs));
    }
}

#[test]
fn values_that_a_setting_cannot_have_are_refused_and_nothing_changes() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let good = on_images("ext4", 1, 64 * MIB);
    let ratio = || std::fs::read_to_string("/proc/sys/vm/dirty_ratio").unwrap();
    let before = ratio();
    let set = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let mut variant = good.clone();
    variant.settings.sysctl = set("vm.dirty_ratio", "half");
    let sysctl = RefusedPart::Sysctl("vm.dirty_ratio".to_owned());
    assert_eq!(refused_part(&variant, &bench), Some(sysctl));
    variant.settings.sysctl = set("vm.dirty_ratio", "7");
    assert_eq!(refused_part(&variant, &bench), None);
    assert_eq!(ratio(), before);
    // The kernel takes powers of two here, and no scheduler of this name.
    for (name, value) in [
        ("queue/read_ahead_kb", "much"),
        ("queue/scheduler", "nonsense"),
        ("fs/inode_readahead_blks", "33"),
    ] {
        variant = good.clone();
        variant.settings.sysfs = set(name, value);
        let sysfs = RefusedPart::Sysfs(name.to_owned());
        assert_eq!(refused_part(&variant, &bench), Some(sysfs), "{name}");
    }
    for (name, value) in [("queue/read_ahead_kb", "64"), ("fs/inode_readahead_blks", "64")] {
        variant = good.clone();
        variant.settings.sysfs = set(name, value);
        assert_eq!(refused_part(&variant, &bench), None, "{name}");
    }
}

#[test]
fn a_variant_on_an_array_of_several_devices_is_tried_on_one() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let mut variant = on_images("ext4", 2, 64 * MIB);
    variant.settings.layers = vec![Layer::Md(ArrayLayer::new(0))];
    assert_eq!(refused_part(&variant, &bench), None);
    variant.mkfs = words(&["-O", "nonsense"]);
    assert_eq!(refused_part(&variant, &bench), Some(RefusedPart::Mkfs));
}

#[test]
fn a_filesystem_for_another_kernel_is_made_and_not_mounted() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let mut variant = on_images("ext4", 1, 64 * MIB);
    variant.mount = words(&["an-option-of-another-kernel"]);
    rehearse(&variant, true, &bench.lab).unwrap();
    assert!(bench.is_empty());
    if program("mkfs.f2fs").is_none() {
        println!("skipped: mkfs.f2fs is not installed");
        return;
    }
    // The running kernel need not support f2fs.
    let mut variant = on_images("f2fs", 1, 128 * MIB);
    variant.guest = Some(GuestSpec::new("/boot/none".into()));
    assert_eq!(refused_part(&variant, &bench), None);
    variant.mkfs = words(&["-O", "nonsense"]);
    assert_eq!(refused_part(&variant, &bench), Some(RefusedPart::Mkfs));
}
