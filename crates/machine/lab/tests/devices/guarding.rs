//! A device in use is refused even when named with `--erase`; only a named device is erased.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use treering_lab::{EraseList, FormatObstacle, Inspection, LabDevice, inspect};
use treering_sys::{DeviceOpenMode, MountOptions, mount, open_device, unmount};

use crate::workbench::{
    ForeignDisk, MIB, Workbench, can_make_devices, erasing, on_blocks, program, reported, run,
    words,
};

/// Tries to acquire the disk with and without naming it, and returns the messages of both refusals.
fn refused_either_way(bench: &Workbench, disk: &Path) -> String {
    let variant = on_blocks("ext4", &[disk]);
    let plain = reported(LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
    let named = reported(LabDevice::acquire(&variant, &erasing(disk), &bench.lab));
    assert_eq!(plain, named);
    plain
}

/// Message of the refusal while a shell has the disk open with `redirection`, and ID of the shell.
fn refused_while_open(bench: &Workbench, disk: &Path, redirection: &str) -> (String, u32) {
    let script = format!("exec 3{redirection}{}; echo ready; read gone", disk.display());
    let mut holder = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = holder.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut String::new()).unwrap();
    let words = refused_either_way(bench, disk);
    drop(holder.stdin.take());
    holder.wait().unwrap();
    (words, holder.id())
}

fn format(node: &Path) -> bool {
    let Some(mkfs) = program("mkfs.ext4") else {
        println!("skipped: mkfs.ext4 is absent (package e2fsprogs)");
        return false;
    };
    run(&mkfs, &words(&["-q", "-F", node.to_str().unwrap()]), "").unwrap();
    true
}

#[test]
fn a_mounted_device_is_refused_even_when_it_is_named() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let disk = ForeignDisk::new(64 * MIB);
    if !format(&disk.node) {
        return;
    }
    let point = bench.top.path().join("mounted");
    std::fs::create_dir(&point).unwrap();
    let options = MountOptions::parse::<&str>(&[]).unwrap();
    mount(disk.node.as_os_str(), &point, "ext4", &options).unwrap();
    let inspection = inspect(&disk.node).unwrap();
    let words = refused_either_way(&bench, &disk.node);
    unmount(&point).unwrap();
    assert!(words.contains(&format!("is mounted at {}", point.display())), "{words}");
    let mounted = |obstacle: &FormatObstacle| matches!(obstacle, FormatObstacle::Mounted { .. });
    assert!(inspection.is_in_use() && inspection.obstacles.iter().any(mounted));
    assert!(!inspect(&disk.node).unwrap().is_in_use());
}

#[test]
fn a_partitioned_disk_is_refused_and_a_mounted_partition_blocks_erasing_it() {
    if !can_make_devices() {
        return;
    }
    let (Some(sfdisk), Some(partx)) = (program("sfdisk"), program("partx")) else {
        println!("skipped: sfdisk or partx is absent (packages fdisk, util-linux)");
        return;
    };
    let bench = Workbench::new();
    let disk = ForeignDisk::new(128 * MIB);
    let node = disk.node.to_str().unwrap();
    run(&sfdisk, &words(&["-q", "--no-tell-kernel", node]), "label: gpt\n,64M\n").unwrap();
    // Tells kernels without GPT support about the partition; others have already found it.
    let _found_already = run(&partx, &words(&["-a", node]), "");
    let partition = Path::new(&format!("{node}p1")).to_owned();
    let began = Instant::now();
    while !partition.exists() && began.elapsed() < Duration::from_secs(2) {
        sleep(Duration::from_millis(20));
    }
    if !partition.exists() {
        println!("skipped: the kernel makes no partitions on loop devices");
        return;
    }
    let variant = on_blocks("ext4", &[&disk.node]);
    let words = reported(LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
    assert!(words.contains("has partitions (loop") && words.contains("GPT"), "{words}");
    // Naming the partition does not name the disk.
    let words = reported(LabDevice::acquire(&variant, &erasing(&partition), &bench.lab));
    assert!(words.contains("has partitions"), "{words}");
    assert!(format(&partition));
    let point = bench.top.path().join("mounted");
    std::fs::create_dir(&point).unwrap();
    let options = MountOptions::parse(&["ro"]).unwrap();
    mount(partition.as_os_str(), &point, "ext4", &options).unwrap();
    let words = refused_in_use(&bench, &disk.node);
    unmount(&point).unwrap();
    assert!(words.contains("p1 is mounted at"), "{words}");
    // An unused and named disk is erased together with its partitions.
    let device = LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab).unwrap();
    device.release().unwrap();
    assert!(!partition.exists());
    assert!(is_unrecognisable(&disk.node));
}

