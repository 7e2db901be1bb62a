//! Random draws: numbers, sizes, blogs.

use treering_script::Random;

use super::counts::Counter;

/// Maximum number of files of each kind in a blog.
pub(super) const FILES_MOST: u32 = 100;

treering_model::named_enum! {
    /// Kinds of files in a blog.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum FileKind {
        Article = "article",
        Picture = "picture",
        Comment = "comment",
    }
}

impl FileKind {
    /// Index in tables.
    pub(super) const fn place(self) -> usize {
        self as usize
    }

    /// Parts of the file name before and after the number.
    pub(super) const fn affixes(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Article => (b"article-", b".xml"),
            Self::Picture => (b"picture-", b".jpg"),
            Self::Comment => (b"comment-", b".xml"),
        }
    }

    /// Half-open range of sizes in bytes.
    pub(super) const fn sizes(self) -> (u64, u64) {
        match self {
            Self::Article => (1024, 32_768),
            Self::Picture => (8192, 65_536),
            Self::Comment => (2048, 10_240),
        }
    }

    pub(super) const fn read(self) -> Counter {
        match self {
            Self::Article => Counter::ArticlesRead,
            Self::Picture => Counter::PicturesRead,
            Self::Comment => Counter::CommentsRead,
        }
    }

    pub(super) const fn written(self) -> Counter {
        match self {
            Self::Article => Counter::ArticlesWritten,
            Self::Picture => Counter::PicturesWritten,
            Self::Comment => Counter::CommentsWritten,
        }
    }
}

/// Draws the size of a new file, in bytes.
pub(super) fn size(random: &mut Random, file: FileKind) -> u64 {
    let (least, beyond) = file.sizes();
    least + random.below(beyond - least)
}

/// Draws the number of a file, or of files to make: 1 to 100.
pub(super) fn number(random: &mut Random) -> u32 {
    u32::try_from(random.below(FILES_MOST.into())).unwrap_or(0) + 1
}

/// Draws true or false, each with probability one half.
pub(super) fn coin(random: &mut Random) -> bool {
    random.below(2) == 0
}

/// Picks a random finished blog: below min(begun - 1, standing); 0 if there is none.
pub(super) fn blog(random: &mut Random, begun: u64, standing: u64) -> u64 {
    random.below(begun.saturating_sub(1).min(standing))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{FileKind, blog, number, size};
    use treering_script::Random;

    #[test]
    fn draws_have_the_bounds_of_the_original() {
        let mut random = Random::new(1);
        for file in FileKind::ALL {
            let sizes: BTreeSet<u64> = (0..200_000).map(|_| size(&mut random, file)).collect();
            let (least, beyond) = file.sizes();
            let (first, last) = (*sizes.first().unwrap(), *sizes.last().unwrap());
            assert!(first >= least && first < least + 50, "{first}");
            assert!(last < beyond && last > beyond - 50, "{last}");
        }
        let numbers: BTreeSet<u32> = (0..5000).map(|_| number(&mut random)).collect();
        assert_eq!((numbers.len(), numbers.first(), numbers.last()), (100, Some(&1), Some(&100)));
    }

    #[test]
    fn the_newest_blog_is_never_drawn() {
        let mut random = Random::new(2);
        let mut drawn = |begun, standing| -> BTreeSet<u64> {
            (0..500).map(|_| blog(&mut random, begun, standing)).collect()
        };
        assert_eq!(drawn(0, 9), BTreeSet::from([0]));
        assert_eq!(drawn(1, 9), BTreeSet::from([0]));
        assert_eq!(drawn(5, 9), BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(drawn(50, 3), BTreeSet::from([0, 1, 2]));
    }
}
