//! A disk as a model: where a byte lies, how long the head takes to it, and how long the transfer.
//!
//! The first byte is on the outermost track. Transfer rates fall linearly with the radius, so the
//! number of the track grows with the offset by a square root; the part of a track behind the
//! point is the angle. Switches between heads cost nothing (tracks are skewed for that).

use serde::Deserialize;
use treering_model::{Fingerprint, harmless};

use super::curve::{SeekCurve, SeekText};

/// The disks that are built in, with their files.
const ALL: [(&str, &str); 4] = [
    ("hdd-7200", include_str!("../../disks/hdd-7200.toml")),
    ("hdd-5400", include_str!("../../disks/hdd-5400.toml")),
    ("ssd-sata", include_str!("../../disks/ssd-sata.toml")),
    ("hp97560", include_str!("../../disks/hp97560.toml")),
];

/// A disk as it is written.
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
enum Access {
    Mechanics { revolution_ns: f64, seek: SeekCurve },
    Flash(FlashText),
}

/// A modelled disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// What it is, in words.
    pub about: String,
    pub(super) capacity_bytes: u64,
    /// Requests among which the next one is chosen.
    pub(super) queue: usize,
    uncertainty: f64,
    access: Access,
    transfer: TransferText,
}

/// Parts of the time of a request, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    pub(super) overhead: f64,
    pub(super) seek: f64,
    pub(super) rotation: f64,
    pub(super) transfer: f64,
}

impl Parts {
    /// All of them.
    pub(super) fn total(self) -> f64 {
        self.overhead + self.positioning() + self.transfer
    }

    /// Those of another request as well.
    pub(super) fn add(&mut self, other: Self) {
        self.overhead += other.overhead;
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
    }

    /// What the order of requests can save.
    pub(super) fn positioning(self) -> f64 {
        self.seek + self.rotation
    }
}

/// A request, in bytes of the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) is_write: bool,
}

/// So much further on in the same direction is read through rather than sought.
const READ_THROUGH_BYTES: u64 = 64 << 10;

