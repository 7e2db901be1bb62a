//! Image of an aged filesystem, from which the trials of a round start. It has no name and is gone
//! with this process.

use treering_lab::{FilesystemTemplate, LabDevice, LabError, Volume};
use treering_model::{Fact, Metric};

/// Image of a filesystem at an age, with what was measured of it.
pub(crate) struct AgedImage {
    template: FilesystemTemplate,
    facts: Vec<Fact>,
    /// Layout of the files, and the cost of aging since the age before.
    pub(crate) metrics: Vec<Metric>,
}

impl AgedImage {
    pub(crate) fn new(
        template: FilesystemTemplate,
        facts: Vec<Fact>,
        metrics: Vec<Metric>,
    ) -> Self {
        Self { template, facts, metrics }
    }

    /// Restores the filesystem to a device; returns facts about it.
    ///
    /// # Errors
    /// When the images of the device cannot be emptied or written.
    pub(crate) fn restore(
        &self,
        device: LabDevice,
        mkfs: &[String],
    ) -> Result<(Volume, Vec<Fact>), LabError> {
        let (volume, is_copy) = device.restore(&self.template, mkfs)?;
        if !is_copy {
            let (action, path) = ("cannot restore an aged image to", "a loop image".into());
            let source = std::io::Error::other("the host's filesystem cannot empty a file");
            return Err(LabError::Io { action, path, source });
        }
        Ok((volume, self.facts.clone()))
    }
}
