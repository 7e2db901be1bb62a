//! Kinds of names, with their placeholders in a pack.

treering_model::named_enum! {
    /// Kind of a name that is left out of packs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum NameKind {
        /// Host name.
        Host = "host name",
        /// User name.
        User = "user name",
        /// Path of a file or directory.
        Path = "path",
        /// Identifier of one instance: a filesystem, a partition, a disk, an installed system.
        Serial = "serial number",
        /// Network address: IP or Ethernet.
        Address = "network address",
        /// Mail address, or a user at a host.
        Mail = "mail address",
    }
}

impl NameKind {
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
