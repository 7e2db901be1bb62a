//! Table of a client's names: the load's directories, kept open in slots, and the last components.
//!
//! All paths are built when the client is created; those of drawn names when they are drawn.

use std::collections::HashMap;
use std::ffi::CString;
use std::ops::Range;

use treering_script::DirSlot;

use crate::language::{Load, PathTemplate};

/// Index of a directory.
pub(super) type DirId = u32;
/// The directory under test.
const TOP: DirId = 0;
/// Maximum number of directories of drawn names; beyond it they are forgotten.
const DRAWN_MAX: usize = 4096;
/// Number of names drawn at the same time: a rename needs two.
const DRAWN_SPOTS: usize = 2;

/// Location of a name: directory and last component; the component is empty for the directory under
/// test.
#[derive(Clone, Debug)]
pub(super) struct NameLocation {
    pub(super) dir: DirId,
    pub(super) name: CString,
    /// Index of the name as a directory itself, if other names lie below it.
    is: Option<DirId>,
}

#[derive(Debug)]
struct Directory {
    /// Path relative to the target.
    path: CString,
    slot: Option<usize>,
}

/// The names of a client.
#[derive(Debug)]
pub(super) struct NameTable {
    base: Vec<u8>,
    dirs: Vec<Directory>,
    by_path: HashMap<Vec<u8>, DirId>,
    spots: Vec<NameLocation>,
    /// Number of directories that occur in the load's names.
    fixed: usize,
    slots: Range<u16>,
    holders: Vec<Option<DirId>>,
    hand: usize,
}

fn c_string(bytes: &[u8]) -> CString {
    // Checked when they were read: there is no NUL.
    CString::new(bytes).unwrap_or_default()
}

impl NameTable {
    /// Names of a client, below `base` in the target; `slots` are its directory slots.
    pub(super) fn new(load: &Load, client: u32, base: &[u8], slots: Range<u16>) -> Self {
        let holders = vec![None; slots.len()];
        let mut places = Self {
            base: base.to_vec(),
            dirs: Vec::new(),
            by_path: HashMap::new(),
            spots: Vec::with_capacity(load.names.len() + DRAWN_SPOTS),
            fixed: 0,
            slots,
            holders,
            hand: 0,
        };
        places.dir(b"");
        for name in &load.names {
            let spot = places.spot_of(&name.of_client(client));
            places.spots.push(spot);
        }
        let top = NameLocation { dir: TOP, name: CString::default(), is: Some(TOP) };
        places.spots.extend(std::iter::repeat_n(top, DRAWN_SPOTS));
        places.fixed = places.dirs.len();
        for at in 0..places.spots.len() {
            let path = places.path(&places.spots[at]);
            places.spots[at].is = places.by_path.get(&path).copied();
        }
        places
    }

    /// The path of a name, below the directory under test.
    pub(super) fn path(&self, spot: &NameLocation) -> Vec<u8> {
        let dir = self.dirs[spot.dir as usize].path.as_bytes();
        let dir = dir.strip_prefix(self.base.as_slice()).unwrap_or(dir);
        let dir = dir.strip_prefix(b"/").unwrap_or(dir);
        let mut path = dir.to_vec();
        if !path.is_empty() && !spot.name.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(spot.name.as_bytes());
        path
    }

    fn dir(&mut self, path: &[u8]) -> DirId {
        if let Some(&dir) = self.by_path.get(path) {
            return dir;
        }
        let mut full = self.base.clone();
        if !full.is_empty() && !path.is_empty() {
            full.push(b'/');
        }
        full.extend_from_slice(path);
        let dir = DirId::try_from(self.dirs.len()).unwrap_or(DirId::MAX);
        self.dirs.push(Directory { path: c_string(&full), slot: None });
        self.by_path.insert(path.to_vec(), dir);
        dir
    }

