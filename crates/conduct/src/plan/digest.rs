//! Fingerprint of a plan, which tells if two runs are of the same plan.
//!
//! The hash covers the plan's words, each prefixed with its length, so that different lists of
//! words never hash the same bytes. The fingerprint is not meant to withstand forgery.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use treering_model::{Accelerator, DeviceSpec, ExtraModule, Fingerprint, Variant};

use super::{Conditions, Machine, ObservedIn, Plan, PlannedJob};

/// First words of every fingerprint; must change with the order or meaning of the hashed words.
const VERSION: &str = "treering plan 1";
/// First words of the fingerprints of parts of a plan.
const WORK_VERSION: &str = "treering work 1";
const VARIANT_VERSION: &str = "treering variant 1";

impl Plan {
    /// 16 hexadecimal digits that are equal when two plans ask for the same measurements: the same
    /// variants in the same order, jobs with the same names and parameters, seed, warm-up, control,
    /// remounting and pause before each trial.
    ///
    /// Name, question and judging are excluded, since they change no measurement. The stopping rule
    /// and observing rounds are excluded, so that a campaign can be extended later. Observations in
    /// measured rounds are included.
    pub fn digest(&self) -> String {
        let mut print = DigestWriter::begin(VERSION);
        print.count(self.variants.len());
        for variant in &self.variants {
            print.variant(variant);
        }
        print.jobs(&self.jobs);
        // Hashed only if present, so that plans without ages keep their fingerprint.
        if let Some(aging) = &self.aging {
            print.word("aging");
            print.jobs(std::slice::from_ref(aging));
        }
        print.conditions(&self.conditions);
        // Recording in measured rounds changes the results. Hashed only if enabled, so that other
        // digests stay equal.
        let observing = &self.observing;
        if observing.is_wanted() && observing.place == ObservedIn::Measured {
            print.word("observed");
            for (name, value) in observing.options() {
                print.word(&name);
                print.word(&value);
            }
        }
        print.print.text()
    }

    /// 16 hexadecimal digits that are equal when two plans measure the same work in the same way,
    /// even on other variants. Constant within a series of measurements.
    pub(crate) fn work_digest(&self) -> String {
        let mut print = DigestWriter::begin(WORK_VERSION);
        print.jobs(&self.jobs);
        if let Some(aging) = &self.aging {
            print.word("aging");
            print.jobs(std::slice::from_ref(aging));
        }
        print.conditions(&self.conditions);
        print.print.text()
    }

    /// 16 hexadecimal digits that are equal when two plans ask for the same variant; `variant` is
    /// its index in this plan. Empty for an index beyond the last.
    pub(crate) fn variant_digest(&self, variant: usize) -> String {
        let Some(variant) = self.variants.get(variant) else { return String::new() };
        let mut print = DigestWriter::begin(VARIANT_VERSION);
        print.variant(variant);
        print.print.text()
    }
}

struct DigestWriter {
    print: Fingerprint,
}

impl DigestWriter {
    fn begin(version: &str) -> Self {
        let mut print = Self { print: Fingerprint::new() };
        print.word(version);
        print
    }

    fn jobs(&mut self, jobs: &[PlannedJob]) {
        self.count(jobs.len());
        for planned in jobs {
            self.word(&planned.name);
            self.word(&planned.workload);
            // Parameters instead of the options as written: an explicit default is the same job.
            let parameters = planned.job.parameters();
            self.count(parameters.len());
            for (name, value) in parameters {
                self.word(&name);
                self.word(&value);
            }
            // Hashed only if present, so that plans without such parameters keep their fingerprint.
            for (name, value) in planned.parameters_around() {
                self.word(&name);
                self.word(&value);
            }
            if let Some(launch) = &planned.launch {
                self.word("ranks");
                self.number(u64::from(launch.ranks));
                self.count(launch.launcher.len());
                launch.launcher.iter().for_each(|word| self.word(word));
            }
            if let Some(step) = &planned.step {
                self.word("step");
                self.flag(step.is_measured);
                if let Some(directory) = &step.directory {
                    self.word("directory");
                    self.word(directory);
                }
                if step.is_below_overlay {
                    self.word("below-overlay");
                }
            }
            if let Some(baseline) = &planned.against {
                self.word("against");
                self.word(baseline);
            }
        }
    }

