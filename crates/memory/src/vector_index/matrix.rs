//! An int8 matrix that is scanned completely. Approximate indexes were slower below 100,000 rows or lost recall.

use std::cmp;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pulp::{Arch, NullaryFnOnce};

use super::COSINE_LANES;
use super::registers::{
    PlainRegisters, ROWS, Registers, products, products_of_codes, put_row, query_lanes, zero_rows,
};

/// Maximum magnitude of a code. −128 has no positive counterpart in eight bits, and is not used.
const CODE_MAX: f32 = 127.0;
/// Maximum rounding error of a sum of single-precision numbers. It widens the bound below which rows are skipped, so
/// that no row is lost to rounding.
const ROUNDING_ERROR_MAX: f32 = 1e-5;
/// Bytes for each row beside its codes: number, scale, loss, index, and the share of the map's unused space.
const ROW_OVERHEAD: usize =
    size_of::<i64>() + 2 * size_of::<f32>() + 2 * (size_of::<i64>() + size_of::<usize>());

/// Minimum rows times queries for another thread: some half a millisecond of work.
const PRODUCTS_PER_THREAD: usize = 100_000;
/// Rows that a thread claims at once: enough work that claiming costs nothing, few enough that all threads end
/// together.
const ROWS_PER_CLAIM: usize = 1_024;
/// Maximum threads of a scan. More do not help, because the scan is limited by memory bandwidth.
const THREADS_MAX: usize = 4;

fn threads_max() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS
        .get_or_init(|| thread::available_parallelism().map_or(1, |threads| threads.get().min(THREADS_MAX)))
}

/// Vectors of the same length with one byte per component; each row has its own scale.
#[derive(Debug, Default)]
pub struct Matrix {
    dimension: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
    /// Distance between each row's vector and the one that its codes represent.
    losses: Vec<f32>,
    seqs: Vec<i64>,
    places: HashMap<i64, usize>,
}

impl Matrix {
    pub fn len(&self) -> usize {
        self.seqs.len()
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.seqs.is_empty()
    }

    /// Approximate size in memory.
    pub fn bytes(&self) -> usize {
        self.len() * (self.dimension + ROW_OVERHEAD)
    }

    /// Inserts a row, replacing one with the same number. The first row determines the length; vectors of another
    /// length or with a component that is not a number are ignored.
    pub fn insert(&mut self, seq: i64, vector: &[f32]) {
        if self.is_empty() {
            self.dimension = vector.len();
        }
        let fits = vector.len() == self.dimension && !vector.is_empty();
        if !fits || vector.iter().any(|component| !component.is_finite()) {
            self.remove(seq);
            return;
        }
        let (codes, scale) = quantise(vector);
        let loss = quantisation_error(vector, &codes, scale);
        match self.places.get(&seq) {
            Some(&place) => {
                self.codes[place * self.dimension..(place + 1) * self.dimension].copy_from_slice(&codes);
                self.scales[place] = scale;
                self.losses[place] = loss;
            }
            None => {
                self.places.insert(seq, self.seqs.len());
                self.codes.extend_from_slice(&codes);
                self.scales.push(scale);
                self.losses.push(loss);
                self.seqs.push(seq);
            }
        }
    }

    /// Removes a row; the last row is moved to its index.
    pub fn remove(&mut self, seq: i64) {
        let Some(place) = self.places.remove(&seq) else { return };
        let last = self.seqs.len() - 1;
        if place != last {
            let start = last * self.dimension;
            self.codes.copy_within(start..start + self.dimension, place * self.dimension);
            self.places.insert(self.seqs[last], place);
        }
        self.seqs.swap_remove(place);
        self.scales.swap_remove(place);
        self.losses.swap_remove(place);
        self.codes.truncate(last * self.dimension);
    }

    /// Keeps only the `count` rows with the highest numbers.
    pub fn retain_newest(&mut self, count: usize) {
        if self.len() <= count {
            return;
        }
        let mut seqs = self.seqs.clone();
        seqs.sort_unstable();
        for &seq in &seqs[..seqs.len() - count] {
            self.remove(seq);
        }
    }

    /// Numbers of the rows nearest to a unit vector by approximate cosine, best first; of equal ones the higher
    /// number first, so that the order of insertion does not matter.
    pub fn nearest(&self, query: &[f32], wanted: usize) -> Vec<i64> {
        self.nearest_to_each(&[query], wanted).pop().unwrap_or_default()
    }

