//! Tests that compare a load of as many blocks as the published one with the published statistics.

use std::collections::{BTreeMap, HashMap};

use super::{FILL_LINES, text};

/// Words of a line.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect()
}

#[derive(Default)]
struct LoadStatistics {
    ops: BTreeMap<String, u64>,
    failures: BTreeMap<String, u64>,
    reads: BTreeMap<u64, u64>,
    writes: BTreeMap<u64, u64>,
    effects: BTreeMap<&'static str, u64>,
    following: BTreeMap<(String, String), u64>,
    names: HashMap<String, u64>,
    open: HashMap<String, String>,
    sizes: HashMap<String, u64>,
    most_open: usize,
    most_bytes: u64,
    opened: HashMap<String, (bool, bool)>,
    uses: BTreeMap<(bool, bool), u64>,
}

impl LoadStatistics {
    fn parse(text: &str) -> Self {
        let mut statistics = Self::default();
        let mut before = String::new();
        for line in text.lines() {
            let words = words(line);
            let name = words[0].clone();
            *statistics.ops.entry(name.clone()).or_default() += 1;
            if words.last().unwrap() == "NT_STATUS_OK" {
                statistics.take(&words);
            } else {
                *statistics.failures.entry(name.clone()).or_default() += 1;
            }
            *statistics.following.entry((before, name.clone())).or_default() += 1;
            before = name;
            for path in words.iter().filter(|word| word.starts_with('\\')) {
                *statistics.names.entry(path.clone()).or_default() += 1;
            }
        }
        statistics
    }

    /// Applies an operation that must succeed to the model of the files, and checks that it is
    /// possible.
    fn take(&mut self, words: &[String]) {
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        match words[0].as_str() {
            "NTCreateX" => {
                if words[3] == "0x2" && words[2] != "0x1" {
                    assert_eq!(self.sizes.insert(words[1].clone(), 0), None);
                } else {
                    assert!(words[2] == "0x1" || self.sizes.contains_key(&words[1]), "{words:?}");
                }
                self.open.insert(words[4].clone(), words[1].clone());
                self.opened.insert(words[4].clone(), (false, false));
                self.most_open = self.most_open.max(self.open.len());
            }
            "Close" => {
                self.open.remove(&words[1]).unwrap();
                *self.uses.entry(self.opened.remove(&words[1]).unwrap()).or_default() += 1;
            }
            "ReadX" => {
                let bytes = self.sizes[&self.open[&words[1]]];
                assert!(number(2) + number(3) <= bytes, "{words:?} of {bytes}");
                self.opened.get_mut(&words[1]).unwrap().0 = true;
                *self.reads.entry(number(3)).or_default() += 1;
            }
            "WriteX" => {
                let bytes = self.sizes.get_mut(&self.open[&words[1]]).unwrap();
                let (from, end) = (number(2), number(2) + number(3));
                let effect = match () {
                    () if number(3) == 1 && from > *bytes => "extend",
                    () if end <= *bytes => "over",
                    () if from >= *bytes => "append",
                    () => "straddle",
                };
                *bytes = end.max(*bytes);
                self.opened.get_mut(&words[1]).unwrap().1 = true;
                *self.effects.entry(effect).or_default() += 1;
                *self.writes.entry(number(3)).or_default() += 1;
                self.most_bytes = self.most_bytes.max(self.sizes.values().sum());
            }
            "Unlink" => {
                assert!(!self.open.values().any(|name| *name == words[1]), "{words:?}");
                self.sizes.remove(&words[1]).unwrap();
            }
            "Rename" => {
                let bytes = self.sizes.remove(&words[1]).unwrap();
                assert_eq!(self.sizes.insert(words[2].clone(), bytes), None);
            }
            "QUERY_FILE_INFORMATION" | "SET_FILE_INFORMATION" | "Flush" | "LockX" | "UnlockX" => {
                assert!(self.open.contains_key(&words[1]), "{words:?}");
            }
            "QUERY_PATH_INFORMATION" => assert!(self.sizes.contains_key(&words[1]), "{words:?}"),
            _ => {}
        }
    }
}

