//! Text of a record: one fact per line. A later line overrides an earlier one, and an incomplete
//! last line is ignored. Records are accepted only in the form in which treering writes them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use treering_model::Cell;

use super::escaping::{escape, text, unescape};
use super::id::RecordId;
use crate::machine::DeviceNumber;

/// First line of a record.
const HEADER: &str = "treering lab 1";

/// Identity of a file: device and inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileNumber {
    /// Device number of the filesystem (`st_dev`).
    pub(crate) device: u64,
    /// Inode number.
    pub(crate) inode: u64,
}

/// Kind of a recorded resource, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    /// An image file and a loop device on it.
    Loop {
        /// Path of the image.
        image: PathBuf,
        /// Identity of the image file, known once it is made.
        file: Option<FileNumber>,
        /// Number of the loop device, for messages only: the device is found by its file and mark.
        number: Option<u32>,
    },
    /// An image file, a played disk over it, and a loop device on that. The ID of the record
    /// determines the mount point of the played disk.
    Played {
        /// Path of the image.
        image: PathBuf,
        /// Identity of the image file, known once it is made.
        file: Option<FileNumber>,
        /// Device number of the played disk's mount, known once it is mounted.
        mounted: Option<DeviceNumber>,
        /// Process ID and start time of the process that plays the disk.
        player: Option<(u32, u64)>,
        /// Number of the loop device, for messages.
        number: Option<u32>,
    },
    /// A mounted filesystem; the ID of the record determines its mount point.
    Mount {
        /// Filesystem type.
        fs_type: String,
        /// Numbers of the filesystem's devices; empty for a filesystem in memory.
        devices: Vec<DeviceNumber>,
        /// Device number of the mount, known once it is mounted.
        mounted: Option<DeviceNumber>,
    },
    /// A device of the device mapper; the ID of the record determines its name and UUID.
    Mapping {
        /// Type of the device's target, for messages.
        target: String,
        /// Number of the device, known once it is made.
        number: Option<DeviceNumber>,
    },
    /// An md array.
    Array(RecordedArray),
    /// A bcache device; the ID of the record determines its UUID.
    Cache {
        /// Numbers of the backing device and of the cache device.
        devices: Vec<DeviceNumber>,
    },
    /// A foreign filesystem that is temporarily unmounted, with its mount parameters.
    Unmounted(ForeignMount),
    /// Kernel settings that are temporarily changed.
    Settings {
        /// Changed attributes with their old values.
        changes: Vec<SettingChange>,
    },
    /// A cleanup command that must run after a trial, since its prepare command has run.
    Cleanup(CleanupCommand),
    /// A control group.
    Group(RecordedGroup),
}

/// An md array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedArray {
    /// RAID level.
    pub(crate) level: u32,
    /// Number N of `/dev/mdN`, which was unused.
    pub(crate) number: u32,
    /// Numbers of the array's disks.
    pub(crate) disks: Vec<DeviceNumber>,
    /// Disk sequence number, known once the array is made, if the kernel reports it.
    pub(crate) sequence: Option<u64>,
}

/// A control group of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedGroup {
    /// Folder of the group.
    pub(crate) folder: PathBuf,
    /// Identity of the folder, known once it is made.
    pub(crate) file: Option<FileNumber>,
    /// Controllers that were enabled in the parent group only for this group.
    pub(crate) enabled: Vec<String>,
}

/// A changed attribute of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingChange {
    /// Path of the attribute.
    pub(crate) path: PathBuf,
    /// Value before the change.
    pub(crate) before: String,
    /// Value after the change; `None` until it is written.
    pub(crate) after: Option<String>,
}

/// A command with its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CleanupCommand {
    /// Program and arguments.
    pub(crate) words: Vec<String>,
    /// Environment variables, as (name, value).
    pub(crate) environment: Vec<(String, String)>,
    /// Working directory.
    pub(crate) folder: PathBuf,
}

/// Parameters of a mount that treering did not make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignMount {
    /// Mount point.
    pub(crate) point: PathBuf,
    /// Path of the device node.
    pub(crate) source: PathBuf,
    /// Filesystem type.
    pub(crate) fs_type: String,
    /// Options of the mount and of the filesystem, separated by commas.
    pub(crate) options: String,
    /// ID of the mount that holds the mount point.
    pub(crate) parent: u64,
    /// True if the kernel detaches the loop device with its last user.
    pub(crate) autoclear: bool,
    /// Identity of the device.
    pub(crate) device: DeviceIdentity,
}

