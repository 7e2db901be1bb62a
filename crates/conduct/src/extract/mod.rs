//! Extracts what aging replays: profiles of trees, and the history of a git repository's tree with
//! the installed git.
//!
//! Every answer of git is checked, and the history is read back before it is written. What git
//! itself writes is seen by pulling each commit into a repository of its own.

mod census;
mod pulls;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use treering_age::{CommitChange, checked_history, history_head, history_step};
use treering_sys::StopFlag;

use crate::failure::Failure;
pub use census::profile_of_census;
use pulls::PullingRepository;

/// Number of blob sizes requested before the answers are read; few enough that the answers fit into
/// a pipe.
const REQUESTS_AT_ONCE: usize = 400;
/// Maximum length of an answer of git.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// Terms of an extraction that has what git itself writes.
pub struct PullTerms<'a> {
    /// The limit `gc.auto` of the pulling repository, in loose objects; 0 for no collection.
    pub gc_auto: u64,
    /// Existing directory for that repository, which is removed afterwards.
    pub temporary_dir: PathBuf,
    /// Flag that ends the extraction.
    pub stop: &'a StopFlag,
    /// Called with a line about the progress after every thousand commits.
    pub say: &'a dyn Fn(&str),
}

/// Extracts the history up to a revision, as the text of a history for aging. With terms of pulls
/// it has what git itself writes, too.
///
/// # Errors
/// When git is not installed, does not know the revision, prints output that cannot be parsed, or
/// cannot pull a commit, and when the flag was raised.
pub fn extract_history(
    repository: &Path,
    revision: &str,
    pulls: Option<&PullTerms<'_>>,
) -> Result<Vec<u8>, Failure> {
    let commits = commits(repository, revision)?;
    let mut pulling = pulls.map(|terms| PullingRepository::make(repository, terms)).transpose()?;
    let mut git = Git::begin(repository, commits, pulling.is_some())?;
    let mut text = history_head(pulling.is_some());
    let mut changes: Vec<(Option<String>, Vec<u8>)> = Vec::new();
    let mut commit: Option<Vec<u8>> = None;
    loop {
        let word = git.word()?;
        if let Some(raw) = word.as_ref().and_then(|word| word.strip_prefix(b":")) {
            let path = git.word()?.ok_or_else(|| unexpected("a change without a path"))?;
            changes.extend(change(raw, path)?);
            continue;
        }
        if let Some(commit) = &commit {
            let tree = git.changes(&mut changes)?;
            let step = match &mut pulling {
                None => tree,
                Some(pulling) => pulling.pull(commit, tree)?,
            };
            text.push_str(&history_step(&step));
        }
        commit = word;
        if commit.is_none() {
            break;
        }
    }
    git.end()?;
    Ok(checked_history(text.into_bytes())?)
}

fn unexpected(what: &str) -> Failure {
    Failure::environment(format!("git gave {what}"))
}

fn cannot(what: &str, error: &std::io::Error) -> Failure {
    Failure::environment(format!("cannot {what} git: {error}"))
}

/// Command of git that neither changes the repository, prompts nor fetches.
fn git(repository: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(["-c", "core.fsmonitor=false"]).args(words);
    for (name, value) in
        [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_TERMINAL_PROMPT", "0")]
    {
        command.env(name, value);
    }
    command.env("LC_ALL", "C").stderr(Stdio::inherit());
    command
}

/// Lists the commits along the first parents, oldest first, each with its first parent.
fn commits(repository: &Path, revision: &str) -> Result<Vec<u8>, Failure> {
    if revision.starts_with('-') {
        let message = format!("--revision: '{revision}' is not a revision");
        return Err(Failure::usage(message));
    }
    let words = ["rev-list", "--reverse", "--first-parent", "--parents", revision, "--"];
    let output = git(repository, &words).output().map_err(|error| cannot("run", &error))?;
    if !output.status.success() {
        let message = format!("{}: git cannot list the commits", repository.display());
        let message = format!("{message}: {}", output.status);
        return Err(Failure::usage(message).hint("name a git repository"));
    }
    let mut request = Vec::with_capacity(output.stdout.len());
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let first = line.split(|byte| *byte == b' ').take(2);
        request.extend(first.collect::<Vec<_>>().join(&b' '));
        request.push(b'\n');
    }
    Ok(request)
}

/// Path with the hash of its new blob; `None` for a removed file.
type RawChange = (Option<String>, Vec<u8>);

