//! Words for the model's small enumerations in columns: the same as in its JSON.

use treering_model::{BetterDirection, RunMode, Scope, Unit};

/// Parses a unit.
pub(crate) fn unit_from(word: &str) -> Option<Unit> {
    Unit::ALL.into_iter().find(|known| known.word() == word)
}

/// Word of a better direction.
pub(crate) const fn better(better: BetterDirection) -> &'static str {
    match better {
        BetterDirection::Higher => "higher",
        BetterDirection::Lower => "lower",
    }
}

/// Parses a better direction.
pub(crate) fn better_from(word: &str) -> Option<BetterDirection> {
    [BetterDirection::Higher, BetterDirection::Lower]
        .into_iter()
        .find(|known| better(*known) == word)
}

/// Parses a mode.
pub(crate) fn mode_from(word: &str) -> Option<RunMode> {
    [RunMode::Classic, RunMode::Native].into_iter().find(|known| known.name() == word)
}

/// Words of a scope: its kind, and the name of the part.
pub(crate) fn scope(scope: &Scope) -> (&'static str, &str) {
    match scope {
        Scope::Trial => ("trial", ""),
        Scope::Phase(name) => ("phase", name),
        Scope::Kind(name) => ("kind", name),
    }
}

/// Parses a scope from its words.
pub(crate) fn scope_from(scope: &str, part: String) -> Option<Scope> {
    match scope {
        "trial" => Some(Scope::Trial),
        "phase" => Some(Scope::Phase(part)),
        "kind" => Some(Scope::Kind(part)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};
    use treering_model::{BetterDirection, RunMode, Scope, Unit};

    use super::{better, better_from, mode_from, scope, scope_from, unit_from};

    #[test]
    fn words_match_the_json_and_parse_back() {
        for known in Unit::ALL {
            assert_eq!(to_value(known).unwrap(), known.word());
            assert_eq!(unit_from(known.word()), Some(known));
        }
        for known in [BetterDirection::Higher, BetterDirection::Lower] {
            assert_eq!(to_value(known).unwrap(), better(known));
            assert_eq!(better_from(better(known)), Some(known));
        }
        for known in [RunMode::Classic, RunMode::Native] {
            assert_eq!(to_value(known).unwrap(), known.name());
            assert_eq!(mode_from(known.name()), Some(known));
        }
        for known in [Scope::Phase("a".into()), Scope::Kind("b".into())] {
            let (word, part) = scope(&known);
            assert_eq!(to_value(&known).unwrap(), json!({ word: part }));
            assert_eq!(scope_from(word, part.to_owned()), Some(known));
        }
        assert_eq!(scope_from(scope(&Scope::Trial).0, String::new()), Some(Scope::Trial));
        assert_eq!(to_value(Scope::Trial).unwrap(), "trial");
    }
}