/// Identity of a device, which differs from that of a later device with the same name or number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeviceIdentity {
    /// Major and minor number.
    pub(crate) number: DeviceNumber,
    /// Disk sequence number, which the kernel increments for each new disk (`diskseq`, since Linux
    /// 5.15).
    pub(crate) sequence: Option<u64>,
    /// Backing file of a loop device.
    pub(crate) file: Option<FileNumber>,
    /// UUID of the filesystem, in hexadecimal digits.
    pub(crate) uuid: Option<String>,
}

impl ResourceKind {
    /// Description for messages.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Loop { image, .. } => format!("the image {}", image.display()),
            Self::Played { image, .. } => format!("the played disk on {}", image.display()),
            Self::Mount { fs_type, .. } => format!("a mounted {fs_type}"),
            Self::Mapping { target, .. } => format!("a mapped device ({target})"),
            Self::Array(array) => format!("the array md{} (raid{})", array.number, array.level),
            Self::Cache { .. } => "a cache (bcache)".to_owned(),
            Self::Unmounted(mount) => format!("the unmounted {}", mount.point.display()),
            Self::Settings { .. } => "changed settings of the kernel".to_owned(),
            Self::Group(group) => format!("the control group {}", group.folder.display()),
            Self::Cleanup(command) => format!("the command `{}`", command.words.join(" ")),
        }
    }
}

/// Plan of a run. Records name the plan, so that a resumed plan releases only its own resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanIdentity {
    /// Name, for messages.
    pub name: String,
    /// Digest by which the plan is recognised.
    pub digest: String,
}

impl From<&Cell> for PlanIdentity {
    fn from(cell: &Cell) -> Self {
        Self { name: cell.plan.clone(), digest: cell.digest.clone() }
    }
}

impl PlanIdentity {
    /// Text in a line of a record or mark, after the word `plan`.
    pub(crate) fn to_text(&self) -> String {
        let part = |text: &str| escape(text.as_bytes());
        format!("{} {}", part(&self.digest), part(&self.name))
    }

    pub(crate) fn parse(words: &str) -> Option<Self> {
        let (digest, name) = words.split_once(' ')?;
        Some(Self { name: text(name)?, digest: text(digest)? })
    }
}

/// Parsed content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordFacts {
    /// Process that made the resource.
    pub(crate) pid: u32,
    /// Start time of the process, in ticks since the boot.
    pub(crate) start: u64,
    /// Identifier of the boot.
    pub(crate) boot: String,
    /// Plan of the run; `None` outside of plans.
    pub(crate) plan: Option<PlanIdentity>,
    /// The resource.
    pub(crate) kind: ResourceKind,
}

impl RecordFacts {
    pub(crate) fn new(pid: u32, start: u64, boot: String, kind: ResourceKind) -> Self {
        Self { pid, start, boot, plan: None, kind }
    }

    pub(crate) fn with_plan(self, plan: Option<PlanIdentity>) -> Self {
        Self { plan, ..self }
    }

