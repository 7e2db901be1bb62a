//! Suggests three commands to try next on this machine, each with its purpose.

use std::path::Path;

use treering_model::{MachineInventory, quoted};

use super::json::NextCommand;

/// Target that the doctor examined.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A directory.
    Directory(&'a Path),
    /// A block device; `is_free` if the device is empty and unused.
    Device {
        /// Device node.
        node: &'a Path,
        /// True if the device is empty and unused.
        is_free: bool,
    },
    /// A file with a plan.
    Plan(&'a Path),
}

/// Memory filesystem that is available on nearly every Linux system.
pub const IN_MEMORY: &str = "/dev/shm";

/// Returns three commands: a comparison, a run, and one that depends on the findings.
/// `is_in_memory` reports whether a directory is on the filesystem of [`IN_MEMORY`].
pub fn commands(
    subject: Subject<'_>,
    here: &MachineInventory,
    is_in_memory: impl Fn(&Path) -> bool,
) -> Vec<NextCommand> {
    vec![comparison(subject, here, is_in_memory), aging(), third(subject, here)]
}

fn next(command: impl Into<String>, purpose: impl Into<String>) -> NextCommand {
    NextCommand { command: command.into(), purpose: purpose.into() }
}

fn comparison(
    subject: Subject<'_>,
    here: &MachineInventory,
    is_in_memory: impl Fn(&Path) -> bool,
) -> NextCommand {
    let usual: Vec<&str> = here
        .filesystems
        .iter()
        .filter(|one| one.is_usual && one.is_ready)
        .map(|one| one.name)
        .collect();
    let can_make = here.is_root && usual.len() >= 2;
    let names = usual.join(", ");
    match subject {
        Subject::Plan(path) => {
            let path = quoted(&path.to_string_lossy());
            next(format!("treering compare {path}"), "run the plan")
        }
        // A device with data is not suggested, since users may type the command without reading it.
        Subject::Device { node, is_free: true } if can_make => {
            let node = quoted(&node.to_string_lossy());
            let purpose = format!("compare {names} on this device");
            next(format!("treering compare --device {node}"), purpose)
        }
        _ if can_make && here.loop_devices => {
            next("treering compare", format!("compare {names} on a loop image, in 4 minutes"))
        }
        Subject::Directory(dir) => directories(dir, is_in_memory),
        Subject::Device { .. } => directories(Path::new("."), is_in_memory),
    }
}

/// Command that compares directories without formatting, which does not require root.
fn directories(dir: &Path, is_in_memory: impl Fn(&Path) -> bool) -> NextCommand {
    let other = if is_in_memory(dir) { "/var/tmp" } else { IN_MEMORY };
    let dir = quoted(&dir.to_string_lossy());
    next(
        format!("treering compare --directories {dir},{other}"),
        format!("compare the filesystem here with that of {other}; does not require root"),
    )
}

fn aging() -> NextCommand {
    next(
        "mkdir aged && treering run compilebench --dir aged --dataset linux-6.1-small -i 3 -r 10 \
         --layout",
        "age this filesystem with work on source trees, and see the effect on its layout",
    )
}

fn third(subject: Subject<'_>, here: &MachineInventory) -> NextCommand {
    if let Some(log) = here.logs.first() {
        let command = format!("treering import {}", quoted(log));
        return next(command, "import the results that you already have");
    }
    if !here.tools.is_empty() {
        let names: Vec<&str> = here.tools.iter().map(|tool| tool.name).collect();
        let purpose = format!("make links with the names of {} and others", names.join(", "));
        return next("mkdir links && treering links links", purpose);
    }
    match subject {
        Subject::Directory(dir) => next(
            format!("treering layout {}", quoted(&dir.to_string_lossy())),
            "see how existing files are laid out on the disk",
        ),
        _ => next(
            "treering layout .",
            "see how the files in this directory are laid out on the disk",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Subject, commands};
    use std::path::Path;
    use treering_model::{FilesystemSupport, MachineInventory};

    fn machine(is_root: bool, ready: usize) -> MachineInventory {
        let names = ["ext4", "xfs", "btrfs"].into_iter().enumerate();
        let filesystem = |(number, name)| FilesystemSupport {
            name,
            is_ready: number < ready,
            is_usual: true,
            version: None,
            how: None,
        };
        MachineInventory {
            is_root,
            filesystems: names.map(filesystem).collect(),
            devices: Vec::new(),
            loop_devices: is_root,
            block_tracing: None,
            tools: Vec::new(),
            logs: Vec::new(),
        }
    }

    fn first(subject: Subject<'_>, here: &MachineInventory) -> String {
        let all = commands(subject, here, |_| false);
        assert_eq!(all.len(), 3);
        all[0].command.clone()
    }

    #[test]
    fn the_comparison_is_one_that_can_be_made_here() {
        let dir = Subject::Directory(Path::new("my files"));
        assert_eq!(first(dir, &machine(true, 3)), "treering compare");
        let directories = "treering compare --directories 'my files',/dev/shm";
        assert_eq!(first(dir, &machine(false, 3)), directories);
        assert_eq!(first(dir, &machine(true, 1)), directories);
        let node = Path::new("/dev/sdb");
        let root = machine(true, 2);
        let free = Subject::Device { node, is_free: true };
        assert_eq!(first(free, &root), "treering compare --device /dev/sdb");
        let plan = Subject::Plan(Path::new("plan.toml"));
        assert_eq!(first(plan, &machine(false, 0)), "treering compare plan.toml");
    }

    #[test]
    fn no_command_is_suggested_that_erases_a_device() {
        let full = Subject::Device { node: Path::new("/dev/sdb"), is_free: false };
        let mut here = machine(true, 2);
        assert_eq!(first(full, &here), "treering compare", "on a loop image");
        here.loop_devices = false;
        assert_eq!(first(full, &here), "treering compare --directories .,/dev/shm");
        let all = commands(full, &here, |_| false);
        assert!(!all.iter().any(|next| next.command.contains("/dev/sdb")));
    }

    #[test]
    fn logs_that_are_there_are_to_be_imported() {
        let mut here = machine(false, 0);
        here.logs.push("old.log".to_owned());
        let all = commands(Subject::Directory(Path::new(".")), &here, |_| false);
        assert_eq!(all[2].command, "treering import old.log");
    }
}
