//! Guards: a test that cannot run on this machine prints `skipped:` with the reason, and passes.
//!
//! xtask counts these lines and does not count such a test as passed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints why a test is skipped. The guards below then return from the test.
#[expect(clippy::disallowed_macros, reason = "the harness listens to what a test prints")]
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

/// True if the tests run as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reason why no filesystem of this kind can be made and mounted here, if any.
pub fn cannot_loop_mount(kind: &str) -> Option<String> {
    if !is_root() {
        return Some(format!("needs root to mount {kind}"));
    }
    if !Path::new("/dev/loop-control").exists() {
        return Some("there are no loop devices here".to_owned());
    }
    let mkfs = format!("mkfs.{kind}");
    let tools = [mkfs.as_str(), "losetup", "mount", "umount"];
    tools.into_iter().find(|tool| !is_tool(tool)).map(|tool| format!("{tool} is not installed"))
}

/// True if a program can be started.
pub fn is_tool(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// Path of an entry of the folder `shared` beside the checkout: reference data that are not part of
/// the project.
pub fn shared(name: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|dir| dir.join("shared").join(name)).find(|path| path.exists())
}

/// Returns from the test unless it runs as root.
#[macro_export]
macro_rules! require_root {
    () => {
        if !$crate::is_root() {
            $crate::skip("needs root");
            return;
        }
    };
}

/// Returns from the test unless a filesystem of this kind can be made and mounted.
#[macro_export]
macro_rules! require_loop_fs {
    ($kind:expr) => {
        if let Some(reason) = $crate::cannot_loop_mount($kind) {
            $crate::skip(&reason);
            return;
        }
    };
}

/// Returns from the test unless a third-party program is installed.
#[macro_export]
macro_rules! require_tool {
    ($name:expr) => {
        if !$crate::is_tool($name) {
            $crate::skip(&format!("{} is not installed", $name));
            return;
        }
    };
}

/// Path of an entry of the folder `shared` beside the checkout; returns from the test if it does
/// not exist.
#[macro_export]
macro_rules! require_shared {
    ($what:expr) => {
        match $crate::shared($what) {
            Some(path) => path,
            None => {
                $crate::skip(&format!("shared/{} is not beside the checkout", $what));
                return;
            }
        }
    };
}