    /// Formats the first lines of a record.
    pub(crate) fn to_text(&self) -> String {
        let (pid, start, boot) = (self.pid, self.start, escape(self.boot.as_bytes()));
        let mut lines = vec![
            format!("{HEADER}\n"),
            format!("pid {pid}\n"),
            format!("start {start}\n"),
            format!("boot {boot}\n"),
        ];
        lines.extend(self.plan.as_ref().map(|plan| format!("plan {}\n", plan.to_text())));
        match &self.kind {
            ResourceKind::Unmounted(mount) => lines.extend(unmounted_lines(mount)),
            ResourceKind::Settings { changes } => {
                lines.push("kind settings\n".to_owned());
                for SettingChange { path, before, after } in changes {
                    lines.push(setting_line(path, before));
                    lines.extend(after.as_ref().map(|after| changed_line(path, after)));
                }
            }
            ResourceKind::Cleanup(command) => lines.extend(cleanup_lines(command)),
            ResourceKind::Group(RecordedGroup { folder, file, enabled }) => {
                lines.push("kind group\n".to_owned());
                lines.push(format!("folder {}\n", escape(folder.as_os_str().as_bytes())));
                lines.extend(file.map(file_line));
                lines.extend(enabled.iter().map(|name| controller_line(name)));
            }
            ResourceKind::Loop { image, file, number } => {
                lines.push("kind loop\n".to_owned());
                lines.push(format!("image {}\n", escape(image.as_os_str().as_bytes())));
                lines.extend(file.map(file_line));
                lines.extend(number.map(loop_line));
            }
            ResourceKind::Played { image, file, mounted, player, number } => {
                lines.push("kind played\n".to_owned());
                lines.push(format!("image {}\n", escape(image.as_os_str().as_bytes())));
                lines.extend(file.map(file_line));
                lines.extend(mounted.map(mounted_line));
                lines.extend(player.map(player_line));
                lines.extend(number.map(loop_line));
            }
            ResourceKind::Mapping { target, number } => {
                lines.push("kind mapping\n".to_owned());
                lines.push(format!("target {}\n", escape(target.as_bytes())));
                lines.extend(number.map(mapped_line));
            }
            ResourceKind::Array(RecordedArray { level, number, disks, sequence }) => {
                lines.push(format!("kind array\nlevel {level}\narray {number}\n"));
                lines.extend(disks.iter().map(|disk| format!("device {disk}\n")));
                lines.extend(sequence.map(sequence_line));
            }
            ResourceKind::Cache { devices } => {
                lines.push("kind cache\n".to_owned());
                lines.extend(devices.iter().map(|device| format!("device {device}\n")));
            }
            ResourceKind::Mount { fs_type, devices, mounted } => {
                lines.push("kind mount\n".to_owned());
                lines.push(format!("type {}\n", escape(fs_type.as_bytes())));
                lines.extend(devices.iter().map(|device| format!("device {device}\n")));
                lines.extend(mounted.map(mounted_line));
            }
        }
        lines.concat()
    }

    /// Parses a record.
    ///
    /// # Errors
    /// The reason why the record is rejected.
    pub(crate) fn parse(text: &str) -> Result<Self, RecordError> {
        // A line without a newline was cut off by a kill.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut lines = whole.lines();
        if lines.next() != Some(HEADER) {
            return Err(RecordError::Header);
        }
        let mut read = ParsedLines::default();
        for line in lines {
            read.take(line).ok_or_else(|| RecordError::Line(line.to_owned()))?;
        }
        read.facts().ok_or(RecordError::Incomplete)
    }
}

/// Reason for rejecting a record.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum RecordError {
    #[error("it does not begin as ours do")]
    Header,
    #[error("`{}`", .0.escape_debug())]
    Line(String),
    #[error("it is not complete")]
    Incomplete,
}

/// Line with the identity of an image file.
pub(crate) fn file_line(file: FileNumber) -> String {
    format!("file {} {}\n", file.device, file.inode)
}

/// Line with the number of a loop device.
pub(crate) fn loop_line(number: u32) -> String {
    format!("loop {number}\n")
}

/// Line with a controller that was enabled for a control group.
pub(crate) fn controller_line(name: &str) -> String {
    format!("controller {}\n", escape(name.as_bytes()))
}

fn unmounted_lines(mount: &ForeignMount) -> Vec<String> {
    let ForeignMount { point, source, fs_type, options, parent, autoclear, device } = mount;
    let path = |path: &Path| escape(path.as_os_str().as_bytes());
    let mut lines = vec![
        "kind unmounted\n".to_owned(),
        format!("point {}\n", path(point)),
        format!("source {}\n", path(source)),
        format!("type {}\n", escape(fs_type.as_bytes())),
        format!("options {}\n", escape(options.as_bytes())),
        format!("parent {parent}\n"),
        format!("autoclear {autoclear}\n"),
        format!("device {}\n", device.number),
    ];
    lines.extend(device.sequence.map(sequence_line));
    lines.extend(device.file.map(file_line));
    lines.extend(device.uuid.as_ref().map(|uuid| format!("uuid {}\n", escape(uuid.as_bytes()))));
    lines
}

fn cleanup_lines(command: &CleanupCommand) -> Vec<String> {
    let CleanupCommand { words, environment, folder } = command;
    let mut lines = vec![
        "kind cleanup\n".to_owned(),
        format!("folder {}\n", escape(folder.as_os_str().as_bytes())),
    ];
    lines.extend(words.iter().map(|word| format!("word {}\n", escape(word.as_bytes()))));
    let pairs = environment.iter();
    lines.extend(pairs.map(|(name, value)| {
        format!("environment {} {}\n", escape(name.as_bytes()), escape(value.as_bytes()))
    }));
    lines
}

