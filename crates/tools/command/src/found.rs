//! Metrics in the output of a program: their patterns and their values.

use regex::{Regex, RegexBuilder};
use serde_json::Value;
use thiserror::Error;
use treering_kit::units::{UNITS, known_unit, usual_direction};
use treering_model::metrics::{command, cpu, is_observation, times};
use treering_model::{BetterDirection, Metric, Unit};
use treering_script::ConfigError;

use super::options::METRIC;

/// Longest regular expression, in characters.
const PATTERN_CHARS_MAX: usize = 1000;
/// Largest compiled expression in bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;
const NAME_CHARS_MAX: usize = 64;
/// Prefix of a JSON pointer (RFC 6901).
const JSON: &str = "json:";

/// Location of a number in the output.
#[derive(Debug)]
enum NumberLocation {
    /// First match of the only group of an expression, in the output, then in standard error.
    Regex(Regex),
    /// JSON pointer into the output.
    Pointer(String),
}

/// Pattern of a metric in the output.
#[derive(Debug)]
pub(super) struct MetricPattern {
    pub(super) name: String,
    place: NumberLocation,
    unit: Unit,
    factor: f64,
    better: BetterDirection,
    pub(super) primary: bool,
    /// True for an amount of work, which must be the same in what is compared.
    pub(super) work: bool,
}

impl MetricPattern {
    /// Parses `NAME=REGEX,unit=UNIT,better=higher,primary`.
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let (name, tail) = text.split_once('=').ok_or_else(|| {
            wrong(text, "NAME=REGEX is missing")
                .hint("for instance --metric 'tps=transactions: .*\\((\\S+) per sec,unit=ops/s'")
        })?;
        let name = checked_name(name)?;
        let fault = |why: &str| wrong(name, why);
        let (mut tail, mut unit, mut better) = (tail, None, None);
        let (mut primary, mut work) = (false, false);
        // Fields are split from the end, since an expression may contain commas. A field that ends
        // with a parenthesis belongs to it, so that any expression can be given as (?:…).
        while let Some((before, last)) =
            tail.rsplit_once(',').filter(|(_, last)| !last.ends_with(')'))
        {
            if let Some(word) = last.strip_prefix("unit=").filter(|_| unit.is_none()) {
                unit = Some(unit_of(name, word)?);
            } else if let Some(word) = last.strip_prefix("better=").filter(|_| better.is_none()) {
                better = Some(match word {
                    "higher" => BetterDirection::Higher,
                    "lower" => BetterDirection::Lower,
                    _ => return Err(fault("better is neither higher nor lower")),
                });
            } else if last == "primary" && !primary {
                primary = true;
            } else if last == "work" && !work {
                work = true;
            } else {
                break;
            }
            tail = before;
        }
        let (unit, factor) = unit.unwrap_or((Unit::Count, 1.0));
        // An amount of work has no better direction.
        let usual = usual_direction(unit).or(work.then_some(BetterDirection::Higher));
        let better = better.or(usual).ok_or_else(|| {
            fault("which direction is better?").hint("add ,better=higher or ,better=lower")
        })?;
        let place = match tail.strip_prefix(JSON) {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                NumberLocation::Pointer(pointer.to_owned())
            }
            Some(_) => return Err(fault("a JSON pointer begins with /, as json:/jobs/0/iops")),
            None => NumberLocation::Regex(expression(name, tail)?),
        };
        Ok(Self { name: name.to_owned(), place, unit, factor, better, primary, work })
    }

    /// Metric with this value.
    pub(super) fn metric(&self, value: f64, primary: bool) -> Metric {
        let value = value * self.factor;
        command::named_by_user(&self.name, value, self.unit, self.better).primary_if(primary)
    }

    /// Finds the number, or the reason why there is none.
    pub(super) fn find(&self, output: &str, errors: &str) -> Result<f64, NoValue> {
        let number = match &self.place {
            NumberLocation::Regex(regex) => [output, errors]
                .into_iter()
                .find_map(|text| Some(regex.captures(text)?.get(1)?.as_str()))
                .ok_or(NoValue::NoMatch)
                .and_then(number),
            NumberLocation::Pointer(pointer) => {
                document(output).and_then(|document| match document.pointer(pointer) {
                    Some(Value::Number(number)) => number.as_f64().ok_or(NoValue::NoNumber),
                    Some(Value::String(text)) => number(text),
                    Some(_) => Err(NoValue::NoNumber),
                    None => Err(NoValue::NothingThere),
                })
            }
        };
        number.and_then(|value| {
            if (value * self.factor).is_finite() { Ok(value) } else { Err(NoValue::NoNumber) }
        })
    }
}

/// Reason why a metric has no value.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum NoValue {
    #[error("its expression matches nothing in the output")]
    NoMatch,
    #[error("the output is not JSON that can be read")]
    NotJson,
    #[error("the JSON of the output has nothing at its pointer")]
    NothingThere,
    #[error("what stands there is no finite number")]
    NoNumber,
}

fn wrong(name: &str, why: &str) -> ConfigError {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    ConfigError::new(format!("--{METRIC}: '{}': {why}", name.escape_debug()))
}

fn checked_name(name: &str) -> Result<&str, ConfigError> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(is_word) {
        return Err(wrong(name, "a name has lower-case letters, digits and _ only"));
    }
    let own = [
        times::ELAPSED_SECONDS,
        times::SECONDS,
        times::FINAL_SYNC_SECONDS,
        cpu::CPU_SECONDS,
        cpu::USER_CPU_SECONDS,
        cpu::SYSTEM_CPU_SECONDS,
        cpu::CPU_PERCENT,
        command::STORAGE_READ_BYTES,
        command::STORAGE_WRITTEN_BYTES,
    ];
    if own.iter().any(|spec| spec.name == name) || is_observation(name) {
        return Err(wrong(name, "treering measures something of this name itself"));
    }
    Ok(name)
}

