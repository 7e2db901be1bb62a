//! Identity of a trial, shown before its figures: start, end, duration.

use jiff::Timestamp;
use treering_model::metrics::rates::OPERATIONS_PER_SECOND;
use treering_model::{Ending, Metric, Scope, Unit};

use crate::{Cell, Number, Tone};

/// Formats a time in UTC as ISO 8601 to the second.
pub(crate) fn utc(unix_ms: i64) -> String {
    let seconds = unix_ms.div_euclid(1000);
    Timestamp::from_second(seconds)
        .map_or_else(|_| format!("{unix_ms} ms after 1970"), |time| time.to_string())
}

/// Formats a time in UTC to the minute: `2026-11-26 16:15`.
pub(crate) fn minute(unix_ms: i64) -> String {
    let text = utc(unix_ms);
    match text.split_once('T') {
        Some((date, time)) if time.len() >= 5 && time.is_char_boundary(5) => {
            format!("{date} {}", &time[..5])
        }
        _ => text,
    }
}

/// Cell with a word for the ending of a trial, and for its exclusion; `running` if it has not
/// ended.
pub(crate) fn ending_word(ending: Option<&Ending>, is_excluded: bool) -> Cell {
    let word = ending.map_or("running", Ending::name);
    if is_excluded {
        return Cell::toned(format!("{word}, excluded"), Tone::Caution);
    }
    Cell::toned(word, ending.map_or(Tone::Plain, tone))
}

/// Cell with the ending of a trial and its reason.
pub(super) fn ending_sentence(ending: &Ending) -> Cell {
    let text = match ending.why() {
        "" => ending.name().to_owned(),
        why => format!("{}: {why}", ending.name()),
    };
    Cell::toned(text, tone(ending))
}

fn tone(ending: &Ending) -> Tone {
    match ending {
        Ending::Completed => Tone::Good,
        Ending::Failed { .. } => Tone::Bad,
        Ending::Invalid { .. } | Ending::Interrupted => Tone::Caution,
    }
}

/// Duration cell; missing when nothing was measured.
pub(super) fn duration(wall_ns: u64) -> Cell {
    if wall_ns == 0 { Cell::Missing } else { Number::span(wall_ns as f64 / 1e9).into() }
}

/// Name of the part of a trial to which a metric applies.
pub(super) fn scope(scope: &Scope) -> String {
    match scope {
        Scope::Trial => "trial".to_owned(),
        Scope::Phase(name) => format!("phase {name}"),
        Scope::Kind(name) => name.clone(),
    }
}

/// Formats a metric briefly: `create 2.550 MiB/s`, `fsync p99 1.2 ms`. A percentile with a unit of
/// time is one of latencies.
pub(crate) fn in_short(metric: &Metric) -> String {
    let words = metric_words(&metric.name, metric.unit).replace(" call latency p", " p");
    let part = match &metric.scope {
        Scope::Phase(name) | Scope::Kind(name) if !words.starts_with(name.as_str()) => name,
        Scope::Trial | Scope::Phase(_) | Scope::Kind(_) => "",
    };
    let value = Cell::measured(metric.value, metric.unit).shown("");
    let words_shown = [part, &words, &value].into_iter().filter(|words| !words.is_empty());
    words_shown.collect::<Vec<_>>().join(" ")
}

/// Name of a metric in words, without its unit, which follows the number: `latency max` for
/// `latency_ns_max`.
pub(super) fn metric_words(name: &str, unit: Unit) -> String {
    let word = match unit {
        Unit::Nanoseconds if !name.contains(Unit::Nanoseconds.word()) => "ns",
        Unit::OpsPerSecond if name.ends_with(OPERATIONS_PER_SECOND.name) => {
            OPERATIONS_PER_SECOND.name
        }
        _ => unit.word(),
    };
    let tail = match name.strip_suffix(word) {
        Some(tail) => tail.trim_end_matches('_').to_owned(),
        None => name.replacen(&format!("_{word}_"), "_", 1),
    };
    tail.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::{in_short, metric_words, utc};
    use treering_model::{BetterDirection, Metric, Scope, Unit};

    #[test]
    fn times_are_utc_and_any_number_is_shown() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(1_763_665_726_999), "2025-11-20T19:08:46Z");
        assert_eq!(utc(-1), "1969-12-31T23:59:59Z");
        assert_eq!(utc(i64::MAX), "9223372036854775807 ms after 1970");
    }

    #[test]
    fn short_metric_names_omit_the_unit() {
        let metric = |name: &str, scope| {
            Metric::new(name, scope, 2.55, Unit::MibPerSecond, BetterDirection::Higher).primary()
        };
        let create = metric("create_mib_per_second", Scope::Kind("create".to_owned()));
        assert_eq!(in_short(&create), "create 2.550 MiB/s");
        let total = metric("mib_per_second", Scope::Kind("read compiled".to_owned()));
        assert_eq!(in_short(&total), "read compiled 2.550 MiB/s");
        assert_eq!(in_short(&metric("total_mib_per_second", Scope::Trial)), "total 2.550 MiB/s");
        assert_eq!(metric_words("latency_ns_max", Unit::Nanoseconds), "latency max");
        assert_eq!(
            metric_words("read_score_per_second_min", Unit::OpsPerSecond),
            "read score per second min"
        );
        let rate = |name| metric_words(name, Unit::OpsPerSecond);
        assert_eq!(rate("transaction_operations_per_second"), "transaction");
        assert_eq!(rate("operations_per_second"), "");
        let latency = metric_words("fsync_call_latency_p99_nanoseconds", Unit::Nanoseconds);
        assert_eq!(latency, "fsync call latency p99");
        assert_eq!(metric_words("ns", Unit::Nanoseconds), "");
    }
}
