//! Model of the original: four lists reduced by the original's rules, and the effect of each output
//! line on the files of a tree. Written from the description of the original, not from the program.

use std::collections::{BTreeMap, BTreeSet};

use treering_testkit::{FileSizes, FourLists};

/// File lists as the operations use them.
#[derive(Debug)]
struct Lists {
    unpatched: FileSizes,
    patched: FileSizes,
    compiled: FileSizes,
    patched_compiled: FileSizes,
}

impl Lists {
    fn of(whole: &FourLists) -> Self {
        let mut compiled = whole.unpatched_compiled.clone();
        compiled.retain(|path, _| !whole.unpatched.contains_key(path));
        let mut patched_compiled = whole.patched_compiled.clone();
        patched_compiled.retain(|path, _| !whole.patched.contains_key(path));
        let mut patched = whole.patched.clone();
        patched.retain(|path, size| whole.unpatched.get(path) != Some(size));
        patched_compiled.retain(|path, size| compiled.get(path) != Some(size));
        Self { unpatched: whole.unpatched.clone(), patched, compiled, patched_compiled }
    }
}

/// The dictionary of the original's four that holds a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unpatched,
    Patched,
    Compiled,
    PatchedCompiled,
}

/// A working directory of the original.
#[derive(Debug)]
pub(crate) struct Model {
    lists: Lists,
    /// Existing trees.
    states: BTreeMap<String, State>,
    /// Top directories, including those of deleted trees.
    pub(crate) tops: BTreeSet<String>,
    /// Sizes of the files, by path from the working directory.
    pub(crate) files: FileSizes,
}

impl Model {
    /// Creates a model of an empty directory.
    pub(crate) fn new(lists: &FourLists) -> Self {
        Self {
            lists: Lists::of(lists),
            states: BTreeMap::new(),
            tops: BTreeSet::new(),
            files: FileSizes::new(),
        }
    }

    /// Starts a second run in the same directory, which does not know the existing trees.
    pub(crate) fn begin_again(&mut self) {
        self.states.clear();
    }

    /// Applies an output line of the original: `patch dir kernel-7 109MB in …`.
    pub(crate) fn line(&mut self, line: &str) {
        let mut words = line.split(' ').filter(|word| *word != "dir");
        let kind = words.next().unwrap();
        let tree = words.next().unwrap();
        match kind {
            "create" => self.create(tree),
            "patch" => self.patch(tree),
            "compile" => self.compile(tree),
            "clean" => self.clean(tree),
            "delete" => self.delete(tree),
            "read" | "stat" => assert!(self.states.contains_key(tree), "{tree} is not there"),
            "native" | "using" | "creating" => {}
            _ => panic!("no line of the original: {line}"),
        }
    }

    fn create(&mut self, tree: &str) {
        assert!(self.states.insert(tree.to_owned(), State::Unpatched).is_none(), "{tree} is there");
        self.tops.insert(tree.to_owned());
        append(&mut self.files, tree, &self.lists.unpatched);
    }

    fn patch(&mut self, tree: &str) {
        let state = self.states.get_mut(tree).unwrap();
        let (list, after) = match state {
            State::Unpatched => (&self.lists.patched, State::Patched),
            State::Compiled => (&self.lists.patched_compiled, State::PatchedCompiled),
            other => panic!("patch of {tree}, which is {other:?}"),
        };
        *state = after;
        // The original unlinks or truncates first, so each file has the size in the list.
        self.files.extend(below(tree, list));
    }

    fn compile(&mut self, tree: &str) {
        let state = self.states.get_mut(tree).unwrap();
        let (list, after) = match state {
            State::Unpatched => (&self.lists.compiled, State::Compiled),
            State::Patched => (&self.lists.patched_compiled, State::PatchedCompiled),
            other => panic!("compile of {tree}, which is {other:?}"),
        };
        *state = after;
        append(&mut self.files, tree, list);
    }

    fn clean(&mut self, tree: &str) {
        let state = self.states.get_mut(tree).unwrap();
        let (list, after) = match state {
            State::Compiled => (&self.lists.compiled, State::Unpatched),
            State::PatchedCompiled => (&self.lists.patched_compiled, State::Patched),
            other => panic!("clean of {tree}, which is {other:?}"),
        };
        *state = after;
        for (path, _) in below(tree, list) {
            assert!(self.files.remove(&path).is_some(), "{path} is missing");
        }
    }

    fn delete(&mut self, tree: &str) {
        assert!(self.states.remove(tree).is_some(), "{tree} is not there");
        let inside = format!("{tree}/");
        self.files.retain(|path, _| !path.starts_with(&inside));
    }
}

/// Files of a list in a tree.
fn below<'a>(tree: &'a str, list: &'a FileSizes) -> impl Iterator<Item = (String, u64)> + 'a {
    list.iter().map(move |(path, size)| (format!("{tree}/{path}"), *size))
}

/// Appends to the files, as the original does: existing files grow.
fn append(files: &mut FileSizes, tree: &str, list: &FileSizes) {
    for (path, size) in below(tree, list) {
        *files.entry(path).or_default() += size;
    }
}
