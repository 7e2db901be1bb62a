//! Tests that formats made by real tools are refused even if their beginning or end was wiped: by a
//! backup superblock if there is one, and by any remaining byte.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tempfile::TempDir;
use treering_lab::{EraseList, FormatObstacle, Inspection, LabDevice, SearchCoverage, inspect};

use crate::workbench::{
    ForeignDisk, MIB, Workbench, can_make_devices, erasing, on_blocks, program, reported, run,
    words,
};

/// A format made by a tool, and the name of its backup copies.
struct WipedFormat {
    program: &'static str,
    package: &'static str,
    /// Arguments before the device.
    arguments: &'static [&'static str],
    input: &'static str,
    mebibytes: u64,
    /// Name of a backup copy found after the first MiB is gone; empty if there is no copy beyond
    /// it.
    copy: &'static str,
}

const fn made(
    copy: &'static str,
    package: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
) -> WipedFormat {
    WipedFormat { program, package, arguments, input: "", mebibytes: 320, copy }
}

impl WipedFormat {
    const fn with_mebibytes(self, mebibytes: u64) -> Self {
        Self { mebibytes, ..self }
    }

    const fn with_input(self, input: &'static str) -> Self {
        Self { input, ..self }
    }
}

const LUKS: &[&str] = &["-q", "luksFormat", "--pbkdf", "pbkdf2", "--pbkdf-force-iterations"];

const ALL: &[WipedFormat] = &[
    made("ext2", "e2fsprogs", "mkfs.ext2", &["-q", "-F"]).with_mebibytes(32),
    made("ext3", "e2fsprogs", "mkfs.ext3", &["-q", "-F"]).with_mebibytes(32),
    made("ext4", "e2fsprogs", "mkfs.ext4", &["-q", "-F"]).with_mebibytes(32),
    made("ext4", "e2fsprogs", "mkfs.ext4", &["-q", "-F", "-b", "1024"]).with_mebibytes(64),
    made("ext4", "e2fsprogs", "mkfs.ext4", &["-q", "-F", "-b", "2048"]).with_mebibytes(64),
    made("ext4", "e2fsprogs", "mkfs.ext4", &["-q", "-F", "-O", "^sparse_super,^resize_inode"])
        .with_mebibytes(32),
    made("XFS", "xfsprogs", "mkfs.xfs", &["-q"]),
    made("XFS", "xfsprogs", "mkfs.xfs", &["-q", "-d", "agcount=3"]),
    made("btrfs", "btrfs-progs", "mkfs.btrfs", &["-q"]).with_mebibytes(128),
    made("", "f2fs-tools", "mkfs.f2fs", &["-q"]).with_mebibytes(64),
    made("NILFS2", "nilfs-tools", "mkfs.nilfs2", &["-q", "-f"]).with_mebibytes(136),
    made("", "reiserfsprogs", "mkfs.reiserfs", &["-q", "-f", "-f"]).with_mebibytes(64),
    made("", "jfsutils", "mkfs.jfs", &["-q"]).with_mebibytes(32),
    made("", "gfs2-utils", "mkfs.gfs2", &["-q", "-O", "-p", "lock_nolock"]).with_mebibytes(64),
    made("UDF", "udftools", "mkudffs", &["--blocksize=512"]).with_mebibytes(16),
    made("UDF", "udftools", "mkudffs", &["--blocksize=4096"]).with_mebibytes(16),
    made("NTFS", "ntfs-3g", "mkfs.ntfs", &["-q", "-F", "-f"]).with_mebibytes(16),
    made("", "dosfstools", "mkfs.fat", &["-F", "32"]).with_mebibytes(64),
    made("", "exfatprogs", "mkfs.exfat", &[]).with_mebibytes(16),
    made("", "cryptsetup-bin", "cryptsetup", LUKS).with_mebibytes(64).with_input("test"),
    made("LVM2 metadata", "lvm2", "pvcreate", &["-ff", "-y", "--pvmetadatacopies", "2"])
        .with_mebibytes(64),
    made("GPT partition table (backup)", "fdisk", "sfdisk", &["-q", "--no-tell-kernel"])
        .with_mebibytes(64)
        .with_input("label: gpt\n,8M\n"),
];

/// Makes the format on a device; the error is the reason why the tool cannot run here.
fn make(made: &WipedFormat) -> Result<ForeignDisk, String> {
    let Some(tool) = program(made.program) else {
        return Err(format!("{} is absent (package {})", made.program, made.package));
    };
    let top = TempDir::new_in("/var/tmp").unwrap();
    let image = top.path().join("disk.img");
    File::create_new(&image).unwrap().set_len(made.mebibytes * MIB).unwrap();
    // The test examines the content of the device, not partitions that a kernel reads from its
    // table.
    let disk = ForeignDisk::without_partitions(top, image);
    let mut arguments = words(made.arguments);
    if made.program == "cryptsetup" {
        arguments.push("1000".to_owned());
    }
    arguments.push(disk.node.to_str().unwrap().to_owned());
    if made.program == "cryptsetup" {
        arguments.push("-".to_owned());
    }
    run(&tool, &arguments, made.input)?;
    Ok(disk)
}

