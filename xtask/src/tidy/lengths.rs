//! Functions have at most 70 lines and files at most 600, not counting tests. Longer ones are in
//! the ratchet file and may only shrink.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemImpl, ItemMod, ItemTrait, Signature, TraitItemFn, Type};

use super::Problem;
use super::ratchet::{LengthRule, MeasuredItem, RATCHET, Ratchet};
use super::source::RustFile;
use super::tree::{CheckoutTree, TextFile};

const RULES: [LengthRule; 2] = [
    LengthRule { table: "functions", word: "function", lines_max: 70 },
    LengthRule { table: "files", word: "file", lines_max: 600 },
];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let ratchet = match ratchet(tree) {
        Ok(ratchet) => ratchet,
        Err(error) => return vec![Problem::new(RATCHET, 1, error, "write a table of numbers")],
    };
    let measured = measure(tree);
    RULES.iter().zip(&measured).flat_map(|(rule, items)| ratchet.judge(rule, items)).collect()
}

/// Text of the ratchet file after lowering it to today's sizes.
pub(super) fn lowered(tree: &CheckoutTree) -> Result<String, String> {
    let mut ratchet = ratchet(tree)?;
    for (rule, measured) in RULES.iter().zip(&measure(tree)) {
        ratchet.lower(rule, measured);
    }
    Ok(ratchet.text(&RULES))
}

fn ratchet(tree: &CheckoutTree) -> Result<Ratchet, String> {
    Ratchet::parse(tree.text(RATCHET).unwrap_or_default())
}

/// All functions and all files, in the order of `RULES`.
fn measure(tree: &CheckoutTree) -> [Vec<MeasuredItem>; 2] {
    let mut functions = Vec::new();
    let mut files = Vec::new();
    for (file, rust) in tree.rust() {
        let count = (1..=file.text.lines().count()).filter(|line| !rust.is_test(*line)).count();
        let key = file.path.clone();
        files.push(MeasuredItem { path: key.clone(), key, line: 1, lines: count });
        let mut finder =
            FunctionFinder { file, rust, scope: Vec::new(), functions_found: &mut functions };
        finder.visit_file(&rust.ast);
    }
    [functions, files]
}

struct FunctionFinder<'a> {
    file: &'a TextFile,
    rust: &'a RustFile,
    /// Names of the enclosing types, modules and functions.
    scope: Vec<String>,
    functions_found: &'a mut Vec<MeasuredItem>,
}

impl FunctionFinder<'_> {
    /// Measures a function from the line of `fn` to the closing brace; nested functions are also
    /// measured by themselves.
    fn note(&mut self, signature: &Signature, body: &Block) {
        let line = signature.fn_token.span.start().line;
        let end: Span = body.brace_token.span.close();
        let lines = end.end().line - line + 1;
        self.scope.push(signature.ident.to_string());
        if !self.rust.is_test(line) {
            let key = format!("{}::{}", self.file.path, self.scope.join("::"));
            self.functions_found.push(MeasuredItem {
                key,
                path: self.file.path.clone(),
                line,
                lines,
            });
        }
    }
}

impl<'ast> Visit<'ast> for FunctionFinder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
        self.scope.pop();
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.note(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
        self.scope.pop();
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.note(&item.sig, body);
            visit::visit_trait_item_fn(self, item);
            self.scope.pop();
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.scope.push(type_name(&item.self_ty));
        visit::visit_item_impl(self, item);
        self.scope.pop();
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.scope.pop();
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.scope.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.scope.pop();
    }
}

fn type_name(of: &Type) -> String {
    match of {
        Type::Path(path) => {
            path.path.segments.last().map_or_else(String::new, |last| last.ident.to_string())
        }
        Type::Reference(reference) => type_name(&reference.elem),
        other => format!("line {}", other.span().start().line),
    }
}

#[cfg(test)]
mod tests {
    use super::{check, lowered};
    use crate::tidy::tree::CheckoutTree;

    fn function(lines: usize) -> String {
        format!("impl S {{\n    fn long() {{\n{}    }}\n}}\n", "        a();\n".repeat(lines - 2))
    }

    #[test]
    fn a_long_function_is_found_at_its_line() {
        let functions_found = check(&CheckoutTree::from_texts(&[("a.rs", &function(71))]));
        assert_eq!(functions_found.len(), 1);
        assert!(
            functions_found[0].to_string().starts_with("a.rs:2: function of 71 lines; at most 70")
        );
        assert_eq!(check(&CheckoutTree::from_texts(&[("a.rs", &function(70))])), []);
    }

    #[test]
    fn doc_comments_and_attributes_do_not_count() {
        let text = format!("/// Word.\n{}#[inline]\nfn a() {{}}\n", "/// Word.\n".repeat(90));
        assert_eq!(check(&CheckoutTree::from_texts(&[("a.rs", &text)])), []);
    }

    #[test]
    fn long_files_are_reported_without_their_tests() {
        let code = "const A: u8 = 1;\n".repeat(600);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "fn a() {}\n".repeat(300));
        assert_eq!(check(&CheckoutTree::from_texts(&[("a.rs", &format!("{code}{tests}"))])), []);
        let functions_found =
            check(&CheckoutTree::from_texts(&[("a.rs", &format!("{code}use a;\n{tests}"))]));
        assert_eq!(functions_found.len(), 1);
        assert!(functions_found[0].finding.contains("file of 601 lines"), "{}", functions_found[0]);
    }

    #[test]
    fn the_ratchet_tolerates_old_lengths_and_is_lowered_by_update() {
        let (text, at) = (function(80), "[functions]\n\"a.rs::S::long\" = 80\n\n[files]\n");
        let tree = CheckoutTree::from_texts(&[("a.rs", &text), ("xtask/ratchet.toml", at)]);
        assert_eq!(check(&tree), []);
        let above = "[functions]\n\"a.rs::S::long\" = 90\n";
        let tree = CheckoutTree::from_texts(&[("a.rs", &text), ("xtask/ratchet.toml", above)]);
        assert!(check(&tree)[0].advice.contains("lower the ratchet"));
        assert_eq!(lowered(&tree).unwrap().trim_start(), at);
    }
}
