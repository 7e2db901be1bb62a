//! Hashes of verified blocks, as the original stores them: MD5, SHA-1, SHA-256 and SHA-3.
//!
//! MD5 and SHA-3 are the published ones. SHA-1 is stored in words with the lowest byte first. Of
//! SHA-256 only the lowest byte of each word is stored, before the rest of the buffer of its last
//! block, whose length has the lowest byte first.

use std::sync::LazyLock;

/// Blocks of 64 bytes, and the padding after them, which ends with the number of bits.
fn padded(bytes: &[u8], bits: [u8; 8]) -> (&[[u8; 64]], Vec<u8>) {
    let (blocks, rest) = bytes.as_chunks::<64>();
    let mut end = rest.to_vec();
    end.push(0x80);
    while end.len() % 64 != 56 {
        end.push(0);
    }
    end.extend(bits);
    (blocks, end)
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.len() as u64 * 8
}

const MD5_TURNS: [[u32; 4]; 4] =
    [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// Sine table of MD5.
static SINES: LazyLock<[u32; 64]> = LazyLock::new(sines);
static SHA256: LazyLock<Sha256> = LazyLock::new(Sha256::new);
static KECCAK: LazyLock<[u64; 24]> = LazyLock::new(round_constants);

fn sines() -> [u32; 64] {
    let mut sines = [0; 64];
    for (number, sine) in (1_u32..).zip(&mut sines) {
        let scaled = f64::from(number).sin().abs() * 4_294_967_296.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32")]
        let whole = scaled as u32;
        *sine = whole;
    }
    sines
}

/// MD5 digest.
pub(super) fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let (blocks, end) = padded(bytes, bits(bytes).to_le_bytes());
    for block in blocks.iter().chain(end.as_chunks().0) {
        let words = block.as_chunks::<4>().0;
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (mixed, word) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((b & d) | (c & !d), 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            let sum = a.wrapping_add(mixed).wrapping_add(SINES[step]);
            let sum = sum.wrapping_add(u32::from_le_bytes(words[word % 16]));
            a = d;
            d = c;
            c = b;
            b = b.wrapping_add(sum.rotate_left(MD5_TURNS[step / 16][step % 4]));
        }
        for (one, more) in state.iter_mut().zip([a, b, c, d]) {
            *one = one.wrapping_add(more);
        }
    }
    joined(state.map(u32::to_le_bytes))
}

fn joined<const WORDS: usize, const BYTES: usize>(words: [[u8; 4]; WORDS]) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
    bytes
}

/// SHA-1 digest.
pub(super) fn sha1(bytes: &[u8]) -> [u8; 20] {
    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let (blocks, end) = padded(bytes, bits(bytes).to_be_bytes());
    for block in blocks.iter().chain(end.as_chunks().0) {
        let mut words = [0_u32; 80];
        for (word, part) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*part);
        }
        for at in 16..80 {
            let mixed = words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16];
            words[at] = mixed.rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (step, word) in words.iter().enumerate() {
            let (mixed, constant) = match step / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let sum = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e);
            let next = sum.wrapping_add(constant).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (one, more) in state.iter_mut().zip([a, b, c, d, e]) {
            *one = one.wrapping_add(more);
        }
    }
    joined(state.map(u32::to_le_bytes))
}

/// First 32 fractional bits of the roots of the first primes.
fn root_of_primes<const COUNT: usize>(root: fn(f64) -> f64) -> [u32; COUNT] {
    let mut roots = [0; COUNT];
    let is_prime = |number: &u32| (2..*number).all(|other| !number.is_multiple_of(other));
    for (root_bits, prime) in roots.iter_mut().zip((2..).filter(is_prime)) {
        let scaled = root(f64::from(prime)).fract() * 4_294_967_296.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32")]
        let whole = scaled as u32;
        *root_bits = whole;
    }
    roots
}

/// Constants of SHA-256.
#[derive(Debug)]
struct Sha256 {
    begin: [u32; 8],
    rounds: [u32; 64],
}

impl Sha256 {
    fn new() -> Self {
        Self { begin: root_of_primes(f64::sqrt), rounds: root_of_primes(f64::cbrt) }
    }

    fn sum(&self, bytes: &[u8]) -> [u8; 64] {
        let mut state = self.begin;
        let (blocks, end) = padded(bytes, bits(bytes).to_le_bytes());
        let end = end.as_chunks::<64>().0;
        blocks.iter().chain(end).for_each(|block| self.mix(&mut state, block));
        let mut stored = end.last().copied().unwrap_or([0; 64]);
        stored.iter_mut().zip(state).for_each(|(to, word)| *to = word.to_le_bytes()[0]);
        stored
    }

