//! Users of a block device: mounts, swap, devices built on it, and programs that have it open.
//!
//! The search covers the device, its partitions, all devices built on them, at any depth, and other
//! devices with the same bytes. This module does not examine the content of a device.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use treering_sys::{Mount, MountTable};

use super::FormatObstacle;
use super::below::below;
use crate::families::mounted_families;
use crate::machine::{DeviceNumber, KernelMounts, block_number, names, word};

/// Partitions of a device: kernel names and numbers.
pub(super) fn partitions(machine: &KernelMounts, of: DeviceNumber) -> Vec<(String, DeviceNumber)> {
    let Some(folder) = machine.block_folder(of) else {
        return Vec::new();
    };
    let inside = names(&folder).into_iter().filter_map(|name| {
        let child = folder.join(&name);
        let number = word(&child.join("dev"))?.parse().ok()?;
        child.join("partition").exists().then_some((name, number))
    });
    inside.collect()
}

/// All users of the device, as obstacles.
pub(super) fn users(
    machine: &KernelMounts,
    device: DeviceNumber,
) -> io::Result<Vec<FormatObstacle>> {
    let table = fs::read(machine.proc.join("self/mountinfo"))?;
    let below = below(machine, device);
    let mut search = UsageSearch {
        machine,
        mounts: MountTable::parse(&table).mounts,
        swaps: swaps(machine),
        layers: below.layers,
        seen: BTreeSet::new(),
        obstacles: Vec::new(),
    };
    search.visit(device);
    for rival in below.rivals {
        search.obstacles.push(FormatObstacle::SameBytes { name: rival.layer, other: rival.name });
        search.visit(rival.number);
    }
    for carrier in &below.carriers {
        search.visit(*carrier);
    }
    let mut obstacles = search.obstacles;
    for (name, opener) in openers(machine, device, &below.carriers) {
        let DeviceOpener { pid, program, writes } = opener;
        if writes {
            obstacles.push(FormatObstacle::OpenForWriting { name, pid, program });
        }
    }
    Ok(obstacles)
}

/// Other processes that have the device, a partition or a device below it open for reading only.
pub(super) fn readers(machine: &KernelMounts, device: DeviceNumber) -> Vec<FormatObstacle> {
    let openers = openers(machine, device, &below(machine, device).carriers).into_iter();
    let readers = openers.filter(|(_, opener)| !opener.writes);
    let obstacle = |(name, DeviceOpener { pid, program, .. })| FormatObstacle::OpenForReading {
        name,
        pid,
        program,
    };
    readers.map(obstacle).collect()
}

/// Partition indices of a device, as in its partition table.
pub(super) fn partition_numbers(machine: &KernelMounts, of: DeviceNumber) -> Vec<u32> {
    let Some(folder) = machine.block_folder(of) else { return Vec::new() };
    let number = |name: &String| word(&folder.join(name).join("partition"))?.parse().ok();
    names(&folder).iter().filter_map(number).collect()
}

struct UsageSearch<'a> {
    machine: &'a KernelMounts,
    mounts: Vec<Mount>,
    swaps: Vec<DeviceNumber>,
    /// The device and its lower layers; holders among these do not block formatting.
    layers: BTreeSet<DeviceNumber>,
    seen: BTreeSet<DeviceNumber>,
    obstacles: Vec<FormatObstacle>,
}

