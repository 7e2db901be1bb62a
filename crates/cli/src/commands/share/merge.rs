//! `treering merge`: adds the trials of a pack to a store, either all or none.
//!
//! They are recorded into a store of their own first, which takes whatever a store takes and
//! refuses all else; then it is copied in one transaction.

use std::fs::{self, DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use treering_model::{TrialEvent, TrialHeader, TrialId};
use treering_pack::PackReader;
use treering_store::{Access, Store, StoreError};
use treering_sys::{lock_exclusive, user_id};

use super::{canon, failure as unreadable};
use crate::arguments::MergeArgs;
use crate::failure::{Failure, Kind};
use crate::places;
use crate::storage::{failure, open_to_write};

/// Adds the trials that the store lacks.
pub(crate) fn run(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let words = add(args)?;
    _ = writeln!(std::io::stdout(), "{words}");
    Ok(ExitCode::SUCCESS)
}

/// Adds the trials; returns a message with their number.
pub(super) fn add(args: &MergeArgs) -> Result<String, Failure> {
    let file = File::open(&args.file).map_err(|error| Failure::of_path(&args.file, &error))?;
    let pack = PackReader::open(file).map_err(|error| unreadable(&args.file, &error))?;
    let place = match &args.store.store {
        Some(place) => place.clone(),
        None => places::default_store()?,
    };
    let there = match Store::open(&place, Access::ReadOnly) {
        Ok(store) => Some(store),
        Err(StoreError::Missing { .. } | StoreError::Empty { .. }) => None,
        Err(error) => return Err(failure(&error)),
    };
    let mut waiting = Waiting::beside(&place, args.dry_run)?;
    let merged = Merging { path: &args.file, pack, there, waiting: &mut waiting }.all()?;
    if !args.dry_run && merged.new > 0 {
        let mut store = open_to_write(&place)?;
        store.absorb(waiting.path()).map_err(|error| failure(&error))?;
    }
    let Merged { new, known } = merged;
    let (verb, place) = (if args.dry_run { "to add" } else { "added" }, place.display());
    Ok(format!("{place}: {new} trials {verb}, {known} there already"))
}

/// Numbers of merged trials.
#[derive(Default)]
struct Merged {
    new: u64,
    known: u64,
}

struct Merging<'a> {
    path: &'a Path,
    pack: PackReader<File>,
    there: Option<Store>,
    waiting: &'a mut Waiting,
}

impl Merging<'_> {
    /// Records or recognises every trial of the pack.
    fn all(mut self) -> Result<Merged, Failure> {
        let mut merged = Merged::default();
        while let Some(beginning) = self.read(PackReader::next_trial)? {
            let trial = beginning.trial;
            let known = match &self.there {
                Some(store) => match store.events(trial) {
                    Ok(events) => Some(events),
                    Err(StoreError::NoSuchTrial { .. }) => None,
                    Err(error) => return Err(failure(&error)),
                },
                None => None,
            };
            if let Some(events) = known {
                self.recognise(beginning, &events)?;
                merged.known += 1;
            } else {
                self.record(beginning)?;
                merged.new += 1;
            }
        }
        Ok(merged)
    }

    fn read<T>(
        &mut self,
        next: impl Fn(&mut PackReader<File>) -> Result<T, treering_pack::PackError>,
    ) -> Result<T, Failure> {
        next(&mut self.pack).map_err(|error| unreadable(self.path, &error))
    }

    /// Refuses a trial that has the identity of a stored trial but other contents.
    fn recognise(&mut self, beginning: TrialHeader, events: &[TrialEvent]) -> Result<(), Failure> {
        let trial = beginning.trial;
        let (mut here, mut packed) = (canon(), canon());
        events.iter().for_each(|event| here.add(event));
        packed.add(&TrialEvent::Began(beginning));
        while let Some(event) = self.read(PackReader::next_event)? {
            packed.add(&event);
        }
        if here.agrees_with(&packed) {
            return Ok(());
        }
        let path = self.path.display();
        let message = format!("{path}: trial {trial} is another one than that in the store");
        Err(Failure::new(Kind::Usage, message)
            .hint("nothing was added; one of both was changed after it was recorded"))
    }

    fn record(&mut self, beginning: TrialHeader) -> Result<(), Failure> {
        let trial = beginning.trial;
        let mut recorder = self.waiting.store.recorder().copying();
        let refused = |path: &Path, error: &StoreError| {
            let failure = failure(error);
            failure.context(format!("{}: trial {trial}", path.display()))
        };
        let mut next = Some(TrialEvent::Began(beginning));
        while let Some(event) = next {
            recorder.record(&event).map_err(|error| refused(self.path, &error))?;
            let read = self.pack.next_event();
            next = read.map_err(|error| unreadable(self.path, &error))?;
        }
        drop(recorder);
        self.annotate(trial)
    }

    fn annotate(&mut self, trial: TrialId) -> Result<(), Failure> {
        while let Some(annotation) = self.read(PackReader::next_annotation)? {
            let store = &mut self.waiting.store;
            let annotated = store.annotate(&[trial], annotation.at_unix_ms, &annotation.change);
            annotated.map_err(|error| failure(&error))?;
        }
        Ok(())
    }
}

