//! Resolution of variables in attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;
use treering_script::Random;

use super::super::draw::{AttributeAmount, ClampedDistribution, DistributionKind, whole};
use super::{PERIOD, PlanOverrides, RunLength, SECONDS, SECONDS_MAX};
use crate::language::{self, AttributeValue, Definition, SpannedValue, Variable, WorkloadScript};

/// Local variables of a composite flowop, resolved at its use.
pub(super) type LocalVariables = BTreeMap<String, ResolvedValue>;

/// Resolved value.
#[derive(Clone, Debug)]
pub(super) enum ResolvedValue {
    Number(u64),
    Switch(bool),
    Text(String),
    Drawn(Arc<ClampedDistribution>),
}

/// Resolver of values.
pub(super) struct ValueBinder<'s, 't> {
    pub(super) script: &'s WorkloadScript,
    pub(super) faults: &'s mut Faults<'t>,
    pub(super) plan_overrides: PlanOverrides,
    /// Generator of the constants that are drawn once.
    random: Random,
    spreads: BTreeMap<String, Arc<ClampedDistribution>>,
    pub(super) targets: Vec<FlowopTarget>,
}

/// Reference of a flowop to another one by its name.
#[derive(Clone, Debug)]
pub(super) struct FlowopTarget {
    pub(super) thread: usize,
    pub(super) step: usize,
    pub(super) name: String,
    pub(super) place: Place,
}

impl<'s, 't> ValueBinder<'s, 't> {
    pub(super) fn new(
        script: &'s WorkloadScript,
        plan_overrides: &PlanOverrides,
        faults: &'s mut Faults<'t>,
    ) -> Self {
        let random = Random::for_part(plan_overrides.seed, "filebench constants");
        let (spreads, targets) = (BTreeMap::new(), Vec::new());
        Self { script, faults, plan_overrides: *plan_overrides, random, spreads, targets }
    }
}

impl ValueBinder<'_, '_> {
    pub(super) fn error(&self, place: Place, message: impl std::fmt::Display) -> Fault {
        self.faults.error(place, message)
    }

    /// Resolves a value.
    pub(super) fn find(
        &mut self,
        value: &SpannedValue,
        locals: &LocalVariables,
    ) -> Result<ResolvedValue, Fault> {
        let name = match &value.value {
            AttributeValue::Variable(name) => name,
            plain => return Ok(Self::plain(plain)),
        };
        if let Some(local) = locals.get(name) {
            return Ok(local.clone());
        }
        match self.script.variables.get(name) {
            Some(Variable::Plain(set)) => Ok(Self::plain(&set.value)),
            Some(Variable::Drawn(random)) => {
                if let Some(distribution) = self.spreads.get(name) {
                    return Ok(ResolvedValue::Drawn(Arc::clone(distribution)));
                }
                let distribution = Arc::new(self.distribution(random)?);
                self.spreads.insert(name.clone(), Arc::clone(&distribution));
                Ok(ResolvedValue::Drawn(distribution))
            }
            None => {
                let error = self.error(value.place, format!("${} is not set", shown(name)));
                let names = self.script.variables.keys().map(String::as_str);
                let near = nearest(name, names.chain(locals.keys().map(String::as_str)));
                Err(error.hint(match near {
                    Some(near) => format!("perhaps ${near} is meant"),
                    None => format!("write set ${}=VALUE before the run", shown(name)),
                }))
            }
        }
    }

    fn plain(value: &AttributeValue) -> ResolvedValue {
        match value {
            AttributeValue::Number(number) => ResolvedValue::Number(*number),
            AttributeValue::Switch(switch) => ResolvedValue::Switch(*switch),
            AttributeValue::Text(text) => ResolvedValue::Text(text.clone()),
            AttributeValue::Variable(_) | AttributeValue::Table(_) => {
                ResolvedValue::Text(String::new())
            }
        }
    }

    /// Resolves an attribute to an amount, fixed or random.
    pub(super) fn amount(
        &mut self,
        definition: &Definition,
        name: &str,
        locals: &LocalVariables,
    ) -> Result<Option<AttributeAmount>, Fault> {
        let Some(value) = definition.get(name) else { return Ok(None) };
        match self.find(value, locals)? {
            ResolvedValue::Number(number) => Ok(Some(AttributeAmount::Fixed(number))),
            ResolvedValue::Drawn(distribution) => Ok(Some(AttributeAmount::Drawn(distribution))),
            ResolvedValue::Switch(_) | ResolvedValue::Text(_) => Err(self
                .error(value.place, format!("{name} is not a number"))
                .hint("write a number, with k, m or g behind for powers of 1024")),
        }
    }

