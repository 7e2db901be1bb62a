//! Compact trees of names: ten million paths are stored without a string for each.
//!
//! A node is a name and its parent: 12 bytes and the name itself. A path is only built temporarily,
//! by walking up the parents. Sizes are not stored here, since a name can have different sizes in
//! different lists.

use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use thiserror::Error;

/// A name in a tree. [`NameId::ROOT`] is the top, without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(pub u32);

impl NameId {
    /// The top of the tree.
    pub const ROOT: Self = Self(0);

    /// Index into an array with an element for each name.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// File type of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    name: u32,
    length: u8,
    kind: NodeKind,
}

/// Finished tree of names.
#[derive(Debug)]
pub struct NameTree {
    nodes: Vec<Node>,
    /// Names, each terminated by a NUL.
    bytes: Vec<u8>,
    /// Indices of all names but the root, sorted by parent, then by name.
    children: Vec<u32>,
}

/// Reason why a path cannot be in a tree.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NameError {
    /// The path starts with a slash.
    #[error("the path is absolute; it must be relative to the tree")]
    Absolute,
    /// The path has `.` or `..` as a component.
    #[error("the path has a '.' or '..' component; a path must stay inside the tree")]
    Dots,
    /// The path is empty, or has an empty component.
    #[error("the path has an empty component")]
    EmptyComponent,
    /// The path has a NUL byte.
    #[error("the path has a NUL byte")]
    Nul,
    /// A component is longer than Linux allows.
    #[error("a component of the path has more than 255 bytes")]
    LongComponent,
    /// The path is deeper or longer than Linux allows.
    #[error("the path has more than 4000 bytes or 250 levels")]
    LongPath,
    /// The same path is a file and a directory.
    #[error("the path uses a file as a directory, or a directory as a file")]
    KindConflict,
    /// There are more names than a tree can hold.
    #[error("the tree has more names than 4294967295, or more than 4 GiB of them")]
    TooMany,
}

/// Longest path in bytes: `PATH_MAX` minus a reserve for the path of the top directory.
const LONGEST_PATH: usize = 4000;
/// Maximum depth of a path; each level can cost an open descriptor.
const DEEPEST_PATH: usize = 250;

/// Splits and checks a path: the components, none of which can lead outside.
///
/// # Errors
/// When the path is absolute, leads upward, or is longer than Linux allows.
pub fn path_components(path: &[u8]) -> Result<impl Iterator<Item = &[u8]>, NameError> {
    if path.first() == Some(&b'/') {
        return Err(NameError::Absolute);
    }
    if path.contains(&0) {
        return Err(NameError::Nul);
    }
    let split = || path.split(|&byte| byte == b'/');
    for component in split() {
        match component {
            b"" => return Err(NameError::EmptyComponent),
            b"." | b".." => return Err(NameError::Dots),
            long if long.len() > 255 => return Err(NameError::LongComponent),
            _ => {}
        }
    }
    if path.len() > LONGEST_PATH || split().count() > DEEPEST_PATH {
        return Err(NameError::LongPath);
    }
    Ok(split())
}

/// Builder of a tree of names.
#[derive(Debug)]
pub struct NamesBuilder {
    nodes: Vec<Node>,
    bytes: Vec<u8>,
    index: HashTable<u32>,
    hasher: RandomState,
    /// Directory of the path added last, cached since most files follow a sibling.
    last_directory: (Vec<u8>, NameId),
}

impl Default for NamesBuilder {
    fn default() -> Self {
        let root = Node { parent: 0, name: 0, length: 0, kind: NodeKind::Directory };
        Self {
            nodes: vec![root],
            bytes: vec![0],
            index: HashTable::new(),
            hasher: RandomState::new(),
            last_directory: (Vec::new(), NameId::ROOT),
        }
    }
}

