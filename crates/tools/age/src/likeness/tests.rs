//! Trees made from measured ones, compared with these.

use std::collections::HashMap;

use treering_script::Random;

use super::measured::{MeasuredDirectory, MeasuredSize, MeasuredTree, measured_profile};
use crate::generator::OperationGenerator;
use crate::profile::{Model, Profile, read};

/// A tree as found on disks: most directories hold few files and some very many, a part is old as
/// a whole, and a part changes.
fn measured(directories: usize, seed: u64) -> Vec<MeasuredDirectory> {
    let mut random = Random::new(seed);
    let mut made: Vec<MeasuredDirectory> = Vec::new();
    for place in 0..directories {
        // Chains of directories and very wide ones.
        let above = match random.below(4) {
            0 => place.saturating_sub(1),
            1 => random.index(place.max(1)),
            _ => random.index(place.clamp(1, 40)),
        };
        let most = 1u64 << random.below(8);
        let own = u32::try_from(random.below(most)).unwrap();
        let own = if place % 97 == 5 { own + 900 } else { own };
        // A few installations, and changes since.
        let old = [18, 15, 15, 13][random.index(4)];
        let young = [11, 7, 2][random.index(3)];
        let files = match random.below(3) {
            _ if own == 0 => vec![],
            0 if own > 1 => vec![(young, own / 2), (old, own - own / 2)],
            1 => vec![(young, own)],
            _ => vec![(old, own)],
        };
        made.push(MeasuredDirectory { above, files });
    }
    made
}

fn profile_of(directories: &[MeasuredDirectory]) -> (String, Model) {
    let files = directories.iter().flat_map(|directory| &directory.files);
    let files: u64 = files.map(|(_, count)| u64::from(*count)).sum();
    // An eighth is empty, and one file is a million times larger than most.
    let empty = MeasuredSize { most: 0, files: files / 8, bytes: 0 };
    let small = files - files / 8 - 1;
    let small = MeasuredSize { most: 1100, files: small, bytes: small * 1100 };
    let large = MeasuredSize { most: 600_000_000, files: 1, bytes: 600_000_000 };
    let sizes = [empty, small, large];
    let name = "/srv/\"odd\\\n";
    let text = measured_profile(&MeasuredTree { name, sizes: &sizes, directories });
    let Profile::Model(model) = read("it", &text).unwrap() else { panic!("{text}") };
    (text, model)
}

/// Facts of a tree, each sorted: depth of each file, files of each directory, share of all files
/// that were born before the middle one of each directory, and the share born between its quarters.
type TreeFacts = [Vec<f64>; 4];

fn facts(above: &[usize], files: &[(usize, f64)]) -> TreeFacts {
    let mut depths: Vec<f64> = Vec::new();
    for (place, above) in above.iter().enumerate() {
        depths.push(if place == 0 { 0.0 } else { depths[*above] + 1.0 });
    }
    let mut births: HashMap<usize, Vec<f64>> = HashMap::new();
    files.iter().for_each(|(directory, born)| births.entry(*directory).or_default().push(*born));
    let counts = (0..above.len()).map(|place| births.get(&place).map_or(0, Vec::len) as f64);
    let mut all = [
        files.iter().map(|(directory, _)| depths[*directory]).collect(),
        counts.collect(),
        Vec::new(),
        Vec::new(),
    ];
    for own in births.values_mut() {
        own.sort_by(f64::total_cmp);
        all[2].push(own[own.len() / 2]);
        all[3].push(own[own.len() * 3 / 4] - own[own.len() / 4]);
    }
    all.iter_mut().for_each(|fact: &mut Vec<f64>| fact.sort_by(f64::total_cmp));
    all
}

fn facts_of_measured(directories: &[MeasuredDirectory]) -> TreeFacts {
    let above: Vec<usize> = directories.iter().map(|directory| directory.above).collect();
    let mut files: Vec<(usize, u8)> = Vec::new();
    for (place, directory) in directories.iter().enumerate() {
        let own = directory.files.iter();
        files.extend(own.flat_map(|(age, count)| (0..*count).map(move |_file| (place, *age))));
    }
    let all = files.len() as f64;
    let older = |age: u8| files.iter().filter(|(_, other)| *other > age).count() as f64 / all;
    let shares: Vec<f64> = (0..=31).map(older).collect();
    let born: Vec<(usize, f64)> =
        files.iter().map(|(place, age)| (*place, shares[usize::from(*age)])).collect();
    facts(&above, &born)
}

