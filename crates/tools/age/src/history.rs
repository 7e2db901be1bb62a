//! Histories: changes of a repository's commits to its tree, as a text that needs no repository.
//!
//! Line formats: `step` begins a commit, `w BYTES PATH` writes a whole file, `d PATH` deletes one.
//! Version 2 also has what git itself writes: `r BYTES PATH` writes a file under another name and
//! renames it, `s BYTES PATH` does that with an fsync before the rename, `a BYTES PATH` appends.
//! Bytes of a path that are not printable ASCII, and `%`, are written as `%XX`. The file is
//! untrusted: it is read once to its end, and every change must fit the tree before it.

use std::collections::HashMap;
use std::fmt::Write as _;

use treering_script::{ConfigError, path_components};

/// First line of a history of files that are written whole and deleted.
const HEAD: &[u8] = b"treering history 1";
/// First line of a history that has what git itself writes, too; as long as the other.
const HEAD_WITH_GIT: &[u8] = b"treering history 2";
/// Largest accepted history, in bytes.
pub(super) const BYTES_MAX: u64 = 1 << 30;
/// Longest accepted path, in bytes, so that the kernel accepts it beneath a target.
const PATH_BYTES_MAX: usize = 3000;
/// Largest accepted file size, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 40;

/// Change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitChange {
    /// Writes a file of this size, replacing any old one.
    Write(u64, Vec<u8>),
    /// Deletes a file.
    Delete(Vec<u8>),
    /// Writes a file of this size under another name and renames it to its own, over any old one.
    Replace(u64, Vec<u8>),
    /// Does what `Replace` does, with an fsync before the rename.
    ReplaceSynced(u64, Vec<u8>),
    /// Appends this many bytes to a file.
    Append(u64, Vec<u8>),
}

impl CommitChange {
    fn path(&self) -> &[u8] {
        match self {
            Self::Write(_, path)
            | Self::Delete(path)
            | Self::Replace(_, path)
            | Self::ReplaceSynced(_, path)
            | Self::Append(_, path) => path,
        }
    }

    /// Number of bytes that it writes.
    fn written_bytes(&self) -> u64 {
        match self {
            Self::Write(bytes, _)
            | Self::Replace(bytes, _)
            | Self::ReplaceSynced(bytes, _)
            | Self::Append(bytes, _) => *bytes,
            Self::Delete(_) => 0,
        }
    }
}

/// Formats a commit, with its changes in their order.
pub fn history_step(changes: &[CommitChange]) -> String {
    let mut text = String::from("step\n");
    for change in changes {
        let path = escaped(change.path());
        // Writing to a string does not fail.
        let _ = match change {
            CommitChange::Write(bytes, _) => writeln!(text, "w {bytes} {path}"),
            CommitChange::Delete(_) => writeln!(text, "d {path}"),
            CommitChange::Replace(bytes, _) => writeln!(text, "r {bytes} {path}"),
            CommitChange::ReplaceSynced(bytes, _) => writeln!(text, "s {bytes} {path}"),
            CommitChange::Append(bytes, _) => writeln!(text, "a {bytes} {path}"),
        };
    }
    text
}

/// First line of a history, with its newline.
pub fn history_head(has_git: bool) -> String {
    format!("{}\n", String::from_utf8_lossy(if has_git { HEAD_WITH_GIT } else { HEAD }))
}

/// Checks that a text is a history that can be replayed, and returns it.
///
/// # Errors
/// When it is none: the message names the line.
pub fn checked_history(text: Vec<u8>) -> Result<Vec<u8>, ConfigError> {
    History::read("the history", text).map(|history| history.text)
}