fn wipe(disk: &ForeignDisk, at: u64, bytes: u64) {
    let node = File::options().write(true).open(&disk.node).unwrap();
    node.write_all_at(&vec![0; usize::try_from(bytes).unwrap()], at).unwrap();
    node.sync_all().unwrap();
}

/// True if any byte of the disk is not zero.
fn has_data(disk: &ForeignDisk) -> bool {
    let zeroes = vec![0; 1 << 20];
    let content = std::fs::read(&disk.image).unwrap();
    content.chunks(zeroes.len()).any(|piece| *piece != zeroes[..piece.len()])
}

fn is_copy_of(inspection: &Inspection, name: &str) -> bool {
    let is_it = |obstacle: &FormatObstacle| match obstacle {
        FormatObstacle::Carries(signature) => signature.name == name && signature.offset >= MIB,
        _ => false,
    };
    inspection.obstacles.iter().any(is_it)
}

#[test]
fn formats_of_real_tools_are_refused_with_beginning_and_end_wiped() {
    if !can_make_devices() {
        return;
    }
    for made in ALL {
        let command = format!("{} {:?}", made.program, made.arguments);
        let disk = match make(made) {
            Ok(disk) => disk,
            Err(why) => {
                println!("skipped: {command}: {why}");
                continue;
            }
        };
        let bytes = made.mebibytes * MIB;
        let mut beginning = vec![0; 1 << 20];
        File::open(&disk.node).unwrap().read_exact_at(&mut beginning, 0).unwrap();
        for (begin, length) in [(0, 64 << 10), (0, MIB), (0, 0), (bytes - MIB, MIB)] {
            if let (0, Some(wipefs)) = (length, program("wipefs")) {
                let node = File::options().write(true).open(&disk.node).unwrap();
                node.write_all_at(&beginning, 0).unwrap();
                node.sync_all().unwrap();
                drop(node);
                let wiped = run(&wipefs, &words(&["-q", "-a", disk.node.to_str().unwrap()]), "");
                wiped.unwrap();
            } else {
                wipe(&disk, begin, length);
            }
            let inspection = inspect(&disk.node).unwrap();
            let is_free = inspection.obstacles.is_empty();
            assert_eq!(is_free, !has_data(&disk), "{command}, {length} at {begin}: {inspection:?}");
            if (begin, length) == (0, MIB) && !made.copy.is_empty() {
                assert!(is_copy_of(&inspection, made.copy), "{command}: {inspection:?}");
            }
        }
    }
}

#[test]
fn a_backup_superblock_is_named_with_its_place_and_erased_on_demand() {
    if !can_make_devices() {
        return;
    }
    let Ok(disk) = make(&made("ext4", "e2fsprogs", "mkfs.ext4", &["-q", "-F", "-b", "4096"]))
    else {
        println!("skipped: mkfs.ext4 is absent (package e2fsprogs)");
        return;
    };
    wipe(&disk, 0, MIB);
    let bench = Workbench::new();
    let variant = on_blocks("ext4", &[&disk.node]);
    let words = reported(LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
    let named = "it contains ext4 (backup superblock) at 128.0 MiB (byte 134217728)";
    assert!(words.contains(named), "{words}");
    let device = LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab).unwrap();
    // Remaining blocks are no obstacle to the following rounds.
    let device = device.format("ext4", &[]).unwrap().into_device();
    let device = device.format("ext4", &[]).unwrap().into_device();
    device.release().unwrap();
}

#[test]
fn large_images_are_read_at_their_blocks_and_large_devices_are_sampled() {
    if !can_make_devices() {
        return;
    }
    let bytes = 6 << 30;
    let below = ForeignDisk::new(bytes);
    let inspection = inspect(&below.node).unwrap();
    assert_eq!(inspection.obstacles, []);
    assert!(
        matches!(inspection.coverage, Some(SearchCoverage::Extents { bytes: 0..=MIB })),
        "{inspection:?}"
    );
    let image = File::options().write(true).open(&below.image).unwrap();
    let at = bytes * 37 / 100 + 11;
    image.write_all_at(b"x", at).unwrap();
    assert_eq!(inspect(&below.node).unwrap().obstacles, [FormatObstacle::Data { offset: at }]);
    image.write_all_at(b"\0", at).unwrap();
    // The allocated blocks of a loop device on a block device cannot be listed.
    let above = ForeignDisk::attach(TempDir::new().unwrap(), below.node.clone());
    assert_places(&above.node, None);
    // The data is longer than any part from which a sample is drawn.
    let data = vec![0x5a; 8 << 20];
    image.write_all_at(&data, at).unwrap();
    assert_places(&above.node, Some(at..at + data.len() as u64));
}

fn assert_places(node: &Path, data: Option<std::ops::Range<u64>>) {
    let inspection = inspect(node).unwrap();
    assert!(
        matches!(inspection.coverage, Some(SearchCoverage::Places { count: 4096, .. })),
        "{inspection:?}"
    );
    match (inspection.obstacles.as_slice(), data) {
        ([], None) => {}
        ([FormatObstacle::Data { offset }], Some(data)) => assert!(data.contains(offset)),
        (inspection, data) => panic!("{inspection:?}, {data:?}"),
    }
}
