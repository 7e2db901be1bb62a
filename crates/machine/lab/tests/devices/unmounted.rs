//! SIGKILL while a user's filesystem is unmounted: the leftover is listed, and mounted again with
//! the same parameters, unless the device has changed since.
#![expect(clippy::disallowed_methods, reason = "the environment tells the child what to do")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use treering_lab::{
    AgedTarget, ImageLibrary, Lab, LabError, LabLeftover, LeftoverKind, RemountableFilesystem,
};
use treering_model::ImageRecord;
use treering_sys::{
    DeviceOpenMode, LoopSettings, Mount, MountOptions, MountTable, StopFlag, attach_loop,
    detach_loop, loop_status, mount, open_device, set_loop_autoclear, unmount,
};

use crate::workbench::{MIB, Workbench, can_make_devices, lab_in, program, run};

const PLACE: &str = "TREERING_LAB_UNMOUNTING_IN";
const ACT: &str = "TREERING_LAB_UNMOUNTING_BY";

/// Lab of a test and of its children; if `waits`, its checker for ext4 never ends.
fn lab_of(top: &Path, waits: bool) -> Lab {
    let lab = lab_in(top).with_library(ImageLibrary::new(&top.join("library")));
    if waits { lab.with_tools_in(top.join("tools").as_os_str()) } else { lab }
}

/// Body of the child process, not a test itself: runs until it is killed, if the environment
/// variable is set.
#[test]
fn unmounts_until_it_is_killed() {
    let (Some(top), Some(act)) = (std::env::var_os(PLACE), std::env::var_os(ACT)) else {
        return;
    };
    let top = PathBuf::from(top);
    let lab = lab_of(&top, act == OsStr::new("wait"));
    let point = top.join("user");
    println!("\nbegins");
    for number in 0u32.. {
        if act == OsStr::new("remount") {
            RemountableFilesystem::examine(&point, &lab).unwrap().remount().unwrap();
            continue;
        }
        let name = format!("image-{number}");
        let target = AgedTarget::examine(&point, &lab).unwrap();
        let image = lab.library().begin(&name).unwrap();
        let record = ImageRecord { name, ..ImageRecord::default() };
        target.save(image, record, &StopFlag::default()).unwrap();
    }
}

/// A filesystem mounted by a user, on a loop device that is detached with its last user.
struct UserMount {
    point: PathBuf,
    image: PathBuf,
    before: Mount,
}

impl UserMount {
    fn new(top: &Path) -> Self {
        let (point, image) = (top.join("user"), top.join("user.img"));
        fs::create_dir(&point).unwrap();
        File::create_new(&image).unwrap().set_len(64 * MIB).unwrap();
        let arguments = ["-q", "-F", "-N", "512", image.to_str().unwrap()].map(str::to_owned);
        run(&program("mkfs.ext4").unwrap(), &arguments, "").unwrap();
        let node = attach(&image);
        let options = MountOptions::parse(&["noatime,nodev,commit=7"]).unwrap();
        mount(node.as_os_str(), &point, "ext4", &options).unwrap();
        set_loop_autoclear(open_device(&node, DeviceOpenMode::Look).unwrap(), true).unwrap();
        fs::write(point.join("thesis"), vec![7; 3 << 20]).unwrap();
        let before = mounted_at(&point).unwrap();
        Self { point, image, before }
    }

    fn node(&self) -> PathBuf {
        PathBuf::from(&self.before.source)
    }

    fn assert_is_as_before(&self, when: &str) {
        let now = mounted_at(&self.point).unwrap_or_else(|| panic!("{when}: it is not mounted"));
        let attributes = |mount: &Mount| {
            let Mount { device, root, options, fs_type, source, super_options, .. } = mount.clone();
            (device, root, options, fs_type, source, super_options)
        };
        assert_eq!(attributes(&now), attributes(&self.before), "{when}");
        assert_eq!(fs::read(self.point.join("thesis")).unwrap(), vec![7; 3 << 20], "{when}");
        let device = open_device(&self.node(), DeviceOpenMode::Look).unwrap();
        assert!(loop_status(&device).unwrap().unwrap().autoclear, "{when}");
    }
}

impl Drop for UserMount {
    fn drop(&mut self) {
        // The killed process may still hold the device for a moment.
        for _ in 0..100 {
            if mounted_at(&self.point).is_none() || unmount(&self.point).is_ok() {
                break;
            }
            sleep(Duration::from_millis(50));
        }
        if let Ok(device) = open_device(&self.node(), DeviceOpenMode::Look)
            && is_on(&device, &self.image)
        {
            let _gone_with_the_mount = detach_loop(&device);
        }
    }
}

