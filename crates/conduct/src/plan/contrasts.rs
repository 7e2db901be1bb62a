//! Comparisons of a plan: its variants with one another, and on each variant the jobs that name
//! another job.

use treering_model::{Cell, Variant};

use super::{Plan, PlannedJob};

/// Trials of a plan that are compared as one: a variant, or one of its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedTrialSet {
    /// Name in tables.
    pub name: String,
    /// Index of the variant in the plan.
    pub variant: usize,
    /// Index of the job in the plan; `None` for all jobs that are compared between variants.
    pub job: Option<usize>,
    /// Index of the set that is the baseline of this one; `None` if this set is only a baseline.
    pub baseline: Option<usize>,
}

impl Plan {
    /// Index of each job's baseline on the same variant: the job's own index if it is only a
    /// baseline, `None` if the job is compared between variants.
    pub fn job_baselines(&self) -> Vec<Option<usize>> {
        job_baselines(&self.jobs)
    }

    /// True if a job is compared with another job on each variant.
    pub fn compares_jobs(&self) -> bool {
        self.job_baselines().iter().any(Option::is_some)
    }

    /// True if this job is compared between variants: a job that is not compared with another one
    /// on each variant, and every job if a variant says with which one it is compared.
    pub(crate) fn is_between_variants(&self, job: usize) -> bool {
        is_between_variants(&self.variants, self.job_baselines()[job])
    }

    /// True if the plan only sweeps the jobs of a single variant, so that nothing is compared.
    pub fn is_sweep_of_one(&self) -> bool {
        let is_swept = self.jobs.len() > 1 && self.jobs.iter().all(|job| job.name.contains('='));
        self.variants.len() == 1 && is_swept && !self.compares_jobs()
    }

    /// Sets of trials that are compared, a baseline before the sets that are compared with it.
    pub fn compared_sets(&self) -> Vec<ComparedTrialSet> {
        let jobs = self.job_baselines();
        let compares_jobs = jobs.iter().any(Option::is_some);
        let mut sets = Vec::new();
        // A single variant forms a set of its own unless jobs are compared.
        let is_between = |base: Option<usize>| is_between_variants(&self.variants, base);
        let mut between_variants =
            self.jobs.iter().zip(&jobs).filter(|(_, base)| is_between(**base));
        if between_variants.any(|(job, _)| job.is_measured())
            && (self.variants.len() > 1 || !compares_jobs)
        {
            let variants = self.variants.iter().zip(baselines(&self.variants)).enumerate();
            sets.extend(variants.map(|(variant, (named, baseline))| ComparedTrialSet {
                name: named.name.clone(),
                variant,
                job: None,
                baseline,
            }));
        }
        for (variant, named) in self.variants.iter().enumerate() {
            let first = sets.len();
            let mut apart: Vec<(usize, usize)> =
                jobs.iter().enumerate().filter_map(|(job, base)| Some((job, (*base)?))).collect();
            apart.sort_by_key(|(job, base)| job != base);
            let place = |job: usize| apart.iter().position(|(other, _)| *other == job);
            sets.extend(apart.iter().map(|&(job, base)| ComparedTrialSet {
                name: Cell::job_of_variant(
                    &named.name,
                    &self.jobs[job].name,
                    self.variants.len() == 1,
                ),
                variant,
                job: Some(job),
                baseline: place(base).filter(|_| base != job).map(|place| first + place),
            }));
        }
        sets
    }
}

/// True if a job with this baseline on the same variant is compared between variants. See
/// [`Plan::is_between_variants`].
pub(super) fn is_between_variants(variants: &[Variant], job_baseline: Option<usize>) -> bool {
    job_baseline.is_none() || variants.iter().any(|variant| variant.against.is_some())
}

/// See [`Plan::job_baselines`].
pub(super) fn job_baselines(jobs: &[PlannedJob]) -> Vec<Option<usize>> {
    let place = |name: &str| jobs.iter().position(|job| job.name == name);
    let own: Vec<Option<usize>> = jobs.iter().map(|job| place(job.against.as_deref()?)).collect();
    let is_named = |job: usize| own.contains(&Some(job));
    own.iter().enumerate().map(|(job, base)| base.or(is_named(job).then_some(job))).collect()
}

/// Index of each variant's baseline: the variant named by `against`, else the first. `None` for the
/// first, and for a variant without `against` that others name.
pub fn baselines(variants: &[Variant]) -> Vec<Option<usize>> {
    let is_named = |variant: &Variant| {
        variants.iter().any(|other| other.against.as_ref() == Some(&variant.name))
    };
    let baseline_of = |(place, variant): (usize, &Variant)| match &variant.against {
        Some(name) => variants.iter().position(|other| other.name == *name),
        None => (place > 0 && !is_named(variant)).then_some(0),
    };
    variants.iter().enumerate().map(baseline_of).collect()
}
