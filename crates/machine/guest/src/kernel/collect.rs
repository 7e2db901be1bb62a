//! Selection of a package's files by path; all others are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;

use treering_model::filesystems::NINE_P_SOURCE;

use super::arm64_image::unpacked_image;
use super::image::ImageIdentity;
use super::rules::ModprobeRules;
use super::{Kernel, ModuleFile, common_layout, image, module_name, package_error, payload};
use crate::GuestError;
use crate::modinfo::ModuleInformation;
use crate::unpack::read_all;

pub(super) const IMAGE_BYTES_MAX: u64 = 256 << 20;
pub(super) const MODULE_BYTES_MAX: u64 = 256 << 20;
pub(super) const TEXT_BYTES_MAX: u64 = 8 << 20;
/// Limit of the bytes kept from one package.
const KEPT_BYTES_MAX: u64 = 2 << 30;

/// Directories of modules that a guest can need: filesystems with their dependencies, and disks
/// supported by QEMU. Graphics, sound and networking, apart from 9p, are skipped.
const FOLDERS: [&str; 18] = [
    "kernel/arch/",
    "kernel/block/",
    "kernel/crypto/",
    "kernel/fs/",
    "kernel/lib/",
    "kernel/mm/",
    "kernel/drivers/ata/",
    "kernel/drivers/base/",
    "kernel/drivers/block/",
    "kernel/drivers/char/",
    "kernel/drivers/dax/",
    "kernel/drivers/md/",
    "kernel/drivers/nvdimm/",
    "kernel/drivers/nvme/",
    "kernel/drivers/scsi/",
    "kernel/drivers/virtio/",
    "extra/",
    "updates/",
];

/// Files collected from a package.
#[derive(Default)]
pub(super) struct PackageCollector {
    image: Option<(String, Vec<u8>)>,
    configuration: Option<String>,
    modules: BTreeMap<String, ModuleFile>,
    built_in: Option<BTreeSet<String>>,
    built_in_information: BTreeMap<String, ModuleInformation>,
    rules: ModprobeRules,
    kept_bytes: u64,
}

/// Role of a file in a package.
enum FileRole<'p> {
    Image,
    Configuration,
    BuiltIn,
    BuiltInInformation,
    Rules,
    Module { below: &'p str, name: String },
}

/// Reports whether a file of a package is needed, by its path in the installed system.
pub(super) fn is_taken(path: &str) -> bool {
    role(path).is_some()
}

/// Role of the file at this path; `None` for unneeded files.
fn role(path: &str) -> Option<FileRole<'_>> {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let path = path.strip_prefix("usr/").unwrap_or(path);
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    if let Some(name) = path.strip_prefix("boot/") {
        return match name {
            _ if name.starts_with("vmlinuz") || name.starts_with("bzImage") => {
                Some(FileRole::Image)
            }
            _ if name.starts_with("config-") => Some(FileRole::Configuration),
            _ => None,
        };
    }
    let is_of_modprobe =
        ["lib/modprobe.d/", "etc/modprobe.d/"].iter().any(|it| path.starts_with(it));
    if is_of_modprobe {
        return path.strip_suffix(".conf").map(|_| FileRole::Rules);
    }
    let (_release, below) = path.strip_prefix("lib/modules/")?.split_once('/')?;
    match below {
        "vmlinuz" => Some(FileRole::Image),
        "config" => Some(FileRole::Configuration),
        "modules.builtin" => Some(FileRole::BuiltIn),
        "modules.builtin.modinfo" => Some(FileRole::BuiltInInformation),
        _ => {
            let name = module_name(below)?;
            let shares =
                below.strip_prefix("kernel/").unwrap_or_default().starts_with(NINE_P_SOURCE);
            let is_wanted = shares || FOLDERS.iter().any(|folder| below.starts_with(folder));
            is_wanted.then_some(FileRole::Module { below, name })
        }
    }
}

impl PackageCollector {
    /// Takes what another package of the same kernel has. False if both have an image.
    pub(super) fn merge(&mut self, other: Self) -> bool {
        if self.image.is_some() && other.image.is_some() {
            return false;
        }
        self.image = self.image.take().or(other.image);
        self.configuration = self.configuration.take().or(other.configuration);
        self.modules.extend(other.modules);
        self.built_in = self.built_in.take().or(other.built_in);
        self.built_in_information.extend(other.built_in_information);
        self.rules.merge(other.rules);
        true
    }

    /// Takes a file of a package if it is needed, by its path in the installed system.
    ///
    /// # Errors
    /// If the file cannot be read or is too large.
    pub(super) fn look(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        match role(path) {
            None => Ok(()),
            // Some packages contain the image twice: in /boot and next to the modules.
            Some(FileRole::Image) if self.image.is_some() => Ok(()),
            Some(FileRole::Image) => self.take_image(path, content),
            Some(FileRole::Configuration) => self.take_configuration(content),
            Some(FileRole::BuiltIn) => self.take_built_in(content),
            Some(FileRole::BuiltInInformation) => self.take_built_in_information(content),
            Some(FileRole::Rules) => self.take_rules(content),
            Some(FileRole::Module { below, name }) => self.take_module(below, name, content),
        }
    }

