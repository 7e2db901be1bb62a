//! Histograms in a column: the model's bytes, and the number of samples stated in the row.

use treering_model::Latency;

/// Reads a histogram that must have so many samples.
///
/// # Errors
/// What is wrong with the bytes.
pub(crate) fn decode(bytes: &[u8], samples: u64) -> Result<Latency, String> {
    let latency = Latency::from_bytes(bytes).map_err(|error| error.to_string())?;
    let counted = latency.samples();
    if counted != samples {
        return Err(format!("a histogram of {counted} samples, but the row says {samples}"));
    }
    Ok(latency)
}

#[cfg(test)]
mod tests {
    use super::decode;
    use treering_model::Latency;

    #[test]
    fn the_row_and_the_histogram_agree() {
        let mut latency = Latency::new();
        latency.record(7);
        assert_eq!(decode(&latency.to_bytes(), 1).unwrap(), latency);
        assert!(decode(&latency.to_bytes(), 2).unwrap_err().contains("the row says 2"));
        assert!(decode(b"nonsense", 0).is_err());
    }
}
