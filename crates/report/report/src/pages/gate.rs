//! Gate in words: its verdict, and the reasons if it does not pass.

use treering_analysis::compare::{Gate, GateReason, Outcome};

/// Maximum number of metrics named.
const METRICS_NAMED_MAX: usize = 4;

/// Verdict of the gate with its meaning, and a line for each reason if it does not pass.
pub fn gate_sentence(outcome: &Outcome) -> String {
    match Gate::decide(outcome) {
        Gate::Pass => "gate: pass; no primary metric is worse".to_owned(),
        Gate::Worse => "gate: worse; a primary metric is worse".to_owned(),
        Gate::Unclear => gate_unclear(&gate_reasons(outcome)),
    }
}

/// Sentence about an undecided gate with its reasons.
pub fn gate_unclear(reasons: &[String]) -> String {
    format!("gate: unclear; {}", reasons.join("; "))
}

/// Reasons for not passing the gate, in words.
pub fn gate_reasons(outcome: &Outcome) -> Vec<String> {
    Gate::reasons(outcome).iter().map(|reason| words(reason, outcome)).collect()
}

fn words(reason: &GateReason, outcome: &Outcome) -> String {
    match reason {
        GateReason::NothingCompared { contender } => {
            format!("no primary metric of '{contender}' could be compared")
        }
        GateReason::Caution(code) if code.differs_beyond_factor() => format!(
            "the variants differ in more than was asked: {name} (--accept {name} if that is meant)",
            name = code.name()
        ),
        GateReason::Caution(code) if code.breaks_assumptions() => {
            let of_code = outcome.cautions.iter().filter(|caution| caution.code == *code);
            let messages: Vec<&str> = of_code.map(|caution| caution.message.as_str()).collect();
            format!(
                "the verdicts may be wrong: {name}: {messages} (--accept {name} to decide all the \
                 same)",
                name = code.name(),
                messages = messages.join("; ")
            )
        }
        GateReason::Caution(code) => format!("not everything can be compared: {}", code.name()),
        GateReason::Open { contender, metrics } => {
            format!("'{contender}': nothing shown yet about {}", named(metrics))
        }
        GateReason::Stalls { contender, metrics } => format!(
            "'{contender}' has more outlying rounds, which the typical ratio hides: {}",
            named(metrics)
        ),
    }
}

/// Joins the names of the first metrics.
fn named(metrics: &[String]) -> String {
    let more = if metrics.len() > METRICS_NAMED_MAX { ", …" } else { "" };
    format!(
        "{}{more}",
        metrics.iter().take(METRICS_NAMED_MAX).cloned().collect::<Vec<_>>().join(", ")
    )
}
