//! Tests that the guard recognises formats made by real tools, on images and on a device.
//!
//! The output names a missing tool with its package. Formats that no tool in Debian can make
//! without a special kernel or rare hardware are in the unit tests beside the signatures.

use std::fs::File;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use treering_lab::{DeviceError, EraseList, FormatObstacle, LabDevice, LabError, find_signatures};

use crate::workbench::{
    ForeignDisk, MIB, Workbench, can_make_devices, erasing, on_blocks, program, run, words,
};

/// Format made by a tool.
struct FormatCase {
    /// Name that the guard must report.
    name: &'static str,
    package: &'static str,
    program: &'static str,
    /// Arguments: `{}` is the image, `{tree}` a directory with a file in it.
    arguments: &'static [&'static str],
    input: &'static str,
    mebibytes: u64,
    place: TargetFile,
}

/// Kind of file that the tool writes to.
#[derive(Clone, Copy, PartialEq)]
enum TargetFile {
    /// An existing image file.
    Image,
    /// An image file that the tool makes itself.
    ToolMakesImage,
    /// A block device only.
    Device,
    /// An image that must not become a device, since a running system would assemble it.
    ImageOnly,
}

const fn image(
    name: &'static str,
    package: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
) -> FormatCase {
    FormatCase {
        name,
        package,
        program,
        arguments,
        input: "",
        mebibytes: 320,
        place: TargetFile::Image,
    }
}

impl FormatCase {
    const fn with_mebibytes(self, mebibytes: u64) -> Self {
        Self { mebibytes, ..self }
    }

    const fn at(self, place: TargetFile) -> Self {
        Self { place, ..self }
    }

    const fn with_input(self, input: &'static str) -> Self {
        Self { input, ..self }
    }
}

const LUKS_1: &[&str] =
    &["-q", "luksFormat", "--type", "luks1", "--pbkdf-force-iterations", "1000", "{}", "-"];
const LUKS_2: &[&str] = &[
    "-q",
    "luksFormat",
    "--type",
    "luks2",
    "--pbkdf",
    "pbkdf2",
    "--pbkdf-force-iterations",
    "1000",
    "{}",
    "-",
];
const OCFS2: &[&str] = &["-q", "-F", "-T", "datafiles", "-N", "1", "-M", "local", "{}"];

