//! `set` statements: variables with a fixed value, and random variables.

use super::attributes::{DefinitionKind, ValueKind};
use super::lexer::{TokenWord, words};
use super::read::ScriptReader;
use super::{AttributeValue, Definition, SpannedValue, Variable, WorkloadScript};
use treering_script::ConfigError;

use treering_kit::faults::{Fault, Faults, Place, shown};
use treering_model::nearest::nearest;

/// Random variable: its distribution and attributes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RandomVariable {
    /// Distribution of its values.
    pub distribution: DistributionSpec,
    /// Attributes of the variable.
    pub definition: Definition,
    /// Parameters of a custom variable, in the order of its kind.
    pub parameters: Vec<f64>,
    /// Rows of a table: percent, minimum, maximum.
    pub table: Vec<[SpannedValue; 3]>,
}

/// Distribution of a random variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DistributionSpec {
    /// Uniform distribution around the mean, from the given minimum.
    Uniform,
    /// Gamma distribution by mean and shape.
    Gamma,
    /// Table of ranges with their percentages.
    Table,
    /// Custom variable `cvar-...`, by parameters.
    Custom(&'static CustomVariable),
}

/// Kind of custom variable, with the defaults of its parameters.
#[derive(Debug, PartialEq)]
pub(crate) struct CustomVariable {
    pub name: &'static str,
    pub parameters: &'static [(&'static str, f64)],
}

/// All kinds of custom variables.
pub(crate) static CUSTOM: [CustomVariable; 8] = [
    CustomVariable { name: "cvar-erlang", parameters: &[("shape", 1.0), ("rate", 1.0)] },
    CustomVariable { name: "cvar-exponential", parameters: &[("mean", 1.0)] },
    CustomVariable { name: "cvar-gamma", parameters: &[("mean", 4096.0), ("gamma", 1.5)] },
    CustomVariable { name: "cvar-lognormal", parameters: &[("shape", 1.0), ("scale", 1.0)] },
    CustomVariable { name: "cvar-normal", parameters: &[("mean", 0.0), ("sigma", 1.0)] },
    CustomVariable {
        name: "cvar-triangular",
        parameters: &[("lower", 0.0), ("upper", 1.0), ("mode", 0.5)],
    },
    CustomVariable { name: "cvar-uniform", parameters: &[("lower", 0.0), ("upper", 1.0)] },
    CustomVariable { name: "cvar-weibull", parameters: &[("shape", 1.0), ("scale", 1.0)] },
];

/// Largest parameter, above which sizes overflow.
const PARAMETER_MAX: f64 = 1e18;

impl ScriptReader<'_, '_> {
    pub(super) fn set(&mut self) -> Result<(), Fault> {
        let token = self.next();
        let name = match token.word {
            TokenWord::Text(word) if word == "mode" => return self.quit_mode(),
            TokenWord::Variable(name) => name,
            other => {
                let message = format!("{} cannot be set", other.shown());
                return Err(self.error(token.place, message).hint("write set $name=VALUE"));
            }
        };
        self.sign('=')?;
        let spanned = self.value(ValueKind::Number)?;
        let is_function = matches!(&spanned.value, AttributeValue::Text(_)) && self.take_sign('(');
        let variable = match &spanned.value {
            AttributeValue::Text(function) if is_function => {
                let drawn = self.drawn(function, spanned.place)?;
                self.sign(')')?;
                drawn
            }
            // The present value is copied: a later `set` does not change it.
            AttributeValue::Variable(other) => match self.script.variables.get(other) {
                Some(variable) => variable.clone(),
                None => {
                    let message = format!("${} has no value yet", shown(other));
                    return Err(self.error(spanned.place, message).hint("set it in a line before"));
                }
            },
            _ => Variable::Plain(spanned.clone()),
        };
        let overridden = self.overrides.iter().rev().find(|(spanned, _)| *spanned == name);
        let variable = match overridden {
            None => variable,
            Some((_, value)) => {
                Variable::Plain(SpannedValue { value: value.clone(), place: spanned.place })
            }
        };
        self.script.variables.insert(name, variable);
        Ok(())
    }

