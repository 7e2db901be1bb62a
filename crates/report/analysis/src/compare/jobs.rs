//! Matching of trials into jobs: trials of the same workload with the same parameters, and of the
//! same name where a plan has several jobs with the same parameters. Not here: pairing within a
//! job.

use std::collections::{BTreeSet, HashMap};

use treering_model::{
    Accelerator, BLOGBENCH_READ_BYTES, CHANGED_OPTIONS_FACT, CONFIGURATION_PARAMETER, Cell,
    RunMode, Trial, TrialId, counted, quoted,
};

use super::caution::{ComparisonCaution, ComparisonCautionCode as Code};
use super::pairs::{AlignedTrials, align, unpaired};
use super::variant::Factor;

/// Parameter that does not separate jobs: plans may vary the seed by round, with the same seed for
/// both trials of a pair.
const SEED: &str = "seed";
/// Path of an FFSB profile, which does not separate jobs, since the content of the profile is
/// compared. For other workloads the profile defines the work.
const FFSB_PROFILE: (&str, &str) = ("ffsb", "profile");

/// Parameters that change the benchmark: trials that differ in them are never compared.
const APART: [&str; 1] = [BLOGBENCH_READ_BYTES];

/// Reports whether a parameter separates jobs of a workload.
fn counts(workload: &str, name: &str) -> bool {
    name != SEED && (workload, name) != FFSB_PROFILE
}

/// Trials of both variants that did the same work.
pub(super) struct ComparedJob<'t> {
    pub(super) workload: &'t str,
    pub(super) mode: RunMode,
    /// Parameters that distinguish this job from others of the workload, or its name.
    pub(super) name: String,
    pub(super) rounds: AlignedTrials<'t>,
}

type Parameters<'t> = Vec<(&'t str, &'t str)>;

/// Trials of a variant with the same parameters.
struct TrialGroup<'t> {
    parameters: Parameters<'t>,
    /// Parameters sorted by name, since their recorded order does not separate jobs.
    by_name: Parameters<'t>,
    /// Job of a plan, if another job has the same parameters; empty for trials outside of plans.
    job: Option<&'t str>,
    /// Job of a plan, if the variant changes its options.
    changed: Option<&'t str>,
    trials: Vec<&'t Trial>,
}

impl<'t> TrialGroup<'t> {
    /// True if both groups did the same work in the same job, or belong to one job of a plan whose
    /// options a variant changes.
    fn matches(&self, other: &Self) -> bool {
        match (self.changed.or(other.changed), self.cell(), other.cell()) {
            (Some(_), Some(own), Some(others)) if own.campaign == others.campaign => {
                own.job == others.job
            }
            _ => self.job == other.job && self.by_name == other.by_name,
        }
    }

    /// Cell of a plan to which the first trial belongs.
    fn cell(&self) -> Option<&'t Cell> {
        self.trials.first()?.beginning.cell.as_ref()
    }
}

/// Job of a plan whose options are changed by the variant of a trial.
pub(super) fn changed_job(trial: &Trial) -> Option<&str> {
    let is_changed = trial.facts.iter().any(|fact| fact.name == CHANGED_OPTIONS_FACT);
    trial.beginning.cell.as_ref().filter(|_| is_changed).map(|cell| cell.job.as_str())
}

/// Matches trials, given in time order, into jobs that both variants have, with cautions about
/// unmatched trials. If jobs are compared with one another, their parameters may differ.
pub(super) fn jobs<'t>(
    baseline: &[&'t Trial],
    contender: &[&'t Trial],
    names: (&str, &str),
    factor: Factor,
) -> (Vec<ComparedJob<'t>>, Vec<ComparisonCaution>) {
    let mut compared = Vec::new();
    let mut cautions = Vec::new();
    for (workload, mode) in workloads(baseline.iter().chain(contender)) {
        let same = |trial: &&&'t Trial| {
            trial.beginning.workload == workload && trial.beginning.mode == mode
        };
        let both = baseline.iter().chain(contender).filter(same).copied();
        let is_named = have_namesakes(both);
        let groups_of = |trials: &[&'t Trial]| match factor {
            Factor::Job => whole(trials.iter().filter(same).copied().collect()),
            _ => groups(trials.iter().filter(same).copied(), is_named),
        };
        let (base, other) = (groups_of(baseline), groups_of(contender));
        let label = format!("{workload} ({})", mode.name());
        let only = match (base.is_empty(), other.is_empty()) {
            (false, true) => Some(names.0),
            (true, false) => Some(names.1),
            _ => None,
        };
        if let Some(only) = only {
            let message = format!("{label} was run only for '{only}'");
            cautions.push(ComparisonCaution::new(Code::NothingInCommon, message));
            continue;
        }
        if let Some(why) = other_accelerators(&base, &other, names) {
            let message = format!("{label} is not compared: {why}");
            cautions.push(ComparisonCaution::new(Code::AcceleratorsDiffer, message));
            continue;
        }
        compared.extend(of_workload((workload, mode), base, other, &label, names, &mut cautions));
    }
    (compared, cautions)
}

