//! Recipes: files that an operation removes and writes, in classic and in native mode.
//!
//! The classic recipes are the reductions of the original: a patched tree keeps files that the
//! later version no longer has, a patch of a compiled tree rewrites products but not sources. The
//! native recipes are exact differences, so that a tree in a state always has exactly that state's
//! files.

use std::sync::Arc;

use treering_datasets::{Dataset, FileList};
use treering_script::{NameId, NameTree};

/// Transition of a tree from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Recipe {
    /// New tree → unpatched.
    Create,
    /// Unpatched → patched.
    Patch,
    /// Unpatched compiled → patched compiled.
    PatchCompiled,
    /// Unpatched → unpatched compiled.
    Compile,
    /// Patched → patched compiled.
    CompilePatched,
    /// Unpatched compiled → unpatched.
    Clean,
    /// Patched compiled → patched.
    CleanPatched,
}

/// Files to remove, then files to write, each in order.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeChange {
    /// Files removed first.
    pub(super) removes: Vec<NameId>,
    /// Files written then, with their sizes.
    pub(super) writes: Arc<FileList>,
    /// Bytes that the operation's output line names.
    pub(super) listed_bytes: u64,
}

treering_model::named_enum! {
    /// List of files whose native order is determined.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum NativeList {
        /// Files written by a create.
        Unpatched = "unpatched",
        /// Files written by a patch.
        Patched = "patched",
        /// Files written by a patch of a compiled tree.
        PatchedCompiled = "patched compiled",
    }
}

/// Recipes of a dataset.
#[derive(Clone, Debug)]
pub(super) struct Recipes {
    /// Names that the lists refer to.
    pub(super) names: Arc<NameTree>,
    create: Arc<TreeChange>,
    patch: Arc<TreeChange>,
    patch_compiled: Arc<TreeChange>,
    compile: Arc<TreeChange>,
    compile_patched: Arc<TreeChange>,
    clean: Arc<TreeChange>,
    clean_patched: Arc<TreeChange>,
}

impl Recipes {
    /// Recipes of the original, with its reductions and in its order.
    ///
    /// Also returns the number of products that the original shuffles, each but one costing a draw.
    pub(super) fn classic(dataset: &Dataset) -> (Self, usize) {
        let names = &dataset.names;
        let unpatched = SizeTable::from_list(names, &dataset.unpatched);
        let compiled = without(&dataset.unpatched_compiled, |name, _| unpatched.has(name));
        let patched_full = SizeTable::from_list(names, &dataset.patched);
        let patched_compiled = without(&dataset.patched_compiled, |name, _| patched_full.has(name));
        let patched = without(&dataset.patched, |name, size| unpatched.size(name) == Some(size));
        let compiled_sizes = SizeTable::from_list(names, &compiled);
        let patched_compiled =
            without(&patched_compiled, |name, size| compiled_sizes.size(name) == Some(size));
        let shuffled = compiled.len();
        let of_patched_compiled = Arc::new(write_mode(patched_compiled.clone()));
        let recipes = Self {
            names: Arc::clone(names),
            create: Arc::new(write_mode(dataset.unpatched.clone())),
            patch: Arc::new(write_mode(patched)),
            patch_compiled: Arc::clone(&of_patched_compiled),
            clean: Arc::new(removing(&compiled)),
            compile: Arc::new(write_mode(compiled)),
            compile_patched: of_patched_compiled,
            clean_patched: Arc::new(removing(&patched_compiled)),
        };
        (recipes, shuffled)
    }

    /// Recipes that are exact differences between the states.
    pub(super) fn native(dataset: &Dataset) -> Self {
        let between =
            |from: &FileList, to: &FileList| Arc::new(difference(&dataset.names, from, to));
        Self {
            names: Arc::clone(&dataset.names),
            create: Arc::new(write_mode(dataset.unpatched.clone())),
            patch: between(&dataset.unpatched, &dataset.patched),
            patch_compiled: between(&dataset.unpatched_compiled, &dataset.patched_compiled),
            compile: between(&dataset.unpatched, &dataset.unpatched_compiled),
            compile_patched: between(&dataset.patched, &dataset.patched_compiled),
            clean: between(&dataset.unpatched_compiled, &dataset.unpatched),
            clean_patched: between(&dataset.patched_compiled, &dataset.patched),
        }
    }

    /// Change of a recipe.
    pub(super) fn get(&self, recipe: Recipe) -> &Arc<TreeChange> {
        match recipe {
            Recipe::Create => &self.create,
            Recipe::Patch => &self.patch,
            Recipe::PatchCompiled => &self.patch_compiled,
            Recipe::Compile => &self.compile,
            Recipe::CompilePatched => &self.compile_patched,
            Recipe::Clean => &self.clean,
            Recipe::CleanPatched => &self.clean_patched,
        }
    }

