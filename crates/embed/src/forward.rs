use std::ops::Range;
use std::thread;

use pulp::{Simd, WithSimd};

use crate::ModelError;
use crate::attention::{Attention, AttentionScratch};
use crate::elementwise::add_and_normalize;
use crate::matmul::{AlignedBuffer, Product, Rows, on_best_simd, panel_width};
use crate::weights::{Dense, Layer, Matrix, Sizes, Weights};

/// The texts of one pass, concatenated, with one row per token.
pub(crate) struct Batch {
    /// Piece ids of all texts.
    pub(crate) ids: Vec<u32>,
    /// Rows of each text.
    pub(crate) texts: Vec<Range<usize>>,
}

/// Buffers of a pass, reused by the next one.
#[derive(Default)]
pub(crate) struct Workspace {
    /// Token vectors between layers.
    hidden: AlignedBuffer,
    /// Query, key and value of every token.
    projected: AlignedBuffer,
    shares: Vec<Scratch>,
}

/// Buffers of one thread for its share of the rows.
#[derive(Default)]
struct Scratch {
    operands: ProductOperands,
    context: AlignedBuffer,
    intermediate: AlignedBuffer,
    update: AlignedBuffer,
    attention: AttentionScratch,
}

/// The two operands of a product, laid out for it.
#[derive(Default)]
struct ProductOperands {
    blocks: AlignedBuffer,
    /// The panel of packed weights that is in use.
    panel: AlignedBuffer,
}

/// Minimum rows that are worth a thread: starting twelve threads per pass costs a third of a millisecond.
const MIN_ROWS_PER_THREAD: usize = 16;

/// Runs `batch` through all layers and returns the last layer's output, one row per token. Each text attends only to
/// itself.
pub(crate) fn run_layers<'a>(
    weights: &Weights,
    batch: &Batch,
    threads: usize,
    workspace: &'a mut Workspace,
) -> Result<&'a [f32], ModelError> {
    let sizes = weights.sizes;
    let rows = batch.ids.len();
    let share = rows_per_thread(rows, threads);
    let hidden = workspace.hidden.slice_mut(rows * sizes.hidden);
    let projected = workspace.projected.slice_mut(rows * sizes.hidden * 3);
    if workspace.shares.len() < rows.div_ceil(share) {
        workspace.shares.resize_with(rows.div_ceil(share), Scratch::default);
    }
    weights.words.read(&batch.ids, hidden)?;
    on_best_simd(AddPositions { weights, texts: &batch.texts, hidden });
    for layer in &weights.layers {
        let shares = hidden.chunks(share * sizes.hidden);
        let targets = projected.chunks_mut(share * sizes.hidden * 3);
        run_shares(shares.zip(targets).zip(&mut workspace.shares).map(|((hidden, projected), scratch)| {
            Project { dense: &layer.query_key_value, hidden, projected, operands: &mut scratch.operands }
        }))?;
        let shares = hidden.chunks_mut(share * sizes.hidden).enumerate();
        run_shares(shares.zip(&mut workspace.shares).map(|((index, hidden), scratch)| Transform {
            sizes,
            layer,
            texts: &batch.texts,
            projected,
            first_row: index * share,
            hidden,
            scratch,
        }))?;
    }
    Ok(hidden)
}

/// Rows per thread, a multiple of four: a tile of fewer rows does not keep the processor busy.
fn rows_per_thread(rows: usize, threads: usize) -> usize {
    let threads = threads.min(rows / MIN_ROWS_PER_THREAD).max(1);
    if threads == 1 { rows.max(1) } else { rows.div_ceil(threads).next_multiple_of(4) }
}

/// Runs each share of the rows on its own thread, the last one on this thread.
fn run_shares<Op: WithSimd<Output = ()> + Send>(shares: impl Iterator<Item = Op>) -> Result<(), ModelError> {
    let mut shares = shares.peekable();
    thread::scope(|scope| {
        while let Some(share) = shares.next() {
            if shares.peek().is_none() {
                on_best_simd(share);
            } else {
                thread::Builder::new()
                    .spawn_scoped(scope, || on_best_simd(share))
                    .map_err(|error| ModelError::Failed(format!("the system gave no thread: {error}")))?;
            }
        }
        Ok(())
    })
}

/// Turns word vectors into the input of the first layer by adding position vectors.
struct AddPositions<'a> {
    weights: &'a Weights,
    texts: &'a [Range<usize>],
    hidden: &'a mut [f32],
}

impl WithSimd for AddPositions<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Weights { sizes, positions, embedding_norm, .. } = self.weights;
        for text in self.texts {
            let rows = &mut self.hidden[text.start * sizes.hidden..text.end * sizes.hidden];
            add_and_normalize(rows, positions, embedding_norm, sizes.epsilon);
        }
    }
}

/// The first half of a layer: query, key and value of a share of the rows.
struct Project<'a> {
    dense: &'a Dense,
    hidden: &'a [f32],
    projected: &'a mut [f32],
    operands: &'a mut ProductOperands,
}

impl WithSimd for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        apply(simd, self.dense, self.hidden, self.operands, self.projected);
    }
}

/// The second half of a layer, which needs the projections of every row: attention and the feed-forward network for a
/// share of the rows.
struct Transform<'a> {
    sizes: Sizes,
    layer: &'a Layer,
    texts: &'a [Range<usize>],
    projected: &'a [f32],
    /// Number of the share's first row in the batch.
    first_row: usize,
    hidden: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl WithSimd for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { sizes, layer, hidden, scratch, .. } = self;
        let rows = hidden.len() / sizes.hidden;
        let context = scratch.context.slice_mut(hidden.len());
        let update = scratch.update.slice_mut(hidden.len());
        let intermediate = scratch.intermediate.slice_mut(rows * sizes.intermediate);
        let operands = &mut scratch.operands;
        let attention = Attention {
            sizes,
            projected: self.projected,
            rows: self.first_row..self.first_row + rows,
            scratch: &mut scratch.attention,
        };
        attention.compute(simd, self.texts, context);
        apply(simd, &layer.attention_output, context, operands, update);
        add_and_normalize(hidden, update, &layer.attention_norm, sizes.epsilon);
        apply(simd, &layer.intermediate, hidden, operands, intermediate);
        sizes.activation.apply_activation(intermediate);
        apply(simd, &layer.output, intermediate, operands, update);
        add_and_normalize(hidden, update, &layer.output_norm, sizes.epsilon);
    }
}

/// `out = rows · weights + bias`.
#[inline(always)]
fn apply<S: Simd>(simd: S, dense: &Dense, rows: &[f32], operands: &mut ProductOperands, out: &mut [f32]) {
    let Dense { matrix, inner, bias } = dense;
    let blocks = operands.blocks.slice_mut(rows.len());
    let rows = Rows::all_columns(rows, *inner);
    rows.lay_out_blocks::<S>(blocks);
    let (rows, inner, out_stride) = (rows.count, *inner, bias.len());
    match matrix {
        Matrix::Panels(panels) => {
            let panels = panels.get(inner * bias.len());
            Product { blocks, rows, inner, panels, bias: Some(bias), out, out_stride }.compute(simd);
        }
        Matrix::Packed(packed) => {
            for index in 0..packed.panel_count::<S>() {
                let panels = packed.unpack(simd, index, &mut operands.panel);
                let first_column = index * panel_width::<S>();
                let (bias, out) = (Some(&bias[first_column..]), &mut out[first_column..]);
                Product { blocks, rows, inner, panels, bias, out, out_stride }.compute(simd);
            }
        }
    }
}
