//! Uses of a crate's files by one another: in `use` declarations, and in paths in code that begin
//! with `crate`, `super`, `self` or a sibling module.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, UseTree, Visibility};

use super::is_within;
use crate::tidy::source::{RustFile, Token, attributes, lines, only_in_tests};

/// Path of a module: the names that lead to it; empty for the top.
pub(super) type ModulePath = Vec<String>;

/// Files of a crate.
type CrateFiles<'r> = BTreeMap<ModulePath, &'r RustFile>;

/// Names reexported by each file: the name there, and the path of the original.
type ReexportedNames = BTreeMap<ModulePath, BTreeMap<String, Vec<String>>>;

/// Maximum number of files through which a name is reexported.
const REEXPORTS_MAX: usize = 8;

/// Modules used by each module.
pub(super) fn uses(files: &CrateFiles<'_>) -> BTreeMap<ModulePath, BTreeSet<ModulePath>> {
    let mut reexports = ReexportedNames::new();
    let mut paths: Vec<(&ModulePath, Vec<String>)> = Vec::new();
    for (module, rust) in files {
        let mut declared = Vec::new();
        for item in rust.ast.items.iter().filter(|item| !is_test(item)) {
            let Item::Use(item) = item else { continue };
            declared.push(lines(item));
            let mut declared_paths = Vec::new();
            flatten(&item.tree, &mut Vec::new(), &mut declared_paths);
            let is_private = matches!(item.vis, Visibility::Inherited);
            for (path, name) in declared_paths {
                if is_private {
                    paths.push((module, path));
                } else if let Some(name) = name {
                    reexports.entry(module.clone()).or_default().insert(name, path);
                }
            }
        }
        let is_code = |token: &&Token| {
            !rust.is_test(token.line) && !declared.iter().any(|lines| lines.contains(&token.line))
        };
        let code: Vec<&Token> = rust.tokens.iter().filter(is_code).collect();
        paths.extend(paths_in_code(&code).into_iter().map(|path| (module, path)));
    }
    let mut used: BTreeMap<ModulePath, BTreeSet<ModulePath>> =
        files.keys().map(|module| (module.clone(), BTreeSet::new())).collect();
    for (module, path) in paths {
        let target = resolve(files, &reexports, module, &path, 0);
        if let Some(target) = target.filter(|target| !is_within(target, module))
            && let Some(targets) = used.get_mut(module)
        {
            targets.insert(target);
        }
    }
    used
}

fn is_test(item: &Item) -> bool {
    attributes(item).iter().any(only_in_tests)
}

/// Lists every path of a `use` declaration with the name that it introduces; `None` for a glob.
fn flatten(
    tree: &UseTree,
    before: &mut Vec<String>,
    declared_paths: &mut Vec<(Vec<String>, Option<String>)>,
) {
    let with = |before: &[String], last: &syn::Ident| {
        let mut path = before.to_vec();
        // The path `a::{self}` means `a`.
        if last != "self" || path.is_empty() {
            path.push(last.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, declared_paths);
            before.pop();
        }
        UseTree::Name(name) => {
            let path = with(before, &name.ident);
            let known = path.last().cloned();
            declared_paths.push((path, known));
        }
        UseTree::Rename(name) => {
            declared_paths.push((with(before, &name.ident), Some(name.rename.to_string())));
        }
        UseTree::Glob(_) => declared_paths.push((before.clone(), None)),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before, declared_paths));
        }
    }
}

/// Lists every path `a::b::c` in code.
fn paths_in_code(code: &[&Token]) -> Vec<Vec<String>> {
    let is_separator = |at: usize| {
        let sign = |at: usize| code.get(at).is_some_and(|token| token.text == ":");
        sign(at) && sign(at + 1)
    };
    let mut paths = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let is_path_start = code[at].is_name && !(at >= 2 && is_separator(at - 2));
        if !is_path_start || !is_separator(at + 1) {
            at += 1;
            continue;
        }
        let mut path = vec![code[at].text.clone()];
        at += 1;
        while is_separator(at) && code.get(at + 2).is_some_and(|token| token.is_name) {
            path.push(code[at + 2].text.clone());
            at += 3;
        }
        paths.push(path);
    }
    paths
}

/// File to which a path leads from a module; `None` if it leads out of the crate.
fn resolve(
    files: &CrateFiles<'_>,
    reexports: &ReexportedNames,
    from: &ModulePath,
    path: &[String],
    passes: usize,
) -> Option<ModulePath> {
    let mut module = from.clone();
    let mut names = path.iter().peekable();
    match names.peek()?.as_str() {
        "crate" => {
            module.clear();
            names.next();
        }
        "self" => {
            names.next();
        }
        "super" => {
            while names.next_if(|name| *name == "super").is_some() {
                module.pop()?;
            }
        }
        first => {
            let child = child(&module, first);
            let is_passed =
                reexports.get(&module).is_some_and(|names_passed| names_passed.contains_key(first));
            if !files.contains_key(&child) && !is_passed {
                return None;
            }
        }
    }
    for name in names {
        let child = child(&module, name);
        if files.contains_key(&child) {
            module = child;
            continue;
        }
        let through = reexports.get(&module).and_then(|names_passed| names_passed.get(name));
        let through = through.filter(|_| passes < REEXPORTS_MAX);
        return through
            .and_then(|path| resolve(files, reexports, &module, path, passes + 1))
            .or(Some(module));
    }
    Some(module)
}

fn child(module: &ModulePath, name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}