fn is_on(device: &File, image: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let status = loop_status(device).ok().flatten();
    let file = image.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    status.map(|status| (status.file_device, status.file_inode)) == file
}

fn attach(image: &Path) -> PathBuf {
    let file = File::options().read(true).write(true).open(image).unwrap();
    let settings = LoopSettings {
        file: file.as_fd(),
        sector_bytes: 512,
        direct_io: false,
        partitions: false,
        mark: "treering test disk",
    };
    attach_loop(&settings).unwrap().path
}

fn mounted_at(point: &Path) -> Option<Mount> {
    let table = MountTable::read().unwrap();
    table.mounts.into_iter().rev().find(|mount| mount.point == point)
}

fn child(top: &Path, act: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "unmounted::unmounts_until_it_is_killed", "--nocapture"])
        .env(PLACE, top)
        .env(ACT, act)
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "begins"));
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Kills a process that is saving an image, while the filesystem is unmounted for the check.
fn killed_while_unmounted(top: &Path) {
    let (tools, started) = (top.join("tools"), top.join("started"));
    fs::create_dir_all(&tools).unwrap();
    let script = format!(
        "#!/bin/sh\necho $$ > {0}.new\n/bin/mv {0}.new {0}\nexec /bin/sleep 600\n",
        started.display()
    );
    // The script is written under another name: a file that is open for writing cannot be executed.
    fs::write(tools.join("new"), script).unwrap();
    fs::set_permissions(tools.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(tools.join("new"), tools.join("e2fsck")).unwrap();
    let child = child(top, "wait");
    let began = Instant::now();
    while !started.exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "it is never checked");
        sleep(Duration::from_millis(5));
    }
    kill(child);
    let check: i32 = fs::read_to_string(&started).unwrap().trim().parse().unwrap();
    fs::remove_file(&started).unwrap();
    kill_process(Pid::from_raw(check).unwrap(), Signal::KILL).unwrap();
}

fn only(freed: Vec<(LabLeftover, Result<(), LabError>)>) -> Result<(), LabError> {
    let mut freed = freed.into_iter();
    let (Some((_, first)), None) = (freed.next(), freed.next()) else {
        panic!("there is not one thing that is left")
    };
    first
}

fn real_top(bench: &Workbench) -> PathBuf {
    bench.top.path().canonicalize().unwrap()
}

#[test]
fn a_filesystem_unmounted_at_a_kill_is_listed_and_restored() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let top = real_top(&bench);
    let user = UserMount::new(&top);
    killed_while_unmounted(&top);
    assert!(mounted_at(&user.point).is_none(), "the kill came too late for this test");
    let lab = lab_of(&top, false);
    let left = lab.list().unwrap();
    let [unmounted, image] = left.as_slice() else { panic!("{left:?}") };
    let expected = LeftoverKind::Unmounted {
        point: user.point.clone(),
        device: user.node(),
        fs_type: "ext4".to_owned(),
    };
    assert_eq!(unmounted.kind, expected);
    assert!(matches!(&image.kind, LeftoverKind::UnfinishedImage { .. }), "{image:?}");
    assert!(left.iter().all(|left| !left.is_alive && left.is_of_this_boot));
    assert_eq!(lab.left_unmounted().unwrap().len(), 1);
    assert_eq!(lab.library().left_unfinished().len(), 1);
    assert!(lab.release(left).iter().all(|(_, freed)| freed.is_ok()));
    user.assert_is_as_before("released");
    assert!(lab.list().unwrap().is_empty());
    assert_eq!(fs::read_dir(top.join("library")).unwrap().count(), 0);
}

#[test]
fn a_kill_while_saving_or_remounting_leaves_the_filesystem_recoverable() {
    if !can_make_devices() {
        return;
    }
    for (act, milliseconds) in [
        ("save", 0),
        ("save", 4),
        ("save", 11),
        ("save", 23),
        ("save", 40),
        ("save", 71),
        ("save", 130),
        ("save", 220),
        ("remount", 0),
        ("remount", 3),
        ("remount", 9),
        ("remount", 17),
        ("remount", 31),
        ("remount", 60),
    ] {
        let bench = Workbench::new();
        let top = real_top(&bench);
        let user = UserMount::new(&top);
        let child = child(&top, act);
        sleep(Duration::from_millis(milliseconds));
        kill(child);
        let when = format!("{act} {milliseconds}");
        let lab = lab_of(&top, false);
        // The release waits for a checker that outlives its parent.
        let began = Instant::now();
        while !lab.list().unwrap().is_empty() {
            let freed = lab.release(lab.list().unwrap());
            let failed: Vec<_> = freed.iter().filter(|(_, freed)| freed.is_err()).collect();
            let is_late = began.elapsed() > Duration::from_secs(60);
            assert!(failed.is_empty() || !is_late, "{when}: {failed:?}");
        }
        user.assert_is_as_before(&when);
        for name in lab.library().names() {
            lab.library().load(&name).unwrap().verify().unwrap();
        }
        let library = top.join("library");
        let entries = fs::read_dir(&library).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| name.starts_with("image-")), "{when}");
    }
}

