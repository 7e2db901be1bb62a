//! Places on disk: directories that go away, what stands in them, and how to fill a filesystem.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::FileSizes;

/// A directory of the test's own, readable by everybody, removed when it is dropped.
pub fn temp_dir() -> TempDir {
    temp_dir_in(&std::env::temp_dir())
}

/// The same below another directory.
pub fn temp_dir_in(parent: &Path) -> TempDir {
    let dir = tempfile::Builder::new().prefix("treering-test-").tempdir_in(parent);
    let dir = dir.expect("a temporary directory can be made");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(dir.path(), everybody).expect("its permissions can be set");
    dir
}

/// The files below a directory with their sizes, by path from there; links are not followed.
pub fn tree_of(top: &Path) -> FileSizes {
    let mut files = BTreeMap::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(top.join(&dir)).expect("the directory can be read") {
            let entry = entry.expect("the directory can be read");
            let path = dir.join(entry.file_name());
            let about = entry.metadata().expect("the entry can be stat'ed");
            if about.is_dir() {
                pending.push(path);
            } else {
                let path = path.into_os_string().into_string().expect("names in tests are text");
                files.insert(path, about.len());
            }
        }
    }
    files
}

/// A file that takes what a filesystem has left, removed when it is dropped.
#[derive(Debug)]
pub struct SpaceFiller {
    path: PathBuf,
}

/// Takes all that is left of a filesystem, at once, by a file at this place.
pub fn fill(path: &Path) -> SpaceFiller {
    let filler = SpaceFiller { path: path.to_owned() };
    let file = File::create(path).expect("the filler can be made");
    let (mut taken, mut more) = (0, 1 << 30);
    while more >= 4096 {
        match fallocate(&file, FallocateFlags::empty(), taken, more) {
            Ok(()) => taken += more,
            Err(Errno::NOSPC) => more /= 2,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    filler
}

impl Drop for SpaceFiller {
    fn drop(&mut self) {
        let _gone_with_its_filesystem = fs::remove_file(&self.path);
    }
}