/// Facts of the files that exist, where births count as those of the measured ages.
fn facts_of_made(made: &OperationGenerator, directories: &[MeasuredDirectory]) -> TreeFacts {
    let layout = made.model().files[0].layout.clone().unwrap();
    let all_above = 0..layout.directories();
    let above = all_above.map(|place| usize::try_from(layout.above(place).unwrap_or(0)).unwrap());
    let above: Vec<usize> = above.collect();
    let mut standing = made.standing(0);
    standing.sort_by_key(|live| live.id);
    let measured = directories.iter().flat_map(|directory| &directory.files);
    let mut ages = [0u64; 32];
    measured.for_each(|(age, count)| ages[usize::from(*age)] += u64::from(*count));
    let files: u64 = ages.iter().sum();
    let mut ends = Vec::new();
    let mut older = 0;
    for count in ages.iter().rev() {
        ends.push((older as f64 / files as f64, (older + count) as f64 / files as f64));
        older += count;
    }
    let all = standing.len() as f64;
    let born = standing.iter().enumerate().map(|(place, live)| {
        let share = place as f64 / all;
        let age = ends.iter().find(|(_, end)| share < *end).unwrap();
        (usize::try_from(live.directory).unwrap(), age.0)
    });
    facts(&above, &born.collect::<Vec<_>>())
}

/// Largest difference of two distributions (Kolmogorov-Smirnov).
fn distance(first: &[f64], second: &[f64]) -> f64 {
    let share = |all: &[f64], most: f64| {
        all.partition_point(|value| *value <= most) as f64 / all.len() as f64
    };
    let values = first.iter().chain(second);
    values.map(|value| (share(first, *value) - share(second, *value)).abs()).fold(0.0, f64::max)
}

fn assert_alike(measured: &TreeFacts, made: &TreeFacts, case: &str) {
    let names = ["depth", "files of a directory", "middle birth", "births between"];
    for ((name, first), second) in names.iter().zip(measured).zip(made) {
        let distance = distance(first, second);
        assert!(distance < 0.1, "{case}: {name} {distance:.3}");
    }
}

fn made(model: &Model, bytes: u64, operations: u64) -> OperationGenerator {
    let mut generator = OperationGenerator::new(model.clone(), 3, bytes);
    assert!(generator.initial(0) > 0);
    (0..operations).for_each(|_| assert!(generator.next().is_some()));
    generator
}

#[test]
fn a_tree_of_a_measured_profile_has_its_depths_directories_and_ages() {
    for (directories, seed) in [(1, 1), (300, 2), (3000, 3), (30_000, 4)] {
        let tree = measured(directories, seed);
        let tree = if directories == 1 {
            vec![MeasuredDirectory { above: 0, files: vec![(3, 40), (9, 60)] }]
        } else {
            tree
        };
        let (text, model) = profile_of(&tree);
        assert!(text.len() < 300_000, "{}", text.len());
        let plan = &model.files[0];
        let files = plan.classes.as_ref().unwrap().files();
        let bytes = files * plan.sizes.mean();
        let filled = made(&model, bytes, 0);
        let standing = filled.standing(0);
        assert_eq!(standing.len() as u64, files);
        // All of them, to the byte.
        let wanted = (files - files / 8 - 1) * 1100 + 600_000_000;
        assert_eq!(standing.iter().map(|live| live.bytes).sum::<u64>(), wanted);
        assert_eq!(filled.model().files[0].directories, directories as u64);
        let measured = facts_of_measured(&tree);
        assert_alike(&measured, &facts_of_made(&filled, &tree), &format!("{directories}"));
        if directories == 1 {
            continue;
        }
        let aged = made(&model, bytes, files);
        assert_alike(&measured, &facts_of_made(&aged, &tree), &format!("{directories}, aged"));
        let kept = aged.standing(0).len() as f64 / files as f64;
        assert!((0.9..1.1).contains(&kept), "{directories}: {kept}");
    }
}

#[test]
fn other_bytes_scale_directories_and_files_together() {
    let tree = measured(3000, 5);
    let (_, model) = profile_of(&tree);
    let plan = &model.files[0];
    let files = plan.classes.as_ref().unwrap().files();
    for (times, by) in [(3, 1), (1, 2)] {
        let generator = made(&model, files * plan.sizes.mean() * times / by, 0);
        let standing = generator.standing(0).len() as u64;
        assert!(standing.abs_diff(files * times / by) < files / 50, "{standing} of {files}");
        let directories = generator.model().files[0].directories;
        assert!(directories.abs_diff(3000 * times / by) < 100, "{directories}");
        let case = format!("{times} / {by}");
        assert_alike(&facts_of_measured(&tree), &facts_of_made(&generator, &tree), &case);
    }
}

