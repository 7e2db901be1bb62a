//! Latency histograms in JSON+: by nanoseconds since 3.0, before by the number of a microsecond
//! bin.

use serde_json::Value;

use treering_kit::import::number::whole;

/// Key among the bins of 2.x that states the bin width: the number of kept leading bits.
const BITS: &str = "FIO_IO_U_PLAT_BITS";
/// Largest accepted `FIO_IO_U_PLAT_BITS`.
const BITS_MOST: u64 = 16;

/// Reads the bins that are not empty: nanoseconds, and count.
pub(super) fn read(of: &Value) -> Option<Vec<(u64, u64)>> {
    let fields = of.as_object()?;
    let bits =
        fields.get(BITS).and_then(Value::as_u64).filter(|bits| (1..=BITS_MOST).contains(bits));
    let bin = |(key, count): (&String, &Value)| {
        let key = whole(key)?;
        let ns = match bits {
            Some(bits) => microseconds(key, bits)?.checked_mul(1000)?,
            None => key,
        };
        Some((ns, count.as_u64().filter(|count| *count > 0)?))
    };
    let mut bins: Vec<(u64, u64)> = fields.iter().filter_map(bin).collect();
    bins.sort_unstable();
    (!bins.is_empty()).then_some(bins)
}

/// Middle of a microsecond bin: bins up to twice the number of kept values hold one value, above
/// they double in width with each power of two.
fn microseconds(index: u64, bits: u64) -> Option<u64> {
    let kept = 1_u64 << bits;
    if index < 2 * kept {
        return Some(index);
    }
    let lost = u32::try_from((index >> bits) - 1).ok().filter(|lost| *lost < 40)?;
    let width = 1_u64 << lost;
    Some((kept + index % kept).checked_mul(width)? + width / 2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{microseconds, read};

    #[test]
    fn bins_of_2_x_and_3_x_are_read() {
        let new = json!({"1432": 1, "2256": 3, "9": 0, "x": 5});
        assert_eq!(read(&new), Some(vec![(1432, 1), (2256, 3)]));
        let old = json!({
            "FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64, "FIO_IO_U_PLAT_NR": 1216,
            "5": 2, "128": 1
        });
        assert_eq!(read(&old), Some(vec![(5_000, 2), (129_000, 1)]));
        assert_eq!(read(&json!({})), None);
    }

    #[test]
    fn bin_widths_equal_those_of_fio() {
        assert_eq!(microseconds(127, 6), Some(127));
        // 64 bins for each power of two.
        assert_eq!((microseconds(191, 6), microseconds(192, 6)), (Some(255), Some(258)));
        assert_eq!(microseconds(u64::MAX, 6), None);
    }
}
