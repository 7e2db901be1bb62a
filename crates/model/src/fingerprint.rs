//! Short fingerprint, FNV-1a: not resistant to forgery. The algorithm never changes, because stored
//! values and random seeds depend on it.

/// Fingerprint in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    state: u64,
}

impl Fingerprint {
    /// Fingerprint of no bytes.
    pub const fn new() -> Self {
        Self { state: 0xcbf2_9ce4_8422_2325 }
    }

    /// Fingerprint of these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut print = Self::new();
        print.add(bytes);
        print
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.state = (self.state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Fingerprint as a number.
    pub const fn number(self) -> u64 {
        self.state
    }

    /// Fingerprint as 16 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:016x}", self.state)
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    /// Values from the page of the authors of FNV.
    #[test]
    fn fingerprints_are_those_of_fnv_1a() {
        assert_eq!(Fingerprint::from_bytes(b"").text(), "cbf29ce484222325");
        assert_eq!(Fingerprint::from_bytes(b"a").text(), "af63dc4c8601ec8c");
        assert_eq!(Fingerprint::from_bytes(b"foobar").text(), "85944171f73967e8");
        let mut print = Fingerprint::from_bytes(b"foo");
        print.add(b"bar");
        assert_eq!(print, Fingerprint::from_bytes(b"foobar"));
    }
}
