//! Order in which modules are loaded: what a module needs or wants comes before it.

use std::collections::{BTreeMap, BTreeSet};

use super::lookup::{FoundModules, modules_of, modules_with_alias};
use crate::modinfo::ModuleInformation;
use crate::{GuestError, Kernel};

/// Uncompressed module to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestModule {
    /// Module name, with `_` for every `-`.
    pub name: String,
    /// Module file for `init_module`.
    pub bytes: Vec<u8>,
    /// True for a module that may refuse to be loaded, such as code for other processors.
    pub is_optional: bool,
}

/// Limit of modules loaded in a guest.
const MODULES_MAX: usize = 500;
/// Begin of the aliases by which the kernel asks for algorithms.
pub(super) const ALGORITHM: &str = "crypto_";

/// Modules in load order, collected name by name.
pub(super) struct ModuleResolver<'k> {
    kernel: &'k Kernel,
    /// Modules and built-in modules whose dependencies have been visited, so that cycles end.
    visited: BTreeSet<String>,
    /// Number of a module in `loaded`.
    numbers: BTreeMap<String, usize>,
    loaded: Vec<GuestModule>,
}

impl<'k> ModuleResolver<'k> {
    pub(super) fn new(kernel: &'k Kernel) -> Self {
        let (visited, numbers) = (BTreeSet::new(), BTreeMap::new());
        Self { kernel, visited, numbers, loaded: Vec::new() }
    }

    /// The modules in load order.
    pub(super) fn finish(self) -> Vec<GuestModule> {
        self.loaded
    }

    /// Reports whether the kernel has something of this name or alias.
    pub(super) fn has(&self, name: &str) -> bool {
        modules_of(self.kernel, name) != FoundModules::Missing
    }

    /// Adds the modules of a name or alias.
    ///
    /// # Errors
    /// If there is no such module, named with its dependent, or it is damaged.
    pub(super) fn require(&mut self, name: &str, needed_by: &str) -> Result<(), GuestError> {
        match modules_of(self.kernel, name) {
            FoundModules::Loadable(names) => {
                for module in &names {
                    self.add(module, names.len() == 1)?;
                }
                Ok(())
            }
            FoundModules::BuiltIn(names) => self.visit_built_in(&names),
            FoundModules::Missing => Err(self.missing(name, needed_by)),
        }
    }

    /// Adds the modules of a name or alias if there are any; their own refusal to be loaded is no
    /// error.
    pub(super) fn want(&mut self, name: &str) -> Result<(), GuestError> {
        match modules_of(self.kernel, name) {
            FoundModules::Loadable(names) => {
                for module in names {
                    self.add(module, false)?;
                }
                Ok(())
            }
            FoundModules::BuiltIn(names) => self.visit_built_in(&names),
            FoundModules::Missing => Ok(()),
        }
    }

    /// Adds what built-in modules want. modprobe does nothing for them; on a machine udev loads
    /// the code for its processor, and no udev runs in a guest.
    fn visit_built_in(&mut self, names: &[&str]) -> Result<(), GuestError> {
        for name in names {
            let Some(information) = self.kernel.built_in_information.get(*name) else { continue };
            if self.visited.insert((*name).to_owned()) {
                self.add_wanted_before(name, information)?;
            }
        }
        Ok(())
    }

