//! Identifiers recognised by their form: network addresses, mail addresses, and serial numbers.
//! They are replaced in `names`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::kind::NameKind;

/// Length of a UUID and of a machine id, in characters.
const UUID: usize = 36;
const MACHINE_ID: usize = 32;

/// Length of the longest identifier, in characters.
const LONGEST: usize = 512;

/// Number of hexadecimal pairs in a MAC address and in a World Wide Name.
const MAC_PAIRS: usize = 6;
const WWN_PAIRS: usize = 8;

/// Prefixes of names of disks and storage targets, and whether only hexadecimal digits follow.
const DISKS: [(&str, bool); 6] = [
    ("wwn-0x", true),
    ("naa.", true),
    ("eui.", true),
    ("nvme.", true),
    ("nqn.", false),
    ("iqn.", false),
];

/// Keys of mount options and kernel parameters whose values are names of any form.
const KEYS: [(&str, NameKind); 13] = [
    ("addr", NameKind::Address),
    ("clientaddr", NameKind::Address),
    ("mountaddr", NameKind::Address),
    ("srcaddr", NameKind::Address),
    ("mounthost", NameKind::Host),
    ("username", NameKind::User),
    ("domain", NameKind::Host),
    ("UUID", NameKind::Serial),
    ("PARTUUID", NameKind::Serial),
    ("PTUUID", NameKind::Serial),
    ("machine_id", NameKind::Serial),
    ("machine-id", NameKind::Serial),
    ("systemd.machine_id", NameKind::Serial),
];

/// Reports whether a text may contain an identifier. Most do not.
pub(crate) fn may_identify(text: &str) -> bool {
    let count = |sign: u8| text.bytes().filter(|byte| *byte == sign).count();
    let has_digits = || {
        let mut digits = 0;
        text.bytes().any(|byte| {
            digits = if byte.is_ascii_hexdigit() { digits + 1 } else { 0 };
            digits >= MACHINE_ID
        })
    };
    text.contains(['@', '='])
        || count(b':') >= 2
        || count(b'-') >= 4
        || count(b'.') >= 3
        || DISKS.iter().any(|(prefix, _)| text.contains(prefix))
        || has_digits()
}

/// Identifier at the start of a text: its kind, the number of leading bytes to keep, and its length
/// in bytes. `before` is the preceding character.
pub(crate) fn at_start(text: &str, before: Option<char>) -> Option<(NameKind, usize, usize)> {
    if is_uuid(text) {
        return Some((NameKind::Serial, 0, UUID));
    }
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    // After a full stop, the digits belong to a longer number.
    let starts_number = before != Some('.');
    keyed(text)
        .or_else(|| pairs(text).map(|(kind, len)| (kind, 0, len)))
        .or_else(|| {
            ip_address(text).filter(|_| starts_number).map(|len| (NameKind::Address, 0, len))
        })
        .or_else(|| disk(text).map(|len| (NameKind::Serial, 0, len)))
        .or_else(|| machine_id(text).map(|len| (NameKind::Serial, 0, len)))
        .or_else(|| mail(text).map(|len| (NameKind::Mail, 0, len)))
}

/// Length of the host names before a remote directory, `server:/export`; several are separated by
/// commas.
pub(crate) fn servers(text: &str) -> Option<usize> {
    let len = leading_length(text, |c| c.is_alphanumeric() || "._-,".contains(c));
    let hosts = &text[..len];
    let directory = text[len..].strip_prefix(":/")?;
    let is_list = hosts.split(',').all(|host| host.contains(char::is_alphanumeric));
    // Two slashes make it a URL.
    (len > 0 && is_list && !directory.starts_with('/')).then_some(len)
}

