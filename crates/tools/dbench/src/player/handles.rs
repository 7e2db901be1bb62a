//! A client's open files, by the handles of its load.

use std::collections::HashMap;
use std::ops::Range;

use treering_script::FileSlot;

use crate::language::HandleId;

/// Maximum number of handles with drawn numbers.
const DRAWN_MAX: usize = 1 << 16;
/// No slot.
const CLOSED: u16 = u16::MAX;

/// Name under which a file was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenedName {
    Spot(u32),
    /// Path that was drawn at run time.
    Path(Vec<u8>),
}

/// The handles of a client.
#[derive(Debug)]
pub(super) struct HandleTable {
    /// File slot of each handle.
    slots: Vec<u16>,
    open: Vec<Option<(HandleId, OpenedName)>>,
    first: u16,
    /// Number of open files that share their handle with another one: a load may reuse a handle
    /// before it is closed.
    doubles: usize,
    /// Handles that were drawn at run time, by their number in the load.
    drawn: HashMap<u64, HandleId>,
}

impl HandleTable {
    /// Creates the table for a load with `handles` handles; `slots` are the file slots of the
    /// client.
    pub(super) fn new(handles: usize, slots: Range<u16>) -> Self {
        let open = slots.clone().map(|_| None).collect();
        Self {
            slots: vec![CLOSED; handles],
            open,
            first: slots.start,
            doubles: 0,
            drawn: HashMap::new(),
        }
    }

    /// Handle of a drawn number, created if it is new; `None` if there are too many.
    pub(super) fn of_number(&mut self, number: u64) -> Option<HandleId> {
        if let Some(&handle) = self.drawn.get(&number) {
            return Some(handle);
        }
        if self.drawn.len() >= DRAWN_MAX {
            return None;
        }
        let handle = HandleId::try_from(self.slots.len()).ok()?;
        self.slots.push(CLOSED);
        self.drawn.insert(number, handle);
        Some(handle)
    }

    /// Number of a drawn handle; `None` for handles of the load.
    pub(super) fn number_of(&self, handle: HandleId) -> Option<u64> {
        self.drawn.iter().find(|&(_, other)| *other == handle).map(|(number, _)| *number)
    }

    /// The file of a handle.
    #[inline]
    pub(super) fn file(&self, handle: HandleId) -> Option<FileSlot> {
        self.slots.get(handle as usize).filter(|&&slot| slot != CLOSED).map(|&slot| FileSlot(slot))
    }

    /// Free file slot.
    #[inline]
    pub(super) fn free(&self) -> Option<FileSlot> {
        let free = self.open.iter().position(Option::is_none)?;
        u16::try_from(free).ok().map(|free| FileSlot(self.first + free))
    }

    #[inline]
    pub(super) fn opened(&mut self, handle: HandleId, file: FileSlot, by: OpenedName) {
        let slot = &mut self.slots[handle as usize];
        if *slot != CLOSED {
            self.doubles += 1;
        }
        // The first in the table is the one that is found, as in the original.
        *slot = (*slot).min(file.0);
        self.open[usize::from(file.0 - self.first)] = Some((handle, by));
    }

    #[inline]
    pub(super) fn closed(&mut self, file: FileSlot) {
        let Some((handle, _)) = self.open[usize::from(file.0 - self.first)].take() else { return };
        self.slots[handle as usize] = CLOSED;
        if self.doubles > 0 {
            self.find_double(handle);
        }
    }

    #[cold]
    fn find_double(&mut self, handle: HandleId) {
        let is = |open: &Option<(HandleId, OpenedName)>| {
            open.as_ref().is_some_and(|(other, _)| *other == handle)
        };
        if let Some(other) = self.open.iter().position(is) {
            self.doubles -= 1;
            self.slots[handle as usize] = self.first + u16::try_from(other).unwrap_or_default();
        }
    }

    /// Name under which a file was opened.
    pub(super) fn name(&self, file: FileSlot) -> Option<&OpenedName> {
        self.open[usize::from(file.0 - self.first)].as_ref().map(|(_, by)| by)
    }

    /// Slot of any open file.
    pub(super) fn any(&self) -> Option<FileSlot> {
        let open = self.open.iter().position(Option::is_some)?;
        u16::try_from(open).ok().map(|open| FileSlot(self.first + open))
    }
}

#[cfg(test)]
mod tests {
    use treering_script::FileSlot;

    use super::{HandleTable, OpenedName};

    #[test]
    fn handles_have_files_until_they_are_closed() {
        let mut handles = HandleTable::new(2, 100..102);
        assert_eq!(handles.file(0), None);
        handles.opened(0, handles.free().unwrap(), OpenedName::Spot(7));
        handles.opened(1, handles.free().unwrap(), OpenedName::Spot(8));
        assert_eq!(handles.free(), None);
        assert_eq!((handles.file(0), handles.file(1)), (Some(FileSlot(100)), Some(FileSlot(101))));
        assert_eq!(handles.name(FileSlot(101)), Some(&OpenedName::Spot(8)));
        handles.closed(FileSlot(100));
        assert_eq!((handles.file(0), handles.any()), (None, Some(FileSlot(101))));
        // The same handle once more, and both closed.
        handles.opened(1, handles.free().unwrap(), OpenedName::Spot(9));
        assert_eq!(handles.file(1), Some(FileSlot(100)));
        handles.closed(FileSlot(100));
        assert_eq!(handles.file(1), Some(FileSlot(101)));
        handles.closed(FileSlot(101));
        assert_eq!((handles.file(1), handles.any()), (None, None));
        let drawn = handles.of_number(77).unwrap();
        assert_eq!(handles.of_number(77), Some(drawn));
        assert_eq!((drawn, handles.number_of(drawn)), (2, Some(77)));
    }
}
