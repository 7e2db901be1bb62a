//! Histograms in a column: the model's encoding, and the number of samples stated in the row.

use thiserror::Error;
use treering_model::{Latency, LatencyError};

/// Reason why a histogram is invalid.
#[derive(Debug, Error)]
pub(crate) enum HistogramError {
    #[error(transparent)]
    Bytes(#[from] LatencyError),
    #[error("a histogram of {counted} samples, but the row says {samples}")]
    Samples { counted: u64, samples: u64 },
}

/// Decodes a histogram that must have `samples` samples.
///
/// # Errors
/// Problems with the bytes.
pub(crate) fn decode(bytes: &[u8], samples: u64) -> Result<Latency, HistogramError> {
    let latency = Latency::from_bytes(bytes)?;
    let counted = latency.samples();
    if counted != samples {
        return Err(HistogramError::Samples { counted, samples });
    }
    Ok(latency)
}

#[cfg(test)]
mod tests {
    use super::decode;
    use treering_model::Latency;

    #[test]
    fn histogram_round_trips_through_its_row() {
        let mut latency = Latency::new();
        latency.record(7);
        assert_eq!(decode(&latency.to_bytes(), 1).unwrap(), latency);
        assert!(decode(&latency.to_bytes(), 2).unwrap_err().to_string().contains("the row says 2"));
        assert!(decode(b"nonsense", 0).is_err());
    }
}
