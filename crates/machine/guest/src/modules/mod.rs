//! Modules to load in a guest, in load order, as modprobe and udev would load them on a machine.
//! Packages contain no `modules.dep` and no `modules.alias`, which are generated on installation:
//! both are in the modules themselves.

#[cfg(test)]
mod every_kernel;
mod lookup;
mod resolver;

use treering_model::filesystems::{OVERLAY, is_in_memory};
use treering_model::{CryptLayer, ExtraModule, GuestDisk, Layer};

use crate::kernel::module_name;
use crate::name_pattern::canonical;
use crate::root_transport::RootTransport;
use crate::{GuestError, Kernel, disk};
pub use resolver::GuestModule;
use resolver::{ALGORITHM, ModuleResolver};

/// Modules required by every guest, for the port.
const EVERY: [&str; 2] = ["virtio_pci", "virtio_console"];
/// Modules that the kernel requests by modprobe where a disk has one queue, or a filesystem has
/// quotas: a guest has no modprobe.
const HELPERS: [&str; 2] = ["mq_deadline", "quota_v2"];

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
    let mut order = ModuleResolver::new(kernel);
    for name in HELPERS {
        order.want(name)?;
    }
    for name in EVERY.iter().chain(disk::modules(disk)) {
        order.require(name, "a guest")?;
    }
    require_filesystem(&mut order, filesystem)?;
    for layer in layers {
        // Ciphers come first, since a layer may use the first one that it finds.
        for name in helpers(layer) {
            order.want(&name)?;
        }
        for name in of_layer(layer) {
            order.require(name, "a layer")?;
        }
        if let Layer::Loop(layer) = layer {
            require_filesystem(&mut order, &layer.on)?;
        }
    }
    Ok(order.finish())
}

/// Modules of a root that is shared like this, in load order.
///
/// # Errors
/// If a module is missing or damaged.
pub fn needed_by_root(
    kernel: &Kernel,
    transport: RootTransport,
) -> Result<Vec<GuestModule>, GuestError> {
    let mut order = ModuleResolver::new(kernel);
    for name in transport.modules() {
        order.require(name, "a shared root")?;
    }
    Ok(order.finish())
}

/// Modules that a plan adds to a guest, in load order.
///
/// # Errors
/// If a module is missing or damaged, or was built for another kernel.
pub fn needed_by_plan(
    kernel: &Kernel,
    modules: &[ExtraModule],
) -> Result<Vec<GuestModule>, GuestError> {
    let mut order = ModuleResolver::new(kernel);
    for module in modules {
        let name = match module {
            ExtraModule::OfKernel(name) => canonical(name),
            ExtraModule::File(path) => module_name(&path.to_string_lossy()).unwrap_or_default(),
        };
        order.require(&name, "the plan")?;
    }
    Ok(order.finish())
}

/// Modules that every guest needs, in load order.
pub(crate) fn of_guest(kernel: &Kernel) -> Result<Vec<GuestModule>, GuestError> {
    let mut order = ModuleResolver::new(kernel);
    for name in EVERY {
        order.require(name, "a guest")?;
    }
    Ok(order.finish())
}

/// Modules of a disk alone, in load order.
pub(crate) fn of_disk(kernel: &Kernel, kind: GuestDisk) -> Result<Vec<GuestModule>, GuestError> {
    let mut order = ModuleResolver::new(kernel);
    for name in disk::modules(kind) {
        order.require(name, kind.name())?;
    }
    Ok(order.finish())
}

/// Modules of a filesystem alone, in load order.
pub(crate) fn of_filesystem(kernel: &Kernel, name: &str) -> Result<Vec<GuestModule>, GuestError> {
    let mut order = ModuleResolver::new(kernel);
    require_filesystem(&mut order, name)?;
    Ok(order.finish())
}

/// Adds the module of a filesystem under the name by which the kernel asks for it, which may be an
/// alias: `fs-ext3` is an alias of ext4.
fn require_filesystem(order: &mut ModuleResolver<'_>, name: &str) -> Result<(), GuestError> {
    if name.is_empty() || is_in_memory(name) {
        return Ok(());
    }
    let alias = format!("fs_{}", canonical(name));
    order.require(if order.has(&alias) { &alias } else { name }, "a guest")
}