/// True if no signature on the device is recognised any more; there may still be data.
fn is_unrecognisable(node: &Path) -> bool {
    let obstacles = inspect(node).unwrap().obstacles;
    obstacles.iter().all(|obstacle| matches!(obstacle, FormatObstacle::Data { .. }))
}

fn refused_in_use(bench: &Workbench, disk: &Path) -> String {
    let words = refused_either_way(bench, disk);
    assert!(inspect(disk).unwrap().is_in_use());
    words
}

#[test]
fn swap_in_use_is_refused() {
    if !can_make_devices() {
        return;
    }
    let (Some(mkswap), Some(swapon), Some(swapoff)) =
        (program("mkswap"), program("swapon"), program("swapoff"))
    else {
        println!("skipped: swapon is absent (package mount)");
        return;
    };
    let bench = Workbench::new();
    let disk = ForeignDisk::new(16 * MIB);
    let node = words(&[disk.node.to_str().unwrap()]);
    run(&mkswap, &node, "").unwrap();
    if let Err(why) = run(&swapon, &node, "") {
        println!("skipped: no swap on a loop device: {why}");
        return;
    }
    let words = refused_in_use(&bench, &disk.node);
    run(&swapoff, &node, "").unwrap();
    assert!(words.contains("is swap in use"), "{words}");
}

#[test]
fn an_exclusively_opened_device_is_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let disk = ForeignDisk::new(16 * MIB);
    // Exclusive opens conflict also within one process.
    let alone = open_device(&disk.node, DeviceOpenMode::LookAlone).unwrap();
    let words = refused_in_use(&bench, &disk.node);
    drop(alone);
    assert!(words.contains("has it open exclusively"), "{words}");
    assert_eq!(inspect(&disk.node).unwrap().obstacles, []);
}

#[test]
fn a_device_that_another_process_writes_to_is_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let disk = ForeignDisk::new(16 * MIB);
    let (words, holder) = refused_while_open(&bench, &disk.node, "<>");
    let writer = format!("is open for writing in sh (process {holder})");
    assert!(words.contains(&writer), "{words}");
    assert_eq!(inspect(&disk.node).unwrap().obstacles, []);
}

#[test]
fn a_device_that_another_process_reads_is_not_erased_and_the_reader_is_named() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let disk = ForeignDisk::new(16 * MIB);
    File::options().write(true).open(&disk.image).unwrap().write_all_at(b"x", 5 * MIB).unwrap();
    let (words, holder) = refused_while_open(&bench, &disk.node, "<");
    let reader = format!("is open for reading in sh (process {holder})");
    assert!(words.contains(&reader), "{words}");
    let variant = on_blocks("ext4", &[&disk.node]);
    LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab).unwrap().release().unwrap();
}

/// Makes the kernel know a partition of a loop device whose file has a partition table.
fn add_partition(node: &Path) -> bool {
    let (Some(sfdisk), Some(partx)) = (program("sfdisk"), program("partx")) else {
        println!("skipped: sfdisk or partx is absent (packages fdisk, util-linux)");
        return false;
    };
    let name = node.to_str().unwrap();
    run(&sfdisk, &words(&["-q", "--no-tell-kernel", name]), "label: dos\n,8M\n").unwrap();
    if let Err(why) = run(&partx, &words(&["--add", name]), "") {
        println!("skipped: the kernel makes no partitions on loop devices: {why}");
        return false;
    }
    true
}

fn has_partitions(node: &Path) -> bool {
    let name = node.file_name().unwrap().to_str().unwrap().to_owned();
    Path::new("/sys/block").join(&name).join(format!("{name}p1")).exists()
}

