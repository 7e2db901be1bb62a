//! Boot loader menus: finds the entry that boots a kernel. Reads grub.cfg and the entries of the
//! Boot Loader Specification, and writes nothing.

use std::fs;
use std::path::Path;

use crate::machine::names;

/// Largest accepted menu, in bytes.
const BYTES_MAX: u64 = 4 << 20;
/// Directories with entries of the Boot Loader Specification, beneath the root.
const ENTRIES: [&str; 3] = ["boot/loader/entries", "efi/loader/entries", "boot/efi/loader/entries"];
/// Directories with unified kernel images, beneath the root.
const IMAGES: [&str; 3] = ["boot/EFI/Linux", "efi/EFI/Linux", "boot/efi/EFI/Linux"];
/// Words of kernel command lines that boot into a rescue shell instead of the system.
const RESCUE: [&str; 4] = ["single", "recovery", "rescue", "emergency"];

/// Finds the entry of a grub.cfg that boots this release, in the form of `grub-reboot`: the
/// identifiers of the submenus and of the entry, separated by `>`. An entry that is named after the
/// release comes before the first one of the menu, which boots whatever is newest: that may be
/// another kernel when the machine boots again.
pub(super) fn in_grub_menu(menu: &str, release: &str) -> Option<String> {
    let mut open: Vec<Option<MenuEntry>> = Vec::new();
    let mut newest = None;
    for line in menu.lines() {
        let words = words(line);
        let first = words.first().map(String::as_str).unwrap_or_default();
        if words.last().is_some_and(|word| word == "{") {
            open.push(match first {
                "menuentry" | "submenu" => Some(MenuEntry::new(&words)),
                _ => None,
            });
        } else if first == "}" {
            open.pop();
        } else if matches!(first, "linux" | "linuxefi" | "linux16")
            && words.get(1).is_some_and(|path| is_image_of(path, release))
            && !words.iter().any(|word| RESCUE.contains(&word.as_str()))
            && open.last().is_some_and(Option::is_some)
        {
            let ids: Vec<&str> = open.iter().flatten().map(|entry| entry.id.as_str()).collect();
            let path = ids.join(">");
            if ids.last().is_some_and(|id| id.contains(release)) {
                return Some(path);
            }
            newest.get_or_insert(path);
        }
    }
    newest
}

/// A menu entry or submenu.
struct MenuEntry {
    id: String,
}

impl MenuEntry {
    fn new(words: &[String]) -> Self {
        let after = |at: usize| words.get(at + 1);
        let is_key = |word: &String| word == "$menuentry_id_option" || word == "--id";
        let id = words.iter().position(is_key).and_then(after).cloned();
        let id = id
            .or_else(|| words.iter().find_map(|word| Some(word.strip_prefix("--id=")?.to_owned())));
        // An entry without an identifier is named by its title, in which GRUB requires each > to be
        // doubled.
        let title = || words.get(1).map(|title| title.replace('>', ">>")).unwrap_or_default();
        Self { id: id.unwrap_or_else(title) }
    }
}

