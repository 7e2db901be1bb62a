//! Lines that mdtest and ior print alike: the space of the filesystem, and wrong data.

/// The filesystem as the original shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filesystem {
    /// Bytes of the whole.
    pub capacity_bytes: u64,
    /// Bytes that nobody uses.
    pub unused_bytes: u64,
    /// Files that there are, of how many there can be.
    pub inodes: (u64, u64),
}

/// The line about the filesystem, or that it is not known.
pub fn space(filesystem: Option<Filesystem>) -> String {
    let Some(filesystem) = filesystem else {
        return "WARNING: Backend returned error during statfs\n".to_owned();
    };
    let [size, used, inodes, used_inodes] = room_words(filesystem);
    format!(
        "{:<20}: {size}   Used FS: {used}   Inodes: {inodes}   Used Inodes: {used_inodes}\n",
        "FS"
    )
}

/// The room of a filesystem as the original shows it: its size, how much of it is used, how many
/// files there can be, how many of these there are.
pub fn room_words(filesystem: Filesystem) -> [String; 4] {
    let used = |free: u64, all: u64| (1.0 - free as f64 / all as f64) * 100.0;
    let capacity = filesystem.capacity_bytes as f64;
    let gib = capacity / f64::from(1 << 30);
    let (size, unit) = if gib > 1024.0 { (gib / 1024.0, "TiB") } else { (gib, "GiB") };
    let (used_inodes, inodes) = filesystem.inodes;
    [
        format!("{size:.1} {unit}"),
        format!("{}%", percent(used(filesystem.unused_bytes, filesystem.capacity_bytes))),
        format!("{:.1} Mi", inodes as f64 / f64::from(1 << 20)),
        format!("{}%", percent(used(inodes.saturating_sub(used_inodes), inodes))),
    ]
}

/// As C prints it, which says `-nan` for a share of nothing.
fn percent(value: f64) -> String {
    if value.is_nan() { "-nan".to_owned() } else { format!("{value:2.1}") }
}

/// The line about data that were not what was written.
pub fn wrong_data(errors: u64) -> String {
    format!(
        "\nERROR: verifying the data on read ({errors} errors)! Take the performance values with \
         care!\n\n"
    )
}
