//! `random_distribution`: `random`, `zipf:1.2`, `pareto:0.2:0.5`, `normal:10`, `zoned:60/10:40/90`,
//! `zoned_abs:60/20g:40/100g`.

use treering_kit::faults::Fault;

use super::direction::Direction;
use super::values::RawValue;

/// Default exponent of Zipf's distribution, as in the original.
const THETA: f64 = 1.1;
const H: f64 = 0.2;
/// Maximum number of zones, as in the original.
const ZONES_MAX: usize = 256;

const WORDS: &str = "random_distribution is one of: random, zipf[:THETA[:CENTER]], \
                     pareto[:H[:CENTER]], normal[:DEVIATION[:CENTER]], zoned:ACCESSES/SIZE:..., \
                     zoned_abs:ACCESSES/SIZE:...";

/// Distribution of offsets: `random_distribution`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Distribution {
    /// Uniform.
    #[default]
    Even,
    /// Zipf's distribution with this exponent, which is not 1.
    Zipf {
        /// Exponent of the distribution.
        theta: f64,
        /// Position of the most frequent block, as a share of the file; `None` for a random one.
        center: Option<f64>,
    },
    /// Pareto's distribution: a share `h` of the accesses goes to `1 - h` of the blocks.
    Pareto {
        /// Share of the accesses.
        h: f64,
        /// Position of the most frequent block, as for Zipf's.
        center: Option<f64>,
    },
    /// Normal distribution around a position, cut off at half the deviation to either side.
    Normal {
        /// Standard deviation, in percent of the file.
        deviation: f64,
        /// Position of the mean, as for Zipf's.
        center: Option<f64>,
    },
    /// Zones in percent of the file, by [`Direction::place`].
    Zoned([Vec<Zone>; 3]),
    /// Zones in bytes, by [`Direction::place`].
    ZonedAbs([Vec<Zone>; 3]),
}

/// Zone of a file with a share of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// Percentage of the accesses.
    pub accesses: u64,
    /// Length of the zone.
    pub size: u64,
}

impl Distribution {
    /// Parses the value of `random_distribution`.
    pub(super) fn read(value: &RawValue<'_>) -> Result<Self, Fault> {
        let (word, rest) = match value.text.split_once(':') {
            Some((word, rest)) => (word.trim(), Some(rest)),
            None => (value.text, None),
        };
        match (word, rest) {
            ("random", None) => Ok(Self::Even),
            ("zipf", rest) => {
                let (theta, center) = numbers(value, rest, THETA)?;
                let right = "the exponent is a number other than 1, as zipf:1.2";
                if theta == 1.0 {
                    return Err(
                        value.refuse("has an exponent for which there is no drawing", right)
                    );
                }
                Ok(Self::Zipf { theta, center })
            }
            ("pareto", rest) => {
                let (h, center) = numbers(value, rest, H)?;
                if h <= 0.0 || h >= 1.0 {
                    let right = "its share is above 0 and below 1, as pareto:0.2";
                    return Err(value.refuse("has no share that can be", right));
                }
                Ok(Self::Pareto { h, center })
            }
            ("normal", rest) => {
                let (deviation, center) = numbers(value, rest, 0.0)?;
                if deviation >= 100.0 {
                    let right = "the deviation is from 0 up to, but without, 100 percent";
                    return Err(value.refuse("has no deviation that can be", right));
                }
                Ok(Self::Normal { deviation, center })
            }
            ("zoned", Some(rest)) => zones(value, rest, false).map(Self::Zoned),
            ("zoned_abs", Some(rest)) => zones(value, rest, true).map(Self::ZonedAbs),
            _ => Err(value.refuse("is not known here", WORDS)),
        }
    }

    /// True if each file has a generator of its own, seeded from its path.
    pub(crate) fn is_by_file(&self) -> bool {
        matches!(self, Self::Zipf { .. } | Self::Pareto { .. } | Self::Normal { .. })
    }

