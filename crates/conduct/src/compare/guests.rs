//! Trials in guests: reads the kernels of a plan once, and boots a guest for each trial. The guest
//! sends the events; the host stores and displays them.

mod extras;
mod templates;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::plan::{Plan, PlannedJob};
use treering_guest::{
    Architecture, BootImage, BootParameters, CONSOLE_ARTIFACT, CONSOLE_VERSION, ExtraFile,
    FinishedBoot, GuestEnd, GuestError, GuestJob, GuestModule, Initramfs, Kernel, RootTransport,
    SharedRoot, disk_name, may_have_kvm, needed, needed_by_plan, needed_by_root,
};
use treering_model::{
    Accelerator, Artifact, Caution, CautionCode, DeviceSpec, Ending, Fact, GuestSpec, TrialHeader,
    TrialSink, Variant, refused_features,
};
use treering_observe::HostWatch;
use treering_sys::StopFlag;

use self::extras::{Emulators, Kernels, Programs, files, refuse_programs};
pub(super) use self::templates::kept_templates;
use super::guest_files::{mkfs_programs, options};
use super::relay::Relay;
use crate::failure::{Failure, FailureKind};
use crate::handed::HandedTrial;
use crate::host::{Host, PlanOptions};
use crate::kernels::{commit_of, refuse_commits};
use crate::stage::Stage;

/// Time limit of a trial in a guest.
const TRIAL_LIMIT: Duration = Duration::from_secs(4 * 3600);
/// Maximum number of boots of a guest that does not come up.
const BOOTS_MAX: usize = 3;
/// Time limit of the boot that probes KVM. A kernel under KVM is up within a second or two.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// Key of a bootable kernel. The kernel file, disk and filesystem decide the modules, the job
/// decides the additional files.
type Key = (usize, usize);

/// Checks that the kernel of a variant can be read, and has the modules that a guest needs.
///
/// # Errors
/// When the kernel cannot be read, or lacks a module.
pub(crate) fn check_kernel(variant: &Variant) -> Result<(), Failure> {
    if let Some(spec) = &variant.guest {
        check_modules(Kernels::default().read(spec)?, spec, variant)?;
    }
    Ok(())
}

/// Checks that a kernel has the modules of a variant, and of a root that is shared with it.
fn check_modules(kernel: &Kernel, spec: &GuestSpec, variant: &Variant) -> Result<(), GuestError> {
    needed(kernel, spec.disk, &variant.filesystem, &variant.settings.layers)?;
    needed_by_plan(kernel, &spec.modules)?;
    if spec.root.is_none() {
        return Ok(());
    }
    let mut errors =
        RootTransport::ALL.map(|transport| needed_by_root(kernel, transport).err()).into_iter();
    // A single transport is enough.
    match (errors.next().flatten(), errors.next().flatten()) {
        (Some(error), Some(_)) => Err(error),
        _ => Ok(()),
    }
}

/// Checks the kernels of a plan without booting them; returns a line for each.
///
/// # Errors
/// When a kernel cannot be read, or lacks a module that a variant needs.
pub(super) fn check_kernels(plan: &Plan) -> Result<Vec<String>, Failure> {
    refuse_commits(plan)?;
    let mut kernels = Kernels::default();
    for variant in &plan.variants {
        let Some(spec) = &variant.guest else { continue };
        let named = |error: GuestError| Failure::from(error).context(&variant.name);
        let kernel = kernels.read(spec)?;
        refuse_programs(kernel.architecture, spec, variant)?;
        check_modules(kernel, spec, variant).map_err(named)?;
        files(spec).map_err(|error| error.context(&variant.name))?;
    }
    if let Some(architecture) = kernels.architecture()?.filter(|one| !one.is_own()) {
        let specs = plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
        Programs::find(specs, architecture)?;
    }
    let line = |(path, kernel): (&Path, &Kernel)| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        format!("kernel: {name} is {} and has what its guests need", kernel.release)
    };
    Ok(kernels.all().map(line).collect())
}

/// The guests of a plan.
pub(crate) struct Guests<'a> {
    plan: &'a Plan,
    options: &'a PlanOptions<'a>,
    host: &'a dyn Host,
    architecture: Architecture,
    programs: Programs,
    emulators: Emulators,
    kernels: Kernels,
    bootable: HashMap<Key, BootImage>,
    /// Roots that guests share with the host, by their directories.
    roots: BTreeMap<PathBuf, SharedRoot>,
    /// Accelerator of all guests of a plan: results of different accelerators are not comparable.
    accelerator: Accelerator,
}

