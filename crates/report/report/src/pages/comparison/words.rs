//! Comparison in sentences: results in which each contender is better or worse, and the number of
//! rounds needed to decide the others.

use treering_analysis::compare::{MetricComparison, Outcome, VariantSummary, Verdict, p_words};
use treering_model::metrics::times;
use treering_model::{Accelerator, Scope, Unit, thousands};
use treering_stats::RoundsNeeded;

use super::jobs;
use super::series::JobSeries;
use super::tables::{WIDEST_RANGE, label, more_rounds, percentage, turned, whole_time};
use crate::Number;
use crate::pages::identity::metric_words;

/// Maximum number of results that a clause names; with more, it states the typical result.
const RESULTS_NAMED_MAX: usize = 3;
/// Maximum number of results of a contender in an interim line.
const INTERIM_MAX: usize = 4;
/// Ratios that are told as such rather than in percent, which nobody reads at that size.
const TIMES_FROM: f64 = 10.0;
const TIMES_BELOW: f64 = 1e6;

/// Verdict in words, one sentence for each contender.
pub fn sentences(outcome: &Outcome) -> Vec<String> {
    outcome.contenders().map(|(baseline, variant)| sentence(outcome, baseline, variant)).collect()
}

/// Interim results of a campaign, a line for each contender with primary ratios: `xfs against ext4:
/// create 1.412 × as good (1.287 to 1.550)`. More than 1 is better.
pub fn interim_lines(outcome: &Outcome) -> Vec<String> {
    let names = ResultNames::new(outcome);
    let in_words = |one: &MetricComparison| {
        let (estimate, turned) = (one.ratio?, turned(one.better));
        let ratio = format!("{} {:.3} × as good", names.name(one), turned(estimate.value));
        let Some((low, high)) = estimate.interval else { return Some(ratio) };
        let [low, high] = [low, high].map(turned);
        Some(format!("{ratio} ({:.3} to {:.3})", low.min(high), low.max(high)))
    };
    let line = |baseline: &str, contender: &str| {
        let ratios: Vec<String> =
            outcome.primary_of(contender).filter_map(in_words).take(INTERIM_MAX).collect();
        (!ratios.is_empty())
            .then(|| format!("{contender} against {baseline}: {}", ratios.join(", ")))
    };
    let contenders = outcome.contenders();
    contenders.filter_map(|(baseline, contender)| line(baseline, &contender.name)).collect()
}

fn sentence(outcome: &Outcome, baseline: &str, variant: &VariantSummary) -> String {
    let contender = &variant.name;
    let about = format!("{contender} against {baseline}");
    let primary: Vec<&MetricComparison> = outcome.primary_of(contender).collect();
    if primary.is_empty() {
        let any = outcome.comparisons.iter().any(|c| c.contender == *contender);
        let why = if any {
            "no verdict, because no metric is primary"
        } else {
            "nothing to \
                            compare"
        };
        return format!("{about}: {why}.");
    }
    if primary.iter().all(|c| c.verdict == Verdict::SingleRun) {
        return format!("{about}: no verdict. {}", single_runs(&primary));
    }
    let order = [
        Verdict::Worse,
        Verdict::Better,
        Verdict::Small,
        Verdict::Same,
        Verdict::Unclear,
        Verdict::SingleRun,
    ];
    let of = |verdict: Verdict| -> Vec<&MetricComparison> {
        primary.iter().copied().filter(|c| c.verdict == verdict).collect()
    };
    let names = ResultNames::new(outcome);
    let clauses: Vec<String> = order
        .into_iter()
        .filter_map(|comparison| names.clause(comparison, &of(comparison), primary.len()))
        .collect();
    format!("{about}{}: {}.", names.only_job(), clauses.join("; "))
}

/// Sentences on results with a single run on one side: the reason why they are undecided, and the
/// runs needed.
fn single_runs(primary: &[&MetricComparison]) -> String {
    let fewest = primary.iter().map(|comparison| comparison.smallest_rounds).max().unwrap_or(0);
    format!(
        "One side ran once, and one run does not say how much runs differ. A verdict needs more \
         runs, {fewest} of each side at least, with the sides by turns."
    )
}

