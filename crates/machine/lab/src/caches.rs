//! Cache control between trials: write dirty pages back, let the machine settle, drop the caches. A
//! canary verifies the drop: a nameless file that was in the page cache before must not be in it
//! afterwards. The callers decide which trials drop the caches.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use treering_model::filesystems::by_magic;
use treering_sys::{
    DropCachesError, Errno, PageResidency, StopFlag, drop_caches, filesystem_facts, residency,
    sync_filesystem, sync_machine,
};

use crate::LabError;

/// Size of the canary file: large enough that its pages are not all evicted by chance.
const CANARY_BYTES: usize = 256 << 10;
/// Maximum number of attempts at dropping the caches, since pages under write-back cannot be
/// dropped.
const ATTEMPTS_MAX: u32 = 3;
const STEP: Duration = Duration::from_millis(100);

/// Limits for waiting until the machine is quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettleLimits {
    /// Dirty and write-back bytes of the whole machine at which it counts as quiet.
    pub dirty_bytes_max: u64,
    /// Longest wait for the machine to become quiet.
    pub wait_max: Duration,
    /// Idle pause after the wait.
    pub pause: Duration,
}

impl Default for SettleLimits {
    /// Defaults: 4 MiB, an amount that even an idle machine keeps dirty at times; up to 30 s of
    /// waiting; no pause.
    fn default() -> Self {
        Self { dirty_bytes_max: 4 << 20, wait_max: Duration::from_secs(30), pause: Duration::ZERO }
    }
}

/// Result of waiting for the machine to become quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettleResult {
    /// Bytes still dirty or under write-back at the end.
    pub dirty_bytes: u64,
    /// Time spent waiting, without the pause after it.
    pub waited: Duration,
    /// True if the amount fell to the limit. Other programs may keep the machine busy.
    pub is_quiet: bool,
}

/// Writes back dirty pages, first of the filesystem of `root`, reporting errors, then of the whole
/// machine. Then waits until few are left, and pauses. A raised flag ends the waiting.
///
/// # Errors
/// When data of the filesystem could not be written back.
pub fn settle(
    root: &Path,
    limits: &SettleLimits,
    stop: &StopFlag,
) -> Result<SettleResult, LabError> {
    let began = Instant::now();
    let opened = File::open(root).map_err(LabError::io("cannot open", root))?;
    sync_filesystem(opened.as_fd())
        .map_err(|errno| LabError::io("cannot write back", root)(errno.into()))?;
    sync_machine();
    let mut dirty = dirty_bytes()?;
    while dirty > limits.dirty_bytes_max && began.elapsed() < limits.wait_max && !stop.is_raised() {
        sleep(STEP);
        dirty = dirty_bytes()?;
    }
    let settled = SettleResult {
        dirty_bytes: dirty,
        waited: began.elapsed(),
        is_quiet: dirty <= limits.dirty_bytes_max,
    };
    let pause = Instant::now();
    while pause.elapsed() < limits.pause && !stop.is_raised() {
        sleep(STEP.min(limits.pause.saturating_sub(pause.elapsed())));
    }
    Ok(settled)
}

/// Dirty and write-back bytes of the whole machine.
fn dirty_bytes() -> Result<u64, LabError> {
    let path = "/proc/meminfo";
    let text = fs::read_to_string(path).map_err(LabError::io("cannot read", path))?;
    Ok(["Dirty", "Writeback"].iter().filter_map(|name| meminfo_bytes(&text, name)).sum())
}

/// Value of a line of meminfo, in bytes.
fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Result of dropping the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheDrop {
    /// Caches are dropped: the canary was cached before and is not cached now.
    Verified(CacheEvidence),
    /// The kernel accepted the request, but the canary is still cached, at least in part.
    StillCached(CacheEvidence),
    /// The kernel accepted the request, but the drop is not verified: the filesystem supports no
    /// canary, or no residency query.
    Unverified,
    /// The filesystem keeps its files in memory only: nothing can be dropped.
    InMemory,
    /// The kernel refuses to drop the caches.
    Refused(DropCachesError),
}

/// Evidence of a cache drop: canary residency and size of the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEvidence {
    /// Resident pages of the canary before the drop.
    pub before: PageResidency,
    /// Resident pages of the canary after the drop.
    pub after: PageResidency,
    /// Page cache of the machine before the drop, in bytes.
    pub cached_bytes_before: Option<u64>,
    /// Page cache of the machine after the drop, in bytes.
    pub cached_bytes_after: Option<u64>,
}

