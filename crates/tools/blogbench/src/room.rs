//! Space limit of the blogs, and the number of blogs that fit in it.

use treering_script::{ConfigError, TargetFacts, parse_size};

use super::draws::{FILES_MOST, FileKind};

/// Maximum number of blogs.
const BLOGS_MOST: u64 = 1 << 40;
/// Reserve per blog above its mean size, in bytes, since blogs vary.
const SPREAD_BYTES: u64 = 1 << 20;

/// Space that blogs may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SpaceLimit {
    Bytes(u64),
    /// Fraction of the free space at the beginning.
    Share(f64),
}

impl SpaceLimit {
    /// Parses `8G` or `50%`.
    pub(super) fn read(text: &str) -> Result<Self, ConfigError> {
        let right = "a size, as 8G, or a share of what is free from 1% to 100%, as 50%";
        let wrong = || {
            ConfigError::new(format!("--max-size: '{text}' is neither a size nor a share"))
                .hint(right)
        };
        match text.strip_suffix('%') {
            Some(number) => {
                let percent: f64 = number.trim().parse().map_err(|_| wrong())?;
                (1.0..=100.0).contains(&percent).then_some(Self::Share(percent / 100.0))
            }
            None => parse_size(text).filter(|bytes| *bytes > 0).map(Self::Bytes),
        }
        .ok_or_else(wrong)
    }

    /// Number of full blogs that fit, by space and inodes.
    pub(super) fn blogs(self, facts: &TargetFacts) -> u64 {
        let share_of = |total: u64, share: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            let part = (total as f64 * share) as u64;
            part
        };
        let (bytes, share) = match self {
            Self::Bytes(bytes) => (bytes, 1.0),
            Self::Share(share) => (share_of(facts.free_bytes, share), share),
        };
        let names = facts.free_inodes.map_or(u64::MAX, |free| share_of(free, share));
        (bytes / full_bytes(facts.block_bytes)).min(names / full_names()).min(BLOGS_MOST)
    }
}

/// Number of inodes of a full blog, its directory included.
pub(super) fn full_names() -> u64 {
    FileKind::ALL.len() as u64 * u64::from(FILES_MOST) + 1
}

/// Mean content of a full blog, in bytes.
pub(super) fn mean_bytes() -> u64 {
    let mean = |file: FileKind| {
        let (least, beyond) = file.sizes();
        least.midpoint(beyond)
    };
    FileKind::ALL.into_iter().map(mean).sum::<u64>() * u64::from(FILES_MOST)
}

/// Space of a full blog in blocks of this size, with a reserve.
pub(super) fn full_bytes(block_bytes: u64) -> u64 {
    let rounding = (block_bytes.clamp(1, 1 << 24) / 2).saturating_mul(full_names());
    mean_bytes().saturating_add(rounding).saturating_add(SPREAD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::{SpaceLimit, full_bytes, full_names, mean_bytes};
    use treering_script::TargetFacts;

    #[test]
    fn space_limit_is_a_size_or_a_share() {
        assert_eq!(SpaceLimit::read("8G").unwrap(), SpaceLimit::Bytes(8 << 30));
        assert_eq!(SpaceLimit::read("50%").unwrap(), SpaceLimit::Share(0.5));
        for odd in ["", "0", "0%", "101%", "NaN%", "much", "-5G", "5.x%"] {
            let error = SpaceLimit::read(odd).unwrap_err();
            assert!(error.hint.is_some(), "{odd}");
        }
    }

    #[test]
    fn number_of_blogs_fits_the_space_limit() {
        assert_eq!((full_names(), mean_bytes()), (301, 5_990_400));
        assert!(full_bytes(4096) > mean_bytes() + 300 * 2048);
        let mut facts = TargetFacts { free_bytes: 1 << 30, ..TargetFacts::unknown() };
        let whole = SpaceLimit::Share(1.0).blogs(&facts);
        assert!((120..160).contains(&whole), "{whole}");
        assert_eq!(SpaceLimit::Share(0.5).blogs(&facts), whole / 2);
        facts.free_inodes = Some(6100);
        assert_eq!(SpaceLimit::Share(0.5).blogs(&facts), 10);
        assert!(SpaceLimit::Share(1.0).blogs(&TargetFacts::unknown()) > 1 << 39);
        assert_eq!(SpaceLimit::Bytes(1).blogs(&facts), 0);
    }
}
