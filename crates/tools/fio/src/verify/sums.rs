//! Checksums of verified blocks: cyclic codes, and 32-bit xxHash.
//!
//! The cyclic codes are the original's: none is complemented at the end, and only CRC-32C begins
//! with ones.

/// Table of a code that takes the lowest bit first.
const fn lowest_first(polynomial: u64) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u64, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ polynomial } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

/// Table of a code of this many bits that takes the highest bit first.
const fn highest_first(polynomial: u32, bits: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte << (bits - 8), 0);
        while bit < 8 {
            let top = sum >> (bits - 1) & 1;
            sum <<= 1;
            if top == 1 {
                sum ^= polynomial;
            }
            bit += 1;
        }
        table[byte as usize] = sum;
        byte += 1;
    }
    table
}

/// Polynomials of Castagnoli, of ARC and Jones, and of Ethernet.
static CRC32C: [u64; 256] = lowest_first(0x82f6_3b78);
static CRC16: [u64; 256] = lowest_first(0xa001);
static CRC64: [u64; 256] = lowest_first(0x95ac_9329_ac4b_c9b5);
static CRC32: [u32; 256] = highest_first(0x04c1_1db7, 32);
/// CRC-7 of multimedia cards, in the upper seven of eight bits.
static CRC7: [u32; 256] = highest_first(0x12, 8);

fn low(table: &[u64; 256], begin: u64, bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(begin, |sum, byte| table[usize::from(sum.to_le_bytes()[0] ^ byte)] ^ (sum >> 8))
}

/// CRC-32C checksum.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    lowest_word(low(&CRC32C, u64::from(u32::MAX), bytes))
}

/// CRC-32 with the highest bit first.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |sum: u32, byte| CRC32[usize::from(sum.to_be_bytes()[0] ^ byte)] ^ (sum << 8))
}

/// CRC-16 checksum.
pub(super) fn crc16(bytes: &[u8]) -> u16 {
    let [first, second, ..] = low(&CRC16, 0, bytes).to_le_bytes();
    u16::from_le_bytes([first, second])
}

/// CRC-64 checksum.
pub(super) fn crc64(bytes: &[u8]) -> u64 {
    low(&CRC64, 0, bytes)
}

/// CRC-7 checksum.
pub(super) fn crc7(bytes: &[u8]) -> u8 {
    let sum = bytes.iter().fold(0_u8, |sum, byte| CRC7[usize::from(sum ^ byte)].to_le_bytes()[0]);
    sum >> 1
}

fn lowest_word(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

const PRIMES: [u32; 5] = [0x9e37_79b1, 0x85eb_ca77, 0xc2b2_ae3d, 0x27d4_eb2f, 0x1656_67b1];
/// Seed that the original uses for xxHash.
const SEED: u32 = 1;

/// XXH32 hash.
pub(super) fn xxhash(bytes: &[u8]) -> u32 {
    let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let (stripes, rest) = bytes.as_chunks::<16>();
    let mut sum = if stripes.is_empty() {
        SEED.wrapping_add(PRIMES[4])
    } else {
        let mut lanes = [
            SEED.wrapping_add(PRIMES[0]).wrapping_add(PRIMES[1]),
            SEED.wrapping_add(PRIMES[1]),
            SEED,
            SEED.wrapping_sub(PRIMES[0]),
        ];
        for stripe in stripes {
            for (lane, part) in lanes.iter_mut().zip(stripe.as_chunks::<4>().0) {
                let mixed = lane.wrapping_add(word(part).wrapping_mul(PRIMES[1]));
                *lane = mixed.rotate_left(13).wrapping_mul(PRIMES[0]);
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
        turned.fold(0, u32::wrapping_add)
    };
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
    let length = bytes.len() as u32;
    sum = sum.wrapping_add(length);
    let (words, rest) = rest.as_chunks::<4>();
    for part in words {
        let mixed = sum.wrapping_add(word(part).wrapping_mul(PRIMES[2]));
        sum = mixed.rotate_left(17).wrapping_mul(PRIMES[3]);
    }
    for byte in rest {
        let mixed = sum.wrapping_add(u32::from(*byte).wrapping_mul(PRIMES[4]));
        sum = mixed.rotate_left(11).wrapping_mul(PRIMES[0]);
    }
    sum = (sum ^ (sum >> 15)).wrapping_mul(PRIMES[1]);
    sum = (sum ^ (sum >> 13)).wrapping_mul(PRIMES[2]);
    sum ^ (sum >> 16)
}

#[cfg(test)]
mod tests {
    use super::{crc7, crc16, crc32, crc32c, crc64, xxhash};

    #[test]
    fn checksums_equal_published_values() {
        let digits = b"123456789";
        assert_eq!(!crc32c(digits), 0xe306_9283);
        assert_eq!(crc16(digits), 0xbb3d);
        assert_eq!(crc64(digits), 0xe9c6_d914_c4b8_d9ca);
        assert_eq!(crc7(digits), 0x75);
        // As cksum says without the length.
        assert_eq!(crc32(digits), 0x89a1_897f);
        assert_eq!(xxhash(b""), 0x0b2c_b792);
    }
}