    pub(super) fn take_image(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let bytes = unpacked_image(self.bytes(content, IMAGE_BYTES_MAX)?)?;
        // A link to the image is empty in a package.
        if !bytes.is_empty() {
            self.image = Some((path.to_owned(), bytes));
        }
        Ok(())
    }

    pub(super) fn take_configuration(&mut self, content: &mut dyn Read) -> io::Result<()> {
        let bytes = self.bytes(content, TEXT_BYTES_MAX)?;
        self.configuration = Some(String::from_utf8_lossy(&bytes).into_owned());
        Ok(())
    }

    pub(super) fn take_built_in(&mut self, content: &mut dyn Read) -> io::Result<()> {
        let bytes = self.bytes(content, TEXT_BYTES_MAX)?;
        let names = String::from_utf8_lossy(&bytes).lines().filter_map(module_name).collect();
        self.built_in = Some(names);
        Ok(())
    }

    pub(super) fn take_built_in_information(&mut self, content: &mut dyn Read) -> io::Result<()> {
        let bytes = self.bytes(content, TEXT_BYTES_MAX)?;
        self.built_in_information = ModuleInformation::of_built_in(&bytes);
        Ok(())
    }

    fn take_rules(&mut self, content: &mut dyn Read) -> io::Result<()> {
        let bytes = self.bytes(content, TEXT_BYTES_MAX)?;
        self.rules.add(&String::from_utf8_lossy(&bytes));
        Ok(())
    }

    pub(super) fn take_module(
        &mut self,
        path: &str,
        name: String,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let bytes = self.bytes(content, MODULE_BYTES_MAX)?;
        self.modules.insert(name, ModuleFile::new(path.to_owned(), bytes));
        Ok(())
    }

    fn bytes(&mut self, content: &mut dyn Read, most: u64) -> io::Result<Vec<u8>> {
        let bytes = read_all(content, most.min(KEPT_BYTES_MAX - self.kept_bytes))?;
        self.kept_bytes += bytes.len() as u64;
        Ok(bytes)
    }

    /// Builds the kernel from the collected files.
    pub(super) fn kernel(mut self, source: &Path) -> Result<Kernel, GuestError> {
        let none = |why: String| GuestError::NoKernel { path: source.to_owned(), why };
        let (path, image) = self.image.take().ok_or_else(|| {
            none("there is no boot/vmlinuz-* and no lib/modules/*/vmlinuz in it".to_owned())
        })?;
        let member = if Path::new(&path) == source { "" } else { path.as_str() };
        let ImageIdentity { architecture, release, version } = image::identity(&image)
            .ok_or_else(|| none(format!("{path}: {}", image::described(&image))))?;
        if let Some(stated) = image::stated_bytes(&image).filter(|&it| it > image.len() as u64) {
            let why =
                format!("it is cut: it has {} bytes, and its header says {stated}", image.len());
            return Err(package_error(source, member, why));
        }
        let unpacked = payload::unpacked_kernel(&image).transpose();
        let unpacked = unpacked.map_err(|why| package_error(source, member, why))?;
        let comes_alone = self.built_in.is_none() && self.modules.is_empty();
        self.modules.values_mut().for_each(|module| module.check(architecture));
        Ok(Kernel {
            layout: common_layout(&self.modules),
            words: unpacked.filter(|_| comes_alone).map(|code| payload::last_words(&code)),
            source: source.to_owned(),
            architecture,
            release,
            version,
            image,
            configuration: self.configuration,
            modules: self.modules,
            built_in: self.built_in,
            built_in_information: self.built_in_information,
            rules: self.rules,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FileRole, PackageCollector, image, role};

    #[test]
    fn paths_determine_file_roles_and_never_escape() {
        assert!(matches!(role("./boot/vmlinuz-6.1"), Some(FileRole::Image)));
        assert!(matches!(role("./usr/lib/modules/6.1/vmlinuz"), Some(FileRole::Image)));
        assert!(matches!(role("/lib/modules/6.1/modules.builtin"), Some(FileRole::BuiltIn)));
        let module = role("./lib/modules/6.1/kernel/fs/xfs/xfs.ko.xz");
        assert!(matches!(module, Some(FileRole::Module { name, .. }) if name == "xfs"));
        for other in [
            "./lib/modules/6.1/kernel/sound/snd.ko",
            "./lib/modules/../../etc/kernel/fs/x.ko",
            "./boot/System.map-6.1",
            "./etc/passwd",
            "",
        ] {
            assert!(role(other).is_none(), "{other}");
        }
    }

    #[test]
    fn invalid_images_are_named() {
        let mut collector = PackageCollector::default();
        collector.look("boot/vmlinuz-6.1", &mut b"text".as_slice()).unwrap();
        let error = collector.kernel("/x.deb".as_ref()).unwrap_err().to_string();
        assert!(
            error.contains("boot/vmlinuz-6.1: it is neither a package nor a boot image"),
            "{error}"
        );
        let mut collector = PackageCollector::default();
        let cut = &image::boot_image("6.1 (a@b) #1")[..2000];
        collector.look("boot/vmlinuz-6.1", &mut &cut[..]).unwrap();
        let error = collector.kernel("/x.deb".as_ref()).unwrap_err().to_string();
        let expected = "/x.deb: boot/vmlinuz-6.1: it is cut: it has 2000 bytes, and its header \
                        says 2560";
        assert_eq!(error, expected);
    }
}
