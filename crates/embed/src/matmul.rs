//! Matrix multiplication in safe code.
//!
//! The right-hand matrix (weights) is laid out once in *panels*: the columns of two vector registers, one row of the
//! inner dimension after another. The left-hand rows (tokens) are laid out in *blocks* of as many rows as their sums
//! fit in the registers. A tile is one block × one panel, held in registers over the whole inner dimension; each sum
//! is computed in the order of the inner dimension, so that a row's result does not depend on the other rows.

use std::any::TypeId;

use pulp::{Arch, Scalar128b, Simd, WithSimd};

/// Runs on the widest vector instructions that this machine has.
pub(crate) fn on_best_simd<Op: WithSimd>(operation: Op) -> Op::Output {
    match Arch::new() {
        Arch::Scalar => operation.with_simd(Scalar128b),
        arch => arch.dispatch(operation),
    }
}

/// Registers per row of a panel.
pub(crate) const PANEL_REGISTERS: usize = 2;

/// Columns of a panel.
pub(crate) const fn panel_width<S: Simd>() -> usize {
    PANEL_REGISTERS * S::F32_LANES
}

/// Every panel width divides this; weight matrices and attention heads must be multiples of it.
pub(crate) const COLUMN_MULTIPLE: usize = 32;

/// Rows of a block. Their sums take 24 of 32 vector registers, or 12 of 16.
const fn block_rows<S: Simd>() -> usize {
    if S::REGISTER_COUNT >= 32 { 12 } else { 6 }
}

/// Numbers aligned to a cache line, so that no vector load touches two lines.
#[derive(Default)]
pub(crate) struct AlignedBuffer {
    numbers: Vec<f32>,
}

impl AlignedBuffer {
    /// Numbers in a cache line of 64 bytes.
    const CACHE_LINE_NUMBERS: usize = 16;

    /// The first `length` numbers, with unspecified content. The buffer grows as needed and never shrinks.
    pub(crate) fn slice_mut(&mut self, length: usize) -> &mut [f32] {
        if self.numbers.len() < length + Self::CACHE_LINE_NUMBERS {
            self.numbers.resize(length + Self::CACHE_LINE_NUMBERS, 0.0);
        }
        let start = self.start();
        &mut self.numbers[start..start + length]
    }

    /// The first `length` numbers, as written by way of [`AlignedBuffer::slice_mut`].
    pub(crate) fn get(&self, length: usize) -> &[f32] {
        let start = self.start();
        &self.numbers[start..start + length]
    }

    fn start(&self) -> usize {
        self.numbers
            .as_ptr()
            .align_offset(Self::CACHE_LINE_NUMBERS * size_of::<f32>())
            .min(Self::CACHE_LINE_NUMBERS)
    }
}

/// Rows of a product's operand: a range of columns of a row-major matrix.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The numbers of the matrix, from the first row of the operand on.
    pub(crate) numbers: &'a [f32],
    /// Numbers from one row of the matrix to the next.
    pub(crate) stride: usize,
    /// The first column of the range.
    pub(crate) first_column: usize,
    /// The width of the range: the inner dimension of the product.
    pub(crate) columns: usize,
    pub(crate) count: usize,
}

impl<'a> Rows<'a> {
    /// All columns of a matrix's rows.
    pub(crate) fn all_columns(numbers: &'a [f32], columns: usize) -> Self {
        Self { numbers, stride: columns, first_column: 0, columns, count: numbers.len() / columns }
    }

    #[inline(always)]
    fn row(&self, index: usize) -> &'a [f32] {
        &self.numbers[index * self.stride + self.first_column..][..self.columns]
    }

    /// Lays the rows out in blocks: of each block the first number of every row, then the second of every row, and so
    /// on.
    #[inline(always)]
    pub(crate) fn lay_out_blocks<S: Simd>(&self, blocks: &mut [f32]) {
        let height = block_rows::<S>();
        let blocks = &mut blocks[..self.count * self.columns];
        for (index, block) in blocks.chunks_mut(height * self.columns).enumerate() {
            let rows = height.min(self.count - index * height);
            for offset in 0..rows {
                let source = self.row(index * height + offset);
                for (column, number) in block.chunks_exact_mut(rows).zip(source) {
                    column[offset] = *number;
                }
            }
        }
    }

    /// Lays the rows out as columns of panels; missing columns of the last panel are zero.
    #[inline(always)]
    pub(crate) fn lay_out_as_columns<S: Simd>(&self, panels: &mut [f32]) {
        let width = panel_width::<S>();
        for (index, panel) in panels.chunks_exact_mut(width * self.columns).enumerate() {
            let columns = width.min(self.count - index * width);
            if columns < width {
                panel.fill(0.0);
            }
            for offset in 0..columns {
                let source = self.row(index * width + offset);
                for (row, number) in panel.chunks_exact_mut(width).zip(source) {
                    row[offset] = *number;
                }
            }
        }
    }

    /// Lays the rows out as the rows of panels.
    #[inline(always)]
    pub(crate) fn lay_out_as_rows<S: Simd>(&self, panels: &mut [f32]) {
        let width = panel_width::<S>();
        for (index, panel) in panels.chunks_exact_mut(width * self.count).enumerate() {
            for (offset, row) in panel.chunks_exact_mut(width).enumerate() {
                row.copy_from_slice(&self.row(offset)[index * width..(index + 1) * width]);
            }
        }
    }
}