#[test]
fn partitions_without_a_table_in_the_backing_file_are_leftovers() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let disk = ForeignDisk::new(32 * MIB);
    if !add_partition(&disk.node) {
        return;
    }
    let variant = on_blocks("ext4", &[&disk.node]);
    let refused = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap_err();
    assert!(refused.to_string().contains("it has partitions (loop"), "{refused}");
    let image = File::options().write(true).open(&disk.image).unwrap();
    image.write_all_at(&[0; 512], 0).unwrap();
    let refused = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap_err();
    let words = refused.to_string();
    assert!(words.contains("that an earlier file left on the loop device"), "{words}");
    let delete = format!("`partx --delete {}` removes them", disk.node.display());
    let hint = refused.hint().unwrap();
    assert!(hint.contains(&delete) && !hint.contains("--erase"), "{hint}");
    // Partitions of a named device are also removed, although the kernel reads no partition table
    // of this loop device.
    let device = LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab).unwrap();
    device.release().unwrap();
    assert!(!has_partitions(&disk.node));
    assert_eq!(inspect(&disk.node).unwrap().obstacles, []);
}

#[test]
fn a_lab_loop_device_has_no_partitions_of_an_earlier_file() {
    if !can_make_devices() {
        return;
    }
    let top = tempfile::TempDir::new_in("/var/tmp").unwrap();
    let image = top.path().join("disk.img");
    File::create_new(&image).unwrap().set_len(32 * MIB).unwrap();
    // The kernel would itself remove partitions that it had found itself.
    let mut disk = ForeignDisk::without_partitions(top, image);
    if !add_partition(&disk.node) {
        return;
    }
    disk.detach();
    let left = has_partitions(&disk.node);
    let reattached =
        ForeignDisk::without_partitions(tempfile::tempdir().unwrap(), disk.image.clone());
    assert!(!has_partitions(&reattached.node));
    if reattached.node != disk.node {
        // Another test has got the old loop device, so its partition is removed here.
        let _taken =
            run(&program("partx").unwrap(), &words(&["--delete", disk.node.to_str().unwrap()]), "");
    }
    println!("partitions were left: {left}; the same device: {}", reattached.node == disk.node);
}

#[test]
fn a_device_below_a_loop_device_is_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let below = ForeignDisk::new(32 * MIB);
    let place = tempfile::tempdir().unwrap();
    let above = ForeignDisk::attach(place, below.node.clone());
    let words = refused_in_use(&bench, &below.node);
    let name = above.node.file_name().unwrap().to_str().unwrap().to_owned();
    drop(above);
    assert!(words.contains(&format!("is held by {name}")), "{words}");
}

#[test]
fn a_second_loop_device_on_a_file_in_use_is_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let first = ForeignDisk::new(64 * MIB);
    if !format(&first.node) {
        return;
    }
    let second = ForeignDisk::attach(tempfile::tempdir().unwrap(), first.image.clone());
    let name = |disk: &ForeignDisk| disk.node.file_name().unwrap().to_str().unwrap().to_owned();
    let (first_name, second_name) = (name(&first), name(&second));
    let same_bytes = format!("{first_name} is a loop device on the same bytes as {second_name}");
    let words = refused_in_use(&bench, &second.node);
    assert!(words.contains(&same_bytes) && !words.contains("mounted"), "{words}");
    let point = bench.top.path().join("mounted");
    std::fs::create_dir(&point).unwrap();
    let options = MountOptions::parse::<&str>(&[]).unwrap();
    mount(first.node.as_os_str(), &point, "ext4", &options).unwrap();
    let words = refused_in_use(&bench, &second.node);
    // A third loop device is on top of the other one.
    let above = ForeignDisk::attach(tempfile::tempdir().unwrap(), first.node.clone());
    let through = refused_in_use(&bench, &above.node);
    drop(above);
    unmount(&point).unwrap();
    let mounted = format!("{first_name} is mounted at {}", point.display());
    assert!(words.contains(&same_bytes) && words.contains(&mounted), "{words}");
    assert!(through.contains(&mounted), "{through}");
    drop(second);
    assert!(!inspect(&first.node).unwrap().is_in_use());
}

