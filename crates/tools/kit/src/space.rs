//! Lines that mdtest and ior have in common: filesystem space, and data errors.

/// Filesystem usage in the original's output.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilesystemUsage {
    /// Capacity in bytes.
    pub capacity_bytes: u64,
    /// Unused bytes.
    pub unused_bytes: u64,
    /// Used inodes and their total.
    pub inodes: (u64, u64),
}

/// Line about the filesystem, or the message that its usage is unknown.
pub fn space(filesystem: Option<FilesystemUsage>) -> String {
    let Some(filesystem) = filesystem else {
        return "WARNING: Backend returned error during statfs\n".to_owned();
    };
    let [size, used, inodes, used_inodes] = room_words(filesystem);
    format!(
        "{:<20}: {size}   Used FS: {used}   Inodes: {inodes}   Used Inodes: {used_inodes}\n",
        "FS"
    )
}

/// Words of the filesystem usage: size, used percentage, number of inodes, used percentage of
/// these.
pub fn room_words(filesystem: FilesystemUsage) -> [String; 4] {
    let used = |free: u64, total: u64| (1.0 - free as f64 / total as f64) * 100.0;
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

/// Formats a percentage as C does, which prints `-nan` for 0/0.
fn percent(value: f64) -> String {
    if value.is_nan() { "-nan".to_owned() } else { format!("{value:2.1}") }
}

/// Formats the line about data errors.
pub fn wrong_data(errors: u64) -> String {
    format!(
        "\nERROR: verifying the data on read ({errors} errors)! Take the performance values with \
         care!\n\n"
    )
}
