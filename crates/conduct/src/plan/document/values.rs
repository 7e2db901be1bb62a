//! Types of values in plans: numbers and quantities within bounds, words, lists, and choices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, Unexpected, Visitor};
use treering_model::nearest::suggestion;
use treering_model::{Accelerator, AgedTree, GuestDisk};
use treering_script::parse_size;

use super::tree::{Digits, Entry, Placed, Script, Word};
use crate::plan::{Machine, ObservedIn, RANKS_MAX, TimedCalls};

/// Maximum length of a percentage, in characters.
const PERCENTAGE_CHARS_MAX: usize = 40;

/// Declares types for words, each with a description for messages.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $wanted:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename = $wanted)]
        pub(super) struct $name(Word);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0.0
            }
        }
    )*};
}

words! {
    /// Name of a plan, a variant, a job or a metric.
    Name = "a name";
    /// Name of another variant.
    VariantName = "the name of a variant";
    /// Name of another job, or of the sweep that a job belongs to.
    JobName = "the name of a job";
    /// Name of a filesystem.
    FilesystemName = "the name of a filesystem";
    /// Name of an image in the lab.
    ImageName = "the name of a saved image";
    /// Name of a built-in disk model, or an absolute path.
    DiskName = "the name of a disk, or the path of its file";
    /// Release of a kernel, or the path of a package or an image.
    KernelName = "a kernel release, or the file of a kernel";
    /// Name of a workload.
    WorkloadName = "the name of a workload";
    /// Cache mode of bcache.
    CacheModeName = "a cache mode such as \"writeback\"";
    CipherName = "a cipher such as \"aes-xts-plain64\"";
    /// Full name of a metric.
    MetricName = "the name of a metric";
    /// Name of a parameter of a trial.
    ParameterName = "the name of a parameter";
    /// Function of the kernel.
    KernelFunction = "the name of a function of the kernel";
    /// Absolute path; the code that knows its key checks the first character.
    AbsolutePath = "a path that begins with /";
    /// Directory beneath that of all steps; the code that knows its key checks the name.
    DirectoryName = "the name of a directory";
    /// Path of the program that ranks run, relative to the plan.
    ProgramPath = "the path of treering-mpi";
}

/// Value in the document for a [`Quantity`].
#[derive(Clone, Copy)]
enum WrittenValue<'t> {
    Text(&'t str),
    WholeNumber(u64),
    Negative,
    Decimal(f64),
}

/// Type whose values are written as a number or a text.
trait Quantity: Sized {
    /// Description of the values, and perhaps a hint on a second line.
    fn expected(refused: Option<&str>) -> String;

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError>;
}

/// Reason why a written value is not a quantity.
#[derive(Clone, Copy)]
enum QuantityError {
    Type,
    Value,
}

struct QuantityVisitor<'t, Q> {
    refused: Option<&'t str>,
    quantity: PhantomData<Q>,
}

impl<Q: Quantity> QuantityVisitor<'_, Q> {
    fn read<E: Error>(written: WrittenValue<'_>, unexpected: Unexpected<'_>) -> Result<Q, E> {
        let refused = match written {
            WrittenValue::Text(text) => Some(text),
            _ => None,
        };
        match Q::read(written) {
            Ok(quantity) => Ok(quantity),
            Err(QuantityError::Value) => {
                let wanted = QuantityVisitor::<Q> { refused, quantity: PhantomData };
                Err(E::invalid_value(unexpected, &wanted))
            }
            Err(QuantityError::Type) => {
                let wanted = QuantityVisitor::<Q> { refused: None, quantity: PhantomData };
                Err(E::invalid_type(unexpected, &wanted))
            }
        }
    }
}

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<'_, Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Q::expected(self.refused))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Q, E> {
        Self::read(WrittenValue::Text(text), Unexpected::Str(text))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Q, E> {
        Self::read(WrittenValue::WholeNumber(number), Unexpected::Unsigned(number))
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<Q, E> {
        Self::read(WrittenValue::Negative, Unexpected::Other(&number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Q, E> {
        Self::read(WrittenValue::Decimal(number), Unexpected::Float(number))
    }
}

/// Lets serde read quantities.
macro_rules! quantities {
    ($([$($generics:tt)*] $name:ty;)*) => {$(
        impl<'de, $($generics)*> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_any(QuantityVisitor::<Self> {
                    refused: None,
                    quantity: PhantomData,
                })
            }
        }
    )*};
}

