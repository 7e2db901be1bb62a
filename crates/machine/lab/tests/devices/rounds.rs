//! For every filesystem: acquire, format, mount, remount cold, release, and the same device again.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use treering_lab::{
    Availability, CacheDrop, DeviceCaution, DeviceError, EraseList, FormatObstacle, LabDevice,
    LabError, SettleLimits, drop_and_verify, filesystems, settle,
};
use treering_model::DeviceSpec;
use treering_sys::{StopFlag, residency};

use crate::workbench::{
    ForeignDisk, MIB, Workbench, can_make_devices, on_blocks, on_images, reported, variant, words,
};

fn acquire(bench: &Workbench, filesystem: &str, count: u16, bytes: u64) -> Option<LabDevice> {
    let variant = on_images(filesystem, count, bytes);
    match LabDevice::acquire(&variant, &EraseList::default(), &bench.lab) {
        Ok(device) => Some(device),
        Err(LabError::Device(DeviceError::Missing { why, how, .. })) => {
            println!("skipped: {filesystem}: {why}; {how}");
            None
        }
        Err(error) => panic!("{filesystem}: {error}"),
    }
}

#[test]
fn every_filesystem_is_created_mounted_remounted_and_recreated() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    for filesystem in filesystems::makeable() {
        let name = filesystem.name;
        let bytes = filesystem.bytes_min.max(64 * MIB);
        let Some(device) = acquire(&bench, name, 1, bytes.max(300 * MIB)) else {
            continue;
        };
        let volume = device.format(name, &[]).unwrap();
        let made = volume.record().clone();
        let mounted = volume.mount(&words(&["noatime"])).unwrap();
        let record = mounted.record().unwrap().clone();
        assert_eq!(record.fs_type, name);
        assert!(record.options.contains("noatime"), "{record:?}");
        let file = mounted.root().join("file");
        std::fs::write(&file, "content").unwrap();
        if name == "tmpfs" {
            assert!(made.command.is_empty() && !mounted.can_remount());
            let size = format!("size={}k", 300 * 1024);
            assert!(record.super_options.contains(&size), "{record:?}");
            mounted.release().unwrap().release().unwrap();
            continue;
        }
        assert!(made.command[0].ends_with(&format!("mkfs.{name}")) && made.tool_version.is_some());
        let mounted = mounted.remount_cold().unwrap();
        assert_eq!(std::fs::read_to_string(mounted.root().join("file")).unwrap(), "content");
        assert_eq!(mounted.record().unwrap().options, record.options);
        let verdict = settle(mounted.root(), &SettleLimits::default(), &StopFlag::new()).unwrap();
        assert!(verdict.is_quiet || verdict.waited >= SettleLimits::default().wait_max);
        let dropped = drop_and_verify(mounted.root()).unwrap();
        assert!(matches!(dropped, CacheDrop::Verified(_)), "{name}: {dropped:?}");
        let device = mounted.release().unwrap();
        // The lab's own filesystem is no obstacle to the next one.
        let again = device.format(name, &[]).unwrap().mount(&[]).unwrap();
        assert!(!again.root().join("file").exists());
        again.release().unwrap().release().unwrap();
        assert!(bench.is_empty(), "{name}");
    }
}

#[test]
fn one_image_serves_one_filesystem_after_the_other() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let Some(mut device) = acquire(&bench, "xfs", 1, 320 * MIB) else {
        return;
    };
    for name in ["xfs", "ext4", "btrfs", "ext2", "xfs", "tmpfs"] {
        let mounted = device.format(name, &[]).unwrap().mount(&[]).unwrap();
        assert_eq!(mounted.record().unwrap().fs_type, name);
        std::fs::write(mounted.root().join("file"), name).unwrap();
        device = mounted.release().unwrap();
    }
    let volume = device.format("ext3", &[]).unwrap();
    assert!(!volume.record().output.is_empty() && volume.device().members().len() == 1);
    volume.into_device().release().unwrap();
    assert!(bench.is_empty());
}