    /// Resolves an attribute to a number within bounds; a random variable is drawn once.
    pub(super) fn number(
        &mut self,
        definition: &Definition,
        name: &str,
        locals: &LocalVariables,
        most: u64,
    ) -> Result<Option<u64>, Fault> {
        let Some(amount) = self.amount(definition, name, locals)? else { return Ok(None) };
        let number = amount.draw(&mut self.random);
        let place = definition.get(name).map_or(definition.place, |value| value.place);
        self.bounded(number, most, name, place).map(Some)
    }

    fn bounded(&self, number: u64, most: u64, name: &str, place: Place) -> Result<u64, Fault> {
        if number <= most {
            return Ok(number);
        }
        let error = self.error(place, format!("{name}: {number} is more than treering does"));
        Err(error.hint(format!("it goes up to {most}")))
    }

    /// Resolves a switch; a number is true unless it is 0.
    pub(super) fn switch(
        &mut self,
        definition: &Definition,
        name: &str,
        locals: &LocalVariables,
    ) -> Result<bool, Fault> {
        let Some(value) = definition.get(name) else { return Ok(false) };
        match self.find(value, locals)? {
            ResolvedValue::Switch(switch) => Ok(switch),
            ResolvedValue::Number(number) => Ok(number != 0),
            ResolvedValue::Text(_) | ResolvedValue::Drawn(_) => Err(self
                .error(value.place, format!("{name} is neither true nor false"))
                .hint("write true or false")),
        }
    }

    /// Resolves a name.
    pub(super) fn text(
        &mut self,
        definition: &Definition,
        name: &str,
        locals: &LocalVariables,
    ) -> Result<Option<String>, Fault> {
        let Some(value) = definition.get(name) else { return Ok(None) };
        match self.find(value, locals)? {
            ResolvedValue::Text(text) => Ok(Some(text)),
            ResolvedValue::Number(number) => Ok(Some(number.to_string())),
            ResolvedValue::Switch(_) | ResolvedValue::Drawn(_) => {
                Err(self.error(value.place, format!("{name} is no name")).hint("write a name"))
            }
        }
    }

    /// Converts a random or custom variable to a distribution.
    fn distribution(
        &mut self,
        random: &language::RandomVariable,
    ) -> Result<ClampedDistribution, Fault> {
        let none = LocalVariables::new();
        let definition = &random.definition;
        let mut number = |name: &str| -> Result<Option<f64>, Fault> {
            let Some(value) = definition.get(name) else { return Ok(None) };
            let number = self.constant(value, name, &none)?;
            Ok(Some(number as f64))
        };
        let (least, most) = (number("min")?, number("max")?);
        let round = number("round")?.unwrap_or(0.0);
        let shape = number("gamma")?.unwrap_or(1500.0) / 1000.0;
        let mean = number("mean")?;
        let from = least.unwrap_or(0.0);
        let kind = match random.distribution {
            language::DistributionSpec::Uniform => {
                let mean = mean.unwrap_or(0.0);
                DistributionKind::Uniform { from, to: (2.0 * mean - from).max(from) }
            }
            language::DistributionSpec::Gamma => {
                if shape <= 0.0 {
                    let error = self.error(definition.place, "gamma is 0");
                    return Err(error.hint("it is a thousand times the shape: 1500"));
                }
                // As in the original, the mean defaults to the shape.
                let mean = (mean.unwrap_or(shape) - from).max(0.0);
                DistributionKind::Gamma { from, mean, shape }
            }
            language::DistributionSpec::Table => {
                DistributionKind::Table(self.table(random, from, mean)?)
            }
            language::DistributionSpec::Custom(custom) => {
                return Ok(ClampedDistribution {
                    kind: custom_kind(custom.name, &random.parameters),
                    least,
                    most,
                    round,
                });
            }
        };
        // The minimum of these is where they begin.
        Ok(ClampedDistribution { kind, least: None, most: None, round })
    }

    /// Resolves a number that must not be random.
    fn constant(
        &mut self,
        value: &SpannedValue,
        name: &str,
        locals: &LocalVariables,
    ) -> Result<u64, Fault> {
        if let AttributeValue::Variable(variable) = &value.value
            && let Some(Variable::Drawn(_)) = self.script.variables.get(variable)
        {
            let error = self.error(value.place, format!("{name} is drawn itself"));
            return Err(error.hint("write a number"));
        }
        match self.find(value, locals)? {
            ResolvedValue::Number(number) => Ok(number),
            _ => Err(self
                .error(value.place, format!("{name} is not a number"))
                .hint("write a number, with k, m or g behind for powers of 1024")),
        }
    }

