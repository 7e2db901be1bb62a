//! Modules to load in a guest, in dependency order, from the `.modinfo` section of each. Packages
//! contain no `modules.dep`, which is generated on installation.

use std::collections::BTreeSet;

use treering_model::filesystems::OVERLAY;
use treering_model::{CryptLayer, GuestDisk, Layer};

use crate::elf::section;
use crate::{GuestError, Kernel, disk};

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

/// Modules required by every guest, for the port.
const EVERY: [&str; 2] = ["virtio_pci", "virtio_console"];
/// Default scheduler of disks with one queue. The kernel requests it by modprobe, which a guest
/// lacks: with the scheduler built as a module the guest would run without one.
const SCHEDULER: &str = "mq_deadline";

/// Modules of a guest with such disks, this filesystem (empty for none) and these layers, in load
/// order.
///
/// # Errors
/// If a module is missing or damaged.
pub fn needed(
    kernel: &Kernel,
    disk: GuestDisk,
    filesystem: &str,
    layers: &[Layer],
) -> Result<Vec<GuestModule>, GuestError> {
    let scheduler = kernel.modules.contains_key(SCHEDULER).then_some(&SCHEDULER);
    let needed = scheduler.into_iter().chain(&EVERY).chain(disk::modules(disk)).copied();
    let needed = needed.chain(Some(filesystem).filter(|name| !name.is_empty()));
    let needed: Vec<&str> = needed.chain(layers.iter().flat_map(of_layer)).collect();
    let mut order = closure(kernel, &needed)?;
    for name in layers.iter().flat_map(helpers) {
        order.add_optional(&name)?;
    }
    Ok(order.loaded)
}

/// Modules that a layer requires.
fn of_layer(layer: &Layer) -> Vec<&str> {
    match layer {
        Layer::Loop(layer) => vec!["loop", &layer.on],
        Layer::Overlay(_) => vec![OVERLAY],
        Layer::Crypt(_) => vec!["dm_crypt"],
        Layer::Linear => vec!["dm_mod"],
        Layer::Thin(_) => vec!["dm_thin_pool"],
        Layer::Snapshot(_) => vec!["dm_snapshot"],
        Layer::Md(layer) => vec!["md_mod", layer.module()],
        Layer::Bcache(_) => vec!["bcache"],
    }
}

/// Modules that help a layer where the kernel has them.
fn helpers(layer: &Layer) -> Vec<String> {
    match layer {
        Layer::Crypt(layer) => ciphers(layer),
        // A single disk is cut into parts by the device mapper.
        Layer::Md(_) | Layer::Bcache(_) => vec!["dm_mod".to_owned()],
        _ => Vec::new(),
    }
}

/// Possible names of the modules for the cipher of a layer. The kernel requests them by modprobe,
/// which a guest lacks; where they are built in there are none.
fn ciphers(layer: &CryptLayer) -> Vec<String> {
    let parts = layer.cipher.split(['-', ':']).map(canonical);
    let mut names: Vec<String> =
        parts.flat_map(|part| candidates(&part).collect::<Vec<_>>()).collect();
    // Block modes are made of this one, and processors have instructions for the usual cipher.
    names.push("ecb".to_owned());
    names.extend(layer.cipher.starts_with("aes").then(|| "aesni_intel".to_owned()));
    names
}

/// Transitive dependencies of these modules, dependencies first. Built-in modules are skipped.
///
/// # Errors
/// If a module is missing, named with its dependent, or damaged.
fn closure<'k>(kernel: &'k Kernel, wanted: &[&str]) -> Result<ModuleResolver<'k>, GuestError> {
    let mut order = ModuleResolver { kernel, seen: BTreeSet::new(), loaded: Vec::new() };
    for name in wanted {
        order.need(&canonical(name), "a guest")?;
    }
    Ok(order)
}

struct ModuleResolver<'k> {
    kernel: &'k Kernel,
    seen: BTreeSet<String>,
    loaded: Vec<GuestModule>,
}

/// Dependencies of a module.
#[derive(Debug, Default, PartialEq, Eq)]
struct ModuleInfo {
    depends: Vec<String>,
    /// Optional modules to load before it (softdep).
    softly: Vec<String>,
}

