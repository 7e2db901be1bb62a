//! Typed options: one declaration yields the command line and documentation, a struct with typed
//! fields, its reading from [`Settings`], and the recorded parameters.
//!
//! The syntax of single values is defined by [`Settings`]; the meaning of combinations is up to the
//! workload.

use crate::{ConfigError, OptionSpec, Settings, ValueKind};

/// A type that a field of [`options!`](macro@crate::options) may have.
pub trait OptionValue: Sized {
    /// True if the declaration must have a default, since the type has no value for an absent
    /// option.
    const NEEDS_DEFAULT: bool;

    /// Value as given, or the default.
    ///
    /// # Errors
    /// When the given value is not of this type, or out of range; the message says what is valid.
    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError>;

    /// Text recorded with a trial; `None` records nothing.
    fn recorded(&self) -> Option<String>;
}

/// Unwraps a value that the declaration guarantees by its default.
fn present<T>(value: Option<T>, spec: &OptionSpec) -> Result<T, ConfigError> {
    value.ok_or_else(|| ConfigError::new(format!("--{}: no value is given", spec.name)))
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl OptionValue for $number {
            const NEEDS_DEFAULT: bool = true;

            fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
                let specs = std::slice::from_ref(spec);
                let (least, most) = spec.range;
                let most = most.min(u64::try_from(Self::MAX).unwrap_or(u64::MAX));
                let number = match spec.value {
                    ValueKind::Size => settings.size_within(specs, spec.name, least..=most),
                    _ => settings.number(specs, spec.name, least..=most),
                };
                Self::try_from(present(number?, spec)?)
                    .map_err(|_| ConfigError::new(format!("--{}: too large", spec.name)))
            }

            fn recorded(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

whole_numbers!(u64, u32, u16, usize);

/// A share between 0 and 1.
impl OptionValue for f64 {
    const NEEDS_DEFAULT: bool = true;

    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
        present(settings.percent(std::slice::from_ref(spec), spec.name)?, spec)
    }

    fn recorded(&self) -> Option<String> {
        Some(format!("{}%", self * 100.0))
    }
}

/// A flag.
impl OptionValue for bool {
    const NEEDS_DEFAULT: bool = false;

    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
        Ok(settings.flag(spec.name))
    }

    fn recorded(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// Choice among fixed words.
impl OptionValue for &'static str {
    const NEEDS_DEFAULT: bool = true;

    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
        present(settings.choice(std::slice::from_ref(spec), spec.name)?, spec)
    }

    fn recorded(&self) -> Option<String> {
        Some((*self).to_owned())
    }
}

/// Text as typed; the workload checks its form.
impl OptionValue for String {
    const NEEDS_DEFAULT: bool = true;

    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
        let text = settings.text_or_default(std::slice::from_ref(spec), spec.name);
        present(text.map(str::to_owned), spec)
    }

    fn recorded(&self) -> Option<String> {
        Some(self.clone())
    }
}

/// Repeatable option, recorded with commas between the values.
impl OptionValue for Vec<String> {
    const NEEDS_DEFAULT: bool = false;

    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
        Ok(settings.values(spec.name).map(str::to_owned).collect())
    }

    fn recorded(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.join(","))
    }
}

/// Option whose absence has a meaning of its own.
impl<T: OptionValue> OptionValue for Option<T> {
    const NEEDS_DEFAULT: bool = false;

    fn read(settings: &Settings, spec: &OptionSpec) -> Result<Self, ConfigError> {
        let text = settings.text_or_default(std::slice::from_ref(spec), spec.name);
        text.map(|_| T::read(settings, spec)).transpose()
    }

    fn recorded(&self) -> Option<String> {
        self.as_ref().and_then(T::recorded)
    }
}

/// Option that is accepted without effect, or refused.
impl OptionValue for () {
    const NEEDS_DEFAULT: bool = false;

    fn read(_: &Settings, _: &OptionSpec) -> Result<Self, ConfigError> {
        Ok(())
    }

    fn recorded(&self) -> Option<String> {
        None
    }
}

impl OptionSpec {
    /// Name of the option that fills a field: dashes replace underscores.
    pub const fn spelling<const N: usize>(field: &str) -> [u8; N] {
        let (field, mut name, mut at) = (field.as_bytes(), [0; N], 0);
        while at < N {
            name[at] = if field[at] == b'_' { b'-' } else { field[at] };
            at += 1;
        }
        name
    }

