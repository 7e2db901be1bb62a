//! File sizes, drawn from a distribution; numbers and shares of a profile.
//!
//! Logarithm and exponential are computed here from sums and products: the C libraries differ in
//! their last digits, and one seed must give one list of operations on every machine.

use serde::Deserialize;
use treering_script::{Random, parse_size};

/// Largest size, in bytes.
const LARGEST_BYTES: u64 = 1 << 40;

/// Number of classes of powers of two up to [`LARGEST_BYTES`].
const CLASSES_MAX: usize = 41;
/// Largest accepted number of groups.
const GROUPS_MAX: usize = 1000;
/// Largest accepted number of files in a class.
const COUNT_MAX: u64 = 1 << 40;

/// Size in a profile: one size, or a distribution.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a size is \"4KiB\", { least, most }, { median, sigma, largest }, { powers-of-two } \
                 or { up-to, files, bytes }"
)]
pub(super) enum SizeText {
    Always(String),
    Lognormal(LognormalText),
    Between(UniformText),
    Measured(MeasuredText),
    Groups(GroupsText),
}

/// Lognormal distribution, cut off at `largest`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LognormalText {
    median: String,
    sigma: f64,
    largest: String,
}

/// Number of files per size class: empty ones, then of 1 byte, 2 to 3, 4 to 7 and so on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MeasuredText {
    powers_of_two: Vec<u64>,
    /// Bytes of all files per class.
    #[serde(default)]
    bytes: Option<Vec<u64>>,
}

/// Groups of files by size: each of files up to a size and larger than those of the group before.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GroupsText {
    up_to: Vec<u64>,
    files: Vec<u64>,
    /// Bytes of all files per group.
    bytes: Vec<u64>,
}

/// Uniform distribution, both ends included.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UniformText {
    least: String,
    most: String,
}

/// Distribution of sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SizeDistribution {
    /// Constant size in bytes.
    Always(u64),
    /// Lognormal distribution with this standard deviation of the logarithm; larger sizes are cut
    /// off.
    Lognormal { median: u64, sigma: f64, largest: u64 },
    /// Uniform distribution, both ends included.
    Between { least: u64, most: u64 },
    /// Classes in ascending order, with uniform sizes within each.
    Measured(Vec<SizeClass>),
}

impl SizeDistribution {
    /// Converts the size of a profile.
    pub(super) fn read(text: &SizeText) -> Result<Self, ProfileError> {
        match text {
            SizeText::Always(size) => Ok(Self::Always(bytes(size)?)),
            SizeText::Lognormal(LognormalText { median, sigma, largest }) => {
                let (median, largest) = (bytes(median)?, bytes(largest)?);
                if !(0.0..=5.0).contains(sigma) {
                    return Err(ProfileError(format!("sigma {sigma} is not between 0 and 5")));
                }
                if median == 0 || median > largest {
                    return Err(ProfileError(
                        "the median is not between 1 byte and `largest`".into(),
                    ));
                }
                Ok(Self::Lognormal { median, sigma: *sigma, largest })
            }
            SizeText::Between(UniformText { least, most }) => {
                let (least, most) = (bytes(least)?, bytes(most)?);
                if least > most {
                    return Err(ProfileError("`least` is more than `most`".into()));
                }
                Ok(Self::Between { least, most })
            }
            SizeText::Measured(MeasuredText { powers_of_two: counts, bytes }) => {
                let known = (1..=CLASSES_MAX).contains(&counts.len());
                if !known || counts.iter().all(|count| *count == 0) {
                    return Err(ProfileError(format!(
                        "powers-of-two: not 1 to {CLASSES_MAX} numbers"
                    )));
                }
                if counts.iter().any(|count| *count > COUNT_MAX) {
                    return Err(ProfileError(format!("powers-of-two: a number above {COUNT_MAX}")));
                }
                SizeClass::all(counts, bytes.as_deref()).map(Self::Measured)
            }
            SizeText::Groups(groups) => SizeClass::groups(groups).map(Self::Measured),
        }
    }

