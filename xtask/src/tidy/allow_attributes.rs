//! A lint is silenced with `#[expect(…, reason = "…")]`, which complains when it is no longer
//! needed, never with `#[allow]`. Macro bodies are left alone: an expectation can be unmet there.

use syn::visit::{self, Visit};
use syn::{Attribute, Meta};

use super::Problem;
use super::source::{lines, names};
use super::tree::Tree;

const RIGHT: &str = "`#[expect(…, reason = \"…\")]`, or fix what it hides";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let mut finder = AttributeFinder::default();
        finder.visit_file(&rust.ast);
        for (line, what) in finder.found {
            problems.push(Problem::new(&file.path, line, what, RIGHT));
        }
    }
    problems
}

#[derive(Default)]
struct AttributeFinder {
    found: Vec<(usize, &'static str)>,
}

impl<'ast> Visit<'ast> for AttributeFinder {
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let line = *lines(attribute).start();
        let path = attribute.path();
        let inside: Vec<String> = match &attribute.meta {
            Meta::List(list) => names(list.tokens.clone()).collect(),
            _ => Vec::new(),
        };
        let conditional = path.is_ident("cfg_attr") && inside.iter().any(|name| name == "allow");
        if path.is_ident("allow") || conditional {
            self.found.push((line, "`allow` attribute"));
        } else if path.is_ident("expect") && !inside.iter().any(|name| name == "reason") {
            self.found.push((line, "`expect` without a reason"));
        }
        visit::visit_attribute(self, attribute);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn allow_and_an_expect_without_reason_are_found() {
        let text = "#![allow(dead_code)]\n#[expect(unused)]\nfn a() {\n    #[allow(unused)]\n    \
                    let b = 1;\n}\n#[cfg_attr(unix, allow(unused))]\nfn c() {}\n";
        let found: Vec<usize> =
            check(&Tree::of(&[("a.rs", text)])).iter().map(|p| p.line).collect();
        assert_eq!(found, [1, 2, 4, 7]);
    }

    #[test]
    fn a_reasoned_expect_passes_and_a_macro_body_is_left_alone() {
        let text = "#[expect(unused, reason = \"kept for the format\")]\nfn a() {}\n\
                    macro_rules! m { () => { #[allow(unused)] fn b() {} } }\n";
        assert_eq!(check(&Tree::of(&[("a.rs", text)])), []);
    }
}