const CASES: &[FormatCase] = &[
    image("ext2", "e2fsprogs", "mkfs.ext2", &["-q", "-F", "{}"]),
    image("ext3", "e2fsprogs", "mkfs.ext3", &["-q", "-F", "{}"]),
    image("ext4", "e2fsprogs", "mkfs.ext4", &["-q", "-F", "{}"]),
    image("ext journal", "e2fsprogs", "mke2fs", &["-q", "-F", "-O", "journal_dev", "{}"]),
    image("XFS", "xfsprogs", "mkfs.xfs", &["-q", "{}"]),
    image("btrfs", "btrfs-progs", "mkfs.btrfs", &["-q", "{}"]),
    image("F2FS", "f2fs-tools", "mkfs.f2fs", &["-q", "{}"]),
    image("swap", "util-linux", "mkswap", &["-p", "4096", "{}"]),
    image("swap", "util-linux", "mkswap", &["-p", "8192", "{}"]),
    image("swap", "util-linux", "mkswap", &["-p", "16384", "{}"]),
    image("swap", "util-linux", "mkswap", &["-p", "32768", "{}"]),
    image("swap", "util-linux", "mkswap", &["-p", "65536", "{}"]),
    image("LUKS", "cryptsetup-bin", "cryptsetup", LUKS_1).with_input("test"),
    image("LUKS", "cryptsetup-bin", "cryptsetup", LUKS_2).with_input("test"),
    image("LUKS2 (second header)", "cryptsetup-bin", "cryptsetup", LUKS_2).with_input("test"),
    image("dm-verity", "cryptsetup-bin", "veritysetup", &["format", "{}", "{}.hash"])
        .with_mebibytes(1),
    image("LVM2 physical volume", "lvm2", "pvcreate", &["-ff", "-y", "{}"]).at(TargetFile::Device),
    image("bcache", "bcache-tools", "make-bcache", &["-B", "{}"]).at(TargetFile::ImageOnly),
    image("bcache", "bcache-tools", "make-bcache", &["-C", "{}"]).at(TargetFile::ImageOnly),
    image("FAT", "dosfstools", "mkfs.fat", &["-F", "12", "{}"]).with_mebibytes(4),
    image("FAT", "dosfstools", "mkfs.fat", &["-F", "16", "{}"]).with_mebibytes(64),
    image("FAT", "dosfstools", "mkfs.fat", &["-F", "32", "{}"]),
    image("exFAT", "exfatprogs", "mkfs.exfat", &["{}"]),
    image("NTFS", "ntfs-3g", "mkfs.ntfs", &["-q", "-F", "-f", "{}"]),
    image("JFS", "jfsutils", "mkfs.jfs", &["-q", "{}"]),
    image("ReiserFS", "reiserfsprogs", "mkfs.reiserfs", &["-q", "-f", "-f", "{}"]),
    image("Reiser4", "reiser4progs", "mkfs.reiser4", &["-y", "-f", "{}"]),
    image("NILFS2", "nilfs-tools", "mkfs.nilfs2", &["-q", "-f", "{}"]),
    image("UDF", "udftools", "mkudffs", &["--blocksize=512", "{}"]),
    image("UDF", "udftools", "mkudffs", &["--blocksize=2048", "{}"]),
    image("UDF", "udftools", "mkudffs", &["--blocksize=4096", "{}"]),
    image("ISO 9660", "genisoimage", "genisoimage", &["-quiet", "-o", "{}", "{tree}"])
        .at(TargetFile::ToolMakesImage),
    image("HFS", "genisoimage", "genisoimage", &["-quiet", "-hfs", "-o", "{}", "{tree}"])
        .at(TargetFile::ToolMakesImage),
    image("ISO 9660", "xorriso", "xorriso", &["-as", "mkisofs", "-quiet", "-o", "{}", "{tree}"])
        .at(TargetFile::ToolMakesImage),
    image(
        "Mac partition table",
        "xorriso",
        "xorriso",
        &["-as", "mkisofs", "-quiet", "-hfsplus", "-o", "{}", "{tree}"],
    )
    .at(TargetFile::ToolMakesImage),
    image("SquashFS", "squashfs-tools", "mksquashfs", &["{tree}", "{}", "-quiet"])
        .at(TargetFile::ToolMakesImage),
    image("EROFS", "erofs-utils", "mkfs.erofs", &["{}", "{tree}"]).at(TargetFile::ToolMakesImage),
    image("cramfs", "util-linux-extra", "mkfs.cramfs", &["{tree}", "{}"])
        .at(TargetFile::ToolMakesImage),
    image("minix", "util-linux", "mkfs.minix", &["-1", "{}"]).with_mebibytes(4),
    image("minix", "util-linux", "mkfs.minix", &["-1", "-n", "14", "{}"]).with_mebibytes(4),
    image("minix", "util-linux", "mkfs.minix", &["-2", "{}"]).with_mebibytes(4),
    image("minix", "util-linux", "mkfs.minix", &["-2", "-n", "14", "{}"]).with_mebibytes(4),
    image("minix", "util-linux", "mkfs.minix", &["-3", "{}"]).with_mebibytes(4),
    image("BFS", "util-linux-extra", "mkfs.bfs", &["{}"]).with_mebibytes(4),
    image("GFS", "gfs2-utils", "mkfs.gfs2", &["-q", "-O", "-p", "lock_nolock", "{}"]),
    image("OCFS2", "ocfs2-tools", "mkfs.ocfs2", OCFS2).with_mebibytes(2560).with_input("y\n"),
    image("HFS", "hfsutils", "hformat", &["{}"]).with_mebibytes(40),
    image("UFS", "makefs", "makefs", &["-t", "ffs", "-o", "version=1", "-s", "8m", "{}", "{tree}"])
        .at(TargetFile::ToolMakesImage),
    image("UFS", "makefs", "makefs", &["-t", "ffs", "-o", "version=2", "-s", "8m", "{}", "{tree}"])
        .at(TargetFile::ToolMakesImage),
    image("UFS", "makefs", "makefs", &["-t", "ffs", "-B", "be", "-s", "8m", "{}", "{tree}"])
        .at(TargetFile::ToolMakesImage),
    image("MBR partition table", "fdisk", "sfdisk", &["-q", "{}"]).with_input("label: dos\n,8M\n"),
    image("GPT partition table", "fdisk", "sfdisk", &["-q", "{}"]).with_input("label: gpt\n,8M\n"),
    image("GPT partition table (backup)", "fdisk", "sfdisk", &["-q", "{}"])
        .with_input("label: gpt\n"),
    image("Sun disk label", "fdisk", "sfdisk", &["-q", "{}"]).with_input("label: sun\n"),
    image("SGI disk label", "fdisk", "sfdisk", &["-q", "{}"]).with_input("label: sgi\n"),
    image("BSD disk label", "parted", "parted", &["-s", "{}", "mklabel", "bsd"]),
    image("Amiga partition table", "parted", "parted", &["-s", "{}", "mklabel", "amiga"]),
    image("Mac partition table", "parted", "parted", &["-s", "{}", "mklabel", "mac"]),
    image("SGI disk label", "parted", "parted", &["-s", "{}", "mklabel", "dvh"]),
    image("MBR partition table", "parted", "parted", &["-s", "{}", "mklabel", "pc98"]),
    image("Parted loop label", "parted", "parted", &["-s", "{}", "mklabel", "loop"]),
    image(
        "Atari partition table",
        "parted",
        "parted",
        &["-s", "{}", "mklabel", "atari", "mkpart", "primary", "1MiB", "8MiB"],
    ),
    image(
        "DRBD",
        "drbd-utils",
        "drbdmeta",
        &["--force", "0", "v08", "{}", "internal", "create-md"],
    ),
];

