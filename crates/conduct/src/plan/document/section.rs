//! Sections and values of a document with their positions. Readers return a value of the requested
//! type, or a fault at its position.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::nearest::nearest;
use crate::plan::error::{Fault, is_invisible, quoted};

/// Maximum length of names and other single-line strings, in characters.
const TEXT_CHARS_MAX: usize = 1_000;

/// Title and allowed keys of a section.
#[derive(Debug)]
pub(super) struct Schema {
    /// Title of the section, as written in the document.
    pub(super) title: &'static str,
    pub(super) keys: &'static [&'static str],
}

pub(super) static PLAN: Schema = Schema {
    title: "the plan itself",
    keys: &[
        "name",
        "question",
        "rounds",
        "seed",
        "warm-up",
        "control",
        "remount",
        "settle-seconds",
        "machine",
        "baseline",
        "ranks",
        "launcher",
        "mpi-program",
        "rank-timeout",
        "stopping",
        "device",
        "disk",
        "guest",
        "variant",
        "job",
        "observe",
        "report",
    ],
};
pub(super) static STOPPING: Schema = Schema {
    title: "[stopping]",
    keys: &["rule", "rounds", "half-width", "fewest", "most", "looks", "minutes"],
};
pub(super) static DEVICE: Schema = Schema {
    title: "[device]",
    keys: &[
        "loop",
        "block",
        "directory",
        "count",
        "sparse",
        "direct-io",
        "sector-bytes",
        "images",
        "disk",
    ],
};
pub(super) static VARIANT: Schema = Schema {
    title: "[[variant]]",
    keys: &[
        "name",
        "against",
        "filesystem",
        "mkfs",
        "mount",
        "image",
        "kernel",
        "guest",
        "device",
        "disk",
        "handicap",
        "sweep",
    ],
};
pub(super) static JOB: Schema = Schema {
    title: "[[job]]",
    keys: &[
        "name",
        "workload",
        "options",
        "full",
        "ranks",
        "launcher",
        "mpi-program",
        "rank-timeout",
        "command",
        "prepare",
        "cleanup",
        "metric",
        "sweep",
    ],
};
pub(super) static METRIC: Schema = Schema {
    title: "[[job.metric]]",
    keys: &["name", "regex", "json", "unit", "better", "primary"],
};
pub(super) static GUEST: Schema =
    Schema { title: "[guest]", keys: &["cpus", "memory", "disk", "accelerator", "timeout"] };
pub(super) static OBSERVE: Schema =
    Schema { title: "[observe]", keys: &["trace", "layout", "layout-every", "in", "rounds"] };
pub(super) static REPORT: Schema = Schema { title: "[report]", keys: &["primary", "threshold"] };

static ALL: [&Schema; 9] =
    [&PLAN, &STOPPING, &DEVICE, &VARIANT, &GUEST, &JOB, &METRIC, &OBSERVE, &REPORT];

/// Option with its text and its value in the document.
pub(super) struct Given<'d> {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) value: Value<'d>,
}

/// Table of the document in which every key is known.
#[derive(Clone, Debug)]
pub(super) struct Section<'d> {
    /// Position of the header or the braces.
    pub(super) span: Range<usize>,
    table: &'d DeTable<'d>,
}

impl<'d> Section<'d> {
    /// # Errors
    /// When a key is unknown: says which was perhaps meant, and all there are.
    pub(super) fn new(
        schema: &'static Schema,
        table: &'d DeTable<'d>,
        span: Range<usize>,
    ) -> Result<Self, Fault> {
        let unknown = table.keys().filter(|key| !schema.keys.contains(&key.get_ref().as_ref()));
        // The first in the document, not in the alphabet.
        match unknown.min_by_key(|key| key.span().start) {
            Some(key) => Err(unknown_key(schema, key.get_ref(), key.span())),
            None => Ok(Self { span, table }),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'d>> {
        let (key, value) = self.table.get_key_value(key)?;
        Some(Value::new(key, value))
    }

    /// First of these keys that the section has.
    pub(super) fn any_of(&self, keys: &[&str]) -> Option<Value<'d>> {
        keys.iter().find_map(|key| self.get(key))
    }
}

fn unknown_key(schema: &Schema, key: &str, span: Range<usize>) -> Fault {
    let keys = schema.keys.join(", ");
    let elsewhere = ALL.iter().find(|other| other.keys.contains(&key));
    let meant = nearest(key, schema.keys.iter().copied());
    let hint = match (meant, elsewhere) {
        (Some(meant), _) => format!("did you mean `{meant}`? {} has: {keys}", schema.title),
        (None, Some(other)) if std::ptr::eq(*other, &raw const PLAN) => {
            format!("`{key}` belongs to {}: write it above the first [section]", other.title)
        }
        (None, Some(other)) => format!("`{key}` belongs to {}", other.title),
        (None, None) => format!("{} has: {keys}", schema.title),
    };
    let message = format!("{} has no key {}", schema.title, quoted(key));
    Fault::at(span, message, "unknown key").hint(hint)
}

/// Value with its key and positions.
#[derive(Clone, Debug)]
pub(super) struct Value<'d> {
    pub(super) key: &'d str,
    pub(super) key_span: Range<usize>,
    pub(super) span: Range<usize>,
    pub(super) value: &'d DeValue<'d>,
}

impl<'d> Value<'d> {
    pub(super) fn new(
        key: &'d Spanned<std::borrow::Cow<'d, str>>,
        value: &'d Spanned<DeValue<'d>>,
    ) -> Self {
        Self {
            key: key.get_ref(),
            key_span: key.span(),
            span: value.span(),
            value: value.get_ref(),
        }
    }

