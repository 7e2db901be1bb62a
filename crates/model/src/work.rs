//! Limits on the amount of work in a trial: shared by the crates that run trials and those that
//! compare them.

/// Limit of the work in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkLimit {
    /// The parameters fix the amount: equal in every trial.
    #[default]
    Fixed,
    /// Parameters and random draws fix the amount: nearly equal in every trial.
    Drawn,
    /// The run time is fixed, and the amount of work is the result.
    Timed,
    /// Only metrics that the user named are work; whatever else was done is an outcome.
    Named,
}

impl WorkLimit {
    /// Name of the fact; a trial without it counts as [`WorkLimit::Fixed`].
    pub const FACT: &str = "work.amount";

    /// Name of the fact with the names of the metrics that are work, separated by commas.
    pub const METRICS_FACT: &str = "work.metrics";

    /// Value of the fact.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Drawn => "drawn",
            Self::Timed => "timed",
            Self::Named => "named",
        }
    }

    /// Parses the fact's value; unknown values count as [`WorkLimit::Fixed`].
    pub fn from_name(name: &str) -> Self {
        [Self::Drawn, Self::Timed, Self::Named]
            .into_iter()
            .find(|work| work.name() == name)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::WorkLimit;

    #[test]
    fn names_round_trip() {
        for work in [WorkLimit::Fixed, WorkLimit::Drawn, WorkLimit::Timed, WorkLimit::Named] {
            assert_eq!(WorkLimit::from_name(work.name()), work);
        }
        assert_eq!(WorkLimit::from_name("?"), WorkLimit::Fixed);
    }
}