    /// [`Self::nearest`] for each of these vectors, in one pass over the rows.
    pub fn nearest_to_each(&self, queries: &[&[f32]], wanted: usize) -> Vec<Vec<i64>> {
        if self.dimension == 0 || wanted == 0 {
            return vec![Vec::new(); queries.len()];
        }
        // A query's scale is the same for all rows and does not change their order.
        let codes = |query: &&[f32]| -> Vec<i8> {
            let fits = query.len() == self.dimension;
            if fits { quantise(query).0 } else { Vec::new() }
        };
        let queries: Vec<Vec<i8>> = queries.iter().map(codes).collect();
        let found = match Arch::new() {
            #[cfg(target_arch = "x86_64")]
            Arch::V4(level) => self.scan_rows(level, &queries, wanted),
            #[cfg(target_arch = "x86_64")]
            Arch::V3(level) => self.scan_rows(level, &queries, wanted),
            _ => self.scan_rows(PlainRegisters, &queries, wanted),
        };
        found.into_iter().map(BestRows::into_seqs).collect()
    }

    /// The best rows for each query. A long scan is divided among threads; each claims more rows when it is done, so
    /// that a thread that waits for a processor delays none.
    fn scan_rows<R: Registers>(&self, registers: R, queries: &[Vec<i8>], wanted: usize) -> Vec<BestRows> {
        let next = AtomicUsize::new(0);
        let scan = Scan { registers, matrix: self, next: &next, queries, wanted };
        let threads = (self.len() * queries.len() / PRODUCTS_PER_THREAD).clamp(1, threads_max());
        if threads == 1 {
            return registers.run(scan);
        }
        thread::scope(|scope| {
            let begin = || thread::Builder::new().spawn_scoped(scope, move || registers.run(scan));
            // If no other thread can be started, this one does the work alone.
            let others: Vec<_> = (1..threads).filter_map(|_| begin().ok()).collect();
            let mut found = registers.run(scan);
            for other in others {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                for (best, other) in found.iter_mut().zip(other) {
                    other.kept.into_iter().for_each(|(score, seq)| best.insert(score, seq));
                }
            }
            found
        })
    }

    /// For each row, the range that contains its product with `query`; `None` for an unknown row. Only the codes are
    /// used, so the result depends on nothing but the two vectors.
    pub fn products(&self, query: &[f32], seqs: &[i64]) -> Vec<Option<RangeInclusive<f32>>> {
        let length = query.iter().map(|component| component * component).sum::<f32>().sqrt();
        let product = |seq: &i64| {
            let &place = self.places.get(seq).filter(|_| query.len() == self.dimension)?;
            let codes = &self.codes[place * self.dimension..(place + 1) * self.dimension];
            let about = Arch::new().dispatch(Product { codes, query }) * self.scales[place];
            // By the Cauchy–Schwarz inequality.
            let error = length * (self.losses[place] + ROUNDING_ERROR_MAX);
            Some(about - error..=about + error)
        };
        seqs.iter().map(product).collect()
    }
}

/// The codes of a vector, and the factor that converts them back.
fn quantise(vector: &[f32]) -> (Vec<i8>, f32) {
    let largest = vector.iter().fold(0.0f32, |largest, component| largest.max(component.abs()));
    if largest == 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    let codes = vector.iter().map(|component| (component / largest * CODE_MAX).round() as i8).collect();
    (codes, largest / CODE_MAX)
}

/// Distance between a vector and the one that its codes represent.
fn quantisation_error(vector: &[f32], codes: &[i8], scale: f32) -> f32 {
    let squares = vector.iter().zip(codes).map(|(component, &code)| component - f32::from(code) * scale);
    squares.map(|difference| difference * difference).sum::<f32>().sqrt()
}

/// The product of a row's codes with a vector.
struct Product<'a> {
    codes: &'a [i8],
    query: &'a [f32],
}

impl NullaryFnOnce for Product<'_> {
    type Output = f32;

    #[inline(always)]
    fn call(self) -> f32 {
        let (codes, codes_rest) = self.codes.as_chunks::<COSINE_LANES>();
        let (query, query_rest) = self.query.as_chunks::<COSINE_LANES>();
        let mut sums = [0.0f32; COSINE_LANES];
        for (codes, query) in codes.iter().zip(query) {
            for lane in 0..COSINE_LANES {
                sums[lane] += f32::from(codes[lane]) * query[lane];
            }
        }
        let rest = codes_rest.iter().zip(query_rest).map(|(&code, component)| f32::from(code) * component);
        sums.iter().sum::<f32>() + rest.sum::<f32>()
    }
}

