//! Expansion of `${NAME}`, `$ncpus`, `$pagesize` and `$mb_memory`.

use std::borrow::Cow;

use thiserror::Error;

use treering_kit::faults::shown;

use super::values::{is_expression, whole_number};

/// Longest expanded text, in bytes.
const BYTES_MAX: usize = 1 << 16;

/// Properties of the machine, for expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Number of processors.
    pub cpus: u64,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Memory size in MiB.
    pub memory_mib: u64,
}

/// Looks up an environment variable.
pub(crate) type Environment<'e> = dyn Fn(&str) -> Option<String> + 'e;

/// Error of an expansion.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(super) enum ExpandError {
    #[error("'${{' has no closing }}")]
    Open,
    #[error("the environment has no variable {0}")]
    Unknown(String),
    #[error("the value is endless")]
    Endless,
}

/// Expands the variables of a text; the error names an unknown one.
pub(super) fn expand<'t>(
    text: &'t str,
    environment: &Environment<'_>,
    machine: Machine,
) -> Result<Cow<'t, str>, ExpandError> {
    if !text.contains('$') {
        return Ok(Cow::Borrowed(text));
    }
    let keywords = [
        ("$ncpus", machine.cpus),
        ("$pagesize", machine.page_bytes),
        ("$mb_memory", machine.memory_mib),
    ];
    let (mut out, mut rest, mut reckons) = (String::new(), text, false);
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = from;
        if let Some(named) = rest.strip_prefix("${") {
            let Some((name, after)) = named.split_once('}') else {
                return Err(ExpandError::Open);
            };
            let unknown = || ExpandError::Unknown(shown(name));
            out.push_str(&environment(name).ok_or_else(unknown)?);
            rest = after;
        } else if let Some((keyword, number)) =
            keywords.iter().find(|(keyword, _)| rest.starts_with(keyword))
        {
            out.push_str(&number.to_string());
            reckons = true;
            rest = &rest[keyword.len()..];
        } else {
            out.push('$');
            rest = &rest[1..];
        }
        if out.len() > BYTES_MAX {
            return Err(ExpandError::Endless);
        }
    }
    out.push_str(rest);
    // Values with these variables may contain arithmetic without parentheses, of which the original
    // has the result. Names stay as they are.
    if reckons && out.contains(['+', '-', '*', '/']) {
        match whole_number(&out) {
            Some(number) => out = number.to_string(),
            None if is_expression(&out) && !out.starts_with('(') => out = format!("({out})"),
            None => {}
        }
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::{ExpandError, Machine, expand};

    fn expanded(text: &str) -> Result<String, ExpandError> {
        let machine = Machine { cpus: 2, page_bytes: 4096, memory_mib: 8000 };
        let environment = |name: &str| (name == "DIR").then(|| "/mnt".to_owned());
        expand(text, &environment, machine).map(std::borrow::Cow::into_owned)
    }

    #[test]
    fn known_variables_are_expanded() {
        assert_eq!(expanded("${DIR}/x").unwrap(), "/mnt/x");
        assert_eq!(expanded("$ncpus").unwrap(), "2");
        assert_eq!(expanded("8*$pagesize").unwrap(), "32768");
        assert_eq!(expanded("($ncpus+1)*3").unwrap(), "9");
        assert_eq!(expanded("log-$ncpus").unwrap(), "log-2");
        assert_eq!(expanded("$ncpus*2m").unwrap(), "(2*2m)");
        assert_eq!(expanded("$ncpus*10s").unwrap(), "(2*10s)");
        assert_eq!(expanded("$jobname.$jobnum").unwrap(), "$jobname.$jobnum");
        assert_eq!(
            expanded("${NONE}").unwrap_err().to_string(),
            "the environment has no variable NONE"
        );
        assert!(expanded("${DIR").is_err());
    }
}
