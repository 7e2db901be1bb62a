//! Public items of a library outside tests, each with the names that its signature needs.
//! `unused_pub` checks that they are used.

use std::collections::BTreeSet;

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{
    Field, ImplItem, ImplItemConst, ImplItemFn, ItemConst, ItemEnum, ItemFn, ItemImpl, ItemMacro,
    ItemStatic, ItemStruct, ItemTrait, ItemType, ItemUnion, ItemUse, TraitItem, UseTree,
    Visibility,
};

use super::source::{RustFile, names};

/// A public item.
pub(super) struct PublicItem {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) line: usize,
    /// Names of other items that appear in the signature.
    pub(super) signature: BTreeSet<String>,
}

/// Public items of one file.
#[derive(Default)]
pub(super) struct PublicItems {
    pub(super) items: Vec<PublicItem>,
    /// Names that users of an item also need: of its traits, macros and reexports.
    pub(super) needed_names: Vec<(String, BTreeSet<String>)>,
}

pub(super) fn public_items(rust: &RustFile) -> PublicItems {
    let mut finder = NamedItemFinder { rust, items: PublicItems::default() };
    finder.visit_file(&rust.ast);
    finder.items
}

/// Collector of the names in pieces of syntax.
#[derive(Default)]
struct NameCollector(BTreeSet<String>);

impl<'ast> Visit<'ast> for NameCollector {
    fn visit_ident(&mut self, name: &'ast Ident) {
        self.0.insert(name.to_string());
    }
}

impl NameCollector {
    fn collect(lead: impl FnOnce(&mut Self)) -> BTreeSet<String> {
        let mut names = Self::default();
        lead(&mut names);
        names.0
    }

    /// Collects the types of public fields; private ones are invisible to users.
    fn public_fields<'ast>(&mut self, fields: impl IntoIterator<Item = &'ast Field>) {
        for field in fields {
            if is_public(&field.vis) {
                self.visit_type(&field.ty);
            }
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

struct NamedItemFinder<'a> {
    rust: &'a RustFile,
    items: PublicItems,
}

impl NamedItemFinder<'_> {
    fn note(
        &mut self,
        visibility: &Visibility,
        name: &Ident,
        kind: &'static str,
        lead: impl FnOnce(&mut NameCollector),
    ) {
        let line = name.span().start().line;
        if is_public(visibility) && !self.rust.is_test(line) {
            let (name, signature) = (name.to_string(), NameCollector::collect(lead));
            self.items.items.push(PublicItem { name, kind, line, signature });
        }
    }

    fn note_renames(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.note_renames(&path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_renames(tree)),
            UseTree::Rename(rename) => {
                let original = BTreeSet::from([rename.ident.to_string()]);
                self.items.needed_names.push((rename.rename.to_string(), original));
            }
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for NamedItemFinder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.note(&item.vis, &item.sig.ident, "fn", |names| {
            names.visit_signature(&item.sig);
        });
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.note(&item.vis, &item.sig.ident, "fn", |names| {
            names.visit_signature(&item.sig);
        });
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.note(&item.vis, &item.ident, "const", |names| {
            names.visit_type(&item.ty);
        });
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.note(&item.vis, &item.ident, "const", |names| {
            names.visit_type(&item.ty);
        });
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.note(&item.vis, &item.ident, "static", |names| {
            names.visit_type(&item.ty);
        });
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.note(&item.vis, &item.ident, "type", |names| {
            names.visit_item_type(item);
        });
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.note(&item.vis, &item.ident, "struct", |names| {
            names.visit_generics(&item.generics);
            names.public_fields(&item.fields);
        });
    }

    fn visit_item_union(&mut self, item: &'ast ItemUnion) {
        self.note(&item.vis, &item.ident, "union", |names| {
            names.visit_generics(&item.generics);
            names.public_fields(&item.fields.named);
        });
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.note(&item.vis, &item.ident, "enum", |names| {
            names.visit_generics(&item.generics);
            item.variants.iter().for_each(|variant| names.visit_fields(&variant.fields));
        });
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.note(&item.vis, &item.ident, "trait", |names| {
            names.visit_generics(&item.generics);
            item.supertraits.iter().for_each(|bound| names.visit_type_param_bound(bound));
            for inner in &item.items {
                match inner {
                    TraitItem::Fn(method) => names.visit_signature(&method.sig),
                    other => names.visit_trait_item(other),
                }
            }
        });
        visit::visit_item_trait(self, item);
    }

    /// Collects the parameters and types of implemented traits, which users of the type also need.
    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let needed = NameCollector::collect(|names| {
            names.visit_generics(&item.generics);
            names.visit_type(&item.self_ty);
            if let Some((path, _)) = &item.trait_ {
                names.visit_path(path);
            }
            for inner in &item.items {
                if let ImplItem::Type(alias) = inner {
                    names.visit_type(&alias.ty);
                }
            }
        });
        for name in NameCollector::collect(|names| names.visit_type(&item.self_ty)) {
            self.items.needed_names.push((name, needed.clone()));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        let exported = item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
        if let Some(name) = item.ident.as_ref().filter(|_| exported) {
            let needed = names(item.mac.tokens.clone()).collect();
            self.items.needed_names.push((name.to_string(), needed));
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if is_public(&item.vis) {
            self.note_renames(&item.tree);
        }
    }
}
