//! The clean tree of a data set as a flat list of moves: what a bare loop goes through without
//! looking anything up.

use std::ffi::CStr;

use treering_datasets::Dataset;
use treering_script::{NameId, NameTree, NodeKind};

/// One move of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Make and open a directory in the present one.
    Enter(Name),
    /// Go back to the directory above.
    Leave,
    /// Write a file of so many bytes into the present directory.
    File(Name, u64),
}

/// A name, and where it starts in the list of full paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    path: u32,
    name: u32,
    end: u32,
}

/// A tree as moves, in the order in which treering writes it with `--order sorted`.
#[derive(Clone, Debug, Default)]
pub struct FlatTree {
    /// The moves.
    pub moves: Vec<Move>,
    /// How many files.
    pub files: u64,
    /// How many directories, the top not counted.
    pub dirs: u64,
    /// The sum of all sizes.
    pub bytes: u64,
    /// Paths below the top, each closed by a NUL; a name is the end of its path.
    text: Vec<u8>,
}

impl FlatTree {
    /// The clean tree of a data set.
    pub fn of(dataset: &Dataset) -> Self {
        let names = &dataset.names;
        let mut sizes = vec![None; names.len()];
        dataset.unpatched.iter().for_each(|(id, size)| sizes[id.index()] = Some(size));
        let mut tree = Self::default();
        let mut stack = vec![NameId::ROOT];
        for id in names.sorted_walk() {
            let Some(size) = sizes[id.index()] else { continue };
            debug_assert_eq!(names.kind(id), NodeKind::File, "only files have a size");
            tree.go_to(names, &mut stack, names.parent(id));
            let name = tree.name_of(names, id);
            tree.moves.push(Move::File(name, size));
            tree.files += 1;
            tree.bytes += size;
        }
        tree
    }

    fn go_to(&mut self, names: &NameTree, stack: &mut Vec<NameId>, dir: NameId) {
        let mut path = Vec::new();
        let mut at = dir;
        while !stack.contains(&at) {
            path.push(at);
            at = names.parent(at);
        }
        while stack.last() != Some(&at) {
            stack.pop();
            self.moves.push(Move::Leave);
        }
        for id in path.into_iter().rev() {
            let name = self.name_of(names, id);
            self.moves.push(Move::Enter(name));
            self.dirs += 1;
            stack.push(id);
        }
    }

    fn name_of(&mut self, names: &NameTree, id: NameId) -> Name {
        let place = |text: &Vec<u8>| u32::try_from(text.len()).expect("paths below 4 GiB");
        let path = place(&self.text);
        names.write_path(id, &mut self.text);
        let end = place(&self.text);
        self.text.push(0);
        let length = u32::try_from(names.name(id).count_bytes()).expect("at most 255 bytes");
        Name { path, name: end - length, end }
    }

    /// The name alone.
    #[inline]
    pub fn name(&self, name: Name) -> &CStr {
        self.slice(name.name, name.end)
    }

    /// The path below the tree's top.
    #[inline]
    pub fn path(&self, name: Name) -> &CStr {
        self.slice(name.path, name.end)
    }

    #[inline]
    fn slice(&self, from: u32, end: u32) -> &CStr {
        let bytes = &self.text[from as usize..=end as usize];
        CStr::from_bytes_with_nul(bytes).expect("paths have one NUL, at their end")
    }

    /// The same tree with another top: every path begins with it and a slash.
    #[must_use]
    pub fn below(&self, top: &str) -> Self {
        let mut tree = Self { moves: Vec::with_capacity(self.moves.len()), ..self.clone() };
        tree.text.clear();
        for step in &self.moves {
            let step = match *step {
                Move::Enter(name) => Move::Enter(tree.moved(self, name, top)),
                Move::File(name, size) => Move::File(tree.moved(self, name, top), size),
                Move::Leave => Move::Leave,
            };
            tree.moves.push(step);
        }
        tree
    }

    fn moved(&mut self, from: &Self, name: Name, top: &str) -> Name {
        let start = self.text.len();
        self.text.extend_from_slice(top.as_bytes());
        self.text.push(b'/');
        self.text.extend_from_slice(from.path(name).to_bytes_with_nul());
        let place = |at: usize| u32::try_from(at).expect("paths below 4 GiB");
        let end = place(self.text.len() - 1);
        Name { path: place(start), name: end - (name.end - name.name), end }
    }
}

#[cfg(test)]
mod tests {
    use super::{FlatTree, Move};
    use treering_datasets::library;

    #[test]
    fn the_moves_are_the_whole_tree() {
        let dataset = library::load("linux-6.1-small", &[]).unwrap();
        let tree = FlatTree::of(&dataset);
        let listed = (dataset.unpatched.len() as u64, dataset.unpatched.bytes());
        assert_eq!((tree.files, tree.bytes), listed);
        let below = tree.below("top");
        let mut depth = 0i32;
        for (step, moved) in tree.moves.iter().zip(&below.moves) {
            match (*step, *moved) {
                (Move::Leave, Move::Leave) => depth -= 1,
                (Move::Enter(a), Move::Enter(b)) | (Move::File(a, _), Move::File(b, _)) => {
                    assert_eq!(tree.name(a), below.name(b));
                    let path = tree.path(a).to_str().unwrap();
                    assert_eq!(below.path(b).to_str().unwrap(), format!("top/{path}"));
                    assert_eq!(i32::try_from(path.matches('/').count()).unwrap(), depth);
                    depth += i32::from(matches!(step, Move::Enter(_)));
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(depth >= 0);
    }
}