    /// Spelling as a string.
    pub const fn name(spelling: &'static [u8]) -> &'static str {
        match std::str::from_utf8(spelling) {
            Ok(name) => name,
            Err(_) => "",
        }
    }

    /// Total length of several lists.
    pub const fn count(lists: &[&[Self]]) -> usize {
        let (mut total, mut at) = (0, 0);
        while at < lists.len() {
            total += lists[at].len();
            at += 1;
        }
        total
    }

    /// Concatenation of several lists.
    pub const fn joined<const N: usize>(lists: &[&[Self]]) -> [Self; N] {
        let mut joined = [Self::long("", ValueKind::Flag, None, ""); N];
        let (mut list, mut at, mut next) = (0, 0, 0);
        while next < N {
            if at < lists[list].len() {
                joined[next] = lists[list][at];
                (at, next) = (at + 1, next + 1);
            } else {
                (list, at) = (list + 1, 0);
            }
        }
        joined
    }
}

/// Declares options as a struct. A field with a kind is an option; its comment is the help, its
/// name with dashes the option's, in parentheses stands the letter, in brackets the range, and
/// behind the comma the default. A field without a kind is a struct declared likewise, whose
/// options and parameters stand in its place. `#[support = …]` says how faithful an option is,
/// `#[recorded = false]` that it makes no parameter.
///
/// The struct has `SPECS`, the options; `read`, which makes it from settings, with an error for
/// the first value that is wrong; and `parameters`, names and texts that are recorded.
///
/// ```
/// treering_script::options! {
///     /// Options of a printer.
///     struct PrintOptions {
///         /// Number of rows to print.
///         rows('r'): u32 = Number[1..=1000], "30";
///         /// Kind of the workers.
///         done_by: &'static str = Choice(&["threads", "processes"]), "threads";
///     }
/// }
///
/// let given = vec![("rows".to_owned(), "1k".to_owned())];
/// let options = PrintOptions::read(&treering_script::Settings::new(given)).unwrap();
/// assert_eq!((options.rows, options.done_by), (1000, "threads"));
/// assert_eq!(PrintOptions::SPECS[1].name, "done-by");
/// assert_eq!(options.parameters()[0], ("rows".to_owned(), "1000".to_owned()));
/// ```
#[macro_export]
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $(#[support = $support:expr])?
                $(#[recorded = $recorded:tt])?
                $field:ident $(($short:literal))? : $type:ty
                $(= $kind:ident $(($words:expr))? $([$range:expr])? $(, $default:expr)?)?;
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        $vis struct $name {
            $($(#[doc = $help])+ $vis $field: $type,)+
        }

        impl $name {
            /// Options, in the order in which they are shown.
            $vis const SPECS: &'static [$crate::OptionSpec] = {
                const LISTS: &[&[$crate::OptionSpec]] = &[$($crate::options!(
                    @specs [$($help),+] [$($support)?] $field $(($short))?: $type
                    $(= $kind $(($words))? $([$range])? $(, $default)?)?
                )),+];
                const ALL: [$crate::OptionSpec; $crate::OptionSpec::count(LISTS)] =
                    $crate::OptionSpec::joined(LISTS);
                &ALL
            };

            /// Reads the given values, or the defaults.
            ///
            /// # Errors
            /// When a value is wrong; says which and what would be right.
            $vis fn read(settings: &$crate::Settings) -> Result<Self, $crate::ConfigError> {
                Ok(Self {
                    $($field: $crate::options!(
                        @read settings [$($help),+] [$($support)?] $field $(($short))?: $type
                        $(= $kind $(($words))? $([$range])? $(, $default)?)?
                    ),)+
                })
            }

            /// Names and values that are recorded, in the order of the options.
            $vis fn parameters(&self) -> Vec<(String, String)> {
                let mut all = Vec::new();
                $($crate::options!(
                    @record all [$($recorded)?] $field (&self.$field) $($kind)?
                );)+
                all
            }
        }
    };
    (
        @specs [$($help:literal),+] [$($support:expr)?] $field:ident $(($short:literal))? :
        $type:ty = $kind:ident $(($words:expr))? $([$range:expr])? $(, $default:expr)?
    ) => {{
        const NAME: [u8; stringify!($field).len()] =
            $crate::OptionSpec::spelling(stringify!($field));
        const SPEC: $crate::OptionSpec = {
            let spec = $crate::OptionSpec::long(
                $crate::OptionSpec::name(&NAME),
                $crate::ValueKind::$kind $(($words))?,
                None,
                concat!($($help),+).trim_ascii(),
            );
            $(let spec = $crate::OptionSpec { short: Some($short), ..spec };)?
            $(let spec = $crate::OptionSpec { default: Some($default), ..spec };)?
            $(let spec = $crate::OptionSpec { support: $support, ..spec };)?
            $(let spec = $crate::OptionSpec { range: (*$range.start(), *$range.end()), ..spec };)?
            assert!(
                spec.default.is_some() || !<$type as $crate::OptionValue>::NEEDS_DEFAULT,
                "an option of this type needs a default"
            );
            spec
        };
        const { std::slice::from_ref(&SPEC) }
    }};
    (@specs $help:tt $support:tt $field:ident: $type:ty) => { <$type>::SPECS };
    (@read $settings:ident $help:tt $support:tt $field:ident: $type:ty) => {
        <$type>::read($settings)?
    };
    (
        @read $settings:ident $help:tt $support:tt $field:ident $(($short:literal))? :
        $type:ty = $($value:tt)+
    ) => {
        <$type as $crate::OptionValue>::read(
            $settings,
            &$crate::options!(
                @specs $help $support $field $(($short))?: $type = $($value)+
            )[0],
        )?
    };
    (@record $all:ident [false] $field:ident $value:tt $kind:ident) => {
        let _ = $value;
    };
    (@record $all:ident [] $field:ident $value:tt $kind:ident) => {
        let value = $crate::OptionValue::recorded($value);
        $all.extend(value.map(|value| (stringify!($field).replace('_', "-"), value)));
    };
    (@record $all:ident [] $field:ident $value:tt) => {
        $all.extend($value.parameters());
    };
}

#[cfg(test)]
mod tests {
    use crate::{OptionSupport, Settings, ValueKind};

    crate::options! {
        /// Options nested among others.
        struct NestedOptions {
            /// Bytes.
            read_bytes('b'): u32 = Size[1..=1 << 20], "64K";
        }
    }

    crate::options! {
        /// One of each kind.
        struct SampleOptions {
            /// How many
            /// there are.
            count('n'): u16 = Number[1..=70_000], "3";
            /// Without it, as long as it takes.
            seconds: Option<u64> = Number[1..=9];
            /// Has a default, and may be taken away.
            time: Option<u64> = Number, "60";
            /// Those in the middle.
            inner: NestedOptions;
            /// Whether.
            is_quick: bool = Flag;
            /// Who.
            #[support = OptionSupport::Approximate("nearly")]
            who: &'static str = Choice(&["all", "none"]), "none";
            /// Where.
            #[recorded = false]
            log: String = Path, "a.log";
            /// How full.
            fill: Option<f64> = Percent;
            /// What else.
            rest: Vec<String> = Operands;
            /// Nothing.
            #[support = OptionSupport::Rejected("not here")]
            server: () = Text;
        }
    }

    fn read(options: &[(&str, &str)]) -> Result<SampleOptions, String> {
        let own = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        SampleOptions::read(&Settings::new(own.collect())).map_err(|error| error.message)
    }

    #[test]
    fn declared_options_keep_their_order() {
        let names: Vec<&str> = SampleOptions::SPECS.iter().map(|spec| spec.name).collect();
        let expected = "count seconds time read-bytes is-quick who log fill rest server";
        assert_eq!(names.join(" "), expected);
        let count = &SampleOptions::SPECS[0];
        assert_eq!((count.short, count.default), (Some('n'), Some("3")));
        assert_eq!(count.doc, "How many there are.");
        assert_eq!((count.value, count.range), (ValueKind::Number, (1, 70_000)));
        assert_eq!(SampleOptions::SPECS[5].support, OptionSupport::Approximate("nearly"));
        assert_eq!(SampleOptions::SPECS[9].support, OptionSupport::Rejected("not here"));
    }

    #[test]
    fn defaults_and_typed_values_are_read_and_recorded() {
        let none = read(&[]).unwrap();
        assert_eq!((none.count, none.seconds, none.time), (3, None, Some(60)));
        assert_eq!((none.inner.read_bytes, none.is_quick, none.who), (65_536, false, "none"));
        assert_eq!((none.log.as_str(), none.fill), ("a.log", None));
        let words = |options: &SampleOptions| {
            let parameters = options.parameters();
            parameters
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(words(&none), "count=3 time=60 read-bytes=65536 is-quick=false who=none");
        let typed = [("count", "1k"), ("fill", "40%"), ("rest", "a"), ("rest", "b")];
        let options = read(&typed).unwrap();
        assert_eq!(
            words(&options),
            "count=1000 time=60 read-bytes=65536 is-quick=false who=none fill=40% rest=a,b"
        );
        assert_eq!(options.rest, ["a", "b"]);
    }

    #[test]
    fn invalid_values_are_named_with_the_valid_ones() {
        for (name, value, message) in [
            ("count", "0", "--count: '0' is not a whole number from 1 to 65535"),
            ("count", "70000", "--count: '70000' is not a whole number from 1 to 65535"),
            ("seconds", "x", "--seconds: 'x' is not a whole number from 1 to 9"),
            ("read-bytes", "2M", "--read-bytes: '2M' is not from 1 to 1048576 bytes"),
            ("read-bytes", "2X", "--read-bytes: '2X' is not a size"),
            ("who", "me", "--who: 'me' is not one of: all, none"),
            ("fill", "101", "--fill: '101' is not a percentage"),
        ] {
            assert_eq!(read(&[(name, value)]).unwrap_err(), message);
        }
    }
}