/// Runs the tool and returns the disk, or the reason why the tool cannot run here.
fn make(case: &FormatCase) -> Result<ForeignDisk, String> {
    let Some(tool) = program(case.program) else {
        return Err(format!("{} is absent (package {})", case.program, case.package));
    };
    let top = TempDir::new_in("/var/tmp").unwrap();
    let path = top.path().join("disk.img");
    let tree = top.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("file"), "content").unwrap();
    let fill = |target: &Path| {
        let fill = |word: &&str| {
            word.replace("{tree}", tree.to_str().unwrap()).replace("{}", target.to_str().unwrap())
        };
        case.arguments.iter().map(fill).collect::<Vec<_>>()
    };
    if case.place != TargetFile::ToolMakesImage {
        File::create_new(&path).unwrap().set_len(case.mebibytes * MIB).unwrap();
    }
    if case.place == TargetFile::Device {
        let disk = ForeignDisk::attach(top, path);
        run(&tool, &fill(&disk.node), case.input)?;
        return Ok(disk);
    }
    run(&tool, &fill(&path), case.input)?;
    // veritysetup writes a second file beside the image.
    let beside = path.with_extension("img.hash");
    if beside.exists() {
        std::fs::rename(beside, &path).unwrap();
    }
    let made = File::options().write(true).open(&path).unwrap();
    let bytes = made.metadata().unwrap().len().next_multiple_of(4096);
    // Pads a small image to a disk of at least 1 MiB.
    made.set_len(bytes.max(MIB)).unwrap();
    let on_image = find_signatures(&File::open(&path).unwrap(), bytes.max(MIB)).unwrap();
    let is_known = on_image.iter().any(|signature| signature.name == case.name);
    assert!(is_known, "{} by {:?} {:?}: {on_image:?}", case.name, case.program, case.arguments);
    if case.place == TargetFile::ImageOnly {
        return Err(String::new());
    }
    Ok(ForeignDisk::attach(top, path))
}

