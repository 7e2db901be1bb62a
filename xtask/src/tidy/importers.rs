//! Importers are pure: the `import` folder of a tool's crate uses neither the engine nor the rest
//! of its crate, except for `report`, which is pure as well.

use super::Problem;
use super::tree::CheckoutTree;

/// Crates that make system calls or run workloads.
const IMPURE: &[&str] =
    &["treering_script", "treering_engine", "treering_sys", "treering_lab", "treering_observe"];
/// Modules of its own crate that an importer may use.
const PURE: &[&str] = &["import", "report"];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let Some((crate_folder, _)) = file.path.split_once("/src/import/") else { continue };
        if !crate_folder.starts_with("crates/tools/") {
            continue;
        }
        let mut problem = |line: usize, named: &str| {
            let finding = format!("an importer names `{named}`");
            let advice = "take what both need into `import`, `report` or the kit";
            problems.push(Problem::new(&file.path, line, finding, advice));
        };
        for token in &rust.tokens {
            if token.is_name && IMPURE.contains(&token.text.as_str()) {
                problem(token.line, &token.text);
            }
        }
        let is_kit = crate_folder.ends_with("/kit");
        for four in rust.tokens.windows(4) {
            let [root, first, second, name] = four else { continue };
            let is_path = first.text == ":" && second.text == ":" && name.is_name;
            let is_foreign = match root.text.as_str() {
                "crate" => !is_kit && !PURE.contains(&name.text.as_str()),
                "treering_kit" => name.text != "import",
                _ => false,
            };
            if is_path && is_foreign {
                problem(name.line, &format!("{}::{}", root.text, name.text));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn importers_that_name_the_engine_or_the_workload_are_found() {
        let impure = "use treering_script::Io;\nuse crate::session::Session;\n\
                      use treering_kit::cautions;\nuse crate::import::lines;\n\
                      use treering_kit::import::log::Log;\nuse crate::report::Run;\n";
        let tree = CheckoutTree::from_texts(&[
            ("crates/tools/fio/src/import/mod.rs", impure),
            ("crates/tools/fio/src/session.rs", impure),
        ]);
        let lines: Vec<usize> = check(&tree).iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }
}
