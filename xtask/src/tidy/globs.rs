//! Names are imported one by one. A glob such as `use super::*` hides which names are used where.
//! Preludes of other crates are exempt, since they are made for globs. clippy's lint has no such
//! rule: it either permits `use super::*` in tests, or rejects preludes.

use proc_macro2::Span;
use syn::UseTree;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Problem;
use super::tree::CheckoutTree;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let mut finder = GlobFinder::default();
        finder.visit_file(&rust.ast);
        for (span, path) in finder.globs {
            let finding = format!("glob import `{path}::*`");
            let line = span.start().line;
            problems.push(Problem::new(&file.path, line, finding, "import by name"));
        }
    }
    problems
}

#[derive(Default)]
struct GlobFinder {
    path: Vec<String>,
    globs: Vec<(Span, String)>,
}

impl<'ast> Visit<'ast> for GlobFinder {
    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        match tree {
            UseTree::Path(path) => {
                self.path.push(path.ident.to_string());
                visit::visit_use_tree(self, tree);
                self.path.pop();
            }
            UseTree::Glob(glob) if self.path.last().is_none_or(|last| last != "prelude") => {
                self.globs.push((glob.span(), self.path.join("::")));
            }
            _ => visit::visit_use_tree(self, tree),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn globs_are_found_anywhere() {
        let text = "use std::{fs, io::*};\nfn a() {\n    use Op::*;\n}\n\
                    mod tests {\n    use super::*;\n}\n";
        let globs: Vec<(usize, String)> = check(&CheckoutTree::from_texts(&[("a.rs", text)]))
            .into_iter()
            .map(|p| (p.line, p.finding))
            .collect();
        assert_eq!(globs[0], (1, "glob import `std::io::*`".to_owned()));
        assert_eq!(globs[1].0, 3);
        assert_eq!(globs[2], (6, "glob import `super::*`".to_owned()));
    }

    #[test]
    fn named_imports_and_preludes_pass() {
        let text = "use std::{fs, io::Read};\nuse proptest::prelude::*;\n";
        assert_eq!(check(&CheckoutTree::from_texts(&[("a.rs", text)])), []);
    }
}
