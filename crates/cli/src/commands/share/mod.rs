//! Exchange of trials: `treering store pack` writes them into one file, `treering store merge` adds
//! them to a store. The crate `pack` defines the file format.

mod merge;
mod pack;
mod repeat;

use treering_pack::{CanonicalTrial, NameKind};

pub(super) use self::merge::run as merge;
pub(super) use self::pack::run as pack;
pub(super) use self::repeat::run as repeat;
use crate::places;

/// Kinds of artifacts that are packed only on request: traces are by far the largest, and the
/// template of a filesystem has identifiers of it.
const ON_REQUEST: &[&str] = &[treering_trace::ARTIFACT_KIND, treering_conduct::TEMPLATE_ARTIFACT];

/// Environment variables that contain the user's name, or end with it.
const USER_VARIABLES: [&str; 4] = ["USER", "LOGNAME", "SUDO_USER", "HOME"];

/// Names that identify this machine and its user.
fn known_names() -> Vec<(NameKind, String)> {
    let host = places::machine().name;
    let short = host.split('.').next().unwrap_or_default().to_owned();
    let variables = places::environment().into_iter();
    let of_user = variables.filter(|(name, _)| USER_VARIABLES.contains(&&**name));
    let user = |(_, value): (String, String)| {
        let last = value.rsplit('/').next().unwrap_or_default();
        (NameKind::User, last.to_owned())
    };
    let hosts = [host, short].map(|name| (NameKind::Host, name));
    hosts.into_iter().chain(of_user.map(user)).collect()
}

/// Creates the canonical form of a trial, for matching a trial of this store with one of a pack.
fn canon() -> CanonicalTrial {
    CanonicalTrial::new(known_names(), ON_REQUEST)
}
