//! Descriptions of modules: the section `.modinfo` of a module file, and the list
//! `modules.builtin.modinfo` of those that are built in.

use std::collections::BTreeMap;

use crate::Architecture;
use crate::bytes::{text_at, u32_at};
use crate::elf::{machine, section};
use crate::name_pattern::canonical;

/// Description of a module. Names have `_` for every `-`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModuleInformation {
    /// Modules that it needs.
    pub(crate) depends: Vec<String>,
    /// Names to load before it if they exist (`softdep=pre:`); aliases are allowed.
    pub(crate) before: Vec<String>,
    /// Names to load after it if they exist (`softdep=post:`).
    pub(crate) after: Vec<String>,
    /// Modules that its code requests while it runs (`weakdep=`).
    pub(crate) weak: Vec<String>,
    /// Patterns of the names to which it answers.
    pub(crate) aliases: Vec<String>,
    /// Kernel for which it was built, with flags (`vermagic=`).
    pub(crate) version_magic: String,
    /// Processor for which it was built; `None` for a built-in module.
    pub(crate) architecture: Option<Architecture>,
    /// Checksum of the layout of modules, where symbols have versions.
    pub(crate) layout: Option<u32>,
}

impl ModuleInformation {
    /// Description in a module file; `None` for any other file, and for a processor that guests
    /// do not have.
    pub(crate) fn of_module(file: &[u8]) -> Option<Self> {
        let entries = section(file, ".modinfo")?;
        let architecture = Some(Architecture::of_elf(machine(file)?)?);
        let mut information = Self { architecture, layout: layout(file), ..Self::default() };
        for entry in entries.split(|&byte| byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            if let Some((key, value)) = entry.split_once('=') {
                information.add(key, value);
            }
        }
        Some(information)
    }

    /// Descriptions of built-in modules, by name: entries `module.key=value`.
    pub(crate) fn of_built_in(list: &[u8]) -> BTreeMap<String, Self> {
        let mut all = BTreeMap::new();
        for entry in list.split(|&byte| byte == 0) {
            let entry = String::from_utf8_lossy(entry);
            let parts = entry.split_once('=').and_then(|(name, value)| {
                let (module, key) = name.split_once('.')?;
                Some((canonical(module), key, value))
            });
            if let Some((module, key, value)) = parts {
                all.entry(module).or_insert_with(Self::default).add(key, value);
            }
        }
        all
    }

    fn add(&mut self, key: &str, value: &str) {
        let names = |value: &str| -> Vec<String> {
            let names = value.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
            names.map(canonical).collect()
        };
        match key {
            "depends" => self.depends.extend(names(value)),
            "weakdep" => self.weak.extend(names(value)),
            "alias" => self.aliases.push(canonical(value)),
            "softdep" => self.add_softdep(value),
            "vermagic" => value.trim().clone_into(&mut self.version_magic),
            _ => {}
        }
    }

    /// Adds the names of `pre: NAME… post: NAME…`; names before both have no meaning.
    pub(crate) fn add_softdep(&mut self, value: &str) {
        let mut is_before = None;
        for word in value.split_whitespace() {
            match (word, is_before) {
                ("pre:", _) => is_before = Some(true),
                ("post:", _) => is_before = Some(false),
                (name, Some(true)) => self.before.push(canonical(name)),
                (name, Some(false)) => self.after.push(canonical(name)),
                (_, None) => {}
            }
        }
    }

    /// Release for which it was built, if a kernel of this release refuses it for that: symbol
    /// versions take the place of the release.
    pub(crate) fn refuses(&self, release: &str) -> Option<String> {
        let built_for = self.built_for().filter(|own| *own != release)?;
        let has_versions = self.version_magic.split_whitespace().any(|word| word == "modversions");
        (!has_versions).then(|| built_for.to_owned())
    }

    /// Release for which it was built, if it says so.
    pub(crate) fn built_for(&self) -> Option<&str> {
        self.version_magic.split_whitespace().next()
    }

    /// True if the module has a processor alias, and thus requires some of its instructions.
    pub(crate) fn is_for_processors(&self) -> bool {
        self.aliases.iter().any(|alias| alias.starts_with("cpu:"))
    }
}

/// Bytes of an entry of `__versions`: a checksum in 8 bytes and the name of a symbol in 56.
const VERSION_BYTES: usize = 64;
const NAME_AT: u64 = 8;
const NAME_BYTES: usize = 56;
/// Symbol of which every module has the version.
const LAYOUT: &str = "module_layout";

/// Checksum of the layout of modules among the versions of symbols in a module.
fn layout(file: &[u8]) -> Option<u32> {
    let mut versions = section(file, "__versions")?.chunks_exact(VERSION_BYTES);
    let entry = versions.find(|entry| text_at(entry, NAME_AT, NAME_BYTES) == Some(LAYOUT));
    u32_at(entry?, 0)
}

#[cfg(test)]
mod tests {
    use super::ModuleInformation;

    #[test]
    fn descriptions_of_built_in_modules_are_kept_apart() {
        let list = b"ext4.softdep=pre: crypto-crc32c\0ext4.alias=fs-ext4\0jbd2.license=GPL\0\xff\0";
        let all = ModuleInformation::of_built_in(list);
        assert_eq!(all["ext4"].before, ["crypto_crc32c"]);
        assert_eq!(all["ext4"].aliases, ["fs_ext4"]);
        assert_eq!(all["jbd2"], ModuleInformation::default());
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn softdeps_have_names_before_and_after_the_module() {
        let mut module = ModuleInformation::default();
        module.add("softdep", "lost pre: x-y a post: z");
        module.add("depends", "a-b,c");
        module.add("depends", "");
        module.add("weakdep", "later");
        assert_eq!((module.before, module.after), (texts(&["x_y", "a"]), texts(&["z"])));
        assert_eq!((module.depends, module.weak), (texts(&["a_b", "c"]), texts(&["later"])));
    }

    #[test]
    fn a_module_for_another_release_is_refused_unless_its_symbols_have_versions() {
        let mut module = ModuleInformation::default();
        assert_eq!(module.refuses("6.1"), None);
        module.add("vermagic", "6.1 SMP mod_unload ");
        assert_eq!(module.refuses("6.1"), None);
        assert_eq!(module.refuses("6.2").as_deref(), Some("6.1"));
        module.add("vermagic", "6.1 SMP mod_unload modversions ");
        assert_eq!(module.refuses("6.2"), None);
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }
}
