//! Filesystem under test: mount, size, used space, features and geometry.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use treering_model::Fact;
use treering_model::filesystems::{
    BTRFS, EXT2, EXT3, EXT4, F2FS, MetadataCopies, SINGLE, XFS, by_name,
};
use treering_sys::{Mount, filesystem_facts, xfs_geometry};

use super::{checksum, device, ext as superblock, fact};
use crate::places::KernelRoots;

/// Function that reads features and geometry of a mounted filesystem.
type BuildReader = fn(&KernelRoots, &File, &Mount) -> Option<FilesystemBuild>;

/// Readers by filesystem.
const READERS: &[(&str, BuildReader)] = &[
    (EXT2.name, ext),
    (EXT3.name, ext),
    (EXT4.name, ext),
    (XFS.name, xfs),
    (BTRFS.name, btrfs),
    (F2FS.name, f2fs),
];

/// Facts about the filesystem that contains an open directory.
pub(super) fn facts(places: &KernelRoots, dir: &File, mount: Option<&Mount>) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(mount) = mount {
        facts.push(fact("filesystem.type", &mount.fs_type));
        facts.push(fact("filesystem.source", mount.source.to_string_lossy()));
        facts.push(fact("filesystem.mount_point", mount.point.display()));
        facts.push(fact("filesystem.mount_options", &mount.options));
        facts.push(fact("filesystem.super_options", &mount.super_options));
    }
    if let Ok(figures) = filesystem_facts(dir) {
        facts.push(fact("filesystem.block_bytes", figures.block_bytes));
        facts.push(fact("filesystem.capacity_bytes", figures.capacity_bytes));
        facts.push(fact("filesystem.free_bytes", figures.free_bytes));
        let reserved_bytes = figures.unused_bytes.saturating_sub(figures.free_bytes);
        facts.push(fact("filesystem.reserved_bytes", reserved_bytes));
        if let Some(free) = figures.free_inodes {
            facts.push(fact("filesystem.free_inodes", free));
        }
    }
    let Some(mount) = mount else { return facts };
    let reader = READERS.iter().find(|(name, _)| *name == mount.fs_type);
    let made = reader.and_then(|(_, read)| read(places, dir, mount));
    // Some readers require root; filesystems that always store metadata once need none for that
    // fact.
    let further = match &made {
        Some(made) => made.further.clone(),
        None if by_name(&mount.fs_type)
            .is_some_and(|filesystem| filesystem.metadata == MetadataCopies::Once) =>
        {
            once()
        }
        None => Vec::new(),
    };
    let stated = made.as_ref().and_then(|made| made.checksum.as_deref());
    facts.extend(checksum::facts(places, &mount.fs_type, stated));
    if let Some(made) = made {
        facts.push(fact("filesystem.features", made.features));
        facts.push(fact("filesystem.geometry", made.geometry));
    }
    facts.extend(further);
    facts
}

/// Features and geometry of a filesystem, as far as known.
struct FilesystemBuild {
    features: String,
    geometry: String,
    /// Algorithm of the checksums with its code, where the filesystem states it.
    checksum: Option<String>,
    /// Further facts: replication profiles of metadata and data, size of the journal.
    further: Vec<Fact>,
}

/// Profile of filesystems that store metadata once.
fn once() -> Vec<Fact> {
    vec![fact("filesystem.metadata_profile", SINGLE)]
}

fn ext(_: &KernelRoots, _: &File, mount: &Mount) -> Option<FilesystemBuild> {
    let made = superblock::read(Path::new(&mount.source))?;
    let journal = made.journal_bytes().map(|bytes| fact("filesystem.journal_bytes", bytes));
    Some(FilesystemBuild {
        features: made.features(),
        geometry: made.geometry(),
        further: once().into_iter().chain(journal).collect(),
        checksum: None,
    })
}

fn xfs(_: &KernelRoots, dir: &File, _: &Mount) -> Option<FilesystemBuild> {
    let made = xfs_geometry(dir).ok()?;
    let mut geometry = format!(
        "inode_bytes={}, sector_bytes={}, directory_block_bytes={}, groups={}, log_bytes={}",
        made.inode_bytes,
        made.sector_bytes,
        made.directory_block_bytes,
        made.groups,
        made.log_bytes
    );
    if made.stripe_blocks != (0, 0) {
        let (unit, width) = made.stripe_blocks;
        geometry += &format!(", stripe_unit_blocks={unit}, stripe_width_blocks={width}");
    }
    Some(FilesystemBuild {
        features: made.features.join(" "),
        geometry,
        further: once(),
        checksum: None,
    })
}

