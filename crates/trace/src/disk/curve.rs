//! Seek time curve: a square root for short distances, linear for long ones (Ruemmler and Wilkes,
//! IEEE Computer 27(3), 1994). Distances are shares of the full stroke.

use serde::Deserialize;

/// Share of the full stroke above which the time grows linearly: 383 of 1962 cylinders, measured
/// for the HP 97560 by Ruemmler and Wilkes.
const BOUNDARY: f64 = 383.0 / 1962.0;

/// Seek times of a disk file: from a data sheet, or a published curve.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum SeekText {
    DataSheet(DataSheet),
    Published(SeekFormula),
}

/// Seek times of a data sheet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DataSheet {
    single_track_ms: f64,
    average_ms: f64,
    full_stroke_ms: f64,
}

/// `short[0] + short[1] √x` below the boundary, `long[0] + long[1] x` above it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SeekFormula {
    boundary: f64,
    short_ms: [f64; 2],
    long_ms: [f64; 2],
}

impl SeekText {
    /// Replaces each time by that of `change`, which is given the number of the time among
    /// single-track, average and full-stroke time, and a later number for those of a formula.
    pub(super) fn change(&mut self, change: impl Fn(usize, f64) -> f64) {
        match self {
            Self::DataSheet(sheet) => {
                let DataSheet { single_track_ms, average_ms, full_stroke_ms } = sheet;
                *single_track_ms = change(0, *single_track_ms);
                *average_ms = change(1, *average_ms);
                *full_stroke_ms = change(2, *full_stroke_ms);
            }
            Self::Published(SeekFormula { short_ms, long_ms, .. }) => {
                short_ms.iter_mut().chain(long_ms).for_each(|ms| *ms = change(3, *ms));
            }
        }
    }
}

/// Seek curve in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeekCurve {
    boundary: f64,
    short: [f64; 2],
    long: [f64; 2],
}

impl SeekCurve {
    /// Builds the curve; `None` for numbers that do not form one.
    pub(super) fn new(text: &SeekText) -> Option<Self> {
        let curve = match *text {
            SeekText::Published(SeekFormula { boundary, short_ms, long_ms }) => {
                Self { boundary, short: short_ms, long: long_ms }
            }
            SeekText::DataSheet(sheet) => Self::from_data_sheet(sheet)?,
        };
        let numbers = [curve.short, curve.long].concat();
        let is_sound = numbers.iter().all(|number| (0.0..1000.0).contains(number))
            && (0.0..=1.0).contains(&curve.boundary);
        is_sound.then_some(curve)
    }

    /// Continuous curve through the single-track and full-stroke times whose mean over uniformly
    /// distributed pairs of positions is the average.
    fn from_data_sheet(sheet: DataSheet) -> Option<Self> {
        let DataSheet { single_track_ms: single, average_ms: average, full_stroke_ms: full } =
            sheet;
        let (edge, root) = (BOUNDARY, BOUNDARY.sqrt());
        // Distances x of such pairs have the density 2 (1 - x). Its integral below the boundary,
        // the integral of √x times the density below, and of x times the density above:
        let below = 2.0 * edge - edge * edge;
        let roots = 4.0 / 3.0 * edge * root - 4.0 / 5.0 * edge * edge * root;
        let above = 1.0 - below;
        let longs = 1.0 / 3.0 - edge * edge + 2.0 / 3.0 * edge * edge * edge;
        // Solves single + b root = full - e (1 - edge) and mean = average for the slope e.
        let per_slope = (1.0 - edge) / root;
        let factor = roots * per_slope + above - longs;
        let residual = single * below + roots * (full - single) / root + above * full - average;
        let slope = residual / factor;
        let root_factor = (full - single - slope * (1.0 - edge)) / root;
        let curve =
            Self { boundary: edge, short: [single, root_factor], long: [full - slope, slope] };
        (slope >= 0.0 && root_factor >= 0.0).then_some(curve)
    }

    /// Seek time for a distance in milliseconds; 0 for distance 0.
    pub(super) fn ms(&self, distance: f64) -> f64 {
        if distance <= 0.0 {
            0.0
        } else if distance <= self.boundary {
            self.short[0] + self.short[1] * distance.sqrt()
        } else {
            self.long[0] + self.long[1] * distance
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataSheet, SeekCurve, SeekText};

    /// Mean over all pairs of this many positions.
    fn mean(curve: &SeekCurve) -> f64 {
        let places = 2000;
        let weighted = (1..places).map(|distance| {
            let pairs = f64::from(2 * (places - distance));
            pairs * curve.ms(f64::from(distance) / f64::from(places))
        });
        weighted.sum::<f64>() / f64::from(places) / f64::from(places)
    }

    #[test]
    fn data_sheet_times_lie_on_the_curve() {
        for (single, average, full) in [(0.6, 8.2, 17.7), (1.0, 12.0, 20.0), (0.8, 8.5, 19.0)] {
            let sheet =
                DataSheet { single_track_ms: single, average_ms: average, full_stroke_ms: full };
            let curve = SeekCurve::new(&SeekText::DataSheet(sheet)).unwrap();
            assert!((mean(&curve) / average - 1.0).abs() < 0.01, "{}", mean(&curve));
            assert!((curve.ms(1.0) - full).abs() < 1e-9);
            assert!((curve.ms(1e-7) - single).abs() < 0.01);
            let (before, after) = (curve.ms(super::BOUNDARY), curve.ms(super::BOUNDARY + 1e-12));
            assert!((before - after).abs() < 1e-6, "it has no step: {before} {after}");
        }
    }

    #[test]
    fn invalid_seek_times_are_rejected() {
        let sheet = |single_track_ms, average_ms, full_stroke_ms| {
            let sheet = DataSheet { single_track_ms, average_ms, full_stroke_ms };
            SeekCurve::new(&SeekText::DataSheet(sheet))
        };
        assert_eq!(sheet(1.0, 0.5, 2.0), None, "the mean is below the shortest");
        assert_eq!(sheet(1.0, 9.0, 8.0), None, "the mean is above the longest");
        assert_eq!(sheet(f64::NAN, 9.0, 18.0), None);
    }
}