    fn mix(&self, state: &mut [u32; 8], block: &[u8; 64]) {
        let mut words = [0_u32; 64];
        for (word, part) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*part);
        }
        for at in 16..64 {
            let (early, late) = (words[at - 15], words[at - 2]);
            let early = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
            let late = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
            let sum = words[at - 16].wrapping_add(early);
            words[at] = sum.wrapping_add(words[at - 7]).wrapping_add(late);
        }
        let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
        for (word, constant) in words.iter().zip(self.rounds) {
            let of_e = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let choice = (e & f) ^ (!e & g);
            let first = h.wrapping_add(of_e).wrapping_add(choice);
            let first = first.wrapping_add(constant).wrapping_add(*word);
            let of_a = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = of_a.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            (h, g, f, e) = (g, f, e, d.wrapping_add(first));
            (d, c, b, a) = (c, b, a, first.wrapping_add(second));
        }
        for (one, more) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
            *one = one.wrapping_add(more);
        }
    }
}

/// SHA-256 as the original stores it.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 64] {
    SHA256.sum(bytes)
}

/// SHA-512 field as the original stores it: the buffer of the hash, which it never finishes. The
/// buffer holds the first 128 bytes, overwritten by those after the last whole 128.
pub(super) fn sha512(bytes: &[u8]) -> [u8; 128] {
    let mut stored = [0; 128];
    let mut over = |bytes: &[u8]| {
        stored.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    };
    over(bytes);
    if bytes.len() >= 128 {
        over(bytes.as_chunks::<128>().1);
    }
    stored
}

/// Round constants of Keccak, from its register of eight bits.
fn round_constants() -> [u64; 24] {
    let mut register = 1_u8;
    let mut next = || {
        let bit = register & 1;
        let carry = register >> 7;
        register = (register << 1) ^ (carry * 0x71);
        u64::from(bit)
    };
    std::array::from_fn(|_| (0..7).fold(0, |sum, bit| sum | next() << ((1_u32 << bit) - 1)))
}

fn permute(state: &mut [u64; 25], constants: &[u64; 24]) {
    for constant in constants {
        let columns: [u64; 5] =
            std::array::from_fn(|x| (0..5).fold(0, |sum, y| sum ^ state[x + 5 * y]));
        for x in 0..5 {
            let mixed = columns[(x + 4) % 5] ^ columns[(x + 1) % 5].rotate_left(1);
            (0..5).for_each(|y| state[x + 5 * y] ^= mixed);
        }
        let (mut x, mut y, mut moved) = (1, 0, state[1]);
        for step in 0..24_u32 {
            (x, y) = (y, (2 * x + 3 * y) % 5);
            let turned = moved.rotate_left((step + 1) * (step + 2) / 2 % 64);
            moved = std::mem::replace(&mut state[x + 5 * y], turned);
        }
        for row in state.as_chunks_mut::<5>().0 {
            let before = *row;
            for x in 0..5 {
                row[x] = before[x] ^ (!before[(x + 1) % 5] & before[(x + 2) % 5]);
            }
        }
        state[0] ^= constant;
    }
}

/// SHA-3 with a digest of this many bytes.
pub(super) fn sha3(bytes: &[u8], digest: usize) -> Vec<u8> {
    let rate = 200 - 2 * digest;
    let mut chunks = bytes.chunks_exact(rate);
    let mut state = [0_u64; 25];
    let mut take = |block: &[u8]| {
        for (word, part) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *word ^= u64::from_le_bytes(*part);
        }
        permute(&mut state, &KECCAK);
    };
    chunks.by_ref().for_each(&mut take);
    let mut last = chunks.remainder().to_vec();
    last.push(0x06);
    last.resize(rate, 0);
    last[rate - 1] |= 0x80;
    take(&last);
    state.map(u64::to_le_bytes).as_flattened()[..digest].to_vec()
}

#[cfg(test)]
mod tests {
    use super::{Sha256, md5, sha1, sha3, sha512};

    fn hex(bytes: &[u8]) -> String {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        digits.concat()
    }

    #[test]
    fn hashes_equal_published_values() {
        assert_eq!(hex(&md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex(&md5(&[b'a'; 119])), hex(&md5("a".repeat(119).as_bytes())));
        assert_eq!(hex(&md5(b"message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
        // a9993e36 4706816a ..., the lowest byte of each word first.
        assert_eq!(hex(&sha1(b"abc"))[..16], *"363e99a96a810647");
        assert_eq!(
            hex(&sha3(b"abc", 32)),
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
        );
        assert_eq!(hex(&sha3(b"", 28))[..8], *"6b4e0342");
    }

    #[test]
    fn sha_256_constants_equal_published_ones() {
        let Sha256 { begin, rounds } = Sha256::new();
        assert_eq!((begin[0], begin[7]), (0x6a09_e667, 0x5be0_cd19));
        assert_eq!((rounds[0], rounds[63]), (0x428a_2f98, 0xc671_78f2));
    }

    #[test]
    fn sha_512_stores_the_unfinished_buffer() {
        let bytes: Vec<u8> = (0..130).collect();
        let stored = sha512(&bytes);
        assert_eq!((stored[0], stored[1], stored[2], stored[127]), (128, 129, 2, 127));
    }
}