/// Sentences on results whose time is unclear: counts of the same rounds that have a verdict,
/// otherwise the options that may give one.
pub(super) fn beside_time(outcome: &Outcome) -> Vec<String> {
    let names = ResultNames::new(outcome);
    let several = outcome.contenders().count() > 1;
    let mut undecided: Vec<Option<RoundsNeeded>> = Vec::new();
    let mut sentences = Vec::new();
    for open in outcome.comparisons.iter().filter(|comparison| comparison.is_open_by_time()) {
        let counts = outcome.counts_decided_beside(open);
        if counts.is_empty() {
            undecided.push(open.rounds_needed);
            continue;
        }
        let contender = if several { format!("{}, ", open.contender) } else { String::new() };
        let rounds = open.more_rounds().map_or_else(
            || "more rounds are unlikely to decide it by time".to_owned(),
            |more| format!("by time it takes {}", more_rounds_words(more)),
        );
        let counts: Vec<String> = counts.into_iter().map(count_words).collect();
        sentences.push(format!(
            "{contender}{}: {rounds}; counts, which are another question, differ: {}.",
            names.name(open),
            counts.join(", ")
        ));
    }
    // Only a campaign of a plan can be continued.
    if !undecided.is_empty() && outcome.variants.iter().all(|variant| variant.is_of_plan) {
        // A range too wide to be told names no number of rounds.
        let likely = |needed: &RoundsNeeded| {
            let most = needed.pessimistic?;
            (most / WIDEST_RANGE <= needed.typical).then_some(most)
        };
        let known: Option<Vec<u32>> = undecided.iter().flatten().map(likely).collect();
        let most = known.and_then(|known| known.into_iter().max());
        let hopeless = undecided.iter().filter(|needed| needed.is_none()).count();
        let all = if hopeless == 0 { "" } else { " what more rounds can decide" };
        let more = most.map_or_else(String::new, |rounds| {
            format!(
                "; `--resume --rounds {rounds}`, rounds so far included, is likely to decide{all} \
                 by time"
            )
        });
        let observed = outcome.comparisons.iter().any(|comparison| comparison.observed);
        sentences.push(if observed {
            format!("What time leaves unclear, the counts below may show{more}.")
        } else {
            format!(
                "What time leaves unclear, counts may show: the same command with `--resume \
                 --trace --layout` adds seeks, write amplification and extents, `--icount` counts \
                 instructions in guests{more}."
            )
        });
    }
    sentences
}

/// Sentence about what the figures of emulated guests mean; `None` where a processor ran all.
pub(super) fn emulated(outcome: &Outcome) -> Option<&'static str> {
    let names = outcome.variants.iter().flat_map(|variant| &variant.accelerators);
    let used = names.filter_map(|name| Accelerator::ALL.iter().find(|one| one.name() == name));
    match used.max_by_key(|accelerator| **accelerator as u8)? {
        Accelerator::Icount => Some(
            "Emulated: instructions, not time: 2 ns each, on one CPU. They say how much a phase \
             computes; only where it waits for its disk or a timer is it time.",
        ),
        Accelerator::Tcg => Some(
            "Emulated, without counting instructions (TCG): what is computed takes many times as long as on hardware, and \
             the disk does not. Ratios of computing hold by their direction, those of waiting do \
             not carry over.",
        ),
        Accelerator::Kvm => None,
    }
}

/// Sentences on primary results whose means, worst tenth or outlying rounds contradict the typical
/// ratio.
pub(super) fn hidden(outcome: &Outcome) -> Vec<String> {
    let names = ResultNames::new(outcome);
    let several = outcome.contenders().count() > 1;
    let sentence = |comparison: &MetricComparison| {
        let tails = comparison.notable_tails()?;
        let turned = turned(comparison.better);
        let typical = turned(comparison.ratio?.value);
        let contender = if several { format!("{}, ", comparison.contender) } else { String::new() };
        let verdict = if comparison.same_withheld && !tails.is_one_sided() {
            ", too few to tell from chance, too many to call it the same"
        } else {
            ""
        };
        Some(format!(
            "{contender}{}: typically {typical:.3} × as good, but {:.3} by means and {:.3} in the worst \
             tenth; \
             outlying {}: {} of {} of {}, {} of {} of {} ({}{verdict}).",
            names.name(comparison),
            turned(tails.mean_ratio),
            turned(tails.worst_tenth_ratio),
            if comparison.paired { "rounds" } else { "runs" },
            tails.outlying[1],
            tails.runs[1],
            comparison.contender,
            tails.outlying[0],
            tails.runs[0],
            comparison.baseline,
            p_words(tails.p_value),
        ))
    };
    outcome.comparisons.iter().filter(|one| one.primary).filter_map(sentence).collect()
}

/// Text of a count with a verdict: `device write requests 9,120 to 2,210 (better)`.
fn count_words(count: &MetricComparison) -> String {
    let value = |value: f64| Number::measured(value, count.unit).text_with_unit();
    format!(
        "{} {} to {} ({})",
        count.name.replace('_', " "),
        value(count.baseline_median),
        value(count.contender_median),
        count.verdict.name()
    )
}