/// Line with the value of a setting before its change.
pub(crate) fn setting_line(path: &Path, before: &str) -> String {
    format!("setting {} {}\n", escape(path.as_os_str().as_bytes()), escape(before.as_bytes()))
}

/// Line with the value of a setting after its change.
pub(crate) fn changed_line(path: &Path, after: &str) -> String {
    format!("changed {} {}\n", escape(path.as_os_str().as_bytes()), escape(after.as_bytes()))
}

/// Line with the process of a played disk, and its start time.
pub(crate) fn player_line((pid, start): (u32, u64)) -> String {
    format!("player {pid} {start}\n")
}

/// Line with the device number of a mount.
pub(crate) fn mounted_line(number: DeviceNumber) -> String {
    format!("mounted {number}\n")
}

/// Line with the disk sequence number of a device.
pub(crate) fn sequence_line(sequence: u64) -> String {
    format!("sequence {sequence}\n")
}

/// Line with the number of a mapped device.
pub(crate) fn mapped_line(number: DeviceNumber) -> String {
    format!("mapped {number}\n")
}

#[derive(Default)]
struct ParsedLines {
    pid: Option<u32>,
    start: Option<u64>,
    boot: Option<String>,
    plan: Option<PlanIdentity>,
    kind: Option<String>,
    image: Option<PathBuf>,
    file: Option<FileNumber>,
    number: Option<u32>,
    level: Option<u32>,
    player: Option<(u32, u64)>,
    fs_type: Option<String>,
    devices: Vec<DeviceNumber>,
    mounted: Option<DeviceNumber>,
    target: Option<String>,
    mapped: Option<DeviceNumber>,
    point: Option<PathBuf>,
    source: Option<PathBuf>,
    options: Option<String>,
    parent: Option<u64>,
    autoclear: Option<bool>,
    sequence: Option<u64>,
    uuid: Option<String>,
    changes: Vec<SettingChange>,
    words: Vec<String>,
    environment: Vec<(String, String)>,
    folder: Option<PathBuf>,
    controllers: Vec<String>,
}

impl ParsedLines {
    fn take(&mut self, line: &str) -> Option<()> {
        let (key, value) = line.split_once(' ')?;
        match key {
            "pid" => self.pid = Some(value.parse().ok()?),
            "start" => self.start = Some(value.parse().ok()?),
            "boot" => self.boot = Some(text(value)?),
            "plan" => self.plan = Some(PlanIdentity::parse(value)?),
            "kind" => self.kind = Some(value.to_owned()),
            "image" => self.image = Some(OsString::from_vec(unescape(value)?).into()),
            "file" => {
                let (device, inode) = value.split_once(' ')?;
                let (device, inode) = (device.parse().ok()?, inode.parse().ok()?);
                self.file = Some(FileNumber { device, inode });
            }
            "level" => self.level = Some(value.parse().ok()?),
            "loop" | "array" => self.number = Some(value.parse().ok()?),
            "player" => {
                let (pid, start) = value.split_once(' ')?;
                self.player = Some((pid.parse().ok()?, start.parse().ok()?));
            }
            "type" => self.fs_type = Some(text(value)?),
            "device" => self.devices.push(value.parse().ok()?),
            "target" => self.target = Some(text(value)?),
            "mapped" => self.mapped = Some(value.parse().ok()?),
            "mounted" => self.mounted = Some(value.parse().ok()?),
            "point" => self.point = Some(OsString::from_vec(unescape(value)?).into()),
            "source" => self.source = Some(OsString::from_vec(unescape(value)?).into()),
            "options" => self.options = Some(text(value)?),
            "parent" => self.parent = Some(value.parse().ok()?),
            "autoclear" => self.autoclear = Some(value.parse().ok()?),
            "sequence" => self.sequence = Some(value.parse().ok()?),
            "uuid" => self.uuid = Some(text(value)?),
            "setting" => {
                let (path, before) = value.split_once(' ')?;
                let path = plain(OsString::from_vec(unescape(path)?).into())?;
                self.changes.push(SettingChange { path, before: text(before)?, after: None });
            }
            "changed" => {
                let (path, after) = value.split_once(' ')?;
                let path = PathBuf::from(OsString::from_vec(unescape(path)?));
                let change = self.changes.iter_mut().find(|change| change.path == path)?;
                change.after = Some(text(after)?);
            }
            "word" => self.words.push(text(value)?),
            "environment" => {
                let (name, value) = value.split_once(' ')?;
                self.environment.push((text(name)?, text(value)?));
            }
            "controller" => self.controllers.push(text(value)?),
            "folder" => self.folder = Some(OsString::from_vec(unescape(value)?).into()),
            _ => return None,
        }
        Some(())
    }

