//! Deserializer over the parsed document, for the declarations in `format.rs`.
//!
//! The deserializer of the `toml` crate keeps the position of a value, but not of its key, and its
//! errors are plain text. This one keeps both positions, reads keys in the order of the document,
//! and names the key, the value and the accepted values in each error. Serde names in the
//! declarations appear in messages: the name of a struct is the title of its section; the name of
//! another type describes the accepted values, with an optional hint on a second line.

use std::fmt::{self, Display};
use std::ops::{Deref, Range};

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{
    self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::plan::error::{Fault, is_invisible, quoted};

/// Maximum length of strings, in characters.
const TEXT_CHARS_MAX: usize = 1_000;
/// Maximum number of sections with the same title.
const SECTIONS_MAX: usize = 128;
/// Prefixes of the descriptions of lists of sections, and of tables with arbitrary keys.
const LIST_OF: &str = "a list of ";
const TABLE: &str = "a table";
/// Serde name of [`Digits`].
const DIGITS: &str = "Digits";
/// Name of the enum variant for types without a variant of their own.
const SINGLE: &str = "single";

/// Value with its position.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Placed<T> {
    pub(super) span: Range<usize>,
    pub(super) value: T,
}

impl<T> Placed<T> {
    /// Fault at the position of the value.
    pub(super) fn fault(&self, message: impl Into<String>, label: impl Into<String>) -> Fault {
        Fault::at(self.span.clone(), message, label)
    }
}

impl<T: Deref<Target = str>> Placed<T> {
    pub(super) fn text(&self) -> &str {
        &self.value
    }
}

impl<T> Deref for Placed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Value with its key, and the positions of both.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entry<T> {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    placed: Placed<T>,
}

impl<T> Entry<T> {
    /// Fault at the position of the key.
    pub(super) fn key_fault(&self, message: impl Into<String>, label: impl Into<String>) -> Fault {
        Fault::at(self.key_span.clone(), message, label)
    }
}

impl<T> Deref for Entry<T> {
    type Target = Placed<T>;

    fn deref(&self) -> &Placed<T> {
        &self.placed
    }
}

/// Optional key of a section.
pub(super) type Key<T> = Option<Entry<T>>;

/// Keys that may be absent.
pub(super) trait Optional<T> {
    /// Value without its position.
    fn value(&self) -> Option<T>
    where
        T: Copy;

    /// Name of the key with its position.
    fn key(&self) -> Option<Placed<&str>>;
}

impl<T> Optional<T> for Key<T> {
    fn value(&self) -> Option<T>
    where
        T: Copy,
    {
        self.as_ref().map(|entry| entry.placed.value)
    }

    fn key(&self) -> Option<Placed<&str>> {
        self.as_ref()
            .map(|entry| Placed { span: entry.key_span.clone(), value: entry.key.as_str() })
    }
}

/// String of at least one character, without control characters and surrounding blanks.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Word(pub(super) String);

/// String for another program such as a shell: newlines and tabs are allowed.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Script(pub(super) String);

/// Number as written in the document.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Digits(pub(super) String);

/// Reason why a value is refused; its position may not be known yet.
#[derive(Debug)]
pub(super) enum ValueError {
    /// Wrong type, with the accepted one.
    Type(String),
    /// Wrong value: the value, then the accepted ones.
    Value(String, String),
    /// Unknown key of a section.
    Key { title: &'static str, keys: &'static [&'static str], key: String, span: Range<usize> },
    /// Any other reason.
    Other(String),
    /// Fault with its position.
    Placed(Fault),
}

impl ValueError {
    /// Adds the position of the value, if it is not known yet.
    fn at(self, value: &Value<'_>) -> Self {
        let key = shortened(value.key);
        Self::Placed(match self {
            Self::Type(wanted) => value.wrong(value.wanted.unwrap_or(&wanted)),
            Self::Value(is, wanted) => {
                let (wanted, hint) = split_description(value.wanted.unwrap_or(&wanted));
                let label = if hint.is_none() { format!("write {wanted}") } else { String::new() };
                let fault = value.fault(format!("`{key}` is {is}, and must be {wanted}"), label);
                hint.into_iter().fold(fault, Fault::hint)
            }
            Self::Other(message) => value.fault(format!("`{key}` {message}"), ""),
            placed @ (Self::Key { .. } | Self::Placed(_)) => return placed,
        })
    }
}

/// Splits the description of a type into the accepted values and the hint on its second line.
fn split_description(wanted: &str) -> (&str, Option<&str>) {
    wanted.split_once('\n').map_or((wanted, None), |(wanted, hint)| (wanted, Some(hint)))
}

impl Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ValueError {}

impl de::Error for ValueError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Other(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::Type(wanted.to_string())
    }

    fn invalid_value(is: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        let is = match is {
            Unexpected::Str(text) => quoted(text),
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Float(number) => shortened(&format!("{number:?}")),
            Unexpected::Other(text) => shortened(text),
            other => other.to_string(),
        };
        Self::Value(is, wanted.to_string())
    }
}

/// Value with its key and positions, and the constraints of its declaration.
#[derive(Clone, Debug)]
pub(super) struct Value<'d> {
    key: &'d str,
    key_span: Range<usize>,
    span: Range<usize>,
    value: &'d DeValue<'d>,
    wanted: Option<&'static str>,
    /// Control characters that a string may contain.
    allowed: &'static [char],
    is_word: bool,
}

