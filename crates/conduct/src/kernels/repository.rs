//! Questions to git about a repository of the kernel.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_model::Fingerprint;

use crate::failure::Failure;

/// Variables by which git would take another repository than that of the directory.
const OTHER_REPOSITORY: [&str; 4] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"];
/// Bytes that are read of a file at once.
const PIECE_BYTES: usize = 1 << 16;
/// Digits of an abbreviated hash.
const SHORT_DIGITS: usize = 12;

/// Working tree of a repository, with its configuration of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// Top directory of the working tree.
    pub(super) top: PathBuf,
    /// Directory with the history, which all working trees of the repository share.
    pub(super) history: PathBuf,
}

/// Commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    /// Whole hash.
    pub(super) hash: String,
    /// Name for people: a tag as it was given; anything that moves, with the hash.
    pub(super) name: String,
}

impl Commit {
    /// First digits of the hash.
    pub(super) fn short(&self) -> &str {
        self.hash.get(..SHORT_DIGITS).unwrap_or(&self.hash)
    }
}

impl Repository {
    /// Finds the repository of a directory; `None` where there is none.
    ///
    /// # Errors
    /// If git cannot be run, or refuses the repository.
    pub(super) fn find(directory: &Path) -> Result<Option<Self>, Failure> {
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"];
        let answer = run(directory, &asked)?;
        let text = match answer {
            Ok(text) => text,
            Err(GitRefusal(why)) if why.contains("not a git repository") => return Ok(None),
            // An owner that git does not trust, say.
            Err(GitRefusal(why)) => return Err(Failure::environment(why)),
        };
        let mut lines = text.split(|&byte| byte == b'\n');
        let mut path = || lines.next().map(|line| PathBuf::from(OsStr::from_bytes(line)));
        let (top, history) = (path(), path());
        Ok(top.zip(history).map(|(top, history)| Self { top, history }))
    }

    /// Finds the commit of a revision: a tag, a branch, a hash, `HEAD~3`.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn commit(&self, revision: &str) -> Result<Commit, Failure> {
        let object = format!("{revision}^{{commit}}");
        let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &object];
        let hash = run(&self.top, &asked)?.ok().map(|text| words(&text));
        let Some(hash) = hash.filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
        else {
            let message = format!("git:{revision}: no such commit in {}", self.top.display());
            let hint = "name a tag, a branch or a hash of the repository of this directory";
            return Err(Failure::usage(message).hint(hint));
        };
        let asked = ["rev-parse", "--symbolic-full-name", "--end-of-options", revision];
        let full = run(&self.top, &asked)?.map(|text| words(&text)).unwrap_or_default();
        let is_tag = full.split('/').nth(1) == Some("tags");
        let commit = Commit { name: revision.to_owned(), hash };
        let is_fixed = is_tag || commit.hash.starts_with(revision);
        let moving = format!("{revision} {}", commit.short());
        Ok(if is_fixed { commit } else { Commit { name: moving, ..commit } })
    }

    /// Identity of what the working tree has and no commit: changes as a patch, then the names and
    /// fingerprints of the files that git does not know and does not ignore. Empty for nothing.
    ///
    /// # Errors
    /// If git cannot tell them, or a file cannot be read.
    pub(super) fn changes(&self) -> Result<Vec<u8>, Failure> {
        let refused = |refusal: GitRefusal| Failure::environment(refusal.0);
        let asked = ["diff", "--binary", "--no-ext-diff", "--no-textconv", "HEAD"];
        let mut changes = run(&self.top, &asked)?.map_err(refused)?;
        let asked = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = run(&self.top, &asked)?.map_err(refused)?;
        for name in others.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            let path = self.top.join(OsStr::from_bytes(name));
            let print = print_of(&path).map_err(|error| Failure::of_path(&path, &error))?;
            changes.extend([b"\0", name, b"\0", print.as_bytes()].concat());
        }
        Ok(changes)
    }

    /// Configuration of the kernel in the working tree, if there is one.
    pub(super) fn configuration(&self) -> Option<Vec<u8>> {
        std::fs::read(self.top.join(CONFIGURATION)).ok()
    }
}

/// Configuration of a kernel, in the top directory of its source.
pub(super) const CONFIGURATION: &str = ".config";

/// Words of git about what it did not do.
#[derive(Debug)]
pub(super) struct GitRefusal(pub(super) String);

/// Fingerprint of the content of a file, of the target of a link, or of nothing for anything else,
/// such as a repository in the repository.
fn print_of(path: &Path) -> io::Result<String> {
    let kind = path.symlink_metadata()?.file_type();
    let mut print = Fingerprint::new();
    if kind.is_symlink() {
        print.add(path.read_link()?.as_os_str().as_bytes());
    } else if kind.is_file() {
        let mut file = File::open(path)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece)? {
                0 => break,
                length => print.add(&piece[..length]),
            }
        }
    }
    Ok(print.text())
}

/// Runs git in a directory; returns its output, or the words of its refusal.
///
/// # Errors
/// If git cannot be run.
pub(super) fn run(
    directory: &Path,
    words: &[impl AsRef<OsStr>],
) -> Result<Result<Vec<u8>, GitRefusal>, Failure> {
    let mut git = Command::new("git");
    // Neither hooks nor a monitor of the repository run beside a build.
    let without_programs = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    git.arg("-C").arg(directory).args(without_programs).args(words);
    OTHER_REPOSITORY.iter().for_each(|name| {
        git.env_remove(name);
    });
    let output = git.env("LC_ALL", "C").stdin(Stdio::null()).output().map_err(|error| {
        Failure::environment(format!("cannot run git: {error}")).hint("install git")
    })?;
    if output.status.success() {
        return Ok(Ok(output.stdout));
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let unsaid = || format!("git ended with {}", output.status);
    Ok(Err(GitRefusal(if why.is_empty() { unsaid() } else { why })))
}

fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(text).trim().to_owned()
}