quantities! {
    [const LEAST: u64, const MOST: u64] WholeNumber<LEAST, MOST>;
    [const LEAST: u32, const MOST: u32] Number<LEAST, MOST>;
    [const LEAST: u32, const MOST: u32] Percentage<LEAST, MOST>;
    [const LEAST: u64, const MOST: u64] Size<LEAST, MOST>;
    [] RankCount;
    [] AgeInOperations;
    [] Rate;
    [C: NamedValues] Choice<C>;
}

/// Whole number within bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeNumber<const LEAST: u64, const MOST: u64>(pub(super) u64);

impl<const LEAST: u64, const MOST: u64> WholeNumber<LEAST, MOST> {
    /// Converts the number to a narrower type.
    pub(super) fn small<T: TryFrom<u64> + Default>(self) -> T {
        T::try_from(self.0).unwrap_or_default()
    }
}

impl<const LEAST: u64, const MOST: u64> Quantity for WholeNumber<LEAST, MOST> {
    fn expected(_: Option<&str>) -> String {
        format!("a whole number from {LEAST} to {MOST}")
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        match written {
            WrittenValue::WholeNumber(number) => {
                (LEAST..=MOST).contains(&number).then_some(Self(number)).ok_or(QuantityError::Value)
            }
            WrittenValue::Negative => Err(QuantityError::Value),
            WrittenValue::Text(_) | WrittenValue::Decimal(_) => Err(QuantityError::Type),
        }
    }
}

/// Number of rounds that are compared.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename = "a whole number from 6 to 10000\nno interval can be given after fewer rounds")]
pub(super) struct ComparedRounds(WholeNumber<6, 10_000>);

impl ComparedRounds {
    pub(super) fn count(self) -> u32 {
        self.0.small()
    }
}

/// Number of ranks. A sweep writes the number as a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankCount(pub(super) u32);

impl Quantity for RankCount {
    fn expected(_: Option<&str>) -> String {
        format!("a whole number from 1 to {RANKS_MAX}")
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let number = match written {
            WrittenValue::Text(text) => text.parse().map_err(|_| QuantityError::Type)?,
            WrittenValue::WholeNumber(number) => number,
            WrittenValue::Negative => 0,
            WrittenValue::Decimal(_) => return Err(QuantityError::Type),
        };
        let ranks = u32::try_from(number).ok().filter(|ranks| (1..=RANKS_MAX).contains(ranks));
        ranks.map(Self).ok_or(QuantityError::Value)
    }
}

/// Age of a filesystem in operations. A sweep writes the number as a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgeInOperations(pub(super) u64);

impl AgeInOperations {
    /// As many as `--until operations=` accepts.
    const MOST: u64 = 1 << 50;
}

impl Quantity for AgeInOperations {
    fn expected(_: Option<&str>) -> String {
        format!("a number of operations from 0 to {}", Self::MOST)
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let number = match written {
            WrittenValue::Text(text) => text.parse().map_err(|_| QuantityError::Type)?,
            WrittenValue::WholeNumber(number) => number,
            WrittenValue::Negative => return Err(QuantityError::Value),
            WrittenValue::Decimal(_) => return Err(QuantityError::Type),
        };
        (number <= Self::MOST).then_some(Self(number)).ok_or(QuantityError::Value)
    }
}

/// Number that may have decimals, within bounds in hundredths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<const LEAST: u32, const MOST: u32>(pub(super) f64);

impl<const LEAST: u32, const MOST: u32> Quantity for Number<LEAST, MOST> {
    fn expected(_: Option<&str>) -> String {
        let [least, most] = [LEAST, MOST].map(|bound| f64::from(bound) / 100.0);
        format!("a number from {least} to {most}")
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let number = match written {
            WrittenValue::WholeNumber(number) => number as f64,
            WrittenValue::Decimal(number) => number,
            WrittenValue::Negative => -1.0,
            WrittenValue::Text(_) => return Err(QuantityError::Type),
        };
        let bounds = f64::from(LEAST) / 100.0..=f64::from(MOST) / 100.0;
        // Adding 0 turns -0 into 0.
        bounds.contains(&number).then_some(Self(number + 0.0)).ok_or(QuantityError::Value)
    }
}

/// Percentage as a fraction, within bounds in hundredths of a percent. A bare 3 could mean 3 % or
/// three times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Percentage<const LEAST: u32, const MOST: u32>(pub(super) f64);