fn escaped(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path {
        if (0x20..0x7f).contains(byte) && *byte != b'%' {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(text.len());
    let mut tail = text;
    while let Some((&byte, after)) = tail.split_first() {
        tail = after;
        if byte != b'%' {
            path.push(byte);
            continue;
        }
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        path.push(u8::try_from(digit(0)? * 16 + digit(1)?).ok()?);
        tail = &after[2..];
    }
    Some(path)
}

/// Filesystem change that results from a [`CommitChange`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FilesystemChange {
    MakeDir(Vec<u8>),
    Create(Vec<u8>, u64),
    Unlink(Vec<u8>),
    RemoveDir(Vec<u8>),
    /// Writes a file under another name, syncs it if asked for, and renames it.
    Replace {
        path: Vec<u8>,
        bytes: u64,
        is_synced: bool,
    },
    /// Appends bytes behind those that the file has.
    Append {
        path: Vec<u8>,
        from: u64,
        bytes: u64,
    },
}

/// Tree after a number of changes.
#[derive(Debug, Default)]
struct ReplayTree {
    files: HashMap<Vec<u8>, u64>,
    /// Directories with their number of entries.
    dirs: HashMap<Vec<u8>, u64>,
}

/// Name under which a file is written before it is renamed: that of git's lock.
pub(super) fn beside(path: &[u8]) -> Vec<u8> {
    [path, b".lock"].concat()
}

fn parent(path: &[u8]) -> Option<&[u8]> {
    path.iter().rposition(|byte| *byte == b'/').map(|slash| &path[..slash])
}

impl ReplayTree {
    /// Applies a change and returns its effects; `None` if it does not fit the tree.
    fn apply(&mut self, change: CommitChange) -> Option<Vec<FilesystemChange>> {
        let mut effects = Vec::new();
        match change {
            CommitChange::Write(bytes, path) => {
                if let Some(old) = self.files.get_mut(&path) {
                    *old = bytes;
                    effects.push(FilesystemChange::Unlink(path.clone()));
                } else {
                    if self.dirs.contains_key(&path) {
                        return None;
                    }
                    self.enter(&path, &mut effects)?;
                    self.files.insert(path.clone(), bytes);
                }
                effects.push(FilesystemChange::Create(path, bytes));
            }
            CommitChange::Delete(path) => {
                self.files.remove(&path)?;
                effects.push(FilesystemChange::Unlink(path.clone()));
                self.leave(&path, &mut effects);
            }
            CommitChange::Replace(bytes, path) => {
                self.replace(path, bytes, false, &mut effects)?;
            }
            CommitChange::ReplaceSynced(bytes, path) => {
                self.replace(path, bytes, true, &mut effects)?;
            }
            CommitChange::Append(bytes, path) => {
                let old = self.files.get_mut(&path)?;
                let from = *old;
                *old = from.checked_add(bytes).filter(|bytes| *bytes <= FILE_BYTES_MAX)?;
                effects.push(FilesystemChange::Append { path, from, bytes });
            }
        }
        Some(effects)
    }

    /// Replaces a file by another; `None` if a directory has its name.
    fn replace(
        &mut self,
        path: Vec<u8>,
        bytes: u64,
        is_synced: bool,
        effects: &mut Vec<FilesystemChange>,
    ) -> Option<()> {
        if self.dirs.contains_key(&path) || self.files.contains_key(&beside(&path)) {
            return None;
        }
        if self.files.insert(path.clone(), bytes).is_none() {
            self.enter(&path, effects)?;
        }
        effects.push(FilesystemChange::Replace { path, bytes, is_synced });
        Some(())
    }

    /// Counts a new entry in its directory; missing directories are made, upper ones first.
    fn enter(&mut self, path: &[u8], effects: &mut Vec<FilesystemChange>) -> Option<()> {
        let mut missing = Vec::new();
        let mut above = parent(path);
        while let Some(dir) = above {
            if self.files.contains_key(dir) {
                return None;
            }
            if let Some(entries) = self.dirs.get_mut(dir) {
                *entries += 1;
                break;
            }
            missing.push(dir.to_vec());
            above = parent(dir);
        }
        for dir in missing.into_iter().rev() {
            self.dirs.insert(dir.clone(), 1);
            effects.push(FilesystemChange::MakeDir(dir));
        }
        Some(())
    }

    /// Counts a removed entry; empty directories are removed too, as git does.
    fn leave(&mut self, path: &[u8], effects: &mut Vec<FilesystemChange>) {
        let mut above = parent(path);
        while let Some(dir) = above {
            let Some(entries) = self.dirs.get_mut(dir) else { return };
            *entries -= 1;
            if *entries > 0 {
                return;
            }
            self.dirs.remove(dir);
            effects.push(FilesystemChange::RemoveDir(dir.to_vec()));
            above = parent(dir);
        }
    }
}

/// A history whose changes all fit.
#[derive(Debug)]
pub(super) struct History {
    text: Vec<u8>,
    /// Number of commits.
    pub(super) steps: u64,
    /// Peak number of files and bytes that exist at a time, and the number of directories made.
    pub(super) peak_files: u64,
    pub(super) peak_bytes: u64,
    pub(super) made_dirs: u64,
    pub(super) written_files: u64,
    pub(super) written_bytes: u64,
    /// True if the history has what git itself writes: changes of files that are not written whole.
    pub(super) has_git: bool,
}

impl History {
    /// Fate of each file written by the first `steps` commits, in order: true if they delete or
    /// replace it later. The history must be of files written whole.
    pub(super) fn fates(&self, steps: u64) -> Vec<bool> {
        let (mut goes, mut last) = (Vec::new(), HashMap::new());
        let mut begun = 0;
        for line in self.text.split(|byte| *byte == b'\n').skip(1) {
            // The reader has checked each line.
            let before = match read_line(line) {
                Ok(Some(HistoryLine::Step)) => {
                    begun += 1;
                    if begun > steps {
                        break;
                    }
                    None
                }
                Ok(Some(HistoryLine::Change(CommitChange::Write(_, path)))) => {
                    goes.push(false);
                    last.insert(path, goes.len() - 1)
                }
                Ok(Some(HistoryLine::Change(CommitChange::Delete(path)))) => last.remove(&path),
                Ok(Some(HistoryLine::Change(_)) | None) | Err(_) => None,
            };
            if let Some(before) = before {
                goes[before] = true;
            }
        }
        goes
    }

    /// Parses a history; `name` is its name in messages.
    pub(super) fn read(name: &str, text: Vec<u8>) -> Result<Self, ConfigError> {
        let wrong = |line: usize, message: &str| {
            ConfigError::new(format!("{name}:{}: {message}", line + 1))
                .hint("`treering age extract GIT_DIR -o FILE` writes a history")
        };
        let mut history = Self {
            text: Vec::new(),
            steps: 0,
            peak_files: 0,
            peak_bytes: 0,
            made_dirs: 0,
            written_files: 0,
            written_bytes: 0,
            has_git: text.starts_with(HEAD_WITH_GIT),
        };
        let (mut tree, mut live_bytes) = (ReplayTree::default(), 0u64);
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if number == 0 {
                if line != HEAD && line != HEAD_WITH_GIT {
                    return Err(wrong(0, "not a history of commits, of version 1 or 2"));
                }
                continue;
            }
            let Some(line) = read_line(line).map_err(|message| wrong(number, message))? else {
                continue;
            };
            let HistoryLine::Change(change) = line else {
                history.steps += 1;
                continue;
            };
            if history.steps == 0 {
                return Err(wrong(number, "a change before the first `step`"));
            }
            let is_whole = matches!(change, CommitChange::Write(..) | CommitChange::Delete(_));
            if !is_whole && !history.has_git {
                return Err(wrong(number, "a history of version 1 has only `w` and `d`"));
            }
            let size = |tree: &ReplayTree| tree.files.get(change.path()).copied().unwrap_or(0);
            let (before, written) = (size(&tree), change.written_bytes());
            let effects = tree.apply(change.clone());
            let effects =
                effects.ok_or_else(|| wrong(number, "it does not fit the tree before"))?;
            live_bytes = (live_bytes - before).saturating_add(size(&tree));
            history.peak_bytes = history.peak_bytes.max(live_bytes);
            history.peak_files = history.peak_files.max(tree.files.len() as u64);
            history.written_bytes = history.written_bytes.saturating_add(written);
            for effect in effects {
                let is_file = matches!(
                    effect,
                    FilesystemChange::Create(..) | FilesystemChange::Replace { .. }
                );
                history.made_dirs += u64::from(matches!(effect, FilesystemChange::MakeDir(_)));
                history.written_files += u64::from(is_file);
            }
        }
        if history.steps == 0 {
            return Err(wrong(0, "no `step` in it"));
        }
        history.text = text;
        Ok(history)
    }
}