impl<'a> Guests<'a> {
    /// Reads the kernels of a plan and selects the accelerator; `None` for a plan without guests.
    pub(crate) fn prepare(
        plan: &'a Plan,
        options: &'a PlanOptions<'a>,
        host: &'a dyn Host,
        stop: &StopFlag,
    ) -> Result<Option<Self>, Failure> {
        if plan.variants.iter().all(|variant| variant.guest.is_none()) {
            return Ok(None);
        }
        refuse_commits(plan)?;
        let specs = || plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
        let mut kernels = Kernels::default();
        for spec in specs() {
            kernels.read(spec)?;
        }
        let Some(architecture) = kernels.architecture()? else { return Ok(None) };
        let programs = Programs::find(specs(), architecture)?;
        let emulators = Emulators::find(specs(), architecture, &options.search_path)?;
        let roots = shared_roots(plan, &kernels, options)?;
        let (accelerator, bootable) = (Accelerator::Tcg, HashMap::new());
        let mut guests = Self {
            plan,
            options,
            host,
            architecture,
            programs,
            emulators,
            kernels,
            bootable,
            roots,
            accelerator,
        };
        // Reports a missing module before the first round, since it fails every round.
        for variant in 0..plan.variants.len() {
            for job in 0..plan.jobs.len() {
                guests.make_bootable((variant, job))?;
            }
        }
        guests.accelerator = guests.probe(stop)?;
        Ok(Some(guests))
    }

    fn make_bootable(&mut self, key: Key) -> Result<(), Failure> {
        let variant = &self.plan.variants[key.0];
        let Some(spec) = &variant.guest else { return Ok(()) };
        let kernel = self.kernels.of(spec);
        refuse_programs(self.architecture, spec, variant)?;
        let layers = &variant.settings.layers;
        let mut modules = needed(kernel, spec.disk, &variant.filesystem, layers)?;
        if let Some(root) = self.root(spec) {
            add_modules(&mut modules, needed_by_root(kernel, root.transport)?);
        }
        add_modules(&mut modules, needed_by_plan(kernel, &spec.modules)?);
        let root = spec.root.as_deref();
        let job = self.plan.job_of(key.0, key.1);
        let (_, mut extras) = options(job, self.options, root, self.architecture)?;
        if !layers.is_empty() && root.is_none() {
            extras.extend(mkfs_programs(variant, self.options)?);
        }
        extras.extend(files(spec)?);
        // Observers look for the kernel configuration at this path.
        extras.extend(kernel.configuration.as_ref().map(|text| ExtraFile {
            path: format!("/boot/config-{}", kernel.release),
            bytes: text.clone().into_bytes(),
            is_program: false,
        }));
        let initramfs = Initramfs::new(self.programs.of(spec), &modules, &extras)
            .map_err(|error| Failure::environment(error.to_string()))?;
        self.bootable.insert(key, BootImage::new(kernel, &initramfs)?);
        Ok(())
    }

    /// Selects KVM if each kernel boots under it, else emulation. The presence of `/dev/kvm` alone
    /// proves nothing.
    fn probe(&self, stop: &StopFlag) -> Result<Accelerator, Failure> {
        let specs = || self.plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
        if let Some(asked) = specs().find_map(|spec| spec.accelerator) {
            if specs().any(|spec| spec.accelerator.is_some_and(|one| one != asked)) {
                let message = "the guests of a plan have different accelerators";
                return Err(Failure::usage(message)
                    .hint("their numbers cannot be compared: write one, for all, in [guest]"));
            }
            if !asked.is_emulated() && !self.architecture.is_own() {
                let title = self.architecture.title();
                let message = format!("KVM does not run kernels for {title} on this machine");
                return Err(Failure::usage(message).hint("leave the accelerator out"));
            }
            return Ok(asked);
        }
        if !may_have_kvm() || !self.architecture.is_own() {
            return Ok(self.emulation());
        }
        let mut tried: Vec<&Path> = Vec::new();
        for (at, variant) in self.plan.variants.iter().enumerate() {
            let Some(spec) = &variant.guest else { continue };
            if tried.contains(&spec.kernel.as_path()) {
                continue;
            }
            tried.push(&spec.kernel);
            let boot = self.boot((at, 0), spec, Accelerator::Kvm, &[]);
            if boot.try_boot(PROBE_LIMIT, stop).is_err() {
                let release = &self.kernels.of(spec).release;
                self.host.say(&format!(
                    "{release} does not come up under KVM here: it is emulated (TCG)"
                ));
                return Ok(self.emulation());
            }
        }
        Ok(Accelerator::Kvm)
    }

    /// Emulation that counts instructions, which repeats itself, unless a guest has several CPUs.
    fn emulation(&self) -> Accelerator {
        let mut specs = self.plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
        let has_several = specs.any(|spec| spec.cpus.is_some_and(|cpus| cpus > 1));
        let (accelerator, words) = if has_several {
            (Accelerator::Tcg, "emulated: instructions are not counted on several CPUs")
        } else {
            let words =
                "emulated: instructions are counted, 2 ns each, on one CPU; --no-icount does not";
            (Accelerator::Icount, words)
        };
        if !self.options.quiet {
            self.host.say(words);
        }
        accelerator
    }

