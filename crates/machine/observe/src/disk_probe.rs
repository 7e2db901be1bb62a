//! Latency probe of the disk below a directory: synced writes and direct reads of 4 KiB in a file
//! of its own, each waited for, for less than half a second.

use std::fs::{File, OpenOptions, remove_file};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use treering_model::{DiskLatencies, ProbeLatency};
use treering_script::Random;
use treering_stats::median;
use treering_sys::{PageBuffer, StopFlag};

/// Size of each request, in bytes.
const REQUEST_BYTES: usize = 4096;
/// Longest time of the writes, and of the reads.
const WRITING: Duration = Duration::from_millis(200);
const READING: Duration = Duration::from_millis(100);
/// Maximum number of requests of each kind; the file has 2 MiB then.
const REQUESTS_MAX: u64 = 512;

/// Measures the disk in a file that is made in the directory and removed: each 4 KiB appended is
/// followed by `fdatasync`, as a log does, and blocks drawn at random are then read with
/// `O_DIRECT`. The file has a name while it is written, since btrfs does not sync files without
/// one.
///
/// # Errors
/// When the file cannot be made, written or removed.
pub fn probe_disk(dir: &Path, stop: &StopFlag) -> io::Result<Option<DiskLatencies>> {
    let path = dir.join(format!(".treering-probe-disk-{}", std::process::id()));
    let file = File::create_new(&path)?;
    let written = append_synced(&file, stop);
    let direct =
        OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(&path);
    remove_file(&path)?;
    let Some((synced_write, blocks)) = written? else { return Ok(None) };
    // Some filesystems have no direct reads.
    let direct_read = direct.and_then(|file| read_blocks(&file, blocks, stop)).ok().flatten();
    Ok(Some(DiskLatencies { synced_write, direct_read }))
}

/// Appends blocks and syncs each; returns their latency and their number. The first one, which
/// makes the file, is not measured.
fn append_synced(file: &File, stop: &StopFlag) -> io::Result<Option<(ProbeLatency, u64)>> {
    let mut block = PageBuffer::filled(0, REQUEST_BYTES);
    let mut random = Random::for_part(0, "contents");
    let mut blocks = 0;
    let took = repeat(WRITING, stop, |number| {
        // A filesystem that compresses has nothing to save.
        block.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.bits().to_ne_bytes()));
        let begun = Instant::now();
        file.write_all_at(&block, number * REQUEST_BYTES as u64)?;
        file.sync_data()?;
        blocks = number + 1;
        Ok(begun.elapsed())
    })?;
    Ok(latency(took.get(1..).unwrap_or_default()).map(|latency| (latency, blocks)))
}

/// Reads blocks at random; returns their latency.
fn read_blocks(file: &File, blocks: u64, stop: &StopFlag) -> io::Result<Option<ProbeLatency>> {
    let mut block = PageBuffer::filled(0, REQUEST_BYTES);
    let mut random = Random::for_part(0, "places");
    let took = repeat(READING, stop, |_| {
        let place = random.below(blocks) * REQUEST_BYTES as u64;
        let begun = Instant::now();
        file.read_exact_at(&mut block, place)?;
        Ok(begun.elapsed())
    })?;
    Ok(latency(&took))
}

/// Calls the request until the time is over, at most [`REQUESTS_MAX`] times.
fn repeat(
    length: Duration,
    stop: &StopFlag,
    mut request: impl FnMut(u64) -> io::Result<Duration>,
) -> io::Result<Vec<Duration>> {
    let begun = Instant::now();
    let mut took = Vec::new();
    for number in 0..REQUESTS_MAX {
        took.push(request(number)?);
        if begun.elapsed() >= length || stop.is_raised() {
            break;
        }
    }
    Ok(took)
}

fn latency(took: &[Duration]) -> Option<ProbeLatency> {
    let milliseconds: Vec<f64> = took.iter().map(|one| one.as_secs_f64() * 1000.0).collect();
    Some(ProbeLatency {
        n: took.len(),
        median_ms: median(&milliseconds).ok()?,
        max_ms: milliseconds.iter().copied().fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::{REQUESTS_MAX, probe_disk};
    use treering_sys::StopFlag;

    #[test]
    fn a_probe_of_the_disk_waits_for_each_request_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let found = probe_disk(dir.path(), &StopFlag::new()).unwrap();
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        // The first write is not measured; on a disk that takes longer there is none.
        let Some(found) = found else { return };
        for latency in std::iter::once(&found.synced_write).chain(&found.direct_read) {
            assert!((1..=REQUESTS_MAX).contains(&(latency.n as u64)), "{latency:?}");
            assert!(latency.median_ms > 0.0 && latency.median_ms <= latency.max_ms, "{latency:?}");
        }
    }

    #[test]
    fn a_probe_that_is_stopped_or_has_no_directory_has_no_latency() {
        let dir = tempfile::tempdir().unwrap();
        let stop = StopFlag::new();
        stop.raise(2);
        assert_eq!(probe_disk(dir.path(), &stop).unwrap(), None);
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
        assert!(probe_disk(&dir.path().join("nowhere"), &StopFlag::new()).is_err());
    }
}