/// Explains why trials with different acceleration (hardware, emulated, bare metal) cannot be
/// compared; `None` if they can.
fn other_accelerators(
    base: &[TrialGroup<'_>],
    other: &[TrialGroup<'_>],
    names: (&str, &str),
) -> Option<String> {
    let accelerators = |groups: &[TrialGroup<'_>]| {
        let trials = groups.iter().flat_map(|group| &group.trials);
        let words = trials.map(|trial| {
            let fact = trial.facts.iter().find(|fact| fact.name == Accelerator::FACT);
            fact.map_or("none", |fact| &fact.value).to_owned()
        });
        words.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    let (left, right) = (accelerators(base), accelerators(other));
    let message = format!(
        "the accelerator of the guests is {left} in '{}' and {right} in '{}'",
        names.0, names.1
    );
    (left != right).then_some(message)
}

fn of_workload<'t>(
    (workload, mode): (&'t str, RunMode),
    base: Vec<TrialGroup<'t>>,
    other: Vec<TrialGroup<'t>>,
    label: &str,
    names: (&str, &str),
    cautions: &mut Vec<ComparisonCaution>,
) -> Vec<ComparedJob<'t>> {
    let mut free: Vec<&TrialGroup<'t>> = other.iter().collect();
    let mut partner = |group: &TrialGroup<'t>| {
        let place = free.iter().position(|other| other.matches(group))?;
        Some(free.remove(place))
    };
    let pairs: Vec<(&TrialGroup<'t>, &TrialGroup<'t>)> =
        base.iter().filter_map(|group| Some((group, partner(group)?))).collect();
    if pairs.is_empty() {
        if let ([base], [other]) = (base.as_slice(), other.as_slice()) {
            if let Some(why) = benchmark_difference(&base.parameters, &other.parameters, names) {
                let message = format!("{label} is two benchmarks: {why}");
                cautions.push(ComparisonCaution::new(Code::NothingInCommon, message));
                return Vec::new();
            }
            let said = differing(&base.parameters, &other.parameters, names).join(", ");
            let mut message = format!("{label}: {said}");
            let ignored = differing_names(&base.parameters, &other.parameters);
            if !ignored.is_empty() {
                let option = quoted(&ignored.join(","));
                message += &format!("; `--ignore {option}` if that is meant");
            }
            cautions.push(ComparisonCaution::new(Code::ParametersDiffer, message));
            let rounds = unpaired(&base.trials, &other.trials);
            return vec![ComparedJob { workload, mode, name: String::new(), rounds }];
        }
        let mut message =
            format!("{label}: no trial of one variant has the parameters of the other");
        let sides = (base.iter().collect(), other.iter().collect());
        message += &nearest_difference(sides, names).unwrap_or_default();
        cautions.push(ComparisonCaution::new(Code::NothingInCommon, message));
        return Vec::new();
    }
    let trials_of =
        |groups: &[TrialGroup<'t>]| groups.iter().map(|g| g.trials.len()).sum::<usize>();
    let used: usize = pairs.iter().map(|(b, o)| b.trials.len() + o.trials.len()).sum();
    let left_out = trials_of(&base) + trials_of(&other) - used;
    if left_out > 0 {
        let (trials, verb) = (counted(left_out, "trial"), if left_out == 1 { "is" } else { "are" });
        let mut message = format!("{label}: {trials} with other parameters {verb} left out");
        let is_paired =
            |group: &TrialGroup<'t>| pairs.iter().any(|(base, _)| std::ptr::eq(*base, group));
        let alone = base.iter().filter(|group| !is_paired(group)).collect();
        message += &nearest_difference((alone, free), names).unwrap_or_default();
        cautions.push(ComparisonCaution::new(Code::ParametersDiffer, message));
    }
    let compared: Vec<&TrialGroup<'t>> = pairs.iter().map(|(group, _)| *group).collect();
    let job = |(base, other): &(&TrialGroup<'t>, &TrialGroup<'t>)| ComparedJob {
        workload,
        mode,
        name: distinguishing(base, &compared),
        rounds: align(&base.trials, &other.trials),
    };
    pairs.iter().map(job).collect()
}

/// Workloads with their modes, in order of first occurrence.
fn workloads<'a, 't: 'a>(trials: impl Iterator<Item = &'a &'t Trial>) -> Vec<(&'t str, RunMode)> {
    let mut workloads: Vec<(&str, RunMode)> = Vec::new();
    for trial in trials {
        let workload = (trial.beginning.workload.as_str(), trial.beginning.mode);
        if !workloads.contains(&workload) {
            workloads.push(workload);
        }
    }
    workloads
}

/// Parameters of a trial that distinguish its job.
fn parameters(trial: &Trial) -> Parameters<'_> {
    let workload = trial.beginning.workload.as_str();
    let own = trial.beginning.parameters.iter().filter(|(name, _)| counts(workload, name));
    own.map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The parameters sorted by name; repeated ones keep their order.
fn sorted(mut parameters: Parameters<'_>) -> Parameters<'_> {
    parameters.sort_by_key(|(name, _)| *name);
    parameters
}

/// Reports whether a campaign has several jobs with the same parameters.
fn have_namesakes<'t>(trials: impl Iterator<Item = &'t Trial>) -> bool {
    let mut jobs: HashMap<(TrialId, Parameters<'t>), &str> = HashMap::new();
    let mut celled = trials.filter_map(|trial| Some((trial, trial.beginning.cell.as_ref()?)));
    celled.any(|(trial, cell)| {
        let key = (cell.campaign, sorted(parameters(trial)));
        *jobs.entry(key).or_insert(&cell.job) != cell.job
    })
}

/// Groups trials into jobs, also by the name of the job if the parameters do not identify it.
fn groups<'t>(trials: impl Iterator<Item = &'t Trial>, is_named: bool) -> Vec<TrialGroup<'t>> {
    let mut groups: Vec<TrialGroup<'t>> = Vec::new();
    let mut known: HashMap<(Parameters<'t>, [Option<&str>; 2]), usize> = HashMap::new();
    for trial in trials {
        let parameters = parameters(trial);
        // A trial outside of plans belongs to none of several jobs with its parameters.
        let cell = trial.beginning.cell.as_ref();
        let name = cell.map_or("", |cell| cell.job.as_str());
        let key = (sorted(parameters.clone()), [is_named.then_some(name), changed_job(trial)]);
        let group = *known.entry(key).or_insert_with_key(|(by_name, [job, changed])| {
            let (by_name, job, changed) = (by_name.clone(), *job, *changed);
            groups.push(TrialGroup { parameters, by_name, job, changed, trials: Vec::new() });
            groups.len() - 1
        });
        groups[group].trials.push(trial);
    }
    groups
}

/// Puts all trials into one group, for comparisons of their parameters.
fn whole<'t>(trials: Vec<&'t Trial>) -> Vec<TrialGroup<'t>> {
    let (parameters, by_name, job, changed) = (Vec::new(), Vec::new(), None, None);
    let group = TrialGroup { parameters, by_name, job, changed, trials };
    Some(group).filter(|group| !group.trials.is_empty()).into_iter().collect()
}