enum HistoryLine {
    Step,
    Change(CommitChange),
}

/// Parses a line; `None` if it is empty.
fn read_line(line: &[u8]) -> Result<Option<HistoryLine>, &'static str> {
    match line {
        b"" => Ok(None),
        b"step" => Ok(Some(HistoryLine::Step)),
        [b'd', b' ', path @ ..] => {
            Ok(Some(HistoryLine::Change(CommitChange::Delete(read_path(path)?))))
        }
        [kind @ (b'w' | b'r' | b's' | b'a'), b' ', tail @ ..] => {
            let blank = tail.iter().position(|byte| *byte == b' ');
            let (bytes, path) = tail.split_at(blank.ok_or("no path behind the size")?);
            let bytes = str::from_utf8(bytes).ok().and_then(|bytes| bytes.parse::<u64>().ok());
            let bytes = bytes.filter(|bytes| *bytes <= FILE_BYTES_MAX);
            let bytes = bytes.ok_or("not a size of up to 1 TiB")?;
            let path = read_path(&path[1..])?;
            Ok(Some(HistoryLine::Change(match kind {
                b'w' => CommitChange::Write(bytes, path),
                b'r' => CommitChange::Replace(bytes, path),
                b's' => CommitChange::ReplaceSynced(bytes, path),
                _ => CommitChange::Append(bytes, path),
            })))
        }
        _ => Err("neither `step` nor `d PATH` nor `w`, `r`, `s` or `a` with BYTES and PATH"),
    }
}

