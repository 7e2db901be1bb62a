//! A repository that pulls one commit after the other, to see what git itself writes.
//!
//! Files beneath `.git` are compared before and after each pull. Those that exist only meanwhile
//! (locks, temporary names) are not seen. Each command of git has settings of its own here, none of
//! the user or the machine, so that a history depends on the repository and on git alone.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, DirEntry};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use treering_age::CommitChange;
use treering_model::TrialId;

use super::{PullTerms, cannot, git, unexpected};
use crate::failure::{Failure, FailureKind};

/// Directory of the objects, whose files git never changes.
const OBJECTS: &[u8] = b".git/objects/";
/// Variables that would lead git to another repository, or give it other settings.
const OTHER_REPOSITORIES: &str = "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY \
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_NAMESPACE GIT_TEMPLATE_DIR \
    GIT_DEFAULT_HASH GIT_CONFIG GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS";

/// Number of pulled commits between two lines about the progress.
const PULLS_TOLD: u64 = 1000;

/// State of a file: equal states mean that it was not written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileState {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

/// A repository in a directory of its own, which is removed when it is dropped.
pub(super) struct PullingRepository<'a> {
    terms: &'a PullTerms<'a>,
    place: PathBuf,
    source: Vec<u8>,
    files: BTreeMap<Vec<u8>, FileState>,
    /// The commit that was pulled last, and how many were.
    last: Option<String>,
    pulled: u64,
}

impl<'a> PullingRepository<'a> {
    /// Makes the directory; the repository follows with the first commit.
    pub(super) fn make(source: &Path, terms: &'a PullTerms<'a>) -> Result<Self, Failure> {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let output = git(source, &words).output().map_err(|error| cannot("run", &error))?;
        let source = output.stdout.strip_suffix(b"\n").unwrap_or_default().to_vec();
        if !output.status.success() || source.first() != Some(&b'/') {
            return Err(unexpected("no absolute path of the repository")
                .hint("--with-git needs git 2.31 or newer"));
        }
        let place = terms.temporary_dir.join(format!("treering-pulls-{}", TrialId::new().text()));
        let made = DirBuilder::new().mode(0o700).create(&place);
        made.map_err(|error| Failure::of_path(&place, &error))?;
        let (files, last, pulled) = (BTreeMap::new(), None, 0);
        let made = Self { terms, place, source, files, last, pulled };
        let settings = format!(
            "[gc]\n\tauto = {}\n\tautoDetach = false\n[maintenance]\n\tautoDetach = false\n\
             [pack]\n\tthreads = 1\n[safe]\n\tdirectory = *\n",
            terms.gc_auto
        );
        let path = made.place.join("settings");
        fs::write(&path, settings).map_err(|error| Failure::of_path(&path, &error))?;
        Ok(made)
    }

    /// Fails once the flag is raised.
    fn go_on(&self) -> Result<(), Failure> {
        let message = "interrupted: no history was extracted";
        let failure = || Failure::new(FailureKind::Interrupted, message);
        if self.terms.stop.is_raised() { Err(failure()) } else { Ok(()) }
    }

    fn clone_path(&self) -> PathBuf {
        self.place.join("clone")
    }