/// Sentence on the control, if one was run: the smallest detectable difference.
pub(super) fn control(outcome: &Outcome) -> Option<String> {
    let first = outcome.control.first()?;
    let about = format!(
        "Control: {} against itself, {} rounds",
        outcome.baseline(),
        thousands(&first.runs().to_string())
    );
    let names = ResultNames::new(outcome);
    let mut detectable: Vec<(f64, &MetricComparison)> = outcome
        .control
        .iter()
        .filter_map(|comparison| Some((outcome.smallest_detectable(comparison)?, comparison)))
        .collect();
    detectable.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let text = |share: f64| format!("{:.1} %", share * 100.0);
    Some(match (detectable.as_slice(), outcome.control.len() - detectable.len()) {
        ([], _) => {
            format!("{about}: too few rounds to estimate the smallest detectable difference.")
        }
        ([(share, comparison)], 0) => format!(
            "{about}: differences below {} could not have been detected ({}).",
            text(*share),
            names.name(comparison)
        ),
        ([(least, best), .., (most, worst)], _) => format!(
            "{about}: differences below {} ({}) to {} ({}) could not have been detected.",
            text(*least),
            names.name(best),
            text(*most),
            names.name(worst)
        ),
        ([(share, comparison)], more) => format!(
            "{about}: differences below {} could not have been detected ({}); unknown for {more} \
             more.",
            text(*share),
            names.name(comparison)
        ),
    })
}

/// Names of results on a page.
struct ResultNames<'o> {
    /// Name of the job, if there is only one.
    only: Option<&'o str>,
    /// Jobs that differ in one parameter, if they do.
    series: Option<JobSeries<'o>>,
}

impl<'o> ResultNames<'o> {
    fn new(outcome: &'o Outcome) -> Self {
        let mut titles = outcome.comparisons.iter().map(|comparison| comparison.title.as_str());
        let first = titles.next();
        let only = first.filter(|first| titles.all(|title| title == *first));
        Self { only, series: JobSeries::new(&jobs(outcome)) }
    }

    /// Suffix with the job, if the page has only one, after the variants.
    fn only_job(&self) -> String {
        self.only.map_or_else(String::new, |job| format!(", {job}"))
    }

    /// Clause about all results with a verdict; `total` is the number of primary results.
    fn clause(
        &self,
        verdict: Verdict,
        members: &[&MetricComparison],
        total: usize,
    ) -> Option<String> {
        let words = match verdict {
            Verdict::Worse => "worse at",
            Verdict::Better => "better at",
            Verdict::Small => "only slightly different at",
            Verdict::Same => "the same at",
            Verdict::Unclear => "unclear at",
            Verdict::SingleRun => "run only once at",
        };
        if members.is_empty() {
            return None;
        }
        let shows_change = matches!(verdict, Verdict::Worse | Verdict::Better | Verdict::Small);
        let of_series = self.series.as_ref().filter(|_| !shows_change);
        let together = of_series.and_then(|series| series.values(members));
        let results = if let Some(values) = together {
            format!("{} at {values}", Self::metric_of(members[0]))
        } else if members.len() <= RESULTS_NAMED_MAX && (shows_change || total <= RESULTS_NAMED_MAX)
        {
            let result_text =
                |result_text: &&MetricComparison| self.result(result_text, shows_change);
            listed(&largest_first(members).iter().map(result_text).collect::<Vec<_>>())
        } else if shows_change {
            format!("{} of {total}, {}", members.len(), self.typical(members))
        } else {
            format!("{} of {total}", members.len())
        };
        let needed = if verdict == Verdict::Unclear { needed(members) } else { String::new() };
        Some(format!("{words} {results}{needed}"))
    }

    /// Result with its change: `create of small files (+38 %)`.
    fn result(&self, comparison: &MetricComparison, shows_change: bool) -> String {
        match change(comparison).filter(|_| shows_change) {
            Some(change) => format!("{} ({change})", self.name(comparison)),
            None => self.name(comparison),
        }
    }

    /// Name of a result, from its work and its job.
    fn name(&self, comparison: &MetricComparison) -> String {
        let metric = Self::metric_of(comparison);
        let value = self.series.as_ref().and_then(|series| series.value(comparison));
        match (self.only, value) {
            (None, Some(value)) => format!("{metric} at {value}"),
            (None, None) if metric != comparison.title => {
                format!("{metric} of {}", comparison.title)
            }
            _ => metric,
        }
    }