/// Splits a line of GRUB's script into words: quotation marks work as in a shell, without
/// expansion.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for character in line.trim().chars() {
        match (quote, character) {
            (Some(mark), _) if mark == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// File name of the Boot Loader Specification entry that boots this release.
pub(super) fn in_entries(root: &Path, release: &str) -> Option<String> {
    let entry = ENTRIES.iter().map(|folder| root.join(folder)).find_map(|folder| {
        let names = names(&folder).into_iter().filter(|name| name.strip_suffix(".conf").is_some());
        names.into_iter().find(|name| is_entry_of(&folder.join(name), release))
    });
    entry.or_else(|| {
        IMAGES.iter().map(|folder| root.join(folder)).find_map(|folder| {
            names(&folder).into_iter().find(|name| is_unified_image_of(name, release))
        })
    })
}

/// Reads a file as text; `None` if it is larger than [`BYTES_MAX`].
pub(super) fn text(path: &Path) -> Option<String> {
    let size = fs::metadata(path).ok()?.len();
    (size <= BYTES_MAX)
        .then(|| fs::read(path).ok())
        .flatten()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn is_entry_of(path: &Path, release: &str) -> bool {
    let text = text(path).unwrap_or_default();
    let value = |key: &str| {
        let lines = text.lines().map(str::trim);
        lines
            .filter_map(|line| line.split_once(char::is_whitespace))
            .find_map(|(candidate, value)| (candidate == key).then(|| value.trim().to_owned()))
    };
    let is_rescue = value("options")
        .is_some_and(|options| options.split_whitespace().any(|word| RESCUE.contains(&word)));
    let is_release = value("version").is_some_and(|version| version == release)
        || value("linux").is_some_and(|image| is_image_of(&image, release));
    is_release && !is_rescue
}

/// True if a path has the form of a kernel image of this release: `/vmlinuz-6.1.0` or
/// `/ID/6.1.0/linux`.
fn is_image_of(path: &str, release: &str) -> bool {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    name.split_once('-').is_some_and(|(_, tail)| tail == release)
        || (folder == release && name.starts_with("linux"))
}

/// True if a file has the name of a unified image of this release: `ID-6.1.0.efi`,
/// `ID-6.1.0+3.efi`.
fn is_unified_image_of(name: &str, release: &str) -> bool {
    let Some(name) = name.strip_suffix(".efi") else { return false };
    let name = name.split_once('+').map_or(name, |(name, _tries)| name);
    name.strip_suffix(release).is_some_and(|tail| tail.is_empty() || tail.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use super::{in_entries, in_grub_menu};
    use std::fs;

    const MENU: &str = r#"
### BEGIN /etc/grub.d/00_header ###
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
fi
function load_video {
  insmod all_video
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-U' {
	search --no-floppy --fs-uuid --set=root U
	echo	'Loading Linux 6.12.9-amd64 ...'
	linux	/boot/vmlinuz-6.12.9-amd64 root=UUID=U ro  quiet
	initrd	/boot/initrd.img-6.12.9-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-U' {
	menuentry 'Debian GNU/Linux, with Linux 6.12.9-amd64' $menuentry_id_option 'gnulinux-6.12.9-amd64-advanced-U' {
		linux	/boot/vmlinuz-6.12.9-amd64 root=UUID=U ro  quiet
	}
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-4-amd64 (recovery mode)' $menuentry_id_option 'gnulinux-6.1.0-4-amd64-recovery-U' {
		linux	/boot/vmlinuz-6.1.0-4-amd64 root=UUID=U ro single
	}
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-4-amd64' $menuentry_id_option 'gnulinux-6.1.0-4-amd64-advanced-U' {
		linux	/boot/vmlinuz-6.1.0-4-amd64 root=UUID=U ro  quiet
	}
	menuentry 'Own > kernel' {
		linux	/vmlinuz-6.13.0 root=UUID=U
	}
}
"#;

    #[test]
    fn grub_entries_include_their_submenus_and_exclude_recovery() {
        for (release, entry) in [
            ("6.12.9-amd64", Some("gnulinux-advanced-U>gnulinux-6.12.9-amd64-advanced-U")),
            ("6.1.0-4-amd64", Some("gnulinux-advanced-U>gnulinux-6.1.0-4-amd64-advanced-U")),
            ("6.13.0", Some("gnulinux-advanced-U>Own >> kernel")),
            ("6.1.0-4", None),
            ("6.1", None),
        ] {
            assert_eq!(in_grub_menu(MENU, release).as_deref(), entry, "{release}");
        }
    }

    #[test]
    fn boot_entries_are_matched_by_version_path_and_image_name() {
        let top = tempfile::tempdir().unwrap();
        let entries = top.path().join("boot/loader/entries");
        let images = top.path().join("efi/EFI/Linux");
        fs::create_dir_all(&entries).unwrap();
        fs::create_dir_all(&images).unwrap();
        for (name, text) in [
            ("a.conf", "title A\nversion 6.1.0\nlinux /a/6.1.0/linux\noptions single\n"),
            ("b.conf", "title B\nversion 6.1.0\nlinux /a/6.1.0/linux\noptions quiet\n"),
            ("c.conf", "title C\nlinux /vmlinuz-6.12.9-amd64\n"),
            ("d.txt", "version 6.9.9\n"),
        ] {
            fs::write(entries.join(name), text).unwrap();
        }
        fs::write(images.join("0123-6.13.1+3-1.efi"), "").unwrap();
        for (release, entry) in [
            ("6.1.0", Some("b.conf")),
            ("6.12.9-amd64", Some("c.conf")),
            ("6.13.1", Some("0123-6.13.1+3-1.efi")),
            ("3.1", None),
            ("6.9.9", None),
        ] {
            assert_eq!(in_entries(top.path(), release).as_deref(), entry, "{release}");
        }
    }
}
