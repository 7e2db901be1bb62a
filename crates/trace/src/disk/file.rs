//! Disk files: the built-in ones, their numbers with the ranges in which these are uncertain, and
//! the disks that result.

use serde::Deserialize;
use treering_model::harmless;

use super::buffer::BufferText;
use super::curve::{SeekCurve, SeekText};
use super::draws::{DRAWS, UniformDraws};
use super::model::{DiskKind, FlashText, ModelledDisk, TransferText};

/// Largest number of pages of a translation layer, whose map is kept in memory for every draw of
/// the disk.
const PAGES_MAX: u64 = 1 << 22;

/// Names and files of the built-in disks.
const ALL: [(&str, &str); 7] = [
    ("hdd-7200", include_str!("../../disks/hdd-7200.toml")),
    ("hdd-7200-write-through", include_str!("../../disks/hdd-7200-write-through.toml")),
    ("hdd-7200-500g", include_str!("../../disks/hdd-7200-500g.toml")),
    ("hdd-5400", include_str!("../../disks/hdd-5400.toml")),
    ("ssd-sata", include_str!("../../disks/ssd-sata.toml")),
    ("ssd-ftl", include_str!("../../disks/ssd-ftl.toml")),
    ("hp97560", include_str!("../../disks/hp97560.toml")),
];

/// Disk file, as deserialized.
#[derive(Clone, Debug, Deserialize)]
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
    #[serde(default)]
    ranges: RangesText,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MechanicsText {
    revolutions_per_minute: f64,
    seek: SeekText,
}

/// Ranges of numbers, each in the unit of the number; a number without one lies within the
/// `uncertainty-percent` of the file.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RangesText {
    single_track_ms: Option<[f64; 2]>,
    average_ms: Option<[f64; 2]>,
    full_stroke_ms: Option<[f64; 2]>,
    overhead_ms: Option<[f64; 2]>,
    outer_bytes_per_second: Option<[f64; 2]>,
    inner_bytes_per_second: Option<[f64; 2]>,
    segments: Option<[f64; 2]>,
}

impl RangesText {
    const fn all(self) -> [Option<[f64; 2]>; 7] {
        [
            self.single_track_ms,
            self.average_ms,
            self.full_stroke_ms,
            self.overhead_ms,
            self.outer_bytes_per_second,
            self.inner_bytes_per_second,
            self.segments,
        ]
    }
}

/// Error in the description of a disk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DiskError(String);

fn wrong(message: impl Into<String>) -> DiskError {
    DiskError(message.into())
}

impl ModelledDisk {
    /// Names of the built-in disks.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|(name, _)| *name)
    }

    /// Looks up a built-in disk.
    pub fn named(name: &str) -> Option<Self> {
        Self::read(Self::text_of(name)?).ok()
    }

    /// TOML source of a built-in disk.
    pub fn text_of(name: &str) -> Option<&'static str> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Parses a disk file in TOML.
    ///
    /// # Errors
    /// Describes the first error, with line and column for TOML syntax errors.
    pub fn read(text: &str) -> Result<Self, DiskError> {
        let text: DiskText =
            toml::from_str(text).map_err(|error| wrong(harmless(error.to_string().trim())))?;
        if !(0.0..=90.0).contains(&text.uncertainty_percent) {
            return Err(wrong("uncertainty-percent is not between 0 and 90"));
        }
        let is_range = |[least, most]: [f64; 2]| 0.0 <= least && least <= most && most < 1e13;
        if !text.ranges.all().into_iter().flatten().all(is_range) {
            return Err(wrong("ranges: not 0 <= least <= most"));
        }
        let typical = text.build()?;
        let mut draws = UniformDraws::new();
        let drawn = (0..DRAWS).map(|_draw| {
            text.drawn(draws.next_numbers()).build().map_err(|DiskError(message)| {
                wrong(format!("a disk within the uncertainty does not exist: {message}"))
            })
        });
        let draws = drawn.collect::<Result<_, _>>()?;
        Ok(Self { draws, ..typical })
    }
}

