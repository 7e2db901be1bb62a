//! Values with a unit: sizes, percentages, durations.

use toml::de::DeValue;
use treering_script::parse_size;

use super::section::Value;
use crate::plan::error::{Fault, quoted};

/// Maximum length of a number, in characters.
const CHARS_MAX: usize = 40;

/// Reads a size in bytes, such as `"8GiB"`.
pub(super) fn size(value: &Value<'_>) -> Result<u64, Fault> {
    let wanted = "a size in quotation marks, such as \"8GiB\"";
    let text = value.text(wanted)?;
    parse_size(text).ok_or_else(|| {
        let message = format!("`{}`: {} is not a size", value.key, quoted(text));
        value.fault(message, "").hint("a size is a number with K, M, G or T, such as \"8GiB\"")
    })
}

/// Reads a percentage such as `"1.5%"` within bounds, as a fraction.
pub(super) fn share(value: &Value<'_>, least: f64, most: f64) -> Result<f64, Fault> {
    // A bare 3 could mean 3 % or three times.
    let text = value.text("a percentage in quotation marks, such as \"3%\"")?;
    let share = percentage(text).ok_or_else(|| {
        let message = format!("`{}`: {} is not a percentage", value.key, quoted(text));
        value.fault(message, "").hint(
            "a percentage is a number with a percent sign, such as \
                              \"1.5%\"",
        )
    })?;
    if (least..=most).contains(&share) {
        return Ok(share);
    }
    let (least, most) = (least * 100.0, most * 100.0);
    let message = format!("`{}` is {text}, not from {least}% to {most}%", value.key);
    Err(value.fault(message, ""))
}

/// Parses a percentage as a fraction. Moves the decimal point in the text instead of dividing, so
/// that `3.3%` is exactly the number .033.
fn percentage(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim_end();
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let points = number.bytes().filter(|byte| *byte == b'.').count();
    let is_plain = digits > 0 && points <= 1 && digits + points == number.len();
    (is_plain && number.len() <= CHARS_MAX).then(|| format!("{number}e-2").parse().ok()).flatten()
}

/// Reads a number of seconds, at most a day; may have decimals.
pub(super) fn seconds(value: &Value<'_>) -> Result<f64, Fault> {
    number(value, "seconds", 0.0, 86_400.0)
}

/// Reads a number of minutes, from a hundredth to a week; may have decimals.
pub(super) fn minutes(value: &Value<'_>) -> Result<f64, Fault> {
    number(value, "minutes", 0.01, 10_080.0)
}

fn number(value: &Value<'_>, unit: &str, least: f64, most: f64) -> Result<f64, Fault> {
    let number = match value.value {
        DeValue::Integer(integer) => {
            u32::from_str_radix(integer.as_str(), integer.radix()).ok().map(f64::from)
        }
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => return Err(value.wrong(&format!("a number of {unit}, such as 2.5"))),
    };
    // Adding 0 makes 0 of -0.
    number.filter(|number| (least..=most).contains(number)).map(|number| number + 0.0).ok_or_else(
        || {
            let wanted = format!("{unit} from {least} to {most}");
            value.fault(format!("`{}` is not {wanted}", value.key), format!("write {wanted}"))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::percentage;

    #[test]
    fn percentages_are_plain_decimal_numbers_with_their_sign() {
        for (text, share) in [("3.3%", 0.033), ("1.5 %", 0.015), ("100%", 1.0), (".5%", 0.005)] {
            assert_eq!(percentage(text), Some(share), "{text}");
        }
        for wrong in ["3", "%", ".%", "-1%", "1e3%", "nan%", "inf%", "1.2.3%", " 3%", "３%"] {
            assert_eq!(percentage(wrong), None, "{wrong}");
        }
        assert_eq!(percentage(&format!("{}%", "9".repeat(1 << 20))), None);
    }
}