    /// Value in the syntax of the option.
    pub(super) fn word(&self) -> String {
        let drawing = |name: &str, number: f64, center: Option<f64>| match center {
            Some(center) => format!("{name}:{number}:{center}"),
            None => format!("{name}:{number}"),
        };
        let parts = |name: &str, zones: &[Vec<Zone>; 3]| {
            let of = |direction: Direction| -> Vec<String> {
                let zones = zones[direction.place()].iter();
                zones.map(|zone| format!("{}/{}", zone.accesses, zone.size)).collect()
            };
            let [reads, writes, trims] = Direction::ALL.map(|direction| of(direction).join(":"));
            match (reads == writes, writes == trims) {
                (true, true) => format!("{name}:{reads}"),
                (_, true) => format!("{name}:{reads},{writes}"),
                _ => format!("{name}:{reads},{writes},{trims}"),
            }
        };
        match self {
            Self::Even => "random".to_owned(),
            Self::Zipf { theta, center } => drawing("zipf", *theta, *center),
            Self::Pareto { h, center } => drawing("pareto", *h, *center),
            Self::Normal { deviation, center } => drawing("normal", *deviation, *center),
            Self::Zoned(zones) => parts("zoned", zones),
            Self::ZonedAbs(zones) => parts("zoned_abs", zones),
        }
    }
}

/// Parses a number and a center, which lies between 0 and 1.
fn numbers(
    value: &RawValue<'_>,
    text: Option<&str>,
    without: f64,
) -> Result<(f64, Option<f64>), Fault> {
    let Some(text) = text else { return Ok((without, None)) };
    let (number, center) = match text.split_once(':') {
        Some((number, center)) => (number, Some(center)),
        None => (text, None),
    };
    let of = |text: &str| {
        let plain = text.trim().bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let number = text.trim().parse::<f64>().ok().filter(|_| plain);
        number.filter(|number| number.is_finite() && *number <= 1e6).ok_or_else(|| {
            value.part(text).refuse("is not a number", "write it as 1.2, without a sign")
        })
    };
    let center = center.map(of).transpose()?;
    if center.is_some_and(|center| center > 1.0) {
        let right = "the center is from 0, the beginning of the file, to 1, its end";
        return Err(value.refuse("has its center outside of the file", right));
    }
    Ok((of(number)?, center))
}

/// Parses zones for reads, writes and trims; a single list applies to all.
fn zones(value: &RawValue<'_>, text: &str, absolute: bool) -> Result<[Vec<Zone>; 3], Fault> {
    let parts: Vec<&str> = text.split(',').collect();
    let lists = match parts.as_slice() {
        [all] => [all; 3],
        [reads, writes] => [reads, writes, writes],
        [reads, writes, trims] => [reads, writes, trims],
        _ => {
            let right = "give one list of parts, or one for reads and one for writes";
            return Err(value.refuse("has too many lists", right));
        }
    };
    let [reads, writes, trims] = lists.map(|text| list(value, text, absolute));
    Ok([reads?, writes?, trims?])
}

fn list(value: &RawValue<'_>, text: &str, absolute: bool) -> Result<Vec<Zone>, Fault> {
    let mut read = Vec::new();
    for part in text.split(':') {
        let (accesses, size) = part.split_once('/').unwrap_or((part, ""));
        let accesses = value.part(accesses).number(0, 100)?;
        let size = match (value.part(size), absolute) {
            (size, _) if size.text.is_empty() => None,
            (size, true) => Some(size.size()?),
            (size, false) => Some(size.number(0, 100)?).filter(|percent| *percent > 0),
        };
        read.push((accesses, size));
    }
    let sum: u64 = read.iter().map(|(accesses, _)| accesses).sum();
    if sum != 100 || read.len() > ZONES_MAX {
        let right = "the shares of the accesses make 100, as zoned:60/10:30/20:10/70";
        return Err(value.refuse("does not make 100 percent", right));
    }
    let sizes = || read.iter().filter_map(|(_, size)| *size);
    let without = read.iter().filter(|(_, size)| size.is_none()).count() as u64;
    if absolute && (without > 0 || sizes().any(|size| size == 0)) {
        let right = "every part has its length, as zoned_abs:60/20g:40/100g";
        return Err(value.refuse("has a part without a length", right));
    }
    let sum = sizes().fold(0, u64::saturating_add);
    if !absolute && sum > 100 || sum > i64::MAX.unsigned_abs() {
        let right = "the sizes of all parts make up to 100 percent, as zoned:60/10:40/90";
        return Err(value.refuse("has more parts than there is file", right));
    }
    // Zones without a size share the rest.
    let share = 100_u64.saturating_sub(sum).checked_div(without).unwrap_or(0);
    let zone =
        |(accesses, size): (u64, Option<u64>)| Zone { accesses, size: size.unwrap_or(share) };
    Ok(read.into_iter().map(zone).collect())
}
