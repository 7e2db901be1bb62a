//! Stopping rule of a plan: `rounds`, or a rule in `[stopping]`.

use super::format::{PlanTable, StoppingTable};
use super::tree::Optional;
use super::values::StoppingRule::{Fixed, Precision, Sequential, Time};
use super::values::{NamedValues, StoppingRule, WholeNumber};
use crate::plan::Stopping;
use crate::plan::error::Fault;

const DEFAULT_MOST: u32 = 30;
const LOOKS_MAX: usize = 30;

/// Checks rules that involve two keys, and fills in the defaults. Default numbers of rounds suffice
/// to decide `family` comparisons.
pub(super) fn stopping(top: &PlanTable, family: u32) -> Result<Stopping, Fault> {
    let Some(section) = &top.stopping else { return Ok(fixed(top.rounds.value(), family)) };
    if let Some(rounds) = &top.rounds {
        let message = "the plan defines its end twice: by `rounds` and by [stopping]";
        return Err(rounds
            .key_fault(message, "so many rounds")
            .also(section.key_span.clone(), "and by a rule")
            .hint("leave one of them out"));
    }
    let rules: Vec<&str> = StoppingRule::named_values().into_iter().map(|(name, _)| name).collect();
    let Some(rule) = &section.rule else {
        let hint = format!("rules: {}", rules.join(", "));
        return Err(section.fault("[stopping] has no `rule`", "").hint(hint));
    };
    let rule = rule.0;
    refuse_other_keys(section, rule)?;
    match rule {
        Fixed => Ok(fixed(section.rounds.value(), family)),
        Precision => {
            let Some(half_width) = &section.half_width else {
                let message = "the rule \"precision\" needs a `half-width`";
                let hint = "give the width to reach, such as half-width = \"1.5%\"";
                return Err(section.fault(message, "").hint(hint));
            };
            let (fewest, most) = fewest_and_most(section, family)?;
            Ok(Stopping::Precision { half_width: half_width.0, fewest, most })
        }
        Time => {
            let Some(minutes) = &section.minutes else {
                let message = "the rule \"time\" needs `minutes`";
                let hint = "give the total time for the measured rounds, such as minutes = 4";
                return Err(section.fault(message, "").hint(hint));
            };
            let (fewest, most) = fewest_and_most(section, family)?;
            Ok(Stopping::Time { minutes: minutes.0, fewest, most })
        }
        Sequential => sequential(section, family),
    }
}

fn fixed(rounds: Option<WholeNumber<1, 10_000>>, family: u32) -> Stopping {
    match rounds {
        Some(rounds) => Stopping::Fixed { rounds: rounds.small() },
        None => Stopping::fixed_for(family),
    }
}

/// Refuses keys that belong to another rule.
fn refuse_other_keys(section: &StoppingTable, rule: StoppingRule) -> Result<(), Fault> {
    let keys: &[&str] = match rule {
        Fixed => &["rounds"],
        Precision => &["half-width", "fewest", "most"],
        Sequential => &["looks"],
        Time => &["minutes", "fewest", "most"],
    };
    let present = [
        section.rounds.key(),
        section.half_width.key(),
        section.fewest.key(),
        section.most.key(),
        section.looks.key(),
        section.minutes.key(),
    ];
    let stray = present.into_iter().flatten().filter(|key| !keys.contains(&key.value));
    let Some(stray) = stray.min_by_key(|key| key.span.start) else { return Ok(()) };
    let named = StoppingRule::named_values().into_iter().find(|(_, named)| *named == rule);
    let name = named.map_or("", |(name, _)| name);
    let message = format!("`{}` does not belong to the rule \"{name}\"", stray.value);
    Err(stray.fault(message, "").hint(format!("keys of this rule: {}", keys.join(", "))))
}

/// Minimum and maximum number of rounds of a rule.
fn fewest_and_most(section: &StoppingTable, family: u32) -> Result<(u32, u32), Fault> {
    let needed = Stopping::fixed_for(family).most_rounds();
    // An explicit `most` lowers the default of `fewest`.
    let most = section.most.as_ref().map(|most| most.count());
    let fewest = section.fewest.as_ref().map(|fewest| fewest.count());
    let fewest = fewest.unwrap_or(needed.min(most.unwrap_or(needed)));
    let most = most.unwrap_or(DEFAULT_MOST.max(fewest));
    match &section.most {
        Some(value) if most < fewest => {
            let message = format!("`most` is {most}, fewer than `fewest`, which is {fewest}");
            let mut fault = value.fault(message, "");
            if let Some(fewest) = &section.fewest {
                fault = fault.also(fewest.span.clone(), "the fewest");
            }
            Err(fault.hint(format!("write {fewest} or more")))
        }
        _ => Ok((fewest, most)),
    }
}

fn sequential(section: &StoppingTable, family: u32) -> Result<Stopping, Fault> {
    let Some(looks) = &section.looks else { return Ok(Stopping::sequential_for(family)) };
    if looks.is_empty() || looks.len() > LOOKS_MAX {
        let message = format!("`looks` are {}", looks.len());
        return Err(looks.fault(message, format!("write from 1 to {LOOKS_MAX}")));
    }
    if let Some(pair) = looks.windows(2).find(|pair| pair[0].count() >= pair[1].count()) {
        return Err(pair[1]
            .fault("`looks` are not in increasing order", "not more")
            .also(pair[0].span.clone(), "than this")
            .hint("list the rounds in increasing order, each once"));
    }
    Ok(Stopping::Sequential { looks: looks.iter().map(|look| look.count()).collect() })
}
