//! Plans whose kernels this machine boots itself: a one-time boot entry is set for each trial, and
//! a systemd unit continues the plan after the boot. The lab changes the machine; this module
//! decides when, and checks that the requested kernel was booted.

use std::path::{Path, PathBuf};

use crate::cells::{PlannedCell, observing_rounds, rounds};
use crate::plan::{Machine, Plan};
use treering_lab::{
    BootLoader, BootRequest, ContinuationUnit, PlanIdentity, RebootControl, RebootLock,
    RebootRecord,
};
use treering_model::filesystems::{is_in_memory, name_of};
use treering_model::{Fact, REBOOT_KERNEL_FACT, TrialId};
use treering_script::with_causes;
use treering_sys::filesystem_facts;

use super::directories_under_test;
use super::finished::FinishedCells;
use super::forecast::planned_cells;
use crate::failure::{Failure, FailureKind};
use crate::host::{Host, PlanOptions, RebootOptions, ResultStore};
use crate::shell::quoted;

/// Outcome of the requested boot.
pub(crate) enum BootOutcome {
    /// The requested kernel is running.
    Reached,
    /// Another kernel is running: the trial has failed.
    Failed {
        /// Error message.
        why: String,
    },
    /// No boot was requested, or it has not happened.
    NotBooted,
}

/// The boots of a plan.
pub(crate) struct Rebooting<'a> {
    plan: &'a Plan,
    machine: RebootControl,
    loader: BootLoader,
    continuation: ContinuationUnit,
    identity: PlanIdentity,
    store: &'a dyn ResultStore,
    host: &'a dyn Host,
    /// Recorded state of the campaign; `None` before it has begun.
    record: Option<RebootRecord>,
    /// Identity of the campaign.
    campaign: TrialId,
    _lock: RebootLock,
}

impl<'a> Rebooting<'a> {
    /// Checks the requirements of a plan that reboots the machine; `None` for other plans. Changes
    /// nothing yet.
    pub(crate) fn prepare(
        plan: &'a Plan,
        options: &PlanOptions<'_>,
        (store, host): (&'a dyn ResultStore, &'a dyn Host),
    ) -> Result<Option<Self>, Failure> {
        if plan.conditions.machine != Machine::Reboot {
            return Ok(None);
        }
        if !options.reboots.is_allowed {
            let count = planned_cells(plan);
            let message = format!("this plan reboots this machine for each of its {count} trials");
            return Err(Failure::usage(message)
                .hint("--dry-run shows every command that would be run")
                .hint("--yes begins"));
        }
        let machine = machine(&options.reboots);
        let lock = machine.lock()?;
        if machine.is_stopped() {
            machine.end()?;
            return Err(stopped(&machine));
        }
        let identity = PlanIdentity { name: plan.name.clone(), digest: plan.digest() };
        let record = machine.record()?;
        if let Some(record) = &record {
            check_campaign(&identity, record, options.resume)?;
        }
        let loader = match &record {
            Some(record) => record.loader,
            None => machine.loader(options.reboots.loader)?,
        };
        refuse_volatile_store(plan, store)?;
        for release in releases(plan)? {
            machine.commands(loader, release)?;
        }
        let continuation = host.continuation()?;
        let campaign = record.as_ref().map_or_else(TrialId::new, |record| record.campaign);
        Ok(Some(Self {
            plan,
            machine,
            loader,
            continuation,
            identity,
            store,
            host,
            record,
            campaign,
            _lock: lock,
        }))
    }

    /// Campaign to continue; `None` for a new campaign.
    pub(crate) fn campaign(&self) -> Option<TrialId> {
        self.record.as_ref().map(|record| record.campaign)
    }

    /// Reserves the identity of a new campaign, before the first boot.
    pub(crate) fn begin(mut self, finished: &mut FinishedCells) -> Self {
        match finished.campaign {
            Some(campaign) => self.campaign = campaign,
            None => finished.reserve(self.campaign),
        }
        self
    }

