//! Open subdirectories of a task.

use treering_script::{DirSlot, Io, MAX_DIRS, Stop};

use crate::names::subdir_name;
use crate::shape::TOP;

/// Slot of the first subdirectory, which stays open, since links are made from there.
const FIRST: u16 = TOP.0 + 1;
/// Number of other subdirectories kept open.
const KEPT: u32 = MAX_DIRS as u32 - FIRST as u32 - 1;

/// Assignment of subdirectories to slots.
#[derive(Debug, Default)]
pub(super) struct SubdirSlots {
    /// Subdirectory in each slot after the first, as far as used.
    open: Vec<Option<u32>>,
}

impl SubdirSlots {
    /// Slot of a subdirectory, or of the directory itself if there are none.
    pub(super) fn dir(subdir: Option<u32>) -> DirSlot {
        let Some(subdir) = subdir else { return TOP };
        DirSlot(u16::try_from(Self::place(subdir)).map_or(TOP.0, |place| FIRST + place))
    }

    fn place(subdir: u32) -> u32 {
        if subdir == 0 { 0 } else { 1 + (subdir - 1) % KEPT }
    }

    /// Slot of a file's subdirectory, which is opened if it is not open.
    pub(super) fn open(&mut self, io: &mut dyn Io, subdir: Option<u32>) -> Result<DirSlot, Stop> {
        let slot = Self::dir(subdir);
        if let Some(subdir) = subdir.filter(|&subdir| self.takes(subdir)) {
            io.open_dir(TOP, &subdir_name(subdir), slot)?;
        }
        Ok(slot)
    }

    /// Assigns a subdirectory to its slot; true if it must be opened.
    fn takes(&mut self, subdir: u32) -> bool {
        let place = Self::place(subdir) as usize;
        if self.open.len() <= place {
            self.open.resize(place + 1, None);
        }
        self.open[place].replace(subdir) != Some(subdir)
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, SubdirSlots, TOP};
    use std::collections::HashSet;
    use treering_script::MAX_DIRS;

    #[test]
    fn subdirectories_have_distinct_slots_up_to_the_limit() {
        let slots: HashSet<u16> =
            (0..=KEPT).map(|subdir| SubdirSlots::dir(Some(subdir)).0).collect();
        assert_eq!(slots.len(), KEPT as usize + 1);
        assert!(slots.iter().all(|&slot| slot > TOP.0 && slot < MAX_DIRS));
        assert_eq!(SubdirSlots::dir(None), TOP);
        assert_ne!(
            SubdirSlots::dir(Some(KEPT + 1)),
            SubdirSlots::dir(Some(0)),
            "the first one stays"
        );
    }

    #[test]
    fn evicted_subdirectory_is_reopened() {
        let mut slots = SubdirSlots::default();
        assert!(slots.takes(5) && !slots.takes(5));
        assert!(slots.takes(5 + KEPT) && slots.takes(5));
    }
}