    /// Draws a size.
    pub(super) fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            Self::Always(bytes) => bytes,
            Self::Measured(ref classes) => {
                let mut point = random.below(classes.iter().map(|class| class.files).sum());
                let drawn = classes.iter().find(|class| {
                    let is_here = point < class.files;
                    point = point.wrapping_sub(if is_here { 0 } else { class.files });
                    is_here
                });
                drawn.map_or(0, |class| class.draw(random))
            }
            Self::Between { least, most } => least + random.below(most - least + 1),
            Self::Lognormal { median, sigma, largest } => {
                let factor = exponential(sigma * normal(random));
                whole(median as f64 * factor).clamp(1, largest)
            }
        }
    }

    /// Approximate mean size.
    pub(super) fn mean(&self) -> u64 {
        match *self {
            Self::Always(bytes) => bytes,
            Self::Measured(ref classes) => {
                let bytes = classes.iter().map(|class| class.bytes);
                let files = classes.iter().map(|class| u128::from(class.files)).sum::<u128>();
                u64::try_from(bytes.sum::<u128>() / files.max(1)).unwrap_or(u64::MAX)
            }
            Self::Between { least, most } => u64::midpoint(least, most),
            Self::Lognormal { median, sigma, largest } => {
                whole(median as f64 * exponential(sigma * sigma / 2.0)).min(largest)
            }
        }
    }

    /// Draws a size like that of another file: of its class, where there are classes.
    pub(super) fn draw_like(&self, bytes: u64, random: &mut Random) -> u64 {
        let class = match self {
            Self::Measured(classes) => {
                classes.get(classes.partition_point(|class| class.bounds.1 < bytes))
            }
            _ => None,
        };
        match class.filter(|class| class.files > 0) {
            Some(class) => class.draw(random),
            None => self.draw(random),
        }
    }

    /// Sizes of so many files: where there are classes, each with its share of the files and with
    /// its mean size, in random order.
    pub(super) fn deal(&self, files: usize, random: &mut Random) -> Vec<u64> {
        let Self::Measured(classes) = self else {
            return (0..files).map(|_file| self.draw(random)).collect();
        };
        let all = classes.iter().map(|class| u128::from(class.files)).sum::<u128>().max(1);
        let (mut sizes, mut before) = (Vec::with_capacity(files), 0u128);
        for class in classes {
            before += u128::from(class.files);
            // Up to here so many of the files, rounded to the nearest number.
            let due = (before * files as u128 + all / 2) / all;
            let own = usize::try_from(due).unwrap_or(files) - sizes.len();
            sizes.extend(class.deal(own, random));
        }
        random.shuffle(&mut sizes);
        sizes
    }
}

/// Files whose sizes are within a power of two, or in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SizeClass {
    files: u64,
    bytes: u128,
    /// Range of the drawn sizes, around the mean of the class.
    drawn: (u64, u64),
    /// Least and largest size of the class.
    bounds: (u64, u64),
}

impl SizeClass {
    /// Classes with these numbers of files and, if measured, their bytes.
    fn all(counts: &[u64], bytes: Option<&[u64]>) -> Result<Vec<Self>, ProfileError> {
        if bytes.is_some_and(|bytes| bytes.len() != counts.len()) {
            return Err(ProfileError("bytes: not as many numbers as powers-of-two".into()));
        }
        let class = |(number, files): (usize, &u64)| {
            let bounds @ (least, most) = class_of(number);
            let times = |bytes: u64| u128::from(bytes) * u128::from(*files);
            let Some(bytes) = bytes.map(|bytes| bytes[number]) else {
                let bytes = times(u64::midpoint(least, most));
                return Ok(Self { files: *files, bytes, drawn: bounds, bounds });
            };
            Self::of_files(*files, bytes, bounds)
        };
        counts.iter().enumerate().map(class).collect()
    }