#[track_caller]
fn near(quantity: &str, measured: u64, published: u64, percent: f64) {
    let off = (measured as f64 / published as f64 - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{quantity}: {measured}, published {published}, {off:.2} % off");
}

#[test]
fn generated_load_has_the_statistics_of_the_published_one() {
    let load = String::from_utf8(text(1, 129)).unwrap();
    let statistics = LoadStatistics::parse(&load);
    assert!(statistics.open.is_empty());
    for (name, published) in [
        ("ReadX", 124_199),
        ("NTCreateX", 79_230),
        ("QUERY_PATH_INFORMATION", 71_814),
        ("Close", 58_200),
        ("WriteX", 39_502),
        ("FIND_FIRST", 27_765),
        ("Unlink", 16_000),
        ("QUERY_FS_INFORMATION", 13_168),
        ("QUERY_FILE_INFORMATION", 12_585),
        ("SET_FILE_INFORMATION", 6_454),
        ("Flush", 5_553),
        ("Rename", 3_355),
        ("LockX", 258),
        ("UnlockX", 258),
        ("Deltree", 2),
        ("Mkdir", 1),
    ] {
        near(name, statistics.ops[name], published, 0.1);
    }
    for (name, published) in
        [("NTCreateX", 21_030), ("QUERY_PATH_INFORMATION", 24_385), ("FIND_FIRST", 14_328)]
    {
        near(name, statistics.failures[name], published, 0.1);
    }
    assert_eq!(statistics.failures.len(), 3, "all else succeeds");
    for (size, published) in [
        (4096, 83_172),
        (61_440, 16_641),
        (2048, 4_644),
        (8192, 4_644),
        (16_384, 1_937),
        (512, 1_161),
    ] {
        near("reads", statistics.reads[&size], published, 0.1);
    }
    for (size, published) in
        [(65_536, 12_658), (4096, 9_942), (1, 7_424), (2048, 1_677), (8192, 1_164), (510, 387)]
    {
        near("writes", statistics.writes[&size], published, 0.1);
    }
    for (effect, published) in
        [("over", 20_427), ("straddle", 6_251), ("append", 5_400), ("extend", 7_424)]
    {
        near(effect, statistics.effects[effect], published, 0.5);
    }
    let sum = |sizes: &BTreeMap<u64, u64>| sizes.iter().map(|(size, count)| size * count).sum();
    near("bytes read", sum(&statistics.reads), 1_472_088_767, 0.5);
    near("bytes written", sum(&statistics.writes), 1_015_974_170, 0.5);
    assert!(
        statistics.most_open <= 23 && statistics.most_bytes <= 24_000_000,
        "{}",
        statistics.most_bytes
    );
    following(&statistics);
    // Purposes of opens: neither, reading, writing, both.
    let opens: u64 = statistics.uses.values().sum();
    for (used, published) in
        [((false, false), 0.37), ((true, false), 0.37), ((false, true), 0.13), ((true, true), 0.13)]
    {
        let share = statistics.uses[&used] as f64 / opens as f64;
        assert!((share - published).abs() < 0.12, "{used:?}: {share}, published {published}");
    }
}

/// Checks the transition frequencies against the published probabilities, within the tolerance that
/// a feasible walk needs.
fn following(statistics: &LoadStatistics) {
    let mut far = Vec::new();
    for (from, to, published) in [
        ("ReadX", "ReadX", 0.74),
        ("ReadX", "NTCreateX", 0.11),
        ("NTCreateX", "ReadX", 0.33),
        ("NTCreateX", "NTCreateX", 0.23),
        ("NTCreateX", "Close", 0.19),
        ("NTCreateX", "WriteX", 0.08),
        ("NTCreateX", "FIND_FIRST", 0.07),
        ("QUERY_PATH_INFORMATION", "QUERY_PATH_INFORMATION", 0.37),
        ("QUERY_PATH_INFORMATION", "NTCreateX", 0.24),
        ("QUERY_PATH_INFORMATION", "Unlink", 0.17),
        ("QUERY_PATH_INFORMATION", "Close", 0.12),
        ("Close", "Close", 0.28),
        ("Close", "NTCreateX", 0.27),
        ("Close", "QUERY_PATH_INFORMATION", 0.27),
        ("Close", "Unlink", 0.06),
        ("Close", "Rename", 0.06),
        ("WriteX", "WriteX", 0.35),
        ("WriteX", "Close", 0.20),
        ("WriteX", "QUERY_FILE_INFORMATION", 0.19),
        ("WriteX", "Flush", 0.14),
        ("FIND_FIRST", "FIND_FIRST", 0.24),
        ("FIND_FIRST", "QUERY_PATH_INFORMATION", 0.21),
        ("FIND_FIRST", "QUERY_FS_INFORMATION", 0.20),
        ("Flush", "WriteX", 0.28),
        ("Flush", "Close", 0.28),
        ("Flush", "SET_FILE_INFORMATION", 0.21),
        ("Unlink", "NTCreateX", 0.40),
        ("Unlink", "QUERY_PATH_INFORMATION", 0.37),
        ("Rename", "NTCreateX", 0.73),
        ("LockX", "UnlockX", 1.0),
        ("UnlockX", "QUERY_FILE_INFORMATION", 1.0),
    ] {
        let count = statistics.following[&(from.to_owned(), to.to_owned())];
        let share = count as f64 / statistics.ops[from] as f64;
        let off = (share - published).abs();
        if off > 0.02 {
            far.push(format!("{from} {to}: {share:.3}, published {published}"));
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn blocks_begin_and_end_with_the_files_of_the_first_part() {
    let load = String::from_utf8(text(7, 3)).unwrap();
    let lines: Vec<&str> = load.lines().collect();
    let fill = LoadStatistics::parse(&lines[..FILL_LINES as usize].join("\n"));
    assert!(fill.open.is_empty());
    assert_eq!((fill.sizes.len(), fill.ops["NTCreateX"], fill.ops["WriteX"]), (56, 68, 391));
    assert_eq!(fill.sizes.values().sum::<u64>(), 20_971_520);
    let total = LoadStatistics::parse(&lines[..lines.len() - 1].join("\n"));
    assert_eq!(total.sizes, fill.sizes);
    assert!(lines[lines.len() - 1].starts_with("Deltree"));
}

#[test]
fn equal_seeds_generate_equal_loads() {
    assert_eq!(text(3, 1), text(3, 1));
    assert_ne!(text(3, 1), text(4, 1));
    // The files are the same.
    let fill = |text: Vec<u8>| -> Vec<Vec<u8>> {
        let lines = text.split(|byte| *byte == b'\n');
        lines.take(FILL_LINES as usize).map(<[u8]>::to_vec).collect()
    };
    assert_eq!(fill(text(3, 1)), fill(text(4, 1)));
}
