use std::ops::Range;

use pulp::Simd;

use crate::elementwise::softmax;
use crate::matmul::{AlignedBuffer, Product, Rows, panel_width};
use crate::weights::Sizes;

/// Self-attention for some of the rows: `softmax(Q·Kᵀ / √d) · V` per text and head (Vaswani et al. 2017).
pub(crate) struct Attention<'a> {
    pub(crate) sizes: Sizes,
    /// Query, key and value side by side, for every row of the batch.
    pub(crate) projected: &'a [f32],
    /// The rows of the batch to compute.
    pub(crate) rows: Range<usize>,
    pub(crate) scratch: &'a mut AttentionScratch,
}

/// Memory of one thread's attention.
#[derive(Default)]
pub(crate) struct AttentionScratch {
    keys: AlignedBuffer,
    values: AlignedBuffer,
    blocks: AlignedBuffer,
    scores: AlignedBuffer,
}

impl Attention<'_> {
    /// Writes the heads' results side by side into `context`, a row of `hidden` numbers for each of `self.rows`.
    #[inline(always)]
    pub(crate) fn compute<S: Simd>(self, simd: S, texts: &[Range<usize>], context: &mut [f32]) {
        for text in texts {
            let asking = text.start.max(self.rows.start)..text.end.min(self.rows.end);
            if asking.is_empty() {
                continue;
            }
            let hidden = self.sizes.hidden;
            let context = &mut context[(asking.start - self.rows.start) * hidden..];
            for head in 0..self.sizes.heads {
                self.scratch.compute_head(simd, self.sizes, self.projected, text, &asking, head, context);
            }
        }
    }
}

impl AttentionScratch {
    /// One head of one text, for the query rows `asking` of the batch.
    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "a step of one loop; a struct would only rename its variables"
    )]
    fn compute_head<S: Simd>(
        &mut self,
        simd: S,
        sizes: Sizes,
        projected: &[f32],
        text: &Range<usize>,
        asking: &Range<usize>,
        head: usize,
        context: &mut [f32],
    ) {
        let hidden = sizes.hidden;
        let size = hidden / sizes.heads;
        let stride = 3 * hidden;
        let tokens = text.len();
        let padded = tokens.next_multiple_of(panel_width::<S>());
        let rows_of = |range: &Range<usize>, part: usize| Rows {
            numbers: &projected[range.start * stride..range.end * stride],
            stride,
            first_column: part * hidden + head * size,
            columns: size,
            count: range.len(),
        };
        let queries = rows_of(asking, 0);
        let blocks = self.blocks.slice_mut(asking.len() * size.max(tokens));
        queries.lay_out_blocks::<S>(blocks);
        let keys = self.keys.slice_mut(padded * size);
        rows_of(text, 1).lay_out_as_columns::<S>(keys);
        let scores = self.scores.slice_mut(asking.len() * padded);
        let product = Product {
            blocks: &blocks[..asking.len() * size],
            rows: asking.len(),
            inner: size,
            panels: keys,
            bias: None,
            out: scores,
            out_stride: padded,
        };
        product.compute(simd);
        for row in scores.chunks_exact_mut(padded) {
            softmax(&mut row[..tokens], 1.0 / (size as f32).sqrt());
        }
        let shares =
            Rows { numbers: scores, stride: padded, first_column: 0, columns: tokens, count: asking.len() };
        shares.lay_out_blocks::<S>(blocks);
        let values = self.values.slice_mut(tokens * size);
        rows_of(text, 2).lay_out_as_rows::<S>(values);
        let product = Product {
            blocks: &blocks[..asking.len() * tokens],
            rows: asking.len(),
            inner: tokens,
            panels: values,
            bias: None,
            out: &mut context[head * size..],
            out_stride: hidden,
        };
        product.compute(simd);
    }
}