    /// Runs git in the pulling repository.
    fn run(&self, command: &mut Command) -> Result<Output, Failure> {
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.place.join("settings"))
            .env("GIT_COMMITTER_NAME", "treering")
            .env("GIT_COMMITTER_EMAIL", "treering@localhost");
        for name in OTHER_REPOSITORIES.split_whitespace() {
            command.env_remove(name);
        }
        let output = command.output().map_err(|error| cannot("run", &error))?;
        if output.status.success() {
            return Ok(output);
        }
        // A signal of the terminal also ends git.
        self.go_on()?;
        let pulled = self.pulled;
        Err(unexpected(&format!("no pull behind {pulled} commits ({})", output.status))
            .hint("git says why above; the repository must be complete, and there must be space"))
    }

    /// Pulls a commit. Returns the changes in the order in which git makes them: objects first,
    /// then the tree, which is given, then index, references and logs.
    pub(super) fn pull(
        &mut self,
        commit: &[u8],
        tree: Vec<CommitChange>,
    ) -> Result<Vec<CommitChange>, Failure> {
        let commit = str::from_utf8(commit).map_err(|_| unexpected("a commit without a name"))?;
        let clone = self.clone_path();
        if self.last.is_none() {
            let hash = if commit.len() > 40 { "sha256" } else { "sha1" };
            let mut init = git(&self.place, &["init", "--quiet", "--template="]);
            init.args(["--initial-branch=main", "--object-format", hash]).arg(&clone);
            self.run(&mut init)?;
        }
        let mut pull = git(&clone, &["pull", "--quiet", "--no-edit", "--ff-only"]);
        pull.arg(std::ffi::OsStr::from_bytes(&self.source)).arg(commit);
        self.run(&mut pull)?;
        let mut now = BTreeMap::new();
        self.list(&clone.join(".git"), b".git", &mut now)
            .map_err(|error| Failure::of_path(&clone, &error))?;
        let (mut changes, others) = self.changes(&now, commit)?;
        changes.extend(tree);
        changes.extend(others);
        self.files = now;
        self.last = Some(commit.to_owned());
        self.pulled += 1;
        if self.pulled.is_multiple_of(PULLS_TOLD) {
            (self.terms.say)(&format!("{} commits pulled", self.pulled));
        }
        self.go_on()?;
        Ok(changes)
    }

    /// Lists the files beneath a directory. A known object is not looked at again.
    fn list(
        &self,
        directory: &Path,
        name: &[u8],
        now: &mut BTreeMap<Vec<u8>, FileState>,
    ) -> std::io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry: DirEntry = entry?;
            let name = [name, b"/", entry.file_name().as_bytes()].concat();
            if entry.file_type()?.is_dir() {
                self.list(&entry.path(), &name, now)?;
                continue;
            }
            let known = self.files.get(&name).filter(|_| is_constant(&name));
            let state = if let Some(known) = known {
                *known
            } else {
                let found = entry.metadata()?;
                let modified = (found.mtime(), found.mtime_nsec());
                FileState { inode: found.ino(), bytes: found.size(), modified }
            };
            now.insert(name, state);
        }
        Ok(())
    }

    /// Compares the files with those after the pull before: changes of the objects, and others.
    fn changes(
        &self,
        now: &BTreeMap<Vec<u8>, FileState>,
        commit: &str,
    ) -> Result<(Vec<CommitChange>, Vec<CommitChange>), Failure> {
        let (mut objects, mut others) = (Vec::new(), Vec::new());
        for (path, state) in now {
            let old = self.files.get(path);
            if old == Some(state) {
                continue;
            }
            let into = if path.starts_with(OBJECTS) { &mut objects } else { &mut others };
            into.push(written(path.clone(), old, state));
        }
        let places = self.places(commit, &objects)?;
        objects.sort_by_cached_key(|change| match change {
            CommitChange::Write(_, path) => {
                (places.get(path).copied().unwrap_or(places.len()), path.clone())
            }
            // The index of a pack is made from the pack.
            CommitChange::ReplaceSynced(_, path) if path.ends_with(b".pack") => {
                (places.len() + 1, path.clone())
            }
            _ => (places.len() + 2, Vec::new()),
        });
        for path in self.files.keys().filter(|path| !now.contains_key(*path)) {
            let into = if path.starts_with(OBJECTS) { &mut objects } else { &mut others };
            into.push(CommitChange::Delete(path.clone()));
        }
        Ok((objects, others))
    }

    /// Places of the loose objects of a pull in the order in which git sends and writes them.
    fn places(
        &self,
        commit: &str,
        objects: &[CommitChange],
    ) -> Result<BTreeMap<Vec<u8>, usize>, Failure> {
        let is_loose = |change: &&CommitChange| matches!(change, CommitChange::Write(..));
        if objects.iter().filter(is_loose).count() < 2 {
            return Ok(BTreeMap::new());
        }
        let mut list = git(&self.clone_path(), &["rev-list", "--objects", commit]);
        list.args(self.last.iter().map(|last| format!("^{last}")));
        let listed = self.run(&mut list)?.stdout;
        let names = listed.split(|byte| *byte == b'\n').filter(|line| line.len() >= 40);
        let path = |line: &[u8]| {
            let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            let (directory, file) = name.split_at(2.min(name.len()));
            [OBJECTS, directory, b"/", file].concat()
        };
        Ok(names.enumerate().map(|(place, line)| (path(line), place)).collect())
    }
}

/// True for a loose object or a file of a pack, which are never changed.
fn is_constant(path: &[u8]) -> bool {
    path.strip_prefix(OBJECTS).is_some_and(|name| !name.starts_with(b"info/"))
}

/// Change that led to a file's new state. Git appends to logs, and writes any other file under
/// another name before it renames it; packs and commit graphs reach the disk before that.
fn written(path: Vec<u8>, old: Option<&FileState>, new: &FileState) -> CommitChange {
    let is_synced = path
        .strip_prefix(OBJECTS)
        .is_some_and(|name| name.starts_with(b"pack/") || name.starts_with(b"info/commit-graph"));
    match old {
        _ if is_synced => CommitChange::ReplaceSynced(new.bytes, path),
        Some(old) if old.inode == new.inode && old.bytes < new.bytes => {
            CommitChange::Append(new.bytes - old.bytes, path)
        }
        Some(old) if old.inode != new.inode => CommitChange::Replace(new.bytes, path),
        Some(_) | None => CommitChange::Write(new.bytes, path),
    }
}

impl Drop for PullingRepository<'_> {
    fn drop(&mut self) {
        // The directory was made by this run, under a name that nobody had.
        let _left_behind = fs::remove_dir_all(&self.place);
    }
}