#[test]
fn a_changed_mount_point_or_device_is_reported_and_left_alone() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let top = real_top(&bench);
    let user = UserMount::new(&top);
    killed_while_unmounted(&top);
    let lab = lab_of(&top, false);
    let release = || only(lab.release(lab.left_unmounted().unwrap()));
    let refused = |words: &str| {
        let error = release().unwrap_err();
        assert!(error.to_string().contains(words), "{words}: {error}");
        assert!(error.hint().unwrap().contains("treering lab release"));
        assert_eq!(lab.left_unmounted().unwrap().len(), 1, "{words}");
    };
    let none = MountOptions::parse::<&str>(&[]).unwrap();
    // Case: another filesystem is mounted at the mount point.
    mount(OsStr::new("mine"), &user.point, "tmpfs", &none).unwrap();
    refused("tmpfs from mine is mounted there now");
    assert_eq!(mounted_at(&user.point).unwrap().fs_type, "tmpfs");
    unmount(&user.point).unwrap();
    // Case: the filesystem is mounted elsewhere.
    let elsewhere = top.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    mount(user.before.source.as_os_str(), &elsewhere, "ext4", &none).unwrap();
    refused("it is mounted at");
    unmount(&elsewhere).unwrap();
    // Case: the directory is gone, or replaced by a link.
    fs::remove_dir(&user.point).unwrap();
    refused("there is no such directory");
    std::os::unix::fs::symlink(&elsewhere, &user.point).unwrap();
    refused("there is no such directory");
    fs::remove_file(&user.point).unwrap();
    fs::create_dir(&user.point).unwrap();
    assert!(mounted_at(&elsewhere).is_none());
    // Case: another filesystem was made on the device.
    let swap_uuid = |with: &mut [u8; 16]| {
        use std::os::unix::fs::FileExt;
        let device = File::options().read(true).write(true).open(user.node()).unwrap();
        let mut previous = [0; 16];
        device.read_exact_at(&mut previous, 0x468).unwrap();
        device.write_all_at(with, 0x468).unwrap();
        device.sync_all().unwrap();
        *with = previous;
    };
    let mut uuid = [1; 16];
    swap_uuid(&mut uuid);
    refused("another filesystem is on it");
    swap_uuid(&mut uuid);
    release().unwrap();
    user.assert_is_as_before("nothing stands against it");
    assert!(lab.left_unmounted().unwrap().is_empty());
}

#[test]
fn a_reattached_device_is_distinguished_and_user_mounts_are_respected() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let top = real_top(&bench);
    let mut user = UserMount::new(&top);
    killed_while_unmounted(&top);
    let lab = lab_of(&top, false);
    let device = open_device(&user.node(), DeviceOpenMode::Look).unwrap();
    detach_loop(&device).unwrap();
    drop(device);
    let error = only(lab.release(lab.left_unmounted().unwrap())).unwrap_err();
    assert!(error.to_string().contains("is not mounted again at"), "{error}");
    assert!(mounted_at(&user.point).is_none());
    // The user attaches the image again, perhaps under another number, and mounts it.
    let node = attach(&user.image);
    let none = MountOptions::parse::<&str>(&[]).unwrap();
    mount(node.as_os_str(), &user.point, "ext4", &none).unwrap();
    user.before = mounted_at(&user.point).unwrap();
    only(lab.release(lab.left_unmounted().unwrap())).unwrap();
    assert!(lab.left_unmounted().unwrap().is_empty());
    assert_eq!(mounted_at(&user.point).unwrap().options, user.before.options);
}

#[test]
fn a_filesystem_that_cannot_be_unmounted_stays_and_is_not_recorded() {
    if !can_make_devices() {
        return;
    }
    let bench = Workbench::new();
    let top = real_top(&bench);
    let user = UserMount::new(&top);
    let lab = lab_of(&top, false);
    let held = File::open(user.point.join("thesis")).unwrap();
    let error = RemountableFilesystem::examine(&user.point, &lab).unwrap().remount().unwrap_err();
    assert!(error.to_string().contains("is in use"), "{error}");
    drop(held);
    user.assert_is_as_before("refused");
    assert!(lab.list().unwrap().is_empty());
    RemountableFilesystem::examine(&user.point, &lab).unwrap().remount().unwrap();
    user.assert_is_as_before("mounted again");
    assert!(lab.list().unwrap().is_empty());
}
