//! Trials that are not pooled without a word: those of earlier plans with the same name, which had
//! different terms, those of earlier campaigns, and those of none.

use std::collections::{BTreeSet, HashMap, HashSet};

use treering_model::TrialId;

use super::{SelectionQuery, StoredTrial, factor_of, parsed};
use crate::compare::Factor;

/// A side of the comparison: the factor and its value.
type Side = (Factor, String);
/// Campaign of a trial; `None` for trials that were run one by one.
type Pool = Option<TrialId>;

/// Sides of a comparison, as the query names or groups them.
pub(super) struct QueriedSides<'q> {
    query: &'q SelectionQuery,
    /// The named sides; empty if the trials are grouped.
    named: Vec<Side>,
    grouped_by: Factor,
}

impl<'q> QueriedSides<'q> {
    /// Reads the sides of a query; `stored_target` gives the stored form of a directory.
    pub(super) fn new(query: &'q SelectionQuery, stored_target: impl Fn(&str) -> String) -> Self {
        let selectors = query.baseline.iter().chain(&query.contenders);
        let side = |text: &String| match parsed(text) {
            (Factor::Target, value) => (Factor::Target, stored_target(value)),
            (factor, value) => (factor, value.to_owned()),
        };
        let named =
            if query.contenders.is_empty() { Vec::new() } else { selectors.map(side).collect() };
        Self { query, named, grouped_by: factor_of(query) }
    }

    /// Sides to which a trial belongs.
    fn of(&self, one: &StoredTrial) -> Vec<Side> {
        let is_there = |factor: Factor| factor == Factor::Label || !one.is_outside_rounds();
        if self.named.is_empty() {
            let value = one.value(self.grouped_by).filter(|value| !value.is_empty());
            let value = value.filter(|_| !one.is_outside_rounds());
            return value.map(|value| (self.grouped_by, value.to_owned())).into_iter().collect();
        }
        let is_of = |(factor, value): &&Side| {
            is_there(*factor) && one.value(*factor) == Some(value.as_str())
        };
        self.named.iter().filter(is_of).cloned().collect()
    }

    /// True if variants or jobs of plans are compared.
    fn are_of_cells(&self) -> bool {
        let is_of_cells = |factor: Factor| matches!(factor, Factor::Variant | Factor::Job);
        match self.named.as_slice() {
            [] => is_of_cells(self.grouped_by),
            named => named.iter().any(|(factor, _)| is_of_cells(*factor)),
        }
    }

    /// Keeps only the trials of the newest plan if variants or jobs of plans, or a plan by its
    /// name, are selected. Returns a remark about the omitted trials.
    pub(super) fn keep_newest_plan(&self, trials: &mut Vec<StoredTrial>) -> Option<String> {
        if !self.are_of_cells() && !self.query.is_of_plan {
            return None;
        }
        let digest_of = |one: &StoredTrial| one.cell.as_ref().map(|cell| cell.digest.clone());
        let mut newest_first = trials.iter().rev();
        let newest =
            newest_first.clone().filter(|one| !self.of(one).is_empty()).find_map(digest_of);
        let newest = newest.or_else(|| newest_first.find_map(digest_of))?;
        let is_older = |one: &StoredTrial| digest_of(one).is_some_and(|digest| digest != newest);
        let older: BTreeSet<String> =
            trials.iter().filter(|one| is_older(one)).filter_map(digest_of).collect();
        let count_before = trials.len();
        trials.retain(|one| !is_older(one));
        (!older.is_empty()).then(|| {
            let (omitted, plans) = (count_before - trials.len(), older.len());
            let plans =
                if plans == 1 { "another plan".to_owned() } else { format!("{plans} other plans") };
            format!(
                "trials omitted because they are of {plans}: {omitted} (--campaign chooses one)"
            )
        })
    }

    /// Keeps only the trials of the newest campaign of each side, of whatever campaign that is for
    /// variants and jobs of a plan; trials that were run one by one count as one campaign. Returns
    /// remarks about the omitted trials, or about the campaigns that are compared together.
    pub(super) fn keep_newest_campaign(&self, trials: &mut Vec<StoredTrial>) -> Vec<String> {
        let is_counted =
            |one: &&StoredTrial| one.excluded.is_none() || self.query.includes_excluded;
        // Variants of a plan are those of one campaign, even if it lacks some of them.
        let key = |side: Side| if self.are_of_cells() { None } else { Some(side) };
        let mut newest: HashMap<Option<Side>, Pool> = HashMap::new();
        let mut pools: HashMap<Option<Side>, HashSet<Pool>> = HashMap::new();
        for one in trials.iter().filter(is_counted) {
            for side in self.of(one) {
                newest.insert(key(side.clone()), pool_of(one));
                pools.entry(key(side)).or_default().insert(pool_of(one));
            }
        }
        if self.query.pools_campaigns {
            let together: HashSet<Pool> =
                pools.into_values().filter(|pools| pools.len() > 1).flatten().collect();
            let remark = "trials of several campaigns are compared together (--all-campaigns): ";
            let names = kinds(together.iter().flatten().count(), together.contains(&None));
            return (!together.is_empty())
                .then(|| format!("{remark}{names}"))
                .into_iter()
                .collect();
        }
        let is_kept = |one: &StoredTrial| {
            if self.are_of_cells() {
                return newest.get(&None).is_none_or(|newest| pool_of(one) == *newest);
            }
            let sides = self.of(one);
            let mut sides = sides.into_iter().map(Some);
            sides.len() == 0
                || sides.any(|side| newest.get(&side).is_none_or(|pool| *pool == pool_of(one)))
        };
        // Trials of other plans and variants are nothing that a reader misses.
        let is_missed = |one: &&StoredTrial| is_counted(one) && !self.of(one).is_empty();
        let omitted: Vec<Pool> =
            trials.iter().filter(|one| !is_kept(one)).filter(is_missed).map(pool_of).collect();
        trials.retain(is_kept);
        let campaigns: HashSet<TrialId> = omitted.iter().flatten().copied().collect();
        let names = kinds(campaigns.len(), omitted.contains(&None));
        let remark = format!(
            "trials omitted because each side has its newest campaign only: {} of {names} \
             (--all-campaigns compares them, too)",
            omitted.len()
        );
        (!omitted.is_empty()).then_some(remark).into_iter().collect()
    }
}

