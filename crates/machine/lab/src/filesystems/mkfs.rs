//! Arguments of mkfs and mount options. The options that treering adds are listed in the
//! filesystem's entry, with the reason; the user's options win.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use treering_model::filesystems::{CreationMethod, Filesystem, Mkfs};

use super::OptionRefusal;
use super::getopt::{MkfsOption, read};

/// Parameters of an mkfs run.
#[derive(Clone, Copy, Debug)]
pub struct MkfsRequest<'a> {
    /// Device nodes, at least one.
    pub devices: &'a [PathBuf],
    /// Label of the filesystem.
    pub label: &'a str,
    /// The user's options, one element per argument.
    pub options: &'a [String],
}

/// Arguments of the filesystem's mkfs; empty for a filesystem without mkfs.
///
/// # Errors
/// When the user's options would make mkfs do anything else than make this filesystem on these
/// devices.
pub fn arguments(
    filesystem: &Filesystem,
    request: &MkfsRequest<'_>,
) -> Result<Vec<OsString>, OptionRefusal> {
    match (filesystem.mkfs(), request.options.first()) {
        (Some(mkfs), _) => arguments_of(mkfs, request),
        (None, None) => Ok(Vec::new()),
        (None, Some(option)) => {
            let name = filesystem.name;
            let why = format!("there is no mkfs for {name}; its settings are mount options");
            Err(OptionRefusal { option: option.clone(), why })
        }
    }
}

fn arguments_of(mkfs: &Mkfs, request: &MkfsRequest<'_>) -> Result<Vec<OsString>, OptionRefusal> {
    let parsed = read(request.options, mkfs.with_value)?;
    for refused in mkfs.refused {
        if parsed.iter().filter(|option| option.name == refused.letter).count() > refused.times_max
        {
            let option = format!("-{}", refused.letter);
            return Err(OptionRefusal { option, why: refused.why.to_owned() });
        }
    }
    let mut options: Vec<OsString> = request.options.iter().map(OsString::from).collect();
    let mut ours: Vec<OsString> = mkfs.force.iter().map(OsString::from).collect();
    // Some mkfs programs refuse a second label.
    if let Some(letter) = mkfs.label.first()
        && !parsed.iter().any(|option| mkfs.label.contains(&option.name))
    {
        ours.extend([format!("-{letter}").into(), request.label.into()]);
    }
    // Only the last of several `-E` options is effective, so the added options go into it.
    match parsed.iter().rfind(|option| option.name == "E") {
        Some(theirs) if !mkfs.extended.is_empty() => merge(&mut options, theirs, mkfs.extended)?,
        None if !mkfs.extended.is_empty() => {
            ours.extend(["-E".into(), mkfs.extended.join(",").into()]);
        }
        _ => {}
    }
    ours.extend(options);
    ours.extend(request.devices.iter().map(OsString::from));
    Ok(ours)
}

fn merge(
    options: &mut [OsString],
    theirs: &MkfsOption<'_>,
    extended: &[&str],
) -> Result<(), OptionRefusal> {
    let Some(value) = theirs.value else {
        let why = "wants a value".to_owned();
        return Err(OptionRefusal { option: "-E".to_owned(), why });
    };
    let key = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let keys: Vec<_> = value.split(',').map(key).collect();
    let added = extended.iter().filter(|option| !keys.contains(&key(option)));
    let last = &mut options[theirs.place.1 - 1];
    for option in added {
        last.push(",");
        last.push(option);
    }
    Ok(())
}

/// Block size of a journal on a device of its own, and so of its filesystem, unless the user names
/// one.
const JOURNAL_BLOCK: &str = "4096";

/// User's options of mkfs with those for a journal on this device, and the arguments that make the
/// journal first; none if mkfs makes both at once.
///
/// # Errors
/// When the user's options cannot be read, or the filesystem has no journal on another device.
pub(crate) fn with_journal(
    filesystem: &Filesystem,
    options: &[String],
    journal: &Path,
) -> Result<(Vec<String>, Vec<OsString>), OptionRefusal> {
    let node = journal.display().to_string();
    let (Some(outer), Some(mkfs)) = (filesystem.outer_journal, filesystem.mkfs()) else {
        let why = format!("{} has no journal on another device", filesystem.name);
        return Err(OptionRefusal { option: node, why });
    };
    let [letter, key] = outer.mkfs;
    let mut all_options = options.to_vec();
    all_options.extend([letter.to_owned(), format!("{key}{node}")]);
    let mut making: Vec<OsString> = outer.making.iter().map(OsString::from).collect();
    if !making.is_empty() {
        let parsed = read(options, mkfs.with_value)?;
        let asked = parsed.iter().rfind(|option| option.name == "b");
        let block = asked.and_then(|option| option.value).unwrap_or(JOURNAL_BLOCK);
        making.extend(["-b".into(), block.into(), node.into()]);
    }
    Ok((all_options, making))
}

/// Mount options added to the user's: the names of several devices and of the journal's, or the
/// size in bytes of a filesystem in memory.
pub fn mount_options(
    filesystem: &Filesystem,
    (devices, journal): (&[PathBuf], Option<&Path>),
    bytes: u64,
    user: &[String],
) -> Vec<String> {
    if let CreationMethod::Mounted { size } = filesystem.making {
        let mut words = user.iter().flat_map(|options| options.split(','));
        let is_sized =
            words.any(|word| word.split_once('=').is_some_and(|(key, _)| size.contains(&key)));
        let ours = size.first().filter(|_| !is_sized);
        return ours.map(|key| format!("{key}={bytes}")).into_iter().collect();
    }
    let named = |option: &str, device: &Path| format!("{option}={}", device.display());
    let others = filesystem
        .device_option
        .into_iter()
        .flat_map(|option| devices.iter().skip(1).map(move |device| named(option, device)));
    let outer = filesystem.outer_journal.zip(journal);
    others.chain(outer.map(|(outer, device)| named(outer.mount, device))).collect()
}