impl NamesBuilder {
    /// Adds a path and its parent directories, or finds an existing one.
    ///
    /// # Errors
    /// When the path could lead outside, or a file is used as a directory or the reverse.
    pub fn add(&mut self, path: &[u8], kind: NodeKind) -> Result<NameId, NameError> {
        let components = path_components(path)?;
        let Some(slash) = path.iter().rposition(|&byte| byte == b'/') else {
            return self.child(NameId::ROOT, path, kind);
        };
        let (directory, name) = (&path[..slash], &path[slash + 1..]);
        if directory != self.last_directory.0 {
            let depth = directory.split(|&byte| byte == b'/').count();
            let mut at = NameId::ROOT;
            for component in components.take(depth) {
                at = self.child(at, component, NodeKind::Directory)?;
            }
            self.last_directory.0.clear();
            self.last_directory.0.extend_from_slice(directory);
            self.last_directory.1 = at;
        }
        self.child(self.last_directory.1, name, kind)
    }

    fn child(&mut self, parent: NameId, name: &[u8], kind: NodeKind) -> Result<NameId, NameError> {
        let Self { nodes, bytes, index, hasher, .. } = self;
        let hash = hasher.hash_one((parent.0, name));
        let same = |&id: &u32| {
            let node = nodes[id as usize];
            node.parent == parent.0 && name_bytes(bytes, node) == name
        };
        if let Some(&id) = index.find(hash, same) {
            let known_kind = nodes[id as usize].kind;
            return if known_kind == kind { Ok(NameId(id)) } else { Err(NameError::KindConflict) };
        }
        let id = u32::try_from(nodes.len()).map_err(|_| NameError::TooMany)?;
        let start = u32::try_from(bytes.len()).map_err(|_| NameError::TooMany)?;
        let length = u8::try_from(name.len()).map_err(|_| NameError::LongComponent)?;
        bytes.extend_from_slice(name);
        bytes.push(0);
        nodes.push(Node { parent: parent.0, name: start, length, kind });
        index.insert_unique(hash, id, |&id| {
            let node = nodes[id as usize];
            hasher.hash_one((node.parent, name_bytes(bytes, node)))
        });
        Ok(NameId(id))
    }

    /// Number of names, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if the tree has only its root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The finished tree.
    pub fn build(self) -> NameTree {
        let Self { mut nodes, mut bytes, index, .. } = self;
        drop(index);
        nodes.shrink_to_fit();
        bytes.shrink_to_fit();
        let count = u32::try_from(nodes.len()).expect("checked when they were added");
        let mut children: Vec<u32> = (1..count).collect();
        children.sort_unstable_by(|&a, &b| {
            let (a, b) = (nodes[a as usize], nodes[b as usize]);
            a.parent.cmp(&b.parent).then_with(|| name_bytes(&bytes, a).cmp(name_bytes(&bytes, b)))
        });
        NameTree { nodes, bytes, children }
    }
}

fn name_bytes(bytes: &[u8], node: Node) -> &[u8] {
    let start = node.name as usize;
    &bytes[start..start + usize::from(node.length)]
}

impl NameTree {
    /// Number of names, including the root.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if the tree has only its root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Last component of a name.
    pub fn name(&self, id: NameId) -> &CStr {
        let node = self.nodes[id.index()];
        let start = node.name as usize;
        CStr::from_bytes_with_nul(&self.bytes[start..=start + usize::from(node.length)])
            .expect("names are kept with one closing NUL")
    }

    /// Parent directory of a name; the root is its own parent.
    pub fn parent(&self, id: NameId) -> NameId {
        NameId(self.nodes[id.index()].parent)
    }

    /// File type of a name.
    pub fn kind(&self, id: NameId) -> NodeKind {
        self.nodes[id.index()].kind
    }