impl<const LEAST: u32, const MOST: u32> Quantity for Percentage<LEAST, MOST> {
    fn expected(refused: Option<&str>) -> String {
        if refused.and_then(percentage).is_none() {
            return "a percentage in quotation marks, such as \"3%\"".to_owned();
        }
        let [least, most] = [LEAST, MOST].map(|bound| f64::from(bound) / 100.0);
        format!("a percentage from {least}% to {most}%")
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let WrittenValue::Text(text) = written else { return Err(QuantityError::Type) };
        let bounds = f64::from(LEAST) / 10_000.0..=f64::from(MOST) / 10_000.0;
        let share = percentage(text).filter(|share| bounds.contains(share));
        share.map(Self).ok_or(QuantityError::Value)
    }
}

/// Parses a percentage as a fraction. Moves the decimal point in the text instead of dividing, so
/// that `3.3%` is exactly the number .033.
fn percentage(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let points = number.bytes().filter(|byte| *byte == b'.').count();
    let is_plain = digits > 0 && points <= 1 && digits + points == number.len();
    (is_plain && number.len() <= PERCENTAGE_CHARS_MAX)
        .then(|| format!("{number}e-2").parse().ok())
        .flatten()
}

/// Size in bytes, within bounds in MiB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size<const LEAST: u64, const MOST: u64>(pub(super) u64);

impl<const LEAST: u64, const MOST: u64> Quantity for Size<LEAST, MOST> {
    fn expected(_: Option<&str>) -> String {
        let written = |mebibytes: u64| match mebibytes >> 20 {
            0 => format!("{mebibytes}MiB"),
            tebibytes => format!("{tebibytes}TiB"),
        };
        let (least, most) = (written(LEAST), written(MOST));
        format!(
            "a size from {least} to {most}\na size is a number with K, M, G or T in quotation \
             marks, such as \"8GiB\""
        )
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let WrittenValue::Text(text) = written else { return Err(QuantityError::Type) };
        let bounds = LEAST << 20..=MOST << 20;
        let bytes = parse_size(text).filter(|bytes| bounds.contains(bytes));
        bytes.map(Self).ok_or(QuantityError::Value)
    }
}

/// Bytes per second, at least 64 KiB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(pub(super) u64);

impl Quantity for Rate {
    fn expected(_: Option<&str>) -> String {
        "a size for each second from 64KiB to 1TiB, in quotation marks, such as \"20M\"".to_owned()
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let WrittenValue::Text(text) = written else { return Err(QuantityError::Type) };
        let bytes = parse_size(text).filter(|bytes| (1 << 16..=1 << 40).contains(bytes));
        bytes.map(Self).ok_or(QuantityError::Value)
    }
}

/// Type with a name for each of its values.
pub(super) trait NamedValues: Copy + fmt::Debug + 'static {
    /// Description of one value, and the plural for all.
    const DESCRIPTIONS: (&'static str, &'static str);

    fn named_values() -> Vec<(&'static str, Self)>;

    /// Hint for an unknown name.
    fn hint(name: &str) -> String {
        let names: Vec<&str> = Self::named_values().into_iter().map(|(name, _)| name).collect();
        suggestion(name, &names, Self::DESCRIPTIONS.1)
    }
}

/// Value that is chosen by its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<C>(pub(super) C);

impl<C: NamedValues> Quantity for Choice<C> {
    fn expected(refused: Option<&str>) -> String {
        let wanted = C::DESCRIPTIONS.0;
        refused.map_or_else(|| wanted.to_owned(), |name| format!("{wanted}\n{}", C::hint(name)))
    }

    fn read(written: WrittenValue<'_>) -> Result<Self, QuantityError> {
        let WrittenValue::Text(text) = written else { return Err(QuantityError::Type) };
        let known = C::named_values().into_iter().find(|(name, _)| *name == text);
        known.map(|(_, choice)| Self(choice)).ok_or(QuantityError::Value)
    }
}

impl NamedValues for Machine {
    const DESCRIPTIONS: (&'static str, &'static str) = ("a machine", "machines");

    fn named_values() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|machine| (machine.name(), machine)).to_vec()
    }
}

/// Contents of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadName {
    Random,
    Classic,
}

impl NamedValues for PayloadName {
    const DESCRIPTIONS: (&'static str, &'static str) = ("a kind of content", "contents");

    fn named_values() -> Vec<(&'static str, Self)> {
        vec![("random", Self::Random), ("classic", Self::Classic)]
    }
}

