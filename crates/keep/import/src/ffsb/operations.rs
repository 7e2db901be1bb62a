//! How many operations ran, which FFSB does not print: from the share of each kind, which it prints
//! with three decimals, and from the kinds of which a transaction is an operation.

use treering_model::OPERATIONS_FEW;

use super::lines::OpRow;

/// Kinds of which each transaction is one operation.
const ONE_EACH: [&str; 5] = ["delete", "stat", "open_close", "createdir", "metaop"];
/// Half of the last digit of the shares, and a little for the last bit.
const ROUNDING_PERCENT: f64 = 0.000_501;

/// The number that agrees with all rows; of several the smallest. `None` when no number does, or
/// when the shares are too coarse to tell.
pub(super) fn operations(rows: &[OpRow]) -> Option<u64> {
    // Kinds without transactions are not printed: the shares may come to less than 100 %.
    if rows.is_empty() {
        return None;
    }
    let (mut least, mut most) = (1_u64, u64::MAX);
    for row in rows.iter().filter(|row| ONE_EACH.contains(&row.op.as_str())) {
        let share = |percent: f64| row.transactions as f64 / (percent / 100.0);
        let low = share(row.operations_percent + ROUNDING_PERCENT).ceil();
        let high = share((row.operations_percent - ROUNDING_PERCENT).max(1e-9)).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let (low, high) = (low as u64, high as u64);
        (least, most) = (least.max(low), most.min(high));
    }
    let largest = if most == u64::MAX { OPERATIONS_FEW * 20 } else { most };
    let searched = least..=largest.min(least.saturating_add(OPERATIONS_FEW * 20));
    let exact = searched.into_iter().find(|all| rows.iter().all(|row| agrees(row, *all)));
    // From some thousands on every number agrees with shares of three decimals: the bounds say
    // enough.
    exact.or_else(|| (most != u64::MAX && least <= most).then(|| least.midpoint(most)))
}

fn agrees(row: &OpRow, all: u64) -> bool {
    let count = (row.operations_percent / 100.0 * all as f64).round();
    count >= 1.0 && (count * 100.0 / all as f64 - row.operations_percent).abs() <= ROUNDING_PERCENT
}

#[cfg(test)]
mod tests {
    use super::operations;
    use crate::ffsb::lines::OpRow;

    fn rows(of: &[(&str, u64, u64)], all: u64) -> Vec<OpRow> {
        let row = |(op, transactions, count): &(&str, u64, u64)| OpRow {
            op: (*op).to_owned(),
            transactions: *transactions,
            transactions_per_second: 1.0,
            operations_percent: (*count as f64 * 1e5 / all as f64).round() / 1e3,
            bytes_per_second: None,
        };
        of.iter().map(row).collect()
    }

    #[test]
    fn the_number_behind_the_shares_is_found() {
        let published = [
            ("readall", 93, 8),
            ("create", 20, 2),
            ("append", 10, 1),
            ("delete", 4, 4),
            ("stat", 3, 3),
            ("writeall", 2178, 4),
            ("writeall_fsync", 5, 2),
            ("open_close", 6, 6),
            ("create_fsync", 8234, 6),
            ("append_fsync", 20, 2),
        ];
        assert_eq!(operations(&rows(&published, 38)), Some(38));
        // Without a kind that counts operations.
        assert_eq!(operations(&rows(&published[..3], 38)), Some(38));
        let many = [("stat", 33_333, 33_333), ("readall", 1_000_000, 66_667)];
        let found = operations(&rows(&many, 100_000)).unwrap();
        assert!((99_990..=100_010).contains(&found), "{found}");
    }

    #[test]
    fn shares_that_do_not_fit_together_give_no_number() {
        assert_eq!(operations(&rows(&[("delete", 4, 4), ("stat", 300, 3)], 38)), None);
        assert_eq!(operations(&[]), None);
    }
}