impl Disk {
    /// The names of the disks that are built in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(name, _)| *name)
    }

    /// A disk that is built in.
    pub fn named(name: &str) -> Option<Self> {
        let (_, text) = ALL.iter().find(|(known, _)| *known == name)?;
        Self::read(text).ok()
    }

    /// What is written of a disk that is built in.
    pub fn text_of(name: &str) -> Option<&'static str> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Its bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// 16 hexadecimal digits that are equal where all numbers of two disks are.
    pub fn fingerprint(&self) -> String {
        let Self { capacity_bytes, queue, uncertainty, access, transfer, about: _ } = self;
        let numbers = format!("{capacity_bytes} {queue} {uncertainty} {access:?} {transfer:?}");
        let mut print = Fingerprint::new();
        print.add(numbers.as_bytes());
        print.text()
    }

    /// From TOML.
    ///
    /// # Errors
    /// What is wrong with it, with line and column where TOML is.
    pub fn read(text: &str) -> Result<Self, DiskError> {
        let wrong = |what: &str| DiskError(what.to_owned());
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
        let access = match (text.mechanics, text.flash) {
            (Some(MechanicsText { revolutions_per_minute: rpm, seek }), None) => {
                if !(100.0..=100_000.0).contains(&rpm) {
                    return Err(wrong("revolutions-per-minute is not between 100 and 100000"));
                }
                let seek = SeekCurve::of(&seek)
                    .ok_or_else(|| wrong("seek: there is no curve with these times"))?;
                Access::Mechanics { revolution_ns: 60e9 / rpm, seek }
            }
            (None, Some(flash)) if (1..=1024).contains(&flash.at_a_time) => Access::Flash(flash),
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
        })
    }

    /// As it is, as fast as it may be, and as slow: seeks, latencies and overheads shorter and
    /// longer by its uncertainty, transfer rates by half of it. The speed of rotation is known.
    pub(super) fn with_extremes(&self) -> [Self; 3] {
        [1.0, 1.0 - self.uncertainty, 1.0 + self.uncertainty].map(|factor| self.scaled(factor))
    }

    fn scaled(&self, factor: f64) -> Self {
        let rate = 1.0 / f64::midpoint(1.0, factor);
        let access = match self.access {
            Access::Mechanics { revolution_ns, seek } => {
                Access::Mechanics { revolution_ns, seek: seek.scaled(factor) }
            }
            Access::Flash(flash) => Access::Flash(FlashText {
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
        Self { access, transfer, ..self.clone() }
    }

    /// The track of an offset as a share of all, from the outside.
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

    /// The time of a request at a time, after one that ended at an offset; so many are waiting.
    pub(super) fn time(&self, now_ns: f64, end: u64, wanted: Wanted, waiting: usize) -> Parts {
        let here = self.place(wanted.offset);
        let (outer, inner) = self.rates();
        let rate = (outer - (outer - inner) * here).max(1.0);
        let transfer = wanted.bytes as f64 / rate * 1e9;
        let overhead = self.transfer.overhead_ms * 1e6;
        let behind = wanted.offset.checked_sub(end).filter(|gap| *gap <= READ_THROUGH_BYTES);
        match self.access {
            Access::Flash(flash) => {
                let ms = if wanted.is_write { flash.write_ms } else { flash.read_ms };
                let together = waiting.clamp(1, flash.at_a_time) as f64;
                Parts { overhead, seek: ms * 1e6 / together, rotation: 0.0, transfer }
            }
            Access::Mechanics { .. } if behind.is_some() => {
                // The disk reads on by itself, or has not yet written what was before.
                let through = behind.unwrap_or(0) as f64 / rate * 1e9;
                Parts { rotation: through, transfer, ..Parts::default() }
            }
            Access::Mechanics { revolution_ns, seek } => {
                let tracks = self.capacity_bytes as f64
                    / (f64::midpoint(outer, inner) * revolution_ns / 1e9);
                let distance = (here - self.place(end)).abs();
                let is_same_track = distance * tracks < 1.0;
                let seek = if is_same_track { 0.0 } else { seek.ms(distance) * 1e6 };
                let arrives = (now_ns + overhead + seek) / revolution_ns;
                let turn = (here * tracks - arrives).rem_euclid(1.0);
                Parts { overhead, seek, rotation: turn * revolution_ns, transfer }
            }
        }
    }
}

/// What is wrong with the description of a disk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DiskError(String);

#[cfg(test)]
mod tests {
    use super::{ALL, Disk, Wanted};

    #[test]
    fn every_disk_can_be_read_and_says_where_its_numbers_come_from() {
        for (name, text) in ALL {
            let disk = Disk::read(text).unwrap();
            assert!(!disk.about.is_empty() && text.contains("source"), "{name}");
            assert_eq!(Disk::named(name), Some(disk));
        }
        assert!(Disk::named("tape").is_none());
    }

    #[test]
    fn places_go_from_the_outside_to_the_inside() {
        let disk = Disk::named("hdd-7200").unwrap();
        let places: Vec<f64> =
            (0..=10).map(|tenth| disk.place(disk.capacity_bytes / 10 * tenth)).collect();
        assert!(places[0].abs() < 1e-12 && (places[10] - 1.0).abs() < 1e-9, "{places:?}");
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(places[5] < 0.5, "the outer half holds more: {}", places[5]);
    }

    #[test]
    fn a_request_behind_the_last_one_costs_its_transfer_alone() {
        let disk = Disk::named("hdd-7200").unwrap();
        let wanted = Wanted { offset: 1 << 20, bytes: 175_000, is_write: false };
        let parts = disk.time(0.0, 1 << 20, wanted, 1);
        assert!((parts.total() / 1e6 - 1.0).abs() < 0.001, "{parts:?}");
        let far = disk.time(0.0, 0, Wanted { offset: 2_000_000_000_000, ..wanted }, 1);
        assert!(far.seek > 7e6 && far.rotation < 8.34e6, "{far:?}");
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        let text = ALL[0].1;
        for (from, to, wanted) in [
            ("queue = 32", "queue = 0", "queue"),
            ("7200", "7", "revolutions"),
            ("average-ms = 8.2", "average-ms = 0.2", "no curve"),
            ("83_000_000", "283_000_000", "inner <= outer"),
            ("overhead-ms = 0.1", "overhead-ms = nan", "a time"),
            ("[mechanics]", "[mechanic]", "unknown field"),
        ] {
            let error = Disk::read(&text.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(wanted), "{to}: {error}");
        }
    }
}