    /// Classes of the groups of a profile.
    fn groups(text: &GroupsText) -> Result<Vec<Self>, ProfileError> {
        let GroupsText { up_to, files, bytes } = text;
        if !(1..=GROUPS_MAX).contains(&up_to.len()) {
            return Err(ProfileError(format!("up-to: not 1 to {GROUPS_MAX} sizes")));
        }
        if files.len() != up_to.len() || bytes.len() != up_to.len() {
            return Err(ProfileError("files, bytes: not as many numbers as up-to".into()));
        }
        if up_to.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(ProfileError("up-to: not in ascending order".into()));
        }
        if up_to.last().is_some_and(|most| *most > LARGEST_BYTES) {
            return Err(ProfileError(format!("up-to: a size above {LARGEST_BYTES}")));
        }
        if files.iter().any(|count| *count > COUNT_MAX) || files.iter().all(|count| *count == 0) {
            return Err(ProfileError(format!("files: none, or a number above {COUNT_MAX}")));
        }
        let least = [0].into_iter().chain(up_to.iter().map(|most| most + 1));
        let bounds = least.zip(up_to.iter().copied());
        let numbers = files.iter().zip(bytes).zip(bounds);
        numbers.map(|((files, bytes), bounds)| Self::of_files(*files, *bytes, bounds)).collect()
    }

    /// A class of so many files with these bytes together.
    fn of_files(
        files: u64,
        bytes: u64,
        bounds @ (least, most): (u64, u64),
    ) -> Result<Self, ProfileError> {
        let times = |bytes: u64| u128::from(bytes) * u128::from(files);
        if !(times(least)..=times(most)).contains(&u128::from(bytes)) {
            return Err(ProfileError(format!(
                "bytes: {bytes} are not {files} files of {least} to {most} bytes"
            )));
        }
        let mean = bytes.checked_div(files).unwrap_or(least);
        let reach = (mean - least).min(most - mean);
        let bytes = u128::from(bytes);
        Ok(Self { files, bytes, drawn: (mean - reach, mean + reach), bounds })
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let (least, most) = self.drawn;
        least + random.below(most - least + 1)
    }

    /// Sizes of so many files with the mean of the class.
    fn deal(&self, files: usize, random: &mut Random) -> Vec<u64> {
        let mut sizes: Vec<u64> = (0..files).map(|_file| self.draw(random)).collect();
        let wanted = self.bytes * files as u128 / u128::from(self.files.max(1));
        let (least, most) = self.bounds;
        let mut sum: u128 = sizes.iter().map(|size| u128::from(*size)).sum();
        for size in &mut sizes {
            let others = sum - u128::from(*size);
            let right = u64::try_from(wanted.saturating_sub(others)).unwrap_or(u64::MAX);
            *size = right.clamp(least, most);
            sum = others + u128::from(*size);
        }
        sizes
    }
}

/// Least and largest size in a class of powers of two.
const fn class_of(class: usize) -> (u64, u64) {
    match class {
        0 => (0, 0),
        class => (1 << (class - 1), (1 << class) - 1),
    }
}

/// Error in a profile, as a message without its position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProfileError(pub(super) String);

