//! Names of a kernel's modules, found in modprobe's order: rules of the package, module files,
//! aliases of modules, built-in modules, and their aliases.

use crate::Kernel;
use crate::modinfo::ModuleInformation;
use crate::name_pattern::is_match;

/// Modules that answer to a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FoundModules<'k> {
    /// Module files; several for an alias that several modules have.
    Loadable(Vec<&'k str>),
    /// Modules of the image. Those of a kernel without a list have no names.
    BuiltIn(Vec<&'k str>),
    /// None.
    Missing,
}

/// Finds the modules of a name or alias, which has `_` for every `-`.
pub(super) fn modules_of<'k>(kernel: &'k Kernel, name: &str) -> FoundModules<'k> {
    let by_rule = kernel.rules.aliases.iter().filter(|(pattern, _)| is_match(pattern, name));
    let by_rule: Vec<&str> = by_rule
        .filter_map(|(_, module)| kernel.modules.get_key_value(module))
        .map(|(module, _)| module.as_str())
        .collect();
    if !by_rule.is_empty() {
        return FoundModules::Loadable(by_rule);
    }
    if let Some((module, _)) = kernel.modules.get_key_value(name) {
        return FoundModules::Loadable(vec![module]);
    }
    let by_alias = modules_with_alias(kernel, name);
    if !by_alias.is_empty() {
        return FoundModules::Loadable(by_alias);
    }
    if let Some(module) = kernel.built_in.as_ref().and_then(|names| names.get(name)) {
        return FoundModules::BuiltIn(vec![module]);
    }
    let built_in: Vec<&str> = kernel
        .built_in_information
        .iter()
        .filter(|(module, information)| *module == name || has_alias(information, name))
        .map(|(module, _)| module.as_str())
        .collect();
    if !built_in.is_empty() {
        return FoundModules::BuiltIn(built_in);
    }
    // Without modules and without a list of built-in ones, everything is assumed to be built in
    // whose absence cannot be seen.
    let is_unstated = kernel.built_in.is_none() && kernel.modules.is_empty();
    if is_unstated && !is_absent(kernel, name) {
        return FoundModules::BuiltIn(Vec::new());
    }
    FoundModules::Missing
}

/// Drivers that have their own name in their code.
const SELF_NAMED: [&str; 3] = ["virtio_console", "virtio_blk", "nvme"];
/// Begin of the names by which the kernel asks for filesystems.
const FILESYSTEM: &str = "fs_";

/// Reports whether the image lacks a driver: neither a filesystem nor one of these drivers
/// can do without its name.
fn is_absent(kernel: &Kernel, name: &str) -> bool {
    let Some(words) = &kernel.words else { return false };
    let filesystem = name.strip_prefix(FILESYSTEM);
    if filesystem.is_none() && !SELF_NAMED.contains(&name) {
        return false;
    }
    let name = filesystem.unwrap_or(name);
    // The linker stores a text once that is the end of another one.
    !words.iter().any(|word| word.ends_with(name))
}

/// Module files with this alias that are not on the blacklist of the package.
pub(super) fn modules_with_alias<'k>(kernel: &'k Kernel, alias: &str) -> Vec<&'k str> {
    let described = kernel.modules.iter().filter_map(|(name, file)| {
        let information = file.information.as_ref().ok()?;
        has_alias(information, alias).then_some(name.as_str())
    });
    described.filter(|name| !kernel.rules.blacklist.contains(*name)).collect()
}

fn has_alias(information: &ModuleInformation, name: &str) -> bool {
    information.aliases.iter().any(|pattern| is_match(pattern, name))
}