#[test]
fn btrfs_spans_four_devices() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let Some(device) = acquire(&bench, "btrfs", 4, 256 * MIB) else {
        return;
    };
    let nodes: Vec<PathBuf> = device.members().into_iter().map(|member| member.node).collect();
    let volume = device.format("btrfs", &words(&["-d", "raid0", "-m", "raid1"])).unwrap();
    let mounted = volume.mount(&words(&["compress=zstd:1"])).unwrap();
    assert!(mounted.record().unwrap().super_options.contains("compress=zstd:1"));
    // The guard sees each of the four devices in use.
    for node in &nodes {
        let inspection = treering_lab::inspect(node).unwrap();
        let is_member =
            |obstacle: &FormatObstacle| matches!(obstacle, FormatObstacle::Member { .. });
        assert!(inspection.obstacles.iter().any(is_member), "{inspection:?}");
    }
    let free = rustix::fs::statvfs(mounted.root()).unwrap();
    assert!(free.f_blocks * free.f_frsize >= 1000 * MIB);
    let mounted = mounted.remount_cold().unwrap();
    mounted.release().unwrap().release().unwrap();
    assert!(bench.is_empty());
    let words = reported(LabDevice::acquire(
        &on_images("ext4", 2, 64 * MIB),
        &EraseList::default(),
        &bench.lab,
    ));
    assert!(words.contains("takes one device, but 2 are given"), "{words}");
}

#[test]
fn a_missing_tool_is_reported_before_an_image_is_made() {
    let bench = Workbench::new();
    let none = EraseList::default();
    for filesystem in filesystems::makeable() {
        if let Availability::Missing { why, how } = bench.lab.availability(filesystem) {
            let variant = on_images(filesystem.name, 1, 512 * MIB);
            let error = LabDevice::acquire(&variant, &none, &bench.lab).unwrap_err();
            assert!(error.to_string().contains(&why), "{error}");
            assert_eq!(error.hint(), Some(how));
        }
    }
    let error = LabDevice::acquire(&on_images("ext5", 1, MIB), &none, &bench.lab).unwrap_err();
    let mut wrong = on_images("tmpfs", 1, MIB);
    wrong.mkfs = words(&["-q"]);
    assert!(reported(LabDevice::acquire(&wrong, &none, &bench.lab)).contains("`-q` is refused"));
    wrong = on_images("tmpfs", 1, MIB);
    wrong.mount = words(&["remount"]);
    assert!(
        reported(LabDevice::acquire(&wrong, &none, &bench.lab))
            .contains("`remount` is for mount(8)")
    );
    assert!(error.hint().unwrap().contains("ext4, ext3, ext2, xfs, btrfs, f2fs, tmpfs"));
    assert!(bench.is_empty());
}

#[test]
fn preallocated_images_stay_allocated_with_the_requested_sector_size() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let spec = DeviceSpec::Loop {
        bytes: 320 * MIB,
        count: 1,
        sparse: false,
        direct_io: true,
        sector_bytes: 4096,
        directory: Some(bench.top.path().to_owned()),
        disk: None,
    };
    let device =
        LabDevice::acquire(&variant("xfs", spec.clone()), &EraseList::default(), &bench.lab)
            .unwrap();
    let image = device.members()[0].asked_path.clone();
    let allocated_bytes = |image: &Path| image.metadata().unwrap().blocks() * 512;
    assert!(allocated_bytes(&image) >= 320 * MIB);
    let mut device = device;
    for _ in 0..2 {
        let mounted = device.format("xfs", &[]).unwrap().mount(&[]).unwrap();
        assert!(allocated_bytes(&image) >= 320 * MIB, "mkfs has discarded what was preallocated");
        let made = mounted.format_record().unwrap();
        assert!(made.output.contains("sectsz=4096"), "{}", made.output);
        device = mounted.release().unwrap();
    }
    device.release().unwrap();
    assert!(!image.exists() && bench.is_empty());
    let DeviceSpec::Loop { count, sparse, direct_io, sector_bytes, directory, .. } = spec else {
        return;
    };
    let huge = DeviceSpec::Loop {
        bytes: 1 << 60,
        count,
        sparse,
        direct_io,
        sector_bytes,
        directory,
        disk: None,
    };
    let words =
        reported(LabDevice::acquire(&variant("xfs", huge), &EraseList::default(), &bench.lab));
    assert!(words.contains("bytes free, but the images need"), "{words}");
}