impl NamedValues for TimedCalls {
    const DESCRIPTIONS: (&'static str, &'static str) = ("a choice of calls", "choices");

    fn named_values() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|choice| (choice.name(), choice)).to_vec()
    }
}

impl NamedValues for AgedTree {
    const DESCRIPTIONS: (&'static str, &'static str) = ("a state of the tree", "states");

    fn named_values() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|tree| (tree.name(), tree)).to_vec()
    }
}

impl NamedValues for GuestDisk {
    const DESCRIPTIONS: (&'static str, &'static str) = ("a kind of disk", "disks");

    fn named_values() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|disk| (disk.name(), disk)).to_vec()
    }
}

impl NamedValues for Accelerator {
    const DESCRIPTIONS: (&'static str, &'static str) = ("an accelerator", "accelerators");

    fn named_values() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|accelerator| (accelerator.name(), accelerator)).to_vec()
    }
}

impl NamedValues for ObservedIn {
    const DESCRIPTIONS: (&'static str, &'static str) = ("\"own\" or \"measured\"", "rounds");

    fn named_values() -> Vec<(&'static str, Self)> {
        Self::ALL.map(|place| (place.name(), place)).to_vec()
    }

    fn hint(_: &str) -> String {
        "\"own\": in separate rounds after the others; \"measured\": in the rounds that are \
         compared"
            .to_owned()
    }
}

/// Rules of `[stopping]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoppingRule {
    Fixed,
    Precision,
    Sequential,
    Time,
}

impl NamedValues for StoppingRule {
    const DESCRIPTIONS: (&'static str, &'static str) = ("a stopping rule", "rules");

    fn named_values() -> Vec<(&'static str, Self)> {
        vec![
            ("fixed", Self::Fixed),
            ("precision", Self::Precision),
            ("sequential", Self::Sequential),
            ("time", Self::Time),
        ]
    }
}

/// Single value, or an array of values.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a string or an array of strings", rename_all = "lowercase")]
pub(super) enum OneOrMany<T> {
    Single(T),
    Array(Vec<Placed<T>>),
}

impl<T> OneOrMany<T> {
    /// Values with their positions; a single value has the position of the whole.
    pub(super) fn elements<'l>(&'l self, span: &'l Range<usize>) -> Vec<(&'l Range<usize>, &'l T)> {
        match self {
            Self::Single(value) => vec![(span, value)],
            Self::Array(values) => {
                values.iter().map(|element| (&element.span, &element.value)).collect()
            }
        }
    }
}

/// Block devices.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a device as \"/dev/sdb1\", or an array of them")]
pub(super) struct BlockDevices(pub(super) OneOrMany<AbsolutePath>);

/// Program with its arguments, or a line for the shell.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "an array of strings, or a string for the shell")]
pub(super) struct Command(pub(super) OneOrMany<Script>);

/// Value whose type is decided elsewhere: an option of a workload, or a value of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a string, a number, true or false", rename_all = "lowercase")]
pub(super) enum Datum {
    String(Script),
    Integer(i128),
    Float(Digits),
    Boolean(bool),
    Array(Vec<Placed<Datum>>),
    Datetime(IgnoredAny),
    Table(DatumTable),
}

/// Values by their names.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename = "a table of values")]
pub(super) struct DatumTable(pub(super) Vec<Entry<Datum>>);

impl Datum {
    /// Number as text.
    pub(super) fn number(&self) -> Option<String> {
        match self {
            Self::Integer(number) => Some(number.to_string()),
            Self::Float(Digits(digits)) => Some(digits.clone()),
            _ => None,
        }
    }

    /// Description of the type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "a string",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a point",
            Self::Boolean(_) => "true or false",
            Self::Array(_) => "an array",
            Self::Datetime(_) => "a date",
            Self::Table(_) => "a table",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::percentage;

    #[test]
    fn percentages_are_decimal_numbers_with_a_percent_sign() {
        for (text, share) in [("3.3%", 0.033), ("1.5 %", 0.015), ("100%", 1.0), (".5%", 0.005)] {
            assert_eq!(percentage(text), Some(share), "{text}");
        }
        for wrong in ["3", "%", ".%", "-1%", "1e3%", "nan%", "inf%", "1.2.3%", " 3%", "３%"] {
            assert_eq!(percentage(wrong), None, "{wrong}");
        }
        assert_eq!(percentage(&format!("{}%", "9".repeat(1 << 20))), None);
    }
}