/// Drops page cache, dentries and inodes of the machine, and checks the effect with a canary on the
/// filesystem of `root`. Dirty pages are not dropped: call [`settle`] first.
///
/// # Errors
/// When the filesystem cannot be examined. A refusal by the kernel is not an error, but a result.
pub fn drop_and_verify(root: &Path) -> Result<CacheDrop, LabError> {
    let opened = File::open(root).map_err(LabError::io("cannot open", root))?;
    let facts = filesystem_facts(&opened)
        .map_err(|errno| LabError::io("cannot look at", root)(errno.into()))?;
    if by_magic(facts.type_magic).is_some_and(|filesystem| filesystem.is_in_memory) {
        return Ok(match drop_caches() {
            Ok(()) => CacheDrop::InMemory,
            Err(error) => CacheDrop::Refused(error),
        });
    }
    // Retries, since another program may drop the caches at this moment.
    let canary = (0..ATTEMPTS_MAX).find_map(|_| {
        CacheCanary::make(root).ok().filter(|canary| canary.before.resident_pages > 0)
    });
    let cached_bytes_before = page_cache_bytes();
    let mut last = None;
    for _ in 0..ATTEMPTS_MAX {
        if let Err(error) = drop_caches() {
            return Ok(CacheDrop::Refused(error));
        }
        let Some(canary) = &canary else {
            return Ok(CacheDrop::Unverified);
        };
        let Ok(after) = canary.residency() else {
            return Ok(CacheDrop::Unverified);
        };
        let cached_bytes_after = page_cache_bytes();
        let evidence =
            CacheEvidence { before: canary.before, after, cached_bytes_before, cached_bytes_after };
        if after.resident_pages == 0 {
            return Ok(CacheDrop::Verified(evidence));
        }
        last = Some(evidence);
        sleep(STEP);
    }
    Ok(last.map_or(CacheDrop::Unverified, CacheDrop::StillCached))
}

fn page_cache_bytes() -> Option<u64> {
    meminfo_bytes(&fs::read_to_string("/proc/meminfo").ok()?, "Cached")
}

/// Nameless file, which vanishes however this process ends.
struct CacheCanary {
    file: File,
    before: PageResidency,
}

impl CacheCanary {
    fn make(root: &Path) -> io::Result<Self> {
        let mut file = nameless(root)?;
        file.write_all(&vec![0x5a; CANARY_BYTES])?;
        file.sync_all()?;
        let before = residency(&file, CANARY_BYTES).map_err(io::Error::from)?;
        Ok(Self { file, before })
    }

    fn residency(&self) -> Result<PageResidency, Errno> {
        residency(&self.file, CANARY_BYTES)
    }
}

fn nameless(root: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE.bits().cast_signed();
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(root);
    if let Ok(file) = opened {
        return Ok(file);
    }
    let path = root.join(format!(".treering-canary-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{CacheDrop, SettleLimits, drop_and_verify, meminfo_bytes, settle};
    use std::path::Path;
    use std::time::Duration;
    use treering_sys::StopFlag;

    #[test]
    fn lines_of_meminfo_are_read_exactly() {
        let text = "Cached:  12 kB\nSwapCached: 9 kB\nDirty:\t0 kB\nWritebackTmp: 5 kB\nX: 1\n";
        assert_eq!(meminfo_bytes(text, "Cached"), Some(12 << 10));
        assert_eq!(meminfo_bytes(text, "Dirty"), Some(0));
        assert_eq!(meminfo_bytes(text, "Writeback"), None);
        assert_eq!(meminfo_bytes(text, "X"), None);
    }

    #[test]
    fn settling_is_bounded_and_ends_with_the_flag() {
        let place = tempfile::tempdir().unwrap();
        let stop = StopFlag::new();
        let limits = SettleLimits {
            dirty_bytes_max: u64::MAX,
            pause: Duration::from_millis(150),
            ..SettleLimits::default()
        };
        let began = std::time::Instant::now();
        assert!(settle(place.path(), &limits, &stop).unwrap().is_quiet);
        assert!(began.elapsed() >= limits.pause);
        stop.halt();
        let endless = SettleLimits { pause: Duration::from_secs(3600), ..limits };
        settle(place.path(), &endless, &stop).unwrap();
        assert!(settle(Path::new("/no/such/place"), &limits, &stop).is_err());
    }

    #[test]
    fn cache_drops_are_verified_or_refused_and_never_reported_for_memory() {
        let place = tempfile::tempdir().unwrap();
        let root = rustix::process::geteuid().is_root();
        match drop_and_verify(place.path()).unwrap() {
            CacheDrop::Verified(evidence) => {
                assert!(root && evidence.before.resident_pages > 0);
                assert_eq!(evidence.after.resident_pages, 0);
            }
            CacheDrop::Refused(_) => {}
            other => assert!(root, "{other:?}"),
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            let dropped = drop_and_verify(memory).unwrap();
            assert!(matches!(dropped, CacheDrop::InMemory | CacheDrop::Refused(_)), "{dropped:?}");
        }
    }
}