fn pool_of(one: &StoredTrial) -> Pool {
    one.cell.as_ref().map(|cell| cell.campaign)
}

/// Names of so many campaigns, and of the trials that belong to none.
fn kinds(campaigns: usize, has_others: bool) -> String {
    let planned = match campaigns {
        0 => None,
        1 => Some("one campaign".to_owned()),
        count => Some(format!("{count} campaigns")),
    };
    let others = has_others.then(|| "runs that belong to no plan".to_owned());
    planned.into_iter().chain(others).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use treering_model::{Cell, CellRole, TrialId};

    use super::super::{SelectionQuery, StoredTrial};
    use super::QueriedSides;

    fn query(baseline: &str, contender: &str) -> SelectionQuery {
        SelectionQuery {
            baseline: Some(baseline.to_owned()),
            contenders: vec![contender.to_owned()],
            ..SelectionQuery::default()
        }
    }

    /// A trial of a variant, with its name as the label; `plan` is empty for no plan.
    fn trial(name: &str, plan: &str, campaign: TrialId) -> StoredTrial {
        let cell = Cell {
            campaign,
            plan: plan.to_owned(),
            digest: plan.to_owned(),
            variant: name.to_owned(),
            job: "create".to_owned(),
            round: 1,
            role: CellRole::Round,
        };
        StoredTrial {
            trial: TrialId::new(),
            label: name.to_owned(),
            target: "/mnt".to_owned(),
            cell: Some(cell).filter(|_| !plan.is_empty()),
            excluded: None,
            kernel: Some(format!("6.{name}")),
            filesystem: None,
            job_apart: None,
            is_between_variants: false,
        }
    }

    /// Number of kept trials, and the remarks about the others.
    fn kept(mut trials: Vec<StoredTrial>, query: &SelectionQuery) -> (usize, Vec<String>) {
        let sides = QueriedSides::new(query, str::to_owned);
        let mut remarks: Vec<String> = sides.keep_newest_plan(&mut trials).into_iter().collect();
        remarks.extend(sides.keep_newest_campaign(&mut trials));
        (trials.len(), remarks)
    }

    #[test]
    fn two_campaigns_of_a_plan_are_pooled_only_if_asked() {
        let (monday, tuesday) = (TrialId::new(), TrialId::new());
        let trials_of = |campaign| ["old", "new", "old"].map(|name| trial(name, "patch", campaign));
        let trials = || trials_of(monday).into_iter().chain(trials_of(tuesday)).collect::<Vec<_>>();
        for named in [query("old", "new"), query("variant:old", "variant:new")] {
            let (count, remarks) = kept(trials(), &named);
            assert_eq!(count, 3);
            assert!(remarks[0].contains("3 of one campaign (--all-campaigns"), "{remarks:?}");
            let (count, remarks) =
                kept(trials(), &SelectionQuery { pools_campaigns: true, ..named });
            assert_eq!(count, 6);
            assert!(remarks[0].contains("compared together"), "{remarks:?}");
        }
        assert_eq!(kept(trials_of(monday).to_vec(), &query("old", "new")), (3, Vec::new()));
    }

    #[test]
    fn planned_and_unplanned_trials_are_pooled_only_if_asked() {
        let campaign = TrialId::new();
        let trials = vec![
            trial("old", "", campaign),
            trial("old", "patch", campaign),
            trial("new", "patch", campaign),
            trial("other", "", campaign),
        ];
        let (count, remarks) = kept(trials, &query("old", "new"));
        assert_eq!(count, 3);
        assert!(remarks[0].contains("1 of runs that belong to no plan"), "{remarks:?}");
    }

    #[test]
    fn kernels_under_which_a_plan_ran_have_each_their_newest_campaign() {
        let campaigns = [TrialId::new(), TrialId::new(), TrialId::new()];
        let names = ["1", "1", "12"];
        let trials = names.iter().zip(campaigns).map(|(name, of)| trial(name, "kernels", of));
        let by_kernel = SelectionQuery {
            by: Some("kernel".to_owned()),
            is_of_plan: true,
            ..SelectionQuery::default()
        };
        let (count, remarks) = kept(trials.collect(), &by_kernel);
        assert_eq!((count, remarks.len()), (2, 1));
    }

    #[test]
    fn named_variants_are_those_of_the_newest_plan_that_has_them() {
        let (first, second) = (TrialId::new(), TrialId::new());
        let trials = vec![
            trial("old", "patch", first),
            trial("new", "patch", first),
            trial("xfs", "filesystems", second),
        ];
        let (count, remarks) = kept(trials, &query("variant:old", "variant:new"));
        assert_eq!(count, 2);
        assert!(remarks[0].contains("of another plan: 1"), "{remarks:?}");
    }
}
