//! The option by which a workload can be made as long as it needs to be, declared by each tool for
//! its own jobs.

/// Option of a workload on which the length of its job depends, and how.
#[derive(Clone, Copy, Debug)]
pub struct WorkScale {
    /// Name of the option.
    pub option: &'static str,
    /// Parameter within the option, for one that takes `KEY=VALUE`.
    pub key: Option<&'static str>,
    /// Value in this job.
    pub value: u64,
    /// Largest value.
    pub most: u64,
    /// Meaning of the value.
    pub unit: ScaleUnit,
    /// Reports whether the time of a phase of this name follows the option.
    pub follows: fn(&str) -> bool,
    /// Options that state the size of a job. A job that is given one of them is as long as its
    /// author wants it to be.
    pub sizes: &'static [&'static str],
}

/// Meaning of the value of a [`WorkScale`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleUnit {
    /// Number of pieces of work, each of so many of what is named: `files`.
    Amount {
        /// Plural of what is counted.
        name: &'static str,
        /// Number of them for each unit of the value.
        each: u64,
    },
    /// Bytes.
    Bytes,
    /// Seconds that the job runs.
    Seconds,
}

impl WorkScale {
    /// Value with which a job that took `measured_seconds` takes about `target_seconds`: never less
    /// than now, and rounded up to two digits.
    pub fn value_for(&self, measured_seconds: f64, target_seconds: f64) -> u64 {
        if self.unit == ScaleUnit::Seconds {
            return self.clamped(target_seconds.ceil());
        }
        if self.value == 0 || measured_seconds >= target_seconds {
            return self.value;
        }
        // A clock cannot see less, and the job would become as long as it can be.
        let measured = measured_seconds.max(1e-6);
        let wanted = self.value as f64 * (target_seconds / measured);
        if !wanted.is_finite() {
            return self.most.max(self.value);
        }
        let step = 10_f64.powf((wanted.max(1.0).log10().floor() - 1.0).max(0.0));
        self.clamped((wanted / step).ceil() * step)
    }

    fn clamped(&self, value: f64) -> u64 {
        let least = self.value.min(self.most);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float beyond the range becomes its end"
        )]
        let whole = value as u64;
        whole.clamp(least, self.most.max(least)).max(self.value)
    }

    /// Options with another value of the option, in the place of the present one.
    pub fn with_value(&self, options: &[(String, String)], value: u64) -> Vec<(String, String)> {
        let prefix = self.key.map(|key| format!("{key}="));
        let is_it = |(name, text): &(String, String)| {
            name == self.option && prefix.as_ref().is_none_or(|prefix| text.starts_with(prefix))
        };
        let text = format!("{}{value}", prefix.as_deref().unwrap_or_default());
        let mut options: Vec<(String, String)> =
            options.iter().filter(|one| !is_it(one)).cloned().collect();
        options.push((self.option.to_owned(), text));
        options
    }

    /// True if the options state the size of the job.
    pub fn is_stated_by(&self, options: &[(String, String)]) -> bool {
        options.iter().any(|(name, _)| self.sizes.contains(&name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::{ScaleUnit, WorkScale};

    fn scale(value: u64, most: u64, unit: ScaleUnit) -> WorkScale {
        let sizes = &["files"];
        WorkScale { option: "files", key: None, value, most, unit, follows: |_| true, sizes }
    }

    const FILES: ScaleUnit = ScaleUnit::Amount { name: "files", each: 1 };

    #[test]
    fn a_short_job_grows_by_the_ratio_of_the_times_in_two_digits() {
        let value_for = |measured| scale(4_000, 1 << 32, FILES).value_for(measured, 5.0);
        assert_eq!(value_for(0.33), 61_000);
        assert_eq!(value_for(1.0), 20_000);
        assert_eq!(scale(1, 100, FILES).value_for(0.4, 5.0), 13);
        assert_eq!(scale(3, 100, FILES).value_for(2.0, 5.0), 8);
    }

    #[test]
    fn a_job_never_shrinks_and_never_exceeds_its_option() {
        assert_eq!(scale(4_000, 1 << 32, FILES).value_for(7.0, 5.0), 4_000);
        assert_eq!(scale(4_000, 10_000, FILES).value_for(0.01, 5.0), 10_000);
        assert_eq!(scale(4_000, 100, FILES).value_for(0.01, 5.0), 4_000);
        assert_eq!(scale(0, 100, FILES).value_for(0.01, 5.0), 0);
        assert_eq!(scale(1, u64::MAX, FILES).value_for(0.0, f64::MAX), u64::MAX);
        assert_eq!(scale(1, 100, FILES).value_for(f64::NAN, 5.0), 100);
    }

    #[test]
    fn a_job_of_a_given_time_takes_the_target_or_its_own() {
        assert_eq!(scale(2, 100, ScaleUnit::Seconds).value_for(2.1, 5.0), 5);
        assert_eq!(scale(60, 100, ScaleUnit::Seconds).value_for(61.0, 5.0), 60);
        assert_eq!(scale(2, 100, ScaleUnit::Seconds).value_for(2.1, 4.5), 5);
    }

    #[test]
    fn options_get_the_value_once() {
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let given = [pair("files", "3"), pair("size", "4K")];
        let plain = scale(3, 100, FILES);
        assert_eq!(plain.with_value(&given, 8), [pair("size", "4K"), pair("files", "8")]);
        assert!(plain.is_stated_by(&given) && !plain.is_stated_by(&given[1..]));
        let within = WorkScale { option: "set", key: Some("size"), ..plain };
        let given = [pair("set", "size=1M"), pair("set", "bs=4k")];
        assert_eq!(within.with_value(&given, 8), [pair("set", "bs=4k"), pair("set", "size=8")]);
    }
}
