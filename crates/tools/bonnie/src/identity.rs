//! User and group to work as: names or numbers, looked up in `/etc/passwd` and `/etc/group`.

use std::path::Path;

use treering_script::{ConfigError, Credentials};

/// Group for the number of an unknown user.
const NO_GROUP: &str = "nogroup";
/// Largest part of these files that is read, in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// Texts of the two files.
#[derive(Debug, Default)]
pub(super) struct AccountFiles {
    users: String,
    groups: String,
}

impl AccountFiles {
    /// Accounts of this machine.
    pub(super) fn of_machine() -> Self {
        Self { users: read(Path::new("/etc/passwd")), groups: read(Path::new("/etc/group")) }
    }

    /// Resolves `USER[:GROUP]`; a separately given group takes precedence.
    ///
    /// # Errors
    /// When one of them is not known; in the original's words.
    pub(super) fn find(&self, user: &str, group: Option<&str>) -> Result<Credentials, ConfigError> {
        let (user, own) = match user.split_once(':') {
            Some((user, own)) => (user, Some(own)),
            None => (user, None),
        };
        let unknown = || ConfigError::new(format!("Can't find user {user}"));
        let (number, usual) = self.user(user).ok_or_else(unknown)?;
        let named = group.or(own).filter(|group| !group.is_empty());
        let group = match named {
            Some(group) => self.find_group(group)?,
            None => usual.or_else(|| self.group(NO_GROUP)).unwrap_or(number),
        };
        Ok(Credentials { user: number, group })
    }

    /// Resolves a separately given group.
    ///
    /// # Errors
    /// As [`AccountFiles::find`].
    pub(super) fn find_group(&self, group: &str) -> Result<u32, ConfigError> {
        let unknown = || ConfigError::new(format!("Can't find group {group}"));
        self.group(group).ok_or_else(unknown)
    }

    /// Number and group of a user.
    fn user(&self, user: &str) -> Option<(u32, Option<u32>)> {
        let of = |is: &dyn Fn(&[&str]) -> bool| {
            rows(&self.users).find(|row| is(row)).and_then(|row| {
                Some((row.get(2)?.parse().ok()?, row.get(3).and_then(|group| group.parse().ok())))
            })
        };
        of(&|row| row.first() == Some(&user)).or_else(|| {
            let number = number(user)?;
            of(&|row| row.get(2) == Some(&user)).or(Some((number, None)))
        })
    }

    fn group(&self, group: &str) -> Option<u32> {
        let row = rows(&self.groups).find(|row| row.first() == Some(&group));
        row.and_then(|row| row.get(2)?.parse().ok()).or_else(|| number(group))
    }
}

/// Parses a number without a sign, except the largest, which the kernel takes for nobody.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number != u32::MAX)
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split(':').collect())
}

fn read(path: &Path) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    let file = std::fs::File::open(path);
    let _nobody_is_known_then = file.and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::AccountFiles;
    use treering_script::Credentials;

    fn accounts() -> AccountFiles {
        AccountFiles {
            users: "root:x:0:0:root:/root:/bin/sh\noak:x:1000:1001::/:/\nodd\nodd2:x:y\n".into(),
            groups: "root:x:0:\nnogroup:x:65534:\ntrees:x:50:oak\n".into(),
        }
    }

    #[test]
    fn user_and_group_are_resolved_by_name_and_by_number() {
        let find = |user, group| accounts().find(user, group).map_err(|error| error.message);
        let identity = |user, group| Ok(Credentials { user, group });
        assert_eq!(find("root", None), identity(0, 0));
        assert_eq!(find("0", None), identity(0, 0));
        assert_eq!(find("oak", None), identity(1000, 1001));
        assert_eq!(find("1000", None), identity(1000, 1001));
        assert_eq!(find("oak:trees", None), identity(1000, 50));
        assert_eq!(find("oak:7", None), identity(1000, 7));
        assert_eq!(find("oak:7", Some("trees")), identity(1000, 50));
        assert_eq!(find("12345", None), identity(12_345, 65_534), "nobody's number");
        assert_eq!(find("birch", None), Err("Can't find user birch".into()));
        assert_eq!(find("odd", None), Err("Can't find user odd".into()));
        assert_eq!(find("-1", None), Err("Can't find user -1".into()));
        assert_eq!(find("4294967295", None), Err("Can't find user 4294967295".into()));
        assert_eq!(find("oak", Some("birch")), Err("Can't find group birch".into()));
        let unknown = accounts().find_group("birch").unwrap_err();
        assert_eq!(unknown.message, "Can't find group birch");
    }
}