    /// Name of a result without its job.
    fn metric_of(comparison: &MetricComparison) -> String {
        match &comparison.scope {
            Scope::Trial => whole_time(comparison).unwrap_or_else(|| without_unit(comparison)),
            Scope::Phase(name) if comparison.name == times::ELAPSED_SECONDS.name => {
                format!("{name} time")
            }
            Scope::Phase(name) => format!("{} in {name}", without_unit(comparison)),
            Scope::Kind(kind) if comparison.name.contains("latency") => {
                format!("{kind} {}", without_unit(comparison))
            }
            Scope::Kind(kind) => {
                let word =
                    comparison.name.split('_').next().filter(|word| DIRECTIONS.contains(word));
                word.map_or_else(|| kind.clone(), |word| format!("{kind} {word}"))
            }
        }
    }

    /// Median and largest change of many results.
    fn typical(&self, comparisons: &[&MetricComparison]) -> String {
        let sorted = largest_first(comparisons);
        let (middle, largest) = (sorted[sorted.len() / 2], sorted[0]);
        let text = |comparison: &MetricComparison| {
            change(comparison).unwrap_or_else(|| "no ratio".to_owned())
        };
        format!(
            "typically {} ({}), at most {} ({})",
            text(middle),
            self.name(middle),
            text(largest),
            self.name(largest)
        )
    }
}

/// Metric in words, for a sentence in which a change in percent follows: `device written bytes`.
fn without_unit(comparison: &MetricComparison) -> String {
    match (comparison.unit, &comparison.scope) {
        (Unit::Bytes, _) => comparison.name.replace('_', " "),
        (Unit::Nanoseconds, _) | (_, Scope::Phase(_)) => {
            metric_words(&comparison.name, comparison.unit)
        }
        _ => label(comparison),
    }
}

/// Prefixes of metrics that distinguish the directions of one kind of operation.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

fn largest_first<'c>(comparisons: &[&'c MetricComparison]) -> Vec<&'c MetricComparison> {
    let size = |c: &MetricComparison| c.ratio.map_or(0.0, |ratio| ratio.value.ln().abs());
    let mut sorted = comparisons.to_vec();
    sorted.sort_by(|left, right| size(right).total_cmp(&size(left)));
    sorted
}

/// Joins items: `a`, `a and b`, `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [tail @ .., last] if !tail.is_empty() => format!("{} and {last}", tail.join(", ")),
        _ => words.concat(),
    }
}

/// Formats the change: `+38 %`, `-2.3 %`, `59 times as much`.
fn change(comparison: &MetricComparison) -> Option<String> {
    let ratio = comparison.ratio?.value;
    if (TIMES_FROM..TIMES_BELOW).contains(&ratio) {
        return Some(format!("{} times as much", thousands(&format!("{ratio:.0}"))));
    }
    percentage(ratio)
}

/// Estimated numbers of further rounds that the median unclear verdict needs.
fn needed(comparisons: &[&MetricComparison]) -> String {
    let mut known: Vec<RoundsNeeded> =
        comparisons.iter().filter_map(|comparison| comparison.more_rounds()).collect();
    known.sort_unstable_by_key(|more| (more.pessimistic.is_none(), more.pessimistic, more.typical));
    let (Some(&middle), Some(&last)) = (known.get(known.len() / 2), known.last()) else {
        if comparisons.iter().any(|comparison| comparison.same_withheld) {
            return " (typically the same, but not in outlying rounds)".to_owned();
        }
        return " (more rounds are unlikely to change this)".to_owned();
    };
    let longer = |most: u32| middle.pessimistic.is_some_and(|middle| most / 3 > middle / 2);
    let note = match (comparisons.len() - known.len(), last.pessimistic) {
        (0, Some(most)) if longer(most) => format!(", {} for all", thousands(&most.to_string())),
        (0, _) => String::new(),
        (hopeless, _) => format!("; more rounds are unlikely to decide {hopeless}"),
    };
    let (count, tail) = more_rounds(middle);
    let comma = if tail.is_empty() { "" } else { "," };
    format!(" (about {count} more {} needed{comma}{tail}{note})", round_noun(&count))
}

/// Numbers of further rounds in words: `1 more round`, `31-108 more rounds`, `31 more rounds, or
/// far more`.
fn more_rounds_words(more: RoundsNeeded) -> String {
    let (count, tail) = more_rounds(more);
    let comma = if tail.is_empty() { "" } else { "," };
    format!("{count} more {}{comma}{tail}", round_noun(&count))
}

fn round_noun(count: &str) -> &'static str {
    if count == "1" { "round" } else { "rounds" }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn lists_end_in_and() {
        let of = |texts: &[&str]| {
            listed(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&["a"]), "a");
        assert_eq!(of(&["a", "b"]), "a and b");
        assert_eq!(of(&["a", "b", "c"]), "a, b and c");
    }
}
