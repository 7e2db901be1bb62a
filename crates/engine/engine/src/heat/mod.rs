//! Hot data: reads and writes as they are issued, by file and by range.
//!
//! If requested, the place is wrapped in a [`HeatedPlace`], whose callers record each call in a
//! book; otherwise calls are not affected at all. The page cache serves many of these reads and
//! merges many of the writes, so requests to the disk differ.

mod book;
mod caller;

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use treering_model::{Caution, HeatReport};
use treering_script::{ExternalProgram, ProgramEnd};
use treering_stats::Access;
use treering_sys::{DropCachesError, StopFlag};

use crate::{EngineError, Payload, SessionPlace, TrialClock};
pub use book::{HeatBook, HotRange};
pub(crate) use caller::HeatCaller;

/// Record of the reads and writes in a trial.
#[derive(Debug)]
pub struct HeatLog {
    half_life_ns: u64,
    /// Prefixes of file names, one for each place; workers take turns at the places.
    roots: Vec<String>,
    book: RefCell<HeatBook>,
}

impl HeatLog {
    /// Creates an empty log for these places; temperatures have this half-life.
    pub fn new(half_life: Duration, roots: Vec<String>) -> Self {
        let half_life_ns = u64::try_from(half_life.as_nanos()).unwrap_or(u64::MAX).max(1);
        // The names of files at a single place begin there.
        let roots = match roots.len() {
            0 | 1 => vec![String::new()],
            _ => roots,
        };
        let book = RefCell::new(HeatBook::new(half_life_ns));
        Self { half_life_ns, roots, book }
    }

    /// Notes an access to a file.
    pub fn note(&self, path: &str, position: u64, access: Access) {
        let mut book = self.book.borrow_mut();
        let file = book.file(path);
        book.access(file, position, access);
    }

    /// Temperatures of a file's ranges; empty for an untouched file.
    pub fn ranges_of(&self, path: &str) -> Vec<HotRange> {
        self.book.borrow().ranges_of(path)
    }

    /// True if there is a single place, and file names are relative to it.
    pub fn is_single_place(&self) -> bool {
        self.roots.len() == 1
    }

    /// Report of the accesses since the last call, which resets the record but keeps its files;
    /// `None` without accesses.
    pub fn take_report(&self) -> Option<HeatReport> {
        let mut book = self.book.borrow_mut();
        let report = book.has_accesses().then(|| book.report());
        book.reset_accesses();
        report
    }
}

/// Place whose accesses are recorded.
pub(crate) struct HeatedPlace<'p, P: ?Sized> {
    place: &'p P,
    log: &'p HeatLog,
}

impl<'p, P: SessionPlace + ?Sized> HeatedPlace<'p, P> {
    pub(crate) const fn new(place: &'p P, log: &'p HeatLog) -> Self {
        Self { place, log }
    }
}

impl<P: SessionPlace + ?Sized> SessionPlace for HeatedPlace<'_, P> {
    type Caller = HeatCaller<P::Caller>;

    fn caller(&self, payload: &Payload, worker: u16) -> io::Result<Self::Caller> {
        let caller = self.place.caller(payload, worker)?;
        Ok(HeatCaller::new(caller, self.log.half_life_ns, &self.log.roots, worker))
    }

    fn drop_caches(&self) -> Result<(), DropCachesError> {
        self.place.drop_caches()
    }

    fn shell(&self, command: &str) -> io::Result<()> {
        self.place.shell(command)
    }

    fn program(
        &self,
        program: &ExternalProgram,
        clock: TrialClock,
        stop: &StopFlag,
    ) -> io::Result<ProgramEnd> {
        self.place.program(program, clock, stop)
    }

    fn cautions(&self) -> Vec<Caution> {
        self.place.cautions()
    }

    fn is_renewed(&self) -> bool {
        self.place.is_renewed()
    }

    fn renew(&self) -> Result<(), EngineError> {
        self.place.renew()
    }

    fn gather(&self, book: HeatBook) {
        self.log.book.borrow_mut().merge(book);
    }
}
