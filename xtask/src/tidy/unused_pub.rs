//! A `pub` item of a library that no other crate uses must be `pub(crate)`, or is dead. Names in
//! the tokens of other crates, fuzz targets and the crate's own programs count as uses. A use in
//! tests, benches or examples counts only if the library itself uses the item, too. An item in the
//! signature of a used one counts as used.

use std::collections::{BTreeMap, BTreeSet};

use super::Problem;
use super::public_items::{PublicItems, public_items};
use super::tree::CheckoutTree;

/// Crate: a package's library, or everything else of the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CrateUnit<'a> {
    folder: &'a str,
    is_library: bool,
}

/// Items that exist for tests of other crates: a library cannot offer an item to tests alone.
const FOR_TESTS: [&str; 16] = [
    // Only tests choose directories and ways to confine names.
    "confined_by",
    "with_images_in",
    // Tests compare the tree on disk with that of the memory filesystem.
    "from_directory",
    // The registry has these three as tools; their own tests run them by name.
    "IorWorkload",
    "MdtestWorkload",
    "PostmarkWorkload",
    // Reference values in the literature are for these forms of a method.
    "hodges_lehmann_shift",
    "mann_whitney_normal",
    "signed_rank_normal",
    "signed_rank_probabilities",
    "paired_power",
    "lies_within",
    // docs/statistics.md describes simulations with this threshold.
    "THRESHOLD_THROUGHPUT",
    // An example writes the option tables of documents, and a test checks them.
    "with_option_table",
    // Only their own tests need these two: they will be removed when their crates are next changed.
    "merge_ops",
    "shortest_prefix_len",
];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut mentions: BTreeMap<&str, BTreeSet<CrateUnit<'_>>> = BTreeMap::new();
    let mut by_tests: BTreeSet<&str> = BTreeSet::new();
    let mut by_unit_tests: BTreeMap<&str, BTreeSet<CrateUnit<'_>>> = BTreeMap::new();
    let mut inside: BTreeMap<(CrateUnit<'_>, &str), usize> = BTreeMap::new();
    let mut items_by_crate: BTreeMap<CrateUnit<'_>, Vec<(&str, PublicItems)>> = BTreeMap::new();
    let folders: Vec<&str> = tree.package_folders().collect();
    for (file, rust) in tree.rust() {
        let Some(unit) = unit(&folders, &file.path) else {
            continue;
        };
        let is_for_tests = serves_tests(&file.path);
        for token in rust.tokens.iter().filter(|token| token.is_name) {
            let name = token.text.as_str();
            if is_for_tests {
                by_tests.insert(name);
            } else if rust.is_test(token.line) {
                by_unit_tests.entry(name).or_default().insert(unit);
            } else {
                mentions.entry(name).or_default().insert(unit);
                // Mentions in lib.rs are reexports.
                *inside.entry((unit, name)).or_default() += usize::from(!is_root(&file.path));
            }
        }
        let library = format!("{}/src/lib.rs", unit.folder);
        if unit.is_library && !is_for_tests && !rust.all_test && tree.paths.contains(&library) {
            items_by_crate.entry(unit).or_default().push((&file.path, public_items(rust)));
        }
    }
    let mentioned_outside = |name: &str, unit: CrateUnit<'_>| {
        let by_others =
            mentions.get(name).is_some_and(|units| units.iter().any(|other| *other != unit));
        // A single mention is the declaration.
        let is_used_inside = inside.get(&(unit, name)).is_some_and(|count| *count > 1);
        let by_unit_tests =
            by_unit_tests.get(name).is_some_and(|units| units.iter().any(|other| *other != unit));
        let is_tested = by_tests.contains(name) || by_unit_tests;
        let by_tests = is_tested && (is_used_inside || FOR_TESTS.contains(&name));
        by_others || by_tests
    };
    let mut problems = Vec::new();
    for (unit, files) in &items_by_crate {
        let used = used(files, |name| mentioned_outside(name, *unit));
        for (path, items_by_crate) in files {
            for item in
                items_by_crate.items.iter().filter(|item| !used.contains(item.name.as_str()))
            {
                let finding = format!("no other crate uses `pub {} {}`", item.kind, item.name);
                problems.push(Problem::new(path, item.line, finding, "make it pub(crate)"));
            }
        }
    }
    problems
}

/// Used names: those mentioned outside the crate, and all that their signatures need, transitively.
fn used<'a>(
    files: &'a [(&str, PublicItems)],
    mentioned: impl Fn(&str) -> bool,
) -> BTreeSet<&'a str> {
    let mut needs: BTreeMap<&str, Vec<&BTreeSet<String>>> = BTreeMap::new();
    let mut open: Vec<&str> = Vec::new();
    for (_, items) in files {
        for item in &items.items {
            needs.entry(&item.name).or_default().push(&item.signature);
            if mentioned(&item.name) {
                open.push(&item.name);
            }
        }
        for (name, signature) in &items.needed_names {
            needs.entry(name).or_default().push(signature);
            if mentioned(name) {
                open.push(name);
            }
        }
    }
    let mut used = BTreeSet::new();
    while let Some(name) = open.pop() {
        if used.insert(name) {
            let signatures = needs.get(name).into_iter().flatten();
            open.extend(signatures.flat_map(|names| names.iter().map(String::as_str)));
        }
    }
    used
}

fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs")
}

/// True for tests, benches, examples, and packages for them.
fn serves_tests(path: &str) -> bool {
    let packages = ["testkit/", "benches/"];
    let folders = ["/tests/", "/benches/", "/examples/"];
    packages.iter().any(|package| path.starts_with(package))
        || folders.iter().any(|folder| path.contains(folder))
}

/// Crate of a file.
fn unit<'a>(folders: &[&'a str], path: &str) -> Option<CrateUnit<'a>> {
    let inside = |folder: &str| path.strip_prefix(folder).and_then(|tail| tail.strip_prefix('/'));
    let folder =
        folders.iter().filter(|folder| inside(folder).is_some()).max_by_key(|f| f.len())?;
    let tail = inside(folder)?;
    let is_library =
        tail.starts_with("src/") && tail != "src/main.rs" && !tail.starts_with("src/bin/");
    Some(CrateUnit { folder, is_library })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    const MANIFESTS: [(&str, &str); 2] = [("a/Cargo.toml", ""), ("b/Cargo.toml", "")];

    fn faults(library: &str, files: &[(&str, &str)]) -> Vec<String> {
        let mut manifests = MANIFESTS.to_vec();
        manifests.push(("a/src/lib.rs", library));
        manifests.extend_from_slice(files);
        check(&CheckoutTree::from_texts(&manifests)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn items_that_only_their_own_crate_mentions_are_found() {
        let library = "pub fn lonely() {}\npub struct S;\nimpl S {\n    pub fn quiet(&self) {}\n}\n\
                       mod inner {\n    pub(crate) fn fine() {}\n    pub const C: u8 = 1;\n}\n";
        let faults_reported = faults(library, &[("a/src/other.rs", "fn x() { crate::lonely(); }")]);
        assert_eq!(faults_reported.len(), 4, "{faults_reported:?}");
        assert_eq!(
            faults_reported[0],
            "a/src/lib.rs:1: no other crate uses `pub fn lonely`; make it pub(crate)"
        );
        assert!(
            faults_reported[2].contains(":4:") && faults_reported[3].contains(":8:"),
            "{faults_reported:?}"
        );
    }

    #[test]
    fn mentions_in_other_crates_programs_and_macros_count() {
        let library = "pub fn one() {}\npub fn two() {}\npub fn three() {}\n";
        let users = [
            ("b/src/lib.rs", "fn x() { a::one(); }"),
            ("a/src/main.rs", "fn x() { a::two(); }"),
            ("b/src/other.rs", "fn x() { run!(a::three()); }"),
        ];
        assert_eq!(faults(library, &users), [""; 0]);
    }

    #[test]
    fn mentions_in_tests_benches_and_examples_do_not_count() {
        let library = "pub fn one() {}\n";
        for path in ["a/tests/t.rs", "b/tests/t.rs", "a/benches/c.rs", "a/examples/e/main.rs"] {
            assert_eq!(faults(library, &[(path, "fn x() { a::one(); }")]).len(), 1, "{path}");
        }
        let in_module = "#[cfg(test)]\nmod tests { fn t() { a::one() } }\n";
        assert_eq!(faults(library, &[("b/src/lib.rs", in_module)]).len(), 1);
    }

    #[test]
    fn tests_count_as_users_of_what_the_library_uses_too() {
        let library = "mod m;\npub use m::one;\n";
        let module = "pub fn one() {}\nfn used() { one(); }\n";
        let files = [("a/src/m.rs", module), ("a/tests/t.rs", "fn x() { a::one(); }")];
        assert_eq!(faults(library, &files), [""; 0]);
    }

    #[test]
    fn own_unit_tests_comments_and_strings_do_not_count() {
        let library = "pub fn one() {}\n#[cfg(test)]\nmod tests { fn t() { super::one() } }\n";
        assert_eq!(
            faults(library, &[("b/src/lib.rs", "// one\nconst A: &str = \"one\";")]).len(),
            1
        );
    }

    #[test]
    fn types_in_used_signatures_count_as_used() {
        let library = "pub fn make() -> Made { todo() }\npub struct Made { pub part: Part }\n\
                       pub struct Part { hidden: Hidden }\npub struct Hidden;\n\
                       impl Iterator for Made { type Item = Yielded; }\npub struct Yielded;\n";
        let faults_reported = faults(library, &[("b/src/lib.rs", "fn x() { a::make(); }")]);
        assert_eq!(faults_reported.len(), 1, "{faults_reported:?}");
        assert!(faults_reported[0].contains("Hidden"));
    }

    #[test]
    fn macro_expansions_and_aliases_count_as_use() {
        let library = "#[macro_export]\nmacro_rules! m { () => { $crate::inside() } }\n\
                       pub fn inside() {}\npub struct Real;\npub use Real as Alias;\n";
        assert_eq!(faults(library, &[("b/src/lib.rs", "m!(); type X = Alias;")]), [""; 0]);
    }
}