    fn facts(self) -> Option<RecordFacts> {
        let kind = match self.kind?.as_str() {
            "loop" => ResourceKind::Loop {
                image: image(self.image?)?,
                file: self.file,
                number: self.number,
            },
            "played" => ResourceKind::Played {
                image: image(self.image?)?,
                file: self.file,
                mounted: self.mounted,
                player: self.player,
                number: self.number,
            },
            "mount" => ResourceKind::Mount {
                fs_type: self.fs_type?,
                devices: self.devices,
                mounted: self.mounted,
            },
            "mapping" => ResourceKind::Mapping { target: self.target?, number: self.mapped },
            "array" => ResourceKind::Array(RecordedArray {
                level: self.level?,
                number: self.number?,
                disks: self.devices,
                sequence: self.sequence,
            }),
            "cache" => ResourceKind::Cache { devices: self.devices },
            "unmounted" => ResourceKind::Unmounted(ForeignMount {
                point: plain(self.point?)?,
                source: plain(self.source?)?,
                fs_type: self.fs_type?,
                options: self.options?,
                parent: self.parent?,
                autoclear: self.autoclear?,
                device: DeviceIdentity {
                    number: *self.devices.first()?,
                    sequence: self.sequence,
                    file: self.file,
                    uuid: self.uuid,
                },
            }),
            "settings" => ResourceKind::Settings { changes: self.changes },
            "group" => ResourceKind::Group(RecordedGroup {
                folder: plain(self.folder?)?,
                file: self.file,
                enabled: self.controllers,
            }),
            "cleanup" if !self.words.is_empty() => ResourceKind::Cleanup(CleanupCommand {
                words: self.words,
                environment: self.environment,
                folder: plain(self.folder?)?,
            }),
            _ => return None,
        };
        let (pid, start, boot) = (self.pid?, self.start?, self.boot?);
        Some(RecordFacts { pid, start, boot, plan: self.plan, kind })
    }
}

/// Accepts only an absolute path without `..`, with the file name of an image.
fn image(image: PathBuf) -> Option<PathBuf> {
    plain(image).filter(|image| RecordId::from_image_path(image).is_some())
}

