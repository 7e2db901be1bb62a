//! The workloads: one folder each, one line each in [`ALL`].

pub mod age;
mod ahead;
pub mod blogbench;
pub mod bonnie;
mod c_random;
mod cautions;
pub mod command;
pub mod compilebench;
pub mod dbench;
pub mod ffsb;
pub mod filebench;
pub mod fio;
pub mod fs_mark;
mod imitation;
pub mod io500;
pub mod ior;
pub mod mdtest;
mod occupied;
mod outline;
mod parted;
mod rank_sums;
mod ranks;
mod span;
mod sync_all;

use treering_script::Workload;

/// Every workload, in the order in which they are listed.
pub const ALL: &[&dyn Workload] = &[
    &compilebench::Compilebench,
    &fs_mark::FsMark,
    &ffsb::Ffsb,
    &fio::Fio,
    &filebench::Filebench,
    &bonnie::Bonnie,
    &dbench::Dbench,
    &blogbench::Blogbench,
    &mdtest::Mdtest,
    &ior::Ior,
    &io500::Io500,
    &age::Age,
    &command::AnyCommand,
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::ALL;

    #[test]
    fn spellings_are_unique_and_documented() {
        for manifest in ALL.iter().map(|workload| workload.manifest()) {
            for specs in [manifest.classic, manifest.native] {
                let mut names = HashSet::new();
                let mut shorts = HashSet::new();
                for spec in specs {
                    let about = format!("{} --{}", manifest.name, spec.name);
                    assert!(names.insert(spec.name), "{about}");
                    assert!(spec.short.is_none_or(|short| shorts.insert(short)), "{about}");
                    assert!(spec.doc.ends_with('.'), "{about}");
                }
            }
        }
    }
}