impl UsageSearch<'_> {
    fn name(&self, number: DeviceNumber) -> String {
        self.machine.block_name(number).unwrap_or_else(|| number.to_string())
    }

    /// Visits the device, its partitions and all devices built on them.
    fn visit(&mut self, number: DeviceNumber) {
        if !self.seen.insert(number) {
            return;
        }
        let name = self.name(number);
        self.look_at_mounts(&name, number);
        if self.swaps.contains(&number) {
            self.obstacles.push(FormatObstacle::Swap { name: name.clone() });
        }
        self.look_at_members(&name);
        for (by, made) in self.holders(number) {
            if made.is_some_and(|made| self.layers.contains(&made)) {
                continue;
            }
            self.obstacles.push(FormatObstacle::Held { name: name.clone(), by });
            if let Some(made) = made {
                self.visit(made);
            }
        }
        for (_, partition) in partitions(self.machine, number) {
            self.visit(partition);
        }
    }

    fn look_at_mounts(&mut self, name: &str, number: DeviceNumber) {
        let first_mount = self.mounts.iter().find(|mount| {
            let by_number = mount.device == (number.major, number.minor);
            // btrfs and others use device numbers of their own, but name the device as mount
            // source.
            let source = Path::new(&mount.source);
            by_number || (source.is_absolute() && block_number(source) == Some(number))
        });
        if let Some(mount) = first_mount {
            let point = mount.point.clone();
            self.obstacles.push(FormatObstacle::Mounted { name: name.to_owned(), point });
        }
    }

    /// Adds an obstacle if the device is a member of a mounted multi-device filesystem.
    fn look_at_members(&mut self, name: &str) {
        for family in mounted_families(self.machine) {
            if family.devices.iter().any(|device| device == name) {
                let of = format!("the mounted {} {}", family.filesystem, family.uuid);
                self.obstacles.push(FormatObstacle::Member { name: name.to_owned(), of });
            }
        }
    }

    /// Devices built on a device: description, and number if it is a block device.
    fn holders(&self, of: DeviceNumber) -> Vec<(String, Option<DeviceNumber>)> {
        let mut devices = Vec::new();
        if let Some(folder) = self.machine.block_folder(of) {
            for holder in names(&folder.join("holders")) {
                let holder_folder = folder.join("holders").join(&holder);
                let number = word(&holder_folder.join("dev")).and_then(|text| text.parse().ok());
                let by = match word(&holder_folder.join("dm/name")) {
                    Some(mapped) => format!("{holder} ({mapped})"),
                    None => holder,
                };
                devices.push((by, number));
            }
        }
        // The kernel lists no holder for a loop device on top of a block device.
        for (name, folder) in self.machine.block_devices_with("loop") {
            let file = word(&folder.join("loop/backing_file"));
            let file = file.map(|path| path.trim_end_matches(" (deleted)").to_owned());
            if file.is_some_and(|path| block_number(Path::new(&path)) == Some(of)) {
                let number = word(&folder.join("dev")).and_then(|text| text.parse().ok());
                devices.push((name, number));
            }
        }
        devices
    }
}

/// Block devices in use as swap.
fn swaps(machine: &KernelMounts) -> Vec<DeviceNumber> {
    let text = fs::read(machine.proc.join("swaps")).unwrap_or_default();
    let lines = text.split(|&byte| byte == b'\n').skip(1);
    lines.filter_map(|line| block_number(&unescape(line))).collect()
}

/// Unescapes the first field of a line, in which a backslash and three octal digits stand for a
/// blank.
fn unescape(line: &[u8]) -> PathBuf {
    let field = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let mut plain = Vec::with_capacity(field.len());
    let mut unread = field;
    while let Some((&byte, after)) = unread.split_first() {
        let digits = after.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(value) if byte == b'\\' => {
                plain.push(value);
                unread = &after[3..];
            }
            _ => {
                plain.push(byte);
                unread = after;
            }
        }
    }
    std::ffi::OsString::from_vec(plain).into()
}

/// A process that has a device open, but not exclusively, such as a virtual machine.
struct DeviceOpener {
    pid: String,
    program: String,
    writes: bool,
}

/// Other processes that have the device, a partition or a device below it open, each with the
/// kernel name of the open device.
fn openers(
    machine: &KernelMounts,
    device: DeviceNumber,
    below: &[DeviceNumber],
) -> Vec<(String, DeviceOpener)> {
    let mut numbers = vec![device];
    numbers.extend(below);
    numbers.extend(partitions(machine, device).into_iter().map(|(_, number)| number));
    let own_pid = std::process::id().to_string();
    let is_other = |pid: &String| pid.bytes().all(|byte| byte.is_ascii_digit()) && *pid != own_pid;
    let mut processes = Vec::new();
    for pid in names(&machine.proc).into_iter().filter(is_other) {
        let open = open_devices(&machine.proc.join(&pid));
        for number in &numbers {
            let mut uses = open.iter().filter(|(open, _)| open == number).map(|(_, writes)| writes);
            let Some(first) = uses.next().filter(|_| !is_own_fork(machine, &pid)) else { continue };
            let writes = *first || uses.any(|writes| *writes);
            let name = machine.block_name(*number).unwrap_or_else(|| number.to_string());
            let program = machine.program(&pid);
            processes.push((name, DeviceOpener { pid: pid.clone(), program, writes }));
        }
    }
    processes
}

