//! Command lines that repeat a page of stored trials, the trials, or the whole comparison.

use std::path::Path;

use treering_analysis::compare::ComparedVariant;
use treering_analysis::selection::SelectedVariant;
use treering_conduct::plan::plan_question;
use treering_conduct::{Failure, quoted, trial};
use treering_lab::options_in_force;
use treering_model::filesystems::by_name;
use treering_model::{Cell, PLAN_FACT, Trial, TrialId};
use treering_store::Store;

use crate::comparison_request::ComparisonRequest;
use crate::store_error::failure;

/// Command line that reproduces the page of a comparison, with every variant named.
pub(crate) fn again(
    args: &ComparisonRequest,
    store: Option<&Path>,
    variants: &[SelectedVariant],
) -> String {
    let mut line = "treering report".to_owned();
    let mut add = |name: &str, value: &str| line += &format!(" --{name} {}", quoted(value));
    if let Some(store) = store {
        add("store", &store.to_string_lossy());
    }
    if let Some(plan) = &args.plan {
        add("plan", plan);
    }
    if let Some(campaign) = &args.campaign {
        add("campaign", campaign);
    }
    // A plan's own baselines cannot be expressed by naming one.
    let by_the_plan = variants.iter().any(|variant| variant.against.is_some());
    for (place, variant) in variants.iter().enumerate().filter(|_| !by_the_plan) {
        add(if place == 0 { "baseline" } else { "contender" }, &variant.selector());
    }
    if let Some(workload) = &args.workload {
        add("workload", workload);
    }
    if !args.ignore.is_empty() {
        add("ignore", &args.ignore.join(","));
    }
    if let Some(threshold) = &args.threshold {
        add("threshold", threshold);
    }
    if !args.primary.is_empty() {
        add("primary", &args.primary.join(","));
    }
    if args.includes_excluded {
        line += " --include-excluded";
    }
    if args.pools_campaigns {
        line += " --all-campaigns";
    }
    line
}

/// Command line, label and store included, that repeats the newest trial of each variant.
pub(crate) fn repeat(
    baseline: &ComparedVariant,
    contenders: &[ComparedVariant],
    store: Option<&Path>,
) -> Vec<(String, String)> {
    let of_variant = |variant: &ComparedVariant| {
        let newest = variant.trials.last()?;
        let label = match newest.beginning.label.as_str() {
            "" => String::new(),
            label => format!(" --label {}", quoted(label)),
        };
        let line = with_own_options(&known_command_line(newest)?, &(label + &of_store(store)));
        let line = match from_image(newest) {
            Some((image, dir)) => image + &line.replacen(" --dir DIR", &format!(" --dir {dir}"), 1),
            None => line,
        };
        Some((variant.name.clone(), line))
    };
    std::iter::once(baseline).chain(contenders).filter_map(of_variant).collect()
}

/// Command line with further options of treering, whose trial is stored even if the earlier one was
/// not. Words after the dashes belong to the measured program.
fn with_own_options(line: &str, options: &str) -> String {
    let (own, program) = match line.split_once(" -- ") {
        Some((own, program)) => (own, format!(" -- {program}")),
        None => (line, String::new()),
    };
    format!("{}{options}{program}", own.replace(" --no-store", ""))
}

/// Option that names the store, with a blank before it; empty for the usual store.
fn of_store(store: Option<&Path>) -> String {
    store.map_or_else(String::new, |path| format!(" --store {}", quoted(&path.to_string_lossy())))
}

/// Command line that repeats a trial and records it in the same store; `None` if its workload or
/// its parameters are unknown.
pub fn command_line_with_store(trial: &Trial, store: Option<&Path>) -> Option<String> {
    Some(with_own_options(&known_command_line(trial)?, &of_store(store)))
}

/// Command line that repeats a trial; `None` if its workload or its parameters are unknown.
pub(crate) fn known_command_line(trial: &Trial) -> Option<String> {
    trial::known_command_line(trial, treering_registry::workloads())
}