/// Lays out weights in panels. `weights` is row-major with one row of `inner` numbers per *column* of the panels, as
/// linear layers are stored.
pub(crate) fn lay_out_panels(weights: &[f32], inner: usize) -> AlignedBuffer {
    struct PanelLayout<'a> {
        weights: &'a [f32],
        inner: usize,
        panels: &'a mut [f32],
    }
    impl WithSimd for PanelLayout<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let size = panel_width::<S>() * self.inner;
            for (rows, panel) in self.weights.chunks_exact(size).zip(self.panels.chunks_exact_mut(size)) {
                transpose(rows, self.inner, panel, panel_width::<S>());
            }
        }
    }
    let mut panels = AlignedBuffer::default();
    on_best_simd(PanelLayout { weights, inner, panels: panels.slice_mut(weights.len()) });
    panels
}

/// Transposes: `target[i][j] = source[j][i]`, in squares that fit into the nearest cache.
fn transpose(source: &[f32], source_columns: usize, target: &mut [f32], target_columns: usize) {
    const TRANSPOSE_SQUARE_SIDE: usize = 16;
    for first in (0..source_columns).step_by(TRANSPOSE_SQUARE_SIDE) {
        let last = (first + TRANSPOSE_SQUARE_SIDE).min(source_columns);
        for (column, row) in source.chunks_exact(source_columns).enumerate() {
            for index in first..last {
                target[index * target_columns + column] = row[index];
            }
        }
    }
}

/// A product of blocks and panels, `out = blocks × panels + bias`.
pub(crate) struct Product<'a> {
    /// The left-hand rows, laid out in blocks.
    pub(crate) blocks: &'a [f32],
    /// Number of left-hand rows.
    pub(crate) rows: usize,
    /// Length of a left-hand row and of a panel.
    pub(crate) inner: usize,
    /// The right-hand matrix, laid out in panels.
    pub(crate) panels: &'a [f32],
    /// Added to every row.
    pub(crate) bias: Option<&'a [f32]>,
    /// Output of the product, row-major.
    pub(crate) out: &'a mut [f32],
    /// Numbers from one row of the result to the next.
    pub(crate) out_stride: usize,
}

impl Product<'_> {
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(self, simd: S) {
        let (height, width) = (block_rows::<S>(), panel_width::<S>());
        for (index, panel) in self.panels.chunks_exact(width * self.inner).enumerate() {
            let (panel, _) = S::as_simd_f32s(panel);
            let column = index * width;
            let mut start = [simd.splat_f32s(0.0); PANEL_REGISTERS];
            if let Some(bias) = self.bias {
                start.copy_from_slice(S::as_simd_f32s(&bias[column..column + width]).0);
            }
            for (index, block) in self.blocks.chunks(height * self.inner).enumerate() {
                let first_row = index * height;
                let rows = height.min(self.rows - first_row);
                let out = &mut self.out[first_row * self.out_stride + column..];
                store_tile(simd, rows, block, panel, start, out, self.out_stride);
            }
        }
    }
}

/// Selects the tile of the right height. The heights are constants so that a tile's sums stay in registers.
#[inline(always)]
fn store_tile<S: Simd>(
    simd: S,
    rows: usize,
    block: &[f32],
    panel: &[S::f32s],
    start: [S::f32s; PANEL_REGISTERS],
    out: &mut [f32],
    out_stride: usize,
) {
    macro_rules! tile_of_height {
        ($($height:literal)*) => {
            match rows {
                $($height => multiply_tile::<S, $height>(simd, block, panel, start, out, out_stride),)*
                _ => {}
            }
        };
    }
    tile_of_height!(1 2 3 4 5 6 7 8 9 10 11 12);
}