    fn spot_of(&mut self, path: &[u8]) -> NameLocation {
        let (dir, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        NameLocation { dir: self.dir(dir), name: c_string(name), is: None }
    }

    /// Index of a drawn name.
    pub(super) fn drawn(&self, which: usize) -> u32 {
        let at = self.spots.len() - DRAWN_SPOTS + which.min(DRAWN_SPOTS - 1);
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// True if the name was drawn at run time.
    pub(super) fn is_drawn(&self, spot: u32) -> bool {
        spot >= self.drawn(0)
    }

    /// Sets a drawn name for this client; returns its index.
    pub(super) fn draw(&mut self, which: usize, name: &PathTemplate, client: u32) -> u32 {
        self.take(which, &name.of_client(client))
    }

    /// Sets the path of a drawn name.
    pub(super) fn take(&mut self, which: usize, path: &[u8]) -> u32 {
        if self.dirs.len() > self.fixed + DRAWN_MAX {
            self.forget_drawn();
        }
        let mut spot = self.spot_of(path);
        spot.is = self.by_path.get(path).copied();
        self.put(which, spot)
    }

    fn put(&mut self, which: usize, spot: NameLocation) -> u32 {
        let at = self.drawn(which);
        self.spots[at as usize] = spot;
        at
    }

    fn forget_drawn(&mut self) {
        let fixed = self.fixed;
        self.dirs.truncate(fixed);
        self.by_path.retain(|_, dir| (*dir as usize) < fixed);
        for holder in &mut self.holders {
            holder.take_if(|dir| *dir as usize >= fixed);
        }
        for which in 0..DRAWN_SPOTS {
            self.put(which, NameLocation { dir: TOP, name: CString::default(), is: Some(TOP) });
        }
    }

    #[inline]
    pub(super) fn spot(&self, spot: u32) -> &NameLocation {
        &self.spots[spot as usize]
    }

    /// The path of a directory from the target; empty for the target itself.
    pub(super) fn dir_path(&self, dir: DirId) -> &CString {
        &self.dirs[dir as usize].path
    }

    /// Slot of a directory; true if the directory must be opened into it first.
    #[inline]
    pub(super) fn reach(&mut self, dir: DirId) -> (DirSlot, bool) {
        let place = &self.dirs[dir as usize];
        if let Some(slot) = place.slot {
            return (self.slot(slot), false);
        }
        if place.path.is_empty() {
            return (DirSlot::TARGET, false);
        }
        let slot = self.free_slot();
        self.holders[slot] = Some(dir);
        self.dirs[dir as usize].slot = Some(slot);
        (self.slot(slot), true)
    }

    fn slot(&self, number: usize) -> DirSlot {
        DirSlot(self.slots.start + u16::try_from(number).unwrap_or_default())
    }

    /// Free directory slot; evicts another directory if necessary.
    fn free_slot(&mut self) -> usize {
        if let Some(slot) = self.holders.iter().position(Option::is_none) {
            return slot;
        }
        self.hand = (self.hand + 1) % self.holders.len();
        self.leave(self.hand);
        self.hand
    }

    fn leave(&mut self, slot: usize) {
        if let Some(dir) = self.holders[slot].take() {
            self.dirs[dir as usize].slot = None;
        }
    }

    /// Frees the slot of a directory that could not be opened.
    pub(super) fn mark_unopenable(&mut self, dir: DirId) {
        if let Some(slot) = self.dirs[dir as usize].slot {
            self.leave(slot);
        }
    }

    /// Handles the removal or rename of a name: directories at and below it are reopened on their
    /// next use.
    pub(super) fn moved(&mut self, spot: u32) {
        let Some(dir) = self.spots[spot as usize].is else { return };
        let path = self.dirs[dir as usize].path.as_bytes().to_vec();
        for slot in 0..self.holders.len() {
            let Some(held) = self.holders[slot] else { continue };
            let below = self.dirs[held as usize].path.as_bytes().strip_prefix(path.as_slice());
            if below.is_some_and(|below| below.is_empty() || below[0] == b'/') {
                self.leave(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use treering_script::DirSlot;

    use super::NameTable;
    use crate::language::parse;

    fn places(names: &[&str], base: &[u8], slots: u16) -> NameTable {
        let line = |text: String, name: &&str| text + "Mkdir \"" + name + "\" *\n";
        let text = names.iter().fold(String::new(), line);
        let load = parse("f", text.as_bytes(), None).unwrap();
        NameTable::new(&load, 5, base, 10..10 + slots)
    }

    #[test]
    fn moved_directories_are_reopened() {
        let mut places = places(&["/a/client1/x", "/a/client1", "/a", "/b"], b"", 4);
        let dir = places.spot(0).dir;
        assert_eq!(places.dir_path(dir).to_bytes(), b"a/client5");
        assert_eq!(places.path(places.spot(0)), b"a/client5/x");
        assert_eq!(places.reach(dir), (DirSlot(10), true));
        assert_eq!(places.reach(dir), (DirSlot(10), false));
        places.moved(0);
        assert_eq!(places.reach(dir), (DirSlot(10), false), "a file");
        places.moved(2);
        assert_eq!(places.reach(dir), (DirSlot(10), true), "a directory above it");
        let top = places.spot(3).dir;
        assert_eq!(places.reach(top), (DirSlot::TARGET, false));
        places.mark_unopenable(dir);
        assert_eq!(places.reach(dir), (DirSlot(10), true));
    }

    #[test]
    fn top_directory_is_opened_below_a_base() {
        let mut places = places(&["/x"], b"dbench", 4);
        let dir = places.spot(0).dir;
        assert_eq!(places.dir_path(dir).to_bytes(), b"dbench");
        assert_eq!(places.path(places.spot(0)), b"x");
        assert_eq!(places.reach(dir), (DirSlot(10), true));
    }

    #[test]
    fn directories_share_slots_when_there_are_too_few() {
        let mut places = places(&["/a/x", "/b/x", "/c/x"], b"", 2);
        let reach = |places: &mut NameTable, at| {
            let dir = places.spot(at).dir;
            places.reach(dir)
        };
        assert_eq!(reach(&mut places, 0), (DirSlot(10), true));
        assert_eq!(reach(&mut places, 1), (DirSlot(11), true));
        assert_eq!(reach(&mut places, 2), (DirSlot(11), true));
        assert_eq!(reach(&mut places, 0), (DirSlot(10), false));
        assert_eq!(reach(&mut places, 1), (DirSlot(10), true));
    }

    #[test]
    fn drawn_names_are_released_after_use() {
        let mut places = places(&["/a/x"], b"", 2);
        for number in 0..20_000 {
            let spot = places.take(0, format!("d{number}/f").as_bytes());
            assert!(places.is_drawn(spot));
            let dir = places.spot(spot).dir;
            assert!(places.reach(dir).1);
        }
        assert!(places.dirs.len() < 5000);
        assert_eq!(places.path(places.spot(0)), b"a/x");
    }
}
