//! Products of codes with the widest vector registers of the processor. By itself the compiler would always use eight
//! lanes.

use pulp::{Arch, NullaryFnOnce};

/// Rows that are multiplied with a query at once: for a single row, summing its lanes takes as long as multiplying.
pub(super) const ROWS: usize = 4;

/// Vector registers with 16-bit lanes that can multiply in pairs and sum the products.
pub(super) trait Registers: Copy + Send + Sync {
    /// A register's share of a row or a query.
    type Lanes: Copy + Send + Sync;
    type Sums: Copy;
    /// Codes that fit in [`Self::Lanes`].
    const WIDTH: usize;

    /// Converts up to [`Self::WIDTH`] codes to lanes, padded with zeros.
    fn widen(self, codes: &[i8]) -> Self::Lanes;
    fn zero_sums(self) -> Self::Sums;
    fn add(self, sums: Self::Sums, a: Self::Lanes, b: Self::Lanes) -> Self::Sums;
    /// Adds up the lanes of each row. Products of a few thousand codes stay far below 2^31.
    fn sum_rows(self, sums: [Self::Sums; ROWS]) -> [i32; ROWS];
    /// Runs a function that is compiled for these registers.
    fn run<Work: NullaryFnOnce>(self, work: Work) -> Work::Output;
}

/// A query as lanes.
#[inline(always)]
pub(super) fn query_lanes<R: Registers>(registers: R, codes: &[i8]) -> Vec<R::Lanes> {
    codes.chunks(R::WIDTH).map(|codes| registers.widen(codes)).collect()
}

/// Zero rows, to be filled by [`put_row`].
#[inline(always)]
pub(super) fn zero_rows<R: Registers>(registers: R, dimension: usize) -> Vec<[R::Lanes; ROWS]> {
    vec![[registers.widen(&[]); ROWS]; dimension.div_ceil(R::WIDTH)]
}

#[inline(always)]
pub(super) fn put_row<R: Registers>(registers: R, rows: &mut [[R::Lanes; ROWS]], place: usize, codes: &[i8]) {
    let whole = codes.chunks_exact(R::WIDTH);
    let rest = whole.remainder();
    if let (false, Some(last)) = (rest.is_empty(), rows.last_mut()) {
        last[place] = registers.widen(rest);
    }
    for (rows, codes) in rows.iter_mut().zip(whole) {
        rows[place] = registers.widen(codes);
    }
}

/// Products of the rows with a query that is in lanes too.
#[inline(always)]
pub(super) fn products<R: Registers>(
    registers: R,
    rows: &[[R::Lanes; ROWS]],
    query: &[R::Lanes],
) -> [i32; ROWS] {
    let mut sums = [registers.zero_sums(); ROWS];
    for (rows, &query) in rows.iter().zip(query) {
        for (sums, &row) in sums.iter_mut().zip(rows) {
            *sums = registers.add(*sums, row, query);
        }
    }
    registers.sum_rows(sums)
}

/// Products of rows of codes with one query, like [`products`] but without storing lanes for reuse.
#[inline(always)]
pub(super) fn products_of_codes<R: Registers>(
    registers: R,
    rows: [&[i8]; ROWS],
    query: &[R::Lanes],
) -> [i32; ROWS] {
    let mut sums = [registers.zero_sums(); ROWS];
    for (sums, row) in sums.iter_mut().zip(rows) {
        let whole = row.chunks_exact(R::WIDTH);
        let rest = whole.remainder();
        for (codes, &query) in whole.zip(query) {
            *sums = registers.add(*sums, registers.widen(codes), query);
        }
        if let (false, Some(&query)) = (rest.is_empty(), query.last()) {
            *sums = registers.add(*sums, registers.widen(rest), query);
        }
    }
    registers.sum_rows(sums)
}

/// Registers and instructions that every processor has.
#[derive(Clone, Copy)]
pub(super) struct PlainRegisters;

impl Registers for PlainRegisters {
    type Lanes = [i16; 8];
    type Sums = [i32; 4];
    const WIDTH: usize = 8;

    #[inline(always)]
    fn widen(self, codes: &[i8]) -> [i16; 8] {
        let mut lanes = [0; 8];
        lanes.iter_mut().zip(codes).for_each(|(lane, &code)| *lane = i16::from(code));
        lanes
    }

    #[inline(always)]
    fn zero_sums(self) -> [i32; 4] {
        [0; 4]
    }

    #[inline(always)]
    fn add(self, mut sums: [i32; 4], a: [i16; 8], b: [i16; 8]) -> [i32; 4] {
        let pairs = a.as_chunks::<2>().0.iter().zip(b.as_chunks::<2>().0);
        for (sum, (a, b)) in sums.iter_mut().zip(pairs) {
            *sum += i32::from(a[0]) * i32::from(b[0]) + i32::from(a[1]) * i32::from(b[1]);
        }
        sums
    }

    #[inline(always)]
    fn sum_rows(self, sums: [[i32; 4]; ROWS]) -> [i32; ROWS] {
        sums.map(|sums| sums.iter().sum())
    }

