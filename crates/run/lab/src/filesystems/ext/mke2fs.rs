//! What ext2, ext3 and ext4 share: one program makes them all.
//!
//! By default mke2fs leaves inode tables and journal to be initialised after the first mount, in
//! the background: it would write during the trial, now in this phase, now in that. So both are
//! done at once (`lazy_itable_init=0,lazy_journal_init=0`), which costs time in mkfs and nothing
//! later.

use std::ffi::OsString;

use crate::filesystems::getopt::{Given, read};
use crate::filesystems::{MkfsRequest, OptionRefusal};

/// Letters that want a value.
const WITH_VALUE: &str = "bCdeEgGiIJlLmMNoOrRTtUz";

/// The arguments of mke2fs, with `extended` added to what the user gives behind `-E`.
pub(super) fn arguments(
    request: &MkfsRequest<'_>,
    extended: &[&str],
) -> Result<Vec<OsString>, OptionRefusal> {
    let given = read(request.options, WITH_VALUE)?;
    if given.iter().filter(|option| option.name == "F").count() > 1 {
        let why = "given twice it formats what is mounted";
        return Err(OptionRefusal { option: "-F".to_owned(), why });
    }
    let mut options: Vec<OsString> = request.options.iter().map(OsString::from).collect();
    let label = given.iter().any(|option| option.name == "L");
    // Of several -E the last one counts, so ours go into it.
    match given.iter().rfind(|option| option.name == "E") {
        Some(theirs) => merge(&mut options, theirs, extended)?,
        None if !extended.is_empty() => {
            options.splice(0..0, ["-E".into(), extended.join(",").into()]);
        }
        None => {}
    }
    if !label {
        options.splice(0..0, ["-L".into(), request.label.into()]);
    }
    options.extend(request.devices.iter().map(OsString::from));
    Ok(options)
}

fn merge(
    options: &mut [OsString],
    theirs: &Given<'_>,
    extended: &[&str],
) -> Result<(), OptionRefusal> {
    let Some(value) = theirs.value else {
        let why = "wants a value";
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

#[cfg(test)]
mod tests {
    use super::arguments;
    use crate::filesystems::MkfsRequest;
    use std::path::PathBuf;

    fn made(options: &[&str]) -> Option<String> {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        let devices = [PathBuf::from("/dev/x")];
        let request = MkfsRequest { devices: &devices, label: "l", options: &options };
        let arguments = arguments(&request, &["lazy_itable_init=0", "lazy_journal_init=0"]).ok()?;
        Some(arguments.join(" ".as_ref()).into_string().unwrap())
    }

    #[test]
    fn what_the_user_gives_wins() {
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        assert_eq!(made(&[]).unwrap(), format!("-L l -E {lazy} /dev/x"));
        assert_eq!(made(&["-b", "1024"]).unwrap(), format!("-L l -E {lazy} -b 1024 /dev/x"));
        let mixed = made(&["-qE", "stride=4,lazy_itable_init=1", "-Lme"]).unwrap();
        assert_eq!(mixed, "-qE stride=4,lazy_itable_init=1,lazy_journal_init=0 -Lme /dev/x");
        let joined = made(&["-Estride=4"]).unwrap();
        assert_eq!(joined, format!("-L l -Estride=4,{lazy} /dev/x"));
    }

    #[test]
    fn force_is_taken_once_and_values_must_be_there() {
        assert!(made(&["-F"]).is_some());
        assert!(made(&["-FF"]).is_none() && made(&["-F", "-qF"]).is_none());
        assert!(made(&["-E"]).is_none() && made(&["-b", "1024", "512"]).is_none());
    }
}
