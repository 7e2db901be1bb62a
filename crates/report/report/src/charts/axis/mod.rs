//! Axes, which map values to positions and place ticks. Every position is finite and within the
//! axis, for any value.

mod calendar;

pub(super) use calendar::date_ticks;

use crate::number::grouped;

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisScale {
    /// Linear: equal differences have equal length.
    Linear,
    /// Logarithmic: equal ratios have equal length; values are positive.
    Log,
}

/// Axis between two different values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) scale: AxisScale,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Positions of the lowest (`from`) and the highest value (`to`).
    from: f64,
    to: f64,
}

/// Ratio of an axis' ends above which a logarithmic axis has ticks at powers instead of equal
/// steps.
const STEPS_BELOW: f64 = 6.0;

/// Largest value of an axis, so that sums of two values stay finite.
const MOST: f64 = 1e307;

impl Axis {
    /// Creates an axis whose ends lie at the positions `from` and `to`. Equal ends are moved apart.
    pub(super) fn new(scale: AxisScale, (low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let bounded = |value: f64| if value.is_finite() { value.clamp(-MOST, MOST) } else { 0.0 };
        let (mut low, mut high) = (bounded(low.min(high)), bounded(high.max(low)));
        let scale = if low > 0.0 { scale } else { AxisScale::Linear };
        let too_close = high - low <= 1e-9 * high.abs().max(low.abs());
        if too_close {
            let room = if high == 0.0 { 1.0 } else { high.abs() * 0.05 };
            (low, high) = (low - room, high + room);
        }
        if high - low < f64::MIN_POSITIVE * 1e6 {
            high = low + f64::MIN_POSITIVE * 1e6;
        }
        Self { scale, low, high, from, to }
    }

    /// Position of a value, clamped to the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            // Both ends are halved, since the difference of two large numbers may overflow.
            AxisScale::Linear => {
                (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
            }
            AxisScale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        let share = if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) };
        self.from + share * (self.to - self.from)
    }

    /// Tick values with their labels, at most about `most`.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let is_steps = self.scale == AxisScale::Linear || self.high / self.low < STEPS_BELOW;
        if is_steps { self.steps(most) } else { self.powers(most) }
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten.
    fn steps(&self, most: usize) -> Vec<(f64, String)> {
        let wanted = (self.high / 2.0 - self.low / 2.0) / most.max(1) as f64 * 2.0;
        let power = wanted.log10().floor();
        let unit = 10f64.powf(power);
        let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * unit >= wanted * 0.7);
        let step = nice.unwrap_or(10.0) * unit;
        if !step.is_normal() {
            return Vec::new();
        }
        let decimals = decimals(step);
        let largest = self.low.abs().max(self.high.abs());
        let first = (self.low / step).ceil();
        let values = (0..=most * 2).map(|place| (first + place as f64) * step);
        // The tolerance keeps a tick at the very end despite rounding.
        let inside = values.take_while(|value| *value <= self.high + step * 1e-6);
        inside.map(|value| (value, step_text(value, decimals, largest))).collect()
    }

    /// Ticks at 1, 2, 5 times powers of ten, or at fewer of these where space is short.
    fn powers(&self, most: usize) -> Vec<(f64, String)> {
        let decades = (self.high / self.low).log10();
        let stride = (decades / (most as f64 + 1.0)).ceil().max(1.0);
        let choices: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        // If some powers are left out, so are all ticks between powers.
        let choices = if stride > 1.0 { &choices[2..] } else { &choices[..] };
        let of = |fine: &[f64]| self.powers_of(fine, stride);
        let fitting = choices.iter().map(|fine| of(fine)).find(|ticks| ticks.len() <= most + 2);
        fitting.unwrap_or_default()
    }

    fn powers_of(&self, fine: &[f64], stride: f64) -> Vec<(f64, String)> {
        let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
        // Multiples of the stride include the power 0, so that 1 is a tick.
        let mut power = (first / stride).floor() * stride;
        let mut ticks = Vec::new();
        while power <= last {
            for nice in fine {
                let value = nice * 10f64.powf(power);
                if value >= self.low * 0.999_999 && value <= self.high * 1.000_001 {
                    ticks.push((value, power_text(value)));
                }
            }
            power += stride;
        }
        ticks
    }
}