    fn boot<'b>(
        &'b self,
        key: Key,
        spec: &'b GuestSpec,
        accelerator: Accelerator,
        disks: &'b [PathBuf],
    ) -> BootParameters<'b> {
        let (bootable, root) = (&self.bootable[&key], self.root(spec));
        let (qemu, limit) = (self.emulators.of(spec), TRIAL_LIMIT);
        BootParameters { qemu, bootable, spec, accelerator, disks, root, limit }
    }

    /// Root that a guest shares with the host.
    fn root(&self, spec: &GuestSpec) -> Option<&SharedRoot> {
        self.roots.get(spec.root.as_ref()?)
    }

    /// Facts about a guest that are known before the boot.
    fn facts(&self, spec: &GuestSpec) -> Result<Vec<Fact>, Failure> {
        let kernel = self.kernels.of(spec);
        let file = spec.kernel.file_name().map(|name| name.to_string_lossy().into_owned());
        let fact = |name: &str, value: String| Fact { name: name.to_owned(), value };
        let mut facts = vec![
            fact(GuestSpec::KERNEL_FACT, file.unwrap_or_default()),
            fact(Accelerator::FACT, self.accelerator.name().to_owned()),
            fact("guest.qemu", self.emulators.of(spec).version.clone()),
            fact("guest.cpus", spec.cpus_under(self.accelerator).to_string()),
            fact("guest.memory_bytes", spec.memory_bytes.to_string()),
            fact("guest.disk", spec.disk.name().to_owned()),
            fact("guest.disk_cache", "none".to_owned()),
        ];
        facts.push(fact("guest.kernel_release", kernel.release.clone()));
        facts.extend(commit_of(&spec.kernel).map(|commit| fact("guest.commit", commit)));
        facts.extend(spec.chosen_facts().into_iter().map(|(name, value)| fact(name, value)));
        if let (Some(directory), Some(root)) = (&spec.root, self.root(spec)) {
            facts.push(fact("guest.root", directory.to_string_lossy().into_owned()));
            facts.push(fact("guest.root_transport", root.transport.name().to_owned()));
        }
        if !self.architecture.is_own() {
            facts.push(fact("guest.architecture", self.architecture.title().to_owned()));
        }
        if !spec.append.is_empty() {
            facts.push(fact(GuestSpec::APPEND_FACT, spec.append.clone()));
        }
        facts.extend(extras::facts(spec)?);
        Ok(facts)
    }

    /// Boots a guest, and retries if it does not come up: at most [`BOOTS_MAX`] times, and not
    /// after two failures for the same reason. Returns all boots; the last one counts.
    fn boots(
        &self,
        variant: &str,
        boot: &BootParameters<'_>,
        job: &GuestJob,
        stop: &StopFlag,
        relay: &mut Relay<'_>,
    ) -> Result<Vec<FinishedBoot>, Failure> {
        let mut boots: Vec<FinishedBoot> = Vec::new();
        loop {
            let finished = boot.run(job, stop, &mut |event| relay.take(event))?;
            let reason =
                |boot: &FinishedBoot| Some(short_reason(boot.chance_failure()?).to_owned());
            let why = reason(&finished);
            let is_last = boots.len() + 1 == BOOTS_MAX || boots.iter().any(|it| reason(it) == why);
            boots.push(finished);
            let Some(why) = why.filter(|_| !is_last) else { return Ok(boots) };
            self.host
                .say(&format!("{variant}: the guest did not come up ({why}): it is booted again"));
        }
    }

    /// Runs a trial in a guest. The sink receives a first and a last event even if the guest
    /// crashes.
    pub(crate) fn run(
        &self,
        (key, planned): (Key, &PlannedJob),
        mut trial: HandedTrial,
        beginning: TrialHeader,
        (stage, stop): (&Stage, &StopFlag),
        sink: &mut dyn TrialSink,
    ) -> Result<Ending, Failure> {
        let variant = &self.plan.variants[key.0];
        let Some(spec) = &variant.guest else {
            return Err(Failure::new(FailureKind::Bug, "a trial in a guest without a guest"));
        };
        let disks = stage.disks();
        trial.facts.extend(self.facts(spec)?);
        let root = spec.root.as_deref();
        trial.options = options(planned, self.options, root, self.architecture)?.0;
        if self.accelerator.is_emulated() {
            trial.cautions.push(emulated(self.accelerator));
        }
        let (facts, cautions) = (trial.facts.clone(), trial.cautions.clone());
        let failed = |error| Failure::new(FailureKind::Bug, format!("a trial is no JSON: {error}"));
        let job = GuestJob {
            disks: (0..disks.len()).map(|number| disk_name(spec.disk, number)).collect(),
            filesystem: variant.filesystem.clone(),
            bytes: match variant.device {
                DeviceSpec::Loop { bytes, .. } => bytes,
                DeviceSpec::Block { .. } | DeviceSpec::Directory { .. } => 0,
            },
            mkfs: variant.mkfs.clone(),
            root: self.root(spec).map(|root| root.transport),
            mount: variant.mount.clone(),
            trial: serde_json::to_value(trial).map_err(failed)?,
        };
        let mut relay = Relay::new(beginning, sink);
        let boot = self.boot(key, spec, self.accelerator, &disks);
        let host = HostWatch::begin();
        let boots = self.boots(&variant.name, &boot, &job, stop, &mut relay)?;
        // Load on the host prolongs the waits of a guest that counts instructions, too.
        let mut host_findings = host.map(HostWatch::end).unwrap_or_default();
        let Some((boot, failed_boots)) = boots.split_last() else {
            return Err(Failure::new(FailureKind::Bug, "a trial in a guest without a boot"));
        };
        if !failed_boots.is_empty() {
            host_findings.facts.push(Fact {
                name: "guest.failed_boots".to_owned(),
                value: failed_boots.len().to_string(),
            });
        }
        let is_kept = !matches!(boot.end, GuestEnd::Done { .. }) || relay.has_failed();
        let kept = if is_kept { &boots } else { failed_boots };
        host_findings
            .artifacts
            .extend((1..).zip(kept).filter_map(|(number, boot)| console(number, boot)));
        host_findings.artifacts.extend(stage.template.clone());
        let (ending, console) = match boot.end.clone() {
            GuestEnd::Interrupted { .. } => (Ending::Interrupted, String::new()),
            GuestEnd::Refused { why } => {
                (Ending::Failed { why: with_features(why) }, String::new())
            }
            GuestEnd::Broken { why } => (Ending::Failed { why }, String::new()),
            GuestEnd::Done { console } => {
                let why = "the guest was done and had not said how its trial ended".to_owned();
                (Ending::Failed { why }, console)
            }
        };
        relay.finish(ending, &console, (facts, cautions), host_findings)
    }
}