    /// Outcome of the boot requested for a trial on the kernel `wanted`. Takes the request, since
    /// each trial has its own boot.
    pub(crate) fn boot_outcome(&mut self, wanted: &str) -> BootOutcome {
        let (boot, release) = (self.machine.boot_id(), self.machine.release());
        let asked = self.record.as_mut().and_then(|record| record.request.take());
        let is_done = |asked: &BootRequest| asked.is_set && asked.from != boot;
        let Some(asked) = asked.filter(|asked| is_done(asked) && asked.release == wanted) else {
            // No boot was requested, or it has not happened, for example after a kill.
            return BootOutcome::NotBooted;
        };
        if self.loader == BootLoader::Grub
            && let Err(error) = self.machine.run(&self.machine.cancel_command(self.loader))
        {
            self.host.say(&format!(
                "caution: the next boot may not be the usual one: {}",
                with_causes(&error)
            ));
        }
        let why = match &asked.reached {
            Some(reached) if *reached != boot => {
                format!("the machine went down while {} ran", asked.release)
            }
            _ if release != asked.release => {
                format!("the kernel {} did not come back: {release} did", asked.release)
            }
            _ => {
                let reached = BootRequest { reached: Some(boot), ..asked };
                return match self.save_request(Some(reached)) {
                    Ok(()) => BootOutcome::Reached,
                    Err(failure) => BootOutcome::Failed { why: failure.message().to_owned() },
                };
            }
        };
        // Clears the request before the failure is recorded: a kill in between only repeats the
        // boot.
        let forgotten = self.save_request(None).err();
        let why = forgotten.map_or(why, |failure| failure.message().to_owned());
        BootOutcome::Failed { why }
    }

    /// Clears the request once its trial has run; the next trial needs another boot. A campaign
    /// that was released in the meantime stays released.
    pub(crate) fn is_used(&self) -> Result<(), Failure> {
        if self.machine.record()?.is_none() {
            return Ok(());
        }
        self.save_request(None)
    }

    /// Writes the state of the campaign to disk, with the requested boot, if any.
    fn save_request(&self, asked: Option<BootRequest>) -> Result<(), Failure> {
        let record = RebootRecord {
            plan: self.identity.clone(),
            campaign: self.campaign,
            loader: self.loader,
            request: asked,
        };
        Ok(self.machine.save(&record)?)
    }

    /// Reboots the machine into this kernel, for the trial described by `words`.
    pub(crate) fn boot(&mut self, release: &str, words: &str) -> Result<(), Failure> {
        if self.machine.is_stopped() {
            return Err(stopped(&self.machine));
        }
        if self.record.is_some() && self.machine.record()?.is_none() {
            let message = "the campaign was released: the machine is not rebooted any more";
            return Err(Failure::new(FailureKind::Interrupted, message).hint(CONTINUE_HINT));
        }
        if self.record.is_none() {
            // The store must exist before the first boot. If it is missing after a boot, its disk
            // is not mounted, and a new store must not be made in its place.
            self.store.make_named()?;
        }
        let commands = self.machine.commands(self.loader, release)?;
        let mut asked = BootRequest {
            release: release.to_owned(),
            from: self.machine.boot_id(),
            is_set: false,
            reached: None,
        };
        // The request is recorded before and after the boot loader is set, so that the next boot or
        // `--resume` recovers from a kill at any point: an incomplete request is repeated.
        self.save_request(Some(asked.clone()))?;
        self.machine.install(&self.continuation, &self.plan.name)?;
        for command in &commands.prepare {
            self.machine.run(command)?;
        }
        asked.is_set = true;
        self.save_request(Some(asked))?;
        self.host.say(&format!("{words}: rebooting into {release} ({})", self.loader.name()));
        self.host.say(&format!(
            "the plan goes on after the boot; `treering lab release` or the file {} ends it",
            self.machine.stop_path().display()
        ));
        Ok(self.machine.run(&commands.boot)?)
    }

    /// Ends the reboots and removes everything installed for them.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        Ok(self.machine.end()?)
    }

    /// Facts of the trial that runs in this boot.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        vec![
            fact(REBOOT_KERNEL_FACT, self.machine.release()),
            fact("reboot.loader", self.loader.name().to_owned()),
            fact("reboot.boot_id", self.machine.boot_id()),
        ]
    }
}

const CONTINUE_HINT: &str = "finished trials are kept; --resume --yes continues with the rest";

fn stopped(machine: &RebootControl) -> Failure {
    let stop = machine.stop_path();
    let message = format!(
        "the reboots were stopped, by {} or by treering.stop on the command line of the kernel",
        stop.display()
    );
    Failure::new(FailureKind::Interrupted, message).hint(CONTINUE_HINT)
}

