//! A parsed Rust file: its syntax tree, its tokens with their lines, and which lines are test code.
//! Tokens include the contents of macro calls, which the syntax tree lacks; neither has comments.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta};

/// A parsed Rust file.
pub(super) struct RustFile {
    pub(super) ast: syn::File,
    pub(super) tokens: Vec<Token>,
    /// True if the whole file is test code, by its folder or its declaration.
    pub(super) all_test: bool,
    test_lines: Vec<RangeInclusive<usize>>,
}

/// One token; groups are flattened into their brackets.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
    /// Last line of a literal over several lines.
    pub(super) end_line: usize,
    pub(super) is_name: bool,
}

impl Token {
    pub(super) fn holds(&self, line: usize) -> bool {
        (self.line..=self.end_line).contains(&line)
    }
}

impl RustFile {
    pub(super) fn parse(text: &str) -> syn::Result<Self> {
        let stream: TokenStream = text.parse()?;
        let ast: syn::File = syn::parse_file(text)?;
        let mut finder = TestFinder::default();
        finder.visit_file(&ast);
        let all_test = ast.attrs.iter().any(only_in_tests);
        Ok(Self { ast, tokens: tokens(stream), all_test, test_lines: finder.lines })
    }

    pub(super) fn is_test(&self, line: usize) -> bool {
        self.all_test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// Finds every sequence of these tokens. The pattern is Rust: `process::exit`.
    pub(super) fn find(&self, pattern: &str) -> Vec<&Token> {
        let wanted = names_and_signs(pattern);
        self.tokens
            .windows(wanted.len())
            .filter(|window| window.iter().zip(&wanted).all(|(token, want)| token.text == *want))
            .map(|window| &window[0])
            .collect()
    }

    /// Files that this file, at `path`, declares by `#[cfg(test)] mod name;`.
    pub(super) fn test_files(&self, path: &str) -> Vec<String> {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let inside = match file {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            other => format!("{folder}/{}", other.trim_end_matches(".rs")),
        };
        let mut files = Vec::new();
        for item in &self.ast.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && module.attrs.iter().any(only_in_tests)
            {
                if let Some(other) = module.attrs.iter().find_map(path_attribute) {
                    files.push(format!("{folder}/{other}"));
                } else {
                    files.push(format!("{inside}/{}.rs", module.ident));
                    files.push(format!("{inside}/{}/mod.rs", module.ident));
                }
            }
        }
        files
    }
}

/// Names in a piece of syntax, in order.
pub(super) fn names(stream: TokenStream) -> impl Iterator<Item = String> {
    tokens(stream).into_iter().filter(|token| token.is_name).map(|token| token.text)
}

/// First and last line of a piece of syntax.
pub(super) fn lines(piece: &impl Spanned) -> RangeInclusive<usize> {
    let span = piece.span();
    span.start().line..=span.end().line
}

/// Splits a pattern into names and signs without the tokenizer, which needs balanced brackets.
fn names_and_signs(pattern: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut in_name = false;
    for c in pattern.chars() {
        let name = c.is_alphanumeric() || c == '_';
        match parts.last_mut() {
            Some(last) if name && in_name => last.push(c),
            _ if !c.is_whitespace() => parts.push(c.to_string()),
            _ => {}
        }
        in_name = name;
    }
    parts
}

fn tokens(stream: TokenStream) -> Vec<Token> {
    let mut out = Vec::new();
    flatten(stream, &mut out);
    out
}

fn flatten(stream: TokenStream, out: &mut Vec<Token>) {
    let token = |text: String, span: Span, is_name: bool| Token {
        text,
        line: span.start().line,
        end_line: span.end().line,
        is_name,
    };
    for tree in stream {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                out.push(token(open.to_owned(), group.span_open(), false));
                flatten(group.stream(), out);
                out.push(token(close.to_owned(), group.span_close(), false));
            }
            TokenTree::Ident(name) => out.push(token(name.to_string(), name.span(), true)),
            TokenTree::Punct(sign) => {
                out.push(token(sign.as_char().to_string(), sign.span(), false));
            }
            TokenTree::Literal(literal) => {
                out.push(token(literal.to_string(), literal.span(), false));
            }
        }
    }
}

/// True for attributes of test-only items: `#[test]`, `#[cfg(test)]` and the like.
pub(super) fn only_in_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            attribute.parse_args::<Meta>().is_ok_and(|meta| needs_test(&meta))
        }
        _ => false,
    }
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let parser = syn::punctuated::Punctuated::<Meta, syn::Token![,]>::parse_terminated;
            let Ok(parts) = list.parse_args_with(parser) else {
                return false;
            };
            if list.path.is_ident("all") {
                parts.iter().any(needs_test)
            } else {
                list.path.is_ident("any") && !parts.is_empty() && parts.iter().all(needs_test)
            }
        }
        Meta::NameValue(_) => false,
    }
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    if !pair.path.is_ident("path") {
        return None;
    }
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// The attributes of any item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[derive(Default)]
struct TestFinder {
    lines: Vec<RangeInclusive<usize>>,
}

impl<'ast> Visit<'ast> for TestFinder {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(only_in_tests) {
            self.lines.push(lines(item));
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, method: &'ast syn::ImplItemFn) {
        if method.attrs.iter().any(only_in_tests) {
            self.lines.push(lines(method));
        } else {
            visit::visit_impl_item_fn(self, method);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RustFile;

    fn parse(text: &str) -> RustFile {
        RustFile::parse(text).unwrap()
    }

    #[test]
    fn lines_under_cfg_test_are_test_code() {
        let rust = parse(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nstruct S;\nimpl S {\n    \
             #[cfg(all(test, unix))]\n    fn c() {}\n}\n#[cfg(not(test))]\nfn d() {}\n\
             #[cfg(any(test, unix))]\nfn e() {}\n",
        );
        let tests: Vec<usize> = (1..=14).filter(|line| rust.is_test(*line)).collect();
        assert_eq!(tests, [2, 3, 4, 5, 8, 9]);
    }

    #[test]
    fn patterns_are_found_in_macro_calls_but_not_in_comments_and_strings() {
        let rust = parse(
            "// std::process::exit\nfn a() { dbg!(std::process::exit(1)) }\n\
             const B: &str = \"process::exit\"; // process::exit\n/// process::exit\nfn c() {}\n",
        );
        let lines: Vec<usize> = rust.find("process::exit").iter().map(|t| t.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn a_whole_file_can_be_test_code() {
        assert!(parse("#![cfg(test)]\nfn a() {}\n").is_test(2));
    }

    #[test]
    fn test_modules_name_their_files() {
        let rust = parse("#[cfg(test)] mod a;\n#[cfg(test)]\n#[path = \"z.rs\"]\nmod b;\nmod c;\n");
        assert_eq!(rust.test_files("x/src/lib.rs"), ["x/src/a.rs", "x/src/a/mod.rs", "x/src/z.rs"]);
        assert_eq!(rust.test_files("x/src/w.rs")[0], "x/src/w/a.rs");
    }
}
