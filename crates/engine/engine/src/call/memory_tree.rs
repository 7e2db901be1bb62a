//! Filesystem in memory: names, kinds and sizes, with the errors that Linux gives.
//!
//! The tree is the oracle of tests, not a cost model: contents are not stored, and removed nodes
//! stay until the whole filesystem is dropped. Callers keep track of open directories and files.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use treering_script::EntryKind;
use treering_sys::{Errno, is_single_name};

use crate::oracle::TreeSnapshot;

/// Order in which a directory lists its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryOrder {
    /// Order of creation.
    #[default]
    Creation,
    /// Pseudo-random order from a seed, similar to that of hashed directories.
    Seeded(u64),
}

/// Filesystem in memory. Clones share the same filesystem.
#[derive(Clone, Debug, Default)]
pub struct MemoryFilesystem {
    tree: Arc<Mutex<Tree>>,
}

impl MemoryFilesystem {
    /// An empty filesystem.
    pub fn new(order: EntryOrder) -> Self {
        Self { tree: Arc::new(Mutex::new(Tree { order, ..Tree::default() })) }
    }

    /// Contents of the tree as a comparable [`TreeSnapshot`].
    pub fn snapshot(&self) -> TreeSnapshot {
        self.lock().snapshot()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Tree> {
        // A panic of one test's worker leaves a whole tree: each change is one assignment.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Number of a node; the root is 0.
pub(super) type NodeId = usize;
pub(super) const ROOT: NodeId = 0;

/// Position of an entry in the order of its directory.
type EntryPosition = u64;

#[derive(Debug)]
pub(super) struct Node {
    parent: NodeId,
    name: Vec<u8>,
    /// Number of entries that refer to the node; 1 for a directory.
    links: u32,
    pub(super) body: NodeContent,
}

/// Entries of a directory in its order.
type DirListing = BTreeMap<EntryPosition, (NodeId, Vec<u8>)>;

#[derive(Debug)]
pub(super) enum NodeContent {
    File {
        bytes: u64,
    },
    Directory {
        children: HashMap<Vec<u8>, (NodeId, EntryPosition)>,
        listing: DirListing,
    },
    /// Symbolic link; it is never followed.
    Link,
}

impl NodeContent {
    const EMPTY_FILE: Self = Self::File { bytes: 0 };

    fn empty_directory() -> Self {
        Self::Directory { children: HashMap::new(), listing: BTreeMap::new() }
    }

    pub(super) const fn kind(&self) -> EntryKind {
        match self {
            Self::File { .. } => EntryKind::File,
            Self::Directory { .. } => EntryKind::Directory,
            Self::Link => EntryKind::Other,
        }
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    order: EntryOrder,
    made: u64,
}

impl Default for Tree {
    fn default() -> Self {
        let root =
            Node { parent: ROOT, name: Vec::new(), links: 1, body: NodeContent::empty_directory() };
        Self { nodes: vec![root], order: EntryOrder::Creation, made: 0 }
    }
}

/// Reported capacity in bytes. It is not enforced, since only sizes are kept.
pub(super) const CAPACITY_BYTES: u64 = 1 << 30;
/// Longest name and path on Linux, in bytes; the path includes its NUL.
const NAME_MAX: usize = 255;
const PATH_MAX: usize = 4096;

impl Tree {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id]
    }

    /// Directory in which the last component of a path is looked up, and that component.
    pub(super) fn parent_of<'p>(
        &self,
        at: NodeId,
        path: &'p [u8],
    ) -> Result<(NodeId, &'p [u8]), Errno> {
        let names = || path.split(|&byte| byte == b'/');
        if !names().all(is_single_name) {
            return Err(Errno::XDEV);
        }
        if path.len() >= PATH_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        let mut names = names().peekable();
        let mut dir = at;
        loop {
            let name = names.next().unwrap_or_default();
            if names.peek().is_none() {
                return Ok((dir, name));
            }
            dir = self.child(dir, name)?.ok_or(Errno::NOENT)?;
        }
    }

    /// Child of this name; `None` if there is none.
    pub(super) fn child(&self, dir: NodeId, name: &[u8]) -> Result<Option<NodeId>, Errno> {
        let NodeContent::Directory { children, .. } = &self.nodes[dir].body else {
            return Err(Errno::NOTDIR);
        };
        if name.len() > NAME_MAX {
            return Err(Errno::NAMETOOLONG);
        }
        Ok(children.get(name).map(|&(id, _)| id))
    }

    /// Node to which a path leads.
    pub(super) fn find(&self, at: NodeId, path: &[u8]) -> Result<NodeId, Errno> {
        let (dir, name) = self.parent_of(at, path)?;
        self.child(dir, name)?.ok_or(Errno::NOENT)
    }

    /// Adds an empty node under a new name.
    pub(super) fn add(
        &mut self,
        dir: NodeId,
        name: &[u8],
        kind: EntryKind,
    ) -> Result<NodeId, Errno> {
        if self.nodes[dir].links == 0 {
            return Err(Errno::NOENT);
        }
        let id = self.nodes.len();
        let place = self.next_place();
        let NodeContent::Directory { children, listing } = &mut self.nodes[dir].body else {
            return Err(Errno::NOTDIR);
        };
        children.insert(name.to_vec(), (id, place));
        listing.insert(place, (id, name.to_vec()));
        self.made += 1;
        let body = match kind {
            EntryKind::Directory => NodeContent::empty_directory(),
            EntryKind::File => NodeContent::EMPTY_FILE,
            EntryKind::Other => NodeContent::Link,
        };
        self.nodes.push(Node { parent: dir, name: name.to_vec(), links: 1, body });
        Ok(id)
    }

    /// Adds a node; fails if the name exists.
    pub(super) fn add_new(
        &mut self,
        dir: NodeId,
        name: &[u8],
        kind: EntryKind,
    ) -> Result<(), Errno> {
        match self.child(dir, name)? {
            Some(_) => Err(Errno::EXIST),
            None => self.add(dir, name, kind).map(|_id| ()),
        }
    }

    /// Removes a file or an empty directory, depending on `kind`.
    pub(super) fn remove(&mut self, at: NodeId, path: &[u8], kind: EntryKind) -> Result<(), Errno> {
        let (dir, name) = self.parent_of(at, path)?;
        let id = self.child(dir, name)?.ok_or(Errno::NOENT)?;
        match (&self.nodes[id].body, kind) {
            (NodeContent::Directory { children, .. }, EntryKind::Directory) => {
                if !children.is_empty() {
                    return Err(Errno::NOTEMPTY);
                }
            }
            (NodeContent::Directory { .. }, _) => return Err(Errno::ISDIR),
            (NodeContent::File { .. } | NodeContent::Link, EntryKind::Directory) => {
                return Err(Errno::NOTDIR);
            }
            (NodeContent::File { .. } | NodeContent::Link, _) => {}
        }
        if let NodeContent::Directory { children, listing } = &mut self.nodes[dir].body
            && let Some((_, place)) = children.remove(name)
        {
            listing.remove(&place);
        }
        self.nodes[id].links -= 1;
        Ok(())
    }

    /// Renames an entry; replaces an existing entry of the new name where `rename` would.
    pub(super) fn rename(
        &mut self,
        dir: NodeId,
        from: &[u8],
        to_dir: NodeId,
        to: &[u8],
    ) -> Result<(), Errno> {
        let id = self.child(dir, from)?.ok_or(Errno::NOENT)?;
        if self.is_within(to_dir, id) {
            return Err(Errno::INVAL);
        }
        match self.child(to_dir, to)? {
            Some(other) if other == id => return Ok(()),
            // A directory above the source has an entry, whatever the source is.
            Some(other) if self.is_within(dir, other) => return Err(Errno::NOTEMPTY),
            Some(_) => self.remove(to_dir, to, self.nodes[id].body.kind())?,
            None if self.nodes[to_dir].links == 0 => return Err(Errno::NOENT),
            None => {}
        }
        let place = self.next_place();
        if let NodeContent::Directory { children, listing } = &mut self.nodes[dir].body
            && let Some((_, old)) = children.remove(from)
        {
            listing.remove(&old);
        }
        if let NodeContent::Directory { children, listing } = &mut self.nodes[to_dir].body {
            children.insert(to.to_vec(), (id, place));
            listing.insert(place, (id, to.to_vec()));
        }
        self.made += 1;
        self.nodes[id].name = to.to_vec();
        self.nodes[id].parent = to_dir;
        Ok(())
    }

    /// True if a node is `other` or lies beneath it.
    fn is_within(&self, mut node: NodeId, other: NodeId) -> bool {
        while node != other && node != ROOT {
            node = self.nodes[node].parent;
        }
        node == other
    }

    /// Adds a hard link to a file.
    pub(super) fn link(
        &mut self,
        dir: NodeId,
        from: &[u8],
        to_dir: NodeId,
        to: &[u8],
    ) -> Result<(), Errno> {
        let id = self.child(dir, from)?.ok_or(Errno::NOENT)?;
        if self.child(to_dir, to)?.is_some() {
            return Err(Errno::EXIST);
        }
        if self.nodes[to_dir].links == 0 {
            return Err(Errno::NOENT);
        }
        if self.nodes[id].body.kind() == EntryKind::Directory {
            return Err(Errno::PERM);
        }
        let place = self.next_place();
        if let NodeContent::Directory { children, listing } = &mut self.nodes[to_dir].body {
            children.insert(to.to_vec(), (id, place));
            listing.insert(place, (id, to.to_vec()));
        }
        self.made += 1;
        self.nodes[id].links += 1;
        Ok(())
    }

    /// Position of the next entry in its directory's order.
    fn next_place(&self) -> EntryPosition {
        match self.order {
            EntryOrder::Creation => self.made,
            EntryOrder::Seeded(seed) => scatter(self.made ^ seed),
        }
    }

    /// Free bytes of the reported capacity, with file sizes rounded up to blocks.
    pub(super) fn free_bytes(&self) -> u64 {
        let used = self.nodes.iter().filter(|node| node.links > 0).map(|node| match node.body {
            NodeContent::File { bytes } => bytes.next_multiple_of(4096),
            NodeContent::Directory { .. } | NodeContent::Link => 0,
        });
        CAPACITY_BYTES.saturating_sub(used.sum())
    }

    /// Entries of a directory from a position on: position, kind and name of each.
    pub(super) fn entries(
        &self,
        dir: NodeId,
        from: EntryPosition,
    ) -> Result<impl Iterator<Item = (EntryPosition, EntryKind, &[u8])>, Errno> {
        let Node { links, body: NodeContent::Directory { listing, .. }, .. } = &self.nodes[dir]
        else {
            return Err(Errno::NOTDIR);
        };
        if *links == 0 {
            return Err(Errno::NOENT);
        }
        Ok(listing
            .range(from..)
            .map(|(&place, (id, name))| (place, self.nodes[*id].body.kind(), name.as_slice())))
    }

    /// The path from the root, without a leading slash.
    pub(super) fn path(&self, id: NodeId) -> PathBuf {
        let mut names = Vec::new();
        let mut at = id;
        while at != ROOT {
            names.push(String::from_utf8_lossy(&self.nodes[at].name));
            at = self.nodes[at].parent;
        }
        names.iter().rev().map(AsRef::as_ref).collect::<Vec<&str>>().join("/").into()
    }

    fn snapshot(&self) -> TreeSnapshot {
        let mut entries = Vec::new();
        let mut pending = vec![(ROOT, PathBuf::new())];
        while let Some((dir, path)) = pending.pop() {
            let NodeContent::Directory { children, .. } = &self.nodes[dir].body else {
                continue;
            };
            for (name, &(id, _)) in children {
                let path = path.join(String::from_utf8_lossy(name).as_ref());
                match self.nodes[id].body {
                    NodeContent::File { bytes } => entries.push((path, EntryKind::File, bytes)),
                    NodeContent::Link => entries.push((path, EntryKind::Other, 0)),
                    NodeContent::Directory { .. } => {
                        entries.push((path.clone(), EntryKind::Directory, 0));
                        pending.push((id, path));
                    }
                }
            }
        }
        TreeSnapshot::new(entries)
    }
}

/// Maps each number to a different one, in pseudo-random order (the finalizer of SplitMix64).
const fn scatter(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
