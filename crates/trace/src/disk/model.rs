//! Disk model: position of an offset, seek time, rotational delay and transfer time.
//!
//! The first byte is on the outermost track. Transfer rates fall linearly with the radius, so the
//! number of the track grows with the offset by a square root; the part of a track behind the
//! point is the angle. Switches between heads cost nothing (tracks are skewed for that).

use serde::Deserialize;
use treering_model::Fingerprint;

use super::buffer::{BufferLookup, BufferText, DiskState};
use super::curve::SeekCurve;
use super::page_map::PageMap;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FlashText {
    pub(super) read_ms: f64,
    pub(super) write_ms: f64,
    pub(super) at_a_time: usize,
    /// Translation layer; without one every write costs the same.
    pub(super) translation: Option<TranslationText>,
}

/// Translation layer of a flash drive.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TranslationText {
    pub(super) page_bytes: u64,
    pub(super) block_pages: u64,
    pub(super) over_provisioning_percent: f64,
    /// Time to copy a page, and to erase a block.
    pub(super) copy_ms: f64,
    pub(super) erase_ms: f64,
}

impl TranslationText {
    /// Pages that a range of bytes touches.
    fn pages(&self, (start, end): (u64, u64)) -> std::ops::Range<u64> {
        start / self.page_bytes..end.div_ceil(self.page_bytes)
    }

    fn map(&self, capacity_bytes: u64) -> PageMap {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let pages = count(capacity_bytes / self.page_bytes);
        PageMap::new(pages, count(self.block_pages), self.over_provisioning_percent / 100.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TransferText {
    pub(super) outer_bytes_per_second: f64,
    pub(super) inner_bytes_per_second: f64,
    pub(super) overhead_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DiskKind {
    Mechanics { revolution_ns: f64, seek: SeekCurve },
    Flash(FlashText),
}

/// A modelled disk.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelledDisk {
    /// Description for users.
    pub about: String,
    pub(super) capacity_bytes: u64,
    /// Queue length: the next request is chosen among this many.
    pub(super) queue: usize,
    pub(super) access: DiskKind,
    pub(super) transfer: TransferText,
    /// Buffer of reads and writes; a disk without one only reads through short gaps.
    pub(super) buffer: Option<BufferText>,
    /// Versions of the disk within the uncertainty of its numbers.
    pub(super) draws: Vec<Self>,
}

/// Parts of the time of a request, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServiceTime {
    /// Wait for the head, which writes what was in the cache.
    pub(super) writing: f64,
    pub(super) overhead: f64,
    pub(super) seek: f64,
    pub(super) rotation: f64,
    pub(super) transfer: f64,
}

impl ServiceTime {
    /// Sum of all parts.
    pub(super) fn total(self) -> f64 {
        self.writing + self.overhead + self.positioning() + self.transfer
    }

    /// Adds the parts of another request.
    pub(super) fn add(&mut self, other: Self) {
        self.writing += other.writing;
        self.overhead += other.overhead;
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
    }

    /// Difference to an earlier sum.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            writing: self.writing - earlier.writing,
            overhead: self.overhead - earlier.overhead,
            seek: self.seek - earlier.seek,
            rotation: self.rotation - earlier.rotation,
            transfer: self.transfer - earlier.transfer,
        }
    }

    /// Positioning time: the part that the request order can reduce.
    pub(super) fn positioning(self) -> f64 {
        self.seek + self.rotation
    }
}

/// Disk request, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DiskTransfer {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) is_write: bool,
    /// Write that is answered when it is on the platter, whatever the cache (FUA).
    pub(super) is_durable: bool,
}

/// Gap up to which the disk reads through instead of seeking, in bytes.
const READ_THROUGH_BYTES: u64 = 64 << 10;
/// Time within which the head counts as being at a place, for the rounding of sums.
const HERE_NS: f64 = 1.0;

