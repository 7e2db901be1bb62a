//! Played disks of a device: answer timing, counters, and model.

use treering_model::PlayedCounts;

use super::PlayedModel;
use crate::LabError;
use crate::device::LabDevice;
use crate::images::LoopImage;

impl LabDevice {
    /// Switches played disks between answering at modelled times (`true`) and at once (`false`).
    ///
    /// # Errors
    /// When a disk does not answer at all.
    pub fn play(&self, plays: bool) -> Result<(), LabError> {
        self.bottom_images().into_iter().try_for_each(|image| image.play(plays))
    }

    /// Sum of the counters of all played disks; `None` without played disks.
    ///
    /// # Errors
    /// When a disk does not answer.
    pub fn played(&self) -> Result<Option<PlayedCounts>, LabError> {
        let mut total: Option<PlayedCounts> = None;
        for counts in self.bottom_images().into_iter().filter_map(LoopImage::played) {
            let counts = counts?;
            total = Some(total.map_or_else(|| counts.clone(), |total| total.with(&counts)));
        }
        Ok(total)
    }

    /// Model of the first played disk, if any.
    pub fn model(&self) -> Option<&PlayedModel> {
        self.bottom_images().into_iter().find_map(LoopImage::model)
    }
}