/// Number of decimals that distinguish multiples of a step.
fn decimals(step: f64) -> usize {
    let tells = |digits: &usize| {
        format!("{step:.digits$}").parse::<f64>().is_ok_and(|read| (read / step - 1.0).abs() < 1e-6)
    };
    (0..9).find(tells).unwrap_or(9)
}

fn step_text(value: f64, decimals: usize, largest: f64) -> String {
    // A value within the rounding error of the largest is zero.
    let value = if value.abs() < largest * 1e-12 { 0.0 } else { value };
    if largest >= 1e7 || decimals > 6 {
        return if value == 0.0 { "0".to_owned() } else { short_power(value) };
    }
    if largest >= 1e6 {
        let text = format!("{:.3}", value / 1e6);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if value == 0.0 { "0".to_owned() } else { format!("{text} M") };
    }
    if decimals == 0 { grouped(&format!("{value:.0}")) } else { format!("{value:.decimals$}") }
}

fn power_text(value: f64) -> String {
    if (1e-3..1e6).contains(&value) {
        let text = format!("{value:.3}");
        return grouped(text.trim_end_matches('0').trim_end_matches('.'));
    }
    short_power(value)
}

/// Formats a number with an exponent, `1.25e9`, without trailing zeros in the mantissa.
fn short_power(value: f64) -> String {
    let text = format!("{value:.4e}");
    match text.split_once('e') {
        Some((digits, power)) => {
            format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, AxisScale};
    use proptest::prelude::{any, proptest};

    fn texts(scale: AxisScale, low: f64, high: f64, most: usize) -> Vec<String> {
        let ticks = Axis::new(scale, (low, high), (0.0, 100.0)).ticks(most);
        ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_numbers_people_like() {
        assert_eq!(texts(AxisScale::Linear, 91.3, 131.0, 5), ["100", "110", "120", "130"]);
        assert_eq!(
            texts(AxisScale::Linear, 0.0, 1.0, 5),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(texts(AxisScale::Log, 0.9, 1.1, 5), ["0.90", "0.95", "1.00", "1.05", "1.10"]);
        assert_eq!(texts(AxisScale::Log, 0.1, 10.0, 7), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(texts(AxisScale::Log, 17.0, 1100.0, 5).len(), 6);
        assert_eq!(texts(AxisScale::Log, 1e-3, 1e3, 7).len(), 7);
        assert_eq!(texts(AxisScale::Linear, 0.0, 3e9, 4), ["0", "1e9", "2e9", "3e9"]);
        assert_eq!(texts(AxisScale::Linear, 0.0, 3e4, 3), ["0", "10,000", "20,000", "30,000"]);
        assert_eq!(texts(AxisScale::Linear, 0.0, 3e6, 3), ["0", "1 M", "2 M", "3 M"]);
        assert_eq!(texts(AxisScale::Log, 0.01, 1e5, 3), ["0.01", "1", "100", "10,000"]);
    }

    #[test]
    fn places_lie_between_the_ends() {
        let axis = Axis::new(AxisScale::Log, (0.5, 2.0), (10.0, 110.0));
        assert!((axis.place(1.0) - 60.0).abs() < 1e-9);
        assert_eq!(axis.place(0.01), 10.0);
        assert_eq!(axis.place(f64::INFINITY), 110.0);
        assert_eq!(Axis::new(AxisScale::Linear, (3.0, 3.0), (0.0, 10.0)).place(3.0), 5.0);
    }

    proptest! {
        #[test]
        fn any_axis_is_finite(low in any::<f64>(), high in any::<f64>(), value in any::<f64>()) {
            for scale in [AxisScale::Linear, AxisScale::Log] {
                let axis = Axis::new(scale, (low, high), (0.0, 100.0));
                assert!((0.0..=100.0).contains(&axis.place(value)), "{axis:?}");
                let ticks = axis.ticks(6);
                assert!(ticks.len() <= 13, "{ticks:?}");
                assert!(ticks.iter().all(|(value, _)| value.is_finite()), "{ticks:?}");
            }
        }
    }
}
