//! Encodings of numbers in files.

/// Number of weights that share one scale, as in the format Q4_0.
pub(crate) const BLOCK_LENGTH: usize = 32;
/// Bytes of a block: an f16 scale, and 16 bytes of two numbers each.
pub(crate) const BLOCK_BYTES: usize = 2 + BLOCK_LENGTH / 2;
/// Subtracted from four bits to get a number from −8 to 7.
pub(crate) const NIBBLE_ZERO: i32 = 8;

/// The encoding of numbers, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Single,
    /// 16 bits of IEEE 754.
    Half,
    /// The upper half of 32 bits.
    Brain,
    /// Four bits each, with a common scale for [`BLOCK_LENGTH`] of them; low halves of the bytes first.
    Blocks,
}

impl Number {
    /// Bytes of `count` numbers, which for blocks must be a multiple of [`BLOCK_LENGTH`].
    pub(crate) fn bytes(self, count: usize) -> usize {
        match self {
            Self::Single => count * 4,
            Self::Half | Self::Brain => count * 2,
            Self::Blocks => count / BLOCK_LENGTH * BLOCK_BYTES,
        }
    }

    pub(crate) fn decode(self, bytes: &[u8], numbers: &mut [f32]) {
        match self {
            Self::Single => {
                for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *number = f32::from_le_bytes(*bytes);
                }
            }
            Self::Half => decode_pairs(bytes, numbers, from_half),
            Self::Brain => decode_pairs(bytes, numbers, |bits| f32::from_bits(u32::from(bits) << 16)),
            Self::Blocks => {
                let blocks = bytes.as_chunks::<BLOCK_BYTES>().0;
                for (numbers, block) in numbers.as_chunks_mut::<BLOCK_LENGTH>().0.iter_mut().zip(blocks) {
                    decode_block(block, numbers);
                }
            }
        }
    }
}

fn decode_pairs(bytes: &[u8], numbers: &mut [f32], decode: impl Fn(u16) -> f32) {
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *number = decode(u16::from_le_bytes(*bytes));
    }
}

fn decode_block(block: &[u8; BLOCK_BYTES], numbers: &mut [f32; BLOCK_LENGTH]) {
    let scale = block_scale(block);
    let (low, high) = numbers.split_at_mut(BLOCK_LENGTH / 2);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(&block[2..]) {
        *low = (i32::from(byte & 15) - NIBBLE_ZERO) as f32 * scale;
        *high = (i32::from(byte >> 4) - NIBBLE_ZERO) as f32 * scale;
    }
}

/// The factor of a block's numbers.
pub(crate) fn block_scale(block: &[u8; BLOCK_BYTES]) -> f32 {
    from_half(u16::from_le_bytes([block[0], block[1]]))
}

/// Converts a half-precision number (1 sign bit, 5 exponent bits, 10 fraction bits).
fn from_half(bits: u16) -> f32 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2.0_f32.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, BLOCK_LENGTH, Number, from_half};

    #[test]
    fn half_numbers_are_read() {
        for (bits, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x8000, 0.0),
        ] {
            assert_eq!(from_half(bits), expected, "{bits:#x}");
        }
        assert!(from_half(0x7c00).is_infinite() && from_half(0x7e00).is_nan());
        let mut numbers = [0.0; 2];
        Number::Brain.decode(&[0x80, 0x3f, 0x20, 0xc1], &mut numbers);
        assert_eq!(numbers, [1.0, -10.0]);
    }

    #[test]
    fn blocks_hold_low_halves_first() {
        let mut bytes = [0_u8; BLOCK_BYTES];
        bytes[..2].copy_from_slice(&0x4000_u16.to_le_bytes());
        bytes[2..].fill(0x88);
        (bytes[2], bytes[17]) = (0xf0, 0x19);
        let mut numbers = [1.0; BLOCK_LENGTH];
        Number::Blocks.decode(&bytes, &mut numbers);
        assert_eq!((numbers[0], numbers[16]), (-16.0, 14.0));
        assert_eq!((numbers[15], numbers[31]), (2.0, -14.0));
        assert!(numbers[1..15].iter().chain(&numbers[17..31]).all(|number| *number == 0.0));
        assert_eq!(Number::Blocks.bytes(2 * BLOCK_LENGTH), 2 * BLOCK_BYTES);
    }
}