fn read_path(text: &[u8]) -> Result<Vec<u8>, &'static str> {
    let path = unescaped(text).ok_or("a `%` without two hexadecimal digits")?;
    let mut components = 0;
    for component in path_components(&path).map_err(|_wrong| "not a path within a tree")? {
        components += component.len() + 1;
    }
    // Equal files have equal paths: no `a//b`, no `./a`.
    let is_plain = components == path.len() + 1 && path.len() <= PATH_BYTES_MAX;
    if is_plain { Ok(path) } else { Err("not a plain path of up to 3000 bytes") }
}

/// State of a replay.
#[derive(Debug)]
pub(super) struct ReplayState {
    history: std::sync::Arc<History>,
    at: usize,
    tree: ReplayTree,
    done: u64,
}

impl ReplayState {
    pub(super) fn new(history: std::sync::Arc<History>) -> Self {
        // The reader has checked the head and each line.
        Self { history, at: HEAD.len() + 1, tree: ReplayTree::default(), done: 0 }
    }

    /// Number of commits left.
    pub(super) fn remaining_steps(&self) -> u64 {
        self.history.steps - self.done
    }

    pub(super) fn live_bytes(&self) -> u64 {
        self.tree.files.values().sum()
    }

    /// Effects of the next commit, and its text.
    pub(super) fn next(&mut self) -> Option<(Vec<FilesystemChange>, Vec<u8>)> {
        let (mut effects, begin, mut has_begun) = (Vec::new(), self.at, false);
        let history = std::sync::Arc::clone(&self.history);
        while self.at < history.text.len() {
            let tail = &history.text[self.at..];
            let length = tail.iter().position(|byte| *byte == b'\n').unwrap_or(tail.len());
            match read_line(&tail[..length]).ok()? {
                Some(HistoryLine::Step) if has_begun => break,
                Some(HistoryLine::Step) => has_begun = true,
                Some(HistoryLine::Change(change)) => effects.extend(self.tree.apply(change)?),
                None => {}
            }
            self.at += length + 1;
        }
        let end = self.at.min(history.text.len());
        self.done += u64::from(has_begun);
        has_begun.then(|| (effects, history.text[begin.min(end)..end].to_vec()))
    }
}