/// Describes the differences of the two groups that differ in the fewest parameters, with the
/// option that compares them all the same.
fn nearest_difference(
    (base, other): (Vec<&TrialGroup<'_>>, Vec<&TrialGroup<'_>>),
    names: (&str, &str),
) -> Option<String> {
    let pairs = base.iter().flat_map(|left| other.iter().map(move |right| (*left, *right)));
    let ((left, right), differing_names) = pairs
        .map(|(left, right)| ((left, right), differing_names(&left.parameters, &right.parameters)))
        .filter(|(_, differing)| !differing.is_empty())
        .min_by_key(|(_, differing)| differing.len())?;
    let said = differing(&left.parameters, &right.parameters, names).join(", ");
    let option = quoted(&differing_names.join(","));
    Some(format!("; the nearest: {said}; `--ignore {option}` compares them nevertheless"))
}

/// Sorted names of the parameters with different values.
fn differing_names<'t>(left: &Parameters<'t>, right: &Parameters<'t>) -> Vec<&'t str> {
    let values = |of: &Parameters<'t>, name: &str| -> Vec<&'t str> {
        of.iter().filter(|(known, _)| *known == name).map(|(_, value)| *value).collect()
    };
    let all: BTreeSet<&str> = left.iter().chain(right).map(|(name, _)| *name).collect();
    all.into_iter().filter(|name| values(left, name) != values(right, name)).collect()
}