    /// Builds a table distribution. As in the original, ranges are moved and stretched to the
    /// minimum and the mean.
    fn table(
        &mut self,
        random: &language::RandomVariable,
        least: f64,
        mean: Option<f64>,
    ) -> Result<Box<[(f64, f64); 100]>, Fault> {
        let none = LocalVariables::new();
        let mut slots = Vec::new();
        for row in &random.table {
            let percent = self.constant(&row[0], "percent", &none)?;
            let from = self.constant(&row[1], "the least value", &none)?;
            let to = self.constant(&row[2], "the greatest value", &none)?;
            if from > to {
                let error = self.error(row[1].place, "the least value is above the greatest");
                return Err(error.hint("write {PERCENT,LEAST,MOST}"));
            }
            if percent > 100 || slots.len() as u64 + percent > 100 {
                let error = self.error(row[0].place, "the percentages sum to more than 100");
                return Err(error.hint("they sum to 100"));
            }
            slots.extend((0..percent).map(|_| (from as f64, to as f64)));
        }
        let Ok(mut slots) = <Box<[(f64, f64); 100]>>::try_from(slots.into_boxed_slice()) else {
            let error = self.error(random.definition.place, "the percentages do not sum to 100");
            return Err(error.hint("they sum to 100"));
        };
        let lowest = slots.iter().map(|(from, _)| *from).fold(f64::INFINITY, f64::min);
        let middle = slots.iter().map(|(from, to)| f64::midpoint(*from, *to)).sum::<f64>() / 100.0;
        let wanted = mean.filter(|mean| *mean > 0.0).unwrap_or(middle);
        let stretch = if middle > lowest { (wanted - least) / (middle - lowest) } else { 0.0 };
        for (from, to) in slots.iter_mut() {
            let begin = *from;
            let range = *to - begin;
            *from = least + (begin - lowest) * stretch;
            *to = *from + range * stretch;
        }
        Ok(slots)
    }

    pub(super) fn rate(&mut self) -> Result<Option<u64>, Fault> {
        let Some(value) = self.script.rate.clone() else { return Ok(None) };
        match self.find(&value, &LocalVariables::new())? {
            ResolvedValue::Number(rate) => {
                let rate = self.bounded(rate, 1_000_000_000, "rate", value.place)?;
                Ok(Some(rate).filter(|rate| *rate > 0))
            }
            ResolvedValue::Drawn(distribution) => {
                Ok(Some(whole(distribution.mean())).filter(|rate| *rate > 0))
            }
            ResolvedValue::Switch(_) | ResolvedValue::Text(_) => Err(self
                .error(value.place, "rate is not a number")
                .hint("write events per second; 0 for no limit")),
        }
    }

    pub(super) fn run_length(&mut self) -> Result<RunLength, Fault> {
        let quit = self.script.quit;
        let run = self.script.run.clone();
        let value = match run.as_ref().and_then(|run| run.seconds.as_ref()) {
            None => 0,
            Some(value) => {
                let number = self.constant(value, "run", &LocalVariables::new())?;
                self.bounded(number, SECONDS_MAX, "run", value.place)?
            }
        };
        let seconds = self.plan_overrides.seconds.or(Some(value).filter(|seconds| *seconds > 0));
        let seconds = match quit {
            language::EndCondition::Timeout => Some(seconds.unwrap_or(SECONDS)),
            language::EndCondition::AllDone | language::EndCondition::FirstDone => seconds,
        };
        let period = run.and_then(|run| run.period).map(|(period, anew)| {
            (if period == 0 { PERIOD } else { period.min(SECONDS_MAX) }, anew)
        });
        Ok(RunLength { quit, seconds, period })
    }
}

/// Distribution of a custom variable.
fn custom_kind(name: &str, parameters: &[f64]) -> DistributionKind {
    match (name, parameters) {
        // Despite its name, the original uses the rate as the mean.
        ("cvar-erlang", [shape, rate]) => {
            DistributionKind::Erlang { shape: shape.trunc(), mean: *rate }
        }
        ("cvar-exponential", [mean]) => DistributionKind::Exponential { mean: mean.max(0.0) },
        ("cvar-gamma", [mean, shape]) => {
            DistributionKind::Gamma { from: 0.0, mean: *mean, shape: *shape }
        }
        ("cvar-lognormal", [shape, scale]) => {
            DistributionKind::Lognormal { shape: *shape, scale: *scale }
        }
        ("cvar-normal", [mean, sigma]) => {
            DistributionKind::Normal { mean: *mean, deviation: *sigma }
        }
        ("cvar-triangular", [lower, upper, mode]) => {
            DistributionKind::Triangular { lower: *lower, upper: *upper, mode: *mode }
        }
        ("cvar-weibull", [shape, scale]) => {
            DistributionKind::Weibull { shape: *shape, scale: *scale }
        }
        ("cvar-uniform", [lower, upper]) => DistributionKind::Uniform { from: *lower, to: *upper },
        _ => DistributionKind::Uniform { from: 0.0, to: 0.0 },
    }
}