/// Accepts only an absolute path without `..`.
fn plain(path: PathBuf) -> Option<PathBuf> {
    let mut parts = path.components().skip(1);
    let is_plain = parts.all(|part| matches!(part, std::path::Component::Normal(_)));
    (path.is_absolute() && is_plain).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::{
        CleanupCommand, DeviceIdentity, FileNumber, ForeignMount, PlanIdentity, RecordFacts,
        RecordId, RecordedArray, RecordedGroup, ResourceKind, SettingChange,
    };
    use crate::machine::DeviceNumber;
    use std::path::{Path, PathBuf};

    fn facts(kind: ResourceKind) -> RecordFacts {
        RecordFacts::new(7, 9, "b-1".to_owned(), kind)
    }

    fn image(path: &str) -> ResourceKind {
        let file = Some(FileNumber { device: 66_304, inode: u64::MAX });
        ResourceKind::Loop { image: PathBuf::from(path), file, number: Some(3) }
    }

    fn unmounted(point: &str) -> ResourceKind {
        ResourceKind::Unmounted(ForeignMount {
            point: PathBuf::from(point),
            source: PathBuf::from("/dev/mapper/a b"),
            fs_type: "xfs".to_owned(),
            options: "rw,noatime,logbufs=8".to_owned(),
            parent: 29,
            autoclear: true,
            device: DeviceIdentity {
                number: DeviceNumber { major: 253, minor: 0 },
                sequence: Some(17),
                file: None,
                uuid: Some("00ff".to_owned()),
            },
        })
    }

    #[test]
    fn records_are_read_back_as_written() {
        let number = DeviceNumber { major: 7, minor: 300 };
        for kind in [
            image("/a b/ü%/treering-1a-2.img"),
            unmounted("/mnt/ü b"),
            ResourceKind::Mapping { target: "thin-pool".to_owned(), number: Some(number) },
            ResourceKind::Mapping { target: "crypt".to_owned(), number: None },
            ResourceKind::Cache { devices: vec![number; 2] },
            ResourceKind::Array(RecordedArray {
                level: 5,
                number: 127,
                disks: vec![number; 3],
                sequence: Some(40),
            }),
            ResourceKind::Settings {
                changes: vec![
                    SettingChange {
                        path: PathBuf::from("/proc/sys/vm/dirty_ratio"),
                        before: "20".to_owned(),
                        after: Some("5".to_owned()),
                    },
                    SettingChange {
                        path: PathBuf::from("/sys/block/a!b/queue/scheduler"),
                        before: "none".to_owned(),
                        after: None,
                    },
                ],
            },
            ResourceKind::Cleanup(CleanupCommand {
                words: ["sh", "-c", "rm -r \"$X\"\n"].map(str::to_owned).to_vec(),
                environment: vec![("X".to_owned(), "a b".to_owned())],
                folder: PathBuf::from("/mnt/ü b"),
            }),
            ResourceKind::Group(RecordedGroup {
                folder: PathBuf::from("/sys/fs/cgroup/treering-1a-2"),
                file: Some(FileNumber { device: 26, inode: 4_711 }),
                enabled: vec!["io".to_owned()],
            }),
            ResourceKind::Mount {
                fs_type: "ext4".to_owned(),
                devices: vec![number; 4],
                mounted: None,
            },
            ResourceKind::Mount {
                fs_type: "tmpfs".to_owned(),
                devices: vec![],
                mounted: Some(number),
            },
        ] {
            let facts = facts(kind);
            let plan = PlanIdentity { name: "my plan %\n".to_owned(), digest: "9f3c".to_owned() };
            let of_plan = facts.clone().with_plan(Some(plan));
            for facts in [facts, of_plan] {
                assert_eq!(RecordFacts::parse(&facts.to_text()), Ok(facts));
            }
        }
    }

    #[test]
    fn an_incomplete_line_is_ignored() {
        let whole = facts(image("/treering-1.img")).to_text();
        let killed = format!("{whole}loop 12");
        let Ok(RecordFacts { kind: ResourceKind::Loop { number, .. }, .. }) =
            RecordFacts::parse(&killed)
        else {
            panic!("{killed}")
        };
        assert_eq!(number, Some(3));
        for end in 0..whole.len() {
            let _no_panic = RecordFacts::parse(&whole[..end]);
        }
    }

    #[test]
    fn records_naming_foreign_resources_are_rejected() {
        for path in ["/etc/passwd", "/treering-.img", "/a/../treering-1.img", "treering-1.img"] {
            assert!(RecordFacts::parse(&facts(image(path)).to_text()).is_err(), "{path}");
        }
        for point in ["mnt", "/mnt/../etc", ""] {
            assert!(RecordFacts::parse(&facts(unmounted(point)).to_text()).is_err(), "{point}");
        }
        let good = facts(image("/treering-1.img")).to_text();
        for (from, to) in [
            ("pid 7", "pid -7"),
            ("kind loop", "kind x"),
            ("file ", "fyle "),
            ("boot b-1", "boot %zz"),
            ("boot b-1", "boot a b"),
            ("pid 7\n", ""),
        ] {
            assert!(RecordFacts::parse(&good.replace(from, to)).is_err(), "{from} {to}");
        }
        assert!(RecordFacts::parse("").is_err() && RecordFacts::parse("treering lab 2\n").is_err());
    }

    #[test]
    fn names_of_records_are_reported_exactly() {
        let id = RecordId::new(1, 2, "9F3c-77aa-b", 3);
        assert_eq!(id.as_str(), "9f3c77aa-2-1-3");
        assert_eq!(id.creation_order(), [2, 1, 3]);
        assert_eq!(RecordId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(
            RecordId::from_image_path(Path::new(&format!("/x/{}", id.image_name()))),
            Some(id)
        );
        let longest = RecordId::new(u32::MAX, u64::MAX, "ffffffff", u32::MAX);
        assert!(longest.mark().len() < 64 && RecordId::parse(longest.as_str()).is_some());
        for name in ["", "../a", "a/b", "A", "g", "-1", &"1".repeat(60)] {
            assert_eq!(RecordId::parse(name), None, "{name}");
        }
    }
}
