//! Stopping rule of a plan: `rounds`, or a rule in `[stopping]`.

use super::nearest::nearest;
use super::quantity::{self, share};
use super::section::{STOPPING, Section, Value};
use crate::plan::Stopping;
use crate::plan::error::{Fault, quoted};

const DEFAULT_MOST: u32 = 30;
const ROUNDS_MAX: u32 = 10_000;
/// Minimum number of rounds; fewer give no confidence interval.
const FEWEST_MIN: u32 = 6;
const LOOKS_MAX: usize = 30;
/// Stopping rules and their keys.
const RULES: [(&str, &[&str]); 4] = [
    ("fixed", &["rounds"]),
    ("precision", &["half-width", "fewest", "most"]),
    ("sequential", &["looks"]),
    ("time", &["minutes", "fewest", "most"]),
];

/// Reads the stopping rule. Default numbers of rounds suffice to decide `family` comparisons.
pub(super) fn stopping(top: &Section<'_>, family: u32) -> Result<Stopping, Fault> {
    let rounds = top.get("rounds");
    let Some(value) = top.get("stopping") else {
        return fixed(rounds.as_ref(), family);
    };
    let section = value.section(&STOPPING)?;
    if let Some(rounds) = rounds {
        let message = "the plan defines its end twice: by `rounds` and by [stopping]";
        return Err(Fault::at(rounds.key_span, message, "so many rounds")
            .also(value.key_span, "and by a rule")
            .hint("leave one of them out"));
    }
    let (rule, keys) = rule(&section)?;
    let stray = STOPPING.keys.iter().filter(|key| **key != "rule" && !keys.contains(key));
    if let Some(stray) = stray.filter_map(|key| section.get(key)).min_by_key(|s| s.key_span.start) {
        let message = format!("`{}` does not belong to the rule \"{rule}\"", stray.key);
        let hint = format!("keys of this rule: {}", keys.join(", "));
        return Err(Fault::at(stray.key_span, message, "").hint(hint));
    }
    match rule {
        "precision" => precision(&section, family),
        "sequential" => sequential(&section, family),
        "time" => time(&section, family),
        _ => fixed(section.get("rounds").as_ref(), family),
    }
}

fn fixed(rounds: Option<&Value<'_>>, family: u32) -> Result<Stopping, Fault> {
    Ok(match rounds {
        Some(rounds) => Stopping::Fixed { rounds: rounds.whole_u32(1..=ROUNDS_MAX)? },
        None => Stopping::fixed_for(family),
    })
}

fn rule(section: &Section<'_>) -> Result<(&'static str, &'static [&'static str]), Fault> {
    let names = RULES.map(|(name, _)| name);
    let all = format!("rules: {}", names.join(", "));
    let Some(value) = section.get("rule") else {
        let message = "[stopping] has no `rule`";
        return Err(Fault::at(section.span.clone(), message, "").hint(all));
    };
    let name = value.word("the name of a rule")?;
    RULES.into_iter().find(|(rule, _)| *rule == name).ok_or_else(|| {
        let hint = match nearest(name, names) {
            Some(meant) => format!("did you mean \"{meant}\"? {all}"),
            None => all.clone(),
        };
        value.fault(format!("there is no rule {}", quoted(name)), "").hint(hint)
    })
}

fn precision(section: &Section<'_>, family: u32) -> Result<Stopping, Fault> {
    let Some(half_width) = section.get("half-width") else {
        let message = "the rule \"precision\" needs a `half-width`";
        let hint = "give the width to reach, such as half-width = \"1.5%\"";
        return Err(Fault::at(section.span.clone(), message, "").hint(hint));
    };
    let half_width = share(&half_width, 0.0001, 1.0)?;
    let (fewest, most) = fewest_and_most(section, family)?;
    Ok(Stopping::Precision { half_width, fewest, most })
}

fn time(section: &Section<'_>, family: u32) -> Result<Stopping, Fault> {
    let Some(minutes) = section.get("minutes") else {
        let message = "the rule \"time\" needs `minutes`";
        let hint = "give the total time for the measured rounds, such as minutes = 4";
        return Err(Fault::at(section.span.clone(), message, "").hint(hint));
    };
    let minutes = quantity::minutes(&minutes)?;
    let (fewest, most) = fewest_and_most(section, family)?;
    Ok(Stopping::Time { minutes, fewest, most })
}

/// Reads the minimum and maximum number of rounds of a rule.
fn fewest_and_most(section: &Section<'_>, family: u32) -> Result<(u32, u32), Fault> {
    let rounds = |key: &str, default| {
        let value = section.get(key);
        value.map_or(Ok(default), |value| few_rounds(&value)?.whole_u32(1..=ROUNDS_MAX))
    };
    let needed = Stopping::fixed_for(family).most_rounds();
    // An explicit `most` below the needed number is respected.
    let most = section.get("most").and_then(|most| most.whole_u32(FEWEST_MIN..=ROUNDS_MAX).ok());
    let fewest = rounds("fewest", needed.min(most.unwrap_or(needed)))?;
    let most = rounds("most", DEFAULT_MOST.max(fewest))?;
    if most < fewest
        && let Some(value) = section.get("most")
    {
        let message = format!("`most` is {most}, fewer than `fewest`, which is {fewest}");
        let mut fault = value.fault(message, "");
        if let Some(fewest) = section.get("fewest") {
            fault = fault.also(fewest.span, "the fewest");
        }
        return Err(fault.hint(format!("write {fewest} or more")));
    }
    Ok((fewest, most))
}

/// Refuses numbers of rounds that cannot show a difference, with the reason.
fn few_rounds<'v, 'd>(value: &'v Value<'d>) -> Result<&'v Value<'d>, Fault> {
    let rounds = value.whole_u32(0..=u32::MAX)?;
    if rounds >= FEWEST_MIN {
        return Ok(value);
    }
    let message = format!("`{}`: no interval can be given after {rounds} rounds", value.key);
    Err(value.fault(message, "").hint(format!("write {FEWEST_MIN} or more")))
}

fn sequential(section: &Section<'_>, family: u32) -> Result<Stopping, Fault> {
    const WANTED: &str = "an array of numbers of rounds, as [6, 10, 15]";
    let Some(value) = section.get("looks") else {
        return Ok(Stopping::sequential_for(family));
    };
    let elements = value.array(WANTED)?;
    if elements.is_empty() || elements.len() > LOOKS_MAX {
        let message = format!("`looks` are {}", elements.len());
        return Err(value.fault(message, format!("write from 1 to {LOOKS_MAX}")));
    }
    let mut looks = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let look = few_rounds(element)?.whole_u32(1..=ROUNDS_MAX)?;
        if looks.last().is_some_and(|last| *last >= look) {
            let before = elements[index - 1].span.clone();
            return Err(element
                .fault("`looks` are not in increasing order", "not more")
                .also(before, "than this")
                .hint("list the rounds in increasing order, each once"));
        }
        looks.push(look);
    }
    Ok(Stopping::Sequential { looks })
}