    fn drawn(&mut self, function: &str, place: Place) -> Result<Variable, Fault> {
        let owner = match function {
            "randvar" => DefinitionKind::Randvar,
            "cvar" => DefinitionKind::Cvar,
            _ => {
                let message = format!("'{}(' draws nothing", shown(function));
                return Err(self.error(place, message).hint("write randvar(...) or cvar(...)"));
            }
        };
        let definition = self.definition(owner, place)?;
        let mut random = RandomVariable {
            distribution: DistributionSpec::Gamma,
            definition,
            parameters: Vec::new(),
            table: Vec::new(),
        };
        if owner == DefinitionKind::Cvar {
            self.custom(&mut random)?;
        } else {
            self.random(&mut random)?;
        }
        Ok(Variable::Drawn(random))
    }

    fn random(&mut self, random: &mut RandomVariable) -> Result<(), Fault> {
        if let Some(SpannedValue { value: AttributeValue::Table(rows), .. }) =
            random.definition.get("randtable")
        {
            random.table.clone_from(rows);
        }
        let word = |spanned: Option<&SpannedValue>| match spanned.map(|spanned| &spanned.value) {
            Some(AttributeValue::Text(word)) => Some(word.clone()),
            _ => None,
        };
        let kind = random.definition.get("type");
        random.distribution = match (word(kind).as_deref(), kind) {
            (None | Some("gamma"), None) | (Some("gamma"), _) if random.table.is_empty() => {
                DistributionSpec::Gamma
            }
            (Some("uniform"), _) if random.table.is_empty() => DistributionSpec::Uniform,
            // A table makes the variable tabular, whatever its type says.
            (None | Some("tabular" | "gamma" | "uniform"), _) if !random.table.is_empty() => {
                DistributionSpec::Table
            }
            (Some("tabular"), Some(kind)) => {
                let error = self.error(kind.place, "type=tabular has no randtable");
                return Err(error.hint("add randtable={{PERCENT,LEAST,MOST},...}"));
            }
            (_, kind) => {
                let place = kind.map_or(random.definition.place, |kind| kind.place);
                let error = self.error(place, "the type is none of a random variable");
                return Err(error.hint("types are uniform, gamma and tabular"));
            }
        };
        for name in ["randsrc", "seed"] {
            if let Some(spanned) = random.definition.get(name) {
                if name == "randsrc"
                    && !matches!(word(Some(spanned)).as_deref(), Some("rand48" | "urandom"))
                {
                    let error = self.error(spanned.place, "the source is not known");
                    return Err(error.hint("sources are rand48 and urandom"));
                }
                let message =
                    format!("{name} has no effect: the seed of the run decides all draws");
                self.faults.warn(spanned.place, message);
            }
        }
        Ok(())
    }

    fn custom(&mut self, random: &mut RandomVariable) -> Result<(), Fault> {
        let kinds = || CUSTOM.iter().map(|custom| custom.name).collect::<Vec<_>>().join(", ");
        let Some(kind) = random.definition.get("type") else {
            let error = self.error(random.definition.place, "the custom variable has no type");
            return Err(error.hint(format!("types are {}", kinds())));
        };
        let custom_kind =
            CUSTOM.iter().find(|custom| kind.value == AttributeValue::Text(custom.name.to_owned()));
        let Some(custom) = custom_kind else {
            let error = self.error(kind.place, "the type is none of a custom variable");
            return Err(error.hint(format!("types are {}", kinds())));
        };
        random.distribution = DistributionSpec::Custom(custom);
        random.parameters = custom.parameters.iter().map(|(_, default)| *default).collect();
        let spanned = random.definition.get("parameters").cloned();
        let Some(SpannedValue { value: AttributeValue::Text(text), place }) = spanned else {
            if let Some(spanned) = spanned {
                let error = self.error(spanned.place, "parameters are no text");
                return Err(error.hint("write parameters=NAME:NUMBER;NAME:NUMBER"));
            }
            return Ok(());
        };
        for pair in text.split(';').filter(|pair| !pair.is_empty()) {
            let (name, number) = pair.split_once(':').unwrap_or((pair, ""));
            let Some(at) = custom.parameters.iter().position(|(known, _)| *known == name) else {
                let message = format!("'{}' is no parameter of {}", shown(name), custom.name);
                let names: Vec<_> = custom.parameters.iter().map(|(name, _)| *name).collect();
                let hint = format!("it has {}", names.join(", "));
                return Err(self.error(place, message).hint(hint));
            };
            let parsed = number.parse::<f64>().ok();
            let Some(number) = parsed.filter(|number| number.abs() <= PARAMETER_MAX) else {
                let message = format!("{name}: '{}' is not a number", shown(number));
                return Err(self.error(place, message).hint("numbers go up to 1e18"));
            };
            random.parameters[at] = number;
        }
        self.check_parameters(custom, &random.parameters, place)
    }

