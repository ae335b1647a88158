//! Weights of four bits that are unpacked one panel at a time.
//!
//! A panel of f32 is unpacked into the nearest cache and used for all rows of the batch. So a pass reads a sixth of
//! the memory that panels of f32 would take, which for a short text is most of the work.

use pulp::{Simd, WithSimd};

use crate::matmul::{AlignedBuffer, PANEL_REGISTERS, on_best_simd, panel_width};
use crate::number::{BLOCK_BYTES, BLOCK_LENGTH, NIBBLE_ZERO, block_scale};

/// Numbers packed into a `u32`.
const WORD_LENGTH: usize = 8;
/// The bits of 2²³ as f32. A small integer written into its lowest bits is added to it.
const TWO_TO_23: u32 = 0x4b00_0000;

/// A weight matrix in four bits, laid out for [`PackedPanels::unpack`].
pub(crate) struct PackedPanels {
    /// For each panel and every [`WORD_LENGTH`] rows: a `u32` for each column, the first row in its lowest bits.
    words: Vec<u32>,
    /// For each panel and every [`BLOCK_LENGTH`] rows: the scales of the columns.
    scales: Vec<f32>,
    inner: usize,
}

impl PackedPanels {
    /// Packs the blocks of a row-major matrix with one row of `inner` numbers per column of the panels. The number of
    /// rows must be a multiple of [`crate::matmul::COLUMN_MULTIPLE`].
    pub(crate) fn new(blocks: &[u8], inner: usize) -> Self {
        let blocks = blocks.as_chunks::<BLOCK_BYTES>().0;
        let (words, scales) = (vec![0; blocks.len() * BLOCK_LENGTH / WORD_LENGTH], vec![0.0; blocks.len()]);
        let mut packed = Self { words, scales, inner };
        on_best_simd(PackedPanelLayout { blocks, packed: &mut packed });
        packed
    }

    pub(crate) fn panel_count<S: Simd>(&self) -> usize {
        self.scales.len() / (self.inner / BLOCK_LENGTH * panel_width::<S>())
    }

    /// Unpacks a panel into the numbers that [`crate::matmul::Product`] expects.
    #[inline(always)]
    pub(crate) fn unpack<'a, S: Simd>(
        &self,
        simd: S,
        index: usize,
        panel: &'a mut AlignedBuffer,
    ) -> &'a [f32] {
        let size = panel_width::<S>() * self.inner;
        let words = S::as_simd_u32s(&self.words[index * size / WORD_LENGTH..][..size / WORD_LENGTH]).0;
        let scales = S::as_simd_f32s(&self.scales[index * size / BLOCK_LENGTH..][..size / BLOCK_LENGTH]).0;
        let panel = panel.slice_mut(size);
        let rows = S::as_mut_simd_f32s(panel).0.as_chunks_mut::<PANEL_REGISTERS>().0;
        let words = words.as_chunks::<PANEL_REGISTERS>().0.as_chunks::<{ BLOCK_LENGTH / WORD_LENGTH }>().0;
        let scales = scales.as_chunks::<PANEL_REGISTERS>().0;
        let (nibble, exponent) = (simd.splat_u32s(15), simd.splat_u32s(TWO_TO_23));
        let zero = simd.splat_f32s(f32::from_bits(TWO_TO_23) + NIBBLE_ZERO as f32);
        for ((rows, words), scales) in
            rows.as_chunks_mut::<BLOCK_LENGTH>().0.iter_mut().zip(words).zip(scales)
        {
            for (rows, words) in rows.as_chunks_mut::<WORD_LENGTH>().0.iter_mut().zip(words) {
                for (place, row) in rows.iter_mut().enumerate() {
                    let shift = simd.splat_u32s(4 * place as u32);
                    for ((number, word), scale) in row.iter_mut().zip(words).zip(scales) {
                        let bits = simd.and_u32s(simd.wrapping_dyn_shr_u32s(*word, shift), nibble);
                        let shifted = simd.transmute_f32s_u32s(simd.or_u32s(bits, exponent));
                        *number = simd.mul_f32s(simd.sub_f32s(shifted, zero), *scale);
                    }
                }
            }
        }
        panel
    }
}

struct PackedPanelLayout<'a> {
    blocks: &'a [[u8; BLOCK_BYTES]],
    packed: &'a mut PackedPanels,
}

impl WithSimd for PackedPanelLayout<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = panel_width::<S>();
        let blocks_per_row = self.packed.inner / BLOCK_LENGTH;
        for (column, row) in self.blocks.chunks_exact(blocks_per_row).enumerate() {
            let (panel, offset) = (column / width, column % width);
            for (index, block) in row.iter().enumerate() {
                let first = panel * blocks_per_row + index;
                self.packed.scales[first * width + offset] = block_scale(block);
                let (low, high) = block[2..].split_at(BLOCK_LENGTH / 4);
                let words =
                    [pack_halves(low, 0), pack_halves(high, 0), pack_halves(low, 4), pack_halves(high, 4)];
                for (at, word) in words.into_iter().enumerate() {
                    self.packed.words[(first * words.len() + at) * width + offset] = word;
                }
            }
        }
    }
}

/// Packs one half of each of eight bytes into a `u32`, the first byte lowest.
fn pack_halves(bytes: &[u8], shift: u32) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 4 | u32::from(byte >> shift & 15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::{COLUMN_MULTIPLE, lay_out_panels};
    use crate::number::Number;

    struct Unpack<'a>(&'a PackedPanels, &'a mut Vec<f32>);

    impl WithSimd for Unpack<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            let mut panel = AlignedBuffer::default();
            for index in 0..self.0.panel_count::<S>() {
                self.1.extend(self.0.unpack(simd, index, &mut panel).iter());
            }
        }
    }

    #[test]
    fn a_packed_panel_is_the_panel_of_the_decoded_numbers() {
        let (inner, columns) = (3 * BLOCK_LENGTH, 2 * COLUMN_MULTIPLE);
        let blocks: Vec<u8> = (0..inner * columns / BLOCK_LENGTH)
            .flat_map(|block| {
                let scale = (0x2c00 + (block * 37 % 512) as u16).to_le_bytes();
                let nibbles = (0..BLOCK_LENGTH / 2).map(move |at| (block * 31 + at * 89 + 5) as u8);
                scale.into_iter().chain(nibbles)
            })
            .collect();
        let mut numbers = vec![0.0; inner * columns];
        Number::Blocks.decode(&blocks, &mut numbers);
        let mut found = Vec::new();
        on_best_simd(Unpack(&PackedPanels::new(&blocks, inner), &mut found));
        assert_eq!(found, lay_out_panels(&numbers, inner).get(numbers.len()));
    }
}