/// Roots that the guests of a plan share with the host. All guests with the same one have the same
/// transport, so that it makes no difference between kernels.
fn shared_roots(
    plan: &Plan,
    kernels: &Kernels,
    options: &PlanOptions<'_>,
) -> Result<BTreeMap<PathBuf, SharedRoot>, Failure> {
    let specs = || plan.variants.iter().filter_map(|variant| variant.guest.as_ref());
    let directories: BTreeSet<&PathBuf> = specs().filter_map(|spec| spec.root.as_ref()).collect();
    let root = |directory: &PathBuf| {
        let sharing = specs().filter(|spec| spec.root.as_ref() == Some(directory));
        let kernels: Vec<&Kernel> = sharing.map(|spec| kernels.of(spec)).collect();
        let root = SharedRoot::find(directory, &kernels, &options.search_path)?;
        Ok((directory.clone(), root))
    };
    directories.into_iter().map(root).collect()
}

/// Adds modules that are not there yet, at the end of the load order.
fn add_modules(modules: &mut Vec<GuestModule>, more: Vec<GuestModule>) {
    for module in more {
        match modules.iter_mut().find(|known| known.name == module.name) {
            Some(known) => known.is_optional &= module.is_optional,
            None => modules.push(module),
        }
    }
}

/// Artifact with the console of a boot.
fn console(number: usize, boot: &FinishedBoot) -> Option<Artifact> {
    let made = Artifact::new(CONSOLE_ARTIFACT, CONSOLE_VERSION, &boot.console).ok()?;
    Some(Artifact { name: format!("boot {number}"), ..made })
}

/// Reason of a failed boot, without the lines of the console, which contain times.
fn short_reason(why: &str) -> &str {
    why.split_once("; ").map_or(why, |(first, _)| first)
}

/// Appends the names of the refused filesystem features to a kernel message that has only their
/// bits.
fn with_features(why: String) -> String {
    let names = refused_features(&why);
    if names.is_empty() {
        return why;
    }
    format!(
        "the kernel does not know what the filesystem was made with ({}): {why}",
        names.join(", ")
    )
}

fn emulated(accelerator: Accelerator) -> Caution {
    let message = match accelerator {
        Accelerator::Icount => {
            "the clock of the guest counted instructions, 2 ns each: this says how much a phase \
             computes; only where it waits for its disk or a timer is it time"
        }
        Accelerator::Kvm | Accelerator::Tcg => {
            "the processor of the guest was emulated (TCG): what it computes takes many times as \
             long as on hardware, its disk does not"
        }
    };
    Caution { code: CautionCode::Emulated, message: message.to_owned() }
}