    /// Checks that the parameters of a custom variable are consistent.
    fn check_parameters(
        &self,
        custom: &CustomVariable,
        parameters: &[f64],
        place: Place,
    ) -> Result<(), Fault> {
        let wrong = match (custom.name, parameters) {
            ("cvar-erlang", [shape, _]) if !(1.0..=1000.0).contains(shape) => {
                Some("shape is from 1 to 1000")
            }
            ("cvar-gamma", [_, gamma]) if *gamma <= 0.0 => Some("gamma is above 0"),
            ("cvar-weibull", [shape, _]) if *shape <= 0.0 => Some("shape is above 0"),
            ("cvar-uniform", [lower, upper]) if lower > upper => Some("lower is not above upper"),
            ("cvar-triangular", [lower, upper, mode]) if !(lower <= mode && mode <= upper) => {
                Some("lower, mode and upper stand in this order")
            }
            ("cvar-normal" | "cvar-lognormal", [a, b])
                if custom.name == "cvar-normal" && *b < 0.0
                    || custom.name == "cvar-lognormal" && *a < 0.0 =>
            {
                Some("the spread is not below 0")
            }
            _ => None,
        };
        match wrong {
            None => Ok(()),
            Some(right) => Err(self
                .error(place, format!("the parameters of {} make no sense", custom.name))
                .hint(right)),
        }
    }
}

/// Checks that each overridden variable exists in the script.
pub(super) fn check_overrides(
    script: &WorkloadScript,
    overrides: &[(String, AttributeValue)],
) -> Result<(), ConfigError> {
    let set = &script.variables;
    let Some((name, _)) = overrides.iter().find(|(name, _)| !set.contains_key(name)) else {
        return Ok(());
    };
    let error = ConfigError::new(format!("the file sets no variable ${}", shown(name)));
    let near = nearest(name, set.keys().map(String::as_str));
    Err(error.hint(match near {
        Some(near) => format!("perhaps {near} is meant"),
        None if set.is_empty() => "it sets none at all".to_owned(),
        None => {
            let names: Vec<_> = set.keys().take(40).map(String::as_str).collect();
            format!("it sets {}", names.join(", "))
        }
    }))
}

/// Parses a value from the command line in the syntax of the language.
pub(super) fn typed(text: &str) -> Result<AttributeValue, ConfigError> {
    let mut faults = Faults::new("--set", text.as_bytes());
    let plain = || AttributeValue::Text(text.to_owned());
    let tokens = words(text.as_bytes(), &mut faults).ok().filter(|_| faults.check().is_ok());
    match tokens.as_deref() {
        Some([token, end]) if end.word == TokenWord::End => Ok(match &token.word {
            TokenWord::Number(number) => AttributeValue::Number(*number),
            TokenWord::Text(word) if word == "true" => AttributeValue::Switch(true),
            TokenWord::Text(word) if word == "false" => AttributeValue::Switch(false),
            _ => plain(),
        }),
        _ if text.starts_with(|first: char| first.is_ascii_digit()) => {
            Err(ConfigError::new(format!("--set: '{}' is not a number", shown(text)))
                .hint("a number has digits, and k, m or g behind for powers of 1024"))
        }
        _ => Ok(plain()),
    }
}