#[cfg(test)]
mod tests {
    use super::{MkfsRequest, arguments, mount_options, with_journal};
    use crate::filesystems::find;
    use std::path::PathBuf;

    fn made(filesystem: &str, options: &[&str]) -> Option<String> {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        let devices = [PathBuf::from("/dev/x")];
        let request = MkfsRequest { devices: &devices, label: "l", options: &options };
        let arguments = arguments(find(filesystem).unwrap(), &request).ok()?;
        Some(arguments.join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn user_options_take_precedence() {
        let made = |options: &[&str]| made("ext4", options).unwrap();
        let seed = "hash_seed=74726565-7269-6e67-7472-656572696e67";
        let lazy = &format!("lazy_itable_init=0,lazy_journal_init=0,{seed}");
        assert_eq!(made(&[]), format!("-L l -E {lazy} /dev/x"));
        assert_eq!(made(&["-b", "1024"]), format!("-L l -E {lazy} -b 1024 /dev/x"));
        let mixed = made(&["-qE", "stride=4,lazy_itable_init=1", "-Lme"]);
        let lazy = format!("lazy_itable_init=1,lazy_journal_init=0,{seed}");
        assert_eq!(mixed, format!("-qE stride=4,{lazy} -Lme /dev/x"));
        let joined = made(&["-Ehash_seed=random"]);
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        assert_eq!(joined, format!("-L l -Ehash_seed=random,{lazy} /dev/x"));
    }

    #[test]
    fn force_is_accepted_once_and_missing_values_are_refused() {
        let made = |options: &[&str]| made("ext4", options);
        assert!(made(&["-F"]).is_some());
        assert!(made(&["-FF"]).is_none() && made(&["-F", "-qF"]).is_none());
        assert!(made(&["-E"]).is_none() && made(&["-b", "1024", "512"]).is_none());
        assert!(super::tests::made("f2fs", &["-c", "/dev/y"]).is_none());
    }

    #[test]
    fn the_label_is_passed_once() {
        assert_eq!(made("xfs", &[]).unwrap(), "-f -L l /dev/x");
        assert_eq!(made("xfs", &["-Lmine"]).unwrap(), "-f -Lmine /dev/x");
        assert_eq!(made("xfs", &["-qL", "mine"]).unwrap(), "-f -qL mine /dev/x");
        assert_eq!(made("btrfs", &["--label=mine"]).unwrap(), "-f --label=mine /dev/x");
        assert_eq!(made("f2fs", &["-E", "txt"]).unwrap(), "-f -l l -E txt /dev/x");
    }

    #[test]
    fn all_devices_are_passed_to_the_mount() {
        let devices: Vec<_> = ["/dev/a", "/dev/b", "/dev/c"].iter().map(PathBuf::from).collect();
        let several = find("btrfs").unwrap();
        let options = mount_options(several, (&devices, None), 0, &[]);
        assert_eq!(options, ["device=/dev/b", "device=/dev/c"]);
        assert!(mount_options(several, (&devices[..1], None), 0, &[]).is_empty());
        assert!(mount_options(find("xfs").unwrap(), (&devices, None), 0, &[]).is_empty());
    }

    #[test]
    fn a_journal_on_another_device_is_made_and_mounted() {
        let journal = PathBuf::from("/dev/j");
        let made = |filesystem: &str, options: &[&str]| {
            let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
            let made = with_journal(find(filesystem).unwrap(), &options, &journal).ok()?;
            Some((made.0.join(" "), made.1.join(" ".as_ref()).into_string().unwrap()))
        };
        let pair = |left: &str, right: &str| Some((left.to_owned(), right.to_owned()));
        let ext4 = pair("-b 1024 -J device=/dev/j", "-O journal_dev -b 1024 /dev/j");
        assert_eq!(made("ext4", &["-b", "1024"]), ext4);
        assert_eq!(made("ext4", &[]).unwrap().1, "-O journal_dev -b 4096 /dev/j");
        assert_eq!(made("xfs", &[]), pair("-l logdev=/dev/j", ""));
        assert_eq!(made("ext2", &[]), None);
        let mounted = |filesystem: &str| {
            let on = (&[PathBuf::from("/dev/x")][..], Some(&*journal));
            mount_options(find(filesystem).unwrap(), on, 0, &[]).join(",")
        };
        assert_eq!(mounted("ext4"), "journal_path=/dev/j");
        assert_eq!(mounted("xfs"), "logdev=/dev/j");
    }

    #[test]
    fn tmpfs_size_defaults_to_the_device_size_and_mkfs_is_refused() {
        let tmpfs = find("tmpfs").unwrap();
        let user = |option: &str| mount_options(tmpfs, (&[], None), 4096, &[option.to_owned()]);
        assert_eq!(user("noatime"), ["size=4096"]);
        assert!(user("noatime,size=1g").is_empty() && user("nr_blocks=7").is_empty());
        assert_eq!(made("tmpfs", &["-q"]), None);
    }
}
