//! Examines a machine before anything is measured on it: facts, cautions, noise, and obstacles to
//! using a directory or a device. Makes nothing but the files of the probes.

mod inventory;

use std::path::Path;

use treering_model::{Caution, CautionCode, DiskLatencies, Fact, quoted};
use treering_observe::{
    ObserverContext, ObserverOptions, ProbeResult, look, look_at_device, probe_disk, probe_noise,
    watch,
};
use treering_sys::{StopFlag, is_root};

pub use self::inventory::{InventoryRequest, take_inventory};
use crate::{LabError, inspect};

/// Findings about a machine, and about one of its directories or devices.
#[derive(Debug, Default)]
pub struct MachineFindings {
    /// Errors that prevent a run.
    pub obstacles: Vec<String>,
    /// Cautions that a trial would get.
    pub cautions: Vec<Caution>,
    /// Facts about the environment.
    pub facts: Vec<Fact>,
    /// Latencies of the directory's disk.
    pub disk: Option<DiskLatencies>,
}

impl MachineFindings {
    /// Examines the machine, and probes its noise, in the directory if one is given.
    pub fn examine(dir: Option<&Path>, stop: &StopFlag) -> (Self, ProbeResult) {
        let mut findings = Self::default();
        let scene = ObserverContext {
            target: dir.unwrap_or(Path::new("/")),
            options: ObserverOptions::default(),
        };
        findings.add(look(&scene));
        let watching = watch(&scene);
        let probed = probe_noise(dir, stop);
        // A directory that refuses files was refused by the first probe, too.
        findings.disk = dir.and_then(|dir| probe_disk(dir, stop).ok().flatten());
        findings.add(watching.end());
        if !is_root() {
            let message = "only root can drop the kernel's caches".to_owned();
            findings.cautions.push(Caution { code: CautionCode::CachesNotDropped, message });
        }
        if dir.is_none() {
            findings.drop_directory_findings();
        }
        (findings, probed)
    }

    /// Examines the filesystem of the directory, in which the noise was probed.
    pub fn examine_directory(&mut self, probed: &ProbeResult) {
        let options = self.value("filesystem.mount_options").unwrap_or_default();
        if options.split(',').any(|option| option == "ro") {
            self.obstacles.push("it is mounted read-only".to_owned());
        } else if let Some(error) = &probed.refused {
            self.obstacles.push(format!("no files can be made in it: {error}"));
        }
        self.examine_loop_device();
    }

    /// Examines a block device; returns true if the device is unused and empty.
    ///
    /// # Errors
    /// When the device cannot be inspected.
    pub fn examine_device(&mut self, node: &Path) -> Result<bool, LabError> {
        self.add(look_at_device(node));
        self.examine_loop_device();
        let inspection = inspect(node)?;
        self.obstacles.extend(inspection.obstacles.iter().map(ToString::to_string));
        let leftover = inspection.leftover_hint();
        let holds_data = inspection.obstacles.len() > usize::from(leftover.is_some());
        if holds_data && !inspection.is_in_use() {
            self.obstacles.push(format!(
                "all of it would be lost; `--erase {}` allows that",
                quoted(&node.to_string_lossy())
            ));
        }
        self.obstacles.extend(leftover);
        Ok(inspection.obstacles.is_empty())
    }

    /// Number of the fact with this name.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
    }

    fn add(&mut self, seen: treering_observe::Findings) {
        self.cautions.extend(seen.cautions);
        self.facts.extend(seen.facts);
    }

    /// Warns about a loop device that reads its image through the page cache.
    fn examine_loop_device(&mut self) {
        let image = self.value("device.backing_file").map(str::to_owned);
        let is_past_cache = self.value("device.direct_io") == Some("1");
        if let Some(image) = image.filter(|_| !is_past_cache) {
            let message =
                format!("it is on a loop device that reads {image} through the page cache");
            self.cautions.push(Caution { code: CautionCode::HostCacheAnswers, message });
        }
    }

    /// Drops the findings about the directory if it served only for the probe.
    fn drop_directory_findings(&mut self) {
        let of_place = |name: &str| name.starts_with("filesystem.") || name.starts_with("device.");
        self.facts.retain(|fact| !of_place(&fact.name));
        self.cautions.retain(|caution| caution.code != CautionCode::Misaligned);
    }
}
