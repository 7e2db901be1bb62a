//! Gate of a comparison: the accepted cautions and the exit code. The gate never passes if no
//! variants were compared.

use std::process::ExitCode;

use treering_analysis::compare::{ComparisonCautionCode, Gate, Outcome};
use treering_model::nearest::suggestion;
use treering_report::pages::gate::{gate_reasons, gate_sentence, gate_unclear};

use crate::arguments::PageArgs;
use crate::classic_output::say;
use crate::exit_codes::UNCLEAR;
use crate::failure::Failure;

/// Gate options of a comparison.
pub(crate) struct Gating {
    is_asked: bool,
    pub(super) accepted: Vec<ComparisonCautionCode>,
}

impl Gating {
    /// Reads the gate options from the arguments; caution codes that do not affect a gate are
    /// rejected.
    pub(crate) fn of(args: &PageArgs) -> Result<Self, Failure> {
        let accepted = args.accept.iter().map(|name| accepted(name)).collect::<Result<_, _>>()?;
        Ok(Self { is_asked: args.gate, accepted })
    }

    /// Prints the reason and returns the exit code. `absent` lists variants without trials that
    /// were to be compared.
    pub(super) fn answer(&self, outcome: &Outcome, absent: &[&str]) -> ExitCode {
        if !self.is_asked {
            return ExitCode::SUCCESS;
        }
        let gate = Gate::decide(outcome);
        if gate == Gate::Pass && !absent.is_empty() {
            let without = |name: &&str| format!("there is no trial of '{name}'");
            let mut reasons: Vec<String> = absent.iter().map(without).collect();
            reasons.extend(gate_reasons(outcome));
            say(&gate_unclear(&reasons));
            return ExitCode::from(UNCLEAR);
        }
        say(&gate_sentence(outcome));
        match gate {
            Gate::Pass => ExitCode::SUCCESS,
            Gate::Worse => ExitCode::from(1),
            Gate::Unclear => ExitCode::from(UNCLEAR),
        }
    }
}

/// Prints the reason and returns the exit code of a comparison without a result.
pub(crate) fn nothing_compared(args: &PageArgs, why: &str) -> ExitCode {
    if args.gate {
        say(&gate_unclear(&[format!("nothing was compared: {why}")]));
        return ExitCode::from(UNCLEAR);
    }
    say(why);
    ExitCode::SUCCESS
}

fn accepted(name: &str) -> Result<ComparisonCautionCode, Failure> {
    let counting = || ComparisonCautionCode::ALL.into_iter().filter(|code| code.stops_gate());
    counting().find(|code| code.name() == name).ok_or_else(|| {
        let known = ComparisonCautionCode::ALL.iter().any(|code| code.name() == name);
        let message = if known {
            format!("--accept: '{name}' is not a caution that stops a gate")
        } else {
            format!("--accept: '{name}' is not a caution about comparisons")
        };
        let names: Vec<&str> = counting().map(ComparisonCautionCode::name).collect();
        Failure::usage(message).hint(suggestion(name, &names, "one of"))
    })
}
