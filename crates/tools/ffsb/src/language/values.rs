//! Values of settings: numbers, sizes, shares and paths.
//!
//! Nothing is truncated or guessed: a value that is not valid as a whole is refused, with a hint.

use treering_script::parse_size;

use super::keys::ValueKind;
use super::lines::without_blanks;
use super::timed_call::TimedCall;
use treering_kit::faults::{Fault, Faults, Place, shown};

/// The largest file of Linux.
const SIZE_MAX: u64 = i64::MAX.unsigned_abs();
/// Maximum bytes of a block, which is the most that the engine moves in one call.
const BLOCK_MAX: u64 = 4 << 20;
/// Maximum length of a location in bytes: Linux allows 4095, and the file names follow.
const PATH_BYTES_MAX: usize = 3800;

/// Parsed value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SettingValue {
    /// Integer; switches are 0 or 1.
    Number(u64),
    Share(f64),
    Text(String),
}

/// Unparsed value with its position and key.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawValue<'t> {
    pub(super) key: &'t str,
    pub(super) text: &'t str,
    pub(super) place: Place,
}

impl RawValue<'_> {
    /// Parses the value of a key of this kind.
    pub(super) fn read(self, kind: ValueKind, to: &mut Faults) -> Result<SettingValue, Fault> {
        if self.text.is_empty() {
            let message = format!("'{}' has no value", self.key);
            return Err(to.error(self.place, message).hint(format!("write {} = ...", self.key)));
        }
        match kind {
            ValueKind::Path => self.path(to),
            ValueKind::Command => Ok(SettingValue::Text(self.text.to_owned())),
            ValueKind::Share => self.share(to).map(SettingValue::Share),
            ValueKind::Size => self.size(to).map(SettingValue::Number),
            ValueKind::Block => self.block(to).map(SettingValue::Number),
            ValueKind::Switch | ValueKind::FsyncFile => self.switch(to).map(SettingValue::Number),
            ValueKind::Number(most) => self.number(most, to).map(SettingValue::Number),
            _ => self.number(u64::MAX, to).map(SettingValue::Number),
        }
    }

    fn refuse<T>(self, message: &str, right: impl Into<String>, to: &Faults) -> Result<T, Fault> {
        let message = format!("{}: '{}' {message}", self.key, shown(self.text));
        Err(to.error(self.place, message).hint(right))
    }

    /// Text with its blanks removed, as the original reads it.
    fn without_blanks(self, to: &mut Faults) -> std::borrow::Cow<'static, str> {
        let parts = self.text.split_ascii_whitespace().collect::<Vec<_>>();
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let joins =
            |pair: &[&str]| digit(pair[0].chars().next_back()) && digit(pair[1].chars().next());
        let text = without_blanks(self.text).into_owned();
        if parts.windows(2).any(joins) {
            to.warn(self.place, format!("{}: read as {}", self.key, shown(&*text)));
        }
        text.into()
    }

    /// A whole number.
    pub(super) fn number(self, most: u64, to: &mut Faults) -> Result<u64, Fault> {
        let text = self.without_blanks(to);
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(number) if digits && number <= most => Ok(number),
            _ => self.refuse(
                "is not a whole number that fits",
                format!("{} is a whole number from 0 to {most}", self.key),
                to,
            ),
        }
    }

    fn switch(self, to: &mut Faults) -> Result<u64, Fault> {
        match &*self.without_blanks(to) {
            "0" => Ok(0),
            "1" => Ok(1),
            _ => self.refuse("is neither 0 nor 1", format!("{} is 0 or 1", self.key), to),
        }
    }

    /// Parses a size in bytes.
    pub(super) fn size(self, to: &mut Faults) -> Result<u64, Fault> {
        let text = self.without_blanks(to);
        let bytes = if text.contains('.') { None } else { parse_size(&text) };
        let Some(bytes) = bytes.filter(|bytes| *bytes <= SIZE_MAX) else {
            return self.refuse(
                "is not a size that fits",
                "a size is a whole number with an optional K, M, G or T (powers of 1024), as 256k",
                to,
            );
        };
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
        if !matches!(&*unit, "" | "k" | "kb" | "m" | "mb" | "g" | "gb") {
            let message = format!("{}: FFSB 6.0-RC2 reads '{}' as 0", self.key, shown(self.text));
            to.warn(self.place, message);
        }
        Ok(bytes)
    }

    fn block(self, to: &mut Faults) -> Result<u64, Fault> {
        match self.size(to)? {
            bytes @ 1..=BLOCK_MAX => Ok(bytes),
            _ => self.refuse(
                "is not a size of a call",
                format!("{} is from 1 byte to 4m: one call moves no more", self.key),
                to,
            ),
        }
    }

    /// Digits with a point.
    fn decimal(self, to: &mut Faults) -> Option<f64> {
        let text = self.without_blanks(to);
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        text.parse().ok().filter(|number: &f64| plain && number.is_finite())
    }

    fn share(self, to: &mut Faults) -> Result<f64, Fault> {
        match self.decimal(to) {
            Some(share) if share <= 1.0 => Ok(share),
            _ => self.refuse("is not a share", "a share is a number from 0 to 1, as 0.25", to),
        }
    }

    /// Milliseconds.
    pub(super) fn milliseconds(self, to: &mut Faults) -> Result<f64, Fault> {
        match self.decimal(to) {
            Some(milliseconds) => Ok(milliseconds),
            None => self.refuse(
                "is not a number of milliseconds",
                "write msec_range FROM TO with two numbers, as msec_range 0.5 1",
                to,
            ),
        }
    }

    fn path(self, to: &mut Faults) -> Result<SettingValue, Fault> {
        if self.text.len() > PATH_BYTES_MAX {
            let right = format!("a path here has at most {PATH_BYTES_MAX} bytes");
            return self.refuse("is too long", right, to);
        }
        let without = without_blanks(self.text);
        if self.key == "location" && without != self.text {
            let message = format!("location: FFSB 6.0-RC2 reads it as {}", shown(&*without));
            to.warn(self.place, message);
        }
        Ok(SettingValue::Text(self.text.to_owned()))
    }

    /// Parses the name of a timed call. The original accepts every word that begins with the name.
    pub(super) fn call(self, to: &mut Faults) -> Result<TimedCall, Fault> {
        let text = self.without_blanks(to);
        let mut calls = TimedCall::ALL.into_iter();
        let Some(call) = calls.find(|call| text.starts_with(call.name())) else {
            let names: Vec<&str> = TimedCall::ALL.into_iter().map(TimedCall::name).collect();
            let right = format!("the calls are {}", names.join(", "));
            return self.refuse("is no call that is timed", right, to);
        };
        if text != call.name() {
            to.warn(self.place, format!("ignore: taken for {}", call.name()));
        }
        Ok(call)
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Place, RawValue, SettingValue, TimedCall, ValueKind};

    fn read(kind: ValueKind, text: &str) -> Result<(SettingValue, Vec<String>), String> {
        let mut faults = Faults::new("f", b"");
        let raw = RawValue { key: "key", text, place: Place::new(2, 7) };
        match raw.read(kind, &mut faults) {
            Ok(value) => Ok((value, faults.into_warnings())),
            Err(error) => {
                assert!(error.hint.is_some(), "{error:?}");
                Err(faults.in_one_line(&error))
            }
        }
    }

    fn bytes(text: &str) -> u64 {
        match read(ValueKind::Size, text) {
            Ok((SettingValue::Number(bytes), warnings)) if warnings.is_empty() => bytes,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!((bytes("0"), bytes("4096"), bytes("4k")), (0, 4096, 4096));
        assert_eq!((bytes("4 kB"), bytes("8M"), bytes("1Gb")), (4096, 8 << 20, 1 << 30));
        assert_eq!(bytes("5000g"), 5000 << 30);
        let (value, warnings) = read(ValueKind::Size, "4KiB").unwrap();
        assert_eq!(value, SettingValue::Number(4096));
        assert_eq!(warnings, ["f:2:7: key: FFSB 6.0-RC2 reads '4KiB' as 0"]);
        for text in ["4096X", "1.5k", "-1", "+1", "k", "1k5", "99999999999999999999", "8388608t"] {
            let message = read(ValueKind::Size, text).unwrap_err();
            assert_eq!(message, format!("f:2:7: key: '{text}' is not a size that fits"));
        }
    }

    #[test]
    fn trailing_junk_after_numbers_is_refused() {
        for text in ["1k", "-1", "+1", "0x10", "1.0", "18446744073709551616", "a\u{a0}b"] {
            assert!(read(ValueKind::Number(u64::MAX), text).is_err(), "{text}");
        }
        assert!(
            read(ValueKind::Number(9), "10")
                .unwrap_err()
                .ends_with("'10' is not a whole number that fits")
        );
        let joined = read(ValueKind::Number(99), "1 0").unwrap();
        assert_eq!(joined, (SettingValue::Number(10), vec!["f:2:7: key: read as 10".to_owned()]));
        for text in ["on", "2", "true", "01"] {
            assert!(read(ValueKind::Switch, text).unwrap_err().ends_with("is neither 0 nor 1"));
        }
        for text in ["0", "4m1", "4097k"] {
            assert!(read(ValueKind::Block, text).is_err(), "{text}");
        }
        assert_eq!(read(ValueKind::Block, "4m").unwrap().0, SettingValue::Number(4 << 20));
        assert_eq!(read(ValueKind::Path, "").unwrap_err(), "f:2:7: 'key' has no value");
        assert!(read(ValueKind::Path, &"/x".repeat(2000)).is_err());
    }

    #[test]
    fn shares_are_from_0_to_1() {
        assert_eq!(read(ValueKind::Share, "0.25").unwrap().0, SettingValue::Share(0.25));
        assert_eq!(read(ValueKind::Share, ".5").unwrap().0, SettingValue::Share(0.5));
        for text in ["1.1", "20%", "-0.1", "nan", "inf", "1e-1", "."] {
            assert!(
                read(ValueKind::Share, text).unwrap_err().ends_with("is not a share"),
                "{text}"
            );
        }
    }

    #[test]
    fn call_names_may_be_abbreviated() {
        let mut faults = Faults::new("f", b"");
        let mut call = |text| {
            RawValue { key: "ignore", text, place: Place::START }
                .call(&mut faults)
                .map(TimedCall::name)
                .ok()
        };
        assert_eq!(call("lseek"), Some("lseek"));
        assert_eq!(call("unlinkat"), Some("unlink"));
        assert_eq!(call("op"), None);
        assert_eq!(faults.into_warnings(), ["f:1:1: ignore: taken for unlink"]);
    }
}
