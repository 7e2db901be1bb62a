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
}

impl WorkLimit {
    /// Name of the fact; a trial without it counts as [`WorkLimit::Fixed`].
    pub const FACT: &str = "work.amount";

    /// Value of the fact.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Drawn => "drawn",
            Self::Timed => "timed",
        }
    }

    /// Parses the fact's value; unknown values count as [`WorkLimit::Fixed`].
    pub fn from_name(name: &str) -> Self {
        [Self::Drawn, Self::Timed].into_iter().find(|work| work.name() == name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::WorkLimit;

    #[test]
    fn names_round_trip() {
        for work in [WorkLimit::Fixed, WorkLimit::Drawn, WorkLimit::Timed] {
            assert_eq!(WorkLimit::from_name(work.name()), work);
        }
        assert_eq!(WorkLimit::from_name("?"), WorkLimit::Fixed);
    }
}