impl ModuleResolver<'_> {
    /// Adds a module if the kernel has it; its own refusal to be loaded is no error.
    fn add_optional(&mut self, name: &str) -> Result<(), GuestError> {
        if !self.kernel.modules.contains_key(name) || self.seen.contains(name) {
            return Ok(());
        }
        self.need(name, "a layer")?;
        if let Some(last) = self.loaded.last_mut() {
            last.is_optional = true;
        }
        Ok(())
    }

    fn need(&mut self, name: &str, needed_by: &str) -> Result<(), GuestError> {
        if self.kernel.is_built_in(name) || self.seen.contains(name) {
            return Ok(());
        }
        let Some(bytes) = self.kernel.module(name) else {
            // Without modules and without a list of built-in ones, everything is assumed to be
            // built in.
            if self.kernel.built_in.is_none() && self.kernel.modules.is_empty() {
                return Ok(());
            }
            return Err(GuestError::MissingModule {
                kernel: self.kernel.release.clone(),
                module: name.to_owned(),
                needed_by: needed_by.to_owned(),
            });
        };
        let bytes = bytes?;
        // Marked before its dependencies are visited, so that cycles end.
        self.seen.insert(name.to_owned());
        let damaged = |why: &str| GuestError::Package {
            package: self.kernel.source.clone(),
            member: format!("module {name}"),
            why: why.to_owned(),
        };
        if self.seen.len() > MODULES_MAX {
            return Err(damaged("its dependencies have no end"));
        }
        let modinfo =
            section(&bytes, ".modinfo").ok_or_else(|| damaged("it has no section .modinfo"))?;
        let information = information(modinfo);
        for soft in &information.softly {
            if let Some(there) =
                candidates(soft).find(|module| self.kernel.modules.contains_key(module))
            {
                self.need(&there, name)?;
            }
        }
        for hard in &information.depends {
            self.need(hard, name)?;
        }
        let name = name.to_owned();
        self.loaded.push(GuestModule { name, bytes, is_optional: false });
        Ok(())
    }
}

/// Possible module names for a softdep, which may name an algorithm: `crc32c` is in the module
/// `crc32c_generic`; similarly `blake2b-256` and `xxhash64`.
fn candidates(name: &str) -> impl Iterator<Item = String> {
    let family = name.split('_').next().unwrap_or(name);
    let root = family.trim_end_matches(|c: char| c.is_ascii_digit());
    let names = [
        name.to_owned(),
        format!("{name}_generic"),
        format!("{family}_generic"),
        format!("{root}_generic"),
    ];
    names.into_iter()
}

fn information(modinfo: &[u8]) -> ModuleInfo {
    let mut information = ModuleInfo::default();
    for entry in modinfo.split(|&byte| byte == 0) {
        let entry = String::from_utf8_lossy(entry);
        if let Some(names) = entry.strip_prefix("depends=") {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            information.depends.extend(names.map(canonical));
        }
        if let Some(words) = entry.strip_prefix("softdep=") {
            let mut is_before = false;
            for word in words.split_whitespace() {
                match word {
                    "pre:" => is_before = true,
                    "post:" => is_before = false,
                    name if is_before => information.softly.push(canonical(name)),
                    _ => {}
                }
            }
        }
    }
    information
}

fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{GuestModule, ModuleInfo, candidates, helpers, information, needed};
    use crate::kernel::ModuleFile;
    use crate::{GuestError, Kernel};
    use std::collections::{BTreeMap, BTreeSet};
    use treering_model::{CryptLayer, GuestDisk, Layer, ThinLayer};

    /// An ELF file with nothing but a section `.modinfo`.
    fn module(modinfo: &str) -> Vec<u8> {
        let (names, text) = (b"\0.modinfo\0.shstrtab\0", modinfo.as_bytes());
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        let names_at = elf.len() as u64;
        elf.extend_from_slice(names);
        let text_at = elf.len() as u64;
        elf.extend_from_slice(text);
        let headers_at = elf.len() as u64;
        for (name, at, length) in
            [(0_u32, 0, 0), (1, text_at, text.len()), (10, names_at, names.len())]
        {
            let mut header = vec![0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[24..32].copy_from_slice(&at.to_le_bytes());
            header[32..40].copy_from_slice(&(length as u64).to_le_bytes());
            elf.extend(header);
        }
        elf[40..48].copy_from_slice(&headers_at.to_le_bytes());
        elf[58..60].copy_from_slice(&64_u16.to_le_bytes());
        elf[60..62].copy_from_slice(&3_u16.to_le_bytes());
        elf[62..64].copy_from_slice(&2_u16.to_le_bytes());
        elf
    }

    fn kernel(modules: &[(&str, &str)], built_in: &[&str]) -> Kernel {
        let file = |(name, modinfo): &(&str, &str)| {
            let file = ModuleFile { path: format!("{name}.ko"), bytes: module(modinfo) };
            ((*name).to_owned(), file)
        };
        Kernel {
            source: "/k.deb".into(),
            release: "6.1".to_owned(),
            version: String::new(),
            image: Vec::new(),
            configuration: None,
            modules: modules.iter().map(file).collect::<BTreeMap<_, _>>(),
            built_in: Some(built_in.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>()),
        }
    }

    fn closure(kernel: &Kernel, wanted: &[&str]) -> Result<Vec<GuestModule>, GuestError> {
        super::closure(kernel, wanted).map(|order| order.loaded)
    }

    fn names(kernel: &Kernel, wanted: &[&str]) -> Vec<String> {
        closure(kernel, wanted).unwrap().into_iter().map(|module| module.name).collect()
    }

    #[test]
    fn modules_follow_their_dependencies() {
        let kernel = kernel(
            &[
                ("btrfs", "license=GPL\0softdep=pre: crc32c xxhash64\0depends=raid6_pq,xor\0"),
                ("raid6_pq", "depends=\0"),
                ("xor", "depends=raid6-pq\0"),
                ("crc32c_generic", "depends=\0"),
                ("a", "depends=b\0"),
                ("b", "depends=a\0"),
            ],
            &["ext4"],
        );
        let order = ["crc32c_generic", "raid6_pq", "xor", "btrfs"];
        assert_eq!(names(&kernel, &["btrfs", "ext4", "xor"]), order);
        assert_eq!(names(&kernel, &["a"]), ["b", "a"]);
    }

    #[test]
    fn missing_modules_are_named_with_their_dependent() {
        let kernel = kernel(&[("btrfs", "depends=zstd-compress\0")], &[]);
        let error = closure(&kernel, &["btrfs"]).unwrap_err().to_string();
        let expected = "the kernel 6.1 has no module zstd_compress, which btrfs needs, and it is \
                        not built in";
        assert_eq!(error, expected);
        assert!(closure(&kernel, &["xfs"]).unwrap_err().to_string().contains("which a guest"));
    }

    #[test]
    fn a_kernel_without_modules_has_everything_built_in() {
        let mut kernel = kernel(&[], &[]);
        assert!(closure(&kernel, &["xfs"]).is_err());
        kernel.built_in = None;
        assert!(closure(&kernel, &["xfs"]).unwrap().is_empty());
    }

    #[test]
    fn modinfo_dependencies_are_parsed() {
        let module = information(b"depends=a-b,c\0softdep=pre: x-y post: z\0alias=fs-xfs\0\xff\0");
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let expected = ModuleInfo { depends: texts(&["a_b", "c"]), softly: texts(&["x_y"]) };
        assert_eq!(module, expected);
        assert!(candidates("blake2b_256").any(|name| name == "blake2b_generic"));
        assert!(candidates("xxhash64").any(|name| name == "xxhash_generic"));
    }

    #[test]
    fn layers_bring_their_modules_and_the_ciphers_that_the_kernel_has() {
        let crypt = Layer::Crypt(CryptLayer::default());
        let kernel = kernel(
            &[
                ("dm_crypt", "depends=dm_mod\0"),
                ("dm_mod", "depends=\0"),
                ("xts", "depends=\0"),
                ("aesni_intel", "depends=cryptd\0"),
                ("cryptd", "depends=\0"),
            ],
            &["virtio_pci", "virtio_console", "virtio_blk", "ext4", "aes_generic"],
        );
        let modules =
            needed(&kernel, GuestDisk::Virtio, "ext4", std::slice::from_ref(&crypt)).unwrap();
        let names: Vec<_> = modules.iter().map(|it| (it.name.as_str(), it.is_optional)).collect();
        let of_disk = [("dm_mod", false), ("dm_crypt", false), ("xts", true)];
        let of_cipher = [("cryptd", false), ("aesni_intel", true)];
        assert_eq!(names, [&of_disk[..], &of_cipher].concat());
        assert!(helpers(&crypt).contains(&"aes_generic".to_owned()));
        let thin = [Layer::Thin(ThinLayer::default())];
        let missing = needed(&kernel, GuestDisk::Virtio, "ext4", &thin).unwrap_err().to_string();
        assert!(missing.contains("has no module dm_thin_pool"), "{missing}");
    }
}