#[test]
fn images_in_memory_and_behind_the_cache_are_cautioned() {
    if !can_make_devices() || !Path::new("/dev/shm").is_dir() {
        return;
    }
    let bench = Workbench::new();
    let place = tempfile::Builder::new().prefix("treering-").tempdir_in("/dev/shm").unwrap();
    let spec = DeviceSpec::Loop {
        bytes: 64 * MIB,
        count: 1,
        sparse: true,
        direct_io: false,
        sector_bytes: 512,
        directory: Some(place.path().to_owned()),
        disk: None,
    };
    let device = LabDevice::acquire(&variant("ext4", spec), &EraseList::default(), &bench.lab);
    let device = device.unwrap();
    let in_memory =
        |caution: &DeviceCaution| matches!(caution, DeviceCaution::ImageInMemory { .. });
    let cached = |caution: &DeviceCaution| {
        matches!(caution, DeviceCaution::HostCacheAnswers { direct_io: false, .. })
    };
    assert!(device.cautions().iter().any(in_memory) && device.cautions().iter().any(cached));
    device.release().unwrap();
    let direct = acquire(&bench, "ext4", 1, 64 * MIB).unwrap();
    assert!(!direct.cautions().iter().any(in_memory));
    // There is no caution if the host filesystem supports direct I/O.
    let node = direct.members()[0].node.clone();
    let flag = Path::new("/sys/block").join(node.file_name().unwrap()).join("loop/dio");
    let is_direct = std::fs::read_to_string(flag).unwrap().trim() == "1";
    assert_eq!(direct.cautions().iter().all(|caution| !is_cache(caution)), is_direct);
    direct.release().unwrap();
}

fn is_cache(caution: &DeviceCaution) -> bool {
    matches!(caution, DeviceCaution::HostCacheAnswers { .. })
}

#[test]
fn a_cold_remount_drops_all_cached_device_pages() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let device = acquire(&bench, "ext4", 1, 64 * MIB).unwrap();
    let node = device.members()[0].node.clone();
    let mounted = device.format("ext4", &[]).unwrap().mount(&[]).unwrap();
    let length = usize::try_from(64 * MIB).unwrap();
    let resident = |node: &Path| residency(File::open(node).unwrap(), length).unwrap();
    let mut warm = resident(&node);
    // Another program may drop caches at the same time.
    for _ in 0..10 {
        std::io::copy(&mut File::open(&node).unwrap(), &mut std::io::sink()).unwrap();
        warm = resident(&node);
        if warm.resident_pages > warm.pages / 10 * 9 {
            break;
        }
    }
    let mounted = mounted.remount_cold().unwrap();
    let cold = resident(&node);
    mounted.release().unwrap().release().unwrap();
    assert!(warm.resident_pages > warm.pages / 10 * 9, "{warm:?}");
    assert!(cold.resident_pages < cold.pages / 10, "{cold:?}");
}

#[test]
fn dropped_devices_are_released() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let device = acquire(&bench, "btrfs", 2, 256 * MIB).unwrap();
    drop(device);
    assert!(bench.is_empty());
    let volume = acquire(&bench, "btrfs", 2, 256 * MIB).unwrap().format("btrfs", &[]).unwrap();
    drop(volume);
    assert!(bench.is_empty());
    let device = acquire(&bench, "btrfs", 2, 256 * MIB).unwrap();
    let mounted = device.format("btrfs", &[]).unwrap().mount(&[]).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        assert!(!mounted.root().exists(), "a panic while it is mounted");
    }));
    assert!(caught.is_err() && bench.is_empty());
}

#[test]
fn options_that_name_other_devices_are_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let stranger = ForeignDisk::new(320 * MIB);
    let node = stranger.node.display();
    for (name, option) in [
        ("xfs", format!("-llogdev={node},size=64m")),
        ("xfs", format!("{node}")),
        ("ext4", format!("-Jdevice={node}")),
        ("btrfs", format!("{node}")),
        ("btrfs", format!("--label={node}")),
        ("ext4", "-Jdevice=UUID=0-0".to_owned()),
        ("ext4", "-FF".to_owned()),
    ] {
        let Some(device) = acquire(&bench, name, 1, 320 * MIB) else {
            continue;
        };
        let words = reported(device.format(name, &[option]));
        assert!(words.contains("is refused"), "{name}: {words}");
    }
    let Some(device) = acquire(&bench, "btrfs", 1, 320 * MIB) else {
        return;
    };
    let mut device = device;
    for option in [format!("device={node}"), "a\nb".to_owned(), "loop".to_owned()] {
        let volume = device.format("btrfs", &[]).unwrap();
        let words = reported(volume.mount(&[option]));
        assert!(words.contains("refused"), "{words}");
        device = acquire(&bench, "btrfs", 1, 320 * MIB).unwrap();
    }
    device.release().unwrap();
    assert_eq!(treering_lab::inspect(&stranger.node).unwrap().obstacles, []);
    assert!(bench.is_empty());
}