/// True for a child of this process that has not become another program yet. Its files are copies
/// of ours, which the kernel closes when it does; that can take seconds on a busy disk.
fn is_own_fork(machine: &KernelMounts, pid: &str) -> bool {
    let status = fs::read_to_string(machine.proc.join(pid).join("status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    let is_child = parent.is_some_and(|parent| parent.trim() == std::process::id().to_string());
    let program = |process: &str| fs::read_link(machine.proc.join(process).join("exe")).ok();
    is_child && program(pid).is_some_and(|own| program("self") == Some(own))
}

/// Block devices that a process has open; `true` for writing.
fn open_devices(process: &Path) -> Vec<(DeviceNumber, bool)> {
    let open = names(&process.join("fd")).into_iter().filter_map(|fd| {
        let target = fs::read_link(process.join("fd").join(&fd)).ok()?;
        // Only a path below /dev is resolved to a number: stat of a path on a dead network
        // filesystem would hang.
        let is_likely = target.as_os_str().as_bytes().starts_with(b"/dev/");
        let number = is_likely.then(|| block_number(&target)).flatten()?;
        let info = fs::read_to_string(process.join("fdinfo").join(&fd)).ok()?;
        Some((number, opened_for_writing(&info)))
    });
    open.collect()
}

fn opened_for_writing(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

#[cfg(test)]
mod tests {
    use super::{is_own_fork, opened_for_writing, partitions, unescape, users};
    use crate::guard::FormatObstacle;
    use crate::machine::{DeviceNumber, KernelMounts};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::{Path, PathBuf};

    /// Sysfs and procfs of a machine, faked by ordinary files.
    struct FakeMachine {
        top: tempfile::TempDir,
    }

    impl FakeMachine {
        fn new(mounts: &str) -> Self {
            let fake = Self { top: tempfile::tempdir().unwrap() };
            fake.write("proc/self/mountinfo", mounts);
            fs::create_dir_all(fake.top.path().join("sys/dev/block")).unwrap();
            fs::create_dir_all(fake.top.path().join("sys/block")).unwrap();
            fake
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn device(&self, folder: &str, number: &str) {
            self.write(&format!("sys/devices/{folder}/dev"), number);
            let link = self.top.path().join("sys/dev/block").join(number);
            symlink(self.top.path().join("sys/devices").join(folder), link).unwrap();
        }

        fn partition(&self, folder: &str, number: &str) {
            self.device(folder, number);
            self.write(&format!("sys/devices/{folder}/partition"), "1");
        }

        fn hold(&self, folder: &str, holder: &str) {
            let holders = self.top.path().join("sys/devices").join(folder).join("holders");
            fs::create_dir_all(&holders).unwrap();
            let to = self.top.path().join("sys/devices").join(holder);
            symlink(to, holders.join(Path::new(holder).file_name().unwrap())).unwrap();
        }

        fn users(&self, number: &str) -> Vec<FormatObstacle> {
            users(&self.machine(), number.parse().unwrap()).unwrap()
        }

        fn machine(&self) -> KernelMounts {
            let top = self.top.path();
            KernelMounts { sys: top.join("sys"), proc: top.join("proc") }
        }
    }

    fn mounted(name: &str, point: &str) -> FormatObstacle {
        FormatObstacle::Mounted { name: name.to_owned(), point: PathBuf::from(point) }
    }

    fn held(name: &str, by: &str) -> FormatObstacle {
        FormatObstacle::Held { name: name.to_owned(), by: by.to_owned() }
    }

    const ROOT_ON_LVM: &str = "27 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw\n\
                               28 27 8:17 / /boot rw - ext4 /dev/sdb1 rw\n";

    #[test]
    fn a_mount_is_detected_through_partition_raid_and_mapping() {
        let fake = FakeMachine::new(ROOT_ON_LVM);
        fake.device("sda", "8:0");
        fake.partition("sda/sda1", "8:1");
        fake.device("md0", "9:0");
        fake.device("dm-0", "253:0");
        fake.write("sys/devices/dm-0/dm/name", "vg-root\n");
        fake.hold("sda/sda1", "md0");
        fake.hold("md0", "dm-0");
        let users = [held("sda1", "md0"), held("md0", "dm-0 (vg-root)"), mounted("dm-0", "/")];
        assert_eq!(fake.users("8:0"), users);
        assert_eq!(fake.users("8:1"), users);
        assert_eq!(fake.users("253:0"), users[2..]);
    }

    #[test]
    fn a_mounted_partition_blocks_its_disk_but_no_other_partition() {
        let fake = FakeMachine::new(ROOT_ON_LVM);
        fake.device("sdb", "8:16");
        fake.partition("sdb/sdb1", "8:17");
        fake.partition("sdb/sdb2", "8:18");
        fake.write("sys/devices/sdb/queue/dev", "not a partition");
        assert_eq!(fake.users("8:16"), [mounted("sdb1", "/boot")]);
        assert_eq!(fake.users("8:18"), []);
        let names: Vec<_> = partitions(&fake.machine(), DeviceNumber { major: 8, minor: 16 })
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["sdb1", "sdb2"]);
    }

    #[test]
    fn members_of_mounted_filesystems_are_found_by_name() {
        let fake = FakeMachine::new("");
        fake.device("sdc", "8:32");
        fake.device("sdd", "8:48");
        fake.write("sys/fs/btrfs/0-1-2/devices/sdc", "");
        fake.write("sys/fs/btrfs/features/raid56", "");
        fs::create_dir_all(fake.top.path().join("sys/fs/bcachefs/9-9/dev-0")).unwrap();
        let block = fake.top.path().join("sys/fs/bcachefs/9-9/dev-0/block");
        symlink(fake.top.path().join("sys/devices/sdd"), block).unwrap();
        let member = |name: &str, of: &str| {
            [FormatObstacle::Member { name: name.to_owned(), of: of.to_owned() }]
        };
        assert_eq!(fake.users("8:32"), member("sdc", "the mounted btrfs 0-1-2"));
        assert_eq!(fake.users("8:48"), member("sdd", "the mounted bcachefs 9-9"));
    }

    #[test]
    fn a_child_is_our_fork_until_it_becomes_another_program() {
        let fake = FakeMachine::new("");
        let own = std::process::id();
        for (pid, parent, program) in [("7", own, "/x"), ("8", own, "/mkfs"), ("9", 1, "/x")] {
            fake.write(&format!("proc/{pid}/status"), &format!("Name:\tx\nPPid:\t{parent}\n"));
            symlink(program, fake.top.path().join(format!("proc/{pid}/exe"))).unwrap();
        }
        assert!(!is_own_fork(&fake.machine(), "7"), "our own program is unknown");
        symlink("/x", fake.top.path().join("proc/self/exe")).unwrap();
        let is_fork = |pid| is_own_fork(&fake.machine(), pid);
        assert_eq!(["7", "8", "9", "10"].map(is_fork), [true, false, false, false]);
    }

    #[test]
    fn a_cycle_of_holders_terminates() {
        let fake = FakeMachine::new("");
        fake.device("dm-1", "253:1");
        fake.device("dm-2", "253:2");
        fake.hold("dm-1", "dm-2");
        fake.hold("dm-2", "dm-1");
        assert_eq!(fake.users("253:1"), [held("dm-1", "dm-2")]);
    }

    #[test]
    fn users_of_the_backing_file_or_lower_device_use_the_loop_device() {
        let fake = FakeMachine::new("30 1 7:990 / /mnt rw - ext4 /dev/loop990 rw\n");
        let file = fake.top.path().join("image");
        fs::write(&file, "").unwrap();
        let attach = |name: &str, number: &str, offset: &str, sectors: &str| {
            fake.device(&format!("block/{name}"), number);
            let folder = format!("sys/devices/block/{name}");
            fake.write(&format!("{folder}/loop/backing_file"), file.to_str().unwrap());
            fake.write(&format!("{folder}/loop/offset"), offset);
            fake.write(&format!("{folder}/size"), sectors);
            let link = fake.top.path().join("sys/block").join(name);
            symlink(fake.top.path().join(&folder), link).unwrap();
        };
        attach("loop990", "7:990", "0", "2048");
        attach("loop991", "7:991", "4096", "2040");
        attach("loop992", "7:992", "1048576", "2048");
        let same = |name: &str, other: &str| FormatObstacle::SameBytes {
            name: name.to_owned(),
            other: other.to_owned(),
        };
        assert_eq!(fake.users("7:991"), [same("loop991", "loop990"), mounted("loop990", "/mnt")]);
        assert_eq!(fake.users("7:992"), [], "other bytes of the file");
        fake.device("dm-7", "253:7");
        fs::create_dir_all(fake.top.path().join("sys/devices/dm-7/slaves")).unwrap();
        let slave = fake.top.path().join("sys/devices/dm-7/slaves/loop991");
        symlink(fake.top.path().join("sys/devices/block/loop991"), slave).unwrap();
        let through = fake.users("253:7");
        assert_eq!(through, [same("loop991", "loop990"), mounted("loop990", "/mnt")]);
        fake.partition("block/loop992/loop992p1", "259:5");
        fake.write("sys/devices/block/loop992/loop992p1/start", "0");
        assert_eq!(fake.users("259:5"), []);
        attach("loop993", "7:993", "1048576", "8");
        assert_eq!(fake.users("259:5"), [same("loop992", "loop993")]);
    }

    #[test]
    fn an_unknown_device_has_no_users_and_missing_mountinfo_is_an_error() {
        let fake = FakeMachine::new("");
        assert_eq!(fake.users("99:99"), []);
        let machine = KernelMounts { proc: PathBuf::from("/nowhere"), ..fake.machine() };
        assert!(users(&machine, DeviceNumber { major: 1, minor: 1 }).is_err());
    }

    #[test]
    fn proc_fields_are_unescaped() {
        assert_eq!(unescape(b"/dev/a\\040b\\134\tpartition 1"), Path::new("/dev/a b\\"));
        assert_eq!(unescape(b"/a\\9\\77"), Path::new("/a\\9\\77"));
        assert!(opened_for_writing("pos:\t0\nflags:\t0100002\nmnt_id:\t24\n"));
        assert!(!opened_for_writing("pos:\t0\nflags:\t0100000\n"));
        assert!(!opened_for_writing("nothing"));
    }
}