/// Value of a key that denotes a name: `addr=…` up to the next comma or blank.
fn keyed(text: &str) -> Option<(NameKind, usize, usize)> {
    let len = leading_length(text, |c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let (_, kind) = KEYS.iter().find(|(key, _)| *key == &text[..len])?;
    let value = text[len..].strip_prefix('=')?;
    let quotes = usize::from(value.starts_with(['"', '\'']));
    let value =
        leading_length(&value[quotes..], |c| !c.is_whitespace() && !",;\"')]}|".contains(c));
    (value > 0).then_some((*kind, len + 1 + quotes, value))
}

/// Length of an IP address, unless it is the same on every machine.
fn ip_address(text: &str) -> Option<usize> {
    let len = leading_length(text, |c| c.is_ascii_hexdigit() || ".:".contains(c));
    let token = text[..len].trim_end_matches(['.', ':']);
    let (address, len) = if token.bytes().filter(|byte| *byte == b':').count() >= 2 {
        // Letters alone are a path in a program: `a::b`.
        let has_digit = token.contains(|c: char| c.is_ascii_digit());
        (IpAddr::V6(token.parse::<Ipv6Addr>().ok().filter(|_| has_digit)?), token.len())
    } else {
        // A port may follow.
        let token = token.split(':').next().unwrap_or_default();
        (IpAddr::V4(token.parse::<Ipv4Addr>().ok()?), token.len())
    };
    let continues = text[len..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        || text[len..]
            .strip_prefix('.')
            .is_some_and(|more| more.starts_with(char::is_alphanumeric));
    (!continues && !address.is_loopback() && !address.is_unspecified()).then_some(len)
}

/// MAC address or World Wide Name: pairs of hexadecimal digits.
fn pairs(text: &str) -> Option<(NameKind, usize)> {
    let separator = *text.as_bytes().get(2).filter(|sign| matches!(sign, b':' | b'-'))?;
    let bytes = text.as_bytes();
    let is_pair = |at: usize| {
        bytes.get(at..at + 2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit))
    };
    let mut count = 0;
    while count <= WWN_PAIRS
        && is_pair(count * 3)
        && (count == 0 || bytes[count * 3 - 1] == separator)
    {
        count += 1;
    }
    let len = (count * 3).checked_sub(1)?;
    let token = text.get(..len)?;
    let continues = |c: char| c.is_alphanumeric() || c == char::from(separator);
    if text[len..].starts_with(continues) {
        return None;
    }
    // Dates and times contain dashes, too.
    let has_letter = token.contains(|c: char| c.is_ascii_alphabetic());
    match count {
        MAC_PAIRS if separator == b':' || has_letter => Some((NameKind::Address, len)),
        WWN_PAIRS if separator == b':' || has_letter => Some((NameKind::Serial, len)),
        _ => None,
    }
}

/// Length of the name of a disk or a storage target.
fn disk(text: &str) -> Option<usize> {
    let (prefix, is_number) = DISKS.iter().find(|(prefix, _)| text.starts_with(prefix))?;
    let name = &text[prefix.len()..];
    let len = if *is_number {
        leading_length(name, |c| c.is_ascii_hexdigit() || c == '-')
    } else {
        leading_length(name, |c| !c.is_whitespace() && !",;\"'()[]{}|".contains(c))
    };
    let len = name[..len].trim_end_matches(['-', '.', ':']).len();
    (len >= 8).then_some(prefix.len() + len)
}

/// Length of a machine id as in `/etc/machine-id`, or a UUID without dashes.
fn machine_id(text: &str) -> Option<usize> {
    let len = leading_length(text, |c| c.is_ascii_hexdigit());
    let id = &text[..len];
    let is_mixed =
        id.contains(|c: char| c.is_ascii_digit()) && id.contains(|c: char| c.is_ascii_alphabetic());
    let continues = text[len..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (len == MACHINE_ID && is_mixed && !continues).then_some(len)
}

/// Length of a mail address, or of a user at a host.
fn mail(text: &str) -> Option<usize> {
    let is_local = |c: char| c.is_alphanumeric() || "._+-".contains(c);
    let local = leading_length(text, is_local);
    let domain = text[local..].strip_prefix('@').filter(|_| local > 0)?;
    let len = leading_length(domain, |c| c.is_alphanumeric() || ".-".contains(c));
    let domain = domain[..len].trim_end_matches(['.', '-']);
    domain.contains(char::is_alphabetic).then_some(local + 1 + domain.len())
}

fn is_uuid(text: &str) -> bool {
    let is_digit = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.as_bytes().get(..UUID).is_some_and(|bytes| bytes.iter().enumerate().all(is_digit))
}

/// Length in bytes of the leading characters that satisfy `condition`; limited to the longest
/// identifier, so that a long text is processed in linear time.
fn leading_length(text: &str, condition: impl Fn(char) -> bool) -> usize {
    let leading = text.chars().take(LONGEST).take_while(|c| condition(*c));
    leading.map(char::len_utf8).sum()
}