/// Lists the differences between two parameter sets: `runs is 30 in 'a' and 60 in 'b'`.
fn differing(left: &Parameters<'_>, right: &Parameters<'_>, names: (&str, &str)) -> Vec<String> {
    let value = |of: &Parameters<'_>, name: &str| {
        let parameter = of.iter().find(|(known, _)| *known == name);
        parameter.map_or_else(|| "not given".to_owned(), |(_, value)| (*value).to_owned())
    };
    let mut parameter_names: Vec<&str> = left.iter().chain(right).map(|(name, _)| *name).collect();
    parameter_names.sort_unstable();
    parameter_names.dedup();
    let say = |name: &&str| {
        let (left, right) = (value(left, name), value(right, name));
        let difference = format!("{name} is {left} in '{}' and {right} in '{}'", names.0, names.1);
        (left != right).then_some(difference)
    };
    let differences: Vec<String> = parameter_names.iter().filter_map(say).collect();
    // If no other difference exists, repeated parameters differ in their order.
    if differences.is_empty() {
        vec!["the order of the parameters differs".to_owned()]
    } else {
        differences
    }
}

/// Explains why two parameter sets are different benchmarks, if they are.
fn benchmark_difference(
    left: &Parameters<'_>,
    right: &Parameters<'_>,
    names: (&str, &str),
) -> Option<String> {
    let value = |of: &Parameters<'_>, name: &str| {
        of.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    APART.into_iter().find_map(|name| {
        let (left, right) = (value(left, name)?, value(right, name)?);
        let difference = format!("{name} is {left} in '{}' and {right} in '{}'", names.0, names.1);
        (left != right).then_some(difference)
    })
}

/// Parameters that differ between jobs: `files=1000 size=4096`. A job with the same parameters as
/// another has its name instead, and an imported one that of its configuration.
fn distinguishing(own: &TrialGroup<'_>, all: &[&TrialGroup<'_>]) -> String {
    if let Some(name) = own.job
        && all.iter().filter(|other| other.by_name == own.by_name).count() > 1
    {
        return name.to_owned();
    }
    let configuration = own.parameters.iter().find(|(name, _)| *name == CONFIGURATION_PARAMETER);
    if let Some(own) = configuration
        && all.len() > 1
        && all.iter().filter(|other| other.parameters.contains(own)).count() == 1
    {
        return own.1.to_owned();
    }
    let is_shared =
        |parameter: &&(&str, &str)| all.iter().all(|other| other.parameters.contains(parameter));
    let telling = own.parameters.iter().filter(|parameter| !is_shared(parameter));
    telling.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Distinguishing parameters or name of the job of each trial, in the order of the trials.
pub(crate) fn job_names<'t>(trials: impl Iterator<Item = &'t Trial> + Clone) -> Vec<String> {
    let mut names: HashMap<TrialId, String> = HashMap::new();
    let mut kinds: Vec<((&str, RunMode), Vec<&Trial>)> = Vec::new();
    for trial in trials.clone() {
        let kind = (trial.beginning.workload.as_str(), trial.beginning.mode);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, members)) => members.push(trial),
            None => kinds.push((kind, vec![trial])),
        }
    }
    for (_, trials) in kinds {
        let is_named = have_namesakes(trials.iter().copied());
        let groups = groups(trials.into_iter(), is_named);
        let members: Vec<&TrialGroup<'t>> = groups.iter().collect();
        for group in &groups {
            let name = distinguishing(group, &members);
            names.extend(group.trials.iter().map(|trial| (trial.beginning.trial, name.clone())));
        }
    }
    trials.map(|trial| names.get(&trial.beginning.trial).cloned().unwrap_or_default()).collect()
}

/// Title of a job: its name in a plan if all trials come from one, otherwise the workload with its
/// distinguishing parameters.
pub(super) fn title(job: &ComparedJob<'_>) -> String {
    let trials = job.rounds.baseline.iter().chain(&job.rounds.contender);
    let mut names = trials.map(|trial| trial.beginning.cell.as_ref().map(|cell| cell.job.as_str()));
    if let Some(Some(name)) = names.next().filter(|name| name.is_some_and(|name| !name.is_empty()))
        && names.all(|other| other == Some(name))
    {
        return name.to_owned();
    }
    format!("{} {}", job.workload, job.name).trim_end().to_owned()
}
