//! Built-in personalities: the files of `examples/filebench`, linked from `shared` in the crate
//! because a package cannot include files outside its folder.

macro_rules! personality {
    ($name:literal) => {
        ($name, include_str!(concat!("../personalities/", $name, ".f")))
    };
}

/// Names and texts of the files.
static ALL: [(&str, &str); 6] = [
    personality!("webproxy"),
    personality!("varmail"),
    personality!("fileserver"),
    personality!("webserver"),
    personality!("videoserver"),
    personality!("oltp"),
];

/// Text of a personality.
pub(super) fn find(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Names of the shipped personalities.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::show_workload;
    use super::{ALL, find, names};

    #[test]
    fn every_personality_can_be_planned() {
        for (name, text) in ALL {
            let (_, warnings) = show_workload(name, text.as_bytes()).unwrap();
            assert!(warnings.iter().all(|warning| warning.contains("useism")), "{warnings:?}");
            assert!(text.contains("\nrun "), "{name}");
        }
        assert_eq!(names().count(), ALL.len());
        assert!(find("webproxy").is_some() && find("webproxy.f").is_none());
    }
}