fn unit_of(name: &str, word: &str) -> Result<(Unit, f64), ConfigError> {
    known_unit(word).ok_or_else(|| {
        let known = UNITS.map(|(known, ..)| known).into_iter().filter(|known| !known.is_empty());
        wrong(name, &format!("unknown unit '{}'", word.escape_debug()))
            .hint(format!("units: {}", known.collect::<Vec<_>>().join(", ")))
    })
}

fn expression(name: &str, text: &str) -> Result<Regex, ConfigError> {
    if text.chars().nth(PATTERN_CHARS_MAX).is_some() {
        let why = format!("an expression has at most {PATTERN_CHARS_MAX} characters");
        return Err(wrong(name, &why));
    }
    let built = RegexBuilder::new(text)
        .multi_line(true)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .build();
    let regex = built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => wrong(name, "the expression is too big"),
        other => {
            let lines = other.to_string();
            // The last line states the error, the lines before its position.
            let message = lines.lines().last().unwrap_or_default().trim_start_matches("error: ");
            wrong(name, &format!("not a regular expression: {message}"))
        }
    })?;
    match regex.captures_len() {
        2 => Ok(regex),
        groups => Err(wrong(name, &format!("it has {} capture groups, not one", groups - 1))
            .hint("put the number in ( ), and other groups in (?: )")),
    }
}

fn number(text: &str) -> Result<f64, NoValue> {
    text.trim().parse().map_err(|_| NoValue::NoNumber)
}

/// Parses the text as a JSON document, or the part from a line on.
fn document(text: &str) -> Result<Value, NoValue> {
    let text = text.trim();
    let mut starts = text
        .match_indices(['{', '['])
        .map(|(start, _)| start)
        .filter(|start| *start == 0 || text.as_bytes()[start - 1] == b'\n');
    serde_json::from_str(text)
        .ok()
        .or_else(|| {
            let start = starts.next()?;
            let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter();
            values.next()?.ok()
        })
        .ok_or(NoValue::NotJson)
}

#[cfg(test)]
mod tests {
    use treering_model::{BetterDirection, Unit};

    use super::MetricPattern;

    #[test]
    fn metrics_are_parsed_with_name_pattern_unit_and_direction() {
        let text = r"tps=(?:a,b)=?\((\S{1,9}) per sec,unit=ops/s,primary";
        let wanted = MetricPattern::parse(text).unwrap();
        assert_eq!(
            (wanted.unit, wanted.better, wanted.primary),
            (Unit::OpsPerSecond, BetterDirection::Higher, true)
        );
        assert_eq!(wanted.find("x\na,b(12.5 per sec.)", ""), Ok(12.5));
        assert_eq!(wanted.find("", "a,b=(7 per sec.)"), Ok(7.0), "also on standard error");
        let rows = MetricPattern::parse("rows=^rows (.*)$,work").unwrap();
        assert!(rows.work && !rows.primary && rows.find("rows 12", "") == Ok(12.0));
        let whole = MetricPattern::parse(r"n=(?:a,(\d),better=lower),better=higher").unwrap();
        assert_eq!(whole.find("a,7,better=lower", ""), Ok(7.0), "an expression in parentheses");
        let wait = MetricPattern::parse("wait=^lat: (.*)ms$,better=lower,unit=ms").unwrap();
        let value = wait.find("first\nlat: 250ms\nend", "").unwrap();
        assert_eq!(wait.metric(value, false).value, 0.25);
    }

    #[test]
    fn invalid_metrics_are_refused() {
        for (text, why) in [
            ("tps", "NAME=REGEX"),
            ("T p=(.)", "lower-case"),
            ("elapsed_seconds=(.)", "itself"),
            ("layout_x=(.)", "itself"),
            ("x=(.),better=more", "neither"),
            ("x=(.)", "direction"),
            ("x=(.),unit=furlongs", "unknown unit 'furlongs'"),
            ("x=..,unit=s", "0 capture groups"),
            ("x=(.)(.),unit=s", "2 capture groups"),
            ("x=(,unit=s", "not a regular expression"),
            (r"x=((?:\w{200}){200}),unit=s", "too big"),
            ("x=json:a,unit=s", "begins with /"),
        ] {
            let error = MetricPattern::parse(text).unwrap_err();
            assert!(error.message.contains(why), "{text}: {error}");
        }
        assert!(MetricPattern::parse(&format!("x=({}),unit=s", "a".repeat(1001))).is_err());
    }

    #[test]
    fn missing_number_is_an_error_not_zero() {
        let wanted = MetricPattern::parse("x=x is (.*),unit=s").unwrap();
        for output in ["", "x is ", "x is nan", "x is inf", "x is 1e999", "x is 1,5", "x is 1 2"] {
            assert!(wanted.find(output, "").is_err(), "{output}");
        }
        let wanted = MetricPattern::parse("x=json:/a/0,unit=ms").unwrap();
        assert_eq!(wanted.find(r#"{"a": [2]}"#, ""), Ok(2.0));
        assert_eq!(wanted.find("warming up {\n{\"a\": [\"2.5\"]}\nbye", ""), Ok(2.5));
        assert_eq!(
            wanted.find(r#"{"a": [123456789012345678901234567890]}"#, ""),
            Ok(1.234_567_890_123_456_8e29)
        );
        let deep = "[".repeat(100_000);
        for output in ["", "{}", r#"{"a": [null]}"#, r#"{"a": [1e999]}"#, "{\"a\":", &*deep] {
            assert!(wanted.find(output, "").is_err(), "{output}");
        }
    }
}