impl ModelledDisk {
    /// Capacity in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Fingerprint of all numbers of the disk, 16 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let numbers = |disk: &Self| {
            let Self { capacity_bytes, queue, access, transfer, buffer, draws: _, about: _ } = disk;
            format!("{capacity_bytes} {queue} {access:?} {transfer:?} {buffer:?}")
        };
        let mut print = Fingerprint::new();
        let versions = std::iter::once(self).chain(&self.draws);
        versions.for_each(|disk| print.add(numbers(disk).as_bytes()));
        print.text()
    }

    /// The disk with its typical numbers, followed by its versions within their uncertainty.
    pub(super) fn with_draws(&self) -> Vec<Self> {
        let alone = |disk: &Self| Self { draws: Vec::new(), ..disk.clone() };
        std::iter::once(self).chain(&self.draws).map(alone).collect()
    }

    /// Time in nanoseconds between the arrival of a command and the first movement.
    pub(super) fn overhead_ns(&self) -> f64 {
        self.transfer.overhead_ms * 1e6
    }

    /// Size of the write cache; `None` without one, or if it is off.
    pub(super) fn write_cache_bytes(&self) -> Option<u64> {
        self.buffer.filter(|buffer| buffer.write_cache).map(|buffer| buffer.bytes)
    }

    /// Size up to which neighbouring writes in the cache are written as one.
    pub(super) fn joined_bytes(&self) -> u64 {
        self.buffer.map_or(0, |buffer| buffer.segment_bytes())
    }

    /// Time of a transfer between the host and the buffer.
    pub(super) fn time_in_cache(&self, bytes: u64) -> ServiceTime {
        let over_bus =
            self.buffer.map_or(0.0, |buffer| bytes as f64 / buffer.bus_bytes_per_second * 1e9);
        let overhead = self.buffer_overhead_ns();
        ServiceTime { overhead, transfer: over_bus, ..ServiceTime::default() }
    }

    /// Time in nanoseconds between the arrival of a command for buffered data and their transfer.
    fn buffer_overhead_ns(&self) -> f64 {
        let own_ms = self.buffer.and_then(|buffer| buffer.overhead_ms);
        own_ms.unwrap_or(self.transfer.overhead_ms) * 1e6
    }

    /// Track of an offset as a share of all tracks, from the outside.
    fn place(&self, offset: u64) -> f64 {
        let share = (offset as f64 / self.capacity_bytes as f64).min(1.0);
        let (outer, inner) = self.rates();
        let fall = outer - inner;
        if fall < outer * 1e-9 {
            return share;
        }
        let mean = f64::midpoint(outer, inner);
        (outer - (outer * outer - 2.0 * fall * share * mean).max(0.0).sqrt()) / fall
    }

    fn rates(&self) -> (f64, f64) {
        (self.transfer.outer_bytes_per_second, self.transfer.inner_bytes_per_second)
    }

    /// Bytes per nanosecond that pass below the head at a track position.
    fn density(&self, here: f64) -> f64 {
        let (outer, inner) = self.rates();
        (outer - (outer - inner) * here).max(1.0) / 1e9
    }

    /// Time of a request started at `now_ns`, with the part of its overhead that is not over yet,
    /// while `waiting` requests are queued.
    pub(super) fn time(
        &self,
        now_ns: f64,
        state: &DiskState,
        (wanted, overhead): (DiskTransfer, f64),
        waiting: usize,
    ) -> ServiceTime {
        let transfer = wanted.bytes as f64 / self.density(self.place(wanted.offset));
        match self.access {
            DiskKind::Flash(flash) => {
                let ms = if wanted.is_write { flash.write_ms } else { flash.read_ms };
                let together = waiting.clamp(1, flash.at_a_time) as f64;
                let seek = ms * 1e6 / together + state.owed_ns;
                ServiceTime { overhead, seek, transfer, ..ServiceTime::default() }
            }
            DiskKind::Mechanics { revolution_ns, seek } => {
                let there =
                    self.positioned(now_ns, state, (wanted, overhead), (revolution_ns, seek));
                match self.buffer.filter(|_| !wanted.is_write) {
                    None => there,
                    Some(buffer) => {
                        let buffered = self.buffered(now_ns, state, (wanted, overhead), buffer);
                        buffered.filter(|parts| parts.total() <= there.total()).unwrap_or(there)
                    }
                }
            }
        }
    }

    /// Time of a read from the buffer or from read-ahead; `None` if neither has the bytes.
    fn buffered(
        &self,
        now_ns: f64,
        state: &DiskState,
        (wanted, overhead): (DiskTransfer, f64),
        buffer: BufferText,
    ) -> Option<ServiceTime> {
        let overhead = overhead.min(self.buffer_overhead_ns());
        let over_bus = wanted.bytes as f64 / buffer.bus_bytes_per_second * 1e9;
        match state.find(now_ns, wanted.offset, wanted.offset.saturating_add(wanted.bytes)) {
            BufferLookup::No => None,
            BufferLookup::Buffered => {
                Some(ServiceTime { overhead, transfer: over_bus, ..ServiceTime::default() })
            }
            BufferLookup::Coming(ns) => {
                // The command overhead and the bus transfer overlap with the read-ahead.
                let left = (ns - overhead).max(over_bus);
                let transfer = wanted.bytes as f64 / self.density(self.place(wanted.offset));
                let transfer = transfer.max(over_bus).min(left);
                let rotation = left - transfer;
                Some(ServiceTime { overhead, rotation, transfer, ..ServiceTime::default() })
            }
        }
    }

    /// Time of a request for which the head moves to its track.
    fn positioned(
        &self,
        now_ns: f64,
        state: &DiskState,
        (wanted, overhead): (DiskTransfer, f64),
        (revolution_ns, seek): (f64, SeekCurve),
    ) -> ServiceTime {
        let end = state.end;
        let here = self.place(wanted.offset);
        let density = self.density(here);
        let transfer = wanted.bytes as f64 / density;
        let behind = wanted.offset.checked_sub(end).filter(|gap| *gap <= READ_THROUGH_BYTES);
        if let Some(gap) = behind.filter(|_| !wanted.is_write && self.buffer.is_none()) {
            // Read-ahead continues here without a seek.
            return ServiceTime {
                rotation: gap as f64 / density,
                transfer,
                ..ServiceTime::default()
            };
        }
        if end == wanted.offset && now_ns + overhead <= state.end_ns + HERE_NS {
            // The command was decoded before the head reached the place.
            return ServiceTime { overhead, transfer, ..ServiceTime::default() };
        }
        let tracks = self.tracks(revolution_ns);
        let distance = (here - self.place(end)).abs();
        let is_same_track = distance * tracks < 1.0;
        let seek = if is_same_track { 0.0 } else { seek.ms(distance) * 1e6 };
        let arrives = (now_ns + overhead + seek) / revolution_ns;
        let turn = (here * tracks - arrives).rem_euclid(1.0);
        ServiceTime { writing: 0.0, overhead, seek, rotation: turn * revolution_ns, transfer }
    }

    /// Number of tracks.
    fn tracks(&self, revolution_ns: f64) -> f64 {
        let (outer, inner) = self.rates();
        self.capacity_bytes as f64 / (f64::midpoint(outer, inner) * revolution_ns / 1e9)
    }

    /// Writes to the pages of a flash drive: what is copied and erased for it delays the next
    /// request.
    fn program(&self, state: &mut DiskState, range: (u64, u64)) {
        let DiskKind::Flash(FlashText { translation: Some(layer), at_a_time, .. }) = self.access
        else {
            return;
        };
        let map = state.flash.get_or_insert_with(|| Box::new(layer.map(self.capacity_bytes)));
        let before = map.work;
        for page in layer.pages(range) {
            map.write(usize::try_from(page).unwrap_or(usize::MAX));
        }
        let work = map.work.since(before);
        let ms = work.copied as f64 * layer.copy_ms + work.erased as f64 * layer.erase_ms;
        state.owed_ns = ms * 1e6 / at_a_time as f64;
    }

    /// Discards a range: a flash drive forgets the pages that lie whole in it.
    pub(super) fn discard(&self, state: &mut DiskState, (start, end): (u64, u64)) {
        let DiskKind::Flash(FlashText { translation: Some(layer), .. }) = self.access else {
            return;
        };
        let Some(map) = &mut state.flash else { return };
        for page in start.div_ceil(layer.page_bytes)..end / layer.page_bytes {
            map.trim(usize::try_from(page).unwrap_or(usize::MAX));
        }
    }

    /// Applies a request to the head position and the buffer; `parts` is its time from
    /// [`Self::time`].
    pub(super) fn serve(
        &self,
        now_ns: f64,
        state: &mut DiskState,
        wanted: DiskTransfer,
        parts: ServiceTime,
    ) {
        let end = wanted.offset.saturating_add(wanted.bytes);
        state.owed_ns = 0.0;
        if wanted.is_write {
            self.program(state, (wanted.offset, end));
        }
        let (DiskKind::Mechanics { revolution_ns, .. }, Some(buffer), false) =
            (self.access, self.buffer, wanted.is_write)
        else {
            return state.record_write((now_ns, now_ns + parts.total()), (wanted.offset, end));
        };
        let done_ns = now_ns + parts.total();
        if self.buffered(now_ns, state, (wanted, parts.overhead), buffer) == Some(parts) {
            return state.served(done_ns, (wanted.offset, end), buffer.segment_bytes());
        }
        // The head reads the sectors that pass during the rotational delay.
        let here = self.place(wanted.offset);
        let on_track = (here * self.tracks(revolution_ns)).fract() * revolution_ns;
        let density = self.density(here);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of bytes of a track, rounded down"
        )]
        let passed = (parts.rotation.min(on_track) * density) as u64;
        let start = wanted.offset.saturating_sub(passed.min(buffer.segment_bytes()));
        state.record_read((now_ns, done_ns), (start, end), density, &buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::{DiskState, DiskTransfer, ModelledDisk};

    #[test]
    fn tracks_run_from_the_outside_to_the_inside() {
        let disk = ModelledDisk::named("hdd-7200").unwrap();
        let places: Vec<f64> =
            (0..=10).map(|tenth| disk.place(disk.capacity_bytes / 10 * tenth)).collect();
        assert!(places[0].abs() < 1e-12 && (places[10] - 1.0).abs() < 1e-9, "{places:?}");
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(places[5] < 0.5, "the outer half holds more: {}", places[5]);
    }

    #[test]
    fn sequential_requests_cost_only_their_transfer() {
        let disk = ModelledDisk::named("hdd-7200").unwrap();
        let mut state = DiskState::default();
        let before = DiskTransfer { offset: 0, bytes: 1 << 20, is_write: false, is_durable: false };
        let parts = disk.time(0.0, &state, (before, 0.0), 1);
        disk.serve(0.0, &mut state, before, parts);
        let wanted =
            DiskTransfer { offset: 1 << 20, bytes: 175_000, is_write: false, is_durable: false };
        let parts = disk.time(parts.total(), &state, (wanted, 0.0), 1);
        assert!((parts.total() / 1e6 - 1.0).abs() < 0.001, "{parts:?}");
        let wanted = DiskTransfer { offset: 2_000_000_000_000, ..wanted };
        let far = disk.time(0.0, &state, (wanted, 0.0), 1);
        assert!(far.seek > 7e6 && far.rotation < 8.34e6, "{far:?}");
    }

    /// Reads one place after the other; the milliseconds of each.
    fn read(disk: &ModelledDisk, offsets: &[u64], bytes: u64) -> Vec<f64> {
        let (mut state, mut now_ns) = (DiskState::default(), 0.0);
        let mut read = |offset: &u64| {
            let wanted =
                DiskTransfer { offset: *offset, bytes, is_write: false, is_durable: false };
            let parts = disk.time(now_ns, &state, (wanted, disk.overhead_ns()), 1);
            disk.serve(now_ns, &mut state, wanted, parts);
            now_ns += parts.total();
            parts.total() / 1e6
        };
        offsets.iter().map(&mut read).collect()
    }

    #[test]
    fn buffered_and_read_ahead_bytes_cost_no_revolution() {
        let disk = ModelledDisk::named("hdd-7200-500g").unwrap();
        let (start, gap) = (10 << 30, 200 << 10);
        // Forward with gaps: the head reads through.
        let forward: Vec<u64> = (0..8).map(|place| start + place * gap).collect();
        let times = read(&disk, &forward, 4096);
        assert!(times[1..].iter().all(|ms| *ms < 1.3), "{times:?}");
        // Again, from far away: still in the buffer.
        let again = [forward[0], 40 << 30, forward[0], forward[0]];
        let times = read(&disk, &again, 4096);
        assert!(times[1] > 2.0 && times[2] < 0.2 && times[3] < 0.2, "{times:?}");
        // Beyond the read-ahead limit and never read: requires a seek.
        let times = read(&disk, &[start, start + (300 << 20)], 4096);
        assert!(times[1] > 2.0, "{times:?}");
    }

    #[test]
    fn writes_invalidate_the_buffer() {
        let disk = ModelledDisk::named("hdd-7200-500g").unwrap();
        let mut state = DiskState::default();
        let place =
            DiskTransfer { offset: 10 << 30, bytes: 4096, is_write: false, is_durable: false };
        let mut now_ns = 0.0;
        let mut times = Vec::new();
        for is_write in [false, false, true, false] {
            let wanted = DiskTransfer { is_write, ..place };
            let parts = disk.time(now_ns, &state, (wanted, disk.overhead_ns()), 1);
            disk.serve(now_ns, &mut state, wanted, parts);
            now_ns += parts.total();
            times.push(parts.total() / 1e6);
        }
        assert!(times[1] < 0.2 && times[2] > 4.0 && times[3] > 4.0, "{times:?}");
    }
}
