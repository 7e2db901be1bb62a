//! Fill levels of imported runs before and after. Filesystems of different sizes have different
//! fill levels with the same files.

use treering_model::{Trial, USED_FACT, USED_GROWTH_FACT, USED_GROWTH_FILES_FACT};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::variant::fact;

/// Tolerance for the share in use before the run, in percentage points, which covers system files
/// and rounding.
const USED_TOLERANCE: f64 = 2.0;
/// Tolerated ratio of filesystem sizes, which covers the different shares that filesystems reserve.
const SIZE_TOLERANCE: f64 = 1.05;

/// Caution about the fill levels and sizes of the filesystems of two imported runs.
pub(super) fn of_fill(
    about: &str,
    names: (&str, &str),
    (base, other): (&Trial, &Trial),
) -> Vec<ComparisonCaution> {
    let number = |trial: &Trial, name: &str| {
        let value = fact(trial, name)?.parse::<f64>().ok()?;
        Some(value).filter(|value| value.is_finite() && *value >= 0.0)
    };
    let both = |name: &str| Some((number(base, name)?, number(other, name)?));
    let mut cautions = Vec::new();
    let mut caution = |message: String| {
        cautions.push(ComparisonCaution::new(Code::SizesDiffer, format!("{about}: {message}")));
    };
    if let (Some((left, right)), Some((files, same))) =
        (both(USED_GROWTH_FACT), both(USED_GROWTH_FILES_FACT))
        && files > 0.0
        && files.total_cmp(&same).is_eq()
    {
        let (small, large) = (left.min(right), left.max(right));
        // Growth is rounded down to whole percentage points.
        if large - 1.0 > (small + 1.0) * SIZE_TOLERANCE {
            caution(format!(
                "the same {files} files took {left} % of the filesystem of '{}' and {right} % of \
                 that of '{}': they are not equally large, about {:.2} to 1",
                names.0,
                names.1,
                right / left.max(0.5)
            ));
        }
    }
    if let Some((left, right)) = both(USED_FACT)
        && (left - right).abs() > USED_TOLERANCE
    {
        caution(format!(
            "{left} % of the filesystem of '{}' was in use before, and {right} % of that of '{}': \
             they are not equally large, or were not equally full",
            names.0, names.1
        ));
    }
    cautions
}
