//! Cautions that are known only after a trial: from its totals, the facts about the target, and its
//! duration.

use treering_engine::PayloadKind;
use treering_model::filesystems::is_in_memory;
use treering_model::{
    Accelerator, Caution, CautionCode, Fact, Op, SinkError, TaskTotals, TrialEvent, TrialSink,
};
use treering_sys::cache_drops;

/// Minimum ratio of working set to memory at which reads come from the device. bonnie++ and IOzone
/// ask for the same.
const TIMES_MEMORY: u64 = 2;
/// Age in seconds at which the kernel writes back dirty pages, used where the kernel does not
/// report it: the kernel's default.
const USUAL_EXPIRE_SECONDS: f64 = 30.0;

/// Passes events on, and sums up what the cautions depend on.
pub(crate) struct Tally<'a> {
    sink: &'a mut dyn TrialSink,
    drops_before: u64,
    /// Bytes read through the page cache.
    read_bytes: u64,
    /// Bytes written since the last sync within the time of a task.
    unsynced_bytes: u64,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(sink: &'a mut dyn TrialSink) -> Self {
        Self { sink, drops_before: cache_drops(), read_bytes: 0, unsynced_bytes: 0 }
    }

    fn add(&mut self, task: &TaskTotals) {
        let bytes = |kind: Op| {
            let ops = task.ops.iter().filter(|one| one.op == kind);
            ops.map(|one| one.bytes).sum::<u64>()
        };
        // Direct reads bypass the page cache.
        if !task.direct {
            self.read_bytes += bytes(Op::Read);
        }
        let calls = |kind: Op| {
            let ops = task.ops.iter().filter(|one| one.op == kind);
            ops.map(|one| one.calls).sum::<u64>()
        };
        let opens = calls(Op::Create) + calls(Op::Open);
        let fsynced = opens > 0 && calls(Op::Fsync) >= opens;
        // A sync covers the whole filesystem, with the writes of earlier tasks. Fsyncs of all files
        // of the task cover its own writes.
        self.unsynced_bytes = match task.sync_ns {
            0 if fsynced => self.unsynced_bytes,
            0 => self.unsynced_bytes + bytes(Op::Write),
            _ => 0,
        };
    }

    /// Returns the totals of the completed trial. `renewals` is the number of remounts.
    pub(crate) fn done(&self, renewals: u32) -> TrialTotals {
        TrialTotals {
            read_bytes: self.read_bytes,
            unsynced_bytes: self.unsynced_bytes,
            was_cold: cache_drops() > self.drops_before || renewals > 0,
        }
    }
}

impl TrialSink for Tally<'_> {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        if let TrialEvent::TaskEnded(task) = event {
            self.add(task);
        }
        self.sink.accept(event)
    }
}

/// Totals of a trial that the cautions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrialTotals {
    read_bytes: u64,
    unsynced_bytes: u64,
    /// True if caches were dropped or the filesystem was remounted at least once.
    was_cold: bool,
}

/// Facts about the target and the job that the cautions depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CautionFacts<'a> {
    /// Facts recorded by observers.
    pub(crate) facts: &'a [Fact],
    /// Maximum number of content bytes that exist at the same time.
    pub(crate) data_bytes: u64,
    /// Duration of the trial.
    pub(crate) seconds: f64,
}

impl CautionFacts<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.value(name)?.parse().ok()
    }

    /// True if the filesystem lives in memory only: it never reads from or writes to a device.
    fn is_in_memory(&self) -> bool {
        self.value("filesystem.type").is_some_and(is_in_memory)
    }
}

/// Cautions about a completed trial.
pub(crate) fn trial_cautions(done: TrialTotals, known: CautionFacts<'_>) -> Vec<Caution> {
    if known.is_in_memory() {
        return Vec::new();
    }
    [warm_read_caution(done, known), unsynced_write_caution(done, known)]
        .into_iter()
        .flatten()
        .collect()
}

/// Caution about reads with a warm page cache: the data may come from memory if the working set
/// fits there.
fn warm_read_caution(done: TrialTotals, known: CautionFacts<'_>) -> Option<Caution> {
    let memory: u64 = known.number("memory.usable_bytes")?;
    let fits = known.data_bytes < memory.saturating_mul(TIMES_MEMORY);
    if done.read_bytes == 0 || done.was_cold || !fits {
        return None;
    }
    let message = format!(
        "reads may have come from memory: {} MiB read, {} MiB working set, {} MiB RAM, caches not \
         dropped",
        done.read_bytes >> 20,
        known.data_bytes >> 20,
        memory >> 20
    );
    Some(Caution { code: CautionCode::DataFitInMemory, message })
}

/// Caution about unsynced writes: in a trial shorter than the kernel's expiry of dirty pages they
/// may never have reached the device.
fn unsynced_write_caution(done: TrialTotals, known: CautionFacts<'_>) -> Option<Caution> {
    // Its times are instructions: they do not say how long the kernel had for writing back.
    if known.value(Accelerator::FACT) == Some(Accelerator::Icount.name()) {
        return None;
    }
    let expire = known.number("memory.dirty_expire_centisecs").map(|centi: f64| centi / 100.0);
    let expire = expire.unwrap_or(USUAL_EXPIRE_SECONDS);
    // Above this number of dirty bytes the kernel starts writing back at once.
    let percent: u64 = known.number("memory.dirty_background_ratio").unwrap_or(10);
    let memory: u64 = known.number("memory.usable_bytes").unwrap_or(u64::MAX);
    let background_bytes = (memory / 100).saturating_mul(percent);
    if done.unsynced_bytes == 0 || done.unsynced_bytes > background_bytes || known.seconds >= expire
    {
        return None;
    }
    let message = format!(
        "writes may never have reached the device: {} MiB written without a sync in the measured \
         time, which ended after {:.1} s; the kernel may keep them in memory for {expire:.0} s",
        done.unsynced_bytes >> 20,
        known.seconds
    );
    Some(Caution { code: CautionCode::TooShort, message })
}

