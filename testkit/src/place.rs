//! Temporary directories, listings of their files, and filling a filesystem.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::FileSizes;

/// Creates a temporary directory that everybody can read, removed when it is dropped.
pub fn temp_dir() -> TempDir {
    temp_dir_in(&std::env::temp_dir())
}

/// Creates a temporary directory as [`temp_dir`], below another directory.
pub fn temp_dir_in(parent: &Path) -> TempDir {
    let dir = tempfile::Builder::new().prefix("treering-test-").tempdir_in(parent);
    let dir = dir.expect("a temporary directory can be made");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(dir.path(), everybody).expect("its permissions can be set");
    dir
}

/// Sizes of the files below a directory, by relative path; links are not followed.
pub fn tree_of(top: &Path) -> FileSizes {
    let mut files = BTreeMap::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(top.join(&dir)).expect("the directory can be read") {
            let entry = entry.expect("the directory can be read");
            let path = dir.join(entry.file_name());
            let metadata = entry.metadata().expect("the entry can be stat'ed");
            if metadata.is_dir() {
                pending.push(path);
            } else {
                let path = path.into_os_string().into_string().expect("names in tests are text");
                files.insert(path, metadata.len());
            }
        }
    }
    files
}

/// A file that occupies the free space of a filesystem, removed when this is dropped.
#[derive(Debug)]
pub struct SpaceFiller {
    path: PathBuf,
}

/// Occupies all free space of a filesystem with one preallocated file at this path.
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