    /// List from which a native order is taken.
    pub(super) fn native_list(&self, list: NativeList) -> &Arc<FileList> {
        match list {
            NativeList::Unpatched => &self.create.writes,
            NativeList::Patched => &self.patch.writes,
            NativeList::PatchedCompiled => &self.patch_compiled.writes,
        }
    }

    /// Reorders the files of a list where they are written and removed.
    pub(super) fn reorder(&mut self, list: NativeList, order: &[NameId]) {
        let shares_products = Arc::ptr_eq(&self.patch_compiled, &self.compile_patched);
        let recipe = match list {
            NativeList::Unpatched => &mut self.create,
            NativeList::Patched => &mut self.patch,
            NativeList::PatchedCompiled => &mut self.patch_compiled,
        };
        let writes = Arc::new(in_order(&self.names, &recipe.writes, order));
        *recipe = Arc::new(TreeChange {
            removes: recipe.removes.clone(),
            writes: Arc::clone(&writes),
            listed_bytes: recipe.listed_bytes,
        });
        if list == NativeList::PatchedCompiled && shares_products {
            self.compile_patched = Arc::clone(&self.patch_compiled);
            self.clean_patched = Arc::new(removing(&writes));
        }
    }

    /// Reorders the files that a recipe writes, or removes if it writes none.
    pub(super) fn arrange(
        &mut self,
        recipe: Recipe,
        order: impl FnOnce(&NameTree, &mut Vec<NameId>),
    ) {
        let names = Arc::clone(&self.names);
        let place = match recipe {
            Recipe::Create => &mut self.create,
            Recipe::Patch => &mut self.patch,
            Recipe::PatchCompiled => &mut self.patch_compiled,
            Recipe::Compile => &mut self.compile,
            Recipe::CompilePatched => &mut self.compile_patched,
            Recipe::Clean => &mut self.clean,
            Recipe::CleanPatched => &mut self.clean_patched,
        };
        let mut wanted: Vec<NameId> = if place.writes.is_empty() {
            place.removes.clone()
        } else {
            place.writes.iter().map(|(name, _)| name).collect()
        };
        order(&names, &mut wanted);
        let changed = if place.writes.is_empty() {
            TreeChange { removes: wanted, ..TreeChange::clone(place) }
        } else {
            let writes = Arc::new(in_order(&names, &place.writes, &wanted));
            TreeChange { writes, ..TreeChange::clone(place) }
        };
        *place = Arc::new(changed);
    }
}

/// Sizes indexed by name.
struct SizeTable(Vec<u64>);

/// Marker for an absent file; readers refuse sums of 2^63.
const ABSENT: u64 = u64::MAX;

impl SizeTable {
    fn from_list(names: &NameTree, list: &FileList) -> Self {
        let mut sizes = vec![ABSENT; names.len()];
        for (name, size) in list.iter() {
            sizes[name.index()] = size;
        }
        Self(sizes)
    }

    fn has(&self, name: NameId) -> bool {
        self.0[name.index()] != ABSENT
    }

    fn size(&self, name: NameId) -> Option<u64> {
        Some(self.0[name.index()]).filter(|&size| size != ABSENT)
    }
}

fn without(list: &FileList, dropped: impl Fn(NameId, u64) -> bool) -> FileList {
    let mut kept = FileList::default();
    list.iter().filter(|&(name, size)| !dropped(name, size)).for_each(|(name, size)| {
        kept.push(name, size);
    });
    kept
}

fn write_mode(list: FileList) -> TreeChange {
    TreeChange { removes: Vec::new(), listed_bytes: list.bytes(), writes: Arc::new(list) }
}

fn removing(list: &FileList) -> TreeChange {
    TreeChange {
        removes: list.iter().map(|(name, _)| name).collect(),
        writes: Arc::default(),
        listed_bytes: list.bytes(),
    }
}

/// Changes that turn a tree with the files `from` into one with `to`.
fn difference(names: &NameTree, from: &FileList, to: &FileList) -> TreeChange {
    let old = SizeTable::from_list(names, from);
    let new = SizeTable::from_list(names, to);
    let gone = without(from, |name, _| new.has(name));
    let written = without(to, |name, size| old.size(name) == Some(size));
    let listed_bytes = if written.is_empty() { gone.bytes() } else { written.bytes() };
    TreeChange {
        removes: gone.iter().map(|(name, _)| name).collect(),
        writes: Arc::new(written),
        listed_bytes,
    }
}

/// Reorders a list; files that the order does not name follow at the end, in their old order.
fn in_order(names: &NameTree, list: &FileList, order: &[NameId]) -> FileList {
    let mut sizes = SizeTable::from_list(names, list);
    let mut ordered = FileList::default();
    let listed = list.iter().map(|(name, _)| name);
    for name in order.iter().copied().chain(listed) {
        if let Some(size) = sizes.size(name) {
            ordered.push(name, size);
            sizes.0[name.index()] = ABSENT;
        }
    }
    ordered
}