/// Existing files after the last replayed commit; for tests.
#[cfg(test)]
fn standing(replay: &ReplayState) -> std::collections::HashSet<Vec<u8>> {
    replay.tree.files.keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::{
        CommitChange, FilesystemChange, History, ReplayState, history_head, history_step, standing,
    };

    fn read(tail: &str) -> Result<History, String> {
        let text = format!("treering history 1\n{tail}").into_bytes();
        History::read("it", text).map_err(|error| error.message)
    }

    #[test]
    fn history_round_trips_and_replays() {
        let odd = b"dir\n/\xff %".to_vec();
        let text = history_head(false)
            + &history_step(&[
                CommitChange::Write(10, b"a/b/c".to_vec()),
                CommitChange::Write(3, odd.clone()),
            ])
            + &history_step(&[
                CommitChange::Delete(b"a/b/c".to_vec()),
                CommitChange::Write(5, b"a".to_vec()),
            ])
            + &history_step(&[]);
        assert!(text.contains("w 3 dir%0A/%FF %25\n"), "{text}");
        let history = History::read("it", text.into_bytes()).unwrap();
        assert_eq!((history.steps, history.peak_files, history.peak_bytes), (3, 2, 13));
        assert_eq!((history.written_bytes, history.made_dirs), (18, 3));
        let mut replay = ReplayState::new(Arc::new(history));
        let (first, _) = replay.next().unwrap();
        assert_eq!(
            first[..2],
            [FilesystemChange::MakeDir(b"a".to_vec()), FilesystemChange::MakeDir(b"a/b".to_vec())]
        );
        let (second, _) = replay.next().unwrap();
        let wanted = [
            FilesystemChange::Unlink(b"a/b/c".to_vec()),
            FilesystemChange::RemoveDir(b"a/b".to_vec()),
            FilesystemChange::RemoveDir(b"a".to_vec()),
            FilesystemChange::Create(b"a".to_vec(), 5),
        ];
        assert_eq!(second, wanted);
        assert_eq!(replay.remaining_steps(), 1);
        assert!(replay.next().unwrap().0.is_empty() && replay.next().is_none());
        assert_eq!(standing(&replay), [b"a".to_vec(), odd].into_iter().collect());
        assert_eq!(replay.live_bytes(), 8);
    }

    #[test]
    fn deleted_files_are_predicted_for_every_number_of_steps() {
        let history = read("step\nw 1 a\nw 2 b\nstep\nw 3 a\nd b\nstep\n\nw 4 b\nd a\n").unwrap();
        assert_eq!(history.fates(1), [false, false]);
        assert_eq!(history.fates(2), [true, true, false]);
        assert_eq!(history.fates(3), [true, true, true, false]);
        assert_eq!(history.fates(u64::MAX), history.fates(3));
    }

    #[test]
    fn changes_by_git_itself_are_replayed_in_their_order() {
        let object = b".git/objects/0b/7f".to_vec();
        let (index, log) = (b".git/index".to_vec(), b".git/logs/HEAD".to_vec());
        let pack = b".git/objects/pack/pack-1.pack".to_vec();
        let text = history_head(true)
            + &history_step(&[
                CommitChange::Write(120, object.clone()),
                CommitChange::Replace(200, index.clone()),
                CommitChange::Write(150, log.clone()),
            ])
            + &history_step(&[
                CommitChange::ReplaceSynced(4000, pack.clone()),
                CommitChange::Delete(object.clone()),
                CommitChange::Replace(300, index.clone()),
                CommitChange::Append(140, log.clone()),
            ]);
        let history = History::read("it", text.into_bytes()).unwrap();
        assert!(history.has_git);
        assert_eq!((history.written_files, history.written_bytes), (5, 4910));
        assert_eq!((history.peak_files, history.peak_bytes), (4, 4590));
        let mut replay = ReplayState::new(Arc::new(history));
        replay.next().unwrap();
        let (second, _) = replay.next().unwrap();
        let wanted = [
            FilesystemChange::MakeDir(b".git/objects/pack".to_vec()),
            FilesystemChange::Replace { path: pack.clone(), bytes: 4000, is_synced: true },
            FilesystemChange::Unlink(object),
            FilesystemChange::RemoveDir(b".git/objects/0b".to_vec()),
            FilesystemChange::Replace { path: index.clone(), bytes: 300, is_synced: false },
            FilesystemChange::Append { path: log.clone(), from: 150, bytes: 140 },
        ];
        assert_eq!(second, wanted);
        assert_eq!(standing(&replay), [pack, index, log].into_iter().collect());
        for tail in ["a 1 b", "r 1 a/b", "w 1 b.lock\nr 1 b", "a 1099511627776 a"] {
            let text = format!("treering history 2\nstep\nw 1 a\n{tail}\n").into_bytes();
            let error = History::read("it", text).unwrap_err();
            assert!(error.message.contains("does not fit"), "{tail}: {}", error.message);
        }
    }

    #[test]
    fn invalid_changes_are_refused_with_their_line() {
        for (tail, wanted) in [
            ("", "no `step`"),
            ("w 1 a\n", "it:2: a change before"),
            ("step\nd a\n", "it:3: it does not fit"),
            ("step\nw 1 a\nw 1 a/b\n", "it:4: it does not fit"),
            ("step\nw 1 a/b\nw 1 a\n", "it:4: it does not fit"),
            ("step\nw 1 ../a\n", "it:3: not a path"),
            ("step\nw 1 /a\n", "it:3: not a path"),
            ("step\nw 1 a//b\n", "it:3: not a p"),
            ("step\nw 1 %00\n", "it:3: not a path"),
            ("step\nw 1 %2\n", "two hexadecimal"),
            ("step\nw 1 %+2\n", "two hexadecimal"),
            ("step\nw 1 %2E%2E/a\n", "not a path"),
            ("step\nw 99999999999999999999 a\n", "not a size"),
            ("step\nw 1\n", "no path"),
            ("step\nx\n", "neither"),
            ("step\nw 1 a\na 1 a\n", "it:4: a history of version 1"),
        ] {
            let error = read(tail).unwrap_err();
            assert!(error.contains(wanted), "{tail}: {error}");
        }
        assert!(History::read("it", b"\xff".to_vec()).is_err());
        assert_eq!(read("step\n\nstep").unwrap().steps, 2);
    }

    const LINES: &str = "(step\n|[wrsa] [0-9]{1,3} [ab/]{1,4}\n|d [ab/]{1,4}\n|[ -~]{0,9}\n){0,40}";

    proptest! {
        #[test]
        fn parser_and_replay_accept_arbitrary_text(tail in LINES) {
            let text = format!("treering history 2\nstep\n{tail}").into_bytes();
            if let Ok(history) = History::read("it", text) {
                let steps = history.steps;
                let mut replay = ReplayState::new(Arc::new(history));
                for _ in 0..steps {
                    prop_assert!(replay.next().is_some());
                }
                prop_assert!(replay.next().is_none() && replay.remaining_steps() == 0);
            }
        }
    }
}
