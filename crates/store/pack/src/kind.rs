//! Kinds of names, with their placeholders in a pack.

/// Kind of a name that is left out of packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// Host name.
    Host,
    /// User name.
    User,
    /// Path of a file or directory.
    Path,
    /// Identifier of one instance: a filesystem, a partition, a disk, an installed system.
    Serial,
    /// Network address: IP or Ethernet.
    Address,
    /// Mail address, or a user at a host.
    Mail,
}

impl NameKind {
    /// Name of the kind in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host name",
            Self::User => "user name",
            Self::Path => "path",
            Self::Serial => "serial number",
            Self::Address => "network address",
            Self::Mail => "mail address",
        }
    }

    /// All kinds.
    pub(crate) const ALL: [Self; 6] =
        [Self::Host, Self::User, Self::Path, Self::Serial, Self::Address, Self::Mail];

    /// Placeholder for a name of this kind, followed by a number.
    pub(crate) const fn stand_in(self) -> &'static str {
        match self {
            Self::Host => "host-",
            Self::User => "user-",
            Self::Path => "/path-",
            Self::Serial => "serial-",
            Self::Address => "address-",
            Self::Mail => "mail-",
        }
    }
}