#[test]
fn no_files_are_lost_where_the_last_directories_are_scaled_away() {
    let rows = "{ directories = 1 }, { in = 0, directories = 1 }, \
                { in = 0, directories = 1, files = { 20 = 1000 } }";
    let Profile::Model(model) = read("it", &with_tree(rows, "share = \"100%\"")).unwrap() else {
        panic!("a model")
    };
    let bytes = 1000 * model.files[0].sizes.mean();
    for (live, files) in [(bytes, 1000), (bytes / 2, 500), (bytes / 9000, 1)] {
        assert_eq!(made(&model, live, 0).standing(0).len(), files, "{live} bytes");
    }
}

#[test]
fn rows_of_a_tree_that_cannot_be_are_refused_with_their_number() {
    let top = "{ directories = 1, files = { 3 = 1 } }";
    for (rows, wanted) in [
        (String::new(), "no file"),
        ("{ directories = 2 }".to_owned(), "row 0 of 0 to 0: the top is one directory"),
        ("{ in = 0, directories = 1 }".to_owned(), "row 0 of 0 to 0: in: 0 is not"),
        (format!("{top}, {{ directories = 1 }}"), "row 1 of 0 to 1: `in` is missing"),
        (format!("{top}, {{ in = 1, directories = 1 }}"), "row 1 of 0 to 1: in: 1 is not"),
        (format!("{top}, {{ in = 0, directories = 0 }}"), "directories: not 1 to"),
        (format!("{top}, {{ in = 0, directories = {} }}", u64::MAX >> 1), "directories: not 1 to"),
        ("{ directories = 1, files = { 32 = 1 } }".to_owned(), "age '32'"),
        ("{ directories = 1, files = { 03 = 1 } }".to_owned(), "age '03'"),
        (
            format!("{{ directories = 1, files = {{ 3 = {} }} }}", i64::MAX),
            "more than 1099511627776",
        ),
        (format!("{top}, {}", (0..65).map(below).collect::<String>()), "deeper than 64"),
        (format!("{top}, {}", "{ in = 0, directories = 1 }, ".repeat(2000)), "more than 2000"),
    ] {
        let error = read("it", &with_tree(&rows, "share = \"100%\"")).unwrap_err();
        assert!(error.message.contains(wanted), "{rows}: {}", error.message);
    }
    for beside in ["count = 3", "share = \"100%\"\nfan-out = 3", "share = \"9%\"\ndirectories = 2"]
    {
        let error = read("it", &with_tree(top, beside)).unwrap_err();
        assert!(error.message.contains("beside it only"), "{beside}: {}", error.message);
    }
    let by_age = "about = \"x\"\n[[files]]\nname = \"x\"\nsize = \"1k\"\ncount = 1\n[[operation]]\n\
                  files = \"x\"\ndo = \"delete\"\nchoose = \"by-age\"\n";
    assert!(read("it", by_age).unwrap_err().message.contains("needs a `tree`"));
}

#[test]
fn a_tree_of_more_files_than_a_run_makes_is_made_with_fewer_bytes() {
    let rows = "{ directories = 1 }, { in = 0, directories = 30000000, files = { 3 = 120000000 } }";
    let Profile::Model(model) = read("it", &with_tree(rows, "share = \"100%\"")).unwrap() else {
        panic!("a model")
    };
    // Directories are the limit: a third of the tree, so 40 million files of 1 KiB.
    let error = model.refuse_too_many_files(120_000_000 << 10).unwrap_err();
    assert!(error.message.contains("120000000 files in 30000001"), "{}", error.message);
    assert!(format!("{error:?}").contains("--live 38G"), "{error:?}");
    model.refuse_too_many_files(38 << 30).unwrap();
    let made = made(&model, 1 << 20, 0);
    assert_eq!(made.standing(0).len(), 1024);
}

fn below(number: usize) -> String {
    format!("{{ in = {number}, directories = 1 }}, ")
}

fn with_tree(rows: &str, beside: &str) -> String {
    format!("about = \"x\"\n[[files]]\nname = \"x\"\nsize = \"1KiB\"\n{beside}\ntree = [{rows}]\n")
}