    fn run<Work: NullaryFnOnce>(self, work: Work) -> Work::Output {
        Arch::new().dispatch(work)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::x86::{V3, V4};
    use pulp::{NullaryFnOnce, cast};

    use super::{ROWS, Registers};

    // Expressions, not closures: a closure is not compiled for the target features, so each of its instructions
    // becomes a call.
    macro_rules! registers {
        ($level_type:ty, $register:ty, $lanes:literal, $level:ident => {
            none: $none:expr,
            lanes($codes:ident): $widened:expr,
            add($sums:ident, $a:ident, $b:ident): $added:expr,
            totals($rows:ident): $totals:expr,
        }) => {
            impl Registers for $level_type {
                type Lanes = $register;
                type Sums = $register;
                const WIDTH: usize = $lanes;

                #[inline(always)]
                fn widen(self, codes: &[i8]) -> $register {
                    let $level = self;
                    if let Some(whole) = codes.first_chunk::<$lanes>() {
                        let $codes = cast(*whole);
                        return $widened;
                    }
                    let mut padded = [0i8; $lanes];
                    padded[..codes.len()].copy_from_slice(codes);
                    let $codes = cast(padded);
                    $widened
                }

                #[inline(always)]
                fn zero_sums(self) -> $register {
                    let $level = self;
                    $none
                }

                #[inline(always)]
                fn add(self, $sums: $register, $a: $register, $b: $register) -> $register {
                    let $level = self;
                    $added
                }

                #[inline(always)]
                fn sum_rows(self, $rows: [$register; ROWS]) -> [i32; ROWS] {
                    let $level = self;
                    // Each four lanes have one sum of each row.
                    let parts: [[i32; ROWS]; $lanes / 2 / ROWS] = cast($totals);
                    let mut totals = [0; ROWS];
                    for part in parts {
                        totals.iter_mut().zip(part).for_each(|(total, part)| *total += part);
                    }
                    totals
                }

                #[inline(always)]
                fn run<Work: NullaryFnOnce>(self, work: Work) -> Work::Output {
                    self.vectorize(work)
                }
            }
        };
    }

    registers!(V3, __m256i, 16, level => {
        none: level.avx._mm256_setzero_si256(),
        lanes(codes): level.avx2._mm256_cvtepi8_epi16(codes),
        add(sums, a, b): level.avx2._mm256_add_epi32(sums, level.avx2._mm256_madd_epi16(a, b)),
        totals(rows): {
            let [a, b, c, d] = rows;
            let (ab, cd) = (level.avx2._mm256_hadd_epi32(a, b), level.avx2._mm256_hadd_epi32(c, d));
            level.avx2._mm256_hadd_epi32(ab, cd)
        },
    });
    registers!(V4, __m512i, 32, level => {
        none: level.avx512f._mm512_setzero_si512(),
        lanes(codes): level.avx512bw._mm512_cvtepi8_epi16(codes),
        add(sums, a, b): level.avx512f._mm512_add_epi32(sums, level.avx512bw._mm512_madd_epi16(a, b)),
        totals(rows): {
            let f = level.avx512f;
            let [a, b, c, d] = rows;
            let ab = f._mm512_add_epi32(f._mm512_unpacklo_epi32(a, b), f._mm512_unpackhi_epi32(a, b));
            let cd = f._mm512_add_epi32(f._mm512_unpacklo_epi32(c, d), f._mm512_unpackhi_epi32(c, d));
            f._mm512_add_epi32(f._mm512_unpacklo_epi64(ab, cd), f._mm512_unpackhi_epi64(ab, cd))
        },
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn product_of_rows<R: Registers>(registers: R, rows: &[Vec<i8>; ROWS], query: &[i8]) -> [i32; ROWS] {
        let mut lanes = zero_rows(registers, query.len());
        for (place, row) in rows.iter().enumerate() {
            put_row(registers, &mut lanes, place, row);
        }
        let query = query_lanes(registers, query);
        let products = products(registers, &lanes, &query);
        assert_eq!(products_of_codes(registers, rows.each_ref().map(Vec::as_slice), &query), products);
        products
    }

    proptest! {
        #[test]
        fn all_registers_give_the_same(codes in prop::collection::vec(any::<[i8; ROWS + 1]>(), 0..200)) {
            let column = |place: usize| codes.iter().map(|codes| codes[place]).collect::<Vec<i8>>();
            let (rows, query) = ([0, 1, 2, 3].map(column), column(ROWS));
            let product = |row: &Vec<i8>| row.iter().zip(&query).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
            let sums: [i32; ROWS] = rows.each_ref().map(product);
            prop_assert_eq!(product_of_rows(PlainRegisters, &rows, &query), sums);
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(level) = pulp::x86::V3::try_new() {
                    prop_assert_eq!(product_of_rows(level, &rows, &query), sums);
                }
                if let Some(level) = pulp::x86::V4::try_new() {
                    prop_assert_eq!(product_of_rows(level, &rows, &query), sums);
                }
            }
        }
    }
}
