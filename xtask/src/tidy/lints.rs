//! Every package takes its lints from `[workspace.lints]`, so that clippy holds all code to the
//! same rules.

use super::Problem;
use super::tree::CheckoutTree;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.package_folders().filter(|folder| *folder != "fuzz") {
        let manifest = format!("{folder}/Cargo.toml");
        let Some(text) = tree.text(&manifest) else {
            continue;
        };
        let table = match text.parse::<toml::Table>() {
            Ok(table) => table,
            Err(error) => {
                let finding = format!("not TOML: {}", error.message());
                problems.push(Problem::new(&manifest, 1, finding, "write valid TOML"));
                continue;
            }
        };
        let inherits = table
            .get("lints")
            .and_then(|lints| lints.get("workspace"))
            .and_then(toml::Value::as_bool)
            .unwrap_or(false);
        if !inherits {
            let advice = "add `[lints]` with `workspace = true`";
            problems.push(Problem::new(&manifest, 1, "lints of its own, or none", advice));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn a_package_without_the_workspace_lints_is_found() {
        let tree = CheckoutTree::from_texts(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/b/Cargo.toml", "[lints.clippy]\nall = \"allow\"\n"),
            ("crates/c/Cargo.toml", "= 1\n"),
        ]);
        assert_eq!(check(&tree).len(), 3);
    }

    #[test]
    fn inheriting_packages_the_root_and_fuzz_pass() {
        let tree = CheckoutTree::from_texts(&[
            ("Cargo.toml", "[workspace]\n"),
            ("fuzz/Cargo.toml", "[package]\n"),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/b/Cargo.toml", "lints.workspace = true\n"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
