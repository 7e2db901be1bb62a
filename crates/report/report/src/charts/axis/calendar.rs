//! Ticks of a time axis at days, months or years that begin within it, in natural steps.

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Step between ticks.
#[derive(Clone, Copy, Debug)]
enum CalendarStep {
    Days(i64),
    Months(i16),
    Years(i16),
}

const STEPS: [CalendarStep; 13] = {
    use CalendarStep::{Days, Months, Years};
    [
        Days(1),
        Days(2),
        Days(7),
        Days(14),
        Months(1),
        Months(2),
        Months(3),
        Months(6),
        Years(1),
        Years(2),
        Years(5),
        Years(10),
        Years(50),
    ]
};

/// Ticks from the first to the last time, in milliseconds since 1970 (UTC), each with its label;
/// at most `most`.
pub(in crate::charts) fn date_ticks(first: i64, last: i64, most: usize) -> Vec<(i64, String)> {
    let fitting = STEPS.iter().map(|step| step.ticks(first, last, most + 1));
    fitting.flatten().find(|ticks| ticks.len() <= most).unwrap_or_default()
}

/// Day of a time in UTC.
fn day(unix_ms: i64) -> Option<Date> {
    let time = Timestamp::from_millisecond(unix_ms).ok()?;
    Some(time.to_zoned(TimeZone::UTC).date())
}

impl CalendarStep {
    /// Ticks of this step, at most `most` + 1; `None` beyond the calendar.
    fn ticks(self, first: i64, last: i64, most: usize) -> Option<Vec<(i64, String)>> {
        let mut at = self.start(day(first)?)?;
        let mut ticks = Vec::new();
        while ticks.len() <= most {
            let time = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond();
            if time > last {
                break;
            }
            // The day of the first time is within the axis.
            if time >= first || day(time) == day(first) {
                ticks.push((time.max(first), self.label(at)));
            }
            at = self.after(at)?;
        }
        Some(ticks)
    }

    /// Last tick that is not after a day.
    fn start(self, from: Date) -> Option<Date> {
        match self {
            Self::Days(1 | 2) => Some(from),
            Self::Days(_) => {
                let back = i64::from(from.weekday().to_monday_zero_offset());
                from.checked_sub(back.days()).ok()
            }
            Self::Months(step) => {
                let month = (i16::from(from.month()) - 1) / step * step + 1;
                Date::new(from.year(), i8::try_from(month).ok()?, 1).ok()
            }
            Self::Years(step) => Some(date(from.year().div_euclid(step) * step, 1, 1)),
        }
    }

    fn after(self, at: Date) -> Option<Date> {
        let span = match self {
            Self::Days(step) => step.days(),
            Self::Months(step) => i64::from(step).months(),
            Self::Years(step) => i64::from(step).years(),
        };
        at.checked_add(span).ok()
    }

    fn label(self, at: Date) -> String {
        let format = match self {
            Self::Days(_) => "%Y-%m-%d",
            Self::Months(_) => "%Y-%m",
            Self::Years(_) => "%Y",
        };
        at.strftime(format).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::date_ticks;
    use proptest::prelude::{any, proptest};

    const DAY_MS: i64 = 86_400_000;
    /// 2025-11-03 00:00 UTC.
    const MONDAY_MS: i64 = 20_395 * DAY_MS;

    fn labels(days: i64, most: usize) -> Vec<String> {
        let ticks = date_ticks(MONDAY_MS, MONDAY_MS + days * DAY_MS, most);
        ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn dates_are_days_months_or_years_as_the_axis_is_long() {
        assert_eq!(labels(2, 4), ["2025-11-03", "2025-11-04", "2025-11-05"]);
        assert_eq!(labels(20, 4), ["2025-11-03", "2025-11-10", "2025-11-17"]);
        assert_eq!(labels(230, 2), ["2026-01", "2026-04"]);
        assert_eq!(labels(230, 4), ["2026-01", "2026-03", "2026-05"]);
        assert_eq!(labels(2000, 4), ["2026", "2028", "2030"]);
    }

    #[test]
    fn a_single_day_has_a_date() {
        assert_eq!(labels(0, 4), ["2025-11-03"]);
    }

    proptest! {
        #[test]
        fn ticks_of_any_axis_lie_within_it(first in any::<i64>(), length in any::<u32>()) {
            let last = first.saturating_add(i64::from(length) * 1000);
            let ticks = date_ticks(first, last, 5);
            assert!(ticks.len() <= 5, "{ticks:?}");
            assert!(ticks.iter().all(|(time, _)| (first..=last).contains(time)), "{ticks:?}");
        }
    }
}
