//! Played disks of a device: answer timing, counters, and model.

use treering_model::PlayedCounts;

use super::PlayedModel;
use crate::LabError;
use crate::device::{AcquiredStorage, LabDevice};
use crate::images::LoopImage;

impl LabDevice {
    /// Switches played disks between answering at modelled times (`true`) and at once (`false`).
    ///
    /// # Errors
    /// When a disk does not answer at all.
    pub fn play(&self, plays: bool) -> Result<(), LabError> {
        match &self.bottom().storage {
            AcquiredStorage::Images(images, _) => {
                images.iter().try_for_each(|image| image.play(plays))
            }
            _ => Ok(()),
        }
    }

    /// Sum of the counters of all played disks; `None` without played disks.
    ///
    /// # Errors
    /// When a disk does not answer.
    pub fn played(&self) -> Result<Option<PlayedCounts>, LabError> {
        let AcquiredStorage::Images(images, _) = &self.bottom().storage else { return Ok(None) };
        let mut total: Option<PlayedCounts> = None;
        for counts in images.iter().filter_map(LoopImage::played) {
            let counts = counts?;
            total = Some(total.map_or_else(|| counts.clone(), |total| total.with(&counts)));
        }
        Ok(total)
    }

    /// Model of the played disk, if any.
    pub fn model(&self) -> Option<&PlayedModel> {
        match &self.bottom().storage {
            AcquiredStorage::Images(images, _) => images.first()?.model(),
            _ => None,
        }
    }
}
