//! Kinds of names, with the words that stand for them in a pack.

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameKind {
    /// A machine.
    Host,
    /// A person.
    User,
    /// A file or directory.
    Path,
    /// One copy of something: a filesystem, a partition, a disk, an installed system.
    Serial,
    /// A place in a network: an address of IP or of Ethernet.
    Address,
    /// A mailbox, or a person at a machine.
    Mail,
}

impl NameKind {
    /// What it is called in tables.
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

    /// Every kind.
    pub(crate) const ALL: [Self; 6] =
        [Self::Host, Self::User, Self::Path, Self::Serial, Self::Address, Self::Mail];

    /// What stands for such a name, with a number behind it.
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
