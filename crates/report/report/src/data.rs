//! Machine-readable output: JSON of a named and versioned form, without any page layout.
//!
//! Every form is one object in one line that begins with its `format` and `version`. Numbers are in
//! the unit that ends their name; times are RFC 3339 in UTC; unknown values are absent.
//! docs/json.md describes each form.

use std::io;

use jiff::Timestamp;
use serde::Serialize;

use crate::json;

/// A value that can be written as machine-readable JSON.
pub trait Data: Serialize {
    /// Name of the form: `treering show`.
    const FORMAT: &'static str;
    /// Version of the form, raised when a field is removed or changes its meaning, but not when one
    /// is added.
    const VERSION: u32;
}

#[derive(Serialize)]
struct DataEnvelope<'d, D> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    data: &'d D,
}

/// Writes data as one JSON object in one line.
///
/// # Errors
/// If the writer fails.
pub fn write_data<D: Data>(data: &D, out: &mut dyn io::Write) -> io::Result<()> {
    json::write_line(&DataEnvelope { format: D::FORMAT, version: D::VERSION, data }, out)
}

/// Formats a time as RFC 3339 in UTC, to the millisecond; `None` outside the years 1 to 9999.
pub(crate) fn moment(unix_ms: i64) -> Option<String> {
    let is_four_digits = |text: &String| text.len() <= 24 && !text.starts_with(['-', '+']);
    Timestamp::from_millisecond(unix_ms).ok().map(|time| time.to_string()).filter(is_four_digits)
}

#[cfg(test)]
mod tests {
    use super::{Data, moment, write_data};
    use serde::Serialize;

    #[derive(Serialize)]
    struct Sample {
        count: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        unknown: Option<u32>,
    }

    impl Data for Sample {
        const FORMAT: &'static str = "treering some";
        const VERSION: u32 = 3;
    }

    #[test]
    fn json_data_starts_with_its_version_and_omits_unknown_fields() {
        let mut bytes = Vec::new();
        write_data(&Sample { count: 7, unknown: None }, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text, "{\"format\":\"treering some\",\"version\":3,\"count\":7}\n");
    }

    #[test]
    fn moments_are_exact_to_the_millisecond() {
        assert_eq!(moment(1_763_665_726_999).unwrap(), "2025-11-20T19:08:46.999Z");
        assert_eq!(moment(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(moment(i64::MAX), None);
    }
}