#[test]
fn failures_report_tool_and_kernel_messages_and_leave_nothing() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let device = acquire(&bench, "ext4", 1, 64 * MIB).unwrap();
    let words_of_tool = reported(device.format("ext4", &words(&["-b", "999"])));
    assert!(
        words_of_tool.contains("mkfs.ext4") && words_of_tool.contains("999"),
        "{words_of_tool}"
    );
    assert!(bench.is_empty());
    let device = acquire(&bench, "ext4", 1, 64 * MIB).unwrap();
    let nothing = reported(device.format("ext4", &words(&["-n"])));
    assert!(nothing.contains("made no ext4"), "{nothing}");
    let device = acquire(&bench, "ext4", 1, 64 * MIB).unwrap();
    let volume = device.format("ext4", &[]).unwrap();
    let of_kernel = reported(volume.mount(&words(&["no-such-option=1"])));
    assert!(of_kernel.contains("cannot mount ext4") && of_kernel.contains("no-such-option"));
    // Kernels before 5.2 return no message, and some filesystems do so only in later versions.
    let spoke = of_kernel.contains("nknown parameter") || of_kernel.contains("nrecognized mount");
    if !spoke {
        println!("skipped: the kernel says no more than {of_kernel}");
    }
    assert!(bench.is_empty());
}

#[test]
fn a_busy_mount_is_reported_registered_and_freed_later() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let device = acquire(&bench, "ext4", 1, 64 * MIB).unwrap();
    let mounted = device.format("ext4", &[]).unwrap().mount(&[]).unwrap();
    let mut user = std::process::Command::new("/bin/sh")
        .args(["-c", "read gone"])
        .current_dir(mounted.root())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let words = reported(mounted.release());
    assert!(words.contains("is still in use by sh (process"), "{words}");
    let left = bench.lab.list().unwrap();
    assert_eq!(left.len(), 2, "{left:?}");
    // A filesystem in use is not released, neither lazily nor in part.
    assert!(bench.lab.release(left).iter().all(|(_, freed)| freed.is_err()));
    assert_eq!(bench.lab.list().unwrap().len(), 2);
    drop(user.stdin.take());
    user.wait().unwrap();
    let freed = bench.lab.release(bench.lab.list().unwrap());
    assert!(freed.iter().all(|(_, freed)| freed.is_ok()), "{freed:?}");
    assert!(bench.is_empty());
}

#[test]
fn a_directory_target_is_used_unchanged() {
    let bench = Workbench::new();
    let place = tempfile::tempdir().unwrap();
    let spec = || DeviceSpec::Directory { path: place.path().to_owned() };
    let none = EraseList::default();
    let acquire = || LabDevice::acquire(&variant("", spec()), &none, &bench.lab).unwrap();
    let mounted = acquire().format("", &[]).unwrap().mount(&[]).unwrap();
    assert_eq!(mounted.root(), place.path().canonicalize().unwrap());
    assert!(mounted.record().is_some() && !mounted.can_remount());
    mounted.release().unwrap().release().unwrap();
    assert!(place.path().is_dir());
    assert!(acquire().format("", &words(&["-x"])).is_err());
    assert!(acquire().format("", &[]).unwrap().mount(&words(&["ro"])).is_err());
    assert!(acquire().format("", &[]).unwrap().mount(&[]).unwrap().remount_cold().is_err());
    for wrong in [variant("tmpfs", spec()), on_images("", 1, MIB), on_blocks("tmpfs", &[])] {
        assert!(LabDevice::acquire(&wrong, &none, &bench.lab).is_err(), "{wrong:?}");
    }
}
