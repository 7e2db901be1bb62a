//! Trial ids for people: shortest unique prefixes.

use treering_model::TrialId;

use crate::values::fields;
use crate::{Store, StoreError};

/// Minimum length of a printed prefix: the whole time of the id, in milliseconds, so that no later
/// trial makes a printed prefix ambiguous.
const SHORTEST: usize = 13;

/// Maximum number of trials listed for an ambiguous prefix.
const MOST_CANDIDATES: u32 = 10;

// All ids with a prefix sort below the prefix followed by `g`.
const FIRST: &str = "SELECT id FROM trials WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2";
const COUNT: &str = "SELECT count(*) FROM trials WHERE id >= ?1 AND id < ?1 || 'g'";

/// Number of hexadecimal digits of a trial id, and of characters including dashes.
const DIGITS: usize = 32;
const CHARACTERS: usize = 36;

/// Positions of the dashes in the printed form, as numbers of preceding digits.
const DASHES: [usize; 4] = [8, 12, 16, 20];

impl Store {
    /// Finds the trial whose id has this prefix, in upper or lower case, with or without dashes;
    /// `last` and `latest` select the most recently started trial.
    ///
    /// # Errors
    /// [`StoreError::NoSuchTrial`]; [`StoreError::Ambiguous`] with the candidates.
    pub fn find(&self, prefix: &str) -> Result<TrialId, StoreError> {
        let prefix = prefix.trim();
        let none =
            || StoreError::NoSuchTrial { path: self.path.clone(), prefix: prefix.to_owned() };
        if prefix.eq_ignore_ascii_case("last") || prefix.eq_ignore_ascii_case("latest") {
            let newest = "SELECT id FROM trials ORDER BY started_unix_ms DESC, id DESC LIMIT 1";
            return self.identities(newest, [])?.pop().ok_or_else(none);
        }
        let printed = as_printed(prefix).ok_or_else(none)?;
        let _snapshot = self.snapshot()?;
        let mut candidates = self.identities(FIRST, (&printed, MOST_CANDIDATES))?;
        match candidates.len() {
            0 => Err(none()),
            1 => Ok(candidates.remove(0)),
            _ => {
                let counts: Vec<usize> = self.rows(COUNT, [&printed], "trials", fields::integer)?;
                let total = counts.into_iter().sum();
                let (path, prefix) = (self.path.clone(), prefix.to_owned());
                Err(StoreError::Ambiguous { path, prefix, candidates, total })
            }
        }
    }

    /// Number of leading characters, at least 13, that make every trial id of the store unique.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn shortest_prefix_len(&self) -> Result<usize, StoreError> {
        let ids = self.printed_identities()?;
        Ok((0..ids.len()).map(|at| unique_len(&ids, at)).max().unwrap_or(SHORTEST))
    }

    /// Shortest unique prefix, of at least 13 characters, for each of the trials. Trials that are
    /// recorded later do not begin with it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn short_ids(&self, trials: &[TrialId]) -> Result<Vec<String>, StoreError> {
        let ids = self.printed_identities()?;
        let short = trials.iter().map(|trial| {
            let mut text = trial.text();
            if let Ok(at) = ids.binary_search(&text) {
                text.truncate(unique_len(&ids, at));
            }
            text
        });
        Ok(short.collect())
    }

    fn identities(
        &self,
        query: &str,
        parameters: impl rusqlite::Params,
    ) -> Result<Vec<TrialId>, StoreError> {
        self.rows(query, parameters, "trials", |fields| fields.word(|text| text.parse().ok()))
    }

    /// All trial ids in printed form, sorted.
    pub(crate) fn printed_identities(&self) -> Result<Vec<String>, StoreError> {
        self.rows("SELECT id FROM trials ORDER BY id", [], "trials", fields::text)
    }
}

/// Converts the user's input to a prefix of printed ids; `None` if it cannot be one.
fn as_printed(prefix: &str) -> Option<String> {
    let digits = prefix.chars().filter(|character| *character != '-');
    let digits = digits.map(|digit| digit.to_ascii_lowercase()).collect::<Vec<_>>();
    let all_hexadecimal = digits.iter().all(char::is_ascii_hexdigit);
    if digits.is_empty() || digits.len() > DIGITS || !all_hexadecimal {
        return None;
    }
    let mut printed = String::with_capacity(CHARACTERS);
    for (index, digit) in digits.into_iter().enumerate() {
        if DASHES.contains(&index) {
            printed.push('-');
        }
        printed.push(digit);
    }
    Some(printed)
}

/// Number of characters that distinguish one of several sorted texts from its neighbours.
fn unique_len(sorted: &[String], at: usize) -> usize {
    let neighbours = [at.checked_sub(1), Some(at + 1)].into_iter().flatten();
    let common = neighbours.filter_map(|other| sorted.get(other)).map(|other| {
        sorted[at].bytes().zip(other.bytes()).take_while(|(left, right)| left == right).count()
    });
    let len = (common.max().unwrap_or(0) + 1).max(SHORTEST);
    // A trailing dash would carry no information.
    let ends_in_dash = sorted[at].as_bytes().get(len - 1) == Some(&b'-');
    (len + usize::from(ends_in_dash)).min(sorted[at].len())
}

#[cfg(test)]
mod tests {
    use super::{as_printed, unique_len};

    #[test]
    fn identifiers_are_accepted_without_dashes_and_in_upper_case() {
        assert_eq!(as_printed("0192A3B4c5").unwrap(), "0192a3b4-c5");
        assert_eq!(as_printed("0192a3b4-c5").unwrap(), "0192a3b4-c5");
        assert_eq!(as_printed("0192a3b4-").unwrap(), "0192a3b4");
        let whole = "0192a3b4-c5d6-7e8f-9a0b-1c2d3e4f5a6b";
        assert_eq!(as_printed(whole).unwrap(), whole);
        assert_eq!(as_printed(&whole.replace('-', "")).unwrap(), whole);
        for wrong in ["", "-", "xyz", "é", "0 1", "0%", &format!("{whole}0")] {
            assert_eq!(as_printed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn prefix_length_depends_on_the_neighbours() {
        let sorted = [
            "00000000-0000-7000",
            "00000000-1000-7000",
            "11111111-0000-7000",
            "11111111-0000-7001",
        ];
        let sorted = sorted.map(str::to_owned);
        let lens = (0..sorted.len()).map(|at| unique_len(&sorted, at)).collect::<Vec<_>>();
        assert_eq!(lens, [13, 13, 18, 18], "at least the whole time");
        assert_eq!(unique_len(&["0192a3b4-c5".to_owned()], 0), 11);
        let dash = ["00000000-0000-7", "00000000-0000a"].map(str::to_owned);
        assert_eq!(unique_len(&dash, 0), 15, "no dash at the end");
    }
}