/// Result of acquiring a device that nobody has open any more. A program that another test starts
/// has all descriptors of this process until it is executed.
fn once_closed(acquire: impl Fn() -> Result<LabDevice, LabError>) -> Result<LabDevice, LabError> {
    let began = Instant::now();
    loop {
        let acquired = acquire();
        let is_open = matches!(&acquired,
            Err(LabError::Device(DeviceError::Refused(inspection))) if inspection.is_in_use());
        if !is_open || began.elapsed() > Duration::from_secs(60) {
            return acquired;
        }
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn formats_of_real_tools_are_refused() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let mut known = 0;
    for case in CASES {
        let disk = match make(case) {
            Ok(disk) => disk,
            Err(why) if why.is_empty() => {
                known += 1;
                continue;
            }
            Err(why) => {
                println!("skipped: {} ({}): {why}", case.name, case.program);
                continue;
            }
        };
        let variant = on_blocks("ext4", &[&disk.node]);
        let refused =
            once_closed(|| LabDevice::acquire(&variant, &EraseList::default(), &bench.lab));
        let Err(LabError::Device(DeviceError::Refused(inspection))) = refused else {
            panic!("{} by {} is not refused: {refused:?}", case.name, case.program)
        };
        let carries = inspection.obstacles.iter().any(|obstacle| match obstacle {
            FormatObstacle::Carries(signature) => signature.name == case.name,
            _ => false,
        });
        assert!(carries, "{} {:?}: {inspection:?}", case.name, case.arguments);
        assert!(!inspection.is_in_use(), "{inspection:?}");
        // A named device is erased, whatever its content.
        let device = once_closed(|| LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab));
        let device = device.unwrap_or_else(|error| panic!("{} is not erased: {error}", case.name));
        let bytes = device.members()[0].bytes;
        device.release().unwrap();
        assert_eq!(find_signatures(&File::open(&disk.node).unwrap(), bytes).unwrap(), []);
        known += 1;
    }
    println!("{known} of {} signatures by real tools are known", CASES.len());
    assert!(known > 5);
    assert!(bench.is_empty());
}

#[test]
fn mdadm_raid_is_refused_running_and_stopped() {
    if !can_make_devices() {
        return;
    }
    let Some(mdadm) = program("mdadm") else {
        println!("skipped: mdadm is absent (package mdadm)");
        return;
    };
    if !Path::new("/proc/mdstat").exists() {
        println!("skipped: the kernel has no md RAID (CONFIG_BLK_DEV_MD)");
        return;
    }
    let bench = Workbench::new();
    for version in ["0.90", "1.0", "1.1", "1.2"] {
        let disk = ForeignDisk::new(64 * MIB);
        let array = format!("/dev/md/treering-test-{}", std::process::id());
        let node = disk.node.to_str().unwrap();
        let create = ["--create", &array, "--run", "--force", "--level=1", "--raid-devices=2"];
        let mut arguments = words(&create);
        arguments.extend(words(&[&format!("--metadata={version}"), node, "missing"]));
        if let Err(why) = run(&mdadm, &arguments, "") {
            println!("skipped: md RAID {version}: {why}");
            continue;
        }
        let variant = on_blocks("ext4", &[&disk.node]);
        let running = LabDevice::acquire(&variant, &erasing(&disk.node), &bench.lab);
        run(&mdadm, &words(&["--stop", &array]), "").unwrap();
        assert!(matches!(running, Err(LabError::Device(DeviceError::Refused(_)))), "{version}");
        let stopped = LabDevice::acquire(&variant, &EraseList::default(), &bench.lab);
        assert!(stopped.unwrap_err().to_string().contains("md RAID"), "{version}");
    }
}