/// Temporary store in which trials wait until every trial of the pack is valid; removed when
/// dropped.
struct Waiting {
    dir: PathBuf,
    store: Store,
    /// Lock held while the directory is used; the kernel releases it if the process is killed.
    _lock: File,
}

impl Waiting {
    /// Makes the directory beside the target store, where the trials need room in any case; for a
    /// dry run, in the directory for temporary files.
    fn beside(place: &Path, is_look: bool) -> Result<Self, Failure> {
        let parent = match place.parent().filter(|_| !is_look) {
            Some(parent) if parent == Path::new("") => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => std::env::temp_dir(),
        };
        remove_abandoned(&parent);
        let dir = parent.join(format!("{PREFIX}{}", TrialId::new().text()));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
        made.map_err(|error| Failure::of_path(&dir, &error))?;
        let lock = File::create(dir.join(LOCK)).map_err(|error| Failure::of_path(&dir, &error))?;
        // On filesystems without locks the remains of a killed merge are not removed.
        let _unsupported = lock_exclusive(&lock);
        let opened = Store::open(dir.join(STORE), Access::ReadWrite);
        let opened = opened.and_then(|store| store.without_flushes().map(|()| store));
        match opened {
            Ok(store) => Ok(Self { dir, store, _lock: lock }),
            Err(error) => {
                remove(&dir);
                Err(failure(&error))
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.store.path().to_owned()
    }
}

/// Name prefix of the directories of waiting trials, and the lock file in each.
const PREFIX: &str = ".treering-merge-";
const LOCK: &str = "lock";
/// Name of the store in the directory, and of SQLite's files beside it.
const STORE: &str = "pack.treering";
const BESIDE: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Age from which a directory without a lock counts as abandoned; a younger one may just be being
/// made.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Removes the remains of this user's killed merges: unlocked directories, with only the files that
/// a merge makes.
fn remove_abandoned(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_named_so = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Of the entry itself: links are not followed.
        let is_own_dir = |metadata: fs::Metadata| metadata.is_dir() && metadata.uid() == user_id();
        if !is_named_so || !entry.metadata().is_ok_and(is_own_dir) {
            continue;
        }
        let dir = entry.path();
        let is_abandoned = match File::open(dir.join(LOCK)) {
            Ok(lock) => lock_exclusive(&lock).is_ok(),
            Err(_) => {
                let made = entry.metadata().and_then(|metadata| metadata.modified());
                made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > ABANDONED))
            }
        };
        if is_abandoned {
            remove(&dir);
        }
    }
}

/// Removes the files of a merge and their directory, unless it contains other files.
fn remove(dir: &Path) {
    let store = BESIDE.iter().map(|suffix| format!("{STORE}{suffix}"));
    for name in store.chain([LOCK.to_owned()]) {
        let _not_made = fs::remove_file(dir.join(name));
    }
    let _left_behind = fs::remove_dir(dir);
}

impl Drop for Waiting {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}