/// Caution about a compressible payload on a compressing filesystem.
pub(crate) fn compressible_caution(payload: PayloadKind, facts: &[Fact]) -> Option<Caution> {
    let content = match payload {
        PayloadKind::Native { compressibility: 0 } => return None,
        PayloadKind::Native { compressibility } => format!("{compressibility} % of the payload"),
        PayloadKind::Classic | PayloadKind::Zeros => {
            "the payload of the classic tool, a single repeated letter,".to_owned()
        }
    };
    let options = facts.iter().filter(|fact| fact.name.ends_with("_options"));
    let compressing = |option: &&str| option.contains("compress") && !option.ends_with("=no");
    let option = options.flat_map(|fact| fact.value.split(',')).find(compressing)?;
    let message = format!("{content} is compressible, and the filesystem is mounted with {option}");
    Some(Caution { code: CautionCode::CompressibleData, message })
}

#[cfg(test)]
mod tests {
    use super::{CautionFacts, Tally, TrialTotals, trial_cautions};
    use treering_model::{CautionCode, Fact, Latency, Op, OpTotals, TaskTotals, TrialSink};

    fn facts(filesystem: &str) -> Vec<Fact> {
        let facts = [
            ("filesystem.type", filesystem),
            ("memory.usable_bytes", "1000000000"),
            ("memory.dirty_expire_centisecs", "3000"),
            ("memory.dirty_background_ratio", "10"),
        ];
        facts.map(|(name, value)| Fact { name: name.into(), value: value.into() }).to_vec()
    }

    fn codes(done: TrialTotals, data_bytes: u64, seconds: f64) -> Vec<CautionCode> {
        let known = CautionFacts { facts: &facts("ext4"), data_bytes, seconds };
        trial_cautions(done, known).iter().map(|caution| caution.code).collect()
    }

    const NOTHING: TrialTotals = TrialTotals { read_bytes: 0, unsynced_bytes: 0, was_cold: false };

    #[test]
    fn warm_reads_of_data_that_fits_in_memory_are_cautioned() {
        let read = TrialTotals { read_bytes: 1, ..NOTHING };
        assert_eq!(codes(read, 1_999_999_999, 60.0), [CautionCode::DataFitInMemory]);
        assert_eq!(codes(read, 2_000_000_000, 60.0), [], "twice the memory");
        assert_eq!(codes(TrialTotals { was_cold: true, ..read }, 5, 60.0), []);
        assert_eq!(codes(NOTHING, 5, 60.0), [], "nothing was read");
        let known = CautionFacts { facts: &facts("tmpfs"), data_bytes: 5, seconds: 1.0 };
        assert_eq!(trial_cautions(TrialTotals { unsynced_bytes: 5, ..read }, known), []);
        let known = CautionFacts { facts: &[], data_bytes: 5, seconds: 60.0 };
        assert_eq!(trial_cautions(read, known), [], "nobody knows the memory");
    }

    #[test]
    fn direct_reads_are_not_cautioned() {
        let read = |direct| {
            let mut nobody = Vec::<Box<dyn TrialSink>>::new();
            let mut tally = Tally::new(&mut nobody);
            let latency = Latency::new();
            let ops = vec![OpTotals { op: Op::Read, calls: 1, errors: 0, bytes: 500, latency }];
            tally.add(&TaskTotals { ops, direct, ..TaskTotals::default() });
            tally.done(0).read_bytes
        };
        assert_eq!((read(false), read(true)), (500, 0));
    }

    #[test]
    fn fsynced_writes_count_as_synced() {
        let op =
            |op, calls, bytes| OpTotals { op, calls, errors: 0, bytes, latency: Latency::new() };
        let unsynced = |fsyncs| {
            let mut nobody = Vec::<Box<dyn TrialSink>>::new();
            let mut tally = Tally::new(&mut nobody);
            let ops = vec![
                op(Op::Create, 1, 0),
                op(Op::Open, 1, 0),
                op(Op::Write, 5, 500),
                op(Op::Fsync, fsyncs, 0),
            ];
            tally.add(&TaskTotals { ops, ..TaskTotals::default() });
            tally.done(0).unsynced_bytes
        };
        assert_eq!((unsynced(0), unsynced(1), unsynced(2)), (500, 500, 0));
    }

    #[test]
    fn short_trials_with_unsynced_writes_are_cautioned() {
        let written = |unsynced_bytes| TrialTotals { unsynced_bytes, ..NOTHING };
        assert_eq!(codes(written(100_000_000), 5, 29.9), [CautionCode::TooShort]);
        assert_eq!(codes(written(100_000_000), 5, 30.0), []);
        assert_eq!(codes(written(100_000_001), 5, 1.0), [], "the kernel begins by itself");
        assert_eq!(codes(written(0), 5, 1.0), [], "all of it was synced");
    }
}
