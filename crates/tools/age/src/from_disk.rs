//! Text of a profile, from counts of a tree.

use std::fmt::Write as _;

/// Counts of a tree.
#[derive(Clone, Debug)]
pub struct MeasuredTree<'t> {
    /// Name of the tree in the generated profile.
    pub name: &'t str,
    /// Number of regular files.
    pub files: u64,
    /// Number of directories, the top included.
    pub directories: u64,
    /// Number of directories with subdirectories.
    pub parents: u64,
    /// Number of files per power of two: empty ones, of 1 byte, 2 to 3, 4 to 7 and so on.
    pub sizes: &'t [u64],
}

/// Generates a profile: files of these sizes in as many directories. The operations cannot be seen
/// in a tree: half of them create, half delete.
pub fn measured_profile(tree: &MeasuredTree<'_>) -> String {
    let name: String =
        tree.name.chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).collect();
    let fan_out = tree.directories.saturating_sub(1).div_ceil(tree.parents.max(1));
    let sizes: Vec<String> = tree.sizes.iter().map(u64::to_string).collect();
    let mut text = format!(
        "about = \"Files as in {name}: {} of them in {} directories\"\n\
         source = \"Sizes and directories: measured by `treering age profile`; weights: chosen\"\n\
         measure-every = {}\n\n\
         [[files]]\n\
         name = \"file\"\n\
         share = \"100%\"\n\
         directories = {}\n",
        tree.files,
        tree.directories,
        (tree.files / 10).clamp(100, 10_000),
        tree.directories.max(1)
    );
    // Writing to a string does not fail.
    if fan_out >= 2 {
        let _ = writeln!(text, "fan-out = {}", fan_out.min(100_000));
    }
    let _ = writeln!(text, "# How many files have 0, 1, 2 to 3, 4 to 7 … bytes.");
    let _ = writeln!(text, "size = {{ powers-of-two = [{}] }}", sizes.join(", "));
    for operation in ["create", "delete"] {
        let _ = write!(text, "\n[[operation]]\nfiles = \"file\"\ndo = \"{operation}\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{MeasuredTree, measured_profile};
    use crate::profile::{Profile, read};

    #[test]
    fn measured_profiles_can_be_read() {
        for (directories, parents) in [(1, 0), (5, 4), (100, 7)] {
            let sizes = [3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40];
            let name = "/srv/\"odd\\\n";
            let tree = MeasuredTree { name, files: 44, directories, parents, sizes: &sizes };
            let text = measured_profile(&tree);
            let Profile::Model(model) = read("it", &text).unwrap() else { panic!("{text}") };
            assert_eq!(model.files[0].directories, directories);
            assert_eq!((model.operations.len(), model.measure_every), (2, 100));
        }
    }
}
