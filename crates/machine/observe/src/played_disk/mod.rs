//! Observer of played disks: work and lateness of the one below the target, from the status file
//! next to its image.

use std::path::{Path, PathBuf};

use treering_model::filesystems::PLAYED_MOUNT;
use treering_model::metrics::played::{
    BUSY_SECONDS, CPU_SECONDS, FLUSHES, LATE_P50_NS, LATE_P99_NS, LATE_PERCENT, REQUESTS,
    ROTATION_SECONDS, SEEK_SECONDS, TRANSFER_SECONDS,
};
use treering_model::{
    Caution, CautionCode, Metric, PLAYED_STATUS, PhaseTotals, PlayedCounts, PlayedStatus, Scope,
};
use treering_sys::MountTable;

use crate::block_trace::devices_under;
use crate::{Findings, Observer, ObserverContext, TrialWatch};

/// Share of lateness in the busy time above which the times are questionable.
const LATE_SHARE_MUCH: f64 = 0.05;
/// Limit of a status file in bytes.
const STATUS_BYTES_MAX: u64 = 1 << 20;

/// Observer of played disks.
#[derive(Debug)]
pub(crate) struct PlayedDisks;

impl Observer for PlayedDisks {
    fn name(&self) -> &'static str {
        "played_disk"
    }

    fn look(&self, scene: &ObserverContext<'_>) -> Findings {
        let statuses = statuses_below(scene.target);
        let status = statuses.iter().find_map(|path| read(path));
        Findings {
            facts: status.iter().flat_map(PlayedStatus::facts).collect(),
            ..Findings::default()
        }
    }

    fn watch(&self, scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let statuses = statuses_below(scene.target);
        if statuses.is_empty() {
            return None;
        }
        let now = counts(&statuses);
        Some(Box::new(PlayedWatch { statuses, began: now.clone(), phase: now }))
    }
}

struct PlayedWatch {
    statuses: Vec<PathBuf>,
    began: PlayedCounts,
    phase: PlayedCounts,
}

impl TrialWatch for PlayedWatch {
    fn phase_begins(&mut self, _phase: u32, _name: &str) {
        self.phase = counts(&self.statuses);
    }

    fn phase_ended(&mut self, totals: &PhaseTotals) -> Findings {
        let done = counts(&self.statuses).since(&self.phase);
        let scope = Scope::Phase(totals.name.clone());
        Findings { metrics: metrics(&done, &scope), ..Findings::default() }
    }

    fn end(self: Box<Self>) -> Findings {
        let done = counts(&self.statuses).since(&self.began);
        let metrics = metrics(&done, &Scope::Trial);
        Findings { metrics, cautions: caution(&done).into_iter().collect(), ..Findings::default() }
    }
}

/// Activity of the played disks below a directory since their start; `None` without any.
pub fn played_below(dir: &Path) -> Option<PlayedCounts> {
    let statuses = statuses_below(dir);
    (!statuses.is_empty()).then(|| counts(&statuses))
}

/// Status of the played disk whose image is at this path; `None` if none is played there.
pub fn played_disk_at(shown: &Path) -> Option<PlayedStatus> {
    let folder = shown.parent()?;
    let table = MountTable::read().ok()?;
    is_played(&table, folder).then(|| read(&folder.join(PLAYED_STATUS))).flatten()
}

fn is_played(table: &MountTable, folder: &Path) -> bool {
    table.mounts.iter().any(|mount| mount.fs_type == PLAYED_MOUNT && mount.point == folder)
}

/// Status files of the played disks below a directory.
fn statuses_below(dir: &Path) -> Vec<PathBuf> {
    let Ok(table) = MountTable::read() else { return Vec::new() };
    let devices = devices_under(dir).unwrap_or_default();
    let images = devices.iter().filter_map(|traced| {
        let file = format!("/sys/block/{}/loop/backing_file", traced.device.name);
        Some(PathBuf::from(std::fs::read_to_string(file).ok()?.trim_end_matches('\n')))
    });
    let folders = images.filter_map(|image| Some(image.parent()?.to_owned()));
    folders.filter(|folder| is_played(&table, folder)).map(|at| at.join(PLAYED_STATUS)).collect()
}

fn read(path: &Path) -> Option<PlayedStatus> {
    use std::io::Read as _;

    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(STATUS_BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Summed activity of several disks.
fn counts(statuses: &[PathBuf]) -> PlayedCounts {
    let read = statuses.iter().filter_map(|path| read(path));
    read.fold(PlayedCounts::default(), |sum, status| sum.with(&status.counts))
}

fn metrics(done: &PlayedCounts, scope: &Scope) -> Vec<Metric> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let late = |share| done.late_ns_at(share).unwrap_or(0) as f64;
    [
        (BUSY_SECONDS, seconds(done.busy_ns)),
        (SEEK_SECONDS, seconds(done.seek_ns)),
        (ROTATION_SECONDS, seconds(done.rotation_ns)),
        (TRANSFER_SECONDS, seconds(done.transfer_ns)),
        (REQUESTS, done.requests as f64),
        (FLUSHES, done.flushes as f64),
        (LATE_P50_NS, late(0.5)),
        (LATE_P99_NS, late(0.99)),
        (LATE_PERCENT, done.late_share() * 100.0),
        (CPU_SECONDS, seconds(done.cpu_ns)),
    ]
    .into_iter()
    .map(|(spec, value)| spec.of(scope.clone(), value))
    .collect()
}

fn caution(done: &PlayedCounts) -> Option<Caution> {
    let share = done.late_share();
    let message = format!(
        "answers of the played disk were late by {:.1} % of the time in which it had requests",
        share * 100.0
    );
    (share > LATE_SHARE_MUCH).then_some(Caution { code: CautionCode::PlayedLate, message })
}

#[cfg(test)]
mod tests {
    use super::{caution, counts, metrics, read};
    use treering_model::{CautionCode, PlayedCounts, PlayedParts, PlayedStatus, Scope};

    fn done(late_ns: u64) -> PlayedCounts {
        let mut counts = PlayedCounts::default();
        let parts =
            PlayedParts { busy_ns: 10_000_000, seek_ns: 4_000_000, ..PlayedParts::default() };
        for _ in 0..100 {
            counts.add(parts, 4096, false, late_ns);
        }
        counts
    }

    #[test]
    fn late_answers_raise_a_caution() {
        assert_eq!(caution(&done(100_000)), None);
        assert_eq!(caution(&PlayedCounts::default()), None);
        let words = caution(&done(1_000_000)).unwrap();
        assert!(
            words.code == CautionCode::PlayedLate && words.message.contains("10.0 %"),
            "{words:?}"
        );
    }

    #[test]
    fn counts_of_several_disks_are_added() {
        let top = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "not"].map(|name| top.path().join(name));
        let status = PlayedStatus { disk: "own".to_owned(), counts: done(1), ..Default::default() };
        for path in &paths[..2] {
            std::fs::write(path, serde_json::to_vec(&status).unwrap()).unwrap();
        }
        std::fs::write(&paths[2], "{").unwrap();
        assert_eq!(read(&paths[0]), Some(status));
        let both = counts(&paths);
        assert_eq!((both.requests, both.busy_ns), (200, 2_000_000_000));
        let metrics = metrics(&both, &Scope::Trial);
        assert!(metrics.iter().any(|m| m.name == "played_busy_seconds" && m.value == 2.0));
    }
}