#[test]
fn data_of_an_unknown_kind_is_refused_until_the_device_is_named() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    // The size is no multiple of MiB or of pages.
    let bytes = 64 * MIB + 512;
    let edges = [5, MIB - 1, bytes / 2 + 7, bytes - MIB, bytes - 1];
    let between = [MIB, 16 * MIB + 3, bytes * 37 / 100, bytes - MIB - 1];
    for at in edges.into_iter().chain(between) {
        let disk = ForeignDisk::new(bytes);
        File::options().write(true).open(&disk.image).unwrap().write_all_at(b"x", at).unwrap();
        assert_eq!(inspect(&disk.node).unwrap().obstacles, [FormatObstacle::Data { offset: at }]);
        let variant = on_blocks("ext4", &[&disk.node]);
        let refused = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap_err();
        let words = refused.to_string();
        assert!(words.contains("data of an unknown kind at "), "{words}");
        assert!(words.contains(&format!("byte {at}")), "{words}");
        assert!(words.starts_with("refusing to format /dev/loop"), "{words}");
        let hint = refused.hint().unwrap();
        assert!(hint.contains(&format!("--erase {}", disk.node.display())), "{hint}");
        let mut byte = [0];
        File::open(&disk.image).unwrap().read_exact_at(&mut byte, at).unwrap();
        assert_eq!(&byte, b"x", "untouched");
        let device = LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab).unwrap();
        if edges.contains(&at) {
            assert_eq!(inspect(&disk.node).unwrap().obstacles, []);
        }
        if program("mkfs.ext4").is_some() {
            // Content of this run is no obstacle to its own next round, but is one to the next run.
            let device = device.format("ext4", &[]).unwrap().into_device();
            let device = device.format("ext4", &[]).unwrap().into_device();
            device.release().unwrap();
            let refusal = reported(LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
            assert!(refusal.contains("contains ext4"), "{refusal}");
        }
    }
}

#[test]
fn only_the_named_device_is_erased_and_a_link_is_reported() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let (first, second) = (ForeignDisk::new(64 * MIB), ForeignDisk::new(64 * MIB));
    if !format(&first.node) || !format(&second.node) {
        return;
    }
    let link = bench.top.path().join("by-name");
    symlink(&first.node, &link).unwrap();
    let both = on_blocks("btrfs", &[&link, &second.node]);
    let words = reported(LabDevice::acquire(&both, &erasing(&first.node), &bench.lab));
    let refusal = format!("refusing to format {}", second.node.display());
    assert!(words.starts_with(&refusal), "{words}");
    // The second device was refused, so the first was not changed: its superblock and copies are
    // intact.
    let carries = |inspection: Inspection| {
        let is_ext4 = |obstacle: &FormatObstacle| match obstacle {
            FormatObstacle::Carries(signature) => signature.name == "ext4",
            _ => false,
        };
        inspection.obstacles.len() > 1 && inspection.obstacles.iter().all(is_ext4)
    };
    assert!(carries(inspect(&first.node).unwrap()) && carries(inspect(&second.node).unwrap()));
    let variant = on_blocks("ext4", &[&link]);
    let words = reported(LabDevice::acquire(&variant, &erasing(&second.node), &bench.lab));
    assert!(words.contains(&format!("(that is {})", first.node.display())), "{words}");
    let twice = on_blocks("btrfs", &[&link, &first.node]);
    let words = reported(LabDevice::acquire(&twice, &erasing(&first.node), &bench.lab));
    assert!(words.contains("are the same device"), "{words}");
    let device = LabDevice::acquire(&variant, &erasing(&link), &bench.lab).unwrap();
    assert_eq!(device.members()[0].node, first.node);
    // A device acquired by one run is refused to another.
    let words = reported(LabDevice::acquire(&variant, &erasing(&link), &bench.lab));
    assert!(words.contains("another run of treering"), "{words}");
    device.release().unwrap();
    assert!(is_unrecognisable(&first.node));
    assert!(carries(inspect(&second.node).unwrap()));
}

