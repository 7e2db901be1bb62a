//! Files of ior and mdtest with the time of each operation of a rank.

/// Times of a rank's operations, in nanoseconds: for each its start, counted from the first one,
/// and its duration.
#[derive(Clone, Debug, Default)]
pub struct OpTimes {
    began_ns: Option<u64>,
    times: Vec<u64>,
}

impl OpTimes {
    /// Adds an operation, with its start and end by the clock of the trial.
    pub fn add(&mut self, began_ns: u64, ended_ns: u64) {
        let first_ns = *self.began_ns.get_or_insert(began_ns);
        self.times.push(began_ns.saturating_sub(first_ns));
        self.times.push(ended_ns.saturating_sub(began_ns));
    }

    /// The numbers, two for each operation.
    pub fn into_numbers(self) -> Vec<u64> {
        self.times
    }
}

/// Text of the file of a rank, from the numbers of its operations, each of so many bytes.
pub fn op_rows(numbers: &[u64], bytes: u64) -> String {
    let (pairs, _) = numbers.as_chunks();
    let mut text = "time,runtime,tp\n".to_owned();
    for [began_ns, took_ns] in pairs {
        let (began, took) = (*began_ns as f64 / 1e9, *took_ns as f64 / 1e9);
        let rate = bytes as f64 / took;
        text += &format!(
            "{},{},{}\n",
            exponential(began, 8),
            exponential(took, 8),
            exponential(rate, 6)
        );
    }
    text
}

/// Number in the form of C's `%e`, with so many decimals.
pub fn exponential(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{digits}e{sign}{size:0>2}")
}

#[cfg(test)]
mod tests {
    use super::{OpTimes, exponential, op_rows};

    #[test]
    fn rows_are_those_of_the_original() {
        let mut times = OpTimes::default();
        times.add(1_000, 23_173);
        times.add(25_000, 31_000);
        let rows = op_rows(&times.into_numbers(), 32_768);
        let wanted = "time,runtime,tp\n0.00000000e+00,2.21730000e-05,1.477833e+09\n\
                      2.40000000e-05,6.00000000e-06,5.461333e+09\n";
        assert_eq!(rows, wanted);
        assert_eq!(exponential(1.420_787_819_4e9, 10), "1.4207878194e+09");
        assert_eq!(exponential(f64::INFINITY, 6), "inf");
    }
}