    fn conditions(&mut self, conditions: &Conditions) {
        self.number(conditions.seed);
        for flag in [conditions.warm_up, conditions.control, conditions.remount] {
            self.flag(flag);
        }
        // Adding 0 turns -0 into 0.
        self.number((conditions.settle_seconds + 0.0).to_bits());
        if let Some(seconds) = conditions.phase_seconds {
            self.word("phase-seconds");
            self.number(u64::from(seconds));
        }
        if conditions.machine == Machine::Reboot {
            self.word(conditions.machine.name());
        }
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.print.add(bytes);
    }

    fn number(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn flag(&mut self, flag: bool) {
        self.raw(&[u8::from(flag)]);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    fn word(&mut self, word: &str) {
        self.bytes(word.as_bytes());
    }

    fn path(&mut self, path: &Path) {
        self.bytes(path.as_os_str().as_bytes());
    }

    fn optional(&mut self, word: Option<&[u8]>) {
        self.flag(word.is_some());
        self.bytes(word.unwrap_or_default());
    }

    fn variant(&mut self, variant: &Variant) {
        self.word(&variant.name);
        self.optional(variant.kernel.as_deref().map(str::as_bytes));
        self.device(&variant.device);
        self.word(&variant.filesystem);
        self.count(variant.mkfs.len());
        for option in &variant.mkfs {
            self.word(option);
        }
        // The kernel receives the options joined, however they are split into elements.
        self.word(&variant.mount.join(","));
        // Hashed only if present, so that plans without a handicap keep their fingerprint.
        if variant.handicap_percent > 0 {
            self.word("handicap");
            self.number(u64::from(variant.handicap_percent));
        }
        if let Some(image) = &variant.image {
            self.word("image");
            self.word(image);
        }
        if let Some(age) = variant.age {
            self.word("age");
            self.number(age.operations);
            self.word(age.tree.name());
        }
        if let Some(against) = &variant.against {
            self.word("against");
            self.word(against);
        }
        for (name, value) in variant.settings.facts() {
            self.word(&name);
            self.word(&value);
        }
        if let Some(guest) = &variant.guest {
            self.word("guest");
            self.path(&guest.kernel);
            self.number(u64::from(guest.cpus.unwrap_or_default()));
            self.number(guest.memory_bytes);
            self.word(guest.disk.name());
            self.word(guest.accelerator.map_or("", Accelerator::name));
            if !guest.append.is_empty() {
                self.word(&guest.append);
            }
            for (name, value) in guest.chosen_facts() {
                self.word(name);
                self.word(&value);
            }
            for module in &guest.modules {
                match module {
                    ExtraModule::OfKernel(name) => self.word(name),
                    ExtraModule::File(path) => self.path(path),
                }
            }
            guest.files.iter().for_each(|path| self.path(path));
            if let Some(root) = &guest.root {
                self.word("root");
                self.path(root);
            }
        }
    }

    fn device(&mut self, device: &DeviceSpec) {
        match device {
            DeviceSpec::Loop { bytes, count, sparse, direct_io, sector_bytes, directory, disk } => {
                self.word("loop");
                self.number(*bytes);
                self.number(u64::from(*count));
                self.flag(*sparse);
                self.flag(*direct_io);
                self.number(u64::from(*sector_bytes));
                self.optional(directory.as_ref().map(|path| path.as_os_str().as_bytes()));
                // Hashed only if present, so that plans without a played disk keep their
                // fingerprint.
                if let Some(disk) = disk {
                    self.word("disk");
                    self.word(disk);
                }
            }
            DeviceSpec::Block { paths } => {
                self.word("block");
                self.count(paths.len());
                paths.iter().for_each(|path| self.path(path));
            }
            DeviceSpec::Directory { path } => {
                self.word("directory");
                self.path(path);
            }
        }
    }
}
