//! Working tree of a repository for builds of other commits. The tree stays in the cache, so that
//! the next build only compiles what differs; the user's own working tree is never touched.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use treering_guest::BUILT_IMAGES;
use treering_model::Fingerprint;
use treering_sys::{LockError, lock_exclusive};

use super::repository::{CONFIGURATION, Commit, GitRefusal, Repository, run};
use crate::failure::Failure;

/// Folder of the working trees in the cache.
const TREES: &str = "trees";
/// File beside a working tree with its identity.
const RECORD: &str = "treering-tree.json";

/// Identity of a working tree that was made here.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TreeRecord {
    /// Directory with the history of the repository.
    history: PathBuf,
    /// Number of the directory in its filesystem; `None` while it is made.
    inode: Option<u64>,
}

/// Working tree in the cache, locked for this process.
pub(super) struct Worktree {
    /// Top directory.
    pub(super) path: PathBuf,
    /// Lock of the tree.
    pub(super) lock: File,
}

impl Worktree {
    /// Checks out a commit in the working tree of this repository, and puts the configuration
    /// there. Makes the tree if there is none.
    ///
    /// # Errors
    /// If another process builds in it, it was not made here, or git refuses.
    pub(super) fn check_out(
        repository: &Repository,
        cache: &Path,
        (commit, configuration): (&Commit, &[u8]),
    ) -> Result<Self, Failure> {
        let name = Fingerprint::from_bytes(repository.history.to_string_lossy().as_bytes()).text();
        // `bindeb-pkg` writes its packages beside the tree, so each tree has a folder of its own.
        let folder = cache.join(TREES).join(&name);
        let path = folder.join(format!("treering-{name}"));
        let of_path = |path: &Path, error: &io::Error| Failure::of_path(path, error);
        fs::create_dir_all(&folder).map_err(|error| of_path(&folder, &error))?;
        let lock = File::open(&folder).map_err(|error| of_path(&folder, &error))?;
        if lock_exclusive(&lock) == Err(LockError::Held) {
            let message = format!("{}: another treering builds a kernel here", folder.display());
            return Err(Failure::environment(message).hint("wait until it has ended"));
        }
        let record = folder.join(RECORD);
        let refused = |refusal| not_checked_out(commit, refusal);
        if path.symlink_metadata().is_ok() {
            // Without its own `.git`, git would take the next repository above for the tree.
            let of_git = Repository::find(&path).ok().flatten();
            let is_tree = of_git.is_some_and(|it| {
                it.history == repository.history
                    && it.top.canonicalize().ok() == path.canonicalize().ok()
            });
            let found = recorded(&record);
            let is_recorded = found.is_some() && found == identity(&path, repository);
            let was_being_made = found.is_some_and(|it| it.inode.is_none());
            if was_being_made {
                // A kill came between: git removes a tree only if it is one of this repository.
                let words = ["worktree", "remove", "--force", "--force", &path.to_string_lossy()];
                run(&repository.top, &words)?.map_err(refused)?;
                return Self::make((&path, lock), &record, (repository, commit), configuration);
            }
            if !(is_tree && is_recorded) {
                let message = format!("{} is not the tree that was made here", path.display());
                return Err(Failure::environment(message).hint("move it away"));
            }
            let words = ["checkout", "--quiet", "--detach", "--force", &commit.hash];
            run(&path, &words)?.map_err(refused)?;
            return Self::configured((path, lock), configuration);
        }
        Self::make((&path, lock), &record, (repository, commit), configuration)
    }

    /// Makes the tree, recorded before and after.
    fn make(
        (path, lock): (&Path, File),
        record: &Path,
        (repository, commit): (&Repository, &Commit),
        configuration: &[u8],
    ) -> Result<Self, Failure> {
        let write = |made: &TreeRecord| {
            let text = serde_json::to_vec(made).unwrap_or_default();
            fs::write(record, text).map_err(|error| Failure::of_path(record, &error))
        };
        write(&TreeRecord { history: repository.history.clone(), inode: None })?;
        let text = path.to_string_lossy();
        // The repository may still know a tree of this name that was removed.
        let words = ["worktree", "add", "--quiet", "--force", "--detach", &text, &commit.hash];
        run(&repository.top, &words)?.map_err(|refusal| not_checked_out(commit, refusal))?;
        identity(path, repository).map_or(Ok(()), |made| write(&made))?;
        Self::configured((path.to_owned(), lock), configuration)
    }

    /// Puts the configuration into the tree, and removes the images of the last build.
    fn configured((path, lock): (PathBuf, File), configuration: &[u8]) -> Result<Self, Failure> {
        let of_path = |path: &Path, error: &io::Error| Failure::of_path(path, error);
        let file = path.join(CONFIGURATION);
        if configuration.is_empty() {
            // The last build had one, which is not that of this key.
            remove_if_there(&file).map_err(|error| of_path(&file, &error))?;
        }
        for image in BUILT_IMAGES.map(|image| path.join(image)) {
            remove_if_there(&image).map_err(|error| of_path(&image, &error))?;
        }
        // An equal file is left alone, since make compares times.
        if !configuration.is_empty() && fs::read(&file).ok().as_deref() != Some(configuration) {
            fs::write(&file, configuration).map_err(|error| of_path(&file, &error))?;
        }
        Ok(Self { path, lock })
    }
}

fn not_checked_out(commit: &Commit, GitRefusal(why): GitRefusal) -> Failure {
    Failure::environment(format!("git cannot check out {}: {why}", commit.name))
}

/// Identity of a directory as the working tree of a repository.
fn identity(path: &Path, repository: &Repository) -> Option<TreeRecord> {
    let metadata = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
    let history = repository.history.clone();
    Some(TreeRecord { history, inode: Some(metadata.ino()) })
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn recorded(record: &Path) -> Option<TreeRecord> {
    serde_json::from_slice(&fs::read(record).ok()?).ok()
}