/// Parses a line of `--raw`: the blob that is written, or no blob for a removed file. `None` if the
/// entry is not a file on either side.
fn change(raw: &[u8], path: Vec<u8>) -> Result<Option<RawChange>, Failure> {
    let raw = str::from_utf8(raw).map_err(|_| unexpected("a line that is no text"))?;
    let mut words = raw.split(' ');
    let (Some(before), Some(after), Some(_), Some(blob)) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(unexpected("a change without modes"));
    };
    let is_file = |mode: &str| mode.starts_with("100");
    let is_id = blob.len() >= 40 && blob.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(match (is_file(before), is_file(after)) {
        (_, true) if is_id => Some((Some(blob.to_owned()), path)),
        (_, true) => return Err(unexpected("a blob without a name")),
        (true, false) => Some((None, path)),
        (false, false) => None,
    })
}

/// The two git processes: one lists the trees, one answers blob sizes.
struct Git {
    trees: Child,
    raw: BufReader<ChildStdout>,
    feeder: Option<thread::JoinHandle<std::io::Result<()>>>,
    sizes: Child,
    ask: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Git {
    /// `names_all` also names commits that change no file.
    fn begin(repository: &Path, commits: Vec<u8>, names_all: bool) -> Result<Self, Failure> {
        let piped = |words: &[&str]| {
            let mut command = git(repository, words);
            let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
            child.map_err(|error| cannot("run", &error))
        };
        let words = "diff-tree --stdin -r --root -z --raw --no-renames --no-abbrev --no-ext-diff \
                     --ignore-submodules=none";
        let always = names_all.then_some("--always");
        let words: Vec<_> = words.split_whitespace().chain(always).collect();
        let mut trees = piped(&words)?;
        let mut sizes = piped(&["cat-file", "--batch-check=%(objectsize)"])?;
        let none = || unexpected("no pipe");
        let mut feed = trees.stdin.take().ok_or_else(none)?;
        let feeder = thread::spawn(move || feed.write_all(&commits));
        let raw = BufReader::new(trees.stdout.take().ok_or_else(none)?);
        let ask = Some(sizes.stdin.take().ok_or_else(none)?);
        let answers = BufReader::new(sizes.stdout.take().ok_or_else(none)?);
        Ok(Self { trees, raw, feeder: Some(feeder), sizes, ask, answers })
    }

    /// Reads the next word, up to a NUL.
    fn word(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut word = Vec::new();
        let read = self.raw.by_ref().take(ANSWER_BYTES_MAX).read_until(0, &mut word);
        match read.map_err(|error| cannot("read from", &error))? {
            0 => Ok(None),
            _ if word.pop() == Some(0) => Ok(Some(word)),
            _ => Err(unexpected("a word without an end")),
        }
    }

    /// Returns the changes of a commit, deletions first, as git deletes files before it writes.
    /// Drains `changes`.
    fn changes(
        &mut self,
        changes: &mut Vec<(Option<String>, Vec<u8>)>,
    ) -> Result<Vec<CommitChange>, Failure> {
        let mut made = Vec::with_capacity(changes.len());
        for some in changes.chunks_mut(REQUESTS_AT_ONCE) {
            let blobs: String =
                some.iter().filter_map(|(blob, _)| Some(format!("{}\n", blob.as_ref()?))).collect();
            let ask = self.ask.as_mut().ok_or_else(|| unexpected("no pipe"))?;
            let written = ask.write_all(blobs.as_bytes()).and_then(|()| ask.flush());
            written.map_err(|error| cannot("write to", &error))?;
            for (blob, path) in some {
                let path = std::mem::take(path);
                made.push(match blob {
                    None => CommitChange::Delete(path),
                    Some(_) => CommitChange::Write(self.size()?, path),
                });
            }
        }
        changes.clear();
        made.sort_by_key(|change| matches!(change, CommitChange::Write(..)));
        Ok(made)
    }

    fn size(&mut self) -> Result<u64, Failure> {
        let mut answer = String::new();
        let read = self.answers.by_ref().take(ANSWER_BYTES_MAX).read_line(&mut answer);
        read.map_err(|error| cannot("read from", &error))?;
        answer.trim_end().parse().map_err(|_| {
            let what = answer.trim_end().escape_debug();
            unexpected(&format!("no size of a file: '{what}'"))
                .hint("the repository must be complete")
        })
    }

    /// Waits for both processes and checks that they succeeded.
    fn end(mut self) -> Result<(), Failure> {
        self.ask = None;
        let fed = self.feeder.take().map(thread::JoinHandle::join);
        let ended = self.trees.wait().map_err(|error| cannot("wait for", &error))?;
        let _has_answered_all = self.sizes.wait();
        match fed {
            Some(Ok(Ok(()))) if ended.success() => Ok(()),
            _ => Err(unexpected(&format!("no complete list of changes ({ended})"))),
        }
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        // After success both have ended; after an error their remaining output is not needed.
        for child in [&mut self.trees, &mut self.sizes] {
            let _gone = child.kill().and_then(|()| child.wait().map(drop));
        }
    }
}