#[test]
fn a_device_formatted_by_others_after_acquisition_is_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let disk = ForeignDisk::new(64 * MIB);
    let variant = on_blocks("ext4", &[&disk.node]);
    let device = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap();
    let write = |words: &[u8], at| {
        let image = File::options().write(true).open(&disk.image).unwrap();
        image.write_all_at(words, at).unwrap();
    };
    write(b"XFSB", 0);
    let words = reported(device.format("ext4", &[]));
    assert!(words.contains("contains XFS"), "{words}");
    write(&[0; 4], 0);
    let device = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap();
    write(b"a table of somebody's", 32 * MIB);
    let words = reported(device.format("ext4", &[]));
    assert!(words.contains("data of an unknown kind at 32.0 MiB (byte 33554432)"), "{words}");
    // The search finds a byte anywhere, not only where data usually is.
    write(&[0; 21], 32 * MIB);
    let device = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab).unwrap();
    write(b"x", 20 * MIB);
    let words = reported(device.format("ext4", &[]));
    assert!(words.contains("data of an unknown kind at 20.0 MiB"), "{words}");
}

#[test]
fn a_signature_written_to_the_file_below_is_found_while_another_holds_the_device_open() {
    if !can_make_devices() {
        return;
    }
    let disk = ForeignDisk::new(64 * MIB);
    let reader = File::open(&disk.node).unwrap();
    // The device's page cache now has the first page, as zeroes.
    reader.read_exact_at(&mut [0; 4096], 0).unwrap();
    let image = File::options().write(true).open(&disk.image).unwrap();
    image.write_all_at(b"XFSB", 0).unwrap();
    let obstacles = inspect(&disk.node).unwrap().obstacles;
    let is_xfs = |obstacle: &FormatObstacle| obstacle.to_string().contains("contains XFS");
    assert!(obstacles.iter().any(is_xfs), "{obstacles:?}");
}

#[test]
fn a_device_that_cannot_be_read_is_refused() {
    if !can_make_devices() {
        return;
    }
    let Some(dmsetup) = program("dmsetup") else {
        println!("skipped: dmsetup is absent (package dmsetup)");
        return;
    };
    let bench = Workbench::new();
    let disk = ForeignDisk::new(64 * MIB);
    let name = format!("treering-test-{}", std::process::id());
    let node = disk.node.display();
    // Reads of a range in the middle of the device fail.
    let table =
        format!("0 65536 linear {node} 0\n65536 16 error\n65552 65520 linear {node} 65552\n");
    if let Err(why) = run(&dmsetup, &words(&["create", "--noudevsync", &name]), &table) {
        println!("skipped: no device mapper: {why}");
        return;
    }
    let mapped = Path::new("/dev/mapper").join(&name);
    let variant = on_blocks("ext4", &[&mapped]);
    let plain = reported(LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
    let named = reported(LabDevice::acquire(&variant, &erasing(&mapped), &bench.lab));
    run(&dmsetup, &words(&["remove", "--noudevsync", "--retry", &name]), "").unwrap();
    assert!(plain.starts_with("cannot read") && plain == named, "{plain}, {named}");
}

#[test]
fn an_unusable_device_is_refused_before_an_image_is_made() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    for (path, why) in [("/dev/null", "not a block device"), ("/dev/no-such-disk", "cannot find")] {
        let variant = on_blocks("ext4", &[Path::new(path)]);
        let words = reported(LabDevice::acquire(&variant, &erasing(Path::new(path)), &bench.lab));
        assert!(words.contains(why), "{words}");
    }
    // Another program may take the number of a detached device at once.
    let is_empty_when_detached = || {
        let node = ForeignDisk::new(16 * MIB).node.clone();
        let inspected = inspect(&node).map(|inspected| inspected.obstacles);
        inspected.is_err() || inspected.is_ok_and(|list| list == [FormatObstacle::Empty])
    };
    assert!((0..50).any(|_| is_empty_when_detached()));
    let small = ForeignDisk::new(16 * MIB);
    let variant = on_blocks("xfs", &[&small.node]);
    let words = reported(LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
    assert!(words.contains("xfs needs"), "{words}");
}
