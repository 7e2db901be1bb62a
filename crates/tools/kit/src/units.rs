//! Units as users and other programs write them, and the units in which values are stored.

use treering_model::{BetterDirection, Unit};

/// Units as they may be written, the stored unit, and the factor between them.
pub const UNITS: [(&str, Unit, f64); 29] = [
    ("s", Unit::Seconds, 1.0),
    ("seconds", Unit::Seconds, 1.0),
    ("ms", Unit::Seconds, 1e-3),
    ("us", Unit::Seconds, 1e-6),
    ("min", Unit::Seconds, 60.0),
    ("ns", Unit::Nanoseconds, 1.0),
    ("nanoseconds", Unit::Nanoseconds, 1.0),
    ("B", Unit::Bytes, 1.0),
    ("bytes", Unit::Bytes, 1.0),
    ("KiB", Unit::Bytes, 1024.0),
    ("MiB", Unit::Bytes, 1_048_576.0),
    ("GiB", Unit::Bytes, 1_073_741_824.0),
    ("kB", Unit::Bytes, 1e3),
    ("MB", Unit::Bytes, 1e6),
    ("GB", Unit::Bytes, 1e9),
    ("MiB/s", Unit::MibPerSecond, 1.0),
    ("KiB/s", Unit::MibPerSecond, 1.0 / 1024.0),
    ("GiB/s", Unit::MibPerSecond, 1024.0),
    ("B/s", Unit::MibPerSecond, 1.0 / 1_048_576.0),
    ("kB/s", Unit::MibPerSecond, 1e3 / 1_048_576.0),
    ("MB/s", Unit::MibPerSecond, 1e6 / 1_048_576.0),
    ("GB/s", Unit::MibPerSecond, 1e9 / 1_048_576.0),
    ("files/s", Unit::FilesPerSecond, 1.0),
    ("ops/s", Unit::OpsPerSecond, 1.0),
    ("1/s", Unit::OpsPerSecond, 1.0),
    ("count", Unit::Count, 1.0),
    ("", Unit::Count, 1.0),
    ("%", Unit::Percent, 1.0),
    ("percent", Unit::Percent, 1.0),
];

/// Stored unit of a written one, and the factor between them; `None` for an unknown unit.
pub fn known_unit(word: &str) -> Option<(Unit, f64)> {
    let unit = UNITS.iter().find(|(known, ..)| *known == word);
    unit.map(|(_, unit, factor)| (*unit, *factor))
}

/// Direction that is better for every quantity of this unit; `None` if the unit does not tell.
pub fn usual_direction(unit: Unit) -> Option<BetterDirection> {
    match unit {
        Unit::Seconds | Unit::Nanoseconds => Some(BetterDirection::Lower),
        Unit::MibPerSecond | Unit::FilesPerSecond | Unit::OpsPerSecond => {
            Some(BetterDirection::Higher)
        }
        Unit::Bytes | Unit::Count | Unit::Percent => None,
    }
}