/// A complete scan, as one function so that it is compiled for the vector registers in use.
#[derive(Clone, Copy)]
struct Scan<'a, R> {
    registers: R,
    matrix: &'a Matrix,
    /// The first row that no thread has claimed.
    next: &'a AtomicUsize,
    /// The queries. One with another length than the rows is empty, and finds nothing.
    queries: &'a [Vec<i8>],
    wanted: usize,
}

impl<R: Registers> NullaryFnOnce for Scan<'_, R> {
    type Output = Vec<BestRows>;

    #[inline(always)]
    fn call(self) -> Vec<BestRows> {
        let (registers, Matrix { dimension, codes, scales, seqs, .. }) = (self.registers, self.matrix);
        let queries: Vec<Vec<R::Lanes>> =
            self.queries.iter().map(|query| query_lanes(registers, query)).collect();
        let mut found: Vec<BestRows> = self.queries.iter().map(|_| BestRows::new(self.wanted)).collect();
        let mut lanes = zero_rows(registers, *dimension);
        loop {
            // Relaxed: only the number is shared. The rows do not change during a scan, and joining the threads
            // publishes the results.
            let first = self.next.fetch_add(ROWS_PER_CLAIM, Ordering::Relaxed).min(seqs.len());
            let taken = first..(first + ROWS_PER_CLAIM).min(seqs.len());
            if taken.is_empty() {
                return found;
            }
            let rows = codes[taken.start * dimension..taken.end * dimension].chunks(ROWS * dimension);
            let scales = scales[taken.clone()].chunks(ROWS);
            for ((rows, scales), seqs) in rows.zip(scales).zip(seqs[taken].chunks(ROWS)) {
                // Products stay far below 2^24, so that the sum is exact in f32 too.
                if let ([query], [best]) = (&queries[..], &mut found[..])
                    && !query.is_empty()
                {
                    // Missing rows at the end are replaced by the first one; they have no number.
                    let row = |place| {
                        rows.get(place * dimension..(place + 1) * dimension).unwrap_or(&rows[..*dimension])
                    };
                    let products = products_of_codes(registers, std::array::from_fn(row), query);
                    best.insert_good_rows(products.map(|product| product as f32), scales, seqs);
                    continue;
                }
                // Allocated once for all queries. Unused places at the end have no number.
                for (place, row) in rows.chunks(*dimension).enumerate() {
                    put_row(registers, &mut lanes, place, row);
                }
                for (query, best) in queries.iter().zip(&mut found).filter(|(query, _)| !query.is_empty()) {
                    let products = products(registers, &lanes, query).map(|product| product as f32);
                    best.insert_good_rows(products, scales, seqs);
                }
            }
        }
    }
}

/// The best rows so far. Twice as many as wanted are collected before the worse half is dropped.
struct BestRows {
    wanted: usize,
    kept: Vec<(f32, i64)>,
    threshold: f32,
}

impl BestRows {
    fn new(wanted: usize) -> Self {
        Self { wanted, kept: Vec::with_capacity(2 * wanted), threshold: f32::NEG_INFINITY }
    }

    /// Adds those rows that are good enough.
    #[inline(always)]
    fn insert_good_rows(&mut self, products: [f32; ROWS], scales: &[f32], seqs: &[i64]) {
        let mut scores = [f32::NEG_INFINITY; ROWS];
        scores
            .iter_mut()
            .zip(products)
            .zip(scales)
            .for_each(|((score, product), scale)| *score = product * scale);
        // In a long scan hardly any are.
        if scores.iter().fold(false, |any, &score| any | (score >= self.threshold)) {
            scores.into_iter().zip(seqs).for_each(|(score, &seq)| self.insert(score, seq));
        }
    }

    fn insert(&mut self, score: f32, seq: i64) {
        if score < self.threshold {
            return;
        }
        self.kept.push((score, seq));
        if self.kept.len() == 2 * self.wanted {
            let (_, last, _) = self.kept.select_nth_unstable_by(self.wanted - 1, best_first);
            self.threshold = last.0;
            self.kept.truncate(self.wanted);
        }
    }

    fn into_seqs(mut self) -> Vec<i64> {
        self.kept.sort_unstable_by(best_first);
        self.kept.truncate(self.wanted);
        self.kept.into_iter().map(|(_, seq)| seq).collect()
    }
}