    /// Fault at the position of the value.
    pub(super) fn fault(&self, message: impl Into<String>, label: impl Into<String>) -> Fault {
        Fault::at(self.span.clone(), message, label)
    }

    /// Fault for a value of another type than `wanted`.
    pub(super) fn wrong(&self, wanted: &str) -> Fault {
        let is = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` is {is}, not {wanted}", shortened(self.key));
        let fault = self.fault(message, format!("write {wanted}"));
        let is_quoted =
            |text: &str| matches!(text, "true" | "false") || text.parse::<u64>().is_ok();
        match self.value.as_str() {
            Some(text) if is_quoted(text) => {
                fault.hint(format!("write {text} without quotation marks"))
            }
            _ => fault,
        }
    }

    /// String without control characters.
    pub(super) fn text(&self, wanted: &str) -> Result<&'d str, Fault> {
        self.text_with(wanted, &[])
    }

    /// String for another program such as a shell: newlines and tabs are allowed.
    pub(super) fn script(&self, wanted: &str) -> Result<&'d str, Fault> {
        self.text_with(wanted, &['\n', '\t'])
    }

    fn text_with(&self, wanted: &str, allowed: &[char]) -> Result<&'d str, Fault> {
        let DeValue::String(text) = self.value else { return Err(self.wrong(wanted)) };
        if let Some(control) = text.chars().find(|c| is_invisible(*c) && !allowed.contains(c)) {
            let message = format!(
                "`{}` contains the invisible character U+{:04X}",
                shortened(self.key),
                u32::from(control)
            );
            return Err(self.fault(message, "").hint("write it without control characters"));
        }
        if text.chars().nth(TEXT_CHARS_MAX).is_some() {
            let message =
                format!("`{}` has more than {TEXT_CHARS_MAX} characters", shortened(self.key));
            return Err(self.fault(message, "too long"));
        }
        Ok(text)
    }

    /// String of at least one character, without surrounding blanks.
    pub(super) fn word(&self, wanted: &str) -> Result<&'d str, Fault> {
        let text = self.text(wanted)?;
        if text.is_empty() {
            return Err(self.fault(format!("`{}` is empty", self.key), format!("write {wanted}")));
        }
        if text.trim() != text {
            let message = format!("`{}` begins or ends with a space", self.key);
            return Err(self.fault(message, "").hint(format!("write \"{}\"", text.trim())));
        }
        Ok(text)
    }

    pub(super) fn flag(&self) -> Result<bool, Fault> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    /// Integer in the range.
    pub(super) fn whole(&self, range: RangeInclusive<u64>) -> Result<u64, Fault> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let DeValue::Integer(integer) = self.value else { return Err(self.wrong(&wanted)) };
        u64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let message =
                    format!("`{}` is {}, not {wanted}", self.key, shortened(&integer.to_string()));
                self.fault(message, format!("write {wanted}"))
            })
    }

    /// Integer in the range, as `u32`.
    pub(super) fn whole_u32(&self, range: RangeInclusive<u32>) -> Result<u32, Fault> {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        Ok(u32::try_from(self.whole(wide)?).unwrap_or(*range.end()))
    }

    pub(super) fn array(&self, wanted: &str) -> Result<Vec<Value<'d>>, Fault> {
        let DeValue::Array(array) = self.value else { return Err(self.wrong(wanted)) };
        Ok(self.elements(array))
    }

    pub(super) fn elements(&self, array: &'d DeArray<'d>) -> Vec<Value<'d>> {
        let element = |value: &'d Spanned<DeValue<'d>>| Value {
            key: self.key,
            key_span: self.key_span.clone(),
            span: value.span(),
            value: value.get_ref(),
        };
        array.iter().map(element).collect()
    }

    /// Array element that contains this text; the whole value if none does.
    pub(super) fn element_with(&self, text: &str) -> Self {
        let DeValue::Array(array) = self.value else { return self.clone() };
        let contains =
            |element: &Self| element.value.as_str().is_some_and(|whole| whole.contains(text));
        self.elements(array).into_iter().find(contains).unwrap_or_else(|| self.clone())
    }

    pub(super) fn table(&self, wanted: &str) -> Result<&'d DeTable<'d>, Fault> {
        let DeValue::Table(table) = self.value else { return Err(self.wrong(wanted)) };
        Ok(table)
    }

    /// Single section with this header.
    pub(super) fn section(&self, schema: &'static Schema) -> Result<Section<'d>, Fault> {
        if matches!(self.value, DeValue::Array(_)) {
            let message = format!("there can be only one {}", schema.title);
            let hint = format!("write {}, in single brackets", schema.title);
            return Err(self.fault(message, "").hint(hint));
        }
        let table = self.table(&format!("a table: {}", schema.title))?;
        Section::new(schema, table, self.span.clone())
    }

    /// Sections with this header, any number of them.
    pub(super) fn sections(
        &self,
        schema: &'static Schema,
        most: usize,
    ) -> Result<Vec<Section<'d>>, Fault> {
        let hint = format!("write {} above each of them, in double brackets", schema.title);
        let DeValue::Array(array) = self.value else {
            return Err(self.wrong(&format!("a list of {}", schema.title)).hint(hint));
        };
        if array.len() > most {
            let message =
                format!("{} are {}; at most {most} are accepted", schema.title, array.len());
            return Err(self.fault(message, "the first of them"));
        }
        let section = |value: Value<'d>| match value.value {
            DeValue::Table(table) => Section::new(schema, table, value.span.clone()),
            _ => Err(value.wrong(&format!("a list of {}", schema.title)).hint(hint.clone())),
        };
        self.elements(array).into_iter().map(section).collect()
    }
}

/// Key or number shortened for a message.
fn shortened(text: &str) -> String {
    quoted(text).trim_matches('`').to_owned()
}
