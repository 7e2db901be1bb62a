//! Errors have types: no library function that other files call returns `Result<_, String>`, from
//! which its caller could learn nothing but a text.

use syn::visit::{self, Visit};
use syn::{
    GenericArgument, ImplItemFn, ItemFn, PathArguments, ReturnType, Signature, TraitItemFn, Type,
    Visibility,
};

use super::Problem;
use super::tree::CheckoutTree;

/// The command line is exempt: its functions have no other callers.
const CLI: &str = "crates/cli/";

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let library = |path: &str| path.starts_with("crates/") && !path.starts_with(CLI);
    for (file, rust) in tree.rust().filter(|(file, _)| library(&file.path)) {
        let mut finder = StringErrorFinder::default();
        finder.visit_file(&rust.ast);
        for (line, name) in finder.errors.into_iter().filter(|(line, _)| !rust.is_test(*line)) {
            let finding = format!("`{name}` has a String as its error");
            problems.push(Problem::new(
                &file.path,
                line,
                finding,
                "use an enum with the place in it",
            ));
        }
    }
    problems
}

#[derive(Default)]
struct StringErrorFinder {
    errors: Vec<(usize, String)>,
}

impl StringErrorFinder {
    fn note(&mut self, signature: &Signature) {
        if let ReturnType::Type(_, kind) = &signature.output
            && has_string_error(kind)
        {
            self.errors.push((signature.ident.span().start().line, signature.ident.to_string()));
        }
    }
}

/// True if a type is `Result<_, String>` or has one as a type argument.
fn has_string_error(kind: &Type) -> bool {
    let Type::Path(path) = kind else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(kind) => Some(kind),
        _ => None,
    });
    let types: Vec<&Type> = types.collect();
    let is_string = |kind: &&Type| matches!(kind, Type::Path(path) if path.path.is_ident("String"));
    last.ident == "Result" && types.get(1).is_some_and(is_string)
        || types.into_iter().any(has_string_error)
}

impl<'ast> Visit<'ast> for StringErrorFinder {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !matches!(item.vis, Visibility::Inherited) {
            self.note(&item.sig);
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !matches!(item.vis, Visibility::Inherited) {
            self.note(&item.sig);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.note(&item.sig);
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    fn error_lines(path: &str, text: &str) -> Vec<usize> {
        check(&CheckoutTree::from_texts(&[(path, text)]))
            .into_iter()
            .map(|problem| problem.line)
            .collect()
    }

    #[test]
    fn string_errors_of_shared_functions_are_reported() {
        let text = "pub fn a() -> Result<u8, String> {}\n\
                    impl A {\n    pub fn b() -> Option<Result<u8, String>> {}\n}\n\
                    trait C {\n    fn d() -> std::result::Result<(), String>;\n}\n\
                    pub(crate) fn e() -> Result<(), String> {}\n";
        assert_eq!(error_lines("crates/engine/x/src/a.rs", text), [1, 3, 6, 8]);
        assert_eq!(error_lines("crates/cli/src/a.rs", text), [0; 0]);
    }

    #[test]
    fn private_functions_and_tests_pass() {
        let text = "fn a() -> Result<u8, String> {}\n\
                    pub fn c() -> Result<String, E> {}\n\
                    #[cfg(test)]\nmod tests {\n    pub fn d() -> Result<u8, String> {}\n}\n";
        assert_eq!(error_lines("crates/engine/x/src/a.rs", text), [0; 0]);
    }
}