/// Modules that a layer requires.
fn of_layer(layer: &Layer) -> Vec<&str> {
    match layer {
        Layer::Loop(_) => vec!["loop"],
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

/// Aliases of the modules for the cipher of a layer, such as `aes-xts-plain64` or
/// `capi:xts(aes)-plain64`. Where they are built in there are none.
fn ciphers(layer: &CryptLayer) -> Vec<String> {
    let parts = layer.cipher.split(['-', ':', '(', ')', ',']).filter(|part| !part.is_empty());
    // Block modes are made of this one.
    let names = parts.chain(["ecb"]).flat_map(|part| {
        let part = canonical(part);
        [format!("{ALGORITHM}{part}"), part]
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::{ModuleResolver, helpers, needed};
    use crate::kernel::{ModprobeRules, ModuleFile};
    use crate::modinfo::ModuleInformation;
    use crate::{Architecture, GuestError, Kernel};
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
        elf[18..20].copy_from_slice(&62_u16.to_le_bytes());
        elf[40..48].copy_from_slice(&headers_at.to_le_bytes());
        elf[58..60].copy_from_slice(&64_u16.to_le_bytes());
        elf[60..62].copy_from_slice(&3_u16.to_le_bytes());
        elf[62..64].copy_from_slice(&2_u16.to_le_bytes());
        elf
    }

    fn kernel(modules: &[(&str, &str)], built_in: &[&str]) -> Kernel {
        let file = |(name, modinfo): &(&str, &str)| {
            let bytes = module(modinfo);
            let information = Ok(ModuleInformation::of_module(&bytes).unwrap());
            let file = ModuleFile { path: format!("{name}.ko"), bytes, information };
            ((*name).to_owned(), file)
        };
        Kernel {
            source: "/k.deb".into(),
            architecture: Architecture::X86_64,
            release: "6.1".to_owned(),
            version: String::new(),
            image: Vec::new(),
            configuration: None,
            modules: modules.iter().map(file).collect::<BTreeMap<_, _>>(),
            built_in: Some(built_in.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>()),
            built_in_information: BTreeMap::new(),
            rules: ModprobeRules::default(),
            layout: None,
            words: None,
        }
    }

    /// Modules of these names in load order; `?` follows the name of an optional one.
    fn order(kernel: &Kernel, wanted: &[&str]) -> Result<Vec<String>, GuestError> {
        let mut order = ModuleResolver::new(kernel);
        for name in wanted {
            order.require(name, "a guest")?;
        }
        let marked = |name: String, is_optional| if is_optional { name + "?" } else { name };
        let modules = order.finish().into_iter();
        Ok(modules.map(|module| marked(module.name, module.is_optional)).collect())
    }

    fn names(kernel: &Kernel, wanted: &[&str]) -> Vec<String> {
        order(kernel, wanted).unwrap()
    }

    /// Kernel whose modules are those of Debian's generic kernels that ext4 needs.
    fn generic(built_in: &[&str]) -> Kernel {
        let aliases = "alias=crypto-crc32c\0alias=crc32c\0";
        kernel(
            &[
                ("ext4", "softdep=pre: crypto-crc32c\0depends=jbd2,libcrc32c\0alias=fs-ext3\0"),
                ("jbd2", "softdep=pre: crypto-crc32c\0depends=\0"),
                ("libcrc32c", "softdep=pre: crc32c\0"),
                ("crc32c_generic", &format!("{aliases}alias=crypto-crc32c-generic\0")),
                ("crc32c_intel", &format!("{aliases}alias=cpu:type:x86,*:feature:*0094*\0")),
            ],
            built_in,
        )
    }

    #[test]
    fn modules_follow_their_dependencies() {
        let kernel = kernel(
            &[
                (
                    "btrfs",
                    "softdep=pre: crc32c gone\0softdep=pre: xxhash64\0depends=raid6_pq,xor\0",
                ),
                ("raid6_pq", "depends=\0"),
                ("xor", "depends=raid6-pq\0softdep=post: later\0"),
                ("later", "weakdep=weakly\0"),
                ("weakly", ""),
                ("crc32c_generic", "alias=crypto-crc32c\0alias=crc32c\0"),
                ("xxhash_generic", "alias=xxhash64\0depends=absent\0"),
                ("a", "depends=b\0"),
                ("b", "depends=a\0"),
            ],
            &["ext4"],
        );
        let order = ["crc32c_generic?", "raid6_pq", "xor", "weakly?", "later?", "btrfs"];
        assert_eq!(names(&kernel, &["btrfs", "ext4", "xor"]), order);
        assert_eq!(names(&kernel, &["a"]), ["b", "a"]);
    }

    #[test]
    fn code_for_the_processor_comes_before_what_chooses_an_algorithm() {
        let all = ["crc32c_generic?", "jbd2", "libcrc32c", "ext4"];
        let with_intel = |from: usize| {
            let mut order = all.to_vec();
            order.insert(from, "crc32c_intel?");
            order
        };
        assert_eq!(names(&generic(&[]), &["ext4"]), with_intel(0));
        assert_eq!(names(&generic(&[]), &["fs_ext3"]), with_intel(0));
        // The filesystem in the image wants it, too, although modprobe would do nothing.
        let mut cloud = generic(&["ext4"]);
        cloud.modules.retain(|name, _| name == "crc32c_intel");
        let list = b"ext4.alias=fs-ext4\0ext4.softdep=pre: crypto-crc32c\0";
        cloud.built_in_information = ModuleInformation::of_built_in(list);
        assert_eq!(names(&cloud, &["fs_ext4"]), ["crc32c_intel?"]);
        assert_eq!(names(&cloud, &["ext4"]), ["crc32c_intel?"]);
        // Without any softdep the module that has the algorithm brings it.
        let mut plain = generic(&[]);
        let needs =
            ModuleInformation { depends: vec!["crc32c_generic".to_owned()], ..Default::default() };
        plain.modules.get_mut("ext4").unwrap().information = Ok(needs);
        assert_eq!(names(&plain, &["ext4"]), ["crc32c_intel?", "crc32c_generic", "ext4"]);
    }

    #[test]
    fn rules_of_the_package_add_aliases_and_keep_modules_from_them() {
        let mut kernel = generic(&[]);
        kernel.rules.blacklist.insert("crc32c_intel".to_owned());
        assert_eq!(names(&kernel, &["jbd2"]), ["crc32c_generic?", "jbd2"]);
        // A name is no alias.
        assert_eq!(names(&kernel, &["crc32c_intel"]), ["crc32c_intel"]);
        kernel.rules.aliases.push(("fs_e*".to_owned(), "libcrc32c".to_owned()));
        assert_eq!(names(&kernel, &["fs_ext3"]), ["crc32c_generic?", "libcrc32c"]);
    }

    #[test]
    fn what_was_optional_becomes_necessary_with_its_dependencies() {
        let kernel = kernel(
            &[
                ("a", "softdep=pre: soft\0depends=hard\0"),
                ("soft", "depends=below\0"),
                ("below", ""),
                ("hard", "depends=soft\0"),
            ],
            &[],
        );
        assert_eq!(names(&kernel, &["a"]), ["below", "soft", "hard", "a"]);
        let mut damaged = generic(&[]);
        damaged.modules.get_mut("crc32c_generic").unwrap().information = Err("cut".to_owned());
        assert_eq!(names(&damaged, &["jbd2"]), ["crc32c_intel?", "jbd2"]);
        let error = order(&damaged, &["jbd2", "crc32c_generic"]).unwrap_err().to_string();
        assert!(error.contains("crc32c_generic.ko: cut"), "{error}");
    }

    #[test]
    fn missing_modules_are_named_with_their_dependent() {
        let kernel = kernel(&[("btrfs", "depends=zstd-compress\0")], &[]);
        let error = order(&kernel, &["btrfs"]).unwrap_err().to_string();
        let expected = "the kernel 6.1 has no module zstd_compress, which btrfs needs, and it is \
                        not built in";
        assert_eq!(error, expected);
        assert!(order(&kernel, &["xfs"]).unwrap_err().to_string().contains("which a guest"));
    }

    #[test]
    fn a_kernel_without_modules_has_everything_built_in() {
        let mut kernel = kernel(&[], &[]);
        assert!(order(&kernel, &["xfs"]).is_err());
        kernel.built_in = None;
        assert!(order(&kernel, &["xfs"]).unwrap().is_empty());
    }

    #[test]
    fn layers_bring_their_modules_and_the_ciphers_that_the_kernel_has() {
        let crypt = Layer::Crypt(CryptLayer::default());
        let kernel = kernel(
            &[
                ("dm_crypt", "depends=dm_mod\0"),
                ("dm_mod", "depends=\0"),
                ("xts", "softdep=pre: ecb\0alias=crypto-xts\0"),
                ("aesni_intel", "depends=cryptd\0alias=crypto-aes\0"),
                ("cryptd", "depends=\0"),
            ],
            &["virtio_pci", "virtio_console", "virtio_blk", "ext4", "aes_generic"],
        );
        let modules =
            needed(&kernel, GuestDisk::Virtio, "ext4", std::slice::from_ref(&crypt)).unwrap();
        let names: Vec<_> = modules.iter().map(|it| (it.name.as_str(), it.is_optional)).collect();
        let of_cipher = [("cryptd", true), ("aesni_intel", true), ("xts", true)];
        let of_disk = [("dm_mod", false), ("dm_crypt", false)];
        assert_eq!(names, [&of_cipher[..], &of_disk].concat());
        assert!(helpers(&crypt).contains(&"crypto_aes".to_owned()));
        let thin = [Layer::Thin(ThinLayer::default())];
        let missing = needed(&kernel, GuestDisk::Virtio, "ext4", &thin).unwrap_err().to_string();
        assert!(missing.contains("has no module dm_thin_pool"), "{missing}");
    }
}