    /// Children of a directory, sorted by name.
    pub fn children(&self, dir: NameId) -> impl ExactSizeIterator<Item = NameId> + '_ {
        self.child_ids(dir).iter().map(|&id| NameId(id))
    }

    fn child_ids(&self, dir: NameId) -> &[u32] {
        let parent = |id: &u32| self.nodes[*id as usize].parent;
        let start = self.children.partition_point(|id| parent(id) < dir.0);
        let length = self.children[start..].partition_point(|id| parent(id) == dir.0);
        &self.children[start..start + length]
    }

    /// The name in a directory, if it is in the tree.
    pub fn find(&self, dir: NameId, name: &[u8]) -> Option<NameId> {
        let ids = self.child_ids(dir);
        ids.binary_search_by(|&id| name_bytes(&self.bytes, self.nodes[id as usize]).cmp(name))
            .ok()
            .map(|at| NameId(ids[at]))
    }

    /// Appends the path from the tree's top to a buffer, components separated by slashes.
    pub fn write_path(&self, id: NameId, path: &mut Vec<u8>) {
        if id == NameId::ROOT {
            return;
        }
        let parent = self.parent(id);
        if parent != NameId::ROOT {
            self.write_path(parent, path);
            path.push(b'/');
        }
        path.extend_from_slice(name_bytes(&self.bytes, self.nodes[id.index()]));
    }

    /// Path as printable text, with other bytes escaped.
    pub fn display_path(&self, id: NameId) -> String {
        let mut path = Vec::new();
        self.write_path(id, &mut path);
        path.escape_ascii().to_string()
    }

    /// Names except the root, in walk order: the entries of a directory by name, files before
    /// directories, then the content of each directory. Parents come before their children.
    pub fn sorted_walk(&self) -> Vec<NameId> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut pending = vec![NameId::ROOT];
        while let Some(dir) = pending.pop() {
            if dir != NameId::ROOT {
                order.push(dir);
            }
            let entries = || self.children(dir);
            order.extend(entries().filter(|&id| self.kind(id) == NodeKind::File));
            let first = pending.len();
            pending.extend(entries().filter(|&id| self.kind(id) == NodeKind::Directory));
            pending[first..].reverse();
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::{NameError, NameId, NamesBuilder, NodeKind};

    #[test]
    fn paths_round_trip_and_share_components() {
        let mut builder = NamesBuilder::default();
        let a = builder.add(b"fs/ext4/inode.c", NodeKind::File).unwrap();
        let again = builder.add(b"fs/ext4/inode.c", NodeKind::File).unwrap();
        let b = builder.add(b"fs/ext4/super.c", NodeKind::File).unwrap();
        assert_eq!(a, again);
        assert_eq!(builder.len(), 5);
        let names = builder.build();
        assert_eq!(names.display_path(b), "fs/ext4/super.c");
        assert_eq!(names.name(b), c"super.c");
        let ext4 = names.parent(a);
        assert_eq!(names.find(ext4, b"super.c"), Some(b));
        assert_eq!(names.find(ext4, b"super"), None);
        assert_eq!(names.children(ext4).collect::<Vec<_>>(), [a, b]);
    }

    #[test]
    fn paths_that_could_escape_are_refused() {
        let mut builder = NamesBuilder::default();
        builder.add(b"a/b", NodeKind::File).unwrap();
        let long = vec![b'x'; 256];
        let deep = vec![b"d".as_slice(); 251].join(&b'/');
        for (path, error) in [
            (b"/etc/passwd".as_slice(), NameError::Absolute),
            (b"../x", NameError::Dots),
            (b"a/../../x", NameError::Dots),
            (b"./x", NameError::Dots),
            (b"a//b", NameError::EmptyComponent),
            (b"", NameError::EmptyComponent),
            (b"a/", NameError::EmptyComponent),
            (b"a\0b", NameError::Nul),
            (b"a/b/c", NameError::KindConflict),
            (b"a", NameError::KindConflict),
            (&long, NameError::LongComponent),
            (&deep, NameError::LongPath),
        ] {
            assert_eq!(builder.add(path, NodeKind::File), Err(error), "{}", path.escape_ascii());
        }
    }

    #[test]
    fn the_name_walk_lists_files_first_and_parents_before_children() {
        let mut builder = NamesBuilder::default();
        for path in ["b/y", "b/a/z", "a", "c/q", "b/x"] {
            builder.add(path.as_bytes(), NodeKind::File).unwrap();
        }
        let names = builder.build();
        let walk: Vec<_> = names.sorted_walk().iter().map(|&id| names.display_path(id)).collect();
        assert_eq!(walk, ["a", "b", "b/x", "b/y", "b/a", "b/a/z", "c", "c/q"]);
        assert_eq!(names.display_path(NameId::ROOT), "");
    }
}