/// Higher scores first, then higher numbers.
pub(super) fn best_first(a: &(f32, i64), b: &(f32, i64)) -> cmp::Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unit(components: &[f32]) -> Vec<f32> {
        let length = components.iter().map(|c| c * c).sum::<f32>().sqrt();
        components.iter().map(|c| c / length).collect()
    }

    #[test]
    fn nearest_rows_come_first_and_removed_ones_not_at_all() {
        let mut matrix = Matrix::default();
        matrix.insert(1, &unit(&[1.0, 0.0, 0.0]));
        matrix.insert(2, &unit(&[0.9, 0.4, 0.0]));
        matrix.insert(3, &unit(&[0.0, 1.0, 0.0]));
        assert_eq!(matrix.nearest(&[1.0, 0.0, 0.0], 2), [1, 2]);
        matrix.remove(1);
        assert_eq!(matrix.nearest(&[1.0, 0.0, 0.0], 5), [2, 3]);
        matrix.insert(3, &unit(&[1.0, 0.0, 0.0]));
        assert_eq!(matrix.nearest(&[1.0, 0.0, 0.0], 5), [3, 2]);
        assert_eq!(matrix.len(), 2);
    }

    #[test]
    fn vectors_that_do_not_fit_are_left_out() {
        let mut matrix = Matrix::default();
        matrix.insert(1, &[1.0, 0.0]);
        matrix.insert(2, &[1.0]);
        matrix.insert(3, &[f32::NAN, 0.0]);
        assert_eq!(matrix.nearest(&[1.0, 0.0], 5), [1]);
        assert!(matrix.nearest(&[1.0], 5).is_empty());
    }

    #[test]
    fn the_newest_rows_are_kept() {
        let mut matrix = Matrix::default();
        for seq in [5, 1, 4, 2, 3] {
            matrix.insert(seq, &[1.0, 0.0]);
        }
        matrix.retain_newest(2);
        assert_eq!(matrix.nearest(&[1.0, 0.0], 9), [5, 4]);
    }

    #[test]
    fn a_scan_that_is_shared_among_threads_finds_the_same() {
        let mut matrix = Matrix::default();
        let (rows, queries) = (30_000i64, 40usize);
        let component = |seed: i64| ((seed * 7_919) % 211) as f32 - 105.0;
        for seq in 0..rows {
            matrix.insert(seq, &unit(&[component(seq), component(seq + 13), component(seq + 77), 9.0]));
        }
        let asked: Vec<Vec<f32>> = (0..queries as i64)
            .map(|at| unit(&[component(at * 31), component(at * 17), component(at * 5), 1.0]))
            .collect();
        assert!(rows as usize * queries > 2 * PRODUCTS_PER_THREAD, "it is long enough to be shared");
        let together = matrix.nearest_to_each(&asked.iter().map(Vec::as_slice).collect::<Vec<_>>(), 20);
        let alone: Vec<Vec<i64>> = asked.iter().map(|query| matrix.nearest(query, 20)).collect();
        assert_eq!(together, alone);
    }

    proptest! {
        #[test]
        fn the_exact_cosine_lies_between_the_bounds(
            row in prop::collection::vec(-1.0f32..1.0, 37),
            query in prop::collection::vec(-1.0f32..1.0, 37),
        ) {
            let mut matrix = Matrix::default();
            let (row, query) = (unit(&row), unit(&query));
            matrix.insert(1, &row);
            let exact = super::super::cosine(&row, &query);
            let bounds = matrix.products(&query, &[2, 1]);
            prop_assert_eq!(&bounds[0], &None);
            let bounds = bounds[1].clone().unwrap();
            prop_assert!(bounds.contains(&exact), "{exact} is not in {bounds:?}");
            prop_assert!(bounds.end() - bounds.start() < 0.04, "{bounds:?}");
        }

        #[test]
        fn order_of_insertion_does_not_show(
            rows in prop::collection::vec(prop::collection::vec(-3i8..3, 4), 1..40),
            query in prop::collection::vec(-3i8..3, 4),
            wanted in 1usize..8,
        ) {
            let vector = |row: &[i8]| row.iter().map(|&c| f32::from(c) + 0.5).collect::<Vec<f32>>();
            let (mut forward, mut backward) = (Matrix::default(), Matrix::default());
            for (seq, row) in (0i64..).zip(&rows) {
                forward.insert(seq, &unit(&vector(row)));
            }
            for (seq, row) in (0i64..100).zip(&rows).collect::<Vec<_>>().into_iter().rev() {
                backward.insert(seq, &unit(&vector(row)));
            }
            let query = unit(&vector(&query));
            prop_assert_eq!(forward.nearest(&query, wanted), backward.nearest(&query, wanted));
            let opposite: Vec<f32> = query.iter().map(|component| -component).collect();
            let together = forward.nearest_to_each(&[&query, &[], &opposite], wanted);
            let alone = [forward.nearest(&query, wanted), Vec::new(), forward.nearest(&opposite, wanted)];
            prop_assert_eq!(together, alone);
        }
    }
}
