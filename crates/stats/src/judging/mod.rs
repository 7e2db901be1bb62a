//! From estimates to verdicts: rounds, comparison, many questions, planning and stopping.
pub(crate) mod comparison;
pub(crate) mod control;
pub(crate) mod decision;
pub(crate) mod load_search;
pub(crate) mod multiplicity;
pub(crate) mod pair_selection;
pub(crate) mod power;
pub(crate) mod rounds;
pub(crate) mod stopping;
pub(crate) mod tails;
pub(crate) mod verdict;
