//! Inference of the number of operations, which FFSB does not print. Evidence is the share of each
//! kind, printed with three decimals; the kinds whose transactions are operations or whole appends;
//! and the number of calls.

use super::lines::OpRow;

/// Kinds whose transactions are single operations.
const ONE_EACH: [&str; 5] = ["delete", "stat", "open_close", "createdir", "metaop"];
/// Kinds that write the same number of blocks each time.
const APPENDS: [&str; 2] = ["append", "append_fsync"];
/// Half of the last printed digit of a share, with a margin for binary rounding.
const ROUNDING_PERCENT: f64 = 0.000_501;
/// Maximum number of candidate totals tried.
const TRIED_MOST: u64 = 200_000;

/// Figures of a report that constrain the number of operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportEvidence<'r> {
    pub(super) rows: &'r [OpRow],
    /// Blocks of an append, if they are the same in all thread groups.
    pub(super) append_blocks: Option<u64>,
    /// Number of open, unlink and stat calls, if printed by all thread groups: each operation makes
    /// one of them, except for `createdir` and `metaop`.
    pub(super) calls: Option<u64>,
}

impl ReportEvidence<'_> {
    /// Number of operations, if exactly one number agrees with everything printed.
    pub(super) fn operations(&self) -> Option<u64> {
        if self.rows.is_empty() {
            return None;
        }
        let counted = self.inferred_from_calls().filter(|counted| self.agrees(*counted));
        if counted.is_some() {
            return counted;
        }
        let (mut least, mut most) = (1, None);
        for row in self.rows {
            let Some(known) = self.operations_of(row) else { continue };
            let share = |percent: f64| known as f64 * 100.0 / percent;
            let low = share(row.operations_percent + ROUNDING_PERCENT).ceil();
            let high = share((row.operations_percent - ROUNDING_PERCENT).max(1e-9)).floor();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let (low, high) = (low as u64, high as u64);
            (least, most) = (least.max(low), Some(most.map_or(high, |most: u64| most.min(high))));
        }
        let most = most.filter(|most| most.saturating_sub(least) < TRIED_MOST)?;
        let mut possible = (least..=most).filter(|total| self.agrees(*total));
        let first = possible.next()?;
        possible.next().is_none().then_some(first)
    }

    /// Total inferred from the number of calls.
    fn inferred_from_calls(&self) -> Option<u64> {
        let calls = self.calls.filter(|calls| *calls > 0)?;
        let without = |row: &&OpRow| matches!(row.op.as_str(), "createdir" | "metaop");
        let mut others = self.rows.iter().filter(without).map(|row| row.transactions);
        others.try_fold(calls, u64::checked_add)
    }

    /// Number of operations of a kind, if its transactions determine it.
    fn operations_of(&self, row: &OpRow) -> Option<u64> {
        let op = row.op.as_str();
        if ONE_EACH.contains(&op) {
            return Some(row.transactions);
        }
        let blocks = self.append_blocks.filter(|blocks| *blocks > 0)?;
        let is_whole = APPENDS.contains(&op) && row.transactions.is_multiple_of(blocks);
        is_whole.then_some(row.transactions / blocks)
    }

    /// True if every printed share is possible with `total` operations.
    fn agrees(&self, total: u64) -> bool {
        let agrees = |row: &OpRow| {
            let nearest = (row.operations_percent / 100.0 * total as f64).round();
            let count = self.operations_of(row).map_or(nearest, |known| known as f64);
            let share = count * 100.0 / total as f64;
            count >= 1.0 && (share - row.operations_percent).abs() <= ROUNDING_PERCENT
        };
        self.rows.iter().all(agrees)
    }
}

#[cfg(test)]
mod tests {
    use super::ReportEvidence;
    use crate::import::lines::OpRow;

    fn rows(of: &[(&str, u64, u64)], total: u64) -> Vec<OpRow> {
        let row = |(op, transactions, count): &(&str, u64, u64)| OpRow {
            op: (*op).to_owned(),
            transactions: *transactions,
            transactions_per_second: 1.0,
            operations_percent: (*count as f64 * 1e5 / total as f64).round() / 1e3,
            bytes_per_second: None,
        };
        of.iter().map(row).collect()
    }

    fn by_shares(rows: &[OpRow]) -> Option<u64> {
        ReportEvidence { rows, append_blocks: None, calls: None }.operations()
    }

    const PUBLISHED: [(&str, u64, u64); 10] = [
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

    #[test]
    fn number_of_operations_is_inferred_from_shares() {
        assert_eq!(by_shares(&rows(&PUBLISHED, 38)), Some(38));
    }

    #[test]
    fn ambiguous_number_of_operations_is_unknown() {
        // No kind says how many of it ran: 38, 76 and all their multiples have these shares.
        assert_eq!(by_shares(&rows(&PUBLISHED[..3], 38)), None);
        // A single kind has 100 %, whatever its number was.
        assert_eq!(by_shares(&rows(&[("readall", 1_000_000, 500)], 500)), None);
        // Among a hundred thousand, several numbers agree with three decimals.
        let many = [("stat", 33_333, 33_333), ("readall", 1_000_000, 66_667)];
        assert_eq!(by_shares(&rows(&many, 100_000)), None);
    }

    #[test]
    fn number_of_operations_is_inferred_from_appends_and_calls() {
        let appends = rows(&[("append", 20, 2), ("readall", 900, 36)], 38);
        let evidence = ReportEvidence { rows: &appends, append_blocks: Some(10), calls: None };
        assert_eq!(evidence.operations(), Some(38));
        let many = [("stat", 33_333, 33_333), ("readall", 1_000_000, 66_567), ("metaop", 100, 100)];
        let many = rows(&many, 100_000);
        let evidence = ReportEvidence { rows: &many, append_blocks: None, calls: Some(99_900) };
        assert_eq!(evidence.operations(), Some(100_000));
        // Calls of another part of the run.
        assert_eq!(ReportEvidence { calls: Some(49_900), ..evidence }.operations(), None);
    }

    #[test]
    fn inconsistent_shares_give_no_number() {
        assert_eq!(by_shares(&rows(&[("delete", 4, 4), ("stat", 300, 3)], 38)), None);
        assert_eq!(by_shares(&[]), None);
    }
}