/// Checks that the campaign in progress on this machine belongs to this plan.
fn check_campaign(
    identity: &PlanIdentity,
    record: &RebootRecord,
    resumes: bool,
) -> Result<(), Failure> {
    let name = record.plan.name.escape_debug();
    let hint = "`treering lab release` ends it";
    if record.plan != *identity {
        let message = format!("this machine is being rebooted for the plan {name} already");
        let changed = "or the plan was changed since it began";
        let is_same_name = record.plan.name == identity.name;
        let failure = Failure::usage(message).hint(hint);
        return Err(if is_same_name { failure.hint(changed) } else { failure });
    }
    if !resumes {
        let message = format!("the plan {name} is in progress on this machine");
        return Err(Failure::usage(message).hint("--resume continues it").hint(hint));
    }
    Ok(())
}

/// Refuses a store on an in-memory filesystem, since a reboot would lose the results.
fn refuse_volatile_store(plan: &Plan, store: &dyn ResultStore) -> Result<(), Failure> {
    let Some(store) = store.file(&directories_under_test(plan))? else { return Ok(()) };
    let store = std::path::absolute(&store).unwrap_or(store);
    let folder = store.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let facts = std::fs::File::open(folder).ok().and_then(|file| filesystem_facts(&file).ok());
    let is_lost = facts.and_then(|facts| name_of(facts.type_magic)).is_some_and(is_in_memory);
    if is_lost {
        let message = format!("the store {} is in memory and lost by a reboot", store.display());
        return Err(Failure::usage(message).hint("name one on a disk with --store FILE"));
    }
    Ok(())
}

/// Kernel releases of a plan, without duplicates.
fn releases(plan: &Plan) -> Result<Vec<&str>, Failure> {
    let mut releases: Vec<&str> = Vec::new();
    for variant in &plan.variants {
        let Some(release) = variant.kernel.as_deref() else {
            let message = format!("the variant '{}' names no kernel to boot", variant.name);
            return Err(Failure::usage(message)
                .hint("with --machine reboot: give --kernel RELEASE for each kernel"));
        };
        if !releases.contains(&release) {
            releases.push(release);
        }
    }
    Ok(releases)
}

/// Boot control of the machine that the options select.
fn machine(options: &RebootOptions) -> RebootControl {
    RebootControl::new(options.root.as_deref().unwrap_or(Path::new("/")))
}

/// Lines about all changes that the plan would make to the machine, in order.
pub(crate) fn dry_lines(
    plan: &Plan,
    options: &RebootOptions,
    host: &dyn Host,
) -> Result<Vec<String>, Failure> {
    let machine = machine(options);
    let loader = machine.loader(options.loader)?;
    releases(plan)?;
    let continuation = host.continuation()?;
    let shown = |words: &[String]| -> String {
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    };
    let path = |path: PathBuf| path.display().to_string();
    let mut lines = vec![format!(
        "each trial has a boot of its own, by {}; nothing is done without --yes",
        loader.name()
    )];
    let cells = [rounds(plan), observing_rounds(plan)].concat();
    for (number, cell) in cells.iter().flatten().enumerate() {
        let release = plan.variants[cell.variant].kernel.as_deref().unwrap_or_default();
        let commands = machine.commands(loader, release)?;
        lines.push(format!("boot {}, for {}:", number + 1, PlannedCell::words(cell, plan)));
        if number == 0 {
            lines.push(format!("  write {}:", path(machine.unit_path())));
            let unit = machine.unit_text(&continuation, &plan.name);
            lines.extend(unit.lines().map(|line| format!("    {line}").trim_end().to_owned()));
            lines.push(format!("  link {}", path(machine.link_path())));
        }
        lines.push(format!("  write {}", path(machine.record_path())));
        lines.extend(commands.prepare.iter().map(|command| format!("  {}", shown(command))));
        lines.push(format!("  {}", shown(&commands.boot)));
        if loader == BootLoader::Grub {
            lines.push(format!("  then {}", shown(&machine.cancel_command(loader))));
        }
    }
    lines.push("at the end:".to_owned());
    for gone in [machine.link_path(), machine.unit_path(), machine.record_path()] {
        lines.push(format!("  remove {}", path(gone)));
    }
    Ok(lines)
}