    /// Adds a module with its dependencies; false if it is optional and lacks one.
    fn add(&mut self, name: &str, is_required: bool) -> Result<bool, GuestError> {
        if let Some(&number) = self.numbers.get(name) {
            return if is_required { self.make_required(number).map(|()| true) } else { Ok(true) };
        }
        let Some(file) = self.kernel.modules.get(name) else {
            return Ok(false);
        };
        if !self.visited.insert(name.to_owned()) {
            return Ok(true);
        }
        let damaged = |why: &str| GuestError::Package {
            package: self.kernel.source.clone(),
            member: file.path.clone(),
            why: why.to_owned(),
        };
        if self.visited.len() > MODULES_MAX {
            return Err(damaged("its dependencies have no end"));
        }
        let information = match &file.information {
            Ok(information) => information,
            Err(why) if is_required => return Err(damaged(why)),
            Err(_) => return Ok(self.leave_out(name)),
        };
        if let Some(built_for) = information.refuses(&self.kernel.release) {
            let (kernel, module) = (self.kernel.release.clone(), name.to_owned());
            let error = GuestError::OtherRelease { kernel, module, built_for };
            return if is_required { Err(error) } else { Ok(self.leave_out(name)) };
        }
        if information.layout.zip(self.kernel.layout).is_some_and(|(own, all)| own != all) {
            let (kernel, module) = (self.kernel.release.clone(), name.to_owned());
            let built_for = information.built_for().unwrap_or_default().to_owned();
            let error = GuestError::OtherBuild { kernel, module, built_for };
            return if is_required { Err(error) } else { Ok(self.leave_out(name)) };
        }
        self.add_wanted_before(name, information)?;
        for dependency in &information.depends {
            let is_there =
                self.kernel.is_built_in(dependency) || self.add(dependency, is_required)?;
            match (is_there, is_required) {
                (true, _) => {}
                (false, true) => return Err(self.missing(dependency, name)),
                (false, false) => return Ok(self.leave_out(name)),
            }
        }
        let bytes = self.kernel.module(name).unwrap_or_else(|| Err(damaged("it is gone")))?;
        self.numbers.insert(name.to_owned(), self.loaded.len());
        self.loaded.push(GuestModule { name: name.to_owned(), bytes, is_optional: !is_required });
        let rules = self.kernel.rules.softdeps.get(name);
        for after in information.after.iter().chain(rules.into_iter().flat_map(|it| &it.after)) {
            self.want(after)?;
        }
        Ok(true)
    }

    /// Adds what a module wants to be loaded before it. modprobe reads only the first softdep of a
    /// module, and leaves weak dependencies to the kernel, which asks modprobe later: a guest has
    /// no modprobe, so all of them are loaded at once.
    fn add_wanted_before(
        &mut self,
        name: &str,
        information: &ModuleInformation,
    ) -> Result<(), GuestError> {
        let rules = self.kernel.rules.softdeps.get(name);
        let by_rule = rules.into_iter().flat_map(|rules| &rules.before);
        for soft in by_rule.chain(&information.before).chain(&information.weak) {
            self.want(soft)?;
        }
        // An algorithm is chosen when it is first used, and stays chosen: the code for the
        // processor has to be there before.
        for alias in information.aliases.iter().filter(|alias| alias.starts_with(ALGORITHM)) {
            for other in modules_with_alias(self.kernel, alias) {
                if other != name && self.is_for_processors(other) {
                    self.add(other, false)?;
                }
            }
        }
        Ok(())
    }

    /// Leaves an optional module out, unless somebody needs it later; returns false.
    fn leave_out(&mut self, name: &str) -> bool {
        self.visited.remove(name);
        false
    }

    fn is_for_processors(&self, name: &str) -> bool {
        let information = self.kernel.modules.get(name).map(|file| &file.information);
        information.is_some_and(|it| it.as_ref().is_ok_and(ModuleInformation::is_for_processors))
    }

    /// Makes a module that was optional so far necessary, with its dependencies.
    fn make_required(&mut self, number: usize) -> Result<(), GuestError> {
        let module = &mut self.loaded[number];
        if !std::mem::take(&mut module.is_optional) {
            return Ok(());
        }
        let file = self.kernel.modules.get(&module.name);
        let information = file.and_then(|file| file.information.as_ref().ok());
        for dependency in information.into_iter().flat_map(|it| &it.depends) {
            if let Some(&number) = self.numbers.get(dependency) {
                self.make_required(number)?;
            }
        }
        Ok(())
    }

    fn missing(&self, module: &str, needed_by: &str) -> GuestError {
        GuestError::MissingModule {
            kernel: self.kernel.release.clone(),
            module: module.to_owned(),
            needed_by: needed_by.to_owned(),
        }
    }
}
