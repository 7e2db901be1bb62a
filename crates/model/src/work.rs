//! What decides how much a trial does: a word between those who run it and those who compare it.

/// What decides how much is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// The parameters: it is the same in every trial.
    #[default]
    Fixed,
    /// The parameters, and draws that others can disturb: it is nearly the same.
    Drawn,
    /// The time that it is given: how much is done is what is measured.
    Timed,
}

impl Work {
    /// The fact that says it. A trial without it does what its parameters say.
    pub const FACT: &str = "work.amount";

    /// The fact's value.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Drawn => "drawn",
            Self::Timed => "timed",
        }
    }

    /// What the fact's value says; other words say nothing.
    pub fn from_name(name: &str) -> Self {
        [Self::Drawn, Self::Timed].into_iter().find(|work| work.name() == name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Work;

    #[test]
    fn names_are_read_again() {
        for work in [Work::Fixed, Work::Drawn, Work::Timed] {
            assert_eq!(Work::from_name(work.name()), work);
        }
        assert_eq!(Work::from_name("?"), Work::Fixed);
    }
}