/// Commands that mount the image from which a trial started beneath the working directory, and the
/// directory of the trial there; `None` for a trial that started from none.
fn from_image(trial: &Trial) -> Option<(String, String)> {
    let (name, point) = (trial.fact("image.name")?, trial.fact("filesystem.mount_point")?);
    let fact = |name| trial.fact(name).unwrap_or_default();
    let options =
        options_in_force(fact("filesystem.mount_options"), fact("filesystem.super_options"));
    // The original may be mounted too, which some filesystems refuse without an option.
    let copies =
        trial.fact("filesystem.type").and_then(by_name).map_or(&[][..], |known| known.of_copies);
    let options = ["loop", &options].iter().chain(copies).copied().collect::<Vec<_>>().join(",");
    let beneath = Path::new(&trial.beginning.target).strip_prefix(point).unwrap_or(Path::new(""));
    let dir = quoted(&Path::new(name).join(beneath).to_string_lossy());
    let (file, point) = (quoted(&format!("{name}.img")), quoted(name));
    let commands = format!(
        "treering image restore {point} --to {file} && mkdir -p {point} && mount -o {} {file} \
         {point} && mkdir -p {dir} && ",
        quoted(&options)
    );
    Some((commands, dir))
}

/// Command line that measures a comparison again, with its purpose: what was typed, or else the
/// plan of the campaign. `None` for trials of no plan.
pub(crate) fn measured_again(
    (typed, store_path): (Option<&str>, Option<&Path>),
    store: &Store,
    baseline: &ComparedVariant,
) -> Result<Option<(&'static str, String)>, Failure> {
    const PURPOSE: &str = "Measure the whole comparison again";
    if let Some(typed) = typed {
        return Ok(Some((PURPOSE, typed.to_owned())));
    }
    let Some(cell) = campaign_of(baseline) else { return Ok(None) };
    if plan_text(store, cell.campaign).is_none() {
        return Ok(None);
    }
    let short = store.short_ids(&[cell.campaign]).map_err(|error| failure(&error))?.concat();
    let file = quoted(&format!("{}.toml", cell.plan));
    let of_store = of_store(store_path);
    let line = format!(
        "treering report{of_store} --campaign {short} --print-plan -o {file} && treering \
         compare{of_store} {file}"
    );
    Ok(Some((PURPOSE, line)))
}

/// Cell of the newest trial of a variant, which names its plan and campaign.
fn campaign_of(variant: &ComparedVariant) -> Option<&Cell> {
    variant.trials.last()?.beginning.cell.as_ref()
}

/// Question of the plan whose variants are compared; `None` if they are from several campaigns,
/// which may compare something else than their plan.
pub(crate) fn question(store: &Store, variants: &[&ComparedVariant]) -> Option<String> {
    let mut campaigns = variants.iter().map(|variant| Some(campaign_of(variant)?.campaign));
    let campaign = campaigns.next()??;
    let is_one = campaigns.all(|other| other == Some(campaign));
    let question = plan_question(&plan_text(store, campaign).filter(|_| is_one)?)?;
    Some(question).filter(|question| !question.is_empty())
}

/// Plan of a campaign as TOML; `None` if no plan was stored, or its first trial was deleted.
pub fn plan_text(store: &Store, campaign: TrialId) -> Option<String> {
    let first = store.load_with_facts(&[campaign], &[PLAN_FACT]).ok()?;
    first.iter().find_map(|trial| trial.fact(PLAN_FACT)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::from_image;
    use treering_model::{Fact, RunMode, Trial, TrialHeader, TrialId};

    fn trial(facts: &[(&str, &str)]) -> Trial {
        let mut beginning = TrialHeader::new(TrialId::new(), "fs_mark", RunMode::Native);
        "/run/mounts/7/treering-work".clone_into(&mut beginning.target);
        let fact = |(name, value): &(&str, &str)| Fact {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        Trial { facts: facts.iter().map(fact).collect(), ..Trial::new(beginning) }
    }

    #[test]
    fn a_trial_from_an_image_is_repeated_on_the_image_in_the_working_directory() {
        let facts = [
            ("image.name", "old-mail"),
            ("filesystem.type", "ext4"),
            ("filesystem.mount_point", "/run/mounts/7"),
            ("filesystem.mount_options", "rw,noatime"),
        ];
        let (commands, dir) = from_image(&trial(&facts)).unwrap();
        assert_eq!(
            commands,
            "treering image restore old-mail --to old-mail.img && mkdir -p old-mail && mount -o \
             loop,rw,noatime old-mail.img old-mail && mkdir -p old-mail/treering-work && "
        );
        assert_eq!(dir, "old-mail/treering-work");
        assert_eq!(from_image(&trial(&facts[1..])), None);
    }
}