#[inline(always)]
fn multiply_tile<S: Simd, const HEIGHT: usize>(
    simd: S,
    block: &[f32],
    panel: &[S::f32s],
    start: [S::f32s; PANEL_REGISTERS],
    out: &mut [f32],
    out_stride: usize,
) {
    let mut sums = [start; HEIGHT];
    let (lefts, _) = block.as_chunks::<HEIGHT>();
    let (rights, _) = panel.as_chunks::<PANEL_REGISTERS>();
    for (lefts, rights) in lefts.iter().zip(rights) {
        for (left, sums) in lefts.iter().zip(&mut sums) {
            let left = simd.splat_f32s(*left);
            for (right, sum) in rights.iter().zip(sums) {
                *sum = multiply_add(simd, left, *right, *sum);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let target = &mut out[row * out_stride..][..panel_width::<S>()];
        S::as_mut_simd_f32s(target).0.copy_from_slice(sums);
    }
}

/// `a · b + c`. Without vector instructions the fused form would be a library call, a hundred times slower.
#[inline(always)]
fn multiply_add<S: Simd>(simd: S, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
    if TypeId::of::<S>() == TypeId::of::<Scalar128b>() {
        simd.add_f32s(simd.mul_f32s(a, b), c)
    } else {
        simd.mul_add_e_f32s(a, b, c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies by the definition, in double precision.
    fn multiply_by_definition(rows: &[f32], weights: &[f32], inner: usize, bias: &[f32]) -> Vec<f32> {
        let dot = |row: &[f32], weights: &[f32]| -> f64 {
            row.iter().zip(weights).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        rows.chunks_exact(inner)
            .flat_map(|row| {
                weights.chunks_exact(inner).zip(bias).map(move |(column, bias)| (row, column, bias))
            })
            .map(|(row, column, bias)| (dot(row, column) + f64::from(*bias)) as f32)
            .collect()
    }

    struct Check {
        rows: usize,
        inner: usize,
    }

    impl WithSimd for Check {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            const COLUMNS: usize = 2 * COLUMN_MULTIPLE;
            let Self { rows: count, inner } = self;
            let number = |index: usize| ((index * 37 + 11) % 101) as f32 / 50.0 - 1.0;
            let rows: Vec<f32> = (0..count * inner).map(number).collect();
            let weights: Vec<f32> = (0..COLUMNS * inner).map(|index| number(index + 7)).collect();
            let bias: Vec<f32> = (0..COLUMNS).map(number).collect();
            let (mut blocks, mut panels) = (vec![0.0; rows.len()], vec![f32::NAN; weights.len()]);
            Rows::all_columns(&rows, inner).lay_out_blocks::<S>(&mut blocks);
            Rows::all_columns(&weights, inner).lay_out_as_columns::<S>(&mut panels);
            let mut out = vec![f32::NAN; count * COLUMNS];
            let product = Product {
                blocks: &blocks,
                rows: count,
                inner,
                panels: &panels,
                bias: Some(&bias),
                out: &mut out,
                out_stride: COLUMNS,
            };
            product.compute(simd);
            for (found, expected) in out.iter().zip(multiply_by_definition(&rows, &weights, inner, &bias)) {
                assert!((found - expected).abs() < 1e-4, "{count} × {inner}: {found} is not {expected}");
            }
        }
    }

    fn every_height(run: impl Fn(Check)) {
        for rows in 1..=30 {
            run(Check { rows, inner: 40 });
        }
        run(Check { rows: 5, inner: 1 });
    }

    #[test]
    fn products_are_right_without_vector_instructions() {
        every_height(|check| check.with_simd(Scalar128b));
        every_height(|check| check.with_simd(pulp::Scalar));
    }

    #[test]
    fn products_are_right_with_this_machines_instructions() {
        every_height(on_best_simd);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn products_are_right_with_each_width() {
        use pulp::x86::{V3, V4};
        if let Some(simd) = V3::try_new() {
            every_height(|check| Simd::vectorize(simd, check));
        }
        if let Some(simd) = V4::try_new() {
            every_height(|check| Simd::vectorize(simd, check));
        }
    }

    #[test]
    fn weights_laid_out_once_are_laid_out_alike() {
        struct AsColumns<'a>(&'a [f32], &'a mut [f32]);
        impl WithSimd for AsColumns<'_> {
            type Output = ();
            fn with_simd<S: Simd>(self, _: S) {
                Rows::all_columns(self.0, 40).lay_out_as_columns::<S>(self.1);
            }
        }
        let weights: Vec<f32> = (0..96 * 40).map(|index| index as f32).collect();
        let mut expected = vec![0.0; weights.len()];
        on_best_simd(AsColumns(&weights, &mut expected));
        assert_eq!(lay_out_panels(&weights, 40).get(weights.len()), expected);
    }

    #[test]
    fn aligned_numbers_begin_at_a_cache_line() {
        let mut aligned = AlignedBuffer::default();
        for length in [1, 100, 10_000] {
            assert_eq!(aligned.slice_mut(length).as_ptr() as usize % 64, 0);
            assert_eq!(aligned.get(length).len(), length);
        }
    }
}
