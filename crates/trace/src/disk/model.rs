//! Disk model: position of an offset, seek time, rotational delay and transfer time.
//!
//! The first byte is on the outermost track. Transfer rates fall linearly with the radius, so the
//! number of the track grows with the offset by a square root; the part of a track behind the
//! point is the angle. Switches between heads cost nothing (tracks are skewed for that).

use serde::Deserialize;
use treering_model::{Fingerprint, harmless};

use super::buffer::{BufferLookup, BufferText, DiskState};
use super::curve::{SeekCurve, SeekText};

/// Names and files of the built-in disks.
const ALL: [(&str, &str); 5] = [
    ("hdd-7200", include_str!("../../disks/hdd-7200.toml")),
    ("hdd-7200-500g", include_str!("../../disks/hdd-7200-500g.toml")),
    ("hdd-5400", include_str!("../../disks/hdd-5400.toml")),
    ("ssd-sata", include_str!("../../disks/ssd-sata.toml")),
    ("hp97560", include_str!("../../disks/hp97560.toml")),
];

/// Disk file, as deserialized.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct DiskText {
    about: String,
    #[serde(default)]
    #[expect(dead_code, reason = "for readers of the file: where its numbers come from")]
    source: String,
    capacity_bytes: u64,
    queue: usize,
    uncertainty_percent: f64,
    #[serde(default)]
    mechanics: Option<MechanicsText>,
    #[serde(default)]
    flash: Option<FlashText>,
    transfer: TransferText,
    #[serde(default)]
    buffer: Option<BufferText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MechanicsText {
    revolutions_per_minute: f64,
    seek: SeekText,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FlashText {
    read_ms: f64,
    write_ms: f64,
    at_a_time: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TransferText {
    outer_bytes_per_second: f64,
    inner_bytes_per_second: f64,
    overhead_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum DiskKind {
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
    uncertainty: f64,
    access: DiskKind,
    transfer: TransferText,
    /// Read buffer; a disk without one only reads through short gaps.
    buffer: Option<BufferText>,
}

/// Parts of the time of a request, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServiceTime {
    pub(super) overhead: f64,
    pub(super) seek: f64,
    pub(super) rotation: f64,
    pub(super) transfer: f64,
}

impl ServiceTime {
    /// Sum of all parts.
    pub(super) fn total(self) -> f64 {
        self.overhead + self.positioning() + self.transfer
    }

    /// Adds the parts of another request.
    pub(super) fn add(&mut self, other: Self) {
        self.overhead += other.overhead;
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
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
}

/// Gap up to which the disk reads through instead of seeking, in bytes.
const READ_THROUGH_BYTES: u64 = 64 << 10;

impl ModelledDisk {
    /// Names of the built-in disks.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(name, _)| *name)
    }

    /// Looks up a built-in disk.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = ALL.iter().find(|(known, _)| *known == name)?;
        Self::read(text).ok()
    }

    /// TOML source of a built-in disk.
    pub fn text_of(name: &str) -> Option<&'static str> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Capacity in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Fingerprint of all numbers of the disk, 16 hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let Self { capacity_bytes, queue, uncertainty, access, transfer, buffer, about: _ } = self;
        let numbers =
            format!("{capacity_bytes} {queue} {uncertainty} {access:?} {transfer:?} {buffer:?}");
        let mut print = Fingerprint::new();
        print.add(numbers.as_bytes());
        print.text()
    }

    /// Parses a disk file in TOML.
    ///
    /// # Errors
    /// Describes the first error, with line and column for TOML syntax errors.
    pub fn read(text: &str) -> Result<Self, DiskError> {
        let wrong = |message: &str| DiskError(message.to_owned());
        let text: DiskText =
            toml::from_str(text).map_err(|error| DiskError(harmless(error.to_string().trim())))?;
        let TransferText { outer_bytes_per_second: outer, inner_bytes_per_second: inner, .. } =
            text.transfer;
        let positive = |number: f64| (1e-6..1e13).contains(&number);
        if !positive(outer) || !positive(inner) || inner > outer {
            return Err(wrong("transfer: not 0 < inner <= outer"));
        }
        let latencies = text.flash.map_or([0.0, 0.0], |flash| [flash.read_ms, flash.write_ms]);
        let times = [text.transfer.overhead_ms, latencies[0], latencies[1]];
        if !times.iter().all(|ms| (0.0..=10_000.0).contains(ms)) {
            return Err(wrong("a time is not between 0 and 10000 ms"));
        }
        if !(0.0..=90.0).contains(&text.uncertainty_percent) {
            return Err(wrong("uncertainty-percent is not between 0 and 90"));
        }
        if !(1..=1024).contains(&text.queue) || text.capacity_bytes < 1 << 20 {
            return Err(wrong("queue is not between 1 and 1024, or there is less than 1 MiB"));
        }
        if let Some(buffer) = text.buffer {
            if text.flash.is_some() {
                return Err(wrong("buffer: only [mechanics] has one"));
            }
            if !(1..=1024).contains(&buffer.segments)
                || !(1..=1 << 40).contains(&buffer.segment_bytes())
                || !positive(buffer.bus_bytes_per_second)
            {
                return Err(wrong("buffer: not 1 to 1024 segments, each of at least a byte"));
            }
        }
        let access = match (text.mechanics, text.flash) {
            (Some(MechanicsText { revolutions_per_minute: rpm, seek }), None) => {
                if !(100.0..=100_000.0).contains(&rpm) {
                    return Err(wrong("revolutions-per-minute is not between 100 and 100000"));
                }
                let seek = SeekCurve::new(&seek)
                    .ok_or_else(|| wrong("seek: there is no curve with these times"))?;
                DiskKind::Mechanics { revolution_ns: 60e9 / rpm, seek }
            }
            (None, Some(flash)) if (1..=1024).contains(&flash.at_a_time) => DiskKind::Flash(flash),
            (None, Some(_)) => return Err(wrong("at-a-time is not between 1 and 1024")),
            _ => return Err(wrong("give either [mechanics] or [flash]")),
        };
        Ok(Self {
            about: text.about,
            capacity_bytes: text.capacity_bytes,
            queue: text.queue,
            uncertainty: text.uncertainty_percent / 100.0,
            access,
            transfer: text.transfer,
            buffer: text.buffer,
        })
    }

    /// Typical, fastest and slowest version of the disk: seeks, latencies and overheads change by
    /// the uncertainty, transfer rates by half of it. The speed of rotation is exact.
    pub(super) fn with_extremes(&self) -> [Self; 3] {
        [1.0, 1.0 - self.uncertainty, 1.0 + self.uncertainty].map(|factor| self.scaled(factor))
    }

    fn scaled(&self, factor: f64) -> Self {
        let rate = 1.0 / f64::midpoint(1.0, factor);
        let access = match self.access {
            DiskKind::Mechanics { revolution_ns, seek } => {
                DiskKind::Mechanics { revolution_ns, seek: seek.scaled(factor) }
            }
            DiskKind::Flash(flash) => DiskKind::Flash(FlashText {
                read_ms: flash.read_ms * factor,
                write_ms: flash.write_ms * factor,
                ..flash
            }),
        };
        let transfer = TransferText {
            outer_bytes_per_second: self.transfer.outer_bytes_per_second * rate,
            inner_bytes_per_second: self.transfer.inner_bytes_per_second * rate,
            overhead_ms: self.transfer.overhead_ms * factor,
        };
        let buffer = self.buffer.map(|buffer| BufferText {
            bus_bytes_per_second: buffer.bus_bytes_per_second * rate,
            ..buffer
        });
        Self { access, transfer, buffer, ..self.clone() }
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

    /// Time of a request started at `now_ns` while `waiting` requests are queued.
    pub(super) fn time(
        &self,
        now_ns: f64,
        state: &DiskState,
        wanted: DiskTransfer,
        waiting: usize,
    ) -> ServiceTime {
        let overhead = self.transfer.overhead_ms * 1e6;
        let transfer = wanted.bytes as f64 / self.density(self.place(wanted.offset));
        match self.access {
            DiskKind::Flash(flash) => {
                let ms = if wanted.is_write { flash.write_ms } else { flash.read_ms };
                let together = waiting.clamp(1, flash.at_a_time) as f64;
                ServiceTime { overhead, seek: ms * 1e6 / together, rotation: 0.0, transfer }
            }
            DiskKind::Mechanics { revolution_ns, seek } => {
                let there = self.positioned(now_ns, state.end, wanted, (revolution_ns, seek));
                match self.buffer.filter(|_| !wanted.is_write) {
                    None => there,
                    Some(buffer) => {
                        self.buffered(now_ns, state, wanted, buffer).map_or(there, |buffered| {
                            let is_sooner = buffered.total() <= there.total();
                            if is_sooner { buffered } else { there }
                        })
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
        wanted: DiskTransfer,
        buffer: BufferText,
    ) -> Option<ServiceTime> {
        let overhead = self.transfer.overhead_ms * 1e6;
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
                Some(ServiceTime { overhead, rotation: left - transfer, transfer, seek: 0.0 })
            }
        }
    }

    /// Time of a request for which the head moves to its track.
    fn positioned(
        &self,
        now_ns: f64,
        end: u64,
        wanted: DiskTransfer,
        (revolution_ns, seek): (f64, SeekCurve),
    ) -> ServiceTime {
        let here = self.place(wanted.offset);
        let density = self.density(here);
        let transfer = wanted.bytes as f64 / density;
        let overhead = self.transfer.overhead_ms * 1e6;
        let behind = wanted.offset.checked_sub(end).filter(|gap| *gap <= READ_THROUGH_BYTES);
        if let Some(gap) = behind.filter(|_| wanted.is_write || self.buffer.is_none()) {
            // Read-ahead, or a write that is still buffered, continues here without a seek.
            return ServiceTime {
                rotation: gap as f64 / density,
                transfer,
                ..ServiceTime::default()
            };
        }
        let tracks = self.tracks(revolution_ns);
        let distance = (here - self.place(end)).abs();
        let is_same_track = distance * tracks < 1.0;
        let seek = if is_same_track { 0.0 } else { seek.ms(distance) * 1e6 };
        let arrives = (now_ns + overhead + seek) / revolution_ns;
        let turn = (here * tracks - arrives).rem_euclid(1.0);
        ServiceTime { overhead, seek, rotation: turn * revolution_ns, transfer }
    }

    /// Number of tracks.
    fn tracks(&self, revolution_ns: f64) -> f64 {
        let (outer, inner) = self.rates();
        self.capacity_bytes as f64 / (f64::midpoint(outer, inner) * revolution_ns / 1e9)
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
        let (DiskKind::Mechanics { revolution_ns, .. }, Some(buffer), false) =
            (self.access, self.buffer, wanted.is_write)
        else {
            return state.record_write(now_ns, wanted.offset, end);
        };
        let done_ns = now_ns + parts.total();
        if self.buffered(now_ns, state, wanted, buffer) == Some(parts) {
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

/// Error in the description of a disk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DiskError(String);

#[cfg(test)]
mod tests {
    use super::{ALL, DiskState, DiskTransfer, ModelledDisk};

    #[test]
    fn built_in_disks_parse_and_name_their_source() {
        for (name, text) in ALL {
            let disk = ModelledDisk::read(text).unwrap();
            assert!(!disk.about.is_empty() && text.contains("source"), "{name}");
            assert_eq!(ModelledDisk::named(name), Some(disk));
        }
        assert!(ModelledDisk::named("tape").is_none());
    }

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
        let before = DiskTransfer { offset: 0, bytes: 1 << 20, is_write: false };
        let parts = disk.time(0.0, &state, before, 1);
        disk.serve(0.0, &mut state, before, parts);
        let wanted = DiskTransfer { offset: 1 << 20, bytes: 175_000, is_write: false };
        let parts = disk.time(parts.total(), &state, wanted, 1);
        assert!((parts.total() / 1e6 - 1.0).abs() < 0.001, "{parts:?}");
        let far = disk.time(0.0, &state, DiskTransfer { offset: 2_000_000_000_000, ..wanted }, 1);
        assert!(far.seek > 7e6 && far.rotation < 8.34e6, "{far:?}");
    }

    /// Reads one place after the other; the milliseconds of each.
    fn read(disk: &ModelledDisk, offsets: &[u64], bytes: u64) -> Vec<f64> {
        let (mut state, mut now_ns) = (DiskState::default(), 0.0);
        let mut read = |offset: &u64| {
            let wanted = DiskTransfer { offset: *offset, bytes, is_write: false };
            let parts = disk.time(now_ns, &state, wanted, 1);
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
        let place = DiskTransfer { offset: 10 << 30, bytes: 4096, is_write: false };
        let mut now_ns = 0.0;
        let mut times = Vec::new();
        for is_write in [false, false, true, false] {
            let wanted = DiskTransfer { is_write, ..place };
            let parts = disk.time(now_ns, &state, wanted, 1);
            disk.serve(now_ns, &mut state, wanted, parts);
            now_ns += parts.total();
            times.push(parts.total() / 1e6);
        }
        assert!(times[1] < 0.2 && times[2] > 4.0 && times[3] > 4.0, "{times:?}");
    }

    #[test]
    fn invalid_disk_files_are_rejected() {
        let text = ALL[0].1;
        for (from, to, wanted) in [
            ("queue = 32", "queue = 0", "queue"),
            ("7200", "7", "revolutions"),
            ("average-ms = 8.2", "average-ms = 0.2", "no curve"),
            ("83_000_000", "283_000_000", "inner <= outer"),
            ("overhead-ms = 0.1", "overhead-ms = nan", "a time"),
            ("[mechanics]", "[mechanic]", "unknown field"),
            ("overhead-ms = 0.1", "overhead-ms = 0.1\n[buffer]", "missing field"),
        ] {
            let error = ModelledDisk::read(&text.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(wanted), "{to}: {error}");
        }
        let text = include_str!("../../disks/hdd-7200-500g.toml");
        for (from, to) in [("segments = 16", "segments = 0"), ("33_554_432", "3")] {
            let error = ModelledDisk::read(&text.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains("buffer: not 1 to 1024"), "{to}: {error}");
        }
    }
}