/// Number in a profile, within a range.
pub(super) fn counted(
    quantity: &str,
    number: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, ProfileError> {
    if range.contains(&number) {
        return Ok(number);
    }
    Err(ProfileError(format!(
        "{quantity}: {number} is not between {} and {}",
        range.start(),
        range.end()
    )))
}

/// Share in a profile: a percentage.
pub(super) fn share(quantity: &str, text: &str) -> Result<f64, ProfileError> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = number.filter(|percent| (0.0..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or_else(|| {
        ProfileError(format!("{quantity}: '{text}' is not a percentage such as \"40%\""))
    })
}

fn bytes(text: &str) -> Result<u64, ProfileError> {
    parse_size(text)
        .filter(|bytes| *bytes <= LARGEST_BYTES)
        .ok_or_else(|| ProfileError(format!("'{text}' is not a size such as \"4KiB\", at most 1T")))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are positive, and the cast saturates"
)]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// Draws a normal deviate (Marsaglia's polar method).
fn normal(random: &mut Random) -> f64 {
    let mut unit = || (random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    loop {
        let (first, second) = (unit(), unit());
        let square = first * first + second * second;
        if square > 0.0 && square < 1.0 {
            return first * (-2.0 * logarithm(square) / square).sqrt();
        }
    }
}

/// Natural logarithm of a number between 0 and 1.
fn logarithm(number: f64) -> f64 {
    let (mut mantissa, mut halvings) = (number, 0.0);
    while mantissa < std::f64::consts::FRAC_1_SQRT_2 {
        mantissa *= 2.0;
        halvings += 1.0;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let (mut power, mut sum) = (ratio, 0.0);
    for odd in (1..40u32).step_by(2) {
        sum += power / f64::from(odd);
        power *= ratio * ratio;
    }
    2.0 * sum - halvings * std::f64::consts::LN_2
}

/// Exponential function.
fn exponential(number: f64) -> f64 {
    // By squaring: the series converges quickly near 0.
    let (mut part, mut squarings) = (number, 0);
    while part.abs() > 0.5 {
        part /= 2.0;
        squarings += 1;
    }
    let (mut term, mut sum) = (1.0, 1.0);
    for step in 1..20u32 {
        term *= part / f64::from(step);
        sum += term;
    }
    (0..squarings).fold(sum, |power, _| power * power)
}

#[cfg(test)]
mod tests {
    use super::{GroupsText, SizeClass, SizeDistribution, exponential, logarithm};
    use treering_script::Random;

    #[test]
    fn own_functions_match_the_standard_library() {
        for step in 1..1000u32 {
            let number = f64::from(step) / 1000.0;
            assert!((logarithm(number) - number.ln()).abs() < 1e-13, "ln {number}");
            let power = f64::from(step) / 25.0 - 20.0;
            assert!((exponential(power) / power.exp() - 1.0).abs() < 1e-10, "exp {power}");
        }
    }

    #[test]
    fn lognormal_sizes_have_the_median_and_the_spread() {
        let sizes = SizeDistribution::Lognormal { median: 4096, sigma: 1.5, largest: 1 << 30 };
        let mut random = Random::new(3);
        let mut drawn: Vec<u64> = (0..20_001).map(|_| sizes.draw(&mut random)).collect();
        drawn.sort_unstable();
        let near = |place: usize, wanted: f64| (drawn[place] as f64 / wanted - 1.0).abs() < 0.06;
        assert!(near(10_000, 4096.0), "{}", drawn[10_000]);
        // One standard deviation above the median.
        assert!(near(16_827, 4096.0 * 1.5f64.exp()), "{}", drawn[16_827]);
    }

    #[test]
    fn measured_sizes_are_drawn_within_their_classes() {
        // Ten empty files, twenty of 2 or 3 bytes, seventy of 4096 to 8191.
        let mut counts = vec![10, 0, 20];
        counts.resize(13, 0);
        counts.push(70);
        let sizes = SizeDistribution::Measured(SizeClass::all(&counts, None).unwrap());
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..10_000).map(|_| sizes.draw(&mut random)).collect();
        let within = |least: u64, most: u64| {
            drawn.iter().filter(|bytes| (least..=most).contains(bytes)).count()
        };
        assert_eq!(within(0, 0) + within(2, 3) + within(4096, 8191), 10_000);
        assert!((900..1100).contains(&within(0, 0)) && (6800..7200).contains(&within(4096, 8191)));
        let mean = drawn.iter().sum::<u64>() / 10_000;
        assert!(sizes.mean().abs_diff(mean) < 200, "{} {mean}", sizes.mean());
    }

    #[test]
    fn groups_give_the_sizes_of_few_files_exactly() {
        // As in a directory of programs: nine of one size, and one that is larger.
        let text = GroupsText {
            up_to: vec![29, 264, 2_176_432, 3_713_416],
            files: vec![2, 1, 9, 1],
            bytes: vec![58, 264, 9 * 2_176_432, 3_713_416],
        };
        let sizes = SizeDistribution::Measured(SizeClass::groups(&text).unwrap());
        let mut random = Random::new(1);
        let mut dealt = sizes.deal(13, &mut random);
        dealt.sort_unstable();
        assert_eq!(dealt[..3], [29, 29, 264]);
        assert_eq!(dealt[3..12], [2_176_432; 9]);
        assert_eq!(dealt[12], 3_713_416);
        assert_eq!(sizes.draw_like(3_713_416, &mut random), 3_713_416);
        assert_eq!(sizes.draw_like(2_000_000, &mut random), 2_176_432);
    }

    #[test]
    fn the_draws_of_a_seed_never_change() {
        let sizes = SizeDistribution::Lognormal { median: 4096, sigma: 1.5, largest: 1 << 20 };
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..4).map(|_| sizes.draw(&mut random)).collect();
        assert_eq!(drawn, GOLDEN);
    }

    /// Sizes drawn once by this code.
    const GOLDEN: [u64; 4] = [12612, 2160, 630, 6606];
}