impl DiskText {
    /// The same disk with other numbers within their uncertainty; `at` says where, from 0 to 1.
    fn drawn(&self, at: [f64; 8]) -> Self {
        let mut other = self.clone();
        let uncertainty = self.uncertainty_percent / 100.0;
        let within = |range: Option<[f64; 2]>, typical: f64, at: f64| match range {
            Some([least, most]) => least + at * (most - least),
            None => typical * (1.0 + (2.0 * at - 1.0) * uncertainty),
        };
        let rate = |range: Option<[f64; 2]>, typical: f64, at: f64| match range {
            Some(_) => within(range, typical, at),
            // Rates are known better than times.
            None => typical / (1.0 + (2.0 * at - 1.0) * uncertainty / 2.0),
        };
        let RangesText { single_track_ms, average_ms, full_stroke_ms, .. } = self.ranges;
        let RangesText { overhead_ms, segments, .. } = self.ranges;
        if let Some(mechanics) = &mut other.mechanics {
            let together = 1.0 + (2.0 * at[0] - 1.0) * uncertainty;
            let ranges = [single_track_ms, average_ms, full_stroke_ms];
            mechanics.seek.change(|number, typical| match ranges.get(number).copied().flatten() {
                Some(range) => within(Some(range), typical, at[number]),
                // Without ranges all seeks are longer or shorter, so that the curve exists.
                None => typical * together,
            });
        }
        if let Some(flash) = &mut other.flash {
            flash.read_ms = within(None, flash.read_ms, at[0]);
            flash.write_ms = within(None, flash.write_ms, at[1]);
            if let Some(layer) = &mut flash.translation {
                layer.copy_ms = within(None, layer.copy_ms, at[2]);
                layer.erase_ms = within(None, layer.erase_ms, at[6]);
            }
        }
        let transfer = &mut other.transfer;
        transfer.overhead_ms = within(overhead_ms, transfer.overhead_ms, at[3]);
        let TransferText { outer_bytes_per_second: outer, inner_bytes_per_second: inner, .. } =
            transfer;
        *outer = rate(self.ranges.outer_bytes_per_second, *outer, at[4]);
        *inner = rate(self.ranges.inner_bytes_per_second, *inner, at[5]).min(*outer);
        if let Some(buffer) = &mut other.buffer {
            let count = within(segments, buffer.segments as f64, at[6]).round().max(1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked when it is built, and small"
            )]
            let count = count as usize;
            buffer.segments = count;
            buffer.bus_bytes_per_second = rate(None, buffer.bus_bytes_per_second, at[7]);
        }
        other
    }

    /// The disk of these numbers alone.
    fn build(&self) -> Result<ModelledDisk, DiskError> {
        self.check()?;
        let access = match (&self.mechanics, self.flash) {
            (Some(MechanicsText { revolutions_per_minute: rpm, seek }), None) => {
                if !(100.0..=100_000.0).contains(rpm) {
                    return Err(wrong("revolutions-per-minute is not between 100 and 100000"));
                }
                let seek = SeekCurve::new(seek)
                    .ok_or_else(|| wrong("seek: there is no curve with these times"))?;
                DiskKind::Mechanics { revolution_ns: 60e9 / rpm, seek }
            }
            (None, Some(flash)) if (1..=1024).contains(&flash.at_a_time) => DiskKind::Flash(flash),
            (None, Some(_)) => return Err(wrong("at-a-time is not between 1 and 1024")),
            _ => return Err(wrong("give either [mechanics] or [flash]")),
        };
        Ok(ModelledDisk {
            about: self.about.clone(),
            capacity_bytes: self.capacity_bytes,
            queue: self.queue,
            access,
            transfer: self.transfer,
            buffer: self.buffer,
            draws: Vec::new(),
        })
    }

    fn check(&self) -> Result<(), DiskError> {
        let TransferText { outer_bytes_per_second: outer, inner_bytes_per_second: inner, .. } =
            self.transfer;
        let positive = |number: f64| (1e-6..1e13).contains(&number);
        if !positive(outer) || !positive(inner) || inner > outer {
            return Err(wrong("transfer: not 0 < inner <= outer"));
        }
        let latencies = self.flash.map_or([0.0, 0.0], |flash| [flash.read_ms, flash.write_ms]);
        let in_buffer = self.buffer.and_then(|buffer| buffer.overhead_ms).unwrap_or_default();
        let times = [self.transfer.overhead_ms, latencies[0], latencies[1], in_buffer];
        if !times.iter().all(|ms| (0.0..=10_000.0).contains(ms)) {
            return Err(wrong("a time is not between 0 and 10000 ms"));
        }
        if !(1..=1024).contains(&self.queue) || self.capacity_bytes < 1 << 20 {
            return Err(wrong("queue is not between 1 and 1024, or there is less than 1 MiB"));
        }
        if let Some(layer) = self.flash.and_then(|flash| flash.translation) {
            let pages = self.capacity_bytes / layer.page_bytes.max(1);
            let is_sound = (512..=1 << 24).contains(&layer.page_bytes)
                && (2..=1 << 20).contains(&layer.block_pages)
                && (layer.block_pages..=PAGES_MAX).contains(&pages)
                && (1.0..=400.0).contains(&layer.over_provisioning_percent)
                && [layer.copy_ms, layer.erase_ms].iter().all(|ms| (0.0..=1000.0).contains(ms));
            if !is_sound {
                return Err(wrong(
                    "translation: not up to 4194304 pages of 512 bytes to 16 MiB, blocks of at least \
                     2 of them, 1 to 400 % beside and times up to 1000 ms",
                ));
            }
        }
        let Some(buffer) = self.buffer else { return Ok(()) };
        if self.flash.is_some() {
            return Err(wrong("buffer: only [mechanics] has one"));
        }
        if !(1..=1024).contains(&buffer.segments)
            || !(1..=1 << 40).contains(&buffer.segment_bytes())
            || !positive(buffer.bus_bytes_per_second)
        {
            return Err(wrong("buffer: not 1 to 1024 segments, each of at least a byte"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, ModelledDisk};

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
    fn invalid_disk_files_are_rejected() {
        let text = ALL[0].1;
        for (from, to, wanted) in [
            ("queue = 32", "queue = 0", "queue"),
            ("7200", "7", "revolutions"),
            ("average-ms = 8.2", "average-ms = 0.2", "no curve"),
            ("83_000_000", "283_000_000", "inner <= outer"),
            ("overhead-ms = 0.2", "overhead-ms = nan", "a time"),
            ("[mechanics]", "[mechanic]", "unknown field"),
            ("segments = 32\n", "", "missing field"),
            ("segments = [16, 64]", "segments = [64, 16]", "ranges: not"),
            ("average-ms = [7.4, 9.0]", "average-ms = [0.1, 0.2]", "within the uncertainty"),
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