fn btrfs(places: &KernelRoots, _: &File, mount: &Mount) -> Option<FilesystemBuild> {
    let name = device::name_of(places, &mount.source)?;
    let top = places.sys.join("fs").join(BTRFS.name);
    let folders: Vec<PathBuf> = names(&top).into_iter().map(|id| top.join(id)).collect();
    let ours = |folder: &PathBuf| folder.join("devices").join(&name).exists();
    Some(made_btrfs(&folders.into_iter().find(ours)?))
}

/// Reads the sysfs directory of a mounted btrfs.
fn made_btrfs(folder: &Path) -> FilesystemBuild {
    let read = |file: &str| {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        Some(text.trim().to_owned())
    };
    let is_on = |name: &String| read(&format!("features/{name}")).is_some_and(|text| text == "1");
    let features: Vec<String> = names(&folder.join("features")).into_iter().filter(is_on).collect();
    let mut geometry = Vec::new();
    for (name, file) in
        [("node_bytes", "nodesize"), ("sector_bytes", "sectorsize"), ("checksum", "checksum")]
    {
        geometry.extend(read(file).map(|value| format!("{name}={value}")));
    }
    geometry.push(format!("devices={}", names(&folder.join("devices")).len()));
    // Each space type has one directory per profile; small filesystems mix data and metadata.
    let profile = |kind: &str| {
        let of_kind = folder.join("allocation").join(kind);
        let is_profile = |name: &String| of_kind.join(name).join("total_bytes").exists();
        let profiles_of_kind: Vec<String> =
            names(&of_kind).into_iter().filter(is_profile).collect();
        (!profiles_of_kind.is_empty()).then(|| profiles_of_kind.join("+"))
    };
    let mut profiles = Vec::new();
    for (name, kind) in
        [("filesystem.metadata_profile", "metadata"), ("filesystem.data_profile", "data")]
    {
        let present = profile(kind).or_else(|| profile("mixed"));
        profiles.extend(present.map(|present| fact(name, present)));
    }
    FilesystemBuild {
        features: features.join(" "),
        geometry: geometry.join(", "),
        further: profiles,
        checksum: read("checksum"),
    }
}

fn f2fs(places: &KernelRoots, _: &File, mount: &Mount) -> Option<FilesystemBuild> {
    let name = device::name_of(places, &mount.source)?;
    let features = places.sys(&format!("fs/{}/{name}/features", F2FS.name))?;
    Some(FilesystemBuild { features, geometry: String::new(), further: once(), checksum: None })
}

/// Sorted names of a directory; empty if it does not exist.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::made_btrfs;
    use std::fs;

    #[test]
    fn btrfs_profiles_and_features_are_read() {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("features/extended_iref", "1\n"),
            ("features/skinny_metadata", "1\n"),
            ("features/raid56", "0\n"),
            ("nodesize", "16384\n"),
            ("sectorsize", "4096\n"),
            ("checksum", "crc32c (crc32c-lib)\n"),
            ("devices/sda", ""),
            ("allocation/metadata/flags", "4\n"),
            ("allocation/metadata/dup/total_bytes", "1\n"),
            ("allocation/data/single/total_bytes", "1\n"),
        ] {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let reported = |made: &super::FilesystemBuild| {
            let values = made.further.iter().map(|fact| format!("{}={}", fact.name, fact.value));
            values.collect::<Vec<_>>()
        };
        let made = made_btrfs(root.path());
        assert_eq!(made.features, "extended_iref skinny_metadata");
        let geometry =
            "node_bytes=16384, sector_bytes=4096, checksum=crc32c (crc32c-lib), devices=1";
        assert_eq!(made.geometry, geometry);
        assert_eq!(made.checksum.as_deref(), Some("crc32c (crc32c-lib)"));
        let both = ["filesystem.metadata_profile=dup", "filesystem.data_profile=single"];
        assert_eq!(reported(&made), both);
        // Half converted.
        fs::create_dir_all(root.path().join("allocation/metadata/raid1")).unwrap();
        fs::write(root.path().join("allocation/metadata/raid1/total_bytes"), "1").unwrap();
        let metadata = reported(&made_btrfs(root.path())).remove(0);
        assert_eq!(metadata, "filesystem.metadata_profile=dup+raid1");
    }
}
