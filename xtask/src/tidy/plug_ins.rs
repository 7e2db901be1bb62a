//! Plug points have one form: one folder for each plug-in, and one line in a list. Every folder of
//! a plug point must be named in an array of that point's list file, so that none is forgotten.

use std::collections::BTreeSet;

use syn::visit::Visit;
use syn::{Expr, ItemConst, ItemStatic};

use super::Problem;
use super::source::RustFile;
use super::tree::CheckoutTree;

struct PlugPoint {
    folder: &'static str,
    /// File with the list, if it is outside the folder.
    list: Option<&'static str>,
    /// Folders that are not plug-ins.
    others: &'static [&'static str],
    /// True if single files are plug-ins too, and not only folders.
    files_count: bool,
}

const POINTS: &[PlugPoint] = &[
    PlugPoint {
        folder: "crates/tools",
        list: Some("crates/tools/registry/src/lib.rs"),
        others: &["datasets", "kit", "registry"],
        files_count: false,
    },
    PlugPoint::in_its_folder("crates/model/src/filesystems", true),
    PlugPoint::in_its_folder("crates/machine/observe/src", false),
    PlugPoint::in_its_folder("crates/report/report/src/formats", true),
];

impl PlugPoint {
    const fn in_its_folder(folder: &'static str, files_count: bool) -> Self {
        Self { folder, list: None, others: &[], files_count }
    }
}

/// Files that contain the list and are never plug-ins.
const LIST_FILES: &[&str] = &["lib.rs", "mod.rs", "list.rs"];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    POINTS.iter().flat_map(|point| check_point(tree, point)).collect()
}

fn check_point(tree: &CheckoutTree, point: &PlugPoint) -> Vec<Problem> {
    let mut listed = BTreeSet::new();
    let mut list_file = None;
    for (file, rust) in tree.rust() {
        let inside = file.path.strip_prefix(point.folder).and_then(|tail| tail.strip_prefix('/'));
        let beside = file.path.strip_suffix(".rs") == Some(point.folder);
        let is_list = match point.list {
            Some(list) => file.path == list,
            None => beside || inside.is_some_and(|name| LIST_FILES.contains(&name)),
        };
        if is_list {
            let names = listed_in(rust);
            if list_file.is_none() || !names.is_empty() {
                list_file = Some(file.path.as_str());
            }
            listed.extend(names);
        }
    }
    let list_file = list_file.map_or_else(|| format!("{}/mod.rs", point.folder), str::to_owned);
    let missing = plug_ins(tree, point)
        .into_iter()
        .filter(|name| !listed.contains(name) && !listed.contains(&format!("treering_{name}")));
    missing
        .map(|name| {
            let finding = format!("plug-in `{name}` of {} is in no list", point.folder);
            let advice = format!("name `{name}::…` in the array of the plug point");
            Problem::new(&list_file, 1, finding, advice)
        })
        .collect()
}

fn plug_ins(tree: &CheckoutTree, point: &PlugPoint) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (file, rust) in tree.rust().filter(|(_, rust)| !rust.all_test) {
        let Some(inside) = file.path.strip_prefix(point.folder) else {
            continue;
        };
        let Some(inside) = inside.strip_prefix('/') else {
            continue;
        };
        match inside.split_once('/') {
            Some((folder, _)) if point.others.contains(&folder) => false,
            Some((folder, _)) => names.insert(folder.to_owned()),
            None if point.files_count && !LIST_FILES.contains(&inside) && !rust.all_test => {
                names.insert(inside.trim_end_matches(".rs").to_owned())
            }
            None => false,
        };
    }
    names
}

/// Names before `::` in the arrays of this file's constants and statics.
fn listed_in(rust: &RustFile) -> BTreeSet<String> {
    let mut finder = ListFinder::default();
    finder.visit_file(&rust.ast);
    let mut names = BTreeSet::new();
    for line_range in finder.arrays {
        let inside: Vec<_> = rust.tokens.iter().filter(|t| line_range.contains(&t.line)).collect();
        for window in inside.windows(3) {
            if window[0].is_name && window[1].text == ":" && window[2].text == ":" {
                names.insert(window[0].text.clone());
            }
        }
    }
    names
}

#[derive(Default)]
struct ListFinder {
    arrays: Vec<std::ops::RangeInclusive<usize>>,
}

impl ListFinder {
    fn note(&mut self, value: &Expr) {
        let is_array = match value {
            Expr::Array(_) => true,
            Expr::Reference(reference) => matches!(*reference.expr, Expr::Array(_)),
            _ => false,
        };
        if is_array {
            self.arrays.push(super::source::lines(value));
        }
    }
}

impl<'ast> Visit<'ast> for ListFinder {
    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.note(&item.expr);
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.note(&item.expr);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn unlisted_plug_in_folders_are_reported() {
        let tree = CheckoutTree::from_texts(&[
            (
                "crates/machine/observe/src/lib.rs",
                "mod fio;\nmod ffsb;\npub static ALL: &[&dyn W] = &[\n    &fio::Fio,\n];\n\
                 fn not_the_list() { ffsb::b(); }\n",
            ),
            ("crates/machine/observe/src/fio/mod.rs", ""),
            ("crates/machine/observe/src/ffsb/mod.rs", ""),
        ]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].finding.contains("`ffsb`"), "{}", problems[0]);
        assert_eq!(problems[0].path, "crates/machine/observe/src/lib.rs");
    }

    #[test]
    fn tools_are_listed_in_the_registry() {
        let tree = CheckoutTree::from_texts(&[
            ("crates/tools/registry/src/lib.rs", "const TOOLS: &[Tool] = &[treering_fio::TOOL];\n"),
            ("crates/tools/fio/src/lib.rs", ""),
            ("crates/tools/kit/src/lib.rs", ""),
            ("crates/tools/ffsb/src/lib.rs", ""),
        ]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].finding.contains("`ffsb`"), "{}", problems[0]);
    }

    #[test]
    fn plain_files_count_as_plug_ins_only_for_formats() {
        let tree = CheckoutTree::from_texts(&[
            ("crates/report/report/src/formats/mod.rs", "const ALL: &[F] = &[json::F];\n"),
            ("crates/report/report/src/formats/json.rs", ""),
            ("crates/report/report/src/formats/csv.rs", ""),
            ("crates/machine/observe/src/error.rs", ""),
        ]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].finding.contains("`csv`"));
    }

    #[test]
    fn complete_plug_in_lists_pass() {
        let tree = CheckoutTree::from_texts(&[
            ("crates/machine/observe/src/list.rs", "const ALL: [I; 1] = [crate::fio::I];\n"),
            ("crates/machine/observe/src/lib.rs", ""),
            ("crates/machine/observe/src/fio/mod.rs", ""),
            ("crates/model/src/filesystems.rs", "static ALL: &[F] = &[ext4::F];\n"),
            ("crates/model/src/filesystems/ext4/mod.rs", ""),
            ("crates/model/src/filesystems/tests.rs", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn missing_plug_points_are_skipped() {
        assert_eq!(check(&CheckoutTree::from_texts(&[("README.md", "")])), []);
    }
}