impl<'d> Value<'d> {
    pub(super) fn new(
        (key, key_span): (&'d str, Range<usize>),
        value: &'d DeValue<'d>,
        span: Range<usize>,
    ) -> Self {
        Self { key, key_span, span, value, wanted: None, allowed: &[], is_word: false }
    }

    /// Values of a table in the order of the document.
    fn of_table(table: &'d DeTable<'d>) -> Vec<Self> {
        let one = |(key, value): (&'d Spanned<_>, &'d Spanned<_>)| {
            let key: (&'d Spanned<std::borrow::Cow<'d, str>>, _) = (key, key.span());
            Self::new((key.0.get_ref(), key.1), value.get_ref(), value.span())
        };
        let mut values: Vec<Self> = table.iter().map(one).collect();
        values.sort_by_key(|value| value.key_span.start);
        values
    }

    fn elements(&self) -> Vec<Self> {
        let DeValue::Array(array) = self.value else { return Vec::new() };
        let key = || (self.key, self.key_span.clone());
        array.iter().map(|value| Self::new(key(), value.get_ref(), value.span())).collect()
    }

    fn fault(&self, message: impl Into<String>, label: impl Into<String>) -> Fault {
        Fault::at(self.span.clone(), message, label)
    }

    /// Fault for a value whose type is not `wanted`.
    fn wrong(&self, wanted: &str) -> Fault {
        let (wanted, hint) = split_description(wanted);
        let wanted = if wanted == "a boolean" { "true or false" } else { wanted };
        let (_, is) = self.kind();
        let message = format!("`{}` is {is}, and must be {wanted}", shortened(self.key));
        let fault = self.fault(message, format!("write {wanted}"));
        let is_quoted =
            |text: &&str| matches!(*text, "true" | "false") || text.parse::<u64>().is_ok();
        let bare = self.value.as_str().filter(is_quoted);
        match (bare, wanted.strip_prefix(LIST_OF), hint) {
            (Some(text), _, _) => fault.hint(format!("write {text} without quotation marks")),
            (_, Some(title), _) => {
                fault.hint(format!("write {title} above each of them, in double brackets"))
            }
            (_, _, Some(hint)) => fault.hint(hint),
            (None, None, None) => fault,
        }
    }

    /// Checks a string: no invisible characters, and no excessive length.
    fn text(&self, text: &'d str) -> Result<&'d str, Fault> {
        let key = shortened(self.key);
        let (wanted, _) = split_description(self.wanted.unwrap_or("a string"));
        if let Some(control) = text.chars().find(|c| is_invisible(*c) && !self.allowed.contains(c))
        {
            let code = u32::from(control);
            let message = format!("`{key}` contains the invisible character U+{code:04X}");
            return Err(self.fault(message, "").hint("write it without control characters"));
        }
        if text.chars().nth(TEXT_CHARS_MAX).is_some() {
            let message = format!("`{key}` has more than {TEXT_CHARS_MAX} characters");
            return Err(self.fault(message, "too long"));
        }
        if self.is_word && text.is_empty() {
            return Err(self.fault(format!("`{key}` is empty"), format!("write {wanted}")));
        }
        if self.is_word && text.trim() != text {
            let message = format!("`{key}` begins or ends with a space");
            return Err(self.fault(message, "").hint(format!("write \"{}\"", text.trim())));
        }
        Ok(text)
    }

    /// Name of the value's type in declarations, and in messages.
    fn kind(&self) -> (&'static str, &'static str) {
        match self.value {
            DeValue::String(_) => ("string", "a string"),
            DeValue::Integer(_) => ("integer", "a whole number"),
            DeValue::Float(_) => ("float", "a number with a point"),
            DeValue::Boolean(_) => ("boolean", "true or false"),
            DeValue::Datetime(_) => ("datetime", "a date"),
            DeValue::Array(_) => ("array", "an array"),
            DeValue::Table(_) => ("table", "a table"),
        }
    }

    fn any<V: Visitor<'d>>(&self, visitor: V) -> Result<V::Value, ValueError> {
        match self.value {
            DeValue::String(text) => {
                visitor.visit_borrowed_str(self.text(text).map_err(ValueError::Placed)?)
            }
            DeValue::Integer(integer) => {
                let (digits, radix) = (integer.as_str(), integer.radix());
                match (u64::from_str_radix(digits, radix), i128::from_str_radix(digits, radix)) {
                    (Ok(number), _) => visitor.visit_u64(number),
                    (_, Ok(number)) => visitor.visit_i128(number),
                    _ => Err(de::Error::invalid_value(
                        Unexpected::Other(&integer.to_string()),
                        &visitor as &dyn Expected,
                    )),
                }
            }
            DeValue::Float(float) if self.wanted == Some(DIGITS) => {
                visitor.visit_str(float.as_str())
            }
            DeValue::Float(float) => visitor.visit_f64(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Datetime(_) => Err(de::Error::invalid_type(Unexpected::Unit, &visitor)),
            DeValue::Array(array) => {
                if let Some(title) = self.wanted.and_then(|wanted| wanted.strip_prefix(LIST_OF))
                    && array.len() > SECTIONS_MAX
                {
                    let count = array.len();
                    let message =
                        format!("{title} are {count}; at most {SECTIONS_MAX} are accepted");
                    return Err(ValueError::Placed(self.fault(message, "the first of them")));
                }
                visitor.visit_seq(SeqDeserializer::new(self.elements().into_iter()))
            }
            DeValue::Table(table)
                if self.wanted.is_some_and(|wanted| wanted.starts_with(TABLE)) =>
            {
                visitor.visit_seq(SeqDeserializer::new(Self::of_table(table).into_iter()))
            }
            DeValue::Table(_) => Err(de::Error::invalid_type(Unexpected::Map, &visitor)),
        }
    }

    fn section<V: Visitor<'d>>(
        self,
        title: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let is_section = |value: &Spanned<DeValue<'_>>| value.get_ref().is_table();
        if let DeValue::Array(array) = self.value
            && array.iter().any(is_section)
        {
            let fault = self.fault(format!("there can be only one {title}"), "");
            let hint = format!("write {title}, in single brackets");
            return Err(ValueError::Placed(fault.hint(hint)));
        }
        let DeValue::Table(table) = self.value else {
            let fault = self.wrong(&format!("a table: {title}"));
            let is_device = self.value.as_str().is_some_and(|text| text.starts_with("/dev/"));
            let fault = if is_device {
                fault.hint(format!("a block device is written {} = {{ block = \"…\" }}", self.key))
            } else {
                fault
            };
            return Err(ValueError::Placed(fault));
        };
        let values = Self::of_table(table);
        if let Some(unknown) = values.iter().find(|value| !keys.contains(&value.key)) {
            let (key, span) = (unknown.key.to_owned(), unknown.key_span.clone());
            return Err(ValueError::Key { title, keys, key, span });
        }
        let values = values.into_iter().map(|value| (value.key, value));
        visitor
            .visit_map(MapDeserializer::new(values))
            .map_err(|refused: ValueError| refused.at(&self))
    }
}

impl<'d> Deserializer<'d> for Value<'d> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.any(visitor).map_err(|refused| refused.at(&self))
    }

    fn deserialize_option<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(match name {
            "Word" => Self { is_word: true, ..self },
            "Script" => Self { allowed: &['\n', '\t'], ..self },
            wanted => Self { wanted: Some(wanted), ..self },
        })
    }

    fn deserialize_enum<V: Visitor<'d>>(
        self,
        wanted: &'static str,
        kinds: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let wanted = self.wanted.unwrap_or(wanted);
        let Some(kind) = [self.kind().0, SINGLE].into_iter().find(|kind| kinds.contains(kind))
        else {
            return Err(ValueError::Placed(self.wrong(wanted)));
        };
        let value = Self { wanted: Some(wanted), ..self };
        let alternative = MapDeserializer::new(std::iter::once((kind, value)));
        visitor.visit_enum(MapAccessDeserializer::new(alternative))
    }

    fn deserialize_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match name {
            "Placed" => {
                let span = Part::Span(self.span.clone());
                visitor.visit_seq(Parts([None, Some(span), Some(Part::Value(self))]))
            }
            "Entry" => {
                let (key, span) = (Part::Key(self.key), Part::Span(self.key_span.clone()));
                visitor.visit_seq(Parts([Some(key), Some(span), Some(Part::Value(self))]))
            }
            title => self.section(title, keys, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        <W: Visitor<'d>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

impl<'d> IntoDeserializer<'d, ValueError> for Value<'d> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Field of [`Placed`] or [`Entry`].
enum Part<'d> {
    Key(&'d str),
    Span(Range<usize>),
    Value(Value<'d>),
}

struct Parts<'d>([Option<Part<'d>>; 3]);

impl<'d> SeqAccess<'d> for Parts<'d> {
    type Error = ValueError;

    fn next_element_seed<S: DeserializeSeed<'d>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, ValueError> {
        let Some(part) = self.0.iter_mut().find_map(Option::take) else { return Ok(None) };
        match part {
            Part::Key(key) => seed.deserialize(StrDeserializer::new(key)),
            Part::Span(span) => {
                seed.deserialize(SeqDeserializer::new([span.start, span.end].into_iter()))
            }
            Part::Value(value) => seed.deserialize(value),
        }
        .map(Some)
    }
}

/// Key or number shortened for a message.
fn shortened(text: &str) -> String {
    quoted(text).trim_matches('`').to_owned()
}
